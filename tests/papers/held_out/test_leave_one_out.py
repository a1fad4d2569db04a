"""Leave-one-out likelihoods against enumeration, in both directions and together."""

import numpy as np
import pytest
from enumeration import DOCS, PRIORS, Enumeration, K, V, make_chain, make_corpus
from scipy.special import logsumexp
from scipy.stats import t as student

from sklda._likelihood.held_out.averages import bennett
from sklda.papers.held_out import _leave_one_out as predictive
from sklda.papers.held_out._leave_one_out import LeaveOneOut, leave_one_out

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


@pytest.mark.mutation("test_mutations_are_found")
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
        for key in rng.integers(2**64, size=400, dtype=np.uint64):
            if backward:
                topics = state.copy()
                topics[own] = e.states[same][rng.choice(len(conditional), p=conditional)][own]
                chain = make_chain(e.corpus, e.priors, topics)
            else:
                chain = make_chain(rest.corpus, e.priors, state[others])
            weights.append(predictive._anneal(chain, d, e.corpus, span, strengths, key, backward))
        assert p_value(np.exp(np.array(weights) + (log_p if backward else -log_p))[:, None], 1) > LEVEL


@pytest.mark.mutation("test_mutations_are_found")
@pytest.mark.parametrize("name, n_draws", [("symmetric", 100), ("eta per topic and word", 50)])
def test_exact(name, n_draws):
    alpha, eta = PRIORS[name]
    found = estimates(WITH_EMPTY, alpha, eta, n_draws=n_draws)
    assert p_value(found, exact_leave_one_out(WITH_EMPTY, alpha, eta)) > LEVEL
    assert (np.array(found)[:, 1] == 0).all()


@pytest.mark.mutation("test_mutations_are_found")
def test_exact_alpha_per_document():
    alpha, eta = PRIORS["alpha per document"]
    assert p_value(estimates(DOCS, alpha, eta, n_draws=50), exact_leave_one_out(DOCS, alpha, eta)) > LEVEL


@pytest.mark.mutation("test_mutations_are_found")
@pytest.mark.parametrize("piece", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_exact_piece_by_piece(monkeypatch, piece):
    alpha, eta = PRIORS["symmetric"]
    monkeypatch.setattr(predictive, "_PIECE", piece)
    assert p_value(estimates(DOCS, alpha, eta, n_draws=50), exact_leave_one_out(DOCS, alpha, eta)) > LEVEL


@pytest.mark.mutation("test_mutations_are_found")
def test_a_single_document():
    docs = [[0, 0, 1, 3]]
    assert p_value(estimates(docs, 0.3, 0.4, n_draws=50), exact_leave_one_out(docs, 0.3, 0.4)) > LEVEL


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
    """One sweep with the document is the smallest fault: 100 draws are as few as find it."""
    alpha, eta = PRIORS["symmetric"]
    exact = exact_leave_one_out(DOCS, alpha, eta)
    with monkeypatch.context() as patch:
        break_it(patch)
        found = estimates(DOCS, alpha, eta, n_draws=100 if break_it is keep_the_document else 50)
    assert p_value(found, exact) < LEVEL


@pytest.mark.mutation
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
    weights = np.array([[-1.0], [-2], [-4]])
    found = LeaveOneOut(np.array([4, 7]), np.array([0, 0, 1]), weights, weights)
    np.testing.assert_allclose(found.log_likelihood(), [-3, -4])
    # No probability is above 1.
    assert LeaveOneOut(np.array([4, 7]), np.array([0, 0, 1]), -weights, -weights).log_likelihood().tolist() == [0, 0]


def test_counts_of_the_whole_vocabulary_are_not_copied(monkeypatch):
    """They would be made anew for every piece and draw."""
    e = Enumeration(DOCS, V, K, np.full((len(DOCS), K), 0.4), 0.3)
    chain = make_chain(e.corpus, e.priors, e.states[0], 0)
    monkeypatch.delattr(type(chain), "word_topic_counts")
    found = leave_one_out(chain, [0, 1], n_draws=10, n_temperatures=3, seed=np.random.SeedSequence(0))
    assert np.isfinite(found.log_likelihood()).all()
