"""Fits of Dask arrays whose blocks stay on the workers of a cluster."""

import sys
from functools import partial

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from sklda._callbacks import Progress, described
from sklda._chain_results import most_draws
from sklda._inference import random
from sklda._inference.cluster.chain import ClusterChain
from sklda._inference.diagnostics import diagnose, std_of_proportions
from sklda._inference.sampling.annealed_start import NOT_ANNEALED, Annealing
from sklda._inference.sampling.draws import variance_around_mean
from sklda._inference.sampling.run_chains import Schedule, burn_in_of, run_chains, traces_of

# Attributes of other fits that these do not have.
_DROPPED = {
    name: "needs an X in the memory of this machine, as a scipy sparse matrix" for name in ("chains_", "_corpus_")
}


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


def fit_on_cluster(estimator, corpus, data):
    """The fitted attributes of a `GibbsLDA` from one chain on a cluster.

    Raises
    ------
    ValueError
        If a parameter cannot be used on a cluster.
    """
    _check_possible(estimator)
    burn_in_of(estimator.burn_in, estimator.max_iter)
    priors, learning = estimator._prior_settings(corpus)
    annealed = estimator.init == "anneal"
    annealing = Annealing.within(estimator.max_iter, estimator.burn_in) if annealed else NOT_ANNEALED
    seed = random.seed_sequence(estimator.random_state)
    known = {"_fold_in_seed_": random.key(random.child(seed, 1)), "_learning_": None, "_dropped_": _DROPPED}
    fitted = partial(described, known, partial(attributes, estimator))
    progress = Progress(estimator, data, fitted, 1, estimator.max_iter, annealing.n_sweeps)
    kept = estimator.n_draws, estimator.draw_every, estimator.snapshot_every
    schedule = Schedule(*kept, estimator.tol, learning, annealing, estimator.burn_in)
    chains = [ClusterChain(corpus, priors, random.child(seed, 0, 0))]
    chains = run_chains(chains, estimator.max_iter, n_jobs=estimator.n_jobs, listener=progress, schedule=schedule)
    progress.end(chains)
    return fitted(chains)


def _check_possible(estimator):
    possible = {"sampler": ("collapsed", "partially_collapsed"), "init": ("anneal", "random"), "n_chains": (1,)}
    for name, values in possible.items():
        value = getattr(estimator, name)
        if not any(isinstance(value, type(each)) and value == each for each in values):
            raise ValueError(
                f"{name}={value!r} is not possible if X is a Dask array on a cluster; it must be "
                f"{' or '.join(map(repr, values))}. If X fits into the memory of this machine, give it as a scipy "
                "sparse matrix."
            )
    if estimator.warm_start and hasattr(estimator, "components_"):
        raise ValueError(
            "warm_start=True cannot continue a fit if X is a Dask array on a cluster, because the workers do not keep "
            "the chain. Fit with warm_start=False."
        )


def refuse_warm_start(estimator):
    """Refuse a warm start after a fit on a cluster."""
    if "components_" in vars(estimator) and "_chain_states_" not in vars(estimator):
        raise ValueError(
            "warm_start=True cannot continue the previous fit: it was on a Dask cluster, and the workers do not keep "
            "its chain. Fit with warm_start=False to begin again."
        )


def attributes(estimator, chains):
    """Fitted attributes of a chain on a cluster, as those of `ChainResults`."""
    (chain,) = chains
    method = estimator.point_estimate
    components, shares = chain.means(method, most_draws(method, chain.n_sweeps, estimator.n_components))
    traces, columns = traces_of([chain]), (estimator.n_components,)
    n_burn_in = min(chain.n_burn_in, len(chain.trace) - 1)
    found = {
        "components_": components,
        "n_draws_": len(shares),
        **estimator._prior_attributes(chain),
        "log_joint_trace_": traces["log_joint"],
        "traces_": traces,
        "diagnostics_": diagnose(traces, n_burn_in),
        "n_iter_": traces["log_joint"].shape[1],
        "n_burn_in_": n_burn_in,
        "best_chain_": 0,
        "sampler_": chain.sampler,
        "topic_share_": shares.mean(axis=0),
        "topic_share_std_": std_of_proportions(variance_around_mean([shares])),
        "doc_topic_": on_workers(chain.corpus, "doc_topic", columns, np.float32),
        "doc_topic_std_": on_workers(chain.corpus, "doc_topic_std", columns, np.float32),
        "topic_assignments_": on_workers(chain.corpus, "topics", (), np.int32),
    }
    if estimator.snapshot_every is not None:
        found["snapshots_"] = np.array([phi for _, phi in chain.snapshots], np.float32).reshape(-1, *components.shape)
        found["snapshot_sweeps_"] = np.array([sweep for sweep, _ in chain.snapshots], int)
    return found


def on_workers(corpus, name, columns, dtype):
    """A Dask array whose blocks are on the workers, where their documents are."""
    import dask.array as da

    sizes = corpus.block_documents if columns else corpus.block_tokens
    blocks = zip(corpus.results(name), sizes, strict=True)
    return da.concatenate([da.from_delayed(future, (int(size), *columns), dtype) for future, size in blocks])
