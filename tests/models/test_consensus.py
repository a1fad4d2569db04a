"""ConsensusTopics: known topics, fits and their documents, proportions, searches, and what is refused."""

import pickle
from contextlib import suppress
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklda import CompoundLDA, ConsensusTopics, CovariateLDA, GibbsLDA, LabeledLDA
from sklda._core.distances import jensen_shannon
from sklda._description.view import view
from sklda.datasets import make_lda_corpus
from sklda.inspection import document_table, token_topics, top_documents, topic_correlation, topic_table
from sklda.inspection._explorer_data import page_data


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(200, 100, 4, doc_length=80, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0)


@pytest.fixture(scope="module")
def found(corpus):
    return ConsensusTopics(GibbsLDA(4, max_iter=60), n_fits=4, random_state=0).fit(corpus.data)


class Recorder(TransformerMixin, BaseEstimator):
    """A topic model that keeps its documents; its topics are a draw from its seed."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.X_ = X
        self.components_ = np.random.default_rng(self.random_state).dirichlet(np.full(X.shape[1], 0.1), 3)
        return self

    def transform(self, X):
        return np.full((X.shape[0], 3), 1 / 3)


def test_clear_topics_are_found_by_every_fit(corpus, found):
    assert found.n_components_ == 4 and found.topic_prevalence_.tolist() == [1] * 4
    assert (found.topic_stability_ > 0.9).all()
    distances = jensen_shannon(corpus.topic_word, found.topic_word_)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2, 3]
    assert distances.min(axis=1).max() < 0.2
    np.testing.assert_allclose(found.doc_topic_.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(found.unassigned_, 0, atol=1e-6)


def test_topics_of_noise_are_not_found_again():
    """Large parts of the corpus are alike in all fits, because they have the frequencies of its words."""
    noise = np.random.default_rng(0).poisson(0.3, (150, 100))
    lda = GibbsLDA(8, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=60)
    model = ConsensusTopics(lda, n_fits=5, min_prevalence=0.8, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match="No topic is found beyond chance: n_components_ is 0. 80 % of the 5 fits"
    ):
        model.fit(noise)
    assert model.n_components_ == 0 and model.transform(noise).shape == (150, 0)
    assert model.components_.shape == (0, 100) and model.get_feature_names_out().shape == (0,)
    np.testing.assert_array_equal(model.unassigned_, 1)
    assert model.score(noise) == 0


def words_of_one_distribution(seed):
    """A corpus without topics: all words are drawn from one Zipf distribution."""
    p = 1 / np.arange(1, 301)
    return np.random.default_rng(seed).multinomial(60, p / p.sum(), size=300)


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
@pytest.mark.mutation("sklda._models.consensus.agreement._BEYOND_CHANCE", -np.inf)
def test_a_corpus_without_topics_has_no_consensus_topics():
    """The limit of .65 is six standard deviations above the mean of 314 clusters of such corpora, .31 ± .06."""
    model = ConsensusTopics(GibbsLDA(10, max_iter=100), n_fits=4, n_splits=0, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match="No topic is found beyond chance: n_components_ is 0. 75 % of the 4 fits"
    ):
        assert model.fit(words_of_one_distribution(0)).n_components_ == 0


def bursty_words(rng, doc_topic, topic_word, length):
    """Documents whose words are draws from distributions of their own around the topics: used words occur again."""
    X = np.zeros((len(doc_topic), topic_word.shape[1]), int)
    for d, theta in enumerate(doc_topic):
        for k, n in enumerate(rng.multinomial(length, theta)):
            own = rng.gamma(50 * topic_word[k]) + 1e-300
            X[d] += rng.multinomial(n, own / own.sum())
    return X


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
@pytest.mark.mutation("sklda._models.consensus.agreement.in_halves", lambda *_: (1.0, 1.0))
def test_bursts_of_words_make_no_topics():
    """Fits to the same documents agree on words that single documents repeat. Fits to halves of them do not.

    Two halves have .25 or less of topics of such a corpus in common. The limit is .4.
    """
    p = 1 / np.arange(1, 301)
    X = bursty_words(np.random.default_rng(0), np.ones((250, 1)), (p / p.sum())[None], 60)
    model = ConsensusTopics(GibbsLDA(10, learn_priors=False, max_iter=200), n_fits=4, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"n_components_ is 0.*both halves.*0\.[0-3]\d of it in common"):
        assert model.fit(X).n_components_ == 0
    assert not hasattr(model.set_params(n_splits=0).fit(X), "split_half_agreement_") and model.n_components_ > 0


@pytest.mark.filterwarnings("ignore:The fit has too few sweeps")
def test_true_topics_of_bursty_words_are_kept():
    """Two halves have .79 or more of them in common."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(300, 0.1), 8)
    X = bursty_words(rng, rng.dirichlet(np.full(8, 0.2), 250), topics, 60)
    model = ConsensusTopics(GibbsLDA(14, max_iter=100), n_fits=4, random_state=0).fit(X)
    assert model.n_components_ == 8 and (model.split_half_agreement_ > 0.65).all()
    assert (jensen_shannon(topics, model.topic_word_).min(axis=1) < 0.4).all()


def between_fits_only(chains):
    """In place of the variance within and between chains."""
    return np.var([each.mean(axis=0) for each in chains], axis=0, ddof=1)


@pytest.mark.mutation("sklda._models.consensus.fits.TopicDraws.variance", lambda self, members, fit: 0.0)
@pytest.mark.mutation("sklda._models.consensus.fits.variance_around_mean", between_fits_only, cases="None")
@pytest.mark.parametrize("resample", [None, "bootstrap"])
def test_standard_deviations_are_those_of_true_proportions(resample):
    """The fits agree, so the variance between them is a small part of that of the true values around the means.

    Coverage by 1.96 standard deviations of 240 proportions in each of five corpora is .94 to .95, with a standard
    deviation of .01 for a corpus. z of 15 shares, of which ten are free, has a root mean square of 1: more than 2 has a
    probability of 2e-5.
    """
    inside, z = [], []
    for seed in range(5):
        sizes = {"doc_length": 40, "doc_topic_prior": 0.3, "topic_word_prior": 0.05}
        corpus = make_lda_corpus(80, 100, 3, **sizes, random_state=seed)
        lda = GibbsLDA(3, max_iter=60, doc_topic_prior=0.3, topic_word_prior=0.05)
        model = ConsensusTopics(lda, n_fits=4, resample=resample, n_splits=0, random_state=seed).fit(corpus.data)
        order = jensen_shannon(corpus.topic_word, model.topic_word_).argmin(axis=1)
        error = model.doc_topic_[:, order] - corpus.doc_topic
        inside.append((np.abs(error) <= 1.96 * model.doc_topic_std_[:, order]).mean())
        true = np.bincount(corpus.topic_assignments, minlength=3) / corpus.data.sum()
        z.append((model.topic_share_[order] - true) / model.topic_share_std_[order])
    assert np.mean(inside) > 0.88
    assert np.sqrt(np.mean(np.square(z))) < 2


def test_topics_without_words_of_their_own_are_left_out():
    """Eight topics for five: those that are left over all look like their prior."""
    options = {"doc_length": 80, "doc_topic_prior": 0.05, "topic_word_prior": 0.05}
    X = make_lda_corpus(200, 1000, 5, **options, random_state=0).data
    model = ConsensusTopics(GibbsLDA(8, max_iter=100), n_fits=3, n_splits=0, random_state=0).fit(X)
    assert model.n_components_ == 5
    for f, each in enumerate(model.estimators_):
        members = {int(k) for pairs in model.members_ for g, k in pairs if g == f}
        assert set(np.flatnonzero(each.topic_share_ > 0.03)) == members


def test_proportions_are_means_over_fits_of_summed_members(corpus, found):
    X = corpus.data[:20]
    by_fit = np.zeros((4, 20, 4))
    for f, each in enumerate(found.estimators_):
        theta = each.transform(X)
        for c, pairs in enumerate(found.members_):
            for own, k in pairs:
                by_fit[f, :, c] += theta[:, k] * (own == f)
    np.testing.assert_allclose(found.transform(X), by_fit.mean(axis=0))
    training = np.array(
        [
            [each.doc_topic_[:, pairs[pairs[:, 0] == f, 1]].sum(axis=1) for pairs in found.members_]
            for f, each in enumerate(found.estimators_)
        ]
    ).transpose(0, 2, 1)
    np.testing.assert_allclose(found.doc_topic_, training.mean(axis=0), rtol=1e-6)
    # Each fit has one topic for each consensus topic.
    order = [{f: k for f, k in pairs.tolist()} for pairs in found.members_]
    own_stds = [each.doc_topic_std_[:, [own[f] for own in order]] for f, each in enumerate(found.estimators_)]
    variance = np.mean(np.square(own_stds), axis=0) + training.var(axis=0, ddof=1)
    np.testing.assert_allclose(found.doc_topic_std_, np.sqrt(variance), rtol=1e-4, atol=1e-6)
    weights = np.ravel(corpus.data.sum(axis=1)) / corpus.data.sum()
    np.testing.assert_allclose(found.topic_share_, weights @ found.doc_topic_, rtol=1e-6)
    assert (found.topic_share_std_ > (weights @ training).std(axis=0, ddof=1)).all()


def test_results_depend_on_the_seed_only(corpus, found, same):
    with parallel_config(backend="threading"):
        again = clone(found).set_params(n_jobs=2).fit(corpus.data)
    for name in ("components_", "doc_topic_", "topic_prevalence_", "members_", "topic_share_std_"):
        assert same(getattr(again, name), getattr(found, name))
    other = clone(found).set_params(random_state=1).fit(corpus.data)
    assert not np.array_equal(other.components_, found.components_)
    seeds = [each.random_state for each in found.estimators_]
    assert len(set(seeds)) == 4 and found.estimator.random_state is None
    X = corpus.data[:30]
    theta = found.transform(X)
    np.testing.assert_array_equal(found.transform(X[[7, 3]]), theta[[7, 3]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).transform(X), theta)


@pytest.mark.parametrize(("resample", "n_drawn", "distinct"), [("bootstrap", 58, False), (0.5, 29, True)])
def test_samples_of_documents(resample, n_drawn, distinct):
    X = np.random.default_rng(0).poisson(1, (60, 20))
    X[[3, 40]] = 0
    X[:, 0] = np.arange(60)
    X[[3, 40], 0] = 0
    options = {"n_splits": 0, "min_prevalence": 0.1, "random_state": 0}
    model = ConsensusTopics(Recorder(), n_fits=3, resample=resample, **options).fit(X)
    samples = [each.X_[:, 0] for each in model.estimators_]
    for sample in samples:
        # Document 0 has the mark 0, too. Documents without words are not drawn.
        assert len(sample) == n_drawn and not set(sample) & {3, 40}
        assert (len(np.unique(sample)) == n_drawn) is distinct
    assert not np.array_equal(*samples[:2])
    assert model.doc_topic_.shape == (60, model.n_components_)
    whole = ConsensusTopics(Recorder(), n_fits=2, **options).fit(X)
    np.testing.assert_array_equal(whole.estimators_[0].X_, X)


def test_names_of_a_data_frame_and_of_a_pipeline(corpus):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(corpus.data.toarray(), columns=[f"w{v}" for v in range(100)])
    model = ConsensusTopics(GibbsLDA(2, max_iter=10), n_fits=2, resample=0.9, n_splits=0, random_state=0)
    table = model.set_output(transform="pandas").fit(X).transform(X)
    assert list(table.columns) == [f"consensustopics{k}" for k in range(model.n_components_)]
    assert model.feature_names_in_[0] == model.estimators_[0].feature_names_in_[0] == "w0"
    texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
    lda = GibbsLDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=30)
    pipeline = make_pipeline(CountVectorizer(), ConsensusTopics(lda, n_fits=3, n_splits=0, random_state=0)).fit(texts)
    assert pipeline.transform(texts).shape == (4, 2)
    assert pipeline.score(texts) == pytest.approx(2)


def test_searches_count_topics_that_are_found_again(corpus):
    model = ConsensusTopics(GibbsLDA(max_iter=30), n_fits=3, n_splits=0, random_state=0)
    search = GridSearchCV(model, {"estimator__n_components": [1, 4]}, cv=2).fit(corpus.data)
    assert search.best_params_ == {"estimator__n_components": 4}
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(1)
    assert 3 <= search.best_score_ <= 4
    best = search.best_estimator_
    X, weight = corpus.data[:50], np.arange(50) % 3
    lengths = np.ravel(X.sum(axis=1))
    assigned = best.transform(X).sum(axis=1)
    expected = best.n_components_ * np.average(assigned, weights=weight * lengths)
    assert best.score(X, sample_weight=weight) == pytest.approx(expected)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(TfidfTransformer(use_idf=False, norm=None), model).fit(corpus.data)
        assert pipeline.score(corpus.data) <= pipeline[-1].n_components_ + 1e-9


def test_inspection_takes_it(corpus, found):
    X = corpus.data
    table = document_table(found, X=X)
    np.testing.assert_array_equal(np.stack([table[f"topic_{k}"] for k in range(4)], axis=1), found.doc_topic_)
    np.testing.assert_array_equal(table["topic_1_std"], found.doc_topic_std_[:, 1])
    assert topic_table(found)["share"].tolist() == found.topic_share_.tolist()
    data = page_data(view(found, X, needs="proportions"))
    assert data["topics"]["found_in"] == ["4 of 4 fits"] * 4
    assert data["topics"]["stability"] == found.topic_stability_.tolist()
    assert set(token_topics(found, X[:5])["topic"]) <= {0, 1, 2, 3}
    assert len(top_documents(found)) == 4
    new = document_table(found, X=X[:3])
    np.testing.assert_array_equal(new["topic_2"], found.transform(X[:3])[:, 2])


def test_the_rest_of_a_document_stays_unassigned():
    X = np.random.default_rng(0).poisson(1, (60, 20))
    model = ConsensusTopics(Recorder(), n_fits=3, min_prevalence=0.1, n_splits=0, random_state=0).fit(X)
    # Documents of the model's own transform: a third for each topic of a fit.
    np.testing.assert_allclose(model.doc_topic_.sum(axis=1) + model.unassigned_, 1)
    few = ConsensusTopics(Recorder(), n_fits=3, min_prevalence=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="No topic is found"):
        few.fit(X)
    with pytest.raises(ValueError, match="has no topics"):
        topic_table(few)


@pytest.mark.parametrize(
    "estimator", [LatentDirichletAllocation(4), NMF(4, init="random"), CompoundLDA(4, max_iter=30)]
)
def test_other_topic_models(corpus, estimator):
    X = corpus.data.astype(float)
    model = ConsensusTopics(estimator, n_fits=3, n_splits=0, random_state=0).fit(X)
    assert model.n_components_ >= 3
    theta = model.transform(X)
    assert theta.shape == (200, model.n_components_) and (theta >= 0).all() and theta.sum(axis=1).max() < 1 + 1e-9
    np.testing.assert_allclose(model.topic_word_.sum(axis=1), 1)


def test_equal_fits_get_a_warning(corpus):
    X = corpus.data.astype(float)
    with pytest.warns(ConvergenceWarning, match="same start"):
        ConsensusTopics(NMF(4, init="nndsvd"), n_fits=2).fit(X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ConsensusTopics(n_fits=1), "n_fits"),
        (ConsensusTopics(min_prevalence=1.5), "min_prevalence"),
        (ConsensusTopics(resample="jackknife"), "resample"),
        (ConsensusTopics(resample=1.0), "resample"),
        (ConsensusTopics(GibbsLDA), "estimator is <class .*GibbsLDA'>: give a topic model"),
        (ConsensusTopics(TruncatedSVD(2), n_fits=2), "components_ of the TruncatedSVD holds negative"),
        (ConsensusTopics(LabeledLDA()), "LabeledLDA needs labels"),
        (ConsensusTopics(make_pipeline(GibbsLDA(2, max_iter=2)), n_fits=2), "A pipeline must end in ConsensusTopics"),
        (ConsensusTopics(GibbsLDA(0)), "n_components"),
    ],
    ids=str,
)
def test_refusals_leave_nothing(corpus, model, message):
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(corpus.data)
    assert vars(model) == before


def test_documents_that_are_refused(corpus, found):
    with pytest.raises(ValueError, match="no word at all"):
        ConsensusTopics(n_fits=2).fit(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="Negative values"):
        ConsensusTopics(n_fits=2).fit(-np.ones((3, 4)))
    with pytest.raises(ValueError, match="not a whole number"):
        ConsensusTopics(n_fits=2).fit(np.full((3, 4), 0.5))
    with pytest.raises(ValueError, match="features"):
        found.transform(np.ones((2, 3)))
    with pytest.raises(NotFittedError):
        ConsensusTopics().transform(corpus.data)
    # The old results stay.
    with pytest.raises(ValueError, match="no word at all"):
        found.fit(np.zeros((3, 4)))
    assert found.n_components_ == 4


LABELS = np.array(["a", "b"])


class WithMetadata(Recorder):
    """A topic model that keeps its metadata."""

    def fit(self, X, y=None, marks=None, option=None):
        self.marks_, self.option_ = marks, option
        return super().fit(X)

    def transform(self, X, marks=None):
        theta = super().transform(X)
        return theta if marks is None else theta * 0 + np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("resample", [None, "bootstrap", 0.5])
def test_metadata_go_to_the_fits_with_their_documents(routing, resample):
    X = np.arange(1, 41).reshape(20, 2)
    with config_context(enable_metadata_routing=routing):
        estimator = WithMetadata()
        if routing:
            estimator.set_fit_request(marks=True, option=True).set_transform_request(marks="marks")
        model = ConsensusTopics(estimator, n_fits=3, min_prevalence=0.1, resample=resample, random_state=0)
        model.fit(X, marks=X[:, 0].tolist(), option="x")
        for each in model.estimators_:
            np.testing.assert_array_equal(each.marks_, each.X_[:, 0])
            assert each.option_ == "x"
        plain, known = model.transform(X[:4]), model.transform(X[:4], marks=[1, 2, 3, 4])
        assert plain.shape == known.shape and not np.array_equal(plain, known)
        assert model.score(X, marks=X[:, 0], sample_weight=np.arange(20)) == pytest.approx(model.n_components_, rel=0.5)
        pipeline = make_pipeline("passthrough", model) if routing else None
        if routing:
            np.testing.assert_array_equal(pipeline.fit(X, marks=X[:, 0])[-1].estimators_[0].option_, None)
            assert pipeline.transform(X[:4], marks=[1, 2, 3, 4]).shape == (4, model.n_components_)


def in_all_forms(marks):
    """The same numbers as every kind of metadata, and a function that reads them again."""
    frame = {"m": marks, "n": [str(m) for m in marks]}
    yield marks, np.asarray
    yield [[m, str(m)] for m in marks.tolist()], lambda rows: [m for m, _ in rows]
    yield frame, lambda found: found["m"] if list(map(str, found["m"])) == list(found["n"]) else None
    yield {"group": frame}, lambda found: found["group"]["m"]
    for form in (sp.csr_matrix, sp.coo_matrix, sp.coo_array, sp.lil_array):
        yield form(marks[:, None]), lambda found: found.toarray().ravel()
    for library in ("pandas", "polars"):
        with suppress(ImportError):
            module = import_module(library)
            yield module.DataFrame(frame), lambda found: found["m"].to_numpy()
            yield {"m": module.Series(marks)}, lambda found: found["m"].to_numpy()
            yield module.Series(marks), lambda found: found.to_numpy()


@pytest.mark.parametrize("resample", ["bootstrap", 0.5])
def test_all_kinds_of_metadata_are_drawn_with_the_documents(resample):
    # As many documents as columns, too.
    for X in (np.arange(1, 41).reshape(20, 2), np.array([[1, 5], [2, 6]])):
        for marks, read in in_all_forms(X[:, 0]):
            model = ConsensusTopics(WithMetadata(), n_fits=2, min_prevalence=0.1, resample=resample, random_state=0)
            for each in model.fit(X, marks=marks).estimators_:
                np.testing.assert_array_equal(read(each.marks_), each.X_[:, 0])


def test_effects_of_covariates_in_bootstrap_samples():
    """Each word has its value of the covariate. A covariate of other documents would have no effect."""
    X = np.repeat([[9, 1], [1, 9]], 20, axis=0)
    lda = CovariateLDA(2, topic_word_prior=[[9, 0.1], [0.1, 9]], learn_priors=False, max_iter=20)
    model = ConsensusTopics(lda, n_fits=2, min_prevalence=0.1, resample="bootstrap", random_state=0)
    model.fit(X, covariates={"x": np.repeat([0.0, 1.0], 20)})
    for each in model.estimators_:
        assert each.coef_[1, 0] - each.coef_[0, 0] > 1


def test_metadata_that_are_refused():
    X = np.ones((6, 3), int)
    with pytest.raises(TypeError, match="does not take 'weights'"):
        ConsensusTopics(GibbsLDA(2, max_iter=2), n_fits=2).fit(X, weights=np.ones(6))
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="weights"):
        ConsensusTopics(GibbsLDA(2, max_iter=2), n_fits=2).fit(X, weights=np.ones(6))
    # As many as the documents that are drawn.
    for marks, name in ((np.ones(3), "marks"), ({"a": [1, 2, 3]}, r"marks\['a'\]"), (sp.eye_array(3), "marks")):
        with pytest.raises(ValueError, match=f"{name} has 3 (entries|values); "):
            ConsensusTopics(WithMetadata(), n_fits=2, resample=0.5).fit(X, marks=marks)


def test_collections_of_compound_lda(corpus):
    labels = LABELS[np.arange(200) % 2]
    lda = CompoundLDA(4, max_iter=30)
    model = ConsensusTopics(lda, n_fits=2, min_prevalence=0.5, random_state=0).fit(corpus.data, collections=labels)
    assert model.estimators_[0].collections_.tolist() == ["a", "b"]
    known = model.transform(corpus.data[:5], collections=labels[:5])
    assert known.shape == (5, model.n_components_) and not np.array_equal(known, model.transform(corpus.data[:5]))


def test_documents_of_samples_have_their_own_prior(corpus):
    X, labels = corpus.data[:60], np.array(["a", "b"] * 29 + ["c", "d"])
    lda = CompoundLDA(3, max_iter=10)
    options = {"n_fits": 2, "resample": 0.5, "n_splits": 0, "random_state": 0}
    model = ConsensusTopics(lda, **options).fit(X, collections=labels)
    # Samples lack small collections.
    assert not all({"c", "d"} <= {*each.collections_} for each in model.estimators_)
    whole = ConsensusTopics(lda, **options).fit(X[:58], collections=labels[:58])
    np.testing.assert_allclose(whole.doc_topic_, whole.transform(X[:58], collections=labels[:58]))


def test_draws_come_from_all_fits(corpus, found):
    draws = found.sample_posterior(10, random_state=0)
    assert draws.doc_topic.shape == (10, 200, 4) and draws.topic_word.shape == (10, 4, 100)
    assert sorted(np.bincount(draws.fit)) == [2, 2, 3, 3]
    np.testing.assert_allclose(draws.doc_topic.sum(axis=2), 1, rtol=1e-4)
    np.testing.assert_allclose(draws.topic_word.sum(axis=2), 1, rtol=1e-4)
    again = found.sample_posterior(10, random_state=0)
    np.testing.assert_array_equal(again.doc_topic, draws.doc_topic)
    # The mean over as many draws of each fit is the mean over fits, up to the noise of 400 draws.
    many = found.sample_posterior(400, random_state=0).doc_topic.mean(axis=0)
    assert np.abs(many - found.doc_topic_).mean() < 0.005


def test_a_topic_that_a_fit_does_not_have(corpus):
    model = ConsensusTopics(GibbsLDA(2, max_iter=20), n_fits=3, min_prevalence=0.3, random_state=0).fit(corpus.data)
    assert model.topic_prevalence_.min() < 1
    draws = model.sample_posterior(6, random_state=0)
    for i, f in enumerate(draws.fit):
        for c, pairs in enumerate(model.members_):
            has = f in pairs[:, 0]
            assert np.isnan(draws.topic_word[i, c]).any() != has and (draws.doc_topic[i, :, c] > 0).any() == has
    assert (draws.doc_topic.sum(axis=2) <= 1 + 1e-5).all()


def test_draws_that_are_refused(corpus, found):
    with pytest.raises(ValueError, match="n_draws == 0"):
        found.sample_posterior(0)
    # One iteration: converged fits can be the same fit.
    fits = NMF(3, init="random", max_iter=1, tol=0)
    nmf = ConsensusTopics(fits, n_fits=2, min_prevalence=0.5, n_splits=0, random_state=0)
    nmf.fit(corpus.data.astype(float))
    with pytest.raises(TypeError, match="NMF has no posterior"):
        nmf.sample_posterior()
    half = ConsensusTopics(GibbsLDA(4, max_iter=30), n_fits=2, resample=0.5, random_state=0).fit(corpus.data)
    with pytest.raises(ValueError, match="draws of all documents need resample=None"):
        half.sample_posterior()
    assert topic_correlation(half).n_draws == 0 and topic_correlation(found).n_draws == 20
    with pytest.raises(NotFittedError):
        ConsensusTopics().sample_posterior()


def test_fits_share_the_memory_of_the_corpus_and_of_the_last_draw(corpus, found):
    corpora = {id(each._results_.corpus) for each in found.estimators_}
    assert len(corpora) == 1
    for each in found.estimators_:
        draws = each._results_.draws[0].topics
        assert np.shares_memory(each.topic_assignments_, draws[-1]) and each.topic_assignments_.itemsize == 1
    alone = clone(found.estimators_[1]).fit(corpus.data)
    np.testing.assert_array_equal(alone.topic_assignments_, found.estimators_[1].topic_assignments_)


def test_samples_of_documents_have_their_own_corpora(corpus):
    half = ConsensusTopics(GibbsLDA(3, max_iter=5), n_fits=2, min_prevalence=0.1, resample=0.5, random_state=0)
    fits = half.fit(corpus.data).estimators_
    assert fits[0]._results_.corpus is not fits[1]._results_.corpus


def test_documents_with_a_category_that_a_sample_lacks_have_the_mean_level(corpus):
    levels = np.array(["a", "b"] * 100, dtype=object)
    levels[7] = "rare"
    model = ConsensusTopics(CovariateLDA(4, max_iter=60), n_fits=4, resample=0.5, n_splits=0, random_state=0)
    with pytest.warns(UserWarning, match="1 of 200 documents, .*document 7 .*a level"):
        model.fit(corpus.data, covariates=levels)
    assert {len(each.covariate_names_) for each in model.estimators_} == {2, 3}
    assert model.n_components_ == 4
    # The topics have another order.
    np.testing.assert_allclose(np.sort(model.doc_topic_[7]), np.sort(corpus.doc_topic[7]), atol=0.1)
