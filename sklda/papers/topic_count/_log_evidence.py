"""The evidence of a number of topics at given priors: by annealing, and from the sweeps of chains."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import in_parallel
from sklda._core.priors import Priors
from sklda._input.arguments import check_choice, check_int
from sklda._input.types import Counts, Seed
from sklda._likelihood.evidence import estimates
from sklda._likelihood.evidence.estimates import kinds_of_starts, settled_chain
from sklda._likelihood.held_out.averages import log_mean, log_mean_exp
from sklda._sampling.initialisation import INITS
from sklda.papers.topic_count._forward_runs import BY_SWEEPS, ForwardSettings, check_memory_of_chains, forward_runs


def log_evidence(
    X: Counts,
    n_components: int,
    *,
    doc_topic_prior: ArrayLike | None = None,
    topic_word_prior: ArrayLike | None = None,
    method: Literal["guided_ais", "ais"] = "guided_ais",
    n_temperatures: int = 300,
    n_runs: int = 2,
    n_chains: int = 8,
    init: Literal["random", "sequential", "anneal", "prune"] | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> tuple[float, float]:
    """Estimate log p(w | K, alpha, eta) of a corpus: the marginal likelihood of a topic model.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    n_components : int
        Number of topics, K.
    doc_topic_prior : float or array-like of shape (n_components,) or (n_documents, n_components), default=None
        alpha, per topic; None: ``1 / n_components``.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, per word; None: ``1 / n_components``.
    method : {"guided_ais", "ais"}, default="guided_ais"
        - ``"guided_ais"``: annealed importance sampling. The path adds multiples of the mean counts of a chain to the
          priors, from large multiples to zero, and back from this chain. The estimate is corrected for the numbering
          of the topics.
        - ``"ais"``: annealing from the prior, with an eta that falls from infinity, and back. For a few thousand
          tokens.
    n_temperatures : int, default=300
        Sweeps of an annealing run.
    n_runs : int, default=2
        Runs of every chain, in each direction.
    n_chains : int, default=8
        Chains from independent initialisations, which may end in different modes.
    init : {"random", "sequential", "anneal", "prune"}, default=None
        The initialisation of the chains. ``"random"``: every token in a random topic. ``"sequential"``: every token
        drawn from its full conditional given those before it. ``"anneal"``: sweeps while both priors fall from ten
        times their values. ``"prune"``: twice as many topics, merged down to `n_components`. None: pruned and annealed
        chains in turn, because each kind finds modes that the other misses; annealed ones only, if topics have
        different priors. Method ``"ais"`` has its own first states.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
    n_jobs : int, default=None
        Chains that run at the same time. Results do not depend on it.

    Returns
    -------
    value : float
        In nats, of the tokens as sequences: without multinomial coefficients. Bennett's acceptance ratio combines
        annealing runs in both directions, whose errors have opposite signs.
    std : float
        Its standard error, from the distance between the two directions and the spread between chains. With one chain
        it is infinite, because nothing tells how much modes differ.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts or has no token, a prior has the wrong shape or sign, or an option is out of
        range.

    References
    ----------
    Neal (2001). Annealed importance sampling. Statistics and Computing 11.

    Bennett (1976). Efficient estimation of free energy differences from Monte Carlo data. Journal of Computational
    Physics 22.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.papers.topic_count import log_evidence
    >>> X = np.array([[2, 1, 0], [0, 1, 2]])
    >>> value, std = log_evidence(X, 2, doc_topic_prior=0.5, topic_word_prior=0.5, n_temperatures=100, random_state=0)
    >>> bool(abs(value + 7.5795) < 4 * std)
    True
    """
    for name, value, least in (
        ("n_components", n_components, 1),
        ("n_temperatures", n_temperatures, 2),
        ("n_runs", n_runs, 1),
        ("n_chains", n_chains, 1),
    ):
        check_int(value, name, least)
    check_choice(method, "method", estimates.METHODS)
    corpus, priors = _read(X, n_components, doc_topic_prior, topic_word_prior, init)
    return estimates.annealed_evidence(
        corpus,
        priors,
        estimates.EvidenceSettings(method, n_temperatures, n_runs),
        n_chains=n_chains,
        init=init,
        seed=random.seed_sequence(random_state),
        n_jobs=n_jobs,
    )


def log_evidence_by_sweeps(
    X: Counts,
    n_components: int,
    *,
    method: Literal["cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi"] = "cgs_transition",
    doc_topic_prior: ArrayLike | None = None,
    topic_word_prior: ArrayLike | None = None,
    n_runs: int = 2,
    n_chains: int = 8,
    n_inner: int = 50,
    init: Literal["random", "sequential", "anneal", "prune"] | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> tuple[float, float]:
    """Estimate log p(w | T, alpha, eta) of a corpus from the sweeps of chains, as the paper and others do.

    `log_evidence` anneals, and has an error of a few nats where these are wrong by hundreds.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    n_components : int
        Number of topics, T.
    method : {"cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi"}, default="cgs_transition"
        - ``"cgs_transition"``: mean of p(z, w) divided by the probability of the sweep that led to z (equation 4.9).
          Unbiased for p(w); its logarithm is 400 nats too low on 60,000 tokens of six topics.
        - ``"chib"``, ``"harmonic_mean_z"`` and ``"harmonic_mean_psi"`` (section 5.1) are not unbiased: on 60,000 tokens
          of six topics they are 600 to 13,000 nats too high.
    doc_topic_prior, topic_word_prior, n_chains, init, random_state, n_jobs
        Those of `log_evidence`.
    n_runs : int, default=2
        Estimates from every chain.
    n_inner : int, default=50
        Sweeps of one estimate.

    Returns
    -------
    value : float
        The log of the mean of all estimates of p(w), in nats, of the tokens as sequences.
    std : float
        Its standard error from the spread between chains. With one chain it is infinite.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts or has no token, a prior has the wrong shape or sign, or an option is out of
        range.

    References
    ----------
    Chen & Doss (2018). Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.papers.topic_count import log_evidence_by_sweeps
    >>> X = np.array([[2, 1, 0], [0, 1, 2]])
    >>> value, std = log_evidence_by_sweeps(X, 2, doc_topic_prior=0.5, topic_word_prior=0.5, random_state=0)
    >>> bool(abs(value + 7.5795) < 4 * std)
    True
    """
    for name, value, least in (
        ("n_components", n_components, 1),
        ("n_runs", n_runs, 1),
        ("n_chains", n_chains, 1),
        ("n_inner", n_inner, 2),
    ):
        check_int(value, name, least)
    check_choice(method, "method", BY_SWEEPS)
    corpus, priors = _read(X, n_components, doc_topic_prior, topic_word_prior, init)
    kinds = kinds_of_starts(init, priors)
    # Before any of them runs.
    check_memory_of_chains(corpus, n_components, method)
    settings = ForwardSettings(method, 0, n_runs, n_inner)
    seed = random.seed_sequence(random_state)
    tasks = [(corpus, priors, settings, kinds[c % len(kinds)], random.child(seed, c)) for c in range(n_chains)]
    found, std = log_mean_exp(np.array(in_parallel(_estimate_of_new_chain, tasks, n_jobs)))
    return float(found), float(std) if n_chains > 1 else np.inf


def _read(X, n_components, doc_topic_prior, topic_word_prior, init):
    """The corpus and its priors, after checks of them and of `init`."""
    if init is not None:
        check_choice(init, "init", INITS)
    corpus = Corpus.from_counts(X)
    if corpus.n_tokens == 0:
        raise ValueError(f"X has {corpus.n_documents} documents and no token at all: it has no evidence.")
    priors = Priors.make(doc_topic_prior, topic_word_prior, n_components, corpus.n_features, corpus.n_documents)
    return corpus, priors


def _estimate_of_new_chain(corpus, priors, settings, init, seed, stop):
    state = settled_chain(corpus, priors, init, random.child(seed, 0), stop).state()
    log_weights, _ = forward_runs(corpus, priors, state, settings, random.child(seed, 1), stop)
    return log_mean(log_weights)
