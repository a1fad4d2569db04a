"""What chains of topic assignments have in common: their state, their records, and the draws that they keep."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._sampling.steps import Draw, ParameterDraw, Step


@dataclass(frozen=True, eq=False)
class ChainState:
    """The state of a chain, from which it can be continued, and what was recorded during its sweeps.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        The assignments z.
    stream : ndarray of shape (4,), uint64
        State of the random generator.
    n_sweeps : int
        Number of sweeps so far.
    trace : tuple of float
        ``log_joint()`` after every sweep of a run.
    draws : tuple of Draw
        Those that the runs kept. The last one has the present z.
    label_free : tuple of (float, float)
        log p(z | alpha), and the sum of the squared shares of the topics, after every sweep.
    n_burn_in : int
        Number of sweeps whose draws are not used.
    n_annealed : int
        Number of sweeps of the annealed start.
    steps : tuple of Step
        What is done between the sweeps, apart from a `Schedule`. Their order is that of their work.
    parameters : tuple of ParameterDraw
    """

    topics: np.ndarray
    stream: np.ndarray
    n_sweeps: int = 0
    trace: tuple = ()
    draws: tuple = ()
    label_free: tuple = ()
    n_burn_in: int = 0
    n_annealed: int = 0
    steps: tuple = ()
    parameters: tuple = ()

    def compact(self, n_components):
        """A copy without records, with topics in the smallest integer type: it saves memory."""
        return ChainState(compact_topics(self.topics, n_components), self.stream, self.n_sweeps)


@dataclass(frozen=True, eq=False)
class KeptDraws:
    """The last draws of one chain, at least one.

    Attributes
    ----------
    priors : Priors
        The priors of all draws, except an alpha that a step draws.
    draws : list of Draw
    steps : tuple of Step
        Those of the chain.
    """

    priors: Priors
    draws: list[Draw]
    steps: tuple[Step, ...] = ()

    def __len__(self) -> int:
        return len(self.draws)

    @property
    def topics(self) -> list[Any]:
        """The topics of all tokens in each draw, (n_tokens,)."""
        return [draw.topics for draw in self.draws]

    def added(self, name: str) -> np.ndarray:
        """What a step has added to the draws, (n_draws, ...)."""
        return np.array([draw.added[name] for draw in self.draws])

    def priors_at(self, index: int) -> Priors:
        """The priors of one draw."""
        for step in self.steps:
            if (found := step.alpha_of(self.draws[index].added)) is not None:
                return replace(self.priors, doc=found[0], row_of=found[1])
        return self.priors

    def mean_priors(self) -> Priors:
        """The priors with the mean of alpha over the draws."""
        first = self.priors_at(0)
        if first is self.priors:
            return first
        total = np.zeros_like(first.doc)
        for i in range(len(self)):
            total += self.priors_at(i).doc
        return replace(first, doc=total / len(self))

    def last(self, n_draws: int) -> Self:
        """The last draws only."""
        return replace(self, draws=self.draws[-n_draws:])


class Chain:
    """A Markov chain of topic assignments: its state, the records of its sweeps, and the draws that it keeps.

    A sampler is a subclass with the methods `_set_up`, `sweep`, `log_topics` and `log_words`, and the attributes
    `topics` and `topic_totals`.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors or LabelPriors
    state : ChainState
        The initial state. Its arrays are copied.

    Attributes
    ----------
    trace, draws, label_free, steps, parameters : list
        See `ChainState`.
    moves : sequence of Move
        Those made after the present sweep, see `MergeAndSplit`. Topics are then other ones.
    """

    moves: Sequence[Any] = ()
    # Whether it has `parameters`, and whether its state is in other processes, which save it by `save_parts`.
    keeps_parameters, saves_parts = True, False

    def __init__(self, corpus, priors, state):
        self.corpus, self.priors = corpus, priors
        self.stream = np.array(state.stream, np.uint64)
        self.n_sweeps = state.n_sweeps
        self.trace, self.draws, self.label_free = list(state.trace), list(state.draws), list(state.label_free)
        self.n_burn_in, self.n_annealed = state.n_burn_in, state.n_annealed
        self.steps, self.parameters = [step.state() for step in state.steps], list(state.parameters)
        self._set_up(state.topics)

    def __reduce__(self):
        # The arrays are made again from the state, because joblib makes large arrays read-only in other processes.
        return type(self), (self.corpus, self.priors, self.state())

    def restart_stream(self, seed):
        """Continue with other random numbers."""
        self.stream = random.stream(seed)

    def move(self, topics, moves):
        """Continue from other topics of all tokens, to which these moves led. An alpha that differs goes with them."""
        self.priors = self.priors.after_moves(moves)
        self.moves = *self.moves, *moves
        self._set_up(topics)

    def with_workers(self, n_jobs, work):
        """Return ``work(stop)``. During this call, sweeps of parallel samplers use `n_jobs` workers; here, one."""
        return work(NEVER_STOP)

    def record(self):
        """Append the log joint of the present draw to `trace`, and two more numbers to `label_free`."""
        log_topics = self.log_topics()
        self.trace.append(log_topics + self.log_words())
        self.label_free.append((log_topics, float((self.shares() ** 2).sum())))

    def shares(self):
        """Share of the tokens in each topic."""
        return self.topic_totals / max(self.topic_totals.sum(), 1)

    def draw(self):
        """The present draw, with what the steps add."""
        added = {name: value for step in self.steps for name, value in step.draw().items()}
        return Draw(self.n_sweeps, compact_topics(self.topics, self.priors.n_components), added)

    def parameter_draw(self):
        """The present draw of the small parameters."""
        values = {"topic_share": self.shares()}
        for step in self.steps:
            values |= step.parameters()
        return ParameterDraw(self.n_sweeps, values)

    def parameter_draws(self):
        """The draws of the small parameters that were kept, or the present one if there are none."""
        return self.parameters or [self.parameter_draw()]

    def keep_draw(self, n_draws):
        """Append the present draw to `draws`, which keeps the last `n_draws`."""
        self.draws = [*self.draws, self.draw()][-n_draws:]

    def keep_only(self, every):
        """Forget draws of the burn-in, and those whose sweep is not a multiple of `every`."""
        self.draws = [draw for draw in self.draws if draw.sweep > self.n_burn_in and draw.sweep % every == 0]

    def kept_draws(self):
        """`KeptDraws`: the draws that were kept, or the present one if there are none."""
        return KeptDraws(self.priors, self.draws or [self.draw()], tuple(self.steps))

    def step(self, kind):
        """The step of a class."""
        return next(step for step in self.steps if isinstance(step, kind))

    def log_joint(self):
        """log p(w, z | alpha, eta) with theta and phi integrated out, in nats."""
        return self.log_topics() + self.log_words()

    def state(self):
        """A copy of the state. A chain of the same class made from it makes the same draws as this chain."""
        records = (tuple(each) for each in (self.trace, self.draws, self.label_free))
        steps = tuple(step.state() for step in self.steps)
        return ChainState(
            self.topics.copy(),
            self.stream.copy(),
            self.n_sweeps,
            *records,
            self.n_burn_in,
            self.n_annealed,
            steps,
            tuple(self.parameters),
        )


def compact_topics(topics, n_components):
    """A copy of the topics of all tokens, in the smallest unsigned integer type: one byte up to 256 topics."""
    return topics.astype(np.min_scalar_type(n_components - 1))


def checked_topics(topics, corpus, n_components, lowest=0):
    """A copy of the topics of all tokens, int32, after checks. With ``lowest=-1`` a token may have no topic."""
    topics = np.asarray(topics)
    if topics.shape != (corpus.n_tokens,):
        raise ValueError(f"topics have shape {topics.shape}; the corpus has {corpus.n_tokens} tokens.")
    # Checked before the cast to int32, which could overflow silently.
    if topics.size and not (lowest <= int(topics.min()) and int(topics.max()) < n_components):
        raise ValueError(
            f"topics range from {topics.min()} to {topics.max()}; they must be at least {lowest} and below "
            f"{n_components}."
        )
    return topics.astype(np.int32)
