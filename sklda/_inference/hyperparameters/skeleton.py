"""m(h) from a skeleton: a few fixed points h around its maximum, each swept by every chain.

A round sweeps every chain at nine points: the centre, and 1.25 and 2.5 standard deviations of log eta and of log alpha
to either side. Reverse logistic regression of all draws (`Mixture`) gives log m(h), its maximum and its curvature.
Another round follows around the last maximum, until the maximum lies between the inner points and is precise, or
`max_iter` sweeps were made. Each round is two to four times as long as the last, but not if it only moves. The result
comes from the draws of the last round. If chains disagree, it is weighted by the evidence of their modes, see `modes`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklda._inference.count_histograms import CountHistograms
from sklda._inference.hyperparameters.batch_means import Batches
from sklda._inference.hyperparameters.convergence import disagree
from sklda._inference.hyperparameters.em_chain import EMChain
from sklda._inference.hyperparameters.marginal_likelihood import Curve
from sklda._inference.hyperparameters.maximum import Maximum, maximum_of
from sklda._inference.hyperparameters.mixtures import Mixture

# Distances of the points from the centre along either axis, and half of the box in which the maximum is searched, in
# standard deviations of log h.
_STEPS, _BOX = (1.25, 2.5), 4.0
# These standard deviations are at most this many times those given z: at larger steps draws would not overlap.
_WIDEST = 2.0
# Draws of a chain at each point in the first round; sweeps for each of them; the least and the largest ratio of the
# lengths of two rounds.
_FIRST_DRAWS, _EVERY, _LONGER = 12, 3, (2, 4)
# Sweeps after a change of h that are not used: those for the draws divided by this.
_LEFT_OUT = 4
# There are no topics to find if K V eta or K D alpha is more than this times the number of tokens.
_NO_TOPICS = 0.5
# Batches of a visit of a single chain.
_PARTS = 3
# Rounds after which the next one only moves, because the maximum does not lie between the inner points.
_MOST_MOVES = 5


class Visits:
    """Visits of a chain to fixed points. An `EMChain` takes it in place of a `GibbsEM`.

    Parameters
    ----------
    points : ndarray of shape (n_points, 2)
        log h.
    order : ndarray of shape (n_points,)
        The points in the order of the visits.
    n_draws, n_left_out : int
        Draws that are kept at a point, and sweeps before them.

    Attributes
    ----------
    at : list of int
        The point of every draw.
    draws : list of CountHistograms
    """

    def __init__(self, points, order, n_draws, n_left_out):
        self.points, self.order, self.n_draws, self.n_left_out = points, order, n_draws, n_left_out
        self.at, self.draws, self.n_sweeps = [], [], 0

    @property
    def log_h(self):
        """The point of the present visit."""
        return self.points[self._point]

    @property
    def _point(self):
        return self.order[min(self.n_sweeps // (self.n_draws * _EVERY + self.n_left_out), len(self.order) - 1)]

    def after_sweep(self, chain):
        """Keep the draw of a chain; return whether the next sweep is at another point."""
        before = self._point
        passed = self.n_sweeps % (self.n_draws * _EVERY + self.n_left_out) - self.n_left_out
        if passed >= 0 and passed % _EVERY == 0:
            self.at.append(before)
            self.draws.append(CountHistograms.of(chain))
        self.n_sweeps += 1
        return self._point != before


@dataclass(frozen=True, eq=False)
class Skeleton:
    """m(h) from draws at the points.

    Attributes
    ----------
    points : ndarray of shape (n_points, 2)
        log h.
    visits : list of Visits
        Of the chains with draws.
    region : pair of (float, float)
        The box in which the maximum was searched.
    curve : Curve
    maximum : Maximum
    """

    points: np.ndarray
    visits: list
    region: tuple
    curve: Curve
    maximum: Maximum

    @classmethod
    def of(cls, points, visits, region, shares=None):
        """From the visits of chains. `shares` are those of chains in different modes; None: equal, in one mode."""
        own, at = [CountHistograms.stack(each.draws) for each in visits], np.concatenate([each.at for each in visits])
        draws, lengths = CountHistograms.stack(own), np.array([len(each) for each in own])
        log_p = draws.word_part(np.exp(points[:, 0])) + draws.doc_part(np.exp(points[:, 1]))
        weights = np.ones(len(at)) if shares is None else np.repeat(shares * len(at) / lengths, lengths)
        mixture = Mixture.of(log_p, at, weights)
        # A batch is the visit of a chain to a point, or a part of it if there is one chain.
        n_parts = 1 if len(visits) > 1 else _PARTS
        ends = [np.flatnonzero(np.diff([*each.at, -1])) + 1 for each in visits]
        ends = [np.unique(np.linspace([0, *end[:-1]], end, n_parts + 1, dtype=int)[1:]) for end in ends]
        ends = [end[end > 0] for end in ends]
        at_ends = np.concatenate([np.array(each.at)[end - 1] for each, end in zip(visits, ends, strict=True)])
        batches = Batches(np.concatenate([np.diff([0, *end]) for end in ends]), at_ends)
        curve = Curve(draws, mixture.log_denominators, lengths, mixture, batches)
        maximum = maximum_of(curve, region)
        if shares is not None:
            # Modes that differ far from the maximum say nothing about edges.
            curve = Curve(draws, mixture.log_denominators, lengths, mixture, batches, shares)
            maximum = maximum_of(curve, region, maximum.edges)
        return cls(points, visits, region, curve, maximum)

    @cached_property
    def agree(self):
        """Whether the scores of the chains at the maximum differ by no more than their errors."""
        return not disagree(self.curve, self.maximum)

    @property
    def n_at(self):
        """Draws at every point, (n_points,)."""
        return np.bincount(np.concatenate([each.at for each in self.visits]), minlength=len(self.points))

    def score_series(self):
        """The derivatives of log p(w, z | h) at the maximum, less their means at the points; a list of (n_draws, 2)."""
        scores, members = self.curve.derivatives(self.maximum.log_h)[1], self.curve.mixture.members
        scores = scores - members @ (np.linalg.pinv(members) @ scores)
        return np.split(scores, np.cumsum(self.curve.lengths)[:-1])


def find_maximum(pool, log_h, reserved, tol):
    """Rounds until the maximum is precise, or until only `reserved` sweeps of every chain are left.

    Parameters
    ----------
    pool : ChainPool
    log_h : ndarray of shape (2,)
        The first centre.
    reserved : int
    tol : float
        See `Settings`. Infinite: one round is enough if the maximum lies within its box.

    Returns
    -------
    Skeleton
    """
    centre = np.clip(log_h, *np.log(pool.settings.region).T)
    found, n_draws, n_last, n_moves = None, _FIRST_DRAWS, 0, 0
    while True:
        deviations = _deviations(pool, centre, found)
        n_points = 1 + 4 * len(_STEPS)
        room = (pool.left - reserved) // n_points
        n_fit = max((room - room // (_LEFT_OUT + 1)) // _EVERY, 1)
        if found is not None and n_fit < 2 * n_last:
            return found
        n_last = min(n_draws, n_fit)
        found = _round(pool, centre, deviations, n_last, pool.left - reserved)
        _say(pool, found)
        moves = n_moves < _MOST_MOVES and bool((np.abs(found.maximum.log_h - centre) > _STEPS[0] * deviations).any())
        moves = moves and not (tol > 0 and no_topics(pool, found.maximum.log_h))
        if pool.all_ended or (not moves and _enough(pool, found, tol, n_draws > _FIRST_DRAWS)):
            return found
        n_moves += moves
        centre = found.maximum.log_h
        longer = np.clip(found.maximum.excess_error(tol) ** 2, *_LONGER)
        n_draws = n_draws if moves else int(np.ceil(longer * n_draws))


def _round(pool, centre, deviations, n_draws, most):
    """One round of `n_draws` draws of every chain at every point, but at most `most` sweeps of a chain."""
    low, high = np.log(pool.settings.region).T
    away = np.array([(0, 0), *(sign * step * axis for axis in np.eye(2) for step in _STEPS for sign in (-1, 1))])
    points = np.clip(centre + away * deviations, low, high)
    ends = np.clip([centre - _BOX * deviations, centre + _BOX * deviations], low, high)
    region = tuple((float(a), float(b)) for a, b in np.exp(ends.T))
    n_left_out = n_draws * _EVERY // _LEFT_OUT
    # Chains visit the points in different orders, so that what is left of earlier visits is not the same in all.
    orders = [np.roll(np.arange(len(points)), -c) for c in range(len(pool.chains))]
    visits = [Visits(points, order, n_draws, n_left_out) for order in orders]
    pool.chains = [EMChain(chain, each) for chain, each in zip(pool.chains, visits, strict=True)]
    pool.sweep(max(min((n_draws * _EVERY + n_left_out) * len(points), most), 1))
    return Skeleton.of(points, [chain.em for chain in pool.chains if chain.em.draws], region)


def _deviations(pool, centre, found):
    """Standard deviations of log eta and log alpha: by the curvature of log m if it is known, but not too large."""
    draws = CountHistograms.stack([CountHistograms.of(chain) for chain in pool.chains])
    given_z = -np.array([draws.word_part(np.exp(centre[:1]), 2).mean(), draws.doc_part(np.exp(centre[1:]), 2).mean()])
    longest = np.ptp(np.log(pool.settings.region), axis=1) / (2 * _BOX)
    largest = np.minimum(_WIDEST / np.sqrt(np.maximum(given_z, 1e-300)), longest)
    if found is None:
        return largest
    curvature = -np.diag(found.maximum.hessian)
    return np.minimum(1 / np.sqrt(np.maximum(curvature, 1e-300)), largest)


def _enough(pool, found, tol, is_long):
    """Whether more sweeps are not needed or do not help."""
    if tol == 0:
        return False
    # Chains that disagree in a long round are in different modes.
    precise = found.maximum.excess_error(tol) <= 1 and (found.agree or not np.isfinite(tol))
    return precise or (is_long and not found.agree) or no_topics(pool, found.maximum.log_h)


def no_topics(pool, log_h):
    """Whether there are no topics to find: with so large priors, topics or documents are nearly equal."""
    eta, alpha = np.exp(log_h)
    corpus, K = pool.corpus, pool.priors.n_components
    return bool(K * max(eta * corpus.n_features, alpha * corpus.n_documents) > _NO_TOPICS * corpus.n_tokens)


def _say(pool, found):
    (eta, alpha), errors = found.maximum.h, np.sqrt(np.diag(found.maximum.monte_carlo)[::-1])
    pool.say(
        f"{len(found.curve.draws)} draws at {len(found.points)} points: doc_topic_prior {alpha:.4g}, topic_word_prior "
        f"{eta:.4g}; Monte Carlo errors of their logarithms {errors[0]:.2g} and {errors[1]:.2g}"
    )
