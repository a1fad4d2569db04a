"""Tables: their numbers, their order, and the forms of a model that they take."""

import numpy as np
import pandas
import pytest
from inspection_pages import HOSTILE, shares
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklda import CompoundLDA, EmpiricalBayesLDA, GibbsLDA, TopicCountLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import describe, document_table, top_documents, topic_table

PHI = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.1, 0.1, 0.3]])
THETA = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
X = np.array([[4, 2, 0, 0], [1, 1, 0, 2], [2, 0, 3, 0]])
FITTED = GibbsLDA(2, max_iter=2, random_state=0).fit(X)
NAMES = ["the", "cat", "dog", "bank"]
TEXTS = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]


def test_top_words_of_arrays():
    table = topic_table(describe((PHI, THETA), vocabulary=NAMES), n_words=2)
    assert table.columns.tolist() == ["topic", "share", "words"] and table["topic"].tolist() == [0, 1]
    assert table["words"].tolist() == [["the", "cat"], ["the", "bank"]]
    np.testing.assert_allclose(table["share"], THETA.mean(axis=0))
    # With X the shares are those of tokens.
    n = X.sum(axis=1)
    assert topic_table((PHI, THETA), X=X)["share"][0] == pytest.approx(n @ THETA[:, 0] / n.sum())
    assert [len(words) for words in topic_table((PHI, THETA), n_words=10)["words"]] == [4, 4]


@pytest.mark.parametrize("weight", [0, 0.25, 1])
def test_relevance(weight):
    columns = ["words", "probabilities", "word_shares"]
    named = describe((PHI, THETA), vocabulary=NAMES)
    table = topic_table(named, X=X, columns=columns, rank_by="relevance", probability_weight=weight, n_words=3)
    p = X.sum(axis=0) / X.sum()
    with np.errstate(divide="ignore"):
        expected = np.log(PHI) - (1 - weight) * np.log(p)
    for k in range(2):
        order = np.argsort(-expected[k], kind="stable")[:3]
        assert table["words"][k] == [NAMES[v] for v in order]
        np.testing.assert_allclose(table["probabilities"][k], PHI[k, order])
        np.testing.assert_allclose(table["word_shares"][k], p[order])


def test_a_word_that_x_does_not_have_takes_its_share_from_the_model():
    few = X.copy()
    few[:, 3] = 0
    named = describe((PHI, THETA), vocabulary=NAMES)
    table = topic_table(named, X=few, columns=["words", "word_shares"], rank_by="relevance", n_words=4)
    share = few.sum(axis=1) @ THETA / few.sum()
    assert table["word_shares"][1][table["words"][1].index("bank")] == pytest.approx(share @ PHI[:, 3])


def test_frex():
    """By hand: ranks of 0.5, 0.3, 0.2, 0 are 4, 3, 2, 1; those of the shares 1/2, 3/4, 2/3, 0 are 2, 4, 3, 1."""
    named = describe((PHI, THETA), vocabulary=NAMES)
    table = topic_table(named, columns=["words", "exclusive_words"], rank_by="frex", n_words=4)
    # 1 / (0.5 / 0.75 + 0.5 / 1), 1 / (0.5 / 1 + 0.5 / 0.5), 1 / (0.5 / 0.5 + 0.5 / 0.75), 0.25
    assert table["words"][0] == table["exclusive_words"][0] == ["cat", "the", "dog", "bank"]
    assert topic_table(named, rank_by="frex", probability_weight=1, n_words=4)["words"][0] == NAMES


def test_equal_words_are_in_the_order_of_the_model():
    table = topic_table((np.full((1, 50), 0.02), [[1.0]]), n_words=7)
    assert table["words"][0] == [str(v) for v in range(7)]


def test_top_documents_and_document_table():
    table = top_documents(describe((PHI, THETA), X, document_names=["a", "b", "c"]), n_documents=2)
    assert table["documents"].tolist() == [["a", "c"], ["b", "c"]]
    assert table["rows"].tolist() == [[0, 2], [1, 2]] and table["proportions"][1] == [0.8, 0.4]
    table = document_table((PHI, THETA), X=X)
    assert table.columns.tolist() == ["document", "tokens", "main_topic", "topic_0", "topic_1"]
    assert table["tokens"].tolist() == [6, 4, 5] and table["main_topic"].tolist() == [0, 1, 0]
    np.testing.assert_array_equal(table[["topic_0", "topic_1"]], THETA)
    assert "tokens" not in document_table((PHI, THETA))


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(40, 25, 3, doc_length=30, random_state=0).data


ESTIMATORS = [
    GibbsLDA(2, max_iter=5, random_state=0),
    CompoundLDA(2, max_iter=5, random_state=0),
    EmpiricalBayesLDA(2, max_iter=10, n_chains=1, random_state=0),
    TopicCountLDA(min_components=2, max_components=3, doc_topic_prior=0.1, topic_word_prior=0.2, random_state=0),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_estimators_of_the_package(estimator, corpus):
    estimator.fit(corpus)
    table = document_table(estimator, X=corpus)
    np.testing.assert_array_equal(table.filter(regex=r"^topic_\d+$"), estimator.doc_topic_)
    assert document_table(estimator).filter(regex=r"^topic_\d+$").equals(table.filter(regex=r"^topic_\d+$"))
    words = topic_table(estimator, X=corpus, n_words=25)
    for k, phi in enumerate(estimator.topic_word_):
        assert words["words"][k] == [str(v) for v in np.argsort(-phi, kind="stable")]
    share = topic_table(estimator, X=corpus)["share"].tolist()
    np.testing.assert_allclose(share, shares(estimator, corpus))
    # Other documents, and the same ones in another order, are folded in.
    for other in (corpus[:7], corpus[::-1]):
        found = document_table(estimator, X=other).filter(regex=r"^topic_\d+$")
        np.testing.assert_array_equal(found, estimator.transform(other))


def test_new_documents_of_known_collections(corpus):
    labels = ["a"] * 20 + ["b"] * 20
    lda = CompoundLDA(2, max_iter=20, random_state=0).fit(corpus, collections=labels)
    known = document_table(describe(lda, corpus[15:25], collections=labels[15:25]))[["topic_0", "topic_1"]]
    np.testing.assert_array_equal(known, lda.transform(corpus[15:25], collections=labels[15:25]))
    with pytest.warns(UserWarning, match="in no collection of the CompoundLDA"):
        unknown = document_table(lda, X=corpus[15:25])
    assert not np.array_equal(known, unknown[["topic_0", "topic_1"]])


def test_models_of_scikit_learn(corpus):
    lda = LatentDirichletAllocation(2, random_state=0, max_iter=3).fit(corpus)
    np.testing.assert_allclose(document_table(lda, X=corpus)[["topic_0", "topic_1"]], lda.transform(corpus))
    nmf = NMF(2, random_state=0, max_iter=400).fit(corpus)
    W = nmf.transform(corpus)
    # Part of the weight of each document that a component explains, whatever the scale of the components.
    explained = np.stack([np.outer(W[:, k], nmf.components_[k]).sum(axis=1) for k in range(2)], axis=1)
    found = document_table(nmf, X=corpus)[["topic_0", "topic_1"]]
    np.testing.assert_allclose(found, explained / explained.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="NMF keeps no documents"):
        document_table(nmf)


def test_pipelines_searches_and_frames():
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(TEXTS)
    search = GridSearchCV(make_pipeline(CountVectorizer(), lda), {"gibbslda__max_iter": [5, 50]}, cv=2).fit(
        TEXTS[::3] + TEXTS[::3]
    )
    assert sorted(words[0] for words in topic_table(pipeline, n_words=1)["words"]) == ["apple", "wheel"]
    assert document_table(pipeline, X=TEXTS)["tokens"].tolist() == [3, 3, 3, 3]
    assert sorted(words[0] for words in topic_table(search, n_words=1)["words"]) == ["apple", "wheel"]
    assert document_table(search, X=TEXTS)["tokens"].tolist() == [3, 2, 2, 3]
    frame = pandas.DataFrame(X, columns=NAMES)
    assert set(topic_table(GibbsLDA(2, max_iter=3).fit(frame), n_words=4)["words"].explode()) == set(NAMES)
    nested = make_pipeline(CountVectorizer(), make_pipeline("passthrough", lda)).fit(TEXTS)
    assert topic_table(describe(nested, vocabulary=list("abcdef")), n_words=2)["words"][0][0] in "abcdef"
    alone = make_pipeline(CountVectorizer(), make_pipeline(lda)).fit(TEXTS)
    assert sorted(words[0] for words in topic_table(alone, n_words=1)["words"]) == ["apple", "wheel"]


def test_a_file_has_the_words_as_they_are(tmp_path):
    names = ["=1+1", "-x", "a, b", "ü\n"]
    table = topic_table(describe((PHI, THETA), vocabulary=names), n_words=4).explode("words")
    table.to_csv(tmp_path / "table.csv", index=False)
    assert pandas.read_csv(tmp_path / "table.csv")["words"].tolist() == table["words"].tolist()
    assert set(table["words"]) == set(names)


def test_every_name_can_be_in_a_table():
    phi = np.full((1, len(HOSTILE)), 1 / len(HOSTILE))
    table = topic_table(describe((phi, [[1.0]]), vocabulary=HOSTILE), n_words=len(HOSTILE))
    assert table["words"][0] == HOSTILE and "<script" not in table._repr_html_()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: topic_table((PHI, THETA), n_words=0), ValueError, "n_words must be at least 1, got 0"),
        (lambda: topic_table((PHI, THETA), n_words=2.5), TypeError, "n_words must be an int"),
        (lambda: topic_table(PHI), TypeError, "ndarray has no components_: give a fitted topic model, a pipeline"),
        (lambda: topic_table((PHI,)), ValueError, "a model given as arrays is a pair"),
        (lambda: topic_table((PHI, THETA[:, :1])), ValueError, "doc_topic has shape"),
        (lambda: topic_table((-PHI, THETA)), ValueError, "topic_word holds negative"),
        (lambda: topic_table((PHI * 0, THETA)), ValueError, r"topic_word\[0\] holds only zeros"),
        (lambda: topic_table((PHI, THETA * np.nan)), ValueError, "doc_topic holds negative, NaN"),
        (lambda: topic_table(describe((PHI, THETA), vocabulary="abcd")), TypeError, "one word for each column"),
        (lambda: topic_table(describe((PHI, THETA), vocabulary=["a"])), ValueError, "has 1 words; there are 4 columns"),
        (lambda: topic_table((PHI, THETA), rank_by="lift"), ValueError, "rank_by must be one of"),
        (
            lambda: topic_table((PHI, THETA), probability_weight=0.5),
            ValueError,
            "the order by probability has no weight",
        ),
        (lambda: topic_table((PHI, THETA), rank_by="frex", probability_weight=2), ValueError, "between 0 and 1, got 2"),
        (
            lambda: topic_table((PHI, THETA), rank_by="frex", probability_weight="x"),
            TypeError,
            "must be a number from 0 to 1",
        ),
        (lambda: topic_table((PHI, THETA), X=X[:2]), ValueError, "X has 2 documents; doc_topic has 3"),
        (lambda: topic_table((PHI, THETA), X=X[:, :3]), ValueError, "X has 3 features; topic_word has 4"),
        (lambda: topic_table((PHI, THETA), X=-X), ValueError, "Negative values in data"),
        (lambda: top_documents(describe((PHI, THETA), document_names=["a"])), ValueError, "there are 3 documents"),
        (
            lambda: document_table(describe((PHI, THETA), X, collections=[1, 1, 2])),
            TypeError,
            "arrays have no collections",
        ),
        (
            lambda: document_table(describe((PHI, THETA), X, covariates=[1, 1, 2])),
            TypeError,
            "arrays have no covariates",
        ),
        (lambda: document_table(describe(FITTED, X, collections=[1, 1, 2])), TypeError, "GibbsLDA has no collections"),
        (lambda: document_table(FITTED, X=X[:, :2]), ValueError, "X has 2 features; the GibbsLDA has 4"),
        (lambda: topic_table(GibbsLDA(2)), NotFittedError, "not fitted"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_documents_of_the_fit_in_other_collections(corpus):
    """They are other documents: both theta and its prior are those of the collections that are given."""
    labels = ["a", "b"] * (corpus.shape[0] // 2)
    lda = CompoundLDA(2, max_iter=20, random_state=0).fit(corpus, collections=labels)
    columns = ["topic_0", "topic_1"]
    np.testing.assert_array_equal(document_table(describe(lda, corpus, collections=labels))[columns], lda.doc_topic_)
    other = document_table(describe(lda, corpus, collections=labels[::-1]))[columns]
    np.testing.assert_array_equal(other, lda.transform(corpus, collections=labels[::-1]))


def test_passages_have_the_place_with_most_words_of_a_topic():
    sea, land = "ship wave sail", "horse field barn"
    text = f"A title\n\n{'filler ' * 20}{land} horse. {'filler ' * 20}\n{sea}  wave, he said. {'filler ' * 4}"
    texts = [text, f"{sea} ship", f"{land} barn", ""]
    words = f"{sea} {land}".split()
    phi = [[0.32, 0.32, 0.32, 0.01, 0.01, 0.02], [0.01, 0.01, 0.02, 0.32, 0.32, 0.32]]
    counts = CountVectorizer(vocabulary=words).fit_transform(texts)
    model = describe((phi, [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9], [0.5, 0.5]]), counts, vocabulary=words)
    table = top_documents(model, texts=texts, n_documents=2, passage_length=4)
    assert table["rows"].tolist() == [[1, 0], [2, 0]]
    assert table["passages"].tolist() == [
        ["ship wave sail ship", "… ship wave sail wave, …"],
        ["horse field barn barn", "… horse field barn horse. …"],
    ]
    # Of several passages with as many words it is one in the middle.
    longer = top_documents(model, texts=texts, n_documents=2, passage_length=8)["passages"][0][1]
    assert longer == "… filler filler ship wave sail wave, he said. …"
    assert top_documents(model, texts=texts, n_documents=2, passage_length=1000)["passages"][0][1].startswith("A ti")
    assert "passages" not in top_documents(model)
    # A pipeline takes texts. A text without spaces is cut, too.
    texts = ["ship " * 3 + "海" * 500, "horse " * 3]
    pipeline = make_pipeline(CountVectorizer(vocabulary=words), GibbsLDA(2, max_iter=5, random_state=0)).fit(texts)
    table = top_documents(pipeline, texts, n_documents=1, passage_length=5)
    assert sorted(table["passages"].sum()) == ["horse horse horse", f"ship ship ship {'海' * 40} …"]
    with pytest.raises(ValueError, match="texts are shown with the topics of the words of X: give X, too"):
        top_documents((phi, np.full((2, 2), 0.5)), texts=texts)
    with pytest.raises(ValueError, match="passage_length"):
        top_documents(model, passage_length=0)


STEMMED = {"tokenizer": lambda text: ["s_" + word[:5] for word in text.split()], "token_pattern": None}


@pytest.mark.parametrize(
    ("options", "is_found"),
    [
        ({}, True),
        ({"ngram_range": (2, 2)}, True),
        ({"ngram_range": (1, 3)}, True),
        ({"token_pattern": r"\b(\w{6})\b"}, True),
        (STEMMED | {"stop_words": ["s_the"]}, True),
        ({"analyzer": lambda text: [word[::-1] for word in text.split() if word != "the"], "stop_words": None}, True),
        ({"analyzer": "char", "ngram_range": (4, 4), "stop_words": None}, False),
    ],
    ids=["words", "pairs", "up to three", "a group", "stems", "an analyser", "characters"],
)
def test_passages_are_found_by_what_the_vectorizer_makes_of_words(options, is_found):
    """And a text in which none is found has no passage."""
    rng = np.random.default_rng(0)
    words = [[f"{stem}{c}" for c in "abcdef"] for stem in ("apple", "motor")]
    texts = [" ".join(["the"] * 80 + rng.choice(words[i % 2], 20).tolist()) for i in range(60)]
    lda = GibbsLDA(2, doc_topic_prior=0.3, topic_word_prior=0.1, max_iter=60, random_state=0)
    model = make_pipeline(CountVectorizer(**({"stop_words": ["the"]} | options)), lda).fit(texts)
    passages = top_documents(model, texts, n_documents=1, passage_length=10)["passages"].sum()
    assert all((passage is not None and ("apple" in passage or "motor" in passage)) == is_found for passage in passages)
    assert is_found or passages == [None, None]
