"""Annealing runs in both directions, which Bennett's acceptance ratio combines (`held_out.averages.bennett`)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklda._core import random
from sklda._core.priors import Priors
from sklda._likelihood.evidence.annealing import (
    Guide,
    guided_run,
    prior_run,
    reverse_guided_run,
    reverse_prior_run,
)
from sklda._likelihood.held_out.averages import bennett
from sklda._sampling.chain import ChainState


@dataclass(frozen=True, eq=False)
class Runs:
    """The annealing runs of one chain in both directions."""

    forward: np.ndarray  # log weights (n_runs,); exp(forward) is an unbiased estimate of p(w)
    backward: np.ndarray  # log weights (n_runs,); exp(-backward) is one of 1 / p(w)
    end: ChainState  # of the last forward run
    priors: Priors  # those of the runs
    label_error: float = 0.0  # the largest error of a sum over topic labels, in nats

    @cached_property
    def log_evidence(self):
        """log p(w) by both directions. A forward run is seldom too high, so it is not below these."""
        return max(float(bennett(self.forward, self.backward)), self.forward.mean())


def run_both_ways(corpus, priors, chain, n_sweeps, n_runs, seed, stop):
    """Annealing runs of `n_sweeps` sweeps in both directions; `Runs`.

    By a guide: it has the counts of `chain` over as many sweeps as a run has. Backward runs begin at the state of this
    chain. A guide of fewer sweeps is narrower than the part of the posterior that a run can reach. With 20 sweeps on
    500 tokens, backward runs were below forward ones, and both 1.5 nats too low. From the prior of z, as in
    `prior_run`, if `chain` is None: a backward run begins where the forward run has ended.
    """
    forward = []
    backward = []
    label_error = 0.0
    if chain is not None:
        guide = Guide.from_chain(chain, n_sweeps, stop)
        state = chain.state()
    for r in range(n_runs):
        forth = random.child(seed, 1, r)
        back = random.child(seed, 2, r)
        if chain is None:
            run = prior_run(corpus, priors, n_sweeps, forth, stop)
            backward.append(reverse_prior_run(corpus, priors, n_sweeps, run.state, back, stop))
        else:
            run = guided_run(corpus, guide, n_sweeps, forth, stop)
            backward.append(reverse_guided_run(corpus, guide, n_sweeps, state, back, stop))
        forward.append(run.log_weight)
        label_error = max(label_error, run.label_error)
    return Runs(
        forward=np.array(forward),
        backward=np.array(backward),
        end=run.state,
        priors=priors,
        label_error=label_error,
    )


def sweeps_both_ways(n_sweeps, n_runs):
    """Sweeps over the corpus in `run_both_ways`, with those of the guide."""
    return n_runs * (2 * n_sweeps + 1) + n_sweeps
