"""The priors by expectation maximisation, which the paper compares with the maximum of m(h)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.gibbs_em import MStep
from sklda._input.types import Counts, Seed
from sklda._models.empirical_bayes.chain_pool import ChainPool, learning, learnt
from sklda._models.empirical_bayes.prior_steps import trace_of, with_step
from sklda._models.empirical_bayes.settings import WIDEST, Settings
from sklda._sampling.run_chains import in_rows
from sklda.papers.empirical_bayes._settings import (
    SWEEPS_OF_EM,
    checked_lengths,
    checked_region,
    read_problem,
    topics_at,
)
from sklda.papers.empirical_bayes._variational_em import ascend


def gibbs_em(
    X: Counts,
    n_components: int,
    *,
    max_iter: int | None = None,
    region: ArrayLike | None = None,
    start: tuple[ArrayLike | None, float | None] = (None, None),
    n_chains: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """The priors by Gibbs-EM: Newton steps on the mean log joint of the last draws of a chain.

    It gives no m(h), and no theory ensures that it finds the maximum. An M-step has the last 20 draws, and the last one
    those of the second half.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    n_components : int
        Number of topics, K.
    max_iter : int, default=None
        Number of sweeps. None: 2e8 divided by the number of tokens, between 30 and 1000.
    region : ((float, float), (float, float)), default=None
        ((alpha_low, alpha_high), (eta_low, eta_high)): the bounds of the priors. None: between 1e-5 and 1e4.
    start : (float or array-like of shape (n_components,), float), default=(None, None)
        The first alpha and eta. None: ``1 / n_components``. With an array, an alpha is learnt for every topic. The
        paper warns that a corpus contains too little information about so many priors.
    n_chains : int, default=None
        Independent chains; the priors are geometric means over chains. None: 4.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Chains that run at the same time. Results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``doc_topic_prior``: alpha, with a value for every topic if `start` has one.
        - ``topic_word_prior``: eta.
        - ``prior_trace`` (n_chains, n_sweeps, 2): alpha, or its mean over topics, and eta in every sweep.
        - ``model``: a `sklda.GibbsLDA` at these priors, by the last draw of one chain.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts, or an argument is out of range.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.empirical_bayes import gibbs_em
    >>> X = make_lda_corpus(60, 40, 3, random_state=0).data
    >>> found = gibbs_em(X, 3, max_iter=40, random_state=0)
    >>> bool(0 < found.doc_topic_prior < 10), found.prior_trace.shape
    (True, (4, 40, 2))
    """
    alpha, eta = start
    per_topic = alpha is not None and np.ndim(alpha) > 0
    _check_numbers(None if per_topic else alpha, eta)
    corpus, priors = read_problem(X, n_components, alpha, eta)
    pool = _first_chains(corpus, priors, None, max_iter, region, n_chains, random_state, n_jobs)
    n_sweeps = pool.settings.max_iter
    m_step = MStep(pool.settings.region, per_topic)
    options = {"every": 1, "n_draws": min(20, n_sweeps), "n_last": n_sweeps // 2}
    pool.chains = [learning(chain, n_sweeps, m_step, **options) for chain in pool.chains]
    pool.sweep(n_sweeps)
    found = [learnt(chain) for chain in pool.chains]
    # Topics have no order, so each chain keeps the alphas of its own topics.
    return _result(X, pool, found if per_topic else [np.mean(found, axis=0)] * len(found))


def variational_em(
    X: Counts,
    n_components: int,
    *,
    n_tuning: int | None = None,
    max_iter: int | None = None,
    region: ArrayLike | None = None,
    start: tuple[float | None, float | None] = (None, None),
    n_chains: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """The priors by variational EM: ascent on a lower bound of m(h), with independent posteriors of theta, phi and z.

    It gives no m(h), and no theory ensures that it finds the maximum.

    Parameters
    ----------
    X, n_components, region, random_state, n_jobs
        Those of `gibbs_em`.
    n_tuning : int, default=None
        Sweeps of each chain before the ascent. None: 67,000 divided by the square root of the number of tokens, between
        40 and 200.
    max_iter : int, default=None
        Largest number of M-steps. None: 2e8 divided by the number of tokens, between 30 and 1000.
    start : (float, float), default=(None, None)
        The first alpha and eta. None: ``1 / n_components``.
    n_chains : int, default=None
        Independent ascents; the priors are those of the highest bound. None: 4.

    Returns
    -------
    sklearn.utils.Bunch
        - ``doc_topic_prior``, ``topic_word_prior``: alpha and eta.
        - ``bound`` (n_chains,): the lower bounds of log m(h) that the ascents reach, in nats.
        - ``model``: a `sklda.GibbsLDA` at these priors, by the last draw of one chain.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts, or an argument is out of range.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.empirical_bayes import variational_em
    >>> X = make_lda_corpus(60, 40, 3, random_state=0).data
    >>> found = variational_em(X, 3, max_iter=40, random_state=0)
    >>> bool(0 < found.doc_topic_prior < 10), found.bound.shape
    (True, (4,))
    """
    _check_numbers(*start)
    corpus, priors = read_problem(X, n_components, *start)
    pool = _first_chains(corpus, priors, n_tuning, max_iter, region, n_chains, random_state, n_jobs)
    pool.chains = [with_step(chain) for chain in pool.chains]
    pool.sweep(pool.settings.n_last)
    tasks = [(chain, pool.settings.region, pool.settings.max_iter) for chain in pool.chains]
    fits = pool.run.parallel(_ascend, tasks, n_jobs)
    _, log_h = max(fits, key=lambda fit: fit[0])
    return Bunch(**topics_at(X, pool, [log_h] * len(fits)), bound=np.array([bound for bound, _ in fits]))


def _check_numbers(*priors):
    if any(np.ndim(prior) > 0 for prior in priors):
        raise ValueError("start must have one alpha and one eta: the search is over symmetric priors.")


def _first_chains(corpus, priors, n_tuning, max_iter, region, n_chains, random_state, n_jobs):
    """Chains with random topics."""
    region = checked_region(region)
    n_tuning, max_iter, n_chains = checked_lengths(SWEEPS_OF_EM, corpus.n_tokens, n_tuning, max_iter, n_chains)
    settings = Settings(n_tuning, max_iter, region=WIDEST if region is None else region)
    seed = random.child(random.seed_sequence(random_state), 0)
    pool = ChainPool(corpus, priors, settings, seed, n_chains=n_chains, n_jobs=n_jobs)
    pool.initialise(pool.seed, 3)
    return pool


def _result(X, pool, log_h):
    trace = in_rows([np.reshape(trace_of(chain).path, (-1, 2)) for chain in pool.chains])
    return Bunch(**topics_at(X, pool, log_h), prior_trace=trace)


def _ascend(chain, bounds, n_iter, stop):
    """The bound and log h. The proportions of all ascents would be in memory together."""
    found = ascend(chain, bounds, n_iter=n_iter, stop=stop)
    return found.bound[-1], found.log_h()
