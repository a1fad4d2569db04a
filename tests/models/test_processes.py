"""Work in threads and in other processes: no result depends on it, nothing that was received is written into, and all
can be pickled."""

import pickle

import joblib
import numpy as np
import pytest
from hostile.processes import Copies
from sklearn.base import clone

from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
    inspection,
    metrics,
)
from sklda._core.parallel import in_parallel
from sklda._sampling.choice import SAMPLERS
from sklda.papers.compound import langevin
from sklda.papers.compound import variational_em as compound_em
from sklda.papers.empirical_bayes import full_bayes, gibbs_em, serial_tempering, variational_em
from sklda.papers.held_out import (
    ais,
    chib,
    held_out_curve,
    leave_one_out_score,
    left_to_right,
    particle_filter,
    predictive_perplexity,
    ratio_ais,
)
from sklda.papers.topic_count import log_evidence, log_evidence_by_sweeps, pmmh

# joblib maps arrays with more bytes than this into memory, read-only.
SMALLEST = {"max_nbytes": 1}
LONG = pytest.mark.exhaustive
GIVEN = {"doc_topic_prior": 0.5, "topic_word_prior": 0.2, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).poisson(0.4, (70, 40))


def fits(sampler, **parameters):
    """A fit and a warm start of two chains."""

    def work(X):
        lda = GibbsLDA(3, sampler=sampler, max_iter=25, n_chains=2, warm_start=True, random_state=0, **parameters)
        return lda.fit(X).fit(X)

    return work


FEW = {"max_iter": 10, "n_chains": 2, "random_state": 0}


def priors(function, **options):
    """A paper's estimate of the priors."""
    return lambda X: found(function(X[:30, :20], 2, **FEW | options))


def found(result):
    """What a paper's function finds; its methods are other objects."""
    values = {name: value for name, value in result.items() if name != "model" and not callable(value)}
    return values, result.model.components_, result.model.transform(np.ones((1, result.model.n_features_in_)))


def labelled(**parameters):
    lda = LabeledLDA(n_shared=2, burn_in=2, n_draws=2, n_chains=2, fold_in_iter=3, random_state=0, **parameters)
    return lambda X: [clone(lda).fit(X, X[:, :3] > 0), lda.fit(X, X[:, :3] > 0).decision_function(X), lda.transform(X)]


def scored(score):
    def work(X):
        lda = GibbsLDA(3, max_iter=10, **GIVEN).fit(X)
        return score(lda, X)

    return work


PATHS = {
    **{f"GibbsLDA {sampler}": fits(sampler) for sampler in SAMPLERS},
    "GibbsLDA, seed words": fits("collapsed", seed_words={0: {1: 2.0}}, n_jobs=2),
    **{
        f"GibbsLDA {sampler}, one chain": lambda X, sampler=sampler: GibbsLDA(
            3, sampler=sampler, max_iter=25, random_state=0
        ).fit(X)
        for sampler in SAMPLERS
    },
    "GibbsLDA, 300 topics": lambda X: GibbsLDA(300, n_chains=2, max_iter=3, **GIVEN).fit(X),
    **{
        f"GibbsLDA {init}": lambda X, init=init: GibbsLDA(2, init=init, n_chains=2, max_iter=2, **GIVEN).fit(X[:15])
        for init in ("anneal", "prune", "search")
    },
    **{
        f"CollapsedVariationalLDA {method}": lambda X, method=method: (
            CollapsedVariationalLDA(3, learning_method=method, max_iter=6, random_state=0).fit(X).transform(X)
        )
        for method in ("batch", "online")
    },
    "CompoundLDA": lambda X: CompoundLDA(3, n_chains=2, max_iter=5, learn_priors=True, random_state=0).fit(
        X, collections=np.arange(70) % 3
    ),
    **{
        f"HDPLDA of {n}": lambda X, n=n: HDPLDA(max_components=30, n_chains=2, max_iter=9, random_state=0).fit(
            X, collections=np.arange(70) % n
        )
        for n in (1, 3)
    },
    **{
        f"compound, {estimate.__name__}": lambda X, estimate=estimate: estimate(
            X, np.arange(70) % 3, 3, n_chains=2, max_iter=5, random_state=0
        )
        for estimate in (langevin, compound_em)
    },
    "CovariateLDA": lambda X: CovariateLDA(3, n_chains=2, max_iter=8, random_state=0).fit(
        X, covariates=np.arange(70) % 3
    ),
    "CovariateLDA, levels": lambda X: CovariateLDA(3, n_chains=2, max_iter=8, random_state=0).fit(
        X, covariates=list("abcde") * 14
    ),
    "LabeledLDA": labelled(),
    "LabeledLDA, dependency": labelled(label_prior="dependency", dependency_sampler="gibbs", n_label_topics=3),
    "EmpiricalBayesLDA": lambda X: EmpiricalBayesLDA(2, **FEW).fit(X[:30, :20]),
    "serial_tempering": priors(serial_tempering, tempering="paper", n_tuning=4),
    "full_bayes": priors(full_bayes, n_tuning=4),
    "gibbs_em": priors(gibbs_em, start=([1, 1], None)),
    "variational_em": priors(variational_em, max_iter=2, n_tuning=4),
    "TopicCountLDA": lambda X: TopicCountLDA(max_components=3, max_iter=40, random_state=0).fit(X[:20]),
    "pmmh": lambda X: found(pmmh(X, 2, 4, n_proposals=5, evidence="guided_ais", n_temperatures=8, random_state=0)),
    "held out ais": scored(lambda lda, X: ais((lda.topic_word_, 0.5), X, n_temperatures=5, random_state=0)[0]),
    **{
        estimate.__name__: scored(
            lambda lda, X, estimate=estimate: estimate((lda.topic_word_, 0.5), X, random_state=0)[0]
        )
        for estimate in (left_to_right, particle_filter, chib)
    },
    "score": scored(lambda lda, X: [lda.transform(X), lda.score_samples(X), lda.perplexity(X)]),
    "compare_topic_models": scored(
        lambda lda, X: (
            metrics.compare_topic_models(
                lda, (lda.topic_word_[::-1].copy(), 0.5), X, n_temperatures=5, random_state=0
            ).log_ratio
        )
    ),
    "ratio_ais": scored(
        lambda lda, X: (
            ratio_ais(lda, (lda.topic_word_[::-1].copy(), 0.5), X, n_temperatures=5, random_state=0).log_ratio
        )
    ),
    "held_out_curve": scored(lambda lda, X: held_out_curve([lda, lda], X, n_temperatures=2, random_state=0)),
    "held_out_log_likelihood": scored(
        lambda lda, X: metrics.held_out_log_likelihood(
            (lda.topic_word_, 0.5), X, n_runs=2, return_std=True, n_temperatures=5, random_state=0
        )
    ),
    "predictive_perplexity": scored(lambda lda, X: predictive_perplexity(lda, X, X, n_sweeps=5, random_state=0)),
    "leave_one_out_score": lambda X: leave_one_out_score(
        GibbsLDA(3, max_iter=3, **GIVEN).fit(X[:6]), X[:6], n_draws=10, n_temperatures=3, random_state=0
    ),
    "log_evidence": lambda X: log_evidence(X, 3, n_temperatures=5, n_chains=2, random_state=0),
    "log_evidence_by_sweeps": lambda X: log_evidence_by_sweeps(
        X, 3, n_inner=3, n_runs=2, init="random", random_state=0
    ),
}


@pytest.mark.filterwarnings("ignore:(seed_words|Most tokens of the seed words)")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The draws use up to")
@pytest.mark.parametrize("path", PATHS)
def test_results_are_those_of_one_thread(X, path, same):
    expected = PATHS[path](X)
    for backend in ("threading", Copies()):
        with joblib.parallel_config(backend, n_jobs=2):
            assert same(PATHS[path](X), expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("path", "backend"),
    [
        ("GibbsLDA, 300 topics", "multiprocessing"),
        *(
            pytest.param(path, backend, marks=() if backend == "loky" else LONG)
            for path in ("CollapsedVariationalLDA batch", "CompoundLDA", "LabeledLDA")
            for backend in ("loky", "multiprocessing")
        ),
    ],
)
def test_real_processes(X, path, backend, same):
    expected = PATHS[path](X)
    with joblib.parallel_config(backend, n_jobs=2, **SMALLEST):
        assert same(PATHS[path](X), expected)


def _write(array, stop):
    array[0] = 1


def test_what_writes_into_what_it_received_is_found():
    with joblib.parallel_config(Copies(), n_jobs=2), pytest.raises(ValueError, match="read-only"):
        in_parallel(_write, [(np.zeros(1),)] * 2)


def test_what_cannot_be_pickled_is_found():
    with (
        joblib.parallel_config(Copies(), n_jobs=2),
        pytest.raises((AttributeError, pickle.PicklingError), match="pickle"),
    ):
        in_parallel(lambda stop: None, [()] * 2)


@pytest.mark.parametrize("path", ["GibbsLDA, 300 topics", "CompoundLDA", "LabeledLDA"])
def test_processes_get_no_counts(X, path, same, tmp_path):
    """joblib cannot send a memory map without the name of its file. Only callbacks need X."""
    expected = PATHS[path](X)
    with open(tmp_path / "counts", "w+b") as file:
        counts = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
        counts[:] = X
        counts.filename = None
        with joblib.parallel_config("loky", n_jobs=2, **SMALLEST):
            assert same(PATHS[path](counts), expected)


@pytest.mark.parametrize(
    "work",
    [
        lambda X: GibbsLDA(2, max_iter=2, n_jobs=10**5).fit(X),
        lambda X: ConsensusTopics(GibbsLDA(2, max_iter=2), n_fits=3, n_jobs=10**5).fit(X),
        lambda X: inspection.compare_topic_counts(GibbsLDA(max_iter=2), X, [2], cv=3, n_jobs=10**5),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_no_more_processes_than_tasks(X, work):
    """joblib would start 100,000 of them."""

    class Backend(Copies):
        def configure(self, n_jobs=1, parallel=None, **kwargs):
            asked.append(n_jobs)
            return super().configure(n_jobs, parallel, **kwargs)

    asked = []
    with joblib.parallel_config(Backend()):
        work(X)
    assert asked
    # Two splits of a consensus have four halves.
    assert max(asked) <= 4
