"""Initialisation of chains. The posterior of z has modes that sweeps do not leave, so the result depends on it."""

from math import ceil

import numpy as np

from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import padded
from sklda._core.rising import log_gamma_ratio
from sklda._kernels import _merges, _tokens
from sklda._sampling.annealed_start import anneal
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.count_rows import CountRows
from sklda._sampling.seeded_state import SeedWords

INITS = ("random", "sequential", "anneal", "prune")

# "prune": the initial number of topics as a multiple of K, the number of sweeps before the first merge, and the number
# of sweeps after each merge. Of a given number of sweeps, this share is before the first merge.
_PRUNE_FACTOR, _PRUNE_FIRST, _PRUNE_BETWEEN = 2.0, 60, 15
# Pairs of topics, summed over rows, in a block of rows; `stop` is called between blocks. A block takes about a tenth of
# a second.
_BLOCK_PAIRS = 2**22


def check_exchangeable(priors, reason):
    """Raise a ValueError if topics have different priors; `reason` says why they must not."""
    if not priors.exchangeable:
        raise ValueError(
            f"{reason}, so they must share their priors: "
            "give doc_topic_prior as one number, topic_word_prior without a row per topic, and no known_topics, or use "
            "init='anneal'."
        )


def initialise_chain(init, corpus, priors, seed, kind, stop):
    """A chain before its first sweep.

    Parameters
    ----------
    init : {"random", "sequential", "anneal", "prune"}, SeedWords, ndarray or (ndarray, ndarray)
        ``"random"``: the topic of every token is uniform; if each topic has a separate eta, it is proportional to the
        prior mean of phi_kv. ``"sequential"``: every token is drawn from its conditional given the tokens before it,
        with documents in random order (Griffiths & Steyvers 2004, who call it on-line). ``"anneal"``: 300 sweeps in
        which both priors decrease from ten times their values, because the posterior has fewer modes at larger priors.
        ``"prune"``: 60 sweeps with twice as many topics; then, until there are K topics, the two topics whose union has
        the highest log joint are merged, with 15 sweeps after each merge. An array of shape (n_tokens,) has the topics.
        A pair (theta, phi) has the weights of topics in documents and of words in topics; the topic of a token is drawn
        from their product. `SeedWords`: see its method `first_topics`.
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
    if init == "anneal":
        chain = anneal(corpus, priors, seed, stop)
    else:
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
    step = max(_BLOCK_PAIRS // len(phi), 1)
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


def merge_gains(corpus, topics, priors, stop=NEVER_STOP):
    """Change of the log joint if topics i < j are merged and all others stay; (K, K), valid above the diagonal.

    Parameters
    ----------
    corpus : Corpus
    topics : ndarray of shape (n_tokens,), int32
    priors : Priors
        Those of the first topic count for all.
    stop : callable, optional
    """
    K = priors.n_components
    gains = np.zeros((K, K))
    of_rows = priors.doc[:, 0]
    alpha = of_rows[priors.row_of] if len(priors.row_of) else np.full(corpus.n_documents, of_rows[0])
    eta = np.ascontiguousarray(np.broadcast_to(priors.topic_word()[0], corpus.n_features), dtype=np.float64)
    scratch, step = (np.empty(K, np.int32), np.empty(K)), max(_BLOCK_PAIRS // K**2, 1)
    # In blocks, because those of all documents can take more memory than the fit.
    for first, last in corpus.blocks(n_documents=step):
        stop()
        offsets, counts = corpus.offsets[first : last + 1], np.zeros((last - first, K))
        _tokens.count_documents(offsets - offsets[0], topics[offsets[0] : offsets[-1]], counts)
        _merges.pair_gains(counts.astype(np.int32), alpha[first:last], gains, *scratch)
    totals, prior_total = np.zeros(K, np.int64), priors.totals[0]
    rows = CountRows.of(corpus, topics, padded(K), totals)
    for first in range(0, corpus.n_features, step):
        stop()
        words = slice(first, first + step)
        _merges.pair_gains(rows.dense(words), eta[words], gains, *scratch)
    # Once for each distinct total: of many topics for few tokens, most are equal.
    distinct, which = np.unique(totals, return_inverse=True)
    alone = log_gamma_ratio(prior_total, distinct)
    together = log_gamma_ratio(prior_total, distinct[:, None] + distinct)
    alone, together = alone[which], together[which[:, None], which]
    return gains + alone[:, None] + alone - together


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
