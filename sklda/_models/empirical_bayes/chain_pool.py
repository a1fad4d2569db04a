"""Chains on one corpus that are swept together, stage by stage."""

from dataclasses import replace
from typing import Any

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.gibbs_em import MStep
from sklda._core.priors import Priors
from sklda._models.empirical_bayes.prior_steps import trace_of, with_step
from sklda._models.empirical_bayes.settings import Settings
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.prior_learning import Learner
from sklda._sampling.run_chains import NO_RUN, Run, Schedule

# Sweeps of Gibbs-EM at the start.
LEARNING = 100
# Sweeps of Gibbs-EM for an M-step.
EM_SWEEPS = 5


class ChainPool:
    """Chains on one corpus, their settings, and which of them have ended.

    `priors` are the first h, and `chains` are empty until the caller sets them or calls `initialise`. All sweeps made
    by `sweep` are stages of the `run`. The draws do not depend on `n_jobs`, the chains that run at the same time.
    """

    def __init__(
        self,
        corpus: Corpus,
        priors: Priors,
        settings: Settings,
        seed: np.random.SeedSequence,
        *,
        n_chains: int,
        n_jobs: int | None = None,
        run: Run = NO_RUN,
    ) -> None:
        self.corpus = corpus
        self.priors = priors
        self.settings = settings
        self.seed = seed
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.run = run
        self.chains: list[Any] = []
        # Chains that a callback has asked to stop. They are not swept again.
        self.ended: set[int] = set()
        # Sweeps that are left of `max_iter`.
        self.left = settings.max_iter

    def initialise(self, seed, *key):
        """Make chains with random topics; chain c has the seed ``child(seed, *key, c)``."""
        seeds = [random.child(seed, *key, c) for c in range(self.n_chains)]
        kind = chain_class("collapsed", self.corpus, self.priors)
        self.chains = [kind.initialise_randomly(self.corpus, self.priors, each) for each in seeds]

    def learn(self, n_sweeps):
        """Learn h by Gibbs-EM in every chain: the median of log (alpha, eta) over chains, (2,)."""
        self.chains = [learning(chain, n_sweeps) for chain in self.chains]
        self.sweep(n_sweeps)
        return np.median([learnt(chain) for chain in self.chains], axis=0)

    def finish(self, log_h, n_sweeps):
        """Make the last sweeps, with fixed priors: log (alpha, eta) of every chain, (n_chains, n_priors).

        The draws of the last half are kept. Afterwards each chain has a trace and at least one draw.
        """
        traces = [trace_of(chain) for chain in self.chains]
        self.chains = [self.unrecorded(chain) for chain in self.chains]
        for chain, own, trace in zip(self.chains, log_h, traces, strict=True):
            MStep().set(chain, own)
            chain.steps, chain.n_burn_in = [trace], n_sweeps // 2
        every = max(n_sweeps // 2 // self.settings.n_draws, 1)
        self.sweep(n_sweeps, Schedule(n_draws=self.settings.n_draws, draw_every=every))
        self.chains = [with_a_record(chain) for chain in self.chains]

    def unrecorded(self, chain, topics=None):
        """A chain at the present topics, or at others, without steps and records of its sweeps."""
        kind = chain_class("collapsed", self.corpus, self.priors)
        return kind(self.corpus, chain.priors, ChainState(chain.topics if topics is None else topics, chain.stream))

    def sweep(self, n_sweeps, schedule=None):
        """Make `n_sweeps` sweeps with every chain that has not ended."""
        self.left -= n_sweeps
        numbers = [c for c in range(len(self.chains)) if c not in self.ended]
        chains = [self.chains[c] for c in numbers]
        before = [chain.n_sweeps for chain in chains]
        swept = self.run.sweep(chains, n_sweeps, schedule=schedule, n_jobs=self.n_jobs, numbers=numbers)
        for c, chain, length in zip(numbers, swept, before, strict=True):
            self.chains[c] = chain
            if c in self.run.progress.ended or chain.n_sweeps - length < n_sweeps:
                self.ended.add(c)

    @property
    def steps(self):
        """What moves h of each chain."""
        return [chain.steps[0] for chain in self.chains]

    @property
    def all_ended(self):
        return len(self.ended) >= len(self.chains)


def with_a_record(chain):
    """The chain if it has kept draws; otherwise one at its present state, with a trace and a draw."""
    if chain.draws and 0 < len(chain.label_free) == len(chain.trace):
        return chain
    chain = type(chain)(
        chain.corpus, chain.priors, replace(chain.state(), trace=(), label_free=(), draws=(), parameters=())
    )
    with_step(chain)
    chain.record()
    chain.keep_draw(1)
    return chain


def learning(chain, n_sweeps, m_step=None, every=EM_SWEEPS, **options):
    """The chain with a `Learner` for `n_sweeps` sweeps, by default one with an M-step after every fifth sweep."""
    chain.n_burn_in = chain.n_sweeps + n_sweeps
    return with_step(chain, Learner(MStep() if m_step is None else m_step, every, first_sweep=0, **options))


def learnt(chain):
    """log (alpha, eta) that a chain has learnt."""
    return chain.steps[0].log_h
