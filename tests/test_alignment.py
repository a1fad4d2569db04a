"""Arrays from messages that begin at any byte are aligned before kernels read them."""

import asyncio
import importlib
import pickle
import pkgutil

import numpy as np
import pytest
import scipy.sparse as sp

from sklda import CollapsedVariationalLDA, CompoundLDA, CovariateLDA, GibbsLDA, LabeledLDA, _kernels, metrics
from sklda._core.corpus import Corpus
from sklda._core.parallel import _with_aligned_arrays, results_of
from sklda._core.priors import Priors
from sklda._kernels import _tokens
from sklda._models.compound.model import CompoundModel
from sklda._models.dask.shard import Shard
from sklda._models.dask.shard_chain import NonzeroCounts
from sklda._sampling.choice import SAMPLERS, chain_class
from sklda.datasets import make_lda_corpus
from sklda.papers.empirical_bayes import gibbs_em
from sklda.papers.held_out import chib, held_out_curve, leave_one_out_score, ratio_ais
from sklda.papers.topic_count import log_evidence


def sent(value):
    """A copy of `value` as from a message in which all arrays begin at odd bytes, and are read-only."""
    buffers = []
    text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[memoryview(b"x" + bytes(buffer.raw()))[1:] for buffer in buffers])


def arrays_of(value):
    return [each for each in vars(value).values() if isinstance(each, np.ndarray)]


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_counts(make_lda_corpus(20, 30, 3, random_state=0).data)


def test_such_messages_exist():
    assert not sent(np.arange(10)).flags.aligned


def test_attributes_are_aligned(corpus):
    priors = Priors.make([0.1, 0.2, 0.3], np.ones((3, 30)), 3, 30)
    for value in (corpus, priors, CompoundModel(np.arange(20), 20), NonzeroCounts.of(np.arange(9))):
        assert arrays_of(value)
        assert all(each.flags.aligned for each in arrays_of(sent(value)))


def test_arguments_are_aligned():
    assert _with_aligned_arrays(_flags, *sent((np.arange(3), np.ones(2), "x"))) == [True, True]


def test_results_are_aligned():
    assert [each.flags.aligned for each in results_of(sent, [np.arange(3), np.ones(2)])] == [True, True]
    ((one, (other,)),) = results_of(sent, [(np.arange(3), (np.ones(2),))])
    assert one.flags.aligned and other.flags.aligned


def test_workers_of_a_cluster_get_aligned_arrays():
    class Worker(Shard):
        async def flags_of(self, priors, stream):
            return _flags(*priors, stream)

    arguments = sent(((np.ones(3), 2, np.arange(4)), np.arange(4)))
    assert asyncio.run(Worker(0).run(-1, "flags_of", *arguments)) == [True] * 3


def _flags(*arguments):
    return [each.flags.aligned for each in arguments if isinstance(each, np.ndarray)]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains_make_the_same_draws(corpus, sampler):
    priors = Priors.make([0.1, 0.2, 0.3], 0.1, 3, 30)
    chain = chain_class(sampler, corpus, priors).initialise_randomly(corpus, priors, np.random.SeedSequence(0))
    other = sent(chain)
    for each in (chain, other):
        each.sweep()
    np.testing.assert_array_equal(chain.topics, other.topics)


def unaligned(array):
    """The same values, contiguous, from the second byte of their memory on; the arrays of sparse matrices, too."""
    if sp.issparse(array):
        array = array.copy()
        for name in ("data", "indices", "indptr", "row", "col"):
            if hasattr(array, name):
                setattr(array, name, unaligned(getattr(array, name)))
        return array
    record = np.zeros(1, np.dtype([("byte", "u1"), ("values", array.dtype, array.shape)]))
    record["values"][0] = array
    return record["values"][0]


@pytest.fixture
def watched(monkeypatch):
    """Kernels refuse arrays that are not aligned; the names of those called."""
    called = set()

    def watch(kernel, name):
        def checked(*arguments):
            called.add(name)
            assert all(_flags(*arguments)), name
            return kernel(*arguments)

        return checked

    for module in pkgutil.iter_modules(_kernels.__path__):
        module = importlib.import_module(f"sklda._kernels.{module.name}")
        for name, kernel in vars(module).copy().items():
            if type(kernel).__name__ in (
                "cython_function_or_method",
                "builtin_function_or_method",
                "fused_cython_function",
            ):
                monkeypatch.setattr(module, name, watch(kernel, f"{module.__name__.rpartition('.')[2]}.{name}"))
    return called


K = 4
X = make_lda_corpus(25, 12, K, doc_length=(0, 15), random_state=0).data.astype(np.int64)
TOPICS = np.random.default_rng(0).integers(K, size=int(X.sum())).astype(np.int32)
PHI = np.random.default_rng(0).dirichlet(np.ones(12), K)
ALPHA, ALPHAS, ETA, ETAS = np.linspace(0.1, 1, K), np.full((25, K), 0.3), np.linspace(0.1, 1, 12), PHI + 0.1
PRIORS = {"doc_topic_prior": unaligned(ALPHA), "topic_word_prior": unaligned(ETAS)}
GIBBS = {"max_iter": 3, "n_draws": 2, "draw_every": 1, "random_state": 0}


def of_replaced(attribute, value):
    """Questions to a fit of which an attribute was replaced."""

    def ask(kind=GibbsLDA):
        lda = kind(K, max_iter=2, random_state=0).fit(X)
        setattr(lda, attribute, unaligned(value))
        lda.transform(X)
        lda.score(X)

    return ask


CALLS = {
    "counts": lambda: GibbsLDA(K, **GIBBS).fit(unaligned(X)).transform(unaligned(X.tocsc())),
    "counts by pairs": lambda: GibbsLDA(K, **GIBBS).fit(unaligned(X.tocoo())).score(unaligned(X.toarray())),
    "priors": lambda: GibbsLDA(K, **PRIORS, **GIBBS).fit(X).transform(X),
    "eta of words": lambda: GibbsLDA(K, topic_word_prior=unaligned(ETA), **GIBBS).fit(X).score(X),
    "state": lambda: GibbsLDA(K, init=unaligned(TOPICS), **GIBBS).fit(X),
    "model": lambda: GibbsLDA(K, init=Fitted(), **GIBBS).fit(X),
    "assignments": lambda: GibbsLDA.from_assignments(X, unaligned(TOPICS), **PRIORS).transform(X),
    "several chains": lambda: GibbsLDA(K, n_chains=2, **PRIORS, **GIBBS).fit(X).doc_topic_std_,
    "components_": of_replaced("components_", PHI),
    "components_ in single precision": of_replaced("components_", PHI.astype(np.float32)),
    "doc_topic_prior_": of_replaced("doc_topic_prior_", ALPHA),
    "CVB0": lambda: CollapsedVariationalLDA(K, **PRIORS, random_state=0).fit(X).partial_fit(unaligned(X)).transform(X),
    "Gibbs-EM": lambda: gibbs_em(X, K, start=(unaligned(ALPHA), None), max_iter=2),
    "CompoundLDA": lambda: CompoundLDA(K, topic_word_prior=unaligned(ETAS), max_iter=2).fit(
        X, collections=unaligned(np.arange(25) % 2)
    ),
    "CovariateLDA": lambda: CovariateLDA(K, topic_word_prior=unaligned(ETAS), max_iter=8).fit(
        X, covariates=unaligned(np.arange(25.0))
    ),
    "LabeledLDA": lambda: (
        LabeledLDA(burn_in=2, n_draws=2, n_chains=2, n_shared=2, fold_in_iter=3, topic_word_prior=unaligned(ETA))
        .fit(X, unaligned(np.eye(3, dtype=np.int64)[np.arange(25) % 3]))
        .predict(X)
    ),
    "held out": lambda: metrics.held_out_log_likelihood((unaligned(PHI), unaligned(ALPHAS)), X, random_state=0),
    "Chib": lambda: chib((unaligned(PHI), unaligned(ALPHA)), X, random_state=0)[0],
    "comparison": lambda: metrics.compare_topic_models(
        (unaligned(PHI), unaligned(ALPHA)), (unaligned(PHI[::-1]), unaligned(ALPHA)), X, random_state=0
    ),
    "ratio-AIS": lambda: ratio_ais(
        (unaligned(PHI), unaligned(ALPHA)), (unaligned(PHI[::-1]), unaligned(ALPHA)), X, random_state=0
    ),
    "held-out curve": lambda: held_out_curve([(unaligned(PHI), unaligned(ALPHA))], X, random_state=0),
    "leave one out": lambda: leave_one_out_score(
        (unaligned(TOPICS), unaligned(ALPHA), unaligned(ETAS)),
        X,
        rows=unaligned(np.arange(3)),
        n_draws=32,
        random_state=0,
    ),
    "evidence": lambda: log_evidence(X, K, **PRIORS, n_temperatures=4, n_chains=2, random_state=0),
    "coherence": lambda: metrics.topic_coherence(unaligned(PHI), unaligned(X), n_words=3),
}


class Fitted:
    components_ = unaligned(PHI)

    def transform(self, X):
        return unaligned(np.random.default_rng(0).dirichlet(np.ones(K), X.shape[0]))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_kernels_get_aligned_arrays(name, watched):
    """As field views of packed structured arrays are not."""
    CALLS[name]()
    assert watched or name == "coherence"


def test_they_would_notice(watched):
    with pytest.raises(AssertionError, match=r"_tokens\.count_documents"):
        _tokens.count_documents(unaligned(np.array([0, 2])), TOPICS[:2], np.zeros((1, K)))
