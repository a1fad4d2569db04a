"""The scan of TopicCountLDA: its budget of sweeps, its end before the end, its looks and its range."""

import itertools
import re

import numpy as np
import pytest
from scipy.stats import poisson
from sklearn.exceptions import ConvergenceWarning

from sklda import TopicCountLDA
from sklda._inference.evidence import estimates
from sklda._inference.topic_count import scan
from sklda._inference.topic_count.candidates import Candidates, wide_apart
from sklda._inference.topic_count.cost import Budget, BudgetSpent
from sklda._inference.topic_count.count_prior import CountPrior
from sklda._inference.topic_count.evidence_by_count import CountEvidence, EvidenceTable
from sklda._inference.topic_count.posterior import ModelDraws
from sklda.datasets import make_lda_corpus

PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
ignore = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(60, 30, 3, doc_length=40, **PRIORS, random_state=0).data


@pytest.fixture
def calls(monkeypatch):
    """A list; if it has a number n, estimate number n raises KeyboardInterrupt."""
    estimate, at = estimates.estimate, []
    made = itertools.count(1)

    def interrupted(*args, **kwargs):
        if next(made) in at:
            raise KeyboardInterrupt
        return estimate(*args, **kwargs)

    monkeypatch.setattr(estimates, "estimate", interrupted)
    return at


def fitted_names(lda):
    return [name for name in vars(lda) if name.endswith("_")]


# Budget


@ignore
@pytest.mark.parametrize("bounds", [(1, 3), (2, None)])
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("evidence", ["guided_ais", "ais", "cgs_transition"])
def test_the_budget_binds(X, evidence, learn, bounds):
    for max_sweeps in (10, 31, 160, 2500):
        lda = TopicCountLDA(*bounds, evidence=evidence, learn_priors=learn, max_sweeps=max_sweeps, random_state=0).fit(
            X
        )
        assert 0 < lda.n_sweeps_ <= max_sweeps
        assert lda.n_sweeps_ > max_sweeps / 10 or max_sweeps > 200
        assert 1 <= lda.n_iter_ <= 100
        assert lda.topic_count_posterior_.sum() == pytest.approx(1)
        assert np.isfinite(lda.topic_count_posterior_std_).all()


@ignore
def test_sweeps_are_counted(X, monkeypatch):
    """All sweeps of all chains, by the kernels' own calls, on a corpus so large that nothing anneals from the prior."""
    from sklda._inference.sampling.collapsed import GibbsChain

    made, sweep, anneal = [0], GibbsChain.sweep, GibbsChain.anneal

    def counted_sweep(chain, *args):
        made[0] += 1
        sweep(chain, *args)

    def counted_anneal(chain, path, *args, **options):
        made[0] += len(path.positions) - 1
        return anneal(chain, path, *args, **options)

    monkeypatch.setattr(GibbsChain, "sweep", counted_sweep)
    monkeypatch.setattr(GibbsChain, "anneal", counted_anneal)
    for counts, limit in itertools.product((X, 4 * X), (5, 40, 3000)):
        made[0] = 0
        lda = TopicCountLDA(2, 4, max_sweeps=limit, **PRIORS, random_state=0).fit(counts)
        # A search between modes may end before it has used its part.
        assert made[0] <= lda.n_sweeps_ <= limit
        assert made[0] == lda.n_sweeps_ or limit > 40


def test_a_budget_without_a_look_is_refused(X):
    lda = TopicCountLDA(2, 4, max_sweeps=4)
    with pytest.raises(ValueError, match=r"max_sweeps=4 is too small: a look .* take 5 sweeps\. Give max_sweeps=None"):
        lda.fit(X)
    with pytest.raises(ValueError, match="take 10 sweeps"):
        TopicCountLDA(2, 4, max_sweeps=9, learn_priors=True).fit(X)
    assert not fitted_names(lda)


def test_what_a_budget_does_not_allow_is_said(X):
    with pytest.warns(ConvergenceWarning) as seen:
        TopicCountLDA(2, 30, max_sweeps=20, **PRIORS, random_state=0).fit(X)
    text = " ".join(str(each.message) for each in seen)
    assert re.search(r"because the 20 sweeps of max_sweeps do not suffice for the next \d+", text)
    assert re.search(r"\d+ numbers of topics without estimates may be likely", text)


def test_a_default_budget_counts_topics():
    corpus = type("Corpus", (), {"n_tokens": 10**6})
    given, default = Budget(corpus, 1000, 2, 4), Budget(corpus, None, 2, 4)
    assert given.limit == 1000
    assert given.left == 800
    assert given.cost((100, 20), (10, 200)) == 110
    assert default.limit == 10_000
    assert default.cost((100, 20), (10, 200)) == 100 + 40
    default.take((100, 200))
    assert default.n_sweeps == 100
    assert default.left == 10_000 - 400 - 400
    with pytest.raises(BudgetSpent, match="the 1000 sweeps of max_sweeps do not suffice for the next 801"):
        given.take((801, 2))
    given.take((800, 2))
    assert given.last(7) == (7, 28)
    assert given.last(500) == (200, 1)


# An end before the end


@ignore
def test_an_interrupt_before_any_estimate_leaves_nothing(X, calls):
    calls.append(1)
    lda = TopicCountLDA(2, 6, **PRIORS, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(X)
    assert not fitted_names(lda)


@pytest.mark.parametrize("at", [2])
def test_an_interrupt_leaves_the_best_answer_so_far(X, calls, at):
    calls.append(at)
    lda = TopicCountLDA(2, 12, **PRIORS, n_temperatures=200, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"p\(T \| w\) is that of .* because the fit was interrupted"):
        lda.fit(X)
    assert lda.n_components_ in (2, 3, 4)
    assert lda.topic_count_posterior_.sum() == pytest.approx(1)
    assert (lda.topic_count_posterior_std_ > 0).any()
    assert lda.transform(X).shape == (60, lda.n_components_)
    assert lda.sample_posterior(1, random_state=0).n_components.shape == (1,)


@ignore
def test_an_interrupt_of_the_last_sweeps(X, monkeypatch):
    chains, calls = ModelDraws.chains, []

    def interrupted(draws, corpus, n_sweeps, n_jobs):
        calls.append(n_sweeps)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return chains(draws, corpus, n_sweeps, n_jobs)

    monkeypatch.setattr(ModelDraws, "chains", interrupted)
    lda = TopicCountLDA(2, 4, max_sweeps=3000, **PRIORS, random_state=0).fit(X)
    assert calls == [100, 1]
    assert lda.n_iter_ == 1


def test_a_callback_that_stops(X):
    pytest.importorskip("sklearn.callback")

    class Stop:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            return True

        def teardown(self, estimator, context):
            pass

    lda = TopicCountLDA(2, 6, **PRIORS, random_state=0).set_callbacks(Stop())
    with pytest.warns(ConvergenceWarning, match="because a callback stopped the fit"):
        lda.fit(X)
    # The pruned chains, and one look, two runs from two chains, at each of a few numbers of topics.
    assert len(np.unique(lda.evidence_trace_["n_components"])) == len(lda.evidence_trace_) / 4
    assert lda.n_components_ in (2, 3, 4)


@ignore
def test_verbose_says_the_cost_and_what_is_known(X, capsys):
    TopicCountLDA(2, 6, **PRIORS, n_temperatures=21, verbose=1, random_state=0).fit(X)
    first, *lines = capsys.readouterr().out.splitlines()
    words = (
        r"2400 tokens; the first look takes (\d+) sweeps, about [\d.e-]+ s; the whole fit at most (\d+) sweeps, about"
    )
    looks, most = map(int, re.search(words, first).groups())
    assert 500 < looks < most == 50_000
    known = [line for line in lines if "likely numbers of topics: " in line]
    assert len(known) >= len(lines) - 1
    assert re.search(r"; \d+ sweeps so far; likely numbers of topics: 3 \(\d\.\d\d \+- \d\.\d\d\)", known[-1])


# The range


def test_too_many_topics_are_refused(X):
    for bounds in ((2, 2**31), (2**31, None)):
        with pytest.raises(ValueError, match=r"_components=2147483648 is more than .*: topics are 32-bit numbers"):
            TopicCountLDA(*bounds).fit(X)


@ignore
def test_a_long_range_takes_bounded_work(X):
    lda = TopicCountLDA(2, 2**31 - 20, max_sweeps=10_000, **PRIORS, random_state=0).fit(X)
    assert lda.n_components_ == 3
    assert len(lda.topic_counts_) <= 199


def test_the_first_part_of_a_range():
    assert sorted(CountPrior(None, 2, 10**9).first) == list(range(2, 21))
    assert sorted(CountPrior(None, 30, None).first) == [30]
    assert sorted(CountPrior([0] * 30 + [1, 2], 2, 33).first) == [32]
    prior = CountPrior(poisson(2), 2, None)
    assert sorted(prior.wider(20)) == list(range(21, 33))
    assert prior.largest_after(20) == pytest.approx(poisson(2).logpmf(21))
    prior = CountPrior(np.arange(1, 100), 2, 100)
    assert sorted(prior.wider(90)) == list(range(91, 101))
    assert prior.wider(100) == {}
    assert prior.largest_after(20) == pytest.approx(np.log(99))
    assert prior.largest_after(100) == -np.inf
    assert CountPrior(None, 2, 50).largest_after(50) == -np.inf
    assert sorted(CountPrior(None, 2, 500).listed_after(150)) == list(range(151, 201))


def test_wide_apart():
    assert wide_apart(list(range(2, 21))) == [2, 3, 4, 6, 9, 14, 20]
    assert wide_apart([1, 2, 3, 4]) == [1, 2, 3, 4]
    assert wide_apart([5]) == [5]


def test_gaps_are_searched_where_a_likely_number_may_hide():
    candidates = Candidates(dict.fromkeys(range(2, 31), 0.0), np.random.SeedSequence(0))
    for T, v in {2: -900.0, 4: -400.0, 8: -90.0, 15: 0.0, 30: -200.0}.items():
        candidates[T] = CountEvidence(None, [], 20, np.array([[v], [v]]), biases=np.zeros(2))
    assert candidates.hidden() == [list(range(9, 15)), list(range(16, 30))]
    assert candidates.between(0) == [12, 23]
    assert candidates.between(0.55) == [23]
    # A prior may rule a gap out, or let one in.
    candidates.log_prior |= dict.fromkeys(range(9, 30), -500.0) | {15: 0.0, 3: 800.0}
    assert candidates.between(0) == [3]
    assert not candidates.may_be_larger(0.0)
    assert candidates.may_be_larger(1000.0)


def test_larger_numbers_are_not_searched_where_the_evidence_falls():
    def may_be_larger(values, log_prior=0.0):
        candidates = Candidates(dict.fromkeys(range(2, 60), 0.0), np.random.SeedSequence(0))
        for T, v in zip((8, 14, 20, 32, 52), values, strict=True):
            # Chains that are far apart, so that the largest may be as good as the best by its error.
            candidates[T] = CountEvidence(None, [], 20, np.array([[v], [v - 200]]), biases=np.full(2, 100.0))
        return candidates.may_be_larger(log_prior)

    assert not may_be_larger([-900, -400, 0, -200, -300])
    assert may_be_larger([-900, -400, 0, -200, -300], log_prior=1.0)
    assert may_be_larger([-900, -400, 0, -200, -150])
    assert may_be_larger([-900, -400, 0, -5, -300])
    assert may_be_larger([-900, -400, -100, 0, -300])


# Looks


@pytest.mark.parametrize("n_chains", [1, 2])
def test_the_errors_of_looks_are_calibrated(n_chains):
    """Runs in both directions with normal log weights, whose bias is half their variance.

    Of 150 looks two errors cover 0.95 or more; six standard errors of this share are 0.1. Without the common error,
    which is there for what is not normal.
    """
    rng = np.random.default_rng(0)
    for bias in (1.0, 30.0, 800.0):
        errors = []
        for _ in range(150):
            by_count = {}
            for T in range(2, 5):
                found = rng.standard_normal((2, n_chains)) * np.sqrt(2 * bias) + np.array([[-bias], [bias]])
                runs = estimates.Estimates(found[0][:, None], [None] * n_chains, 0.0, [None] * n_chains, found[1])
                by_count[T] = CountEvidence(None, [None] * n_chains).with_runs(runs, [20])
            table = EvidenceTable.of(by_count)
            errors.append([table.corrected[1], table.own_std[1], table.value[1]])
        corrected, std, value = np.array(errors).T
        assert (np.abs(corrected) < 2 * std).mean() > 0.85
        assert np.median(std) < 6 * np.sqrt(bias / n_chains) + 1
        # The value alone is as far too low as the bias.
        assert (np.abs(value) < 2 * std).mean() < 0.85 or bias == 1


def test_more_runs_are_added_chain_by_chain():
    first = estimates.Estimates(np.array([[-1.0, -2.0], [-3.0, -4.0]]), list("abcd"), 0.1, ["s", "t"])
    more = estimates.Estimates(np.array([[-5.0], [-6.0]]), list("ef"), 0.2, ["u", "v"])
    known = CountEvidence(None, ["q", "r"]).with_runs(first, [20, 20]).with_more_runs(more)
    assert known.log_weights.tolist() == [[-1, -2, -5], [-3, -4, -6]]
    assert "".join(known.ends) == "abecdf"
    assert known.states == ["u", "v"]
    assert known.temperatures == 20
    assert known.label_error == 0.2


def test_chains_in_different_modes_are_seen():
    def evidence(values):
        return CountEvidence(None, [], 20, np.array(values)[:, None], biases=np.full(len(values), 9.0))

    assert evidence([-100.0, -90.0, -40.0, -95.0]).in_different_modes
    assert not evidence([-100.0, -98.0, -103.0, -101.0]).in_different_modes
    assert not evidence([-100.0]).in_different_modes


@ignore
def test_modes_are_searched_where_chains_disagree(X, monkeypatch):
    searched, search = [], scan.improve_modes

    def recorded(corpus, priors, states, **options):
        searched.append((priors.n_components, len(states)))
        return search(corpus, priors, states, **options)

    monkeypatch.setattr(scan, "improve_modes", recorded)
    monkeypatch.setattr(CountEvidence, "in_different_modes", True)
    TopicCountLDA(3, 3, **PRIORS, n_temperatures=10, max_sweeps=10_000, random_state=0).fit(X)
    # Annealing from the prior does this on a small corpus.
    assert not searched
    X = 3 * X
    lda = TopicCountLDA(3, 3, **PRIORS, n_temperatures=50, max_sweeps=6000, random_state=0).fit(X)
    assert searched == [(3, 4)]
    assert lda.n_sweeps_ <= 6000
    monkeypatch.setattr(CountEvidence, "in_different_modes", False)
    other = TopicCountLDA(3, 3, **PRIORS, n_temperatures=50, max_sweeps=6000, random_state=0).fit(X)
    assert len(searched) == 1
    error = np.hypot(lda.log_evidence_std_, other.log_evidence_std_)[0]
    assert abs(lda.log_evidence_[0] - other.log_evidence_[0]) < 5 * error
