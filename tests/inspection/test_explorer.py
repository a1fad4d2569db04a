"""The explorer's page has the numbers of the model, shows names as text only, and says what it leaves out."""

import base64
import html
import json
import re
import textwrap
import zlib
from contextlib import nullcontext
from importlib.resources import files

import numpy as np
import pytest
from inspection_pages import HOSTILE, documents_of, hostile_explorer, shares, words_of
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from sklda import CompoundLDA, GibbsLDA
from sklda._core.distances import jensen_shannon
from sklda._core.linear_models import share_interval
from sklda._description.view import view
from sklda.datasets import load_docstrings, make_compound_lda_corpus, make_lda_corpus
from sklda.inspection import TopicExplorer, _explorer_data, _texts, describe, topic_table
from sklda.metrics import match_topics

TEXTS = ["apple banana Apple", "banana cherry apple!", "car engine wheel", "engine wheel wheel", ""]


def parse(page):
    """The data of a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def listed(data, i, weight):
    """Words of topic i, by the formula of the page and with its numbers."""
    word = np.array(data["words"]["listed"][i]["word"])
    p = np.array(data["words"]["listed"][i]["probability"])
    score = np.log(p) - (1 - weight) * np.log(np.array(data["words"]["share"])[word])
    return [data["words"]["name"][v] for v in word[np.lexsort((word, -score))][: data["n_listed"]]]


@pytest.fixture(scope="module")
def docstrings():
    """Every fourth docstring of the corpus."""
    rows = ("data", "document_names", "collection")
    return Bunch(**{name: each[::4] if name in rows else each for name, each in load_docstrings().items()})


@pytest.fixture(scope="module")
def fitted(docstrings):
    return GibbsLDA(
        8, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=40, n_draws=4, draw_every=2, random_state=0
    ).fit(docstrings.data)


@pytest.fixture(scope="module")
def data(docstrings, fitted):
    names = {"vocabulary": docstrings.feature_names, "document_names": docstrings.document_names}
    named = describe(fitted, docstrings.data, **names)
    explorer = TopicExplorer.from_estimator(named, groups=docstrings.collection)
    return parse(explorer.to_html())


def test_topics_and_documents_are_those_of_the_model(data, fitted, docstrings):
    X = docstrings.data
    lengths = np.asarray(X.sum(axis=1)).ravel()
    np.testing.assert_allclose(data["topics"]["share"], shares(fitted, X))
    assert data["topics"]["id"] == list(range(8))
    assert data["documents"]["name"] == docstrings.document_names.tolist()
    assert data["documents"]["tokens"] == lengths.tolist() and data["n_tokens"] == X.sum()
    for k, closest in enumerate(data["documents"]["closest"]):
        assert closest == np.argsort(-fitted.doc_topic_[:, k], kind="stable")[:10].tolist()
    for d in range(0, X.shape[0], 50):
        shown = np.array(data["documents"]["topics"][d]).reshape(-1, 2)
        assert (np.diff(shown[:, 1]) <= 0).all()
        np.testing.assert_allclose(shown[:, 1], fitted.doc_topic_[d, shown[:, 0].astype(int)], atol=6e-4)
        assert len(shown) == np.count_nonzero(fitted.doc_topic_[d] >= 0.01)


@pytest.mark.parametrize("weight", [0, 0.3, 0.6, 1])
def test_words_follow_the_relevance_at_every_position_of_the_slider(data, fitted, docstrings, weight):
    assert weight in data["lambdas"] and len(data["lambdas"]) == 21
    names = docstrings.feature_names
    table = topic_table(
        describe(fitted, vocabulary=names),
        X=docstrings.data,
        rank_by="relevance",
        probability_weight=weight,
        n_words=30,
    )
    for k in range(8):
        assert listed(data, k, weight) == table["words"][k]


def test_words_have_their_frequencies_and_topics(data, fitted, docstrings):
    counts = np.asarray(docstrings.data.sum(axis=0)).ravel()
    assert data["words"]["count"] == counts.tolist()
    joint = np.array(data["topics"]["share"])[:, None] * fitted.topic_word_
    given = joint / joint.sum(axis=0)
    for v in range(0, len(counts), 100):
        shown = np.array(data["words"]["topics"][v]).reshape(-1, 2)
        np.testing.assert_allclose(shown[:, 1], given[shown[:, 0].astype(int), v], atol=6e-4)
        assert shown[0, 0] == given[:, v].argmax()


def test_tokens_have_the_topics_of_the_last_draw(data, fitted, docstrings):
    ends = np.cumsum(np.asarray(docstrings.data.sum(axis=1)).ravel())
    documents = documents_of(data)
    assert len(documents) == len(ends) and data["documents"]["topic_kind"] == "state" and data["notes"] == []
    for d in range(0, len(ends), 40):
        words, topics, counts = np.array(documents[d]["bag"]).reshape(-1, 3).T
        row = np.zeros(docstrings.data.shape[1], int)
        np.add.at(row, words, counts)
        assert (row == docstrings.data[d].toarray().ravel()).all()
        own = fitted.topic_assignments_[(ends[d - 1] if d else 0) : ends[d]]
        assert (np.bincount(np.repeat(topics, counts), minlength=8) == np.bincount(own, minlength=8)).all()


def test_similarities_are_those_of_the_table(data, fitted):
    distances = match_topics(fitted, fitted).distances
    for i, row in enumerate(data["similarity"]["values"]):
        np.testing.assert_allclose(row, 1 - distances[i, : i + 1], atol=6e-4)
    nearest = topic_table(fitted, columns="similarity")["similarity"]
    np.testing.assert_allclose(nearest, 1 - (distances + np.eye(8)).min(axis=1), atol=1e-6)
    assert sorted(data["similarity"]["order"]) == list(range(8))


def test_groups_have_shares_and_intervals(data, fitted, docstrings):
    """`test_entries_agree` compares them with tables and displays."""
    assert data["groups"]["name"] == ["numpy", "scipy", "sklearn"] and data["groups"]["kind"] == "sample"
    for g, name in enumerate(data["groups"]["name"]):
        theta = fitted.doc_topic_[docstrings.collection == name]
        mean, low, high = (np.array(data["groups"][each][g]) for each in ("mean", "low", "high"))
        np.testing.assert_allclose(mean, theta.mean(axis=0), atol=0.01)
        assert (low < mean).all() and (mean < high).all()
        # About four standard errors, with those of the proportions.
        assert 0.9 < np.median((high - low) / (4 * theta.std(axis=0) / len(theta) ** 0.5)) < 1.6


def test_documents_without_a_group_are_left_out_of_groups(docstrings, fitted):
    pandas = pytest.importorskip("pandas")
    n = len(docstrings.document_names)
    gaps = [float("nan"), np.float64("nan"), None, pandas.NA, pandas.NaT, np.datetime64("NaT", "s")]
    groups = [gaps[d % 6] if d % 2 else "known" for d in range(n)]
    with pytest.warns(UserWarning, match=rf"groups is missing in documents 1, 3, .* \({n // 2} of {n:,}\)"):
        explorer = TopicExplorer.from_estimator(fitted, docstrings.data, groups=groups, missing="drop")
    found = parse(explorer.to_html())["groups"]
    assert found["name"] == ["known"]
    same = ["none" if d % 2 else "known" for d in range(n)]
    expected = parse(TopicExplorer.from_estimator(fitted, docstrings.data, groups=same).to_html())["groups"]
    assert found["mean"] == expected["mean"][:1]
    with pytest.raises(TypeError, match=r"groups\[1\] = \[1\] .*hashable"):
        TopicExplorer.from_estimator(fitted, docstrings.data, groups=["a", *[[1]] * (n - 1)])


def test_numbers_of_groups_have_the_name_of_their_series(docstrings, fitted):
    pandas = pytest.importorskip("pandas")
    numbers = np.arange(len(docstrings.document_names)) % 2
    for groups, word, names in (
        (numbers, "group", ["group 0", "group 1"]),
        (pandas.Series(numbers, name="wave"), "wave", ["wave 0", "wave 1"]),
        (pandas.Series(np.where(numbers, "odd", "even"), name="parity"), "parity", ["even", "odd"]),
    ):
        found = parse(TopicExplorer.from_estimator(fitted, docstrings.data, groups=groups).to_html())["groups"]
        assert (found["word"], found["name"]) == (word, names)


def test_many_words_of_one_name():
    """The topics of the tokens are those of all words of the name, in the order of the columns."""
    V = 50_000
    phi = np.full((2, V), 1 / V)
    X = np.ones((1, V), int)
    names = ["a"] * (V - 1) + ["b"]
    page = TopicExplorer.from_estimator(describe((phi, [[0.9, 0.1]]), vocabulary=names), X, texts=["a b a a b"])
    assert documents_of(parse(page.to_html()))[0]["topics"] == [0, 0, 0, 0]


def test_collections_of_a_compound_model():
    corpus = make_compound_lda_corpus([20, 20], 30, 3, random_state=0)
    lda = CompoundLDA(3, max_iter=30, random_state=0).fit(corpus.data, collections=corpus.collections)
    found = parse(TopicExplorer.from_estimator(lda, corpus.data).to_html())["groups"]
    assert found["kind"] == "mixture" and found["name"] == [f"collection {c}" for c in lda.collections_]
    np.testing.assert_allclose(found["mean"], lda.collection_topic_, rtol=1e-5)
    interval = share_interval(lda.collection_topic_, lda.collection_topic_std_, np.inf, 0.95)
    np.testing.assert_allclose([found["low"], found["high"]], interval, rtol=1e-5)
    # Groups of documents have the means of these.
    found = parse(TopicExplorer.from_estimator(lda, corpus.data, groups=corpus.collections).to_html())["groups"]
    assert found["kind"] == "sample" and found["name"] == [f"group {c}" for c in lda.collections_]
    other = parse(TopicExplorer.from_estimator(lda, corpus.data, groups=["x"] * 39 + ["y"]).to_html())["groups"]
    assert other["kind"] == "sample" and other["name"] == ["x", "y"]
    # New documents are folded in with the prior of their collection, in a pipeline, too.
    pipeline = make_pipeline("passthrough", lda)
    for known in (corpus.collections[15:25], None):
        model = describe(pipeline, corpus.data[15:25], collections=known)
        with (
            nullcontext() if known is not None else pytest.warns(UserWarning, match="in no collection of the Compound")
        ):
            page = TopicExplorer.from_estimator(model, groups=["x"] * 10).to_html()
        theta = lda.transform(corpus.data[15:25], collections=known)
        shown = np.array(parse(page)["documents"]["topics"][0]).reshape(-1, 2)
        np.testing.assert_allclose(shown[:, 1], theta[0, shown[:, 0].astype(int)], atol=6e-4)
    # Nothing tells how exact the share of a group of one document is.
    assert other["low"][1] == other["high"][1] == [None] * 3


def test_errors_and_stability_are_shown_where_the_fit_has_them(docstrings, fitted, monkeypatch):
    monkeypatch.setattr(fitted, "topic_share_", np.full(8, 1 / 8), raising=False)
    monkeypatch.setattr(fitted, "topic_share_std_", np.full(8, 0.01), raising=False)
    monkeypatch.setattr(fitted, "topic_stability_", np.linspace(0, 1, 8), raising=False)
    monkeypatch.setattr(fitted, "doc_topic_std_", np.full(fitted.doc_topic_.shape, 0.02), raising=False)
    found = parse(TopicExplorer.from_estimator(fitted, docstrings.data).to_html())
    assert found["topics"]["share"] == [1 / 8] * 8 and found["topics"]["share_std"] == [0.01] * 8
    assert found["topics"]["stability"] == np.linspace(0, 1, 8).tolist()
    assert found["documents"]["std"] == [[0.02] * 10] * 8
    # A topic without words of its own has none.
    monkeypatch.setattr(fitted, "topic_stability_", np.where(np.arange(8) == 2, np.nan, 0.5))
    monkeypatch.setattr(fitted, "topic_prevalence_", np.where(np.arange(8) == 2, np.nan, 1.0), raising=False)
    topics = parse(TopicExplorer.from_estimator(fitted, docstrings.data).to_html())["topics"]
    assert topics["stability"] == [0.5] * 2 + [None] + [0.5] * 5 and topics["found_in"][2] == ""
    assert topics["no_topic"] == "no words of its own"
    # The errors describe the documents of the fit, and not others.
    found = parse(TopicExplorer.from_estimator(fitted, docstrings.data[:50]).to_html())
    assert found["topics"]["share_std"] is None and found["documents"]["std"] is None


def test_texts_keep_their_words_and_each_token_its_topic():
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=50, random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(TEXTS)
    found = parse(TopicExplorer.from_estimator(pipeline, TEXTS).to_html())
    assert found["words"]["name"] == ["apple", "banana", "car", "cherry", "engine", "wheel"]
    start = 0
    assert found["documents"]["excerpt"] == TEXTS and found["documents"]["numbered"]
    for text, part in zip(TEXTS, documents_of(found), strict=True):
        assert "".join(part["text"]) == text
        coloured = [(word.lower(), k) for _, word, k in words_of(part) if word]
        n = len(text.split())
        assert len(coloured) == n
        z = pipeline[-1].topic_assignments_[start : start + n]
        words = sorted(text.lower().replace("!", "").split())
        assert sorted(coloured) == sorted(zip(words, z.tolist(), strict=True))
        start += n


@pytest.mark.parametrize("model", [LatentDirichletAllocation(2, random_state=0), NMF(2, random_state=0, max_iter=500)])
def test_models_of_scikit_learn(model):
    vectorizer = TfidfVectorizer() if isinstance(model, NMF) else CountVectorizer()
    pipeline = make_pipeline(vectorizer, model).fit(TEXTS)
    found = parse(TopicExplorer.from_estimator(pipeline, TEXTS).to_html())
    assert found["documents"]["topic_kind"] == "likeliest"
    kinds = {}
    for part in documents_of(found)[:4]:
        for _, word, k in words_of(part):
            kinds.setdefault(word.lower(), set()).add(k)
    assert kinds["apple"] != kinds["wheel"] and all(len(kinds[word]) == 1 for word in ("apple", "wheel"))
    assert sum(found["topics"]["share"]) == pytest.approx(1)


def test_arrays_with_and_without_documents():
    corpus = make_lda_corpus(30, 20, 3, random_state=0)
    arrays = corpus.topic_word, corpus.doc_topic
    assert len(documents_of(parse(TopicExplorer.from_estimator(arrays, corpus.data).to_html()))) == 30
    found = parse(TopicExplorer.from_estimator(arrays).to_html())
    assert documents_of(found) == [] and found["n_tokens"] is None and found["words"]["count"] is None
    np.testing.assert_allclose(found["topics"]["share"], corpus.doc_topic.mean(axis=0))


def test_large_inputs_are_cut_and_the_page_says_so(monkeypatch):
    limits = {"MAX_TOPICS": 3, "MAX_WORDS": 70, "MAX_DOCUMENTS": 25, "N_CLOSEST": 2, "N_WORDS": 5}
    for name, value in limits.items():
        monkeypatch.setattr(_explorer_data, name, value)
    corpus = make_lda_corpus(40, 100, 5, doc_length=30, random_state=0)
    found = parse(TopicExplorer.from_estimator((corpus.topic_word, corpus.doc_topic), corpus.data).to_html())
    share = view((corpus.topic_word, corpus.doc_topic), corpus.data).share
    assert found["topics"]["id"] == sorted(np.argsort(-share)[:3].tolist())
    assert len(found["words"]["name"]) == 70 and len(found["documents"]["name"]) == 25
    documents = documents_of(found)
    assert len(documents) == 25
    assert [note.split(" on this")[0] for note in found["notes"]] == [
        "3 of 5 topics are",
        "70 of 100 words are",
        "25 of 40 documents are",
    ]
    for k, row in zip(found["topics"]["id"], found["documents"]["closest"], strict=True):
        first = np.argsort(-corpus.doc_topic[:, k], kind="stable")[:2]
        assert [found["documents"]["id"][i] for i in row] == first.tolist()
    # Words are those of the documents with their names, as far as the page has these.
    kept = found["words"]["id"]
    for d, part in zip(found["documents"]["id"], documents, strict=True):
        words, _, counts = np.array(part["bag"]).reshape(-1, 3).T
        row = np.zeros(100, int)
        np.add.at(row, np.array(kept)[words], counts)
        expected = np.zeros(100, int)
        expected[kept] = corpus.data[[d]].toarray().ravel()[kept]
        assert (row == expected).all()
    # Shares of topics that are not on the page do not appear under other numbers.
    for i, topics in enumerate(found["documents"]["topics"]):
        for place, value in np.array(topics).reshape(-1, 2):
            k = found["topics"]["id"][int(place)]
            assert value == pytest.approx(corpus.doc_topic[found["documents"]["id"][i], k], abs=6e-4)


PROSE = "Nobody knew who had broken the lines of this text, or for a page of which width it was that they did so. " * 9
SONNET = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;"""


@pytest.mark.parametrize("width", [60, 72, 100])
def test_lines_that_were_broken_to_fit_a_page_are_joined(width):
    prose, joined = textwrap.fill(PROSE, width), PROSE.strip()
    assert _texts.joined_lines(f"{prose}\n\n{prose}\n") == f"{joined}\n\n{joined}\n"
    # Titles, lists and indented lines are lines of their own.
    around = "A title\n=======\n\n- one thing\n- another thing\n  with two lines\n1. and a third\n\n"
    assert _texts.joined_lines(around + prose) == around + joined


@pytest.mark.parametrize(
    "text", [SONNET, "", "\n\n", "one line", "yes\nno\n", PROSE[:300] + "\n" + PROSE[:150] + "\n" + PROSE[:200]]
)
def test_verses_answers_and_paragraphs_of_one_line_keep_their_lines(text):
    assert _texts.joined_lines(text) == text


def test_texts_are_whole_up_to_a_size_of_the_page(monkeypatch):
    """The longest texts are cut, all to one length, so that the page has as much of them as it may have."""
    texts = ["apple " * 2000, "banana", "apple banana " * 500, "banana " * 20]
    pipeline = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=2, random_state=0)).fit(texts)
    found = parse(TopicExplorer.from_estimator(pipeline, texts).to_html())
    assert found["notes"] == [] and ["".join(part["text"]) for part in documents_of(found)] == texts
    monkeypatch.setattr(_texts, "ALL_CHARACTERS", 2000)
    found = parse(TopicExplorer.from_estimator(pipeline, texts).to_html())
    assert found["notes"] == ["2 of 4 documents are cut: they have more than 927 characters."]
    shown = ["".join(part["text"]) for part in documents_of(found)]
    assert shown == [texts[0][:927], texts[1], texts[2][:927], texts[3]] and 1998 <= sum(map(len, shown)) <= 2000
    assert [part.get("whole") for part in documents_of(found)] == [12_000, None, 6500, None]


def test_words_without_texts_are_whole_up_to_a_size_of_the_page(monkeypatch):
    corpus = make_lda_corpus(20, 60, 3, doc_length=50, random_state=0)
    lda = GibbsLDA(3, max_iter=2, random_state=0).fit(corpus.data)
    whole = documents_of(parse(TopicExplorer.from_estimator(lda, corpus.data).to_html()))
    monkeypatch.setattr(_texts, "ALL_PAIRS", 200)
    found = parse(TopicExplorer.from_estimator(lda, corpus.data).to_html())
    assert found["notes"] == ["20 of 20 documents are cut: they have more than 10 pairs of a word and a topic."]
    for part, all_of_it in zip(documents_of(found), whole, strict=True):
        assert part == {"bag": all_of_it["bag"][:30], "whole": len(all_of_it["bag"]) / 3}


def test_blocks_keep_the_places_of_documents(docstrings, fitted, monkeypatch):
    explorer = TopicExplorer.from_estimator(fitted, docstrings.data)
    monkeypatch.setattr(_texts, "_BLOCK", 3000)
    smaller = TopicExplorer.from_estimator(fitted, docstrings.data)
    assert len(smaller.data["documents"]["blocks"]) > 5 * len(explorer.data["documents"]["blocks"]) > 0
    assert documents_of(smaller.data) == documents_of(explorer.data)


def test_the_map_has_the_distances_as_far_as_a_plane_can(data, fitted):
    points, part = np.array(data["similarity"]["points"]), data["similarity"]["part"]
    distances = jensen_shannon(fitted.topic_word_)
    assert points.shape == (8, 2) and 0 < part < 1
    # Classical scaling keeps the sum of squares of the plane, and no other two axes have a larger one.
    centring = np.eye(8) - 1 / 8
    values = np.linalg.eigvalsh(-centring @ distances**2 @ centring / 2)
    assert (points**2).sum() == pytest.approx(values[-2:].sum(), abs=1e-3)
    assert part == pytest.approx(values[-2:].sum() / values[values > 0].sum(), abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_topics_are_placed_exactly(n):
    phi = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.9, 0.05, 0.05]])[:n]
    found = TopicExplorer.from_estimator((phi, np.full((4, n), 1 / n))).data["similarity"]
    points = np.array(found["points"])
    between = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(between, jensen_shannon(phi), atol=2e-4)
    assert found["part"] == 1


def test_dates_make_periods(docstrings, fitted):
    n = docstrings.data.shape[0]
    years = 2000 + np.arange(n) % 20
    with pytest.warns(UserWarning, match="dates is missing in document 0"):
        dates = [None, *years[1:].tolist()]
        explorer = TopicExplorer.from_estimator(fitted, docstrings.data, dates=dates, missing="drop")
    found = parse(explorer.to_html())
    assert found["documents"]["date"] == ["", *map(str, years[1:])]
    periods = found["periods"]
    assert periods["name"] == [str(2000 + y) for y in range(20)] and periods["length"] == "year"
    assert periods["undated"] == 1 and sum(periods["documents"]) == n - 1
    np.testing.assert_allclose(periods["mean"][7], fitted.doc_topic_[years == 2007].mean(axis=0), atol=0.03)
    assert (np.array(periods["low"]) < periods["mean"]).all() and (np.array(periods["mean"]) < periods["high"]).all()
    assert parse(TopicExplorer.from_estimator(fitted, docstrings.data).to_html())["periods"] is None


def test_hostile_names_stay_inside_the_data():
    explorer = hostile_explorer()
    page = explorer.to_html()
    page.encode("utf-8")
    scripts = re.findall(r"<\s*/?\s*script", page, re.I)
    assert scripts == ["<script", "</script", "<script", "</script"]
    raw = re.search(r'id="data">(.*?)</script>', page, re.S).group(1)
    assert not set("<>&\u2028\u2029") & set(raw)
    names = parse(page)["words"]["name"]
    for shown, given in zip(names, HOSTILE, strict=True):
        if given == "\ud800":
            assert shown == "?"
        elif len(given) > 200:
            assert shown == given[:199] + "…"
        else:
            assert shown == given
    assert HOSTILE[1] not in page and html.escape(HOSTILE[1]) in page
    # The frame of a notebook has the same page, in a sandbox.
    frame = explorer._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1)) == page
    assert 'sandbox="allow-scripts"' in frame


def test_no_text_turns_the_direction_of_what_follows():
    texts = [f"apple \u202ebanana {i} \u2067cherry" for i in range(8)]
    model = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=10, random_state=0)).fit(texts)
    found = parse(TopicExplorer.from_estimator(model, texts).to_html())
    ((_, packed),) = found["documents"]["blocks"]
    first = json.loads(zlib.decompress(base64.b64decode(packed)))[0]
    assert "".join(first["text"]) == "apple banana 0 cherry"


def test_the_page_is_one_file_that_names_no_address(tmp_path, docstrings, fitted):
    explorer = TopicExplorer.from_estimator(fitted, docstrings.data)
    page = explorer.to_html()
    assert explorer.to_html(tmp_path / "topics.html") is None
    assert (tmp_path / "topics.html").read_bytes() == page.encode()
    assert "default-src 'none'" in page and not re.search(r"https?:|//[a-z]+\.|@import|url\(", page)
    assert len(page) < 3e6
    for name in ("explorer.js", "explorer.css"):
        source = files("sklda.inspection").joinpath(name).read_text()
        assert "innerHTML" not in source and "eval(" not in source


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"texts": ["a"]}, ValueError, "texts has 1 values; there are 5 documents"),
        ({"texts": "a"}, TypeError, "texts must hold one value for each document"),
        ({"groups": ["a"]}, ValueError, "groups has 1 values; there are 5 documents"),
        ({"groups": 3}, TypeError, "must hold one label for each document"),
        ({"dates": [2001]}, ValueError, "dates has 1 values; there are 5 documents"),
        ({"dates": [2001, "May", 2003, 2004, 2005]}, ValueError, r"dates\[1\] = 'May' is not a date: give years"),
        ({"dates": [None] * 5}, ValueError, r"dates is missing in documents 0, .*\(5 of 5\)"),
    ],
)
def test_bad_input(options, error, message):
    X = np.array([[1, 0, 2], [0, 1, 1], [3, 0, 0], [0, 0, 1], [0, 2, 0]])
    with pytest.raises(error, match=message):
        TopicExplorer.from_estimator(GibbsLDA(2, max_iter=1).fit(X), X, **options)


@pytest.mark.parametrize(
    "names, message",
    [
        ({"document_names": ["a"]}, "document_names has 1 values; there are 5 documents"),
        ({"vocabulary": ["a"]}, "vocabulary has 1 words; there are 3 columns"),
        ({"topic_names": ["a"]}, "topic_names has 1 names; there are 2 topics"),
    ],
)
def test_bad_names(names, message):
    X = np.array([[1, 0, 2], [0, 1, 1], [3, 0, 0], [0, 0, 1], [0, 2, 0]])
    with pytest.raises(ValueError, match=message):
        TopicExplorer.from_estimator(describe(GibbsLDA(2, max_iter=1).fit(X), X, **names))


def test_a_model_without_documents_needs_x():
    X = np.array([[1, 0, 2], [0, 1, 1]])
    with pytest.raises(ValueError, match="texts are shown with the topics of the words of X: give X, too"):
        TopicExplorer.from_estimator(GibbsLDA(2, max_iter=1).fit(X), texts=["a", "b"])
    with pytest.raises(ValueError, match="LatentDirichletAllocation keeps no documents"):
        TopicExplorer.from_estimator(LatentDirichletAllocation(2).fit(X))


def test_a_frame_of_counts_has_no_texts():
    """A pipeline may take a frame; its column names are strings, but not the documents."""
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame([[1, 0], [1, 3], [2, 0]], columns=["w0", "w1"])
    model = make_pipeline("passthrough", GibbsLDA(2, max_iter=5, random_state=0)).fit(X)
    assert TopicExplorer.from_estimator(model, X)
    with pytest.raises(TypeError, match="texts must hold one value for each document"):
        TopicExplorer.from_estimator(model, X, texts=X)
