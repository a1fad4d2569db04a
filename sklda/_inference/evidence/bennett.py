"""The log evidence from annealing runs in both directions, by Bennett's acceptance ratio (Bennett 1976)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from sklda._inference import random
from sklda._inference.evidence.annealing import (
    Guide,
    guided_ais,
    prior_ais,
    reverse_ais,
    reverse_prior_ais,
)
from sklda._inference.sampling.annealed_start import anneal
from sklda._inference.sampling.collapsed import ChainState


@dataclass(frozen=True, eq=False)
class Runs:
    """The annealing runs of one chain in both directions."""

    forward: np.ndarray  # log weights (n_runs,); exp(forward) is an unbiased estimate of p(w)
    backward: np.ndarray  # log weights (n_runs,); exp(-backward) is one of 1 / p(w)
    end: ChainState  # of the last forward run
    label_error: float = 0.0  # the largest error of a sum over topic labels, in nats


def bennett(forward, backward):
    """The log evidence L from as many runs in either direction, each (n_runs,).

    The weights W of the two directions have densities with p_F(W) / p_B(W) = exp(L - W). So a weight is a forward one
    with probability 1 / (1 + exp(W - L)), and the most likely L solves sum_F 1 / (1 + exp(L - W)) = sum_B 1 / (1 +
    exp(W - L)). For one run in either direction it is the middle between the two.
    """
    low, high = min(forward.min(), backward.min()), max(forward.max(), backward.max())
    # A long way outside all weights, the difference of the two sums is as small as the differences of weights there.
    if high - low < 1e-9:
        return float(low)
    return brentq(lambda L: expit(forward - L).sum() - expit(L - backward).sum(), low, high)


def run_both_ways(corpus, priors, n_sweeps, n_runs, seed, stop, *, n_start):
    """Annealing runs of `n_sweeps` sweeps of a new chain, in both directions; `Runs`.

    By a guide: the guide is that of a chain that `anneal` has made in `n_start` sweeps, over as many sweeps as a run
    has, and backward runs begin at the state of this chain. A guide of fewer sweeps is narrower than the part of the
    posterior that a run can reach. With 20 sweeps on 500 tokens, backward runs were below forward ones, and both 1.5
    nats too low. From the prior of z, as in `prior_ais`, if `n_start` is None: a backward run begins where the forward
    run has ended.
    """
    if n_start is None:
        source, forth, back, state = priors, prior_ais, reverse_prior_ais, None
    else:
        chain = anneal(corpus, priors, random.child(seed, 0), stop, n_start)
        source, forth, back, state = Guide.from_chain(chain, n_sweeps, stop), guided_ais, reverse_ais, chain.state()
    forward, backward, label_error = [], [], 0.0
    for r in range(n_runs):
        run = forth(corpus, source, n_sweeps, random.child(seed, 1, r), stop)
        forward.append(run.log_weight)
        backward.append(back(corpus, source, n_sweeps, state or run.state, random.child(seed, 2, r), stop))
        label_error = max(label_error, run.label_error)
    return Runs(np.array(forward), np.array(backward), run.state, label_error)


def sweeps_both_ways(n_sweeps, n_runs, n_start):
    """Sweeps over the corpus in `run_both_ways`."""
    return n_runs * (2 * n_sweeps + 1) + (0 if n_start is None else n_start + n_sweeps)
