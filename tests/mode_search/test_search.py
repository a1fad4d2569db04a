"""The search between modes: it leaves modes that sweeps do not leave, within its budget, the same for every n_jobs."""

import numpy as np
import pytest

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._mode_search import search
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.matching import differing

# In nats of the log joint: the bad mode is 245 lower, and the mean over 30 sweeps has a standard deviation of about 3.
LIMIT = 60.0
BLOCK = 5


def improve_modes(*args, **options):
    return search.improve_modes(*args, **options)[0]


def two_pairs(n_documents=80, length=40):
    """A corpus with a good and a bad mode of four topics.

    Half of the documents have words of their own. In each half, a document has 24 words of one of two blocks, and 16 of
    one of two others. Two topics can be the first two blocks, with any words of the others, or the other way round.
    """
    rng, d = np.random.default_rng(0), np.arange(n_documents)
    half, strong, weak = d % 2, d // 2 % 2, d // 4 % 2
    X = np.zeros((n_documents, 8 * BLOCK), int)
    for d in range(n_documents):
        blocks = 4 * half[d] + np.repeat([strong[d], 2 + weak[d]], [length * 3 // 5, length * 2 // 5])
        np.add.at(X[d], blocks * BLOCK + rng.integers(BLOCK, size=length), 1)
    corpus = Corpus.from_counts(X)
    documents = corpus.token_documents
    good, bad = 2 * half + strong, 2 * half + np.where(half == 1, weak, strong)
    return corpus, good[documents], bad[documents]


CORPUS, GOOD, BAD = two_pairs()
PRIORS = Priors.make(0.1, 0.5, 4, CORPUS.n_features)


def log_joint(topics, n_sweeps=30):
    """Mean log joint over the last 30 sweeps."""
    chain = GibbsChain(CORPUS, PRIORS, ChainState(topics, random.stream(random.seed_sequence(1))))
    trace = []
    for _ in range(n_sweeps):
        chain.sweep()
        trace.append(chain.log_joint())
    return np.mean(trace[-30:])


@pytest.mark.mutation("sklda._mode_search.search.redraw", lambda corpus, priors, topics, *rest: topics)
def test_the_search_leaves_a_bad_mode():
    """It does so from each of 200 seeds."""
    (found,) = improve_modes(CORPUS, PRIORS, [BAD], seed=random.seed_sequence(0), max_sweeps=4000)
    assert log_joint(GOOD) - log_joint(found.topics) < LIMIT


@pytest.mark.mutation("test_the_search_leaves_a_bad_mode")
def test_sweeps_stay_in_the_bad_mode():
    """They do so from each of 200 seeds."""
    assert log_joint(GOOD) - log_joint(BAD, 4000) > LIMIT


def test_a_start_that_is_left_behind_ends_in_the_best_mode():
    """There is no budget for a round: the bad start is weighed, and replaced."""
    good, bad = improve_modes(CORPUS, PRIORS, [BAD, GOOD], seed=random.seed_sequence(0), max_sweeps=1000)
    assert abs(log_joint(good.topics) - log_joint(bad.topics)) < 50
    assert good.log_evidence == bad.log_evidence and 0 < good.std == bad.std
    assert (good.topics != bad.topics).any()


@pytest.mark.mutation("sklda._mode_search.search.APART", 0.0)
def test_draws_of_the_best_mode_do_not_take_all_places():
    """Modes differ in a quarter of the tokens at least, draws of one mode in a hundredth. It is so from 60 seeds."""
    options = {"seed": random.seed_sequence(0), "max_sweeps": 3000, "weigh": False}
    best, *others = improve_modes(CORPUS, PRIORS, [BAD], **options)
    assert len(others) == 3
    assert max(differing(best.topics, other.topics, 4) for other in others) > 0.1


def test_results_do_not_depend_on_n_jobs_or_on_the_kind_of_state():
    seed, chains = (
        random.seed_sequence(3),
        [GibbsChain.initialise_randomly(CORPUS, PRIORS, random.seed_sequence(5))] * 2,
    )
    options = {"seed": seed, "max_sweeps": 4000}
    one = improve_modes(CORPUS, PRIORS, [chain.topics for chain in chains], n_jobs=1, **options)
    two = improve_modes(CORPUS, PRIORS, [chain.state() for chain in chains], n_jobs=2, **options)
    small = improve_modes(CORPUS, PRIORS, [chain.topics.astype(np.uint8) for chain in chains], **options)
    for other in (two, small):
        assert [mode.log_evidence for mode in one] == [mode.log_evidence for mode in other]
        assert all((a.topics == b.topics).all() and a.std == b.std for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("max_sweeps", [0, 100, 1000, 2500, 4000])
def test_the_budget_binds(max_sweeps, monkeypatch):
    """Sweeps over a group count as their share of the tokens."""
    made, sweep, anneal = [0.0], GibbsChain.sweep, GibbsChain.anneal

    def counted_sweep(chain, *args):
        made[0] += chain.corpus.n_tokens / CORPUS.n_tokens
        sweep(chain, *args)

    def counted_anneal(chain, path, *args, **options):
        made[0] += (len(path.positions) - 1) * chain.corpus.n_tokens / CORPUS.n_tokens
        return anneal(chain, path, *args, **options)

    monkeypatch.setattr(GibbsChain, "sweep", counted_sweep)
    monkeypatch.setattr(GibbsChain, "anneal", counted_anneal)
    found = improve_modes(CORPUS, PRIORS, [BAD] * 2, seed=random.seed_sequence(0), max_sweeps=max_sweeps)
    assert made[0] <= max_sweeps
    assert made[0] > max_sweeps - 2000
    assert np.isfinite([mode.log_evidence for mode in found]).all() == (max_sweeps >= 1000)
    assert all(len(mode.topics) == CORPUS.n_tokens for mode in found)


@pytest.mark.parametrize("alpha, eta", [(np.linspace(0.1, 1, 4), 0.5), (0.1, np.ones((4, CORPUS.n_features)))])
def test_topics_must_be_exchangeable(alpha, eta):
    priors = Priors.make(alpha, eta, 4, CORPUS.n_features)
    with pytest.raises(ValueError, match="must share their priors"):
        improve_modes(CORPUS, priors, [BAD], seed=random.seed_sequence(0))


@pytest.mark.parametrize("topics, message", [(BAD[1:], "tokens"), (BAD + 1, "below 4"), (BAD - 1, "at least 0")])
def test_states_must_fit_the_corpus(topics, message):
    with pytest.raises(ValueError, match=message):
        improve_modes(CORPUS, PRIORS, [topics], seed=random.seed_sequence(0))


@pytest.mark.parametrize("X, K", [([[1, 0], [0, 0]], 4), ([[0, 0]], 3), ([[3, 1], [2, 2]], 1), ([[1, 1]], 2)])
def test_tiny_corpora(X, K):
    corpus = Corpus.from_counts(np.array(X))
    states = [np.zeros(corpus.n_tokens, int)] * 2
    found = improve_modes(corpus, Priors.make(0.5, 0.5, K, 2), states, seed=random.seed_sequence(0), max_sweeps=5000)
    assert len(found) == 2
    assert all(np.isfinite([mode.log_evidence, mode.std]).all() for mode in found)


def test_the_evidence_is_that_of_the_model():
    """Two tokens of two words and two topics: p(w) by hand."""
    corpus = Corpus.from_counts(np.array([[1, 1]]))
    (found,) = improve_modes(corpus, Priors.make(0.5, 0.5, 2, 2), [np.zeros(2)], seed=random.seed_sequence(0))
    together, same = 1.5 / 2, 0.5 / 2
    expected = np.log(0.5 * (together * same + (1 - together) * 0.5))
    assert abs(found.log_evidence - expected) < 5 * found.std + 1e-3
