"""The posterior over the number of topics, with its error, and draws of the model's unknowns."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, softmax

from sklda._core import random
from sklda._core.arguments import check_memory
from sklda._core.corpus import Corpus
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._models.topic_count.runs import PriorRule, new_chain
from sklda._sampling.annealed_start import ANNEAL_SWEEPS, anneal
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
    """Draws of z for one number of topics."""

    rule: PriorRule  # what is unknown of the priors
    priors: Priors
    ends: list  # states at the ends of annealing runs; without any, a draw begins at a new annealed chain
    log_weights: np.ndarray  # with these weights the ends are draws from the posterior, (n_ends,)

    def sample(self, corpus, rng, seed):
        """A draw of z, theta and phi: from an end drawn by its weight, after sweeps and draws of unknown priors."""
        if self.ends:
            end = self.ends[rng.choice(len(self.ends), p=softmax(self.log_weights))]
            kind = chain_class("collapsed", corpus, self.priors)
            chain = kind(corpus, self.priors, ChainState(end.topics, random.stream(seed)))
        else:
            chain = new_chain(corpus, self.rule, self.priors, anneal, ANNEAL_SWEEPS, seed, NEVER_STOP)
        # Sweeps, so that draws from the same end differ.
        for _ in range(SWEEPS_BETWEEN):
            chain.sweep()
            if self.rule.unknown:
                self.rule.draw(chain, rng)
        return chain.topics, *draw_parameters(chain, rng)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior over the number of topics, with its error."""

    counts: np.ndarray  # numbers of topics, ascending, (n_counts,)
    probability: np.ndarray  # p(T | w), (n_counts,)
    std: np.ndarray  # Monte Carlo standard error of `probability`
    interval: tuple  # credible interval of 0.95, (int, int), which contains the Monte Carlo error
    mode: int  # the most likely of the numbers of topics with estimates
    log_evidence: np.ndarray  # NaN for numbers of topics without estimates
    log_evidence_std: np.ndarray
    estimates: np.ndarray  # of type `ESTIMATE`
    draws: dict  # `ModelDraws` for likely numbers of topics
    states: list  # of the chains at the mode that make the last sweeps, `ChainState`
    n_sweeps: int  # over the corpus, all chains together
    last_sweeps: int = LAST_SWEEPS  # of each chain at the mode
    unfinished: str = ""  # why the estimates ended before their end; empty if they did not

    def chains(self, corpus, n_sweeps, n_jobs=None, run=NO_RUN):
        """The chains at the mode after `n_sweeps` last sweeps, with draws and traces of these."""
        priors = self.draws[self.mode].priors
        schedule = Schedule(n_draws=LAST_SWEEPS // 10, draw_every=10)
        kind = chain_class("collapsed", corpus, priors)
        chains = [kind(corpus, priors, ChainState(state.topics, state.stream)) for state in self.states]
        return run.sweep(chains, n_sweeps, schedule=schedule, n_jobs=n_jobs, reports=False)


def sample_models(
    corpus: Corpus, draws: dict[int, ModelDraws], probability: np.ndarray, n_samples: int, seed: np.random.SeedSequence
) -> tuple[np.ndarray, list, list, list]:
    """Draws of the number of topics T, (n_samples,), and lists of z, theta and phi given T.

    `probability` is p(T | w) of the keys of `draws`, up to a factor.
    """
    rng = np.random.default_rng(random.child(seed, 0))
    counts = rng.choice(list(draws), n_samples, p=probability / probability.sum())
    n_bytes = 4 * int(counts.sum()) * (corpus.n_documents + corpus.n_features)
    check_memory(n_bytes, f"{n_samples} draws need at least", "Give a smaller n_samples.")
    samples = [draws[T].sample(corpus, rng, random.child(seed, 1, i)) for i, T in enumerate(counts.tolist())]
    z, theta, phi = (list(each) for each in zip(*samples, strict=True))
    return counts, z, theta, phi


def standard_errors(draws: np.ndarray) -> np.ndarray:
    """Standard errors of the mean of `draws` over the first axis. Two of them on either side contain 0.95 of the draws.

    The distribution of a small and uncertain probability is skewed: its upper tail is longer than two standard
    deviations. Then the standard error is half the distance to the 0.023 or 0.977 quantile.
    """
    mean = draws.mean(axis=0)
    low, high = np.quantile(draws, ndtr([-2, 2]), axis=0)
    return np.maximum(draws.std(axis=0), np.maximum(mean - low, high - mean) / 2)


def credible_interval(counts, probability):
    """Smallest and largest count after a probability of at most 0.025 is cut from either end."""
    low = np.argmax(np.cumsum(probability) > 0.025)
    high = len(counts) - 1 - np.argmax(np.cumsum(probability[::-1]) > 0.025)
    return int(counts[low]), int(counts[high])
