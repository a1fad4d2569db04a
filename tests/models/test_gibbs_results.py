"""Reports of GibbsLDA on its chains: priors, draws, tol, all chains, and warm starts."""

import warnings

import numpy as np
import pytest
from refusals import TEXTS
from scipy.spatial.distance import cdist, jensenshannon
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus

SAMPLERS = ["collapsed", "partitioned", "grouped", "partially_collapsed"]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def X():
    return make_lda_corpus(50, 30, 4, doc_length=30, random_state=0).data


def fit(X, **parameters):
    return GibbsLDA(**{"n_components": 4, "max_iter": 60, "random_state": 0} | parameters).fit(X)


@pytest.mark.parametrize("learn", [True, "symmetric", False])
def test_priors_that_are_none(X, learn):
    lda = fit(X, learn_priors=learn)
    alpha, eta = lda.doc_topic_prior_, lda.topic_word_prior_
    assert isinstance(eta, float)
    if learn == "symmetric":
        assert isinstance(alpha, float)
        assert alpha != 0.25
        assert eta != 0.25
    elif learn:
        assert alpha.shape == (4,)
        assert len(np.unique(alpha)) == 4
        assert eta != 0.25
    else:
        assert (alpha, eta) == (0.25, 0.25)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "given",
    [
        {"doc_topic_prior": 0.3},
        {"doc_topic_prior": [0.1, 0.2, 0.3, 0.4]},
        {"topic_word_prior": 0.3},
        {"topic_word_prior": np.linspace(0.1, 0.2, 30)},
        {"topic_word_prior": np.linspace(0.1, 0.2, 120).reshape(4, 30)},
        {"doc_topic_prior": 0.3, "topic_word_prior": np.linspace(0.1, 0.2, 30)},
        {"doc_topic_prior": [0.1, 0.2, 0.3, 0.4], "topic_word_prior": 0.3},
    ],
    ids=lambda given: ", ".join(f"{name} {np.ndim(value)}" for name, value in given.items()),
)
def test_given_priors_stay(X, sampler, given):
    lda = fit(X, sampler=sampler, max_iter=20, **given)
    more = clone(lda).set_params(warm_start=True).fit(X).fit(X)
    for each in (lda, more):
        for name, value in given.items():
            # An eta per topic and word is kept in single precision.
            found = getattr(each, name + "_")
            assert np.shape(found) == np.shape(value)
            np.testing.assert_allclose(found, value, rtol=1e-7 if np.ndim(value) == 2 else 0)
        if "doc_topic_prior" not in given:
            assert (each.doc_topic_prior_ != 0.25).all()
        if "topic_word_prior" not in given:
            assert each.topic_word_prior_ != 0.25


SEEDS = {0: {0: 3.0, 5: 4.0}, 2: {3: 20.0}}


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
@pytest.mark.parametrize("parameters", [{}, {"seed_words": SEEDS}, {"learn_priors": "symmetric"}])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_warm_start_keeps_learnt_priors_to_the_last_bit(X, sampler, parameters, same):
    lda = fit(X, sampler=sampler, warm_start=True, n_chains=2, max_iter=30, **parameters)
    before = [draws.priors for draws in lda._results_.draws]
    # 12 annealed sweeps and half of the others; none with seeds.
    n_burn_in, n_draws = (15, 2) if "seed_words" in parameters else (21, 1)
    assert [len(state.draws) for state in lda._results_.states] == [n_draws] * 2
    lda.fit(X)
    for old, new in zip(before, [draws.priors for draws in lda._results_.draws], strict=True):
        assert same(old, new)
    assert lda.n_iter_ == 60
    assert lda.log_joint_trace_.shape == (2, 60)
    assert [state.n_burn_in for state in lda._results_.states] == [n_burn_in] * 2
    assert [len(state.draws) for state in lda._results_.states] == [n_draws + 3] * 2
    assert lda.n_burn_in_ == n_burn_in


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
def test_seed_words_everywhere_stay_with_a_warm_start(X):
    lda = fit(X, seed_words={k: dict.fromkeys(range(30), 5.0) for k in range(4)}, warm_start=True, max_iter=30)
    eta = lda.topic_word_prior_.copy()
    lda.fit(X)
    np.testing.assert_allclose(lda.topic_word_prior_, eta, rtol=1e-6)


def test_number_of_draws(X):
    for max_iter, n_draws, draw_every, found in (
        # 24 annealed sweeps, and 18 others in the burn-in.
        (60, 15, 10, 2),
        (60, 2, 5, 2),
        (60, 15, 2, 9),
        (1, 15, 10, 1),
        (2, 5, 1, 1),
        (3, 5, 1, 1),
        (65, 15, 10, 3),
        (10, 3, 100, 1),
    ):
        lda = fit(X, max_iter=max_iter, n_draws=n_draws, draw_every=draw_every)
        (state,) = lda._results_.states
        assert len(state.draws) == found
        np.testing.assert_array_equal(state.draws[-1].topics, lda.topic_assignments_)
        assert 1 <= lda.n_draws_ <= found


def test_averages_are_those_of_the_draws(X):
    lda = fit(X, n_draws=4, draw_every=5)
    ones = [
        GibbsLDA.from_assignments(X, z, n_components=4, **_priors(lda)) for _, z, _ in lda._results_.states[0].draws
    ]
    assert lda.n_draws_ == 4
    for name in ("components_", "doc_topic_"):
        np.testing.assert_allclose(getattr(lda, name), np.mean([getattr(one, name) for one in ones], axis=0), rtol=1e-5)
    np.testing.assert_allclose(lda.topic_share_, np.mean([one.topic_share_ for one in ones], axis=0))
    # Five effective draws are the fewest that are assumed.
    std = np.std([one.topic_share_ for one in ones], axis=0) * np.sqrt(6 / 2)
    np.testing.assert_allclose(lda.topic_share_std_, std, atol=1e-12)


def _priors(lda):
    return {"doc_topic_prior": lda.doc_topic_prior_, "topic_word_prior": lda.topic_word_prior_}


@pytest.fixture(scope="module")
def easy():
    """Documents with one topic each, and topics without common words: the chain is at its mode after a few sweeps."""
    return np.kron(np.eye(4, dtype=int), np.ones((10, 8), int)) * 4


def test_tol_ends_the_burn_in_and_the_chain_early(easy):
    # A tolerance above every rise of the log joint.
    easily = {"tol": 10.0, "n_draws": 5, "init": "random"}
    lda = fit(easy, max_iter=500, **easily)
    # Topics are merged and split after sweep 83, for the only time; five draws later, sweep 160 is the first check.
    assert (lda.n_burn_in_, lda.n_iter_, lda.n_draws_) == (100, 160, 5)
    assert (lda.doc_topic_prior_ != 0.25).all()
    assert lda.topic_word_prior_ != 0.25
    fixed = fit(easy, max_iter=500, learn_priors=False, **easily)
    assert (fixed.n_burn_in_, fixed.n_iter_, fixed.n_draws_) == (100, 160, 5)
    # The round of merges and splits is after sweep 250.
    annealed = fit(easy, max_iter=500, **easily | {"init": "anneal"})
    assert (annealed.n_burn_in_, annealed.n_iter_, annealed.n_draws_) == (260, 320, 5)
    every = fit(easy, max_iter=150, tol=None, init="random")
    assert (every.n_burn_in_, every.n_iter_) == (75, 150)


def test_tol_continues_while_the_log_joint_rises(X):
    big = make_lda_corpus(200, 200, 20, doc_length=60, random_state=0).data
    options = {"n_components": 20, "init": "random", "max_iter": 100, "n_draws": 2, "learn_priors": False}
    lda, never = (fit(big, tol=tol, **options) for tol in (1e-3, 0))
    assert 40 < lda.n_iter_
    rises = np.diff(never.log_joint_trace_[0].reshape(-1, 20).mean(axis=1)) / big.sum()
    checks = 20 * (2 + np.flatnonzero(rises < 0))
    assert never.n_burn_in_ == min([*checks, 50])


def test_chains_that_end_at_different_sweeps(X):
    lda = fit(X, max_iter=300, n_chains=4, tol=2e-3, n_draws=3)
    ends = [len(state.trace) for state in lda._results_.states]
    assert len(set(ends)) > 1
    assert lda.n_iter_ == max(ends)
    for trace in lda.traces_.values():
        assert trace.shape == (4, max(ends))
        for row, end in zip(trace, ends, strict=True):
            assert np.isfinite(row[:end]).all()
            assert np.isnan(row[end:]).all()
    assert lda.n_burn_in_ < min(ends)
    for found in lda.diagnostics_.values():
        assert np.isfinite(found.r_hat)
        assert np.isfinite(found.n_effective)
        assert np.isfinite(found.r_hat_by_chain).all()
        assert np.isfinite(found.n_effective_by_chain).all()


def test_all_chains_are_kept(X):
    lda = fit(X, n_chains=3)
    assert len(lda.chains_) == 3
    best = lda.chains_[lda.best_chain_]
    np.testing.assert_array_equal(best.topic_assignments, lda.topic_assignments_)
    np.testing.assert_allclose(best.doc_topic, lda.doc_topic_, rtol=1e-5)
    np.testing.assert_allclose(best.topic_word, lda.topic_word_, rtol=1e-5)
    np.testing.assert_array_equal(best.doc_topic_prior, lda.doc_topic_prior_)
    assert best.matched.tolist() == [0, 1, 2, 3]
    for c, chain in enumerate(lda.chains_):
        assert chain.topic_assignments.dtype == np.uint8
        assert chain.topic_word.dtype == chain.doc_topic.dtype == np.float32
        assert sorted(chain.matched) == [0, 1, 2, 3]
        alone = fit(X, n_chains=c + 1)
        np.testing.assert_array_equal(chain.topic_word, alone.chains_[c].topic_word)
    assert lda.topic_stability_.shape == (4,)
    others = [chain for c, chain in enumerate(lda.chains_) if c != lda.best_chain_]
    distances = [
        cdist(best.topic_word, each.topic_word, lambda p, q: jensenshannon(p, q, base=2)).min(axis=1) for each in others
    ]
    np.testing.assert_allclose(lda.topic_stability_, 1 - np.mean(distances, axis=0), atol=1e-3)
    found = 1 + np.sum(np.array(distances) <= 0.5, axis=0)
    np.testing.assert_array_equal(lda.topic_prevalence_, found / 3)
    assert (lda.topic_share_std_ > 0).all()


@pytest.fixture(scope="module")
def five():
    """A corpus of five topics. With twelve seeds, the other of eight had at most 28 tokens, and 48 as their prior."""
    options = {"doc_length": 80, "doc_topic_prior": 0.05, "topic_word_prior": 0.05}
    return make_lda_corpus(200, 1000, 5, **options, random_state=0).data


@pytest.mark.mutation("sklda._models.results.has_own_words", lambda components, prior: components.any(axis=1))
def test_topics_without_words_of_their_own_are_not_found_again(five):
    lda = fit(five, n_components=8, n_chains=3, max_iter=100)
    small = lda.topic_share_ < 0.03
    assert small.sum() == 3
    for values in (lda.topic_stability_, lda.topic_prevalence_):
        np.testing.assert_array_equal(np.isnan(values), small)
    assert (lda.topic_stability_[~small] > 0.8).all() and (lda.topic_prevalence_[~small] == 1).all()


def test_chains_in_different_modes_get_a_warning(easy):
    """Chains that a start of one topic and a start of four topics hold apart, at priors that let nothing move."""
    z = np.repeat(np.arange(4), easy.sum() // 4)
    priors = {"doc_topic_prior": 1e-9, "topic_word_prior": 1e-9}
    starts = [GibbsLDA.from_assignments(easy, each, n_components=4, **priors) for each in (z, 0 * z)]
    lda = fit(easy, n_chains=2, max_iter=2, warm_start=True, **priors)
    lda._results_.states = [start._results_.states[0] for start in starts]
    with pytest.warns(ConvergenceWarning, match="The chains disagree: R-hat is .* for squared_shares"):
        lda.set_params(max_iter=120).fit(easy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(easy, n_chains=2, init=z, max_iter=120, doc_topic_prior=0.1, topic_word_prior=0.1)


def test_topics_of_the_kept_chain_are_stored_once(X):
    lda = fit(X, n_chains=2, max_iter=20)
    stored = [each.components is not None for each in lda._results_.means]
    assert stored == [c != lda.best_chain_ for c in range(2)]
    assert lda._results_.traces is lda.traces_ and lda._results_.diagnostics is lda.diagnostics_


def test_an_interrupt_in_the_averages_changes_nothing(X, monkeypatch):
    lda = fit(X)
    before = dict(vars(lda))
    from sklda._sampling import draws

    calls = []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return add_estimates(*args, **kwargs)

    add_estimates = draws.add_estimates
    monkeypatch.setattr(draws, "add_estimates", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lda.fit(X[:20])
    after = vars(lda)
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


def test_a_warm_start_with_other_learning_is_refused(X):
    lda = fit(X, max_iter=2, warm_start=True)
    with pytest.raises(ValueError, match="learn_priors=True, but learn_priors is now False"):
        lda.set_params(learn_priors=False).fit(X)


def test_words_that_the_fit_never_saw():
    """A word without a token in the fit has the prior in every topic and moves proportions by it alone."""
    lda = GibbsLDA(3, max_iter=50, random_state=0).fit([[4, 0, 0], [0, 0, 5], [3, 0, 1]])
    assert np.isfinite(lda.transform([[0, 9, 0], [1, 9, 0]])).all()


def test_documents_without_a_known_word():
    """A vectorizer drops unknown words: what is left is an empty document, which has the mean of the prior."""
    lda = GibbsLDA(3, max_iter=5, doc_topic_prior=[1, 2, 1], random_state=0)
    pipeline = make_pipeline(CountVectorizer(), lda).fit(TEXTS)
    np.testing.assert_allclose(pipeline.transform(["zebra giraffe", ""]), [[0.25, 0.5, 0.25]] * 2)
