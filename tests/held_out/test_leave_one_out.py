"""Leave-one-out likelihoods against enumeration, in both directions and together."""

import numpy as np
import pytest
from enumeration import DOCS, PRIORS, Enumeration, K, V, make_chain, make_corpus, rising
from scipy.special import logsumexp
from scipy.stats import t as student
from sklearn.exceptions import NotFittedError

from sklda import GibbsLDA
from sklda._inference.held_out import leave_one_out as predictive
from sklda._inference.held_out.leave_one_out import LeaveOneOut, bennett, leave_one_out
from sklda.datasets import make_lda_corpus
from sklda.metrics import leave_one_out_score

# Each assert below is one of fewer than 60 tests; together they fail by chance less than once in 10,000 runs.
LEVEL = 1e-6
WITH_EMPTY = [DOCS[0], [], *DOCS[1:]]


def exact_leave_one_out(docs, alpha, eta):
    """log p(w) - log p(w of the others) for every document."""
    alpha = np.broadcast_to(alpha, (len(docs), K))
    whole = logsumexp(Enumeration(docs, V, K, alpha, eta).log_joint)
    rest = [[*docs[:d], [], *docs[d + 1 :]] for d in range(len(docs))]
    return np.array([whole - logsumexp(Enumeration(each, V, K, alpha, eta).log_joint) for each in rest])


def p_value(sample, mean):
    """Two-sided, of Student's test that the sample's rows have the mean; the smallest over columns."""
    sample = np.asarray(sample)
    z = (sample.mean(axis=0) - mean) / (sample.std(axis=0, ddof=1) / np.sqrt(len(sample)) + 1e-12)
    return 2 * student.sf(np.abs(z), len(sample) - 1).min()


def estimates(docs, alpha, eta, n_seeds=16, n_draws=100):
    e = Enumeration(docs, V, K, np.broadcast_to(alpha, (len(docs), K)), eta)
    rng = np.random.default_rng(0)
    result = []
    for seed in range(n_seeds):
        chain = make_chain(e.corpus, e.priors, e.states[rng.choice(len(e.states), p=e.posterior)], seed)
        found = leave_one_out(
            chain, np.arange(len(docs)), n_draws=n_draws, n_temperatures=8, seed=np.random.SeedSequence(seed)
        )
        result.append(found.log_likelihood())
    return result


@pytest.mark.parametrize("alpha, eta", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("backward", [False, True])
def test_annealing_of_one_document_is_unbiased(alpha, eta, backward):
    e = Enumeration(DOCS, V, K, alpha, eta)
    doc_of = e.corpus.token_documents
    rng = np.random.default_rng(1)
    strengths = np.geomspace(10, 0.01, 5)
    for d in range(3):
        own, others = doc_of == d, doc_of != d
        state = e.states[rng.integers(len(e.states))]
        same = (e.states[:, others] == state[others]).all(axis=1)
        rest = Enumeration([*DOCS[:d], [], *DOCS[d + 1 :]], V, K, e.alpha, eta)
        log_p = logsumexp(e.log_joint[same]) - rest.log_joint[rest.index(state[others])]
        conditional = np.exp(e.log_joint[same] - logsumexp(e.log_joint[same]))
        span = (int(e.corpus.offsets[d]), int(e.corpus.offsets[d + 1]))
        weights = []
        for key in rng.integers(2**64, size=1500, dtype=np.uint64):
            if backward:
                topics = state.copy()
                topics[own] = e.states[same][rng.choice(len(conditional), p=conditional)][own]
                chain = make_chain(e.corpus, e.priors, topics)
            else:
                chain = make_chain(rest.corpus, e.priors, state[others])
            weights.append(predictive._anneal(chain, d, e.corpus, span, strengths, key, backward))
        assert p_value(np.exp(np.array(weights) + (log_p if backward else -log_p))[:, None], 1) > LEVEL


@pytest.mark.parametrize("alpha, eta", [PRIORS["symmetric"], PRIORS["eta per topic and word"]])
def test_exact(alpha, eta):
    found = estimates(WITH_EMPTY, alpha, eta)
    assert p_value(found, exact_leave_one_out(WITH_EMPTY, alpha, eta)) > LEVEL
    assert (np.array(found)[:, 1] == 0).all()


def test_exact_alpha_per_document():
    alpha, eta = PRIORS["alpha per document"]
    assert p_value(estimates(DOCS, alpha, eta), exact_leave_one_out(DOCS, alpha, eta)) > LEVEL


@pytest.mark.parametrize("piece", [1, 2])
def test_exact_piece_by_piece(monkeypatch, piece):
    alpha, eta = PRIORS["symmetric"]
    monkeypatch.setattr(predictive, "_PIECE", piece)
    assert p_value(estimates(DOCS, alpha, eta), exact_leave_one_out(DOCS, alpha, eta)) > LEVEL


def test_a_single_document():
    docs = [[0, 0, 1, 3]]
    assert p_value(estimates(docs, 0.3, 0.4), exact_leave_one_out(docs, 0.3, 0.4)) > LEVEL


def test_one_topic_is_exact():
    X = np.array([[3, 0, 1], [0, 0, 0], [1, 2, 0], [0, 300, 5]])
    eta, m = 0.3, X.sum(axis=0)
    whole, rest = rising(np.full((1, 3), eta), m[None]), [rising(np.full((1, 3), eta), (m - x)[None]) for x in X]
    score = leave_one_out_score(X, (np.zeros(X.sum(), int), eta, 0.5), n_draws=10, random_state=0)
    np.testing.assert_allclose(score.log_likelihood, whole - np.array(rest), rtol=1e-5)
    assert score.std < 1e-4


def test_more_topics_than_tokens():
    X = np.array([[1, 0], [0, 1]])
    score = leave_one_out_score(X, ([0, 1], 0.1, 0.1), n_components=40, n_draws=10, random_state=0)
    assert np.isfinite(score.log_likelihood).all() and (score.log_likelihood < 0).all()


def keep_the_document(monkeypatch):
    """The document is annealed given topics of others that have seen it."""
    leave_out, anneal, whole = predictive._leave_out, predictive._anneal, []

    def spy(chain, *args):
        whole[:] = [chain]
        return leave_out(chain, *args)

    def broken(chain, d, corpus, piece, strengths, key, backward):
        if not backward:
            whole[0].sweep()
            chain = chain if len(chain.topics) == 0 else without(whole[0], d)
        return anneal(chain, d, corpus, piece, strengths, key, backward)

    def without(chain, d):
        rest = make_corpus([doc if i != d else [] for i, doc in enumerate(DOCS)], V)
        return make_chain(rest, chain.priors, chain.topics[chain.corpus.token_documents != d])

    monkeypatch.setattr(predictive, "_leave_out", spy)
    monkeypatch.setattr(predictive, "_anneal", broken)


def forget_earlier_pieces(monkeypatch):
    """The prior of theta lacks the tokens of the document's earlier pieces."""
    monkeypatch.setattr(predictive, "_PIECE", 1)

    def broken(chain, d, corpus, piece, *args):
        offsets = corpus.offsets.copy()
        offsets[d] = piece[0]
        return anneal(chain, d, predictive.Corpus(corpus.words, offsets, corpus.n_features), piece, *args)

    anneal = predictive._anneal
    monkeypatch.setattr(predictive, "_anneal", broken)


def drop_eta(monkeypatch):
    """Annealing with a tenth of eta."""
    evidence = predictive._leave_one_out.evidence

    def broken(*args):
        args = list(args)
        args[4], args[6] = args[4] / 10, args[6] / 10
        return evidence(*args)

    class Kernel:
        pass

    Kernel.evidence = staticmethod(broken)
    monkeypatch.setattr(predictive, "_leave_one_out", Kernel)


@pytest.mark.parametrize("break_it", [keep_the_document, forget_earlier_pieces, drop_eta])
def test_mutations_are_found(monkeypatch, break_it):
    alpha, eta = PRIORS["symmetric"]
    exact = exact_leave_one_out(DOCS, alpha, eta)
    with monkeypatch.context() as patch:
        break_it(patch)
        found = estimates(DOCS, alpha, eta)
    assert p_value(found, exact) < LEVEL


def test_bennett():
    # Gaussian weights that satisfy Crooks' relation: f ~ N(-s^2 / 2, s^2), b ~ N(s^2 / 2, s^2), log Z = 0.
    rng = np.random.default_rng(0)
    forward, backward = rng.normal(-2, 2, (40, 500)), rng.normal(2, 2, (40, 500))
    assert p_value(bennett(forward, backward)[:, None], 0) > LEVEL
    assert p_value(bennett(forward, backward + 0.5)[:, None], 0) < LEVEL
    np.testing.assert_allclose(bennett(forward - 700, backward - 700), bennett(forward, backward) - 700, atol=1e-9)
    assert bennett(np.full((1, 3), -5.0), np.full((1, 3), -5.0)) == pytest.approx(-5)
    # Few draws of wide weights: each side alone is biased.
    forward, backward = rng.normal(-8, 4, (40, 10)), rng.normal(8, 4, (40, 10))
    lower, upper = LeaveOneOut(np.arange(40), np.arange(40), forward, backward).one_sided()
    assert p_value(lower[:, None], 0) < LEVEL and lower.mean() < 0
    assert p_value(upper[:, None], 0) < LEVEL and upper.mean() > 0


def test_pieces_belong_to_their_documents():
    found = LeaveOneOut(np.array([4, 7]), np.array([0, 0, 1]), np.array([[1.0], [2], [4]]), np.array([[1.0], [2], [4]]))
    np.testing.assert_allclose(found.log_likelihood(), [3, 4])


@pytest.fixture(scope="module")
def fitted():
    X = make_lda_corpus(30, 25, 3, doc_length=(0, 40), doc_topic_prior=0.2, topic_word_prior=0.2, random_state=0).data
    return X, GibbsLDA(3, doc_topic_prior=0.2, topic_word_prior=0.2, max_iter=200, random_state=0).fit(X)


def test_score(fitted, same):
    X, lda = fitted
    score = leave_one_out_score(X, lda, n_draws=50, random_state=0)
    assert score.score == score.log_likelihood.mean()
    assert score.lower - 0.5 < score.score < score.upper + 0.5
    assert 0 < score.std < 0.5 and (score.log_likelihood_std >= 0).all()
    assert same(dict(score), dict(leave_one_out_score(X, lda, n_draws=50, random_state=0, n_jobs=2)))
    arrays = (lda.topic_assignments_, lda.topic_word_prior_, lda.doc_topic_prior_)
    assert same(dict(score), dict(leave_one_out_score(X.toarray(), arrays, n_draws=50, n_components=3, random_state=0)))
    # Another seed agrees within the errors stated; 8 of them, for chains that forget slowly.
    again = leave_one_out_score(X, lda, n_draws=50, random_state=1)
    assert abs(again.score - score.score) < 8 * np.hypot(again.std, score.std)


def test_better_priors_score_better(fitted):
    X, lda = fitted
    scores = [
        leave_one_out_score(X, (lda.topic_assignments_, eta, alpha), n_components=3, random_state=0).score
        for eta, alpha in [(0.2, 0.2), (20, 0.2), (0.2, 20), (0.002, 0.2)]
    ]
    assert max(scores[1:]) < scores[0] - 0.5


def test_some_documents(fitted):
    X, lda = fitted
    lengths = np.asarray(X.sum(axis=1)).ravel()
    rows = [3, int(np.argmin(lengths)), 3]
    some = leave_one_out_score(X, lda, documents=rows, n_draws=20, random_state=0)
    assert some.log_likelihood.shape == (3,)
    assert lengths[rows[1]] > 0 or some.log_likelihood[1] == 0


@pytest.mark.parametrize("scale", [1e-12, 0.01, 100, 1e12])
def test_extreme_priors(fitted, scale):
    X, lda = fitted
    prior = float(np.clip(0.2 * scale, 1e-12, 1e12))
    arrays = (lda.topic_assignments_, prior, prior)
    score = leave_one_out_score(X, arrays, documents=[0, 1, 2], n_draws=10, n_components=3, random_state=0)
    assert np.isfinite(score.log_likelihood).all()


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"n_draws": 9}, ValueError, "n_draws must be at least 10, got 9"),
        ({"n_temperatures": 0}, ValueError, "n_temperatures must be at least 1, got 0"),
        ({"n_draws": 10.5}, TypeError, "n_draws must be an int, got 10.5"),
        ({"documents": [30]}, ValueError, "documents holds 30; X has rows 0 to 29"),
        ({"documents": [-1]}, ValueError, "documents holds -1"),
        ({"documents": []}, ValueError, "documents must be row numbers"),
        ({"documents": [True]}, ValueError, "documents must be row numbers"),
        ({"n_components": 3}, ValueError, "n_components is for a triple"),
        ({"model": GibbsLDA()}, NotFittedError, "This GibbsLDA instance is not fitted yet"),
        ({"model": object()}, TypeError, "object has no topic_assignments_"),
        ({"model": ([0, 1], 0.1, 0.1)}, ValueError, r"topic_assignments has shape \(2,\); X has"),
    ],
)
def test_bad_input(fitted, options, error, message):
    X, lda = fitted
    with pytest.raises(error, match=message):
        leave_one_out_score(**{"X": X, "model": lda} | options)


@pytest.mark.parametrize("topic", [-1, 3, 2**31 - 1, 2**32, 2**32 + 1])
def test_topics_out_of_range(fitted, topic):
    X, lda = fitted
    topics = np.full(len(lda.topic_assignments_), topic)
    with pytest.raises(ValueError, match=f"run from {topic} to {topic}; with n_components=3"):
        leave_one_out_score(X, (topics, 0.1, 0.1), n_components=3)
