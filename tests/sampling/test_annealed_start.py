"""Annealed starts: their priors, their place among the sweeps of a fit, and exact draws after them."""

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, K, V, chi_square_p

from sklda import GibbsLDA
from sklda._core.priors import Priors
from sklda._core.progress import Progress
from sklda._sampling.annealed_start import Annealing
from sklda._sampling.choice import SAMPLERS, chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.run_chains import Run, Schedule
from sklda._sampling.word_major import WordMajorChain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ALARM = 1e-5
PRIORS = {
    "numbers": {"doc_topic_prior": 0.3, "topic_word_prior": 0.2},
    "alpha per topic": {"doc_topic_prior": np.linspace(0.1, 1, 3), "topic_word_prior": 0.2},
    "eta per word": {"topic_word_prior": np.linspace(0.1, 1, 60)},
    "eta per topic and word": {"topic_word_prior": np.linspace(0.1, 1, 180).reshape(3, 60)},
    "very large": {"doc_topic_prior": 1e12, "topic_word_prior": 1e12},
    "very small": {"doc_topic_prior": 1e-12, "topic_word_prior": 1e-12},
    "learnt": {},
}


class Sweeps(Progress):
    """The priors in every sweep of a class of chains, and between sweeps."""

    def __init__(self, kind, monkeypatch):
        self.during, self.between = [], []
        sweep = kind.sweep

        def seen(chain, *args):
            self.during.append(chain.priors)
            sweep(chain, *args)

        monkeypatch.setattr(kind, "sweep", seen)

    def after(self, index, chain):
        self.between.append(chain.priors)


def factors(found, priors):
    """The factors of alpha and eta in every sweep."""
    eta = priors.topic_word()
    return np.array([(np.median(each.doc / priors.doc), np.median(each.topic_word() / eta)) for each in found])


def kind_of(sampler, corpus, priors):
    return WordMajorChain if sampler == "sparse" else chain_class(sampler, corpus, priors)


# Sweeps of every sampler are exact by tests of their own, and the schedule is the same code.
@pytest.mark.mutation
@pytest.mark.parametrize(
    "sampler", [SAMPLERS[0], *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (*SAMPLERS[1:], "sparse"))]
)
def test_draws_after_an_annealed_start_have_the_posterior_at_the_given_priors(sampler):
    """The mutation leaves the chain at the priors of the middle of its annealing."""
    truth = Enumeration(DOCS, V, K, 0.4, 0.3)
    corpus, priors = truth.corpus, Priors.make(0.4, 0.3, K, V)
    kind = kind_of(sampler, corpus, priors)

    def p_value(left_at):
        chain = kind.initialise_randomly(corpus, priors, np.random.SeedSequence(5))
        (chain,) = Run().sweep([chain], 40, schedule=Schedule(annealing=Annealing(20)))
        chain.priors = chain.priors.scaled(left_at, left_at)
        draws = []
        for _ in range(800):
            for _ in range(15):
                chain.sweep()
            draws.append(chain.topics.copy())
        return chi_square_p(truth.frequencies(draws), truth.posterior)

    assert p_value(1.0) > ALARM
    assert p_value(20**0.5) < ALARM


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("name", PRIORS)
def test_the_first_sweeps_have_larger_priors_and_the_others_those_of_the_model(counts, name, learn, monkeypatch):
    seen = Sweeps(GibbsChain, monkeypatch)
    lda = GibbsLDA(3, max_iter=50, learn_priors=learn, random_state=0, **PRIORS[name]).fit(counts)
    n = Annealing.within(50).n_sweeps
    # The last annealed sweep has a factor of one, and the first M-step follows it.
    first, last = seen.during[n - 1], lda._results_.draws[0].priors
    assert len(seen.during) == lda.n_iter_ == 50
    found = factors(seen.during, first)
    expected = np.geomspace(1 if name == "very large" else 20, 1, n)
    np.testing.assert_allclose(found[:n], np.stack([expected, expected], axis=1), rtol=1e-5)
    # Priors are learnt after the annealed sweeps only, and are fixed after the burn-in.
    assert all(each is last for each in seen.during[lda.n_burn_in_ :])
    assert (len(np.unique(found[n:], axis=0)) > 1) == (learn and len(PRIORS[name]) < 2)


@pytest.mark.parametrize("sampler", [*SAMPLERS, "sparse"])
def test_between_sweeps_a_chain_has_its_own_priors(sampler, monkeypatch):
    truth = Enumeration(DOCS, V, K, 0.4, 0.3)
    corpus, priors = truth.corpus, Priors.make(0.4, 0.3, K, V)
    kind = kind_of(sampler, corpus, priors)
    seen = Sweeps(kind, monkeypatch)
    chain = kind.initialise_randomly(corpus, priors, np.random.SeedSequence(5))
    chain.n_annealed = 4
    (chain,) = Run(seen).sweep([chain], 10, schedule=Schedule(annealing=Annealing(4, 8.0)))
    assert all(each is priors for each in seen.between)
    np.testing.assert_allclose(factors(seen.during, priors), np.outer([8, 4, 2, 1] + 6 * [1], [1, 1]), rtol=1e-6)
    assert (chain.n_annealed, chain.n_sweeps) == (4, 10)
    # The last recorded log joint is that of the present state at its own priors.
    assert chain.trace[-1] == pytest.approx(chain.log_joint(), rel=1e-12)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 10, 20, 30])
@pytest.mark.parametrize("n_components", [1, 3, 300])
def test_the_budget_binds_with_few_sweeps(counts, max_iter, n_components, monkeypatch):
    kind = WordMajorChain if n_components == 300 else GibbsChain
    seen = Sweeps(kind, monkeypatch)
    lda = GibbsLDA(n_components, max_iter=max_iter, n_draws=2, random_state=0).fit(counts)
    assert len(seen.during) == lda.n_iter_ == max_iter == lda.log_joint_trace_.shape[1]
    assert lda.n_burn_in_ < max_iter
    assert np.isfinite(lda.log_joint_trace_).all()
    # Nothing is learnt in fewer than 20 sweeps.
    learnt = lda._results_.draws[0].priors.doc[0, 0] != 1 / n_components
    assert not learnt or max_iter >= 20 or n_components == 1


def test_annealed_sweeps_are_a_share_of_all_but_no_more_than_a_constant_number():
    found = [Annealing.within(n).n_sweeps for n in (1, 2, 3, 500, 10**6)]
    assert found[:3] == [0, 0, 1]
    assert found[3] < 250 < found[4] < 1000


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_warm_start_never_anneals(counts, sampler, monkeypatch):
    lda = GibbsLDA(3, sampler=sampler, max_iter=40, warm_start=True, n_chains=2, random_state=0).fit(counts)
    seen = Sweeps(kind_of(sampler, lda._results_.corpus, lda._results_.draws[0].priors), monkeypatch)
    lda.fit(counts)
    assert len(seen.during) == 80
    kept = [draws.priors for draws in lda._results_.draws]
    assert all(any(each is own for own in kept) for each in seen.during)
    # A chain at given assignments is not annealed either.
    lda = GibbsLDA.from_assignments(counts, lda.topic_assignments_, n_components=3, sampler=sampler, max_iter=10)
    seen.during.clear()
    lda.set_params(warm_start=True).fit(counts)
    np.testing.assert_allclose(factors(seen.during, lda._results_.draws[0].priors), 1)


def test_the_burn_in_of_a_continued_fit_has_the_annealed_sweeps(counts):
    given = {"doc_topic_prior": 0.3, "topic_word_prior": 0.2, "random_state": 0}
    lda = GibbsLDA(3, max_iter=50, warm_start=True, **given).fit(counts)
    n = Annealing.within(50).n_sweeps
    assert lda.n_burn_in_ == (50 + n) // 2
    lda.set_params(max_iter=20).fit(counts)
    assert (lda.n_burn_in_, lda.n_iter_) == ((70 + n) // 2, 70)


def test_tol_does_not_end_the_burn_in_while_the_chain_is_annealed(counts):
    lda = GibbsLDA(3, max_iter=300, tol=1e3, n_draws=1, learn_priors=False, random_state=0).fit(counts)
    n = Annealing.within(300).n_sweeps
    assert (lda.n_burn_in_, lda.n_iter_) == (n + 40, n + 60)
