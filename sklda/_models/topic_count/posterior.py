"""The posterior over the number of topics, with its error, and draws of the model's unknowns."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, softmax

from sklda._core import random
from sklda._core.arguments import check_memory
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._models.topic_count.runs import PriorRule
from sklda._sampling.annealed_start import anneal
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.draws import SWEEPS_BETWEEN, draw_parameters
from sklda._sampling.run_chains import NO_RUN, Schedule

# Last sweeps of each chain at the mode. Every tenth draw of them is averaged.
LAST_SWEEPS = 100

# One estimate of the log evidence.
ESTIMATE = np.dtype(
    [
        ("n_components", int),
        ("chain", int),
        ("n_sweeps", int),
        ("log_evidence", float),
        ("log_evidence_backward", float),
    ]
)


@dataclass(frozen=True, eq=False)
class ModelDraws:
    """Draws of z for one number of topics.

    Attributes
    ----------
    rule : PriorRule
        What is unknown of the priors.
    priors : Priors
    ends : list of ChainState
        The states at the ends of annealing runs. If there are none, a draw begins at a new annealed chain.
    log_weights : ndarray of shape (n_ends,)
        The weights with which these are draws from the posterior.
    """

    rule: PriorRule
    priors: Priors
    ends: list
    log_weights: np.ndarray

    def sample(self, corpus, rng, seed):
        """A draw of z, theta and phi: from an end drawn by its weight, after sweeps and draws of unknown priors."""
        if self.ends:
            end = self.ends[rng.choice(len(self.ends), p=softmax(self.log_weights))]
        else:
            end = anneal(corpus, self.priors, random.child(seed, 0), NEVER_STOP).state()
        kind = chain_class("collapsed", corpus, self.priors)
        chain = kind(corpus, self.priors, ChainState(end.topics, random.stream(seed)))
        # Sweeps, so that draws from the same end differ.
        for _ in range(SWEEPS_BETWEEN):
            chain.sweep()
            if self.rule.unknown:
                self.rule.draw(chain, rng)
        return chain.topics, *draw_parameters(chain, rng)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior over the number of topics, with its error.

    Attributes
    ----------
    counts : ndarray of shape (n_counts,)
        Numbers of topics, ascending.
    probability, std : ndarray of shape (n_counts,)
        p(T | w), and its Monte Carlo standard error.
    interval : tuple of (int, int)
        Credible interval of 0.95, which contains the Monte Carlo error.
    mode : int
        The most likely of the numbers of topics with estimates.
    log_evidence, log_evidence_std : ndarray of shape (n_counts,)
        NaN for numbers of topics without estimates.
    estimates : ndarray of shape (n_estimates,)
        Of type `ESTIMATE`.
    draws : dict of {int: ModelDraws}
        For likely numbers of topics.
    states : list of ChainState
        Of the chains at the mode that make the last sweeps.
    n_sweeps : int
        Sweeps over the corpus, all chains together.
    last_sweeps : int, default=100
        Last sweeps of each chain at the mode.
    unfinished : str, default=""
        Why the estimates ended before their end; empty if they did not.
    """

    counts: np.ndarray
    probability: np.ndarray
    std: np.ndarray
    interval: tuple
    mode: int
    log_evidence: np.ndarray
    log_evidence_std: np.ndarray
    estimates: np.ndarray
    draws: dict
    states: list
    n_sweeps: int
    last_sweeps: int = LAST_SWEEPS
    unfinished: str = ""

    def chains(self, corpus, n_sweeps, n_jobs=None, run=NO_RUN):
        """The chains at the mode after `n_sweeps` last sweeps, with draws and traces of these."""
        priors, schedule = self.draws[self.mode].priors, Schedule(LAST_SWEEPS // 10, 10, burn_in=0)
        kind = chain_class("collapsed", corpus, priors)
        chains = [kind(corpus, priors, ChainState(state.topics, state.stream)) for state in self.states]
        return run.sweep(chains, n_sweeps, schedule=schedule, n_jobs=n_jobs, reports=False)


def sample_models(corpus, draws, probability, n_samples, seed):
    """Draws of the number of topics T, and of z, theta and phi given T.

    Parameters
    ----------
    corpus : Corpus
    draws : dict of {int: ModelDraws}
    probability : ndarray of shape (n_draws,)
        p(T | w) of the keys of `draws`, up to a factor.
    n_samples : int
    seed : numpy.random.SeedSequence

    Returns
    -------
    counts : ndarray of shape (n_samples,)
    z, theta, phi : list of ndarray
    """
    rng = np.random.default_rng(random.child(seed, 0))
    counts = rng.choice(list(draws), n_samples, p=probability / probability.sum())
    n_bytes = 4 * int(counts.sum()) * (corpus.n_documents + corpus.n_features)
    check_memory(n_bytes, f"{n_samples} draws need at least", "Give a smaller n_samples.")
    samples = [draws[T].sample(corpus, rng, random.child(seed, 1, i)) for i, T in enumerate(counts.tolist())]
    return counts, *(list(each) for each in zip(*samples, strict=True))


def standard_errors(draws):
    """Standard errors of the mean of `draws` over the first axis. Two of them on either side contain 0.95 of the draws.

    The distribution of a small and uncertain probability is skewed: its upper tail is longer than two standard
    deviations. Then the standard error is half the distance to the 0.023 or 0.977 quantile.
    """
    mean, (low, high) = draws.mean(axis=0), np.quantile(draws, ndtr([-2, 2]), axis=0)
    return np.maximum(draws.std(axis=0), np.maximum(mean - low, high - mean) / 2)


def credible_interval(counts, probability):
    """Smallest and largest count after a probability of at most 0.025 is cut from either end."""
    low = np.argmax(np.cumsum(probability) > 0.025)
    high = len(counts) - 1 - np.argmax(np.cumsum(probability[::-1]) > 0.025)
    return int(counts[low]), int(counts[high])
