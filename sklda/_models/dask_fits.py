"""Fits of Dask arrays whose blocks stay on the workers of a cluster."""

import sys
from numbers import Integral

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from sklda._models.results import RunResults, most_draws, share_attributes
from sklda._sampling.annealed_start import NOT_ANNEALED, Annealing


def client_of_cluster():
    """The present client of a Dask cluster, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        client = distributed.get_client()
    except ValueError:
        return None
    return None if client.asynchronous else client


def with_features(estimator, corpus):
    """The corpus, whose number of features is stored in the estimator. A Dask array has no names of columns."""
    validate_data(estimator, csr_array((1, corpus.n_features)), accept_sparse=True, reset=True)
    return corpus


def annealing_on_cluster(estimator):
    """The annealed sweeps of the chain of a `GibbsLDA`."""
    return Annealing.within(estimator.max_iter, estimator.burn_in) if estimator.init == "anneal" else NOT_ANNEALED


def check_possible(estimator):
    """Raise a ValueError if a parameter cannot be used on a cluster."""
    if estimator.known_topics is not None:
        raise ValueError(
            "known_topics are not possible if X is a Dask array on a cluster. If X fits into the memory of this "
            "machine, give it as a scipy sparse matrix."
        )
    possible = {"sampler": ("collapsed", "partially_collapsed"), "init": ("anneal", "random"), "n_chains": (1,)}
    for name, values in possible.items():
        value = getattr(estimator, name)
        # `init` may be an array, and `n_chains` a number of NumPy.
        if not isinstance(value, (str, Integral)) or value not in values:
            raise ValueError(
                f"{name}={value!r} is not possible if X is a Dask array on a cluster; it must be "
                f"{' or '.join(map(repr, values))}. If X fits into the memory of this machine, give it as a scipy "
                "sparse matrix."
            )


class ClusterResults(RunResults):
    """The results of one chain on a cluster, and their means. The fitted estimator does not keep them."""

    def __init__(self, chains):
        (self.chain,) = chains
        super().__init__(chains, self.chain.n_burn_in)
        self.priors = [self.chain.priors]

    def estimate(self, method, n_jobs):
        most = most_draws(method, self.chain.n_sweeps, self.chain.priors.n_components)
        self.components, self.shares = self.chain.means(method, most)

    def attributes(self):
        corpus, columns = self.chain.corpus, (len(self.components),)
        return {
            **super().attributes(),
            **self.records[0],
            **share_attributes(self.shares, [self.shares]),
            "components_": self.components,
            "n_draws_": len(self.shares),
            "sampler_": self.chain.sampler,
            "doc_topic_": on_workers(corpus, "doc_topic", columns, np.float32),
            "doc_topic_std_": on_workers(corpus, "doc_topic_std", columns, np.float32),
            "topic_assignments_": on_workers(corpus, "topics", (), np.int32),
        }


def on_workers(corpus, name, columns, dtype):
    """A Dask array whose blocks are on the workers, where their documents are."""
    import dask.array as da

    sizes = corpus.block_documents if columns else corpus.block_tokens
    blocks = zip(corpus.results(name), sizes, strict=True)
    return da.concatenate([da.from_delayed(future, (int(size), *columns), dtype) for future, size in blocks])
