"""The evidence of a number of topics, as a function of counts."""

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.evidence.annealing import METHODS, UNBIASED, run_pilots
from sklda._inference.evidence.combining import combine
from sklda._inference.priors import Priors
from sklda._inference.sampling.initialisation import INITS, start_chains
from sklda._inference.warn import warn
from sklda.metrics._checks import check_int

COMPARATOR = "{!r} is known to fail on topic models and is here for comparison; use 'guided_ais'."
# Sweeps of a pilot between its start and its first use.
_SETTLING = 50


def log_evidence(
    X,
    n_components,
    *,
    doc_topic_prior=None,
    topic_word_prior=None,
    method="guided_ais",
    n_temperatures=300,
    n_runs=2,
    n_pilots=8,
    n_inner=50,
    init=None,
    random_state=None,
    n_jobs=None,
):
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
    method : str, default="guided_ais"
        - ``"guided_ais"``: annealed importance sampling along priors that lean towards the mean counts of a pilot, ever
          less, corrected for the names of the topics. Up to 5,000 tokens ``"ais"`` is run beside it in ten times as
          many temperatures, and the larger mean is kept.
        - ``"ais"``: annealing from the prior, eta falling from infinity. For a few thousand tokens.
        - ``"cgs_transition"``: mean of p(z, w) over the probability of the sweep that led to z (Chen & Doss 2018,
          equation 4.9). Unbiased for p(w); its logarithm is 400 nats too low on 60,000 tokens of six topics.
        - ``"chib"`` and ``"harmonic_mean_z"``, ``"harmonic_mean_psi"`` (there, section 5.1): for comparison, with a
          warning. None of the three is unbiased: on 60,000 tokens of six topics they are 600 to 13,000 nats too high.
    n_temperatures : int, default=300
        Sweeps of an annealing run.
    n_runs : int, default=2
        Estimates from every pilot.
    n_pilots : int, default=8
        Chains from independent starts, each in a mode of its own perhaps.
    n_inner : int, default=50
        Sweeps behind one estimate, for methods that do not anneal.
    init : {"random", "sequential", "anneal", "prune"}, default=None
        How pilots start, see `GibbsLDA`. None: every other one by pruning and annealed, since either finds modes that
        the other misses; all annealed where topics have priors of their own.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
    n_jobs : int, default=None
        Pilots at a time.

    Returns
    -------
    value : float
        In nats, of the tokens as sequences: without multinomial coefficients.
    std : float
        Its standard error: spread between runs and between pilots, and by how much a mean over few runs probably is
        too low. NaN with one run of one pilot.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts or has no token, a prior has the wrong shape or sign, or an option is out of
        range.

    References
    ----------
    Neal (2001). Annealed importance sampling. Statistics and Computing 11.

    Chen & Doss (2018). Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.metrics import log_evidence
    >>> X = np.array([[2, 1, 0], [0, 1, 2]])
    >>> value, std = log_evidence(X, 2, doc_topic_prior=0.5, topic_word_prior=0.5, n_temperatures=100, random_state=0)
    >>> bool(abs(value + 7.5795) < 4 * std)
    True
    """
    for name, value, least in (
        ("n_components", n_components, 1),
        ("n_temperatures", n_temperatures, 2),
        ("n_runs", n_runs, 1),
        ("n_pilots", n_pilots, 1),
        ("n_inner", n_inner, 2),
    ):
        check_int(value, name, least)
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    if init is not None and init not in INITS:
        raise ValueError(f"init must be one of {INITS} or None, got {init!r}.")
    corpus = Corpus.from_counts(X)
    if corpus.n_tokens == 0:
        raise ValueError(f"X has {corpus.n_documents} documents and no token at all: there is no evidence.")
    default = 1.0 / n_components
    priors = Priors.make(
        default if doc_topic_prior is None else doc_topic_prior,
        default if topic_word_prior is None else topic_word_prior,
        n_components,
        corpus.n_features,
        corpus.n_documents,
    )
    if method not in UNBIASED:
        warn(COMPARATOR.format(method))
    seed = random.seed_sequence(random_state)
    kinds = (init,) if init else ("prune", "anneal") if priors.exchangeable else ("anneal",)
    inits = [kinds[p % len(kinds)] for p in range(n_pilots)]
    seeds = [random.child(seed, 0, p) for p in range(n_pilots)]
    chains = start_chains(corpus, priors, seeds, inits, n_jobs)
    for chain in chains:
        for _ in range(_SETTLING):
            chain.sweep()
    ((log_weights, _, left_out, _),) = run_pilots(
        corpus,
        [(priors, [chain.snapshot() for chain in chains], random.child(seed, 1))],
        method=method,
        temperatures=[n_temperatures] * n_runs,
        n_inner=n_inner,
        n_jobs=n_jobs,
    )
    value, std, shortfall = combine(log_weights)
    return value, float((std**2 + shortfall**2 + left_out**2) ** 0.5)
