"""What a scan runs at a number of topics: the priors, the budget of sweeps, and new chains with their runs."""

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from sklda._core import random
from sklda._core.count_histograms import CountHistograms
from sklda._core.gibbs_em import BOUNDS
from sklda._core.priors import Priors, at_topics
from sklda._core.rising import log_gamma_ratio
from sklda._core.slice_sampling import slice_on_log
from sklda._likelihood.evidence.estimates import runs_of_chain
from sklda._sampling.annealed_start import anneal
from sklda._sampling.choice import chain_class
from sklda._sampling.initialisation import prune
from sklda._sampling.merge_and_split import round_of_moves

# --- alpha and eta of a model whose number of topics varies: given, or unknown with a weak prior of their own ---------


# The prior of an unknown alpha or eta: its logarithm is normal, with the logarithm of the first number as its mean and
# the second one as its standard deviation. So 95 % of it lie between .002 and 5.
CENTRE, SPREAD = 0.1, 2.0
# Points of the grid on which a density is normalised, and the difference from the largest log density beyond which it
# is zero. In nats.
_POINTS, _NOTHING = 200, 30.0
# Sweeps between two draws of what is unknown. A draw takes about as long as a sweep over 5,000 tokens.
_EVERY = 2


@dataclass(frozen=True, eq=False)
class PriorRule:
    """alpha and eta for any number of topics T, the same for all topics."""

    doc_topic_prior: object  # alpha: a float, str or callable, see `at_topics`; None: unknown
    topic_word_prior: object  # eta: a float, str or an array (n_features,); None: unknown
    n_features: int

    @property
    def unknown(self):
        """Whether alpha, or eta, or both are unknown."""
        return self.doc_topic_prior is None or self.topic_word_prior is None

    @property
    def same_for_all(self):
        """Whether alpha and eta mean the same at every number of topics."""
        given = self.doc_topic_prior, self.topic_word_prior
        return not any(isinstance(each, str) or callable(each) for each in given)

    def at(self, n_components, near=None):
        """The `Priors` of a number of topics. What is unknown begins at its value in `near`, or else at 1 / T."""
        alpha = at_topics(self.doc_topic_prior, "doc_topic_prior", n_components)
        eta = at_topics(self.topic_word_prior, "topic_word_prior", n_components)
        if alpha is None:
            alpha = 1 / n_components if near is None else near.doc[0, 0]
        if eta is None:
            eta = 1 / n_components if near is None else near.word[0]
        return Priors.make(alpha, eta, n_components, self.n_features)

    def mean(self, found):
        """The geometric mean of several `Priors` of one number of topics, as far as they are unknown."""
        alpha, eta = np.exp(np.mean([np.log([each.doc[0, 0], each.word[0]]) for each in found], axis=0))
        return self._with(found[0], alpha, eta)

    def draw(self, chain, rng):
        """Draw what is unknown from its full conditional given z, in place; the histograms of the counts of z."""
        counts = CountHistograms.of(chain)
        alpha = chain.priors.doc[0, 0]
        eta = chain.priors.word[0]
        if self.doc_topic_prior is None:
            alpha = slice_on_log(rng, alpha, lambda x: counts.doc_part_at(np.exp(x)) + _log_prior(x), BOUNDS)
        if self.topic_word_prior is None:
            eta = slice_on_log(rng, eta, lambda x: counts.word_part_at(np.exp(x)) + _log_prior(x), BOUNDS)
        chain.priors = self._with(chain.priors, alpha, eta)
        return counts

    def sweep(self, chain, n_sweeps, rng, stop):
        """Sweep, and draw what is unknown between sweeps. The result has the histograms at each draw, and log h."""
        draws = []
        log_h = []
        for i in range(n_sweeps):
            chain.sweep(stop)
            if self.unknown and i % _EVERY == 0:
                draws.append(self.draw(chain, rng))
                log_h.append(np.log([chain.priors.doc[0, 0], chain.priors.word[0]]))
        return draws, log_h

    def settle(self, chain, n_sweeps, rng, stop):
        """Draw what is unknown between sweeps, and give the chain its posterior mean in the second half of them.

        The result is log p(h) - log p(h | w, T) at this h, in the mode of z in which the chain is; 0 if nothing is
        unknown.
        """
        if not self.unknown:
            return 0.0
        draws, log_h = self.sweep(chain, n_sweeps, rng, stop)
        kept = slice(len(draws) // 2, None)
        log_alpha, log_eta = np.mean(log_h[kept], axis=0)
        counts = CountHistograms.stack(draws[kept])
        log_prior = 0.0
        log_posterior = np.zeros(len(counts))
        if self.doc_topic_prior is None:
            log_prior += _log_prior(log_alpha) - _LOG_NORMALISER
            log_posterior += _conditional(counts.doc_part, log_alpha)
        if self.topic_word_prior is None:
            log_prior += _log_prior(log_eta) - _LOG_NORMALISER
            log_posterior += _conditional(counts.word_part, log_eta)
        chain.priors = self._with(chain.priors, np.exp(log_alpha), np.exp(log_eta))
        return float(log_prior - logsumexp(log_posterior) + np.log(len(counts)))

    def log_share_with_empty_topics(self, corpus, alpha, few, many):
        """log p(z | `many` topics) - log p(z | `few` topics) of a z that has only these `few` topics; (n_many,).

        At the same alpha and eta it depends only on the lengths of the documents. So log p(w | many) is at least log
        p(w | few) plus this: the further topics are empty.
        """
        lengths, numbers = corpus.distinct_lengths
        of_many = log_gamma_ratio(np.asarray(many)[:, None] * alpha, lengths) @ numbers
        return log_gamma_ratio(few * alpha, lengths) @ numbers - of_many

    def _with(self, priors, alpha, eta):
        """These priors, with other values of what is unknown."""
        if self.topic_word_prior is None:
            priors = priors.with_eta(eta)
        if self.doc_topic_prior is None:
            priors = replace(priors, doc=np.full_like(priors.doc, alpha))
        return priors


def _log_prior(x):
    """log p(x) of x = log alpha or log eta, up to a constant."""
    return -(((x - np.log(CENTRE)) / SPREAD) ** 2) / 2


def _log_density(part, x):
    """log p(x | z, w) of x = log alpha or log eta, up to a constant, for draws of z; (n_draws, n_values)."""
    x = np.atleast_1d(x)
    return part(np.exp(x)) + _log_prior(x)


def _log_integral(log_density, x):
    return logsumexp(log_density, axis=-1) + np.log(x[1] - x[0])


def _conditional(part, x):
    """log p(x | z, w) of one x = log alpha or log eta for draws of z, (n_draws,)."""
    low, high = np.log(BOUNDS)
    while True:
        grid = np.linspace(low, high, _POINTS)
        density = _log_density(part, grid)
        inside = np.flatnonzero((density > density.max(axis=1, keepdims=True) - _NOTHING).any(axis=0))
        first = max(inside[0] - 1, 0)
        last = min(inside[-1] + 1, _POINTS - 1)
        if last - first > _POINTS // 2:
            return _log_density(part, x)[:, 0] - _log_integral(density, grid)
        low, high = grid[first], grid[last]


_GRID = np.linspace(np.log(BOUNDS[0]), np.log(BOUNDS[1]), 10_000)
_LOG_NORMALISER = float(_log_integral(_log_prior(_GRID), _GRID))


# --- The budget of sweeps of a scan, and the seconds of a sweep -------------------------------------------------------


# Sweeps by default: so many at so many tokens. With four times the tokens, or a quarter of them, they are half as many,
# but not less than the last number. So a larger corpus takes twice the time, and a smaller one an eighth.
_MOST_SWEEPS, _AT_TOKENS, _LEAST_SWEEPS = 120_000, 10_000, 12_000


class BudgetSpent(Exception):
    """The sweeps that are left do not suffice for the next runs."""


class Budget:
    """The sweeps over a corpus that a fit may make: `limit` in all, and `n_sweeps` so far, all chains together.

    Without `max_sweeps`, the limit is a default for the corpus. `last` sweeps are kept for the end, but not more than a
    fifth of all.
    """

    def __init__(self, corpus, max_sweeps: int | None, last: int) -> None:
        if max_sweeps is None:
            root = (corpus.n_tokens / _AT_TOKENS) ** 0.5
            max_sweeps = int(max(_MOST_SWEEPS * min(root, 1 / root), _LEAST_SWEEPS))
        self.limit = max_sweeps
        self.n_sweeps = 0
        self._last = max(min(last, self.limit // 5), 1)

    def allows(self, n_sweeps):
        """Whether as many sweeps leave enough for the end."""
        return self.n_sweeps + n_sweeps + self._last <= self.limit

    def check(self, n_sweeps):
        """Raise a ValueError if the budget does not allow as many sweeps at the start."""
        if not self.allows(n_sweeps):
            raise ValueError(
                f"max_iter={self.limit} is too small: the first runs and the last sweeps take at least "
                f"{n_sweeps + self._last} sweeps. Give max_iter=None, or thousands of sweeps."
            )

    def take(self, n_sweeps):
        """Count sweeps that are to be made now; `BudgetSpent` if the budget does not allow them."""
        if not self.allows(n_sweeps):
            raise BudgetSpent(f"the {self.limit} sweeps of max_iter do not suffice for the next {n_sweeps}")
        self.n_sweeps += n_sweeps

    def last(self, n_chains):
        """Last sweeps of each of this many chains."""
        return max(self._last // n_chains, 1)


def seconds_of_sweep(corpus, priors):
    """Seconds of a chain's second sweep, after a first one that fills the memory."""
    chain = chain_class("collapsed", corpus, priors).initialise_randomly(corpus, priors, random.seed_sequence(0))
    chain.sweep()
    start = time.perf_counter()
    chain.sweep()
    return time.perf_counter() - start


# --- New chains at a number of topics, and their runs -----------------------------------------------------------------


# Least sweeps in which a chain before runs is annealed, relative to those of the first runs (no unit), also if the
# budget shortens these. With 600,000 tokens and 20 topics, four chains of 72 sweeps ended 4,000 to 34,000 nats below
# those of 144, which differed by 1,500.
_START_SHARE = 1.5
# The kinds of new chains at a number of topics, in turn. On simulated corpora with fewer topics than are true, annealed
# chains end in modes 50 to 1,000 nats below those of pruned ones; on some real corpora pruned ones end lower.
_STARTS = prune, anneal
# Moves between modes begin after this share of their stage: before h has begun to settle, they do not know what they
# gain. A round takes about as long as the first number of sweeps, and the second one comes between two rounds.
_WAIT, _ROUND_SWEEPS, _BETWEEN = 1 / 3, 20, 10
# With one topic z is known, and every run is exact.
_EXACT_SWEEPS = 2


def run_chain(corpus, rule, priors, settings, n_sweeps, kind, seed, stop):
    """`Runs` of a new chain, with the evidence at unknown priors by that at the priors on which the chain settles."""
    n_start = start_sweeps(settings, priors.n_components, n_sweeps)
    if priors.n_components == 1:
        n_sweeps = _EXACT_SWEEPS
    chain = None
    change = 0.0
    if settings.needs_chain or rule.unknown:
        start = _STARTS[kind % len(_STARTS)]
        chain = new_chain(corpus, rule, priors, start, n_start, seed, stop)
        change = rule.settle(chain, n_start, np.random.default_rng(random.child(seed, 3)), stop)
        priors = chain.priors
    runs = runs_of_chain(corpus, priors, chain, settings, n_sweeps, seed, stop)
    return replace(runs, forward=runs.forward + change, backward=runs.backward + change)


def new_chain(corpus, rule, priors, start, n_sweeps, seed, stop):
    """A chain after two stages of as many sweeps: its start, and moves between modes."""
    chain = start(corpus, priors, random.child(seed, 0), stop, n_sweeps=n_sweeps)
    _move(chain, rule, n_sweeps, random.child(seed, 4), stop)
    return chain


def _move(chain, rule, n_sweeps, seed, stop):
    """Rounds of merge-and-split moves until one finds none, between sweeps with draws of what is unknown.

    All take as long as `n_sweeps` sweeps: a round is in place of those that it costs.
    """
    rng = np.random.default_rng(random.child(seed, 0))
    all_topics = np.arange(chain.priors.n_components)
    n_left = n_sweeps
    n_before = int(_WAIT * n_sweeps)
    while n_left >= n_before + _ROUND_SWEEPS:
        rule.sweep(chain, n_before, rng, stop)
        n_left -= n_before + _ROUND_SWEEPS
        own = random.child(seed, 1, n_left)
        topics, moves = round_of_moves(chain.corpus, chain.priors, chain.topics, all_topics, own, stop)
        if not moves:
            break
        chain.move(topics, moves)
        n_before = _BETWEEN
    rule.sweep(chain, n_left, rng, stop)


def start_sweeps(settings, T, n_sweeps):
    """Sweeps of each stage of a new chain before runs of this length: its start, moves, and those at unknown priors."""
    return max(n_sweeps, int(_START_SHARE * settings.n_sweeps)) if T > 1 else _EXACT_SWEEPS


def sweeps_of_chain(settings, rule, T, n_sweeps):
    """Sweeps of `run_chain`."""
    n_start = start_sweeps(settings, T, n_sweeps)
    stages = 2 * (settings.needs_chain or rule.unknown) + rule.unknown
    return stages * n_start + settings.sweeps_of_runs(n_sweeps if T > 1 else _EXACT_SWEEPS)
