"""The evidence of the modes of a chain whose number of topics changes.

In a small corpus a chain seldom comes from one mode of z to another, and modes differ in their numbers of topics. What
decides between them is their evidence, here by the identity of Chib (1995) at one value h of (T, pi, g, gamma, eta):

    p(w) = L p(w | h) p(h) / p(h | w).

p(w | h) is estimated by guided annealing in both directions from the mode, and p(h | w) by its mean over sweeps given
the tables and z. Both are those of the labellings of the n topics that a chain does not tell apart, and L is n! over
their number: n! for topics that differ, and 1 for topics that are alike.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sklda._core import random
from sklda._core.priors import Priors
from sklda._likelihood.evidence.annealing import Guide, guided_run, reverse_guided_run
from sklda._likelihood.evidence.topic_labels import label_changes, log_permanent
from sklda._models.topic_count.word_prior import WordCounts, WordPrior, mode_of_levels, softmax
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.mixture_step import document_prior

# Sweeps of annealing in either direction, and of the guide before them: so many, and fewer where all of them would draw
# more tokens than this.
_TEMPERATURES, _TOKENS_DRAWN = 100, 1_000_000
# The standard error of the evidence of a mode, in nats, has three parts. Chains end in better and worse modes with one
# number of topics. If eta is unknown, its levels add errors of words, which are independent: a multiple of the root of
# their number. And annealing has an error that grows with the distance of its two directions; where this is above 100
# nats, runs of 1,600 temperatures found log p(w) at 0.41 to 0.66 of it. doc/method/calibration.rst shows other values.
_MODE_STD, _WORD_STD, _DISTANCE_PART = 8.0, 0.5, 0.15
# Draws of these errors.
_DRAWS = 2000
# A mode has no evidence of its own if its topics are alike: if the number of labellings that are not told apart is more
# than this power of n!. In simulated corpora with topics the powers of likely modes were 0 to .1, and in counts without
# topics .1 to 1 from eight topics on.
_MOST_ALIKE = 0.1
# Modes that are worse by more standard errors of the difference than this are clearly worse.
_CLEARLY = 2.0
# The grid on which a density is normalised, in standard deviations on either side, and its number of points.
_GRID, _GRID_POINTS = 6.0, 21


class Sample(NamedTuple):
    """What a step has drawn after a sweep, and what it was drawn from."""

    tables: np.ndarray
    words: WordCounts | None
    eta: WordPrior | None
    shares: np.ndarray  # pi
    logs: dict[str, float]  # log g and log gamma
    posterior: np.ndarray  # p(T | tables, g)


class CountMode(NamedTuple):
    """A mode: how many topics have tokens, and log p(w) up to a constant."""

    n_topics: int
    log_evidence: float
    std: float  # the standard error of the evidence
    posterior: np.ndarray  # p(T)
    annealing_std: float = 0.0  # the part of the error that annealing has


def mode_of(prior, chain, samples, seed, stop) -> CountMode | None:
    """The mode of a chain by `samples` of its last sweeps; None if its topics are alike, or too few or too many."""
    kinds = [(sample.tables > 0).tobytes() for sample in samples]
    kind = max(kinds, key=kinds.count)
    own = [sample for sample, each in zip(samples, kinds, strict=True) if each == kind]
    labels = np.flatnonzero(own[-1].tables)
    n, corpus = len(labels), chain.corpus
    if n not in prior.place:
        return None
    # Topics may have exchanged their numbers between samples, and then a mean is the share of none.
    shares = np.median([sample.shares[labels] for sample in own], axis=0)
    shares /= shares.sum()
    logs = {name: float(np.mean([sample.logs[name] for sample in own])) for name in own[0].logs}
    if prior.gammas is not None:
        logs["gamma"] = np.log(prior.gammas[prior.place[n]])

    # Tokens of topics that are empty in most samples go to the first topic.
    place = np.zeros(len(own[-1].tables), np.int32)
    place[labels] = np.arange(n)
    eta, log_levels, word_std = chain.priors.word, 0.0, 0.0
    if prior.draws_eta:
        # eta and the levels depend on each other, so that a mean of eta may belong to no levels.
        last = own[-1].eta.eta
        word_prior, log_levels = mode_of_levels(last, [each.eta for each in samples], [each.words for each in samples])
        logs["eta"], eta = np.log(last), word_prior.of_words()
        word_std = _WORD_STD * np.sqrt(corpus.n_features)
    priors = Priors.make(document_prior(np.exp(logs["gamma"]), shares), eta, n, corpus.n_features)
    local = GibbsChain(corpus, priors, ChainState(place[chain.topics], random.stream(random.child(seed, 0))))
    log_likelihood, log_labellings, distance = local.log_joint(), 0.0, 0.0
    if n > 1:
        n_sweeps = min(_TEMPERATURES, max(_TOKENS_DRAWN // corpus.n_tokens, 1))
        guide = Guide.from_chain(local, n_sweeps, stop)
        log_alike = _log_alike(local, guide, np.random.default_rng(random.child(seed, 1)))
        if log_alike > _MOST_ALIKE * gammaln(n + 1):
            return None
        state = local.state()
        forward = guided_run(corpus, guide, n_sweeps, random.child(seed, 2), stop).log_weight
        backward = reverse_guided_run(corpus, guide, n_sweeps, state, random.child(seed, 3), stop)
        log_likelihood, distance = max((forward + backward) / 2, forward), abs(backward - forward)
        log_labellings = gammaln(n + 1) - log_alike

    log_prior = prior.log_prior(n, logs) + _log_dirichlet(np.full(n, np.exp(logs["g"])), shares)
    each = [_log_density(prior, sample, labels, shares, logs) for sample in own]
    log_posterior = np.logaddexp.reduce(each) - np.log(len(samples))
    return CountMode(
        n_topics=n,
        log_evidence=float(log_likelihood + log_labellings + log_prior - log_posterior + log_levels),
        std=float(np.linalg.norm([_MODE_STD, word_std, _DISTANCE_PART * distance])),
        posterior=np.mean([sample.posterior for sample in samples], axis=0),
        annealing_std=_DISTANCE_PART * distance,
    )


def are_worse(pair: Sequence[CountMode], modes: Collection[CountMode]) -> bool:
    """Whether both modes of a pair are clearly worse than the best one of all; not if there is no pair yet."""
    if len(pair) < 2:
        return False
    best = max(modes, key=lambda mode: mode.log_evidence)
    return all(best.log_evidence - mode.log_evidence > _CLEARLY * np.hypot(mode.std, best.std) for mode in pair)


def weights_of(modes: list[CountMode]) -> np.ndarray:
    """The probability of each mode, its mean over the errors of the evidence; (n_modes,).

    Modes with one number of topics are often one and the same, met by several chains or twice by one, so their mean
    evidence counts.
    """
    counts = [mode.n_topics for mode in modes]
    values = np.array([mode.log_evidence - np.log(counts.count(mode.n_topics)) for mode in modes])
    errors = np.random.default_rng(0).normal(size=(_DRAWS, len(modes))) * [mode.std for mode in modes]
    values = values + errors
    return softmax(values).mean(axis=0)


def _log_alike(chain, guide, rng):
    """log of the number of labellings that the guide does not tell apart where it is weakest."""
    given, strengths = chain.priors, guide.strengths(2)
    chain.priors = guide.path(strengths).priors_at(strengths[-1])
    changes = label_changes(chain, Priors.make(1.0, 1.0, given.n_components, chain.corpus.n_features))
    chain.priors = given
    return log_permanent(changes, rng)[0] - np.trace(changes)


def _log_density(prior, sample, labels, shares, logs):
    """log p(h | tables, z) of a sample."""
    log_p = prior.log_p_given_tables(sample.tables, np.exp(logs["g"]), np.exp(logs["gamma"]))
    log_density = log_p[prior.place[len(labels)]]
    log_density += _log_dirichlet(np.exp(logs["g"]) + sample.tables[labels], shares)
    for name, density in prior.densities(sample, np.exp(logs["gamma"])).items():
        log_density += density(logs[name]) - _log_integral(density, logs[name])
    return log_density


def _log_dirichlet(parameters, shares):
    return gammaln(parameters.sum()) - gammaln(parameters).sum() + ((parameters - 1) * np.log(shares)).sum()


def _log_integral(log_density, centre, width=0.1):
    """log of the integral of a density over a grid, which has the width of its curvature."""
    middle, low, high = (log_density(centre + shift) for shift in (0, -width, width))
    curvature = (2 * middle - low - high) / width**2
    std = min(1 / np.sqrt(curvature), 2.0) if curvature > 0 else 2.0
    grid = centre + np.linspace(-_GRID * std, _GRID * std, _GRID_POINTS)
    return np.logaddexp.reduce([log_density(x) for x in grid]) + np.log(grid[1] - grid[0])
