"""Initialisation of chains: what `init` means.

The posterior of z has modes that sweeps do not leave, so the result depends on it. ``"search"`` is in `_mode_search`.
"""

from math import ceil

import numpy as np

from sklda._core import random
from sklda._sampling.annealed_start import NOT_ANNEALED, Annealing
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.merge_gains import merge_gains
from sklda._sampling.point_estimates import check_assignments
from sklda._sampling.run_chains import NO_RUN
from sklda._sampling.seeded_state import SeedWords

INITS = ("random", "sequential", "anneal", "prune")

# "prune": the initial number of topics as a multiple of K, the number of sweeps before the first merge, and the number
# of sweeps after each merge. Of a given number of sweeps, this share is before the first merge.
_PRUNE_FACTOR, _PRUNE_FIRST, _PRUNE_BETWEEN = 2.0, 60, 15
# Weights of topics in a block of tokens; `stop` is called between blocks.
_BLOCK_WEIGHTS = 2**22


def check_start(init, seed_words):
    """A ValueError if `init` is another first state than that of `seed_words`, which may be empty."""
    if seed_words and (not isinstance(init, str) or init not in ("anneal", "random")):
        shown = f"init={init!r}" if isinstance(init, str) else "init, an array or a model,"
        raise ValueError(
            f"{shown} is another first state than that of seed_words, which put their tokens into their topics: "
            "leave init out, or seed_words."
        )


def annealing_of(init, seed_words, n_sweeps, burn_in):
    """The annealed sweeps of a fit with this `init`, in which seeds would be lost to other topics."""
    is_annealed = seed_words is None and isinstance(init, str) and init == "anneal"
    return Annealing.within(n_sweeps, burn_in) if is_annealed else NOT_ANNEALED


def start_of(init, seed_words, X, corpus, n_components):
    """The start of the chains of a fit, as `initialise_chains` takes it; a fitted model transforms X."""
    if isinstance(init, str):
        found = "random" if init == "anneal" else init
        return found if seed_words is None else seed_words
    # A Series of pandas has a method of this name.
    if not hasattr(init, "transform") or hasattr(init, "__array__"):
        return check_assignments(init, corpus, n_components, "init")[0]
    return weights_of_model(init, X, corpus, n_components)


def initialise_chains(corpus, priors, seeds, init, n_jobs=None, kind=GibbsChain, run=NO_RUN):
    """Initialise chains with the same target.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        ``"prune"`` needs topics with equal priors.
    seeds : list of numpy.random.SeedSequence
        One for each chain.
    init : {"random", "sequential", "prune"}, SeedWords, ndarray or (ndarray, ndarray)
        As in `initialise_chain`.
    n_jobs : int, default=None
        Number of chains at a time, as in joblib.
    kind : type, default=GibbsChain
        The class of the chains.
    run : Run, optional
        The work is a stage of it.

    Returns
    -------
    list of `kind`
        Their ``n_sweeps`` is 0.
    """
    if isinstance(init, str) and init == "prune":
        priors.check_exchangeable("init='prune' merges topics")
    tasks = [(init, corpus, priors, seed, kind) for seed in seeds]
    return run.parallel(initialise_chain, tasks, n_jobs, always_in_threads=False)


def initialise_chain(init, corpus, priors, seed, kind, stop):
    """A chain before its first sweep.

    Parameters
    ----------
    init : {"random", "sequential", "prune"}, SeedWords, ndarray or (ndarray, ndarray)
        ``"random"``: the topic of every token is uniform; if each topic has a separate eta, it is proportional to the
        prior mean of phi_kv. ``"sequential"``: every token is drawn from its conditional given the tokens before it,
        with documents in random order (Griffiths & Steyvers 2004, who call it on-line). ``"prune"``: 60 sweeps with
        twice as many topics; then, until there are K topics, the two topics whose union has the highest log joint are
        merged, with 15 sweeps after each merge. An array of shape (n_tokens,) has the topics. A pair (theta, phi) has
        the weights of topics in documents and of words in topics; the topic of a token is drawn from their product.
        `SeedWords`: see its method `first_topics`.
    corpus : Corpus
    priors : Priors
        ``"prune"`` needs topics with equal priors.
    seed : numpy.random.SeedSequence
    kind : type
        The class of the chain. The sweeps of the initialisation are always those of the collapsed sampler.
    stop : callable

    Returns
    -------
    kind
    """
    if isinstance(init, SeedWords):
        key = random.key(random.child(seed, 0))
        topics = init.first_topics(corpus.words, corpus.offsets, 0, priors, key)
        return kind(corpus, priors, ChainState(topics, random.stream(random.child(seed, 1))))
    if not isinstance(init, str):
        rng = np.random.default_rng(random.child(seed, 0))
        topics = init if isinstance(init, np.ndarray) else _drawn_topics(corpus, *init, rng, stop)
        return kind(corpus, priors, ChainState(topics, random.stream(random.child(seed, 1))))
    if init == "random":
        return kind.initialise_randomly(corpus, priors, seed)
    if init == "sequential":
        return kind.initialise_sequentially(corpus, priors, seed, stop)
    chain = prune(corpus, priors, seed, stop)
    return kind(corpus, priors, ChainState(chain.topics, chain.stream))


def prune(corpus, priors, seed, stop):
    """A chain that begins with twice as many topics and merges pairs of them.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        The topics must be exchangeable.
    seed : numpy.random.SeedSequence
    stop : callable

    Returns
    -------
    GibbsChain
    """
    K = priors.n_components
    n_merges = ceil(_PRUNE_FACTOR * K) - K
    many = priors.resized(K + n_merges)
    chain = chain_class("collapsed", corpus, many).initialise_randomly(corpus, many, seed)
    for _ in range(_PRUNE_FIRST):
        chain.sweep(stop)
    for i in range(n_merges):
        chain = merge(chain, priors.resized(K + n_merges - i - 1), _PRUNE_BETWEEN, stop)
    return chain


def _drawn_topics(corpus, theta, phi, rng, stop):
    """Topics drawn from theta_dk phi_kv; uniform for a word that no topic has."""
    topics, documents = np.empty(corpus.n_tokens, np.int32), corpus.token_documents
    step = max(_BLOCK_WEIGHTS // len(phi), 1)
    for first in range(0, corpus.n_tokens, step):
        stop()
        own = slice(first, first + step)
        running = np.cumsum(theta[documents[own]] * phi.T[corpus.words[own]], axis=1)
        running[~(running[:, -1] > 0)] = np.arange(1, len(phi) + 1)
        u = rng.random((len(running), 1)) * running[:, -1:]
        topics[own] = np.minimum((u >= running).sum(axis=1), len(phi) - 1)
    return topics


def weights_of_model(model, X, corpus, n_components):
    """The weights with which a fitted model initialises chains.

    Parameters
    ----------
    model : object
        With ``components_`` (n_components, n_features) and ``transform``.
    X : array-like or sparse matrix
        The counts of `corpus`.
    corpus : Corpus
    n_components : int

    Returns
    -------
    theta : ndarray of shape (n_documents, n_components)
    phi : ndarray of shape (n_components, n_features)

    Raises
    ------
    ValueError, TypeError
        If the model is not fitted, or its weights have another shape, are negative or are not finite.
    """
    if not hasattr(model, "components_") or isinstance(model, type):
        raise ValueError(
            f"init={model!r} must be a fitted model with components_. clone makes models unfitted: with a search or "
            "cross-validation, give init=sklearn.frozen.FrozenEstimator(model)."
        )
    phi = _weights(model.components_, "components_", (n_components, corpus.n_features), "n_components and X")
    dtype = np.asarray(model.components_).dtype
    if hasattr(X, "astype") and dtype.kind == "f":
        # Some models transform only the type of number that they were fitted with.
        X = X.astype(dtype)
    theta = _weights(model.transform(X), "transform(X)", (corpus.n_documents, n_components), "X and n_components")
    return theta, phi / np.maximum(phi.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _weights(values, name, shape, reason):
    """Weights of a model as an array, after checks."""
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} of init must hold numbers, got {values!r}.") from error
    if values.shape != shape:
        raise ValueError(f"{name} of init must have shape {shape}, as {reason}; it has shape {values.shape}.")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"{name} of init must be finite and not negative, as in topic models.")
    return values


def merge(chain, priors, n_sweeps, stop):
    """Merge the two topics whose union has the highest log joint.

    Parameters
    ----------
    chain : GibbsChain
        Its topics must have equal priors.
    priors : Priors
        The priors for one topic less.
    n_sweeps : int
        Number of sweeps after the merge.
    stop : callable

    Returns
    -------
    GibbsChain
        With one topic less than `chain`.
    """
    K = chain.priors.n_components
    gains = merge_gains(chain.corpus, chain.topics, chain.priors, stop)
    gains[np.tri(K, dtype=bool)] = -np.inf
    kept, gone = divmod(int(np.argmax(gains)), K)
    label = np.arange(K, dtype=np.int32)
    label[gone] = kept
    label[K - 1] = kept if gone == K - 1 else gone
    state = ChainState(label[chain.topics], chain.stream, chain.n_sweeps)
    chain = chain_class("collapsed", chain.corpus, priors)(chain.corpus, priors, state)
    for _ in range(n_sweeps):
        chain.sweep(stop)
    return chain
