"""A search between modes of the topic assignments: groups of topics are redrawn, and the best modes are kept."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._likelihood.evidence.annealing import Guide, guided_run
from sklda._likelihood.held_out.averages import log_mean_exp
from sklda._mode_search.groups import choose_group, overlaps
from sklda._mode_search.redraw import REDRAW_SWEEPS, redraw
from sklda._sampling.chain import ChainState, checked_topics, compact_topics
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.matching import differing
from sklda._sampling.run_chains import NO_RUN

# Modes that are kept at least, and proposals in a round.
_KEPT, _PROPOSALS = 4, 8
# Sweeps of everything after a group was redrawn, and of the guide after them. After 10 sweeps, many proposals that end
# in better modes still look worse. A longer guide does not make scores more precise.
_SETTLING_SWEEPS, _GUIDE_SWEEPS = 40, 10
# Temperatures of a score: one for this many counts of the model, K (D + V), between these bounds. Measured on C-2 and
# whales, the mean of runs of 20 temperatures ranks modes as well as a longer run of the same cost.
_COUNTS_PER_TEMPERATURE, _TEMPERATURES = 600, (20, 100)
# A mode is ranked by the mean of its last this many scores.
_SCORES = 4
# Draws are of different modes if they differ in this many times the tokens of two draws of one mode. On C-1, C-2 and
# C-5 it is 0.9 to 1.1 within a mode, and 1.3 to 5 between modes.
APART = 1.25
# The search ends after this many rounds in which the best mode has not risen by this many nats.
_PATIENCE, _RISE = 3, 3.0
# At the end the modes are weighed by this many runs of this many times the temperatures.
_RUNS, _LONGER = 2, 5
# Sweeps of the default budget, between these bounds, and the tokens that they draw.
_SWEEPS, _DRAWN_TOKENS = (4_000, 10_000), 1e9
# A mode that is this many nats and this many standard errors below the best is given up.
_BEHIND, _ERRORS = 10.0, 3.0


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of the topic assignments."""

    topics: np.ndarray  # a draw of z in the mode, int32 (n_tokens,)
    # log p(w | priors) by guided annealing from the mode, in nats; NaN if the budget did not suffice for it.
    log_evidence: float = np.nan
    std: float = np.nan  # standard error of `log_evidence`


@dataclass(eq=False)
class _Candidate:
    """A mode during the search."""

    topics: np.ndarray  # in the smallest integer type, (n_tokens,)
    moved: float = 0.0  # the share of the tokens in which two draws of the mode differ
    scores: list = field(default_factory=list)

    @property
    def score(self):
        return float(np.mean(self.scores[-_SCORES:]))


def improve_modes(corpus, priors, states, *, seed, n_jobs=None, max_sweeps=None, weigh=True, run=NO_RUN):
    """Search for modes with more evidence than those of the given states.

    A group of two, three or four topics is chosen. Its tokens are taken out as a corpus of its own, as many topics are
    fitted to them afresh, and then all tokens are swept. The new mode is scored by a short run of guided annealing. A
    round has eight such proposals, half of them from the best mode. The best modes of the round and of those before it
    are kept and scored again, and the mean of the last scores ranks a mode, so a lucky score does not last. Of several
    draws of one mode only the best is kept: otherwise they would take the places of a mode that is better, which a few
    scores often do not show. The search ends when the best mode has not risen for three rounds, or when another round
    would exceed the budget.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        The topics must be exchangeable.
    states : list of ChainState or of ndarray of shape (n_tokens,)
        Where the search starts.
    seed : numpy.random.SeedSequence
    n_jobs : int, default=None
        Number of proposals at a time, as in joblib. The result does not depend on it.
    max_sweeps : int, default=None
        The budget: sweeps over the whole corpus, of all starts together. Sweeps over a group are counted as if they
        were over the whole corpus. A temperature of annealing counts as one sweep, though it takes about twice the
        time. None: 10,000; on corpora of more than 100,000 tokens as many as draw 10^9 tokens, but at least 4,000.
    weigh : bool, default=True
        Whether the modes are weighed at the end. Otherwise all modes that were kept are returned, with their scores.
    run : Run, optional
        Each round is a stage or two of it.

    Returns
    -------
    modes : list of Mode
        One for each state, the best first. A start that is left behind ends in the best mode. Without `weigh`, all
        modes that were kept; several of them are draws from one mode if there are not enough modes.
    n_sweeps : int
        The sweeps that were made.

    Raises
    ------
    ValueError
        If the topics are not exchangeable, or if a state does not fit the corpus.
    """
    priors.check_exchangeable("The search between modes redraws groups of topics")
    topics = [state.topics if isinstance(state, ChainState) else state for state in states]
    topics = [checked_topics(each, corpus, priors.n_components) for each in topics]
    if max_sweeps is None:
        max_sweeps = int(np.clip(_DRAWN_TOKENS / max(corpus.n_tokens, 1), *_SWEEPS))
    search = _Search(corpus, priors, seed, n_jobs=n_jobs, max_sweeps=max_sweeps, weigh=weigh, fit_run=run)
    return search.run(topics), search.n_sweeps


class _Search:
    """The search of `improve_modes`. `n_sweeps` are those made so far."""

    def __init__(self, corpus, priors, seed, *, n_jobs, max_sweeps, weigh, fit_run):
        self.corpus = corpus
        self.priors = priors
        self.seed = seed
        self.n_jobs = n_jobs
        self.max_sweeps = max_sweeps
        self.weigh = weigh
        self.fit_run = fit_run
        self.n_sweeps = 0
        size = priors.n_components * (corpus.n_documents + corpus.n_features)
        self.n_temperatures = int(np.clip(size / _COUNTS_PER_TEMPERATURE, *_TEMPERATURES))
        # Annealing makes one sweep for each temperature and a last one.
        self.score_cost = _GUIDE_SWEEPS + self.n_temperatures + 1
        self.proposal_cost = REDRAW_SWEEPS + _SETTLING_SWEEPS + self.score_cost
        self.weighing_cost = _RUNS * (_GUIDE_SWEEPS + _LONGER * self.n_temperatures + 1)

    def run(self, topics):
        """The modes at which the search arrives from these topics, with their evidence."""
        # Weighing at the end is part of the budget.
        most = self.max_sweeps - self.weigh * max(len(topics), _KEPT) * self.weighing_cost
        if len(topics) * self.score_cost > most:
            return [Mode(each) for each in topics]
        modes = self._scored([_Candidate(each) for each in topics], 0)
        number = 1
        rounds_without_rise = 0
        best = max(mode.score for mode in modes)
        while self.priors.n_components > 1 and rounds_without_rise < _PATIENCE:
            if self.round_cost(len(modes)) > most - self.n_sweeps:
                break
            modes = self.round(modes, number)
            number += 1
            now = max(mode.score for mode in modes)
            rounds_without_rise = 0 if now > best + _RISE else rounds_without_rise + 1
            best = max(best, now)
        if not self.weigh:
            modes.sort(key=lambda mode: -mode.score)
            return [Mode(topics=mode.topics.astype(np.int32), log_evidence=mode.score) for mode in modes]
        return self._weighed(modes, number)[: len(topics)]

    def round_cost(self, n_modes):
        """The most sweeps of a round."""
        return _PROPOSALS * self.proposal_cost + 2 * max(n_modes, _KEPT) * self.score_cost

    def round(self, modes, number):
        """The best of the modes and of proposals from them, the best first."""
        n_kept = max(len(modes), _KEPT)
        young = [i for i, mode in enumerate(modes) if len(mode.scores) < _SCORES]
        for i, mode in zip(young, self._scored([modes[i] for i in young], number, 0), strict=True):
            modes[i] = mode
        modes.sort(key=lambda mode: -mode.score)
        proposals = self._proposed(modes, number)
        # A second score for those that may be kept, because the best of many scores is too high.
        promising = [mode for mode in self._best(modes + proposals, n_kept) if mode in proposals]
        return self._best(modes + self._scored(promising, number, 1), n_kept)

    def _best(self, modes, n_kept):
        """The best modes, the best first; further draws of a mode are kept only if there are not enough modes."""
        different, repeated = [], []
        for mode in sorted(modes, key=lambda mode: -mode.score):
            known = any(self._are_near(mode, other) for other in different)
            (repeated if known else different).append(mode)
        return sorted((different + repeated)[:n_kept], key=lambda mode: -mode.score)

    def _are_near(self, mode, other):
        """Whether two draws hardly differ more than two draws of one mode."""
        apart = differing(mode.topics, other.topics, self.priors.n_components)
        return apart <= APART * max(mode.moved, other.moved)

    def _scored(self, modes, *key):
        """The modes with one more score each, after the sweeps of the guide."""
        tasks = [
            (self.corpus, self.priors, mode.topics, 0, self.n_temperatures, 1, random.child(self.seed, *key, i))
            for i, mode in enumerate(modes)
        ]
        found = self._in_parallel(_weigh, tasks, self.score_cost)
        return [
            _Candidate(topics=each.topics, moved=each.moved, scores=[*mode.scores, *each.log_weights])
            for mode, each in zip(modes, found, strict=True)
        ]

    def _proposed(self, modes, number):
        """Proposals: half of them from the best mode, the others from the other modes in turn."""
        rng = np.random.default_rng(random.child(self.seed, number, 2))
        parents = [0 if i % 2 == 0 or len(modes) == 1 else 1 + i // 2 % (len(modes) - 1) for i in range(_PROPOSALS)]
        known = {parent: self._overlaps(modes[parent].topics) for parent in dict.fromkeys(parents)}
        groups = [choose_group(*known[parent], rng) for parent in parents]
        tasks = [
            (
                self.corpus,
                self.priors,
                modes[parent].topics,
                group,
                self.n_temperatures,
                random.child(self.seed, number, 3, i),
            )
            for i, (parent, group) in enumerate(zip(parents, groups, strict=True))
        ]
        return [
            _Candidate(topics=each.topics, moved=each.moved, scores=list(each.log_weights))
            for each in self._in_parallel(_propose, tasks, self.proposal_cost)
        ]

    def _overlaps(self, topics):
        """Overlaps and totals of the topics."""
        chain = GibbsChain(self.corpus, self.priors, ChainState(topics, random.stream(self.seed)))
        return overlaps(chain), chain.topic_totals

    def _weighed(self, modes, number):
        """The modes with their evidence, the best first; those left behind are replaced by draws from the best."""
        n_temperatures = _LONGER * self.n_temperatures
        tasks = [
            (self.corpus, self.priors, mode.topics, 0, n_temperatures, _RUNS, random.child(self.seed, number, 4, i))
            for i, mode in enumerate(modes)
        ]
        weighed = self._in_parallel(_weigh, tasks, self.weighing_cost)
        values = [float(log_mean_exp(each.log_weights[:, None])[0][0]) for each in weighed]
        # The runs of all modes tell one variance.
        variance = np.var([each.log_weights for each in weighed], axis=1, ddof=1).mean()
        std = float(np.sqrt(variance / _RUNS))
        order = np.argsort([-value for value in values], kind="stable")
        best = order[0]
        n_copies = 0
        found = []
        for c in order:
            if values[best] - values[c] > _BEHIND + _ERRORS * np.sqrt(2) * std:
                # The ends of the runs from the best mode are draws from it.
                topics = weighed[best].ends[n_copies % _RUNS]
                value = values[best]
                n_copies += 1
            else:
                topics = weighed[c].topics
                value = values[c]
            found.append(Mode(topics=topics.astype(np.int32), log_evidence=value, std=std))
        return found

    def _in_parallel(self, function, tasks, cost):
        """The results of tasks with so many sweeps each."""
        self.n_sweeps += len(tasks) * cost
        return self.fit_run.parallel(function, tasks, self.n_jobs)


def _propose(corpus, priors, topics, group, n_temperatures, seed, stop):
    """Redraw a group, sweep all tokens, and score the mode."""
    topics = redraw(corpus, priors, topics, group, random.child(seed, 0), stop)
    return _weigh(corpus, priors, topics, _SETTLING_SWEEPS, n_temperatures, 1, random.child(seed, 1), stop)


class _Weighed(NamedTuple):
    """A mode after sweeps, and annealing runs from it."""

    topics: np.ndarray
    moved: float  # the share of the tokens whose topic the sweeps of the guides changed
    log_weights: np.ndarray  # (n_runs,)
    ends: list  # the topics in which the runs end


def _weigh(corpus, priors, topics, n_sweeps, n_temperatures, n_runs, seed, stop=NEVER_STOP) -> _Weighed:
    """Sweep a mode `n_sweeps` times and by the sweeps of the guides, and weigh it by annealing runs."""
    state = ChainState(topics, random.stream(random.child(seed, 0)))
    chain = chain_class("collapsed", corpus, priors)(corpus, priors, state)
    for _ in range(n_sweeps):
        chain.sweep(stop)
    before = chain.topics.copy()
    runs = []
    for r in range(n_runs):
        guide = Guide.from_chain(chain, _GUIDE_SWEEPS, stop)
        runs.append(guided_run(corpus, guide, n_temperatures, random.child(seed, 1, r), stop))
    return _Weighed(
        topics=compact_topics(chain.topics, priors.n_components),
        moved=differing(before, chain.topics, priors.n_components),
        log_weights=np.array([run.log_weight for run in runs]),
        ends=[run.state.topics for run in runs],
    )
