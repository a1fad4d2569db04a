"""joblib's Dask backend, with two worker processes: the same results as threads give, bit for bit."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from workers import client_of

from sklda import CompoundLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda._sampling.choice import SAMPLERS
from sklda.metrics import compare_topic_models, held_out_log_likelihood
from sklda.papers.held_out import held_out_curve, leave_one_out_score, particle_filter, predictive_perplexity, ratio_ais
from sklda.papers.topic_count import log_evidence, log_evidence_by_sweeps

# joblib 1.5 warns of its own Dask backend.
pytestmark = pytest.mark.filterwarnings("ignore:.apply_async. is deprecated:DeprecationWarning")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with client_of(2, 1) as client:
        yield client


@pytest.fixture
def on_dask(cluster, same):
    """Whether a function gives the same, bit for bit, on the cluster as in threads."""

    def executed():
        return sum(cluster.run(lambda dask_worker: dask_worker.state.executed_count).values())

    def on_dask(function):
        here, before = function(), executed()
        with joblib.parallel_config(backend="dask"):
            there = function()
        return same(there, here) and executed() > before

    return on_dask


def make(sampler="collapsed", **parameters):
    return GibbsLDA(4, sampler=sampler, max_iter=4, random_state=0, **parameters)


def results(lda):
    """The results of a fit."""
    return {name: value for name, value in vars(lda).items() if name.endswith("_")}


@pytest.fixture(scope="module")
def fitted(counts):
    return make().fit(counts)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains(on_dask, counts, sampler):
    assert on_dask(lambda: results(make(sampler, n_chains=3).fit(counts)))


def test_transform_and_scores(on_dask, fitted, counts):
    assert on_dask(lambda: [fitted.transform(counts), fitted.score_samples(counts)])


def test_metrics(on_dask, fitted, counts):
    phi, alpha, half = fitted.topic_word_, 0.25, counts[:75]
    few = {"n_temperatures": 5, "random_state": 0}
    for score in (
        lambda: held_out_log_likelihood((phi, alpha), counts, n_runs=2, return_std=True, **few),
        lambda: particle_filter((phi, alpha), counts, random_state=0)[0],
        lambda: predictive_perplexity(fitted, counts, counts, n_sweeps=5, random_state=0),
        lambda: dict(compare_topic_models(fitted, (phi[::-1].copy(), alpha), half, **few)),
        lambda: dict(ratio_ais(fitted, (phi[::-1].copy(), alpha), half, **few)),
        lambda: dict(held_out_curve([fitted, fitted], half, **few)),
        lambda: dict(leave_one_out_score(fitted, counts, rows=[1, 30, 80], n_draws=10, **few)),
    ):
        assert on_dask(score)


def test_evidence(on_dask, counts):
    few = {"n_runs": 2, "init": "random", "random_state": 0}
    assert on_dask(lambda: log_evidence(counts, 3, n_temperatures=10, **few))
    assert on_dask(lambda: log_evidence_by_sweeps(counts, 3, n_inner=3, **few))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "lda",
    [
        CompoundLDA(3, n_chains=2, max_iter=6, random_state=0),
        EmpiricalBayesLDA(3, n_chains=2, max_iter=20, random_state=0),
        TopicCountLDA(min_components=2, max_components=3, max_iter=20, random_state=0),
    ],
    ids=lambda lda: type(lda).__name__,
)
def test_other_estimators(on_dask, counts, lda):
    assert on_dask(lambda: results(clone(lda).fit(counts[:40])))


def test_labels(on_dask, counts):
    y = np.eye(3, dtype=int)[np.arange(150) % 3] + np.array([1, 0, 0])
    lda = LabeledLDA(
        n_chains=2, max_iter=4, n_draws=2, draw_every=1, label_prior="dependency", n_label_topics=2, random_state=0
    )

    def found():
        lda.fit(counts, np.minimum(y, 1))
        return lda.components_, lda.log_joint_trace_, lda.decision_function(counts), lda.predict(counts)

    assert on_dask(found)
