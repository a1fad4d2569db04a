"""The scan of TopicCountLDA: its rule, its budget of sweeps, its end before the end, and its range."""

import itertools
import re

import numpy as np
import pytest
from scipy.stats import poisson
from sklearn.exceptions import ConvergenceWarning
from stub_callbacks import Stop

from sklda import TopicCountLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._likelihood.evidence import annealing
from sklda._likelihood.evidence.bennett import Runs
from sklda._likelihood.evidence.combining import CountEvidence, EvidenceTable
from sklda._likelihood.evidence.estimates import EvidenceSettings
from sklda._models.topic_count import runs, scan
from sklda._models.topic_count.count_prior import CountPrior
from sklda._models.topic_count.curve import Curves, corners, too_low
from sklda._models.topic_count.posterior import Posterior
from sklda._models.topic_count.runs import Budget, BudgetSpent, PriorRule
from sklda._sampling.chain import ChainState
from sklda._sampling.run_chains import Run
from sklda.datasets import make_lda_corpus

PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
# Nothing is known of the log evidence from fewer topics.
NO_BOUND = -np.inf
ignore = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(60, 30, 3, doc_length=40, **PRIORS, random_state=0).data


@pytest.fixture
def calls(monkeypatch):
    """A list; if it has a number n, run number n of a chain raises KeyboardInterrupt."""
    run, at = Run.parallel, []
    made = itertools.count(1)

    def interrupted(*args, **kwargs):
        if next(made) in at:
            raise KeyboardInterrupt
        return run(*args, **kwargs)

    monkeypatch.setattr(Run, "parallel", interrupted)
    return at


def fitted_names(lda):
    return [name for name in vars(lda) if name.endswith("_")]


# The rule


def known(values, n_sweeps=100, half_distance=0.5):
    """Evidence by chains with these values."""
    evidence = CountEvidence()
    for value in values:
        evidence.add(Runs(np.array([value - half_distance]), np.array([value + half_distance]), None, None), n_sweeps)
    return evidence


@pytest.mark.parametrize("n_chains", [2, pytest.param(8, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    "half_distance, between", [pytest.param(0.2, 0.0, marks=pytest.mark.exhaustive), (8.0, 0.0), (0.5, 6.0)]
)
def test_the_errors_of_the_evidence_are_calibrated(n_chains, half_distance, between):
    """Two errors cover 0.95 or more of 150 values, where weights and the modes of chains are normal.

    Six standard errors of this share are .11. The centre of the modes is what all numbers of topics have in common.
    """
    rng, n, covered, alone = np.random.default_rng(0), 150, [], []
    for _ in range(n):
        by_count = {}
        for T in (4, 5, 6):
            evidence = CountEvidence()
            for _ in range(n_chains):
                mode = between * rng.standard_normal()
                ends = mode + half_distance * np.array([-1, 1]) + np.sqrt(2 * half_distance) * rng.standard_normal(2)
                evidence.add(Runs(ends[:1], ends[1:], None, None), 100)
            by_count[T] = evidence
        table = EvidenceTable.of(by_count)
        # The mean of the better half of many normal values is .8 standard deviations above their mean.
        errors = table.value - 0.8 * between * (between > 0)
        covered.append(np.abs(errors[1]) < 2 * np.hypot(table.std, table.common)[1])
        forward = np.mean([chain.forward[0] for chain in by_count[5].chains])
        alone.append(np.abs(forward) < 2 * np.sqrt(2 * half_distance / n_chains))
    assert np.mean(covered) > 0.84
    # By forward runs alone the value is too low.
    assert np.mean(alone) < 0.8 or half_distance < 1 or between


def test_longer_runs_join_shorter_ones():
    evidence = known([-3.0, -5.0])
    evidence.add(Runs(np.array([-2.0]), np.array([-1.0]), None, None), 200)
    assert evidence.n_sweeps == 200
    assert evidence.values.tolist() == [-3.0, -5.0, -1.5]
    # A backward run below the forward one is that of a poor mode.
    evidence.add(Runs(np.array([-2.0]), np.array([-8.0]), None, None), 200)
    assert evidence.values.tolist() == [-3.0, -5.0, -1.5, -2.0]


def test_one_topic_leaves_nothing_to_chance():
    table = EvidenceTable.of({1: known([-7.0, -7.0], half_distance=0.0), 2: known([-9.0, -5.0])})
    assert table.value[0] == -7
    assert table.std[0] == 0 < table.std[1]


def test_the_evidence_of_chains_whose_better_half_is_equal():
    """As of a few tokens with an exact comparator. The share of the runs in the differences was 0 / 0."""
    table = EvidenceTable.of({2: known([-7.0, -7.0, -20.0, -30.0], half_distance=0.0)})
    assert table.value[0] == -7
    assert np.isfinite(table.std[0])


def kink(T, true):
    """A log evidence with a kink at the true number of topics: steep before it, flat after it."""
    T = np.asarray(T, dtype=float)
    return np.where(T < true, 9000 * (np.log1p(T) - np.log1p(true)), -700 * np.log(np.maximum(T, true) / true))


def test_curves_have_the_values_and_their_errors():
    counts, at = np.arange(2, 101), np.array([0, 6, 30, 98])
    values, stds = np.array([-900.0, -300.0, 0.0, -400.0]), np.array([1.0, 1.0, 1.0, 20.0])
    curves = Curves.draw(counts, at, values, stds, NO_BOUND, 4000)
    np.testing.assert_allclose(curves.drawn.mean(axis=0)[at], values, atol=1.5)
    np.testing.assert_allclose(curves.drawn.std(axis=0)[at], stds, rtol=0.1)
    assert (curves.lower <= curves.drawn + 1e-6).all()
    assert (curves.drawn <= curves.upper + 1e-6).all()
    assert np.isfinite(curves.drawn).all()


@pytest.mark.mutation("sklda._models.topic_count.curve._Corners.turned", lambda self, T, upper, rng: upper)
def test_a_posterior_does_not_pile_up_where_there_were_no_runs():
    """A log evidence that rises up to the last value: where it turns is unknown, so every larger T is possible.

    The mutation follows the upper bound to the end of the range.
    """
    counts, at = np.arange(2, 201), np.array([0, 2, 6, 14])
    values = np.array([-9000.0, -6000.0, -3000.0, 0.0])
    drawn = Curves.draw(counts, at, values, np.full(4, 5.0), NO_BOUND, 4000).drawn
    highest = counts[drawn.argmax(axis=1)]
    # Of 4,000 turns that are uniform from 17 to 200, six standard errors of a quarter are .041.
    for low, high in ((17, 62), (63, 108), (109, 154), (155, 200)):
        assert abs(np.mean((low <= highest) & (highest <= high)) - 0.25) < 0.041


@pytest.mark.parametrize("true", [5, 12, 15, 23, 40])
def test_bounds_contain_a_curve_with_a_kink(true):
    """Also far from values, where a smooth curve would be hundreds of nats below it."""
    counts, T = np.arange(2, 101), np.array([2, 4, 8, 26, 32, 64])
    values = kink(T, true)
    curves = Curves.draw(counts, T - 2, values, np.zeros(6), NO_BOUND, 2)
    truth = kink(counts, true)
    assert (curves.lower[0] <= truth + 1e-6).all()
    assert (curves.upper[0] >= truth - 1e-6).all()


def test_a_stuck_value_makes_no_bound():
    T, stds = np.array([2.0, 4, 8, 16, 20, 32]), np.full(6, 2.0)
    values = kink(T, 18)
    stuck = values - 2000 * (T == 16)
    assert corners(T, values, stds).tolist() == list(range(6))
    assert corners(T, stuck, stds).tolist() == [0, 1, 2, 4, 5]
    assert (too_low(T, stuck, stds) > 0).tolist() == [False, False, False, True, False, False]
    assert (too_low(T, values, stds) < 0).all()
    upper = Curves.draw(np.arange(2, 33), T.astype(int) - 2, stuck, np.zeros(6), NO_BOUND, 2).upper[0]
    assert upper[18 - 2] >= values[-2]


def scanned(X, number, monkeypatch, noise=5.0, curve=None):
    """The `Posterior` of a scan whose runs find the values of a curve with normal errors, and the scan.

    The curve is by default a `kink` at this number of topics; the number is the seed, too.
    """

    def run_chain(corpus, rule, priors, settings, n_sweeps, kind, seed, stop):
        rng = np.random.default_rng(seed)
        half = noise * 100 / n_sweeps
        log_evidence = kink(priors.n_components, number) if curve is None else curve(priors.n_components)
        value = log_evidence + half * rng.standard_normal()
        return Runs(np.array([value - half]), np.array([value + half]), ChainState(np.zeros(0, np.int32), None), priors)

    monkeypatch.setattr(scan, "run_chain", run_chain)
    corpus, prior = Corpus.from_counts(X), CountPrior(None, 2, None)
    settings = EvidenceSettings("guided_ais", 300, 1)
    # The rule is tested, and not the default budget of a corpus as small as this one.
    options = {"n_chains": 2, "max_sweeps": 120_000, "seed": random.seed_sequence(number)}
    own = scan.Scan(corpus, PriorRule("1/T", "1/T", corpus.n_features), prior, settings, **options)
    return own.estimate(), own


@pytest.mark.mutation("sklda._models.topic_count.scan.Scan._unclear", lambda *args: np.empty(0, int))
def test_a_scan_does_not_miss_a_kink(X, monkeypatch):
    """The interval contains the true number of topics, which has runs, wherever it is.

    The mutation: no number of topics is unclear, so that draws alone say where runs are needed.
    """
    for true in range(3, 121, 26):
        posterior, own = scanned(X, true, monkeypatch)
        low, high = posterior.interval
        assert low <= true <= high
        assert {true - 1, true, true + 1} <= set(own.by_count)
        assert len(own.by_count) <= 25


@pytest.mark.parametrize("worse", [[], [-6000.0, -5900.0]])
def test_modes_at_fewer_topics_and_bad_chains_do_not_hide_a_difference(worse):
    """Chains at 19 topics differ by 1,000 nats, and those at 20 and 21 by 50; some at 20 are in a much worse mode."""
    by_count = {19: known([-4000.0, -5000.0], half_distance=50.0), 20: known([0.0, 50.0, 20.0, 70.0, *worse])}
    by_count |= {T: known([-250.0 * (T - 20), -250.0 * (T - 20) - 50], half_distance=50.0) for T in (21, 22, 23)}
    table = EvidenceTable.of(by_count)
    assert abs(table.value[1] - 40) < 60
    assert np.hypot(*table.std[1:3]) < 100
    assert table.std[0] > 300


def flat(T):
    """A log evidence that is the same from 8 to 32 topics, and falls on either side."""
    T = np.asarray(T, dtype=float)
    return -9.0 * np.maximum(8 - T, 0) - 3.0 * np.maximum(T - 32, 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_flat_posterior_is_reported_as_it_is(X, monkeypatch, seed):
    """The interval has most of what is equally likely and little else, whatever the errors of the runs."""
    posterior, own = scanned(X, seed, monkeypatch, noise=3.0, curve=flat)
    low, high = posterior.interval
    assert 7 <= low <= 11
    assert 29 <= high <= 40
    assert max(own.by_count) >= high


@pytest.mark.mutation("sklda._models.topic_count.scan.Scan._stays_open", lambda *args: False)
def test_a_scan_without_evidence_ends_soon(X, monkeypatch):
    """All numbers of topics are equally likely: the interval has nearly all, and those far beyond get no runs.

    The mutation goes on up to the end of the range, and then looks for precision that does not exist.
    """
    for seed in range(6):
        posterior, own = scanned(X, seed, monkeypatch, noise=3.0, curve=lambda T: 0.0)
        low, high = posterior.interval
        assert low <= 12
        assert high >= 150
        assert max(own.by_count) <= 64
        assert own.n_rounds <= 12


def test_likely_numbers_of_topics_have_runs_of_one_length(X, monkeypatch):
    """Longer runs are less biased: values of different lengths would differ by their lengths alone."""
    posterior, own = scanned(X, 0, monkeypatch, noise=3.0, curve=flat)
    likely = [T for T, p in zip(posterior.counts.tolist(), posterior.probability, strict=True) if p > 0.02]
    assert len({own.by_count[T].n_sweeps for T in likely if T in own.by_count}) == 1


# Budget


@ignore
@pytest.mark.parametrize(("unknown", "bounds"), list(itertools.product((False, True), ((1, 3), (2, None)))))
def test_the_budget_binds(X, unknown, bounds):
    # A range without an end has more to do, whatever the budget.
    for max_sweeps in (1200, 2500) if bounds[1] else (1200,):
        options = {"max_iter": max_sweeps} | ({} if unknown else PRIORS)
        lda = TopicCountLDA(*bounds, **options, random_state=0).fit(X)
        assert max_sweeps / 10 < lda.n_iter_ <= max_sweeps
        assert 1 <= lda.log_joint_trace_.shape[1] <= 100
        assert lda.topic_count_posterior_.sum() == pytest.approx(1)
        assert np.isfinite(lda.topic_count_posterior_std_).all()


@ignore
def test_sweeps_are_counted(X, sweeps_made, monkeypatch):
    """A round of moves counts as 20 sweeps. Here it makes none, and is the last one of its chain."""
    rounds = []

    def round_of_moves(corpus, priors, topics, own, seed, stop):
        rounds.append(len(own))
        return topics, []

    monkeypatch.setattr(runs, "round_of_moves", round_of_moves)
    for (counts, limit), unknown in itertools.product([(X, 1200), (4 * X, 2000)], (False, True)):
        priors = {} if unknown else PRIORS
        lda = TopicCountLDA(2, 4, max_iter=limit, **priors, random_state=0).fit(counts)
        assert sweeps_made() + 20 * len(rounds) == lda.n_iter_ <= limit
        rounds.clear()


@ignore
def test_a_small_budget_has_one_answer():
    """The log evidence still rises when the budget ends: the interval has the T of the model, and larger ones."""
    X = np.kron(np.eye(40, dtype=int), np.full((4, 4), 5))
    lda = TopicCountLDA(max_iter=2500, random_state=0).fit(X)
    low, high = lda.topic_count_interval_
    assert low <= lda.n_components_ <= high
    assert lda.n_components_ < 40 < high
    assert lda.topic_count_posterior_[-1] < 0.1


def test_a_budget_without_first_runs_is_refused(X):
    lda = TopicCountLDA(2, 4, max_iter=4)
    with pytest.raises(ValueError, match=r"max_iter=4 is too small: .* take at least \d+ sweeps\. Give max_iter=None"):
        lda.fit(X)
    assert not fitted_names(lda)


@ignore
def test_what_a_budget_does_not_allow_is_said(X):
    with pytest.warns(ConvergenceWarning) as seen:
        TopicCountLDA(2, 30, max_iter=1000, **PRIORS, random_state=0).fit(X)
    text = " ".join(str(each.message) for each in seen)
    assert re.search(r"because the 1000 sweeps of max_iter do not suffice for the next \d+", text)


def test_a_budget():
    corpus = type("Corpus", (), {"n_tokens": 10**6})
    assert Budget(corpus, None, 200).limit == 12_000
    corpus.n_tokens = 10**4
    assert Budget(corpus, None, 200).limit == 120_000
    corpus.n_tokens = 2500
    assert Budget(corpus, None, 200).limit == 60_000
    corpus.n_tokens = 9
    assert Budget(corpus, None, 200).limit == 12_000
    budget = Budget(corpus, 1000, 300)
    assert budget.last(2) == 100
    budget.take(799)
    assert budget.allows(1)
    with pytest.raises(BudgetSpent, match="the 1000 sweeps of max_iter do not suffice for the next 2"):
        budget.take(2)
    assert budget.n_sweeps == 799


# An end before the end


@ignore
def test_an_interrupt_before_any_estimate_leaves_nothing(X, calls):
    calls.append(1)
    lda = TopicCountLDA(2, 6, **PRIORS, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(X)
    assert not fitted_names(lda)


@ignore
@pytest.mark.parametrize("at", [1, 2, 8, 9])
def test_an_interrupt_while_a_round_is_stored(X, monkeypatch, at):
    """The first round has four numbers of topics with two chains each; a round is stored whole or not at all."""
    add, made = CountEvidence.add, itertools.count(1)

    def interrupted(self, *args):
        if next(made) == at:
            raise KeyboardInterrupt
        add(self, *args)

    monkeypatch.setattr(CountEvidence, "add", interrupted)
    lda = TopicCountLDA(2, 16, **PRIORS, random_state=0)
    if at < 9:
        with pytest.raises(KeyboardInterrupt):
            lda.fit(X)
        assert not fitted_names(lda)
    else:
        assert len(lda.fit(X).evidence_trace_) == 8
        assert lda.transform(X).shape == (60, lda.n_components_)


@ignore
def test_an_interrupt_leaves_the_best_answer_so_far(X, calls):
    calls.append(2)
    lda = TopicCountLDA(2, 12, **PRIORS, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"p\(T \| w\) is that of .* because the fit was interrupted"):
        lda.fit(X)
    assert 2 <= lda.n_components_ <= 12
    assert lda.topic_count_posterior_.sum() == pytest.approx(1)
    assert (lda.topic_count_posterior_std_ > 0).any()
    assert lda.transform(X).shape == (60, lda.n_components_)
    assert lda.sample_posterior(1, random_state=0).n_components.shape == (1,)


@ignore
def test_guides_that_do_not_fit_in_memory_leave_the_best_answer_so_far(X, monkeypatch):
    def limited(K, row_bytes):
        # The guide and the priors along its path, and the changes of labels, in double precision.
        assert row_bytes == 8 * (2 * sum(X.shape) + K)
        if len(calls) == most:
            raise MemoryError(f"{K} topics need at least 9.0 GB. Use fewer topics.")
        calls.append(K)

    monkeypatch.setattr(annealing, "check_memory_of_topics", limited)
    lda = TopicCountLDA(2, 6, **PRIORS, random_state=0)
    calls, most = [], 0
    with pytest.raises(MemoryError, match="topics need at least"):
        lda.fit(X)
    assert not fitted_names(lda)
    # A check for each round, and one for each of its chains: the second round ends after its first chain.
    calls, most = [], 9
    message = r"p\(T \| w\) is that of the first .* topics need at least 9.0 GB. Use fewer topics. Its standard errors"
    with pytest.warns(ConvergenceWarning, match=message):
        lda.fit(X)
    assert len(lda.evidence_trace_) == 6
    assert lda.topic_count_posterior_.sum() == pytest.approx(1)
    assert lda.transform(X).shape == (60, lda.n_components_)


@ignore
def test_an_interrupt_of_the_last_sweeps(X, monkeypatch):
    chains, calls = Posterior.chains, []

    def interrupted(posterior, corpus, n_sweeps, *others):
        calls.append(n_sweeps)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return chains(posterior, corpus, n_sweeps, *others)

    monkeypatch.setattr(Posterior, "chains", interrupted)
    lda = TopicCountLDA(2, 4, max_iter=3000, **PRIORS, random_state=0).fit(X)
    assert calls == [100, 1]
    assert lda.log_joint_trace_.shape[1] == 1


@ignore
def test_a_callback_that_stops(X):
    pytest.importorskip("sklearn.callback")
    lda = TopicCountLDA(2, 6, **PRIORS, random_state=0).set_callbacks(Stop())
    with pytest.warns(ConvergenceWarning, match="because a callback stopped the fit"):
        lda.fit(X)
    # The first runs: two chains at each of three numbers of topics.
    assert lda.evidence_trace_["n_components"].tolist() == [2, 2, 4, 4, 6, 6]
    assert np.isfinite(lda.evidence_trace_["log_evidence_backward"]).all()


@ignore
def test_verbose_says_the_cost_and_what_is_known(X, capsys):
    TopicCountLDA(2, 6, **PRIORS, verbose=1, random_state=0).fit(X)
    first, *lines = capsys.readouterr().out.splitlines()
    words = r"2400 tokens; the first runs take (\d+) sweeps, about \S+ s; the whole fit at most (\d+) sweeps, about"
    runs, most = map(int, re.search(words, first).groups())
    assert runs == 3 * 2 * (2 * 150 + 100 + 2 * 100 + 1)
    assert most == 58_787
    sweeps, known = r"; \d+ sweeps so far; ", r"most likely: \d topics \(\d\.\d\d\), \d to \d with 0\.95"
    assert all(re.search(rf"{sweeps}({known}|likely numbers of topics are still to be found)", line) for line in lines)
    assert re.search(known, lines[-1])


@ignore
def test_verbose_names_no_number_of_topics_before_the_range_is_found(capsys):
    # Documents of one topic each, of nine topics: the first runs have one to four topics.
    X = np.kron(np.eye(9, dtype=int), np.full((8, 4), 10))
    TopicCountLDA(**PRIORS, verbose=1, random_state=0).fit(X)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert "still to be found" in lines[0] and "most likely" not in lines[0]
    assert "most likely: 9 topics" in lines[-1]


# The range


def test_too_many_topics_are_refused(X):
    for bounds in ((2, 2**31), (2**31, None)):
        with pytest.raises(ValueError, match=r"_components=2147483648 is more than .*: topics are 32-bit numbers"):
            TopicCountLDA(*bounds).fit(X)


@ignore
def test_a_long_range_takes_bounded_work(X):
    lda = TopicCountLDA(2, 2**31 - 20, max_iter=30_000, **PRIORS, random_state=0).fit(X)
    assert lda.n_components_ == 3
    assert len(lda.topic_counts_) < 400


def test_the_parts_of_a_range():
    assert sorted(CountPrior(None, 2, 10**9).up_to(20)) == list(range(2, 21))
    assert sorted(CountPrior(None, 30, None).up_to(20)) == [30]
    assert sorted(CountPrior([0] * 30 + [1, 2], 2, 33).up_to(20)) == [32, 33]
    assert sorted(CountPrior(poisson(2), 2, None).up_to(9)) == list(range(2, 10))
    assert CountPrior(np.arange(1, 100), 2, 100).up_to(300)[100] == pytest.approx(np.log(99))
    assert CountPrior(None, 2, None).last == 200
    assert CountPrior(None, 2, 50).cuts_off(51)
    assert not CountPrior([1, 2], 2, 3).cuts_off(4)


# Where two topics are the answer, they are fewer than the corpus has.
@pytest.mark.filterwarnings("ignore:The words of the topics depend")
@ignore
def test_a_likely_number_beyond_a_gap_of_the_prior_is_found(X):
    prior = np.where(np.isin(np.arange(2, 41), [2, 40]), 1.0, 0.0)
    lda = TopicCountLDA(2, 40, topic_count_prior=prior, max_iter=3000, **PRIORS, random_state=0).fit(X)
    assert lda.topic_counts_.tolist() == [2, 40]
    assert np.isfinite(lda.log_evidence_).all()
