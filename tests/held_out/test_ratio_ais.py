"""Ratios of two models and curves along a fit, against exact likelihoods."""

import numpy as np
import pytest
from enumeration import make_corpus
from scipy.stats import norm

from sklda import GibbsLDA
from sklda._inference.held_out.ratio_ais import log_ratios, training_curve
from sklda.datasets import make_lda_corpus
from sklda.metrics import compare_topic_models, held_out_curve, held_out_log_likelihood

A = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.25, 0.25]])
B = np.array([[0.4, 0.4, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]])
ALPHA_A, ALPHA_B = np.array([0.2, 0.5, 1.0]), np.array([0.6, 0.4, 0.3])
DOCS = [[0], [0, 1, 3], [3, 3, 3, 0, 0, 1, 2, 3], [0, 3] * 6, []]
ALARM = 1e-6


def exact(phi, alpha, docs=DOCS):
    return held_out_log_likelihood(make_corpus(docs, 4).to_counts(), phi, alpha, method="exact")


def smallest_p(log_estimates, log_truth):
    """p-value of the mean of exp(estimates) over runs, the smallest over documents times their number."""
    relative = np.exp(log_estimates - log_truth)
    error = relative.std(axis=0, ddof=1) / np.sqrt(len(relative)) + 1e-6
    z = (relative.mean(axis=0) - 1) / error
    return 2 * norm.sf(np.abs(z)).min() * z.shape[-1]


@pytest.mark.parametrize("path", ["convex", "geometric"])
@pytest.mark.parametrize("alphas", [(ALPHA_A, ALPHA_A), (ALPHA_A, ALPHA_B)], ids=["one alpha", "two alphas"])
def test_ratios_are_unbiased(path, alphas):
    # with the 30 sweeps of burn-in the start is the first model's posterior
    a, b = (A, alphas[0][None]), (B, alphas[1][None])
    options = {"path": path, "n_temperatures": 5, "n_runs": 4000}
    runs = log_ratios(make_corpus(DOCS, 4), a, b, seed=np.random.SeedSequence(0), **options)
    truth = exact(B, alphas[1]) - exact(A, alphas[0])
    assert smallest_p(runs, truth) > ALARM
    assert smallest_p(runs, exact(B, alphas[1]) - exact(A, 2 * alphas[0])) < ALARM


def test_curves_are_unbiased_at_every_snapshot():
    snapshots = [A, (A + B) / 2, B]
    runs = training_curve(
        make_corpus(DOCS, 4), snapshots, ALPHA_A[None], n_temperatures=4, n_runs=4000, seed=np.random.SeedSequence(0)
    )
    for s, phi in enumerate(snapshots):
        assert smallest_p(runs[:, s], exact(phi, ALPHA_A)) > ALARM
    assert smallest_p(runs[:, 1], exact(A, ALPHA_A)) < ALARM


@pytest.mark.parametrize("path", ["convex", "geometric", "difference", "auto"])
def test_comparison_finds_the_ratio(path):
    # distinct documents, for equal ones share their stream and so their error
    rng = np.random.default_rng(0)
    docs = [rng.choice(4, size=n, p=[0.4, 0.2, 0.1, 0.3]) for n in range(30)]
    found = compare_topic_models(
        make_corpus(docs, 4).to_counts(),
        (A, ALPHA_A),
        (B[[2, 0, 1]], ALPHA_B[[2, 0, 1]]),
        path=path,
        n_runs=10,
        random_state=0,
    )
    truth = exact(A, ALPHA_A, docs) - exact(B, ALPHA_B, docs)
    z = (found.log_ratio - truth) / (found.std + 1e-6)
    assert np.abs(z).max() < 6
    assert (found.path == path) or path == "auto"
    if path == "difference":
        assert found.converged is None
    if path in ("convex", "geometric"):
        assert found.alignment.tolist() == [1, 2, 0]
        assert found.converged
        np.testing.assert_allclose(found.log_ratio, (found.forward + found.reverse) / 2)


def test_too_few_temperatures_do_not_converge_and_say_so():
    data = make_lda_corpus(80, 60, 4, doc_length=80, topic_word_prior=0.05, random_state=0)
    rng = np.random.default_rng(0)
    other = rng.dirichlet(np.full(60, 0.05), size=4) + 1e-6
    other /= other.sum(axis=1, keepdims=True)
    mine = data.topic_word + 1e-6
    mine /= mine.sum(axis=1, keepdims=True)
    found = compare_topic_models(data.data, (mine, 0.1), (other, 0.1), path="convex", n_temperatures=2, random_state=0)
    assert not found.converged
    assert (
        compare_topic_models(data.data, (mine, 0.1), (other, 0.1), n_temperatures=20, random_state=0).path
        == "difference"
    )


def test_auto_anneals_between_models_that_are_nearly_the_same():
    data = make_lda_corpus(80, 60, 4, doc_length=80, random_state=0)
    near = data.topic_word * np.random.default_rng(0).uniform(0.97, 1.03, size=(4, 60))
    near /= near.sum(axis=1, keepdims=True)
    found = compare_topic_models(data.data, (data.topic_word + 0.0, 0.1), (near, 0.1), random_state=0)
    assert found.path == "convex"


def test_models_of_different_size_and_zeros():
    X = make_corpus(DOCS, 4).to_counts()
    found = compare_topic_models(X, (A, ALPHA_A), (B[:2], 0.5), random_state=0)
    assert found.path == "difference"
    with pytest.raises(ValueError, match="the models have 3 and 2 topics"):
        compare_topic_models(X, (A, ALPHA_A), (B[:2], 0.5), path="convex")
    hollow = np.array([[0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5], [1, 0, 0, 0]])
    with pytest.raises(ValueError, match="probability zero in a topic"):
        compare_topic_models(X, (A, ALPHA_A), (hollow, 0.5), path="geometric")
    found = compare_topic_models(X, (hollow, 0.5), (A, 0.5), random_state=0)
    assert np.isneginf(found.log_ratio[2])
    both = compare_topic_models(X, (hollow, 0.5), (hollow, 0.5), random_state=0)
    assert np.isnan(both.log_ratio[2])
    with pytest.raises(ValueError, match="path must be"):
        compare_topic_models(X, (A, 0.5), (B, 0.5), path="straight")


def test_jobs_change_nothing():
    data = make_lda_corpus(150, 30, 3, doc_length=(0, 30), random_state=0)
    near = (data.topic_word + 0.01) / (1 + 0.01 * 30)
    two = [
        compare_topic_models(
            data.data,
            (data.topic_word, 0.1),
            (near, 0.2),
            path="convex",
            n_temperatures=10,
            random_state=0,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(two[0].log_ratio, two[1].log_ratio)


def test_the_curve_of_a_fit():
    data = make_lda_corpus(120, 60, 4, doc_length=60, topic_word_prior=0.05, random_state=0).data
    model = GibbsLDA(4, doc_topic_prior=0.1, max_iter=40, snapshot_every=10, n_chains=2, random_state=0).fit(data[:80])
    assert model.snapshots_.shape == (4, 4, 60)
    assert model.snapshots_.dtype == np.float32
    np.testing.assert_allclose(model.snapshots_.sum(axis=2), 1, rtol=1e-5)
    hard = GibbsLDA(4, doc_topic_prior=0.1, max_iter=40, point_estimate="cgs", n_chains=2, random_state=0).fit(
        data[:80]
    )
    np.testing.assert_allclose(model.snapshots_[-1], hard.topic_word_, rtol=1e-5)

    curve = held_out_curve(data[80:], model, n_runs=8, random_state=0)
    assert curve.sweeps.tolist() == [10, 20, 30, 40]
    assert curve.log_likelihood.shape == (4, 40)
    for s in range(4):
        value, std = held_out_log_likelihood(
            data[80:], model.snapshots_[s], 0.1, n_runs=8, return_std=True, random_state=1
        )
        error = np.hypot(curve.std[s], np.sqrt((std**2).sum()) / data[80:].sum())
        assert abs(curve.score[s] - value.sum() / data[80:].sum()) < 5 * error
    plain = held_out_curve(data[80:], model.snapshots_, 0.1, n_runs=8, random_state=0)
    np.testing.assert_array_equal(plain.score, curve.score)


def test_snapshots_through_warm_starts(capsys):
    data = make_lda_corpus(30, 40, 3, random_state=0).data
    once = GibbsLDA(3, max_iter=20, snapshot_every=4, random_state=0).fit(data)
    twice = GibbsLDA(3, max_iter=10, snapshot_every=4, warm_start=True, random_state=0).fit(data).fit(data)
    np.testing.assert_array_equal(once.snapshots_, twice.snapshots_)
    np.testing.assert_array_equal(once.snapshot_sweeps_, twice.snapshot_sweeps_)
    GibbsLDA(3, max_iter=20, snapshot_every=4, verbose=1, random_state=0).fit(data)
    assert "snapshots of the topics will take 0.0 MB" in capsys.readouterr().out


def test_bad_snapshots():
    data = make_lda_corpus(30, 40, 3, random_state=0).data
    with pytest.raises(ValueError, match="kept no snapshots"):
        held_out_curve(data, GibbsLDA(3, max_iter=2).fit(data))
    with pytest.raises(ValueError, match="doc_topic_prior is needed"):
        held_out_curve(data, np.ones((2, 3, 40)) / 40)
    with pytest.raises(ValueError, match="there is no snapshot"):
        held_out_curve(data, GibbsLDA(3, max_iter=2, snapshot_every=5).fit(data))
