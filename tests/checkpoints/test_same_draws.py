"""A resumed fit has the same results as one without an interruption, bit for bit, for every estimator."""

import shutil

import joblib
import numpy as np
import pytest
from checkpoint_cases import compound, covariate, empirical_bayes, gibbs, labeled, topic_count

from sklda import HDPLDA, CompoundLDA, CovariateLDA, GibbsLDA
from sklda._sampling import choice
from sklda.callbacks import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# Known topics over the words of the corpus of `check`.
KNOWN = np.random.default_rng(0).dirichlet(np.full(30, 0.1), 2)


@pytest.mark.parametrize(
    ("sampler", "n_jobs"),
    [
        ("collapsed", 1),
        *((sampler, 2) for sampler in choice.SAMPLERS),
        *(
            pytest.param(sampler, 1, marks=pytest.mark.exhaustive)
            for sampler in choice.SAMPLERS
            if sampler != "collapsed"
        ),
    ],
)
def test_samplers(check, sampler, n_jobs):
    check(gibbs(sampler=sampler, n_chains=1, n_jobs=n_jobs), points=(0.1, 0.6))


def test_the_sparse_sampler(check, monkeypatch):
    monkeypatch.setitem(choice.COSTS, "sparse", (0, 0, 0, 0, 0))
    check(gibbs(sampler="collapsed"))


def test_chains_in_threads(check):
    check(gibbs(n_chains=3, n_jobs=2))


@pytest.mark.parametrize("n_chains", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_processes(check, n_chains):
    """Slow, because only new processes show that what they save is what the caller reads."""
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        # The saves of a chain in another process count on from those before it.
        check(gibbs(n_chains=n_chains, max_iter=20), points=(8 + 11 * (n_chains - 1),))


@pytest.mark.parametrize("init", ["random", "sequential", "prune"])
def test_inits(check, init):
    check(gibbs(init=init), points=(0.1,))


def test_search(check):
    check(gibbs(init="search", learn_priors=False, max_iter=10, n_chains=2, n_jobs=2))


def test_a_model_as_init(check, corpus):
    model = GibbsLDA(3, max_iter=5, random_state=0).fit(corpus)
    check(gibbs(init=model))


@pytest.mark.parametrize(
    "parameters",
    [
        # Several M-steps before and after the interruption.
        {"max_iter": 120},
        {"learn_priors": "symmetric", "max_iter": 120},
        {"learn_priors": False},
        {"doc_topic_prior": [0.1, 0.2, 0.3]},
        {"topic_word_prior": 0.1, "burn_in": 7},
        {"seed_words": {0: [1, 2], 1: [5]}},
        {"known_topics": KNOWN, "max_iter": 120},
        {"tol": 0.05, "max_iter": 400, "init": "random"},
        {"point_estimate": "cgs", "draw_every": 3},
    ],
    ids=lambda parameters: ", ".join(parameters),
)
def test_parameters(check, parameters):
    check(gibbs(**parameters))


def test_warm_start(check, corpus):
    check(gibbs(warm_start=True, n_chains=2), prepare=lambda lda: lda.fit(corpus).set_params(max_iter=15))


def test_generators_as_random_state(check):
    for kind in (np.random.default_rng, np.random.RandomState):
        check(lambda kind=kind: GibbsLDA(3, max_iter=10, random_state=kind(1)))


def test_compound(check, corpus):
    check(compound(), collections=np.arange(corpus.shape[0]) % 3)


@pytest.mark.filterwarnings("ignore:The draws use up to")
@pytest.mark.parametrize("n_collections", [pytest.param(1, marks=pytest.mark.exhaustive), 3])
def test_hdp(check, corpus, n_collections):
    def make():
        return HDPLDA(max_components=30, max_iter=30, n_draws=3, n_chains=2, random_state=0)

    check(make, collections=np.arange(corpus.shape[0]) % n_collections)


def test_covariate(check, corpus):
    check(covariate(), covariates=np.linspace(-1, 1, corpus.shape[0])[:, None])


@pytest.mark.parametrize("label_prior", ["frequency", "dependency"])
def test_labeled(check, corpus, label_prior):
    labels = np.arange(corpus.shape[0] * 4).reshape(-1, 4) % 3 == 0
    check(labeled(label_prior=label_prior, n_shared=1), labels.astype(int))


def test_empirical_bayes(check):
    check(empirical_bayes())


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_topic_count(check, n_jobs, monkeypatch):
    # The evidence of modes is most of the time of a short fit.
    monkeypatch.setattr("sklda._models.topic_count.count_modes._TEMPERATURES", 10)
    check(topic_count(n_jobs=n_jobs))


@pytest.mark.parametrize("cls", [GibbsLDA, CompoundLDA, CovariateLDA])
@pytest.mark.filterwarnings("ignore:CovariateLDA has no covariates:UserWarning")
def test_no_random_state(saves, corpus, same_fit, tmp_path, cls):
    """The seed comes from the checkpoint: two fits that continue from the same folder are the same."""
    lda = cls(3, max_iter=40, n_draws=3).set_callbacks(Checkpoint(tmp_path / "a", every=0))
    saves.interrupt(10, lambda: lda.fit(corpus))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    saves.interrupt(10, lambda: cls.resume(tmp_path / "a", corpus))
    found = [cls.resume(tmp_path / name, corpus).set_callbacks() for name in "ab"]
    assert same_fit(*found)
    np.testing.assert_array_equal(found[0].transform(corpus), found[1].transform(corpus))


def test_several_interruptions(saves, corpus, same_fit, tmp_path):
    lda = gibbs(n_chains=2, n_jobs=2)().set_callbacks(Checkpoint(tmp_path / "a", every=0))
    saves.interrupt(9, lambda: lda.fit(corpus))
    for _ in range(4):
        saves.interrupt(13, lambda: GibbsLDA.resume(tmp_path / "a", corpus))
    resumed = GibbsLDA.resume(tmp_path / "a", corpus).set_callbacks()
    assert same_fit(resumed, gibbs(n_chains=2)().fit(corpus))
