"""Steps: what is done between the sweeps of a chain. `Run.sweep` is one loop over both."""

import copy
from typing import NamedTuple

import numpy as np

from sklda._core.parallel import NEVER_STOP, Aligned

# Draws of small parameters that are kept at most, numbers in all of them, and draws that are kept whatever their size.
_MOST, _MOST_NUMBERS, _FEWEST = 256, 2_000_000, 16
# Sweeps in each of the two windows whose mean log joints `Ending` compares.
_WINDOW = 20


class Step(Aligned):
    """One thing that is done between the sweeps of a chain.

    A step replaces arrays that change. It changes only lists in place, so that `state` is a cheap copy.

    Attributes
    ----------
    n_moves : int
        Moves between modes that it made last.
    """

    n_moves = 0

    def begin(self, chain):
        """The chain begins, or continues."""

    def before(self, chain):
        """A sweep begins."""

    def after(self, chain, stop):
        """A sweep has ended. Returns whether the chain ends. A long step calls `stop` now and then."""

    def end(self, chain):
        """The last sweep has ended."""

    def settled(self):
        """Whether the burn-in may end before its last sweep."""
        return True

    def end_burn_in(self, chain):
        """The burn-in ends after the present sweep, before its last one."""

    def state(self):
        """A copy that is not changed with this step, and from which another chain can continue."""
        other = copy.copy(self)
        vars(other).update({name: list(value) for name, value in vars(self).items() if isinstance(value, list)})
        return other

    def draw(self):
        """What the step adds to a stored draw, a dict."""
        return {}

    def parameters(self):
        """Parameters that are small enough to keep many of their draws, a dict."""
        return {}

    def alpha_of(self, added):
        """alpha of a stored draw from what steps have added to it: the rows and the row of each document.

        None: all draws have the alpha of the chain.
        """

    def traces(self):
        """Quantities after every sweep that do not depend on the names of topics, a dict of sequences."""
        return {}


class Draw(NamedTuple):
    """A stored draw.

    Attributes
    ----------
    sweep : int
        The number of the sweep after which it was stored.
    topics : ndarray of shape (n_tokens,)
        z in the smallest integer type.
    added : dict
        What the steps of the chain have added.
    """

    sweep: int
    topics: np.ndarray
    added: dict


class ParameterDraw(NamedTuple):
    """A stored draw of small parameters: the number of its sweep, and the shares of topics and what steps have."""

    sweep: int
    values: dict


def advance(chain, steps, stop=NEVER_STOP):
    """Sweep once, with the steps before and after it. Returns whether the chain ends."""
    chain.moves = ()
    for step in steps:
        step.before(chain)
    chain.sweep(stop)
    stop()
    ends = False
    for step in steps:
        ends = step.after(chain, stop) or ends
    return bool(ends)


class Trace(Step):
    """Records the log joint, and two more numbers, after every sweep; of the first state if there is none."""

    def begin(self, chain):
        if chain.n_sweeps == 0:
            chain.trace, chain.label_free = [], []

    def after(self, chain, stop):
        chain.record()

    def end(self, chain):
        if chain.n_sweeps == 0:
            chain.record()


class Thinning(Step):
    """Keeps z after every sweep behind the burn-in whose number is a multiple of `every`: the last `n_draws`."""

    def __init__(self, n_draws, every):
        self.n_draws, self.every = n_draws, every

    def begin(self, chain):
        # Those that one longer run would have kept.
        chain.keep_only(self.every)

    def after(self, chain, stop):
        if self._keeps(chain):
            chain.keep_draw(self.n_draws)

    def end(self, chain):
        """Keep the last draw."""
        if not self._keeps(chain):
            chain.keep_draw(self.n_draws)

    def _keeps(self, chain):
        return chain.n_sweeps > chain.n_burn_in and chain.n_sweeps % self.every == 0


class ParameterDraws(Step):
    """Keeps small parameters after sweeps behind the burn-in: a few hundred draws, whatever `n_draws` of z.

    They are as many sweeps apart as a power of two, so that a longer run would have kept some of them.

    Parameters
    ----------
    last_sweep : int
        That of the run.
    """

    def __init__(self, last_sweep):
        self.last_sweep, self.every = last_sweep, 1

    def begin(self, chain):
        size = sum(np.size(value) for value in chain.parameter_draw().values.values())
        self.most = np.clip(_MOST_NUMBERS // size, _FEWEST, _MOST)
        self._thin(chain)

    def after(self, chain, stop):
        if self._keeps(chain, chain.n_sweeps):
            chain.parameters.append(chain.parameter_draw())
            # The burn-in may have ended early.
            self._thin(chain)

    def _thin(self, chain):
        while self.last_sweep - chain.n_burn_in > self.most * self.every:
            self.every *= 2
        chain.parameters = [draw for draw in chain.parameters if self._keeps(chain, draw.sweep)]

    def _keeps(self, chain, sweep):
        return sweep > chain.n_burn_in and sweep % self.every == 0


class Ending(Step):
    """Ends the burn-in, and then the chain, when the log joint does not increase any more; see `Schedule.tol`.

    Parameters
    ----------
    tol : float
    n_kept : int
        Sweeps after the burn-in in which all draws are kept.
    learners : list of Step
        They hear of the end of the burn-in, as the steps of the chain do.
    """

    def __init__(self, tol, n_kept, learners=()):
        self.tol, self.n_kept, self.learners, self.n_sweeps = tol, n_kept, learners, 0

    def after(self, chain, stop):
        self.n_sweeps += 1
        if self.n_sweeps % _WINDOW or min(self.n_sweeps, chain.n_sweeps - chain.n_annealed) < 2 * _WINDOW:
            return False
        before, last = np.reshape(chain.trace[-2 * _WINDOW :], (2, _WINDOW)).mean(axis=1)
        if last - before >= self.tol * chain.corpus.n_tokens:
            return False
        if chain.n_sweeps >= chain.n_burn_in + self.n_kept:
            return True
        steps = [*chain.steps, *self.learners]
        if chain.n_sweeps < chain.n_burn_in and all(step.settled() for step in steps):
            chain.n_burn_in = chain.n_sweeps
            for step in steps:
                step.end_burn_in(chain)
        return False
