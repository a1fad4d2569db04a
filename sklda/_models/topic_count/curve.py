"""The log evidence over the number of topics T, given values with errors at some T: bounds, and draws within these."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sklda._likelihood.evidence.combining import MUCH_WORSE


@dataclass(frozen=True, eq=False)
class Curves:
    """Draws of the log evidence over the errors of its values, and its bounds where there are none.

    As far as the log evidence rises, it is concave in T; as far as it falls, it is concave in log T. So between two
    values it is not below the line between them, see `line`. It is not above the continued lines through two values
    before or after. Beyond the last value it is not above that through two values before.

    A draw has a normal error at each value. Between two values it has one bend, at a T and a height that are uniform
    within the bounds. Beyond the last value it follows its upper bound up to a T that is uniform, and then it falls.

    All three arrays are in nats and have the shape (n_draws, n_counts). They are the same at numbers of topics with
    values.
    """

    lower: np.ndarray
    upper: np.ndarray
    drawn: np.ndarray

    @classmethod
    def draw(cls, counts, at, values, stds, least, n_draws, seed=0):
        """Draws given `values` with standard errors `stds`, at the positions `at` in the ascending `counts`.

        Without a value, the log evidence is not below `least`, (n_counts,), either.
        """
        rng = np.random.default_rng(seed)
        counts = np.asarray(counts, dtype=np.float64)
        known = values + stds * rng.standard_normal((n_draws, len(values)))
        corner = corners(counts[at], values, stds)
        at_corners = at[corner]
        found = _Corners(T=counts[at_corners], values=values[corner], stds=stds[corner], drawn=known[:, corner])
        # All begin at the last value, and stay there beyond it if there is one corner.
        lower = known[:, -1:] + np.zeros((n_draws, len(counts)))
        upper = lower.copy()
        drawn = lower.copy()
        for i, (first, last) in enumerate(pairwise(at_corners)):
            inside = slice(first + 1, last)
            if last > first + 1:
                lower[:, inside], upper[:, inside] = found.bounds(counts[inside], i)
                drawn[:, inside] = found.bent(counts[inside], i, lower[:, inside], upper[:, inside], rng)
        if len(corner) > 1:
            beyond = slice(at_corners[-1] + 1, None)
            upper[:, beyond] = found.continued(counts[beyond], len(corner) - 1, -1)
            drawn[:, beyond] = found.turned(counts[beyond], upper[:, beyond], rng)
            lower[:, beyond] = -np.inf
        for each in (lower, upper, drawn):
            np.maximum(each, least, out=each)
            each[:, at] = known
        return cls(lower=lower, upper=upper, drawn=drawn)


def line(T, a, at_a, b, at_b):
    """The line through the values at a < b topics, at T topics: in T if it rises, in log T if it falls."""
    share = np.where(at_b > at_a, (T - a) / (b - a), np.log(T / a) / np.log(b / a))
    return at_a + (at_b - at_a) * share


def too_low(T, values, stds):
    """By how much each value is below the line between its neighbours, less what its error explains; (n_values,).

    In nats, and negative if there is nothing left to explain. A chain in a poor mode makes a value too low, and
    nothing makes it much too high.
    """
    excess = np.full(len(T), -np.inf)
    inner = slice(1, -1)
    middle = line(T[inner], T[:-2], values[:-2], T[2:], values[2:])
    excess[inner] = middle - values[inner] - MUCH_WORSE * np.maximum(stds[inner], 1)
    return excess


def corners(T, values, stds):
    """The positions of the values from which bounds are made: those that are not `too_low`; (n_corners,)."""
    kept = np.arange(len(T))
    while len(kept) > 2:
        excess = too_low(T[kept], values[kept], stds[kept])
        worst = int(np.argmax(excess))
        if excess[worst] <= 0:
            break
        kept = np.delete(kept, worst)
    return kept


@dataclass(frozen=True, eq=False)
class _Corners:
    """The values from which bounds are made."""

    T: np.ndarray  # (n_corners,)
    values: np.ndarray
    stds: np.ndarray
    drawn: np.ndarray  # draws of the values, (n_draws, n_corners)

    def line(self, T, i, j):
        """Draws of the line through the corners i and j, (n_draws, n_counts)."""
        i, j = sorted((i, j))
        return line(T, self.T[i], self.drawn[:, i : i + 1], self.T[j], self.drawn[:, j : j + 1])

    def continued(self, T, i, side):
        """Draws of the line through the corner i and another one before it (side -1) or after it (1).

        Of all others it is the one with the lowest line in the middle of `T`, two standard errors of it included. That
        through a close one is steeper or flatter by chance.
        """
        others = np.arange(i) if side < 0 else np.arange(i + 1, len(self.T))
        middle = np.mean(T) if len(T) else self.T[i]
        low = np.minimum(others, i)
        high = np.maximum(others, i)
        height = line(middle, self.T[low], self.values[low], self.T[high], self.values[high])
        reach = np.abs((middle - self.T[i]) / (self.T[i] - self.T[others]))
        error = np.hypot((1 + reach) * self.stds[i], reach * self.stds[others])
        return self.line(T, i, int(others[np.argmin(height + 2 * error)]))

    def bounds(self, T, i):
        """Bounds at numbers of topics between the corners i and i + 1; two arrays (n_draws, n_counts)."""
        lower = self.line(T, i, i + 1)
        upper = np.inf
        if i > 0:
            upper = np.minimum(upper, self.continued(T, i, -1))
        if i + 2 < len(self.T):
            upper = np.minimum(upper, self.continued(T, i + 1, 1))
        if len(self.T) == 2:
            # With two corners there is no bound. The distance of their values stands for it.
            upper = lower + np.abs(self.drawn[:, 1:] - self.drawn[:, :1])
        return lower, np.maximum(lower, upper)

    def turned(self, T, upper, rng):
        """Draws beyond the last corner: at the upper bound up to a T that is uniform, then down; (n_draws, n_counts).

        Nothing is known of where the log evidence turns. Then it falls as fast as it rose, or goes on falling.
        """
        if not len(T):
            return upper
        turn = rng.integers(len(T), size=(len(upper), 1))
        height = np.take_along_axis(upper, turn, axis=1)
        return np.where(T <= T[turn], upper, np.minimum(upper, 2 * height - upper))

    def bent(self, T, i, lower, upper, rng):
        """Draws between the corners i and i + 1, with one bend within the bounds; (n_draws, n_counts)."""
        bend = rng.integers(len(T), size=(len(lower), 1))
        low, high = (np.take_along_axis(each, bend, axis=1) for each in (lower, upper))
        height = low + rng.random(low.shape) * (high - low)
        at_bend = T[bend]
        before = line(T, self.T[i], self.drawn[:, i : i + 1], at_bend, height)
        return np.where(T <= at_bend, before, line(T, at_bend, height, self.T[i + 1], self.drawn[:, i + 1 : i + 2]))
