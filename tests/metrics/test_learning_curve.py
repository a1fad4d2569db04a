"""The held-out likelihood along a fit, from estimators and arrays."""

import numpy as np
import pytest

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.metrics import held_out_curve, held_out_log_likelihood


def test_the_curve_of_a_fit():
    data = make_lda_corpus(120, 60, 4, doc_length=60, topic_word_prior=0.05, random_state=0).data
    model = GibbsLDA(4, doc_topic_prior=0.1, max_iter=40, snapshot_every=10, n_chains=2, random_state=0).fit(data[:80])
    assert model.snapshots_.shape == (4, 4, 60)
    assert model.snapshots_.dtype == np.float32
    np.testing.assert_allclose(model.snapshots_.sum(axis=2), 1, rtol=1e-5)
    hard = GibbsLDA(
        4, doc_topic_prior=0.1, max_iter=40, point_estimate="cgs", n_draws=1, n_chains=2, random_state=0
    ).fit(data[:80])
    np.testing.assert_allclose(model.snapshots_[-1], hard.topic_word_, rtol=1e-5)

    curve = held_out_curve(model, data[80:], n_runs=8, random_state=0)
    assert curve.sweeps.tolist() == [10, 20, 30, 40]
    assert curve.log_likelihood.shape == (4, 40)
    for s in range(4):
        value, std = held_out_log_likelihood(
            (model.snapshots_[s], 0.1), data[80:], n_runs=8, return_std=True, random_state=1
        )
        error = np.hypot(curve.std[s], np.sqrt((std**2).sum()) / data[80:].sum())
        assert abs(curve.score[s] - value.sum() / data[80:].sum()) < 5 * error
    plain = held_out_curve((model.snapshots_, 0.1), data[80:], n_runs=8, random_state=0)
    np.testing.assert_array_equal(plain.score, curve.score)


def test_snapshots_through_warm_starts(capsys):
    data = make_lda_corpus(30, 40, 3, random_state=0).data
    options = {"learn_priors": False, "init": "random", "snapshot_every": 4, "random_state": 0}
    once = GibbsLDA(3, max_iter=20, **options).fit(data)
    twice = GibbsLDA(3, max_iter=10, warm_start=True, **options)
    twice.fit(data).fit(data)
    np.testing.assert_array_equal(once.snapshots_, twice.snapshots_)
    np.testing.assert_array_equal(once.snapshot_sweeps_, twice.snapshot_sweeps_)
    GibbsLDA(3, max_iter=20, snapshot_every=4, verbose=1, random_state=0).fit(data)
    assert "snapshots of the topics will take 0.0 MB" in capsys.readouterr().out


def test_bad_snapshots():
    data = make_lda_corpus(30, 40, 3, random_state=0).data
    with pytest.raises(ValueError, match="the estimator has no snapshots"):
        held_out_curve(GibbsLDA(3, max_iter=2).fit(data), data)
    for model in (np.ones((2, 3, 40)) / 40, [1, 2]):
        with pytest.raises(TypeError, match=r"has no components_: .* a pair \(snapshots, doc_topic_prior\)"):
            held_out_curve(model, data)
    with pytest.raises(ValueError, match="a tuple of 3"):
        held_out_curve((np.ones((2, 3, 40)) / 40, 0.1, 0.1), data)
    with pytest.raises(ValueError, match="there is no snapshot"):
        held_out_curve(GibbsLDA(3, max_iter=2, snapshot_every=5).fit(data), data)
