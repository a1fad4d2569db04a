"""The priors by Gibbs-EM or variational EM from random initialisations, to compare with m(h) (George & Doss 2018)."""

import numpy as np

from sklda._core.gibbs_em import MStep
from sklda._models.empirical_bayes.chain_pool import ChainPool, learning, learnt
from sklda._models.empirical_bayes.prior_steps import with_step
from sklda.papers.empirical_bayes._variational_em import variational_em


def gibbs_em(pool: ChainPool, per_topic: bool) -> list[np.ndarray]:
    """log h of every chain after `max_iter` sweeps of Gibbs-EM: 20 draws for an M-step, the last half for the last.

    If `per_topic`, every topic has an alpha of its own.
    """
    n_sweeps = pool.settings.max_iter
    m_step = MStep(pool.settings.region, per_topic)
    pool.chains = [
        learning(chain, n_sweeps, m_step, every=1, n_draws=min(20, n_sweeps), n_last=n_sweeps // 2)
        for chain in pool.chains
    ]
    pool.sweep(n_sweeps)
    found = [learnt(chain) for chain in pool.chains]
    # Topics have no order, so each chain keeps the alphas of its own topics.
    return found if per_topic else [np.mean(found, axis=0)] * len(found)


def ascent_of_chains(pool: ChainPool) -> list[np.ndarray]:
    """log h with the largest bound, for every chain, from the counts after `n_last` sweeps."""
    pool.chains = [with_step(chain) for chain in pool.chains]
    pool.sweep(pool.settings.n_last)
    tasks = [(chain, pool.settings.region, pool.settings.max_iter) for chain in pool.chains]
    fits = pool.run.parallel(_ascend, tasks, pool.n_jobs)
    _, log_h = max(fits, key=lambda fit: fit[0])
    return [log_h] * len(pool.chains)


def _ascend(chain, bounds, n_iter, stop):
    """The bound and log h. The proportions of all ascents would be in memory together."""
    found = variational_em(chain, bounds, n_iter=n_iter, stop=stop)
    return found.bound[-1], found.log_h()
