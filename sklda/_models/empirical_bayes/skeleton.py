"""m(h) from a skeleton: a few fixed points h around its maximum, each swept by every chain.

A round sweeps every chain at nine points: the centre, and 1.25 and 2.5 standard deviations of log alpha and of log eta
to either side. Reverse logistic regression of all draws gives log m(h), its maximum and its curvature. Longer rounds
follow around the last maximum, until the maximum is precise or `max_iter` sweeps were made. Draws are used together,
except for those of the first round, which only places the points. If the maximum does not lie between the inner points,
Gibbs-EM goes on first; the error of a last maximum of this kind contains its distance from the centre. If chains
disagree, each has a curve of its own, and `modes` weighs them.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import chi2

from sklda._core.count_histograms import CountHistograms
from sklda._core.gibbs_em import MStep
from sklda._models.empirical_bayes.batch_means import Batches
from sklda._models.empirical_bayes.chain_pool import EM_SWEEPS, LEARNING
from sklda._models.empirical_bayes.marginal_likelihood import FEWEST_EFFECTIVE, AveragedCurve, Curve
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.prior_steps import with_step
from sklda._sampling.prior_learning import LEAST_TOKENS
from sklda._sampling.steps import Step

# Distances of the points from the centre along either axis, in standard deviations of log h.
_STEPS = 1.25, 2.5
# These standard deviations are at most this many times those given z: at larger steps draws would not overlap.
_WIDEST = 2.0
# Draws of a chain at each point in the first round, and sweeps for each of them.
_FIRST_DRAWS, _EVERY = 8, 3
# The second round is this many times as long.
_LONGER = 3
# Times that the points follow a maximum away from them. On slow corpora with 12 to 20 topics, four moves take up to
# four times as long, and all chains end too far in the same direction with too small errors.
_MOST_MOVES = 2


class Visits(Step):
    """Visits of a chain to fixed points.

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
        self.points, self.order, self.length, self.n_left_out = points, order, n_draws * _EVERY + n_left_out, n_left_out
        self.at, self.draws, self.n_sweeps = [], [], 0

    @property
    def _point(self):
        return self.order[min(self.n_sweeps // self.length, len(self.order) - 1)]

    def begin(self, chain):
        MStep().set(chain, self.points[self._point])

    def after(self, chain, stop):
        """Keep the draw of a chain, or not; go to the next point at the end of a visit."""
        before, passed = self._point, self.n_sweeps % self.length - self.n_left_out
        if passed >= 0 and passed % _EVERY == 0:
            self.keep(chain)
        self.n_sweeps += 1
        if self._point != before:
            MStep().set(chain, self.points[self._point])

    def keep(self, chain):
        """Keep the present draw."""
        self.at.append(self._point)
        self.draws.append(CountHistograms.of(chain))


@dataclass(frozen=True, eq=False)
class Skeleton:
    """m(h) from draws at the points.

    Attributes
    ----------
    points : ndarray of shape (n_points, 2)
        log h, those of all rounds.
    draws : list of CountHistograms
        Of every chain that has draws.
    at : list of ndarray of shape (n_draws,)
        The points of these draws.
    region : pair of (float, float)
        The box in which the maximum was searched.
    curve : Curve or AveragedCurve
        The latter if chains disagree.
    maximum : Maximum
    centre, reach : ndarray of shape (2,)
        The centre of the last round, and the distances of its inner points from it. None and zero if a point has no
        draws.
    """

    points: np.ndarray
    draws: list
    at: list
    region: tuple
    curve: Curve | AveragedCurve
    maximum: Maximum
    centre: np.ndarray | None
    reach: np.ndarray | float

    @classmethod
    def of(cls, rounds, region, centre, reach):
        """From rounds, each with the `Visits` of all chains."""
        starts = np.cumsum([0] + [len(visits[0].points) for visits in rounds])
        parts = [[(start, each) for start, each in zip(starts, own, strict=False)] for own in zip(*rounds, strict=True)]
        parts = [own for own in parts if any(each.draws for _, each in own)]
        draws = [CountHistograms.stack([draw for _, each in own for draw in each.draws]) for own in parts]
        at = [np.concatenate([start + np.array(each.at, int) for start, each in own]) for own in parts]
        points = np.concatenate([visits[0].points for visits in rounds])
        if len(np.unique(np.concatenate(at))) < len(points):
            centre, reach = None, 0.0
        curve = Curve.at_points(
            CountHistograms.stack(draws),
            np.concatenate(at),
            points,
            # A batch is the visit of a chain to a point, or a third of it if there is one chain.
            Batches.of_visits(at, 1 if len(at) > 1 else 3),
        )
        found = cls(points, draws, at, region, curve, Maximum.of(curve, region, centre, reach), centre, reach)
        overlap = curve.effective_weights(found.maximum.log_h) >= FEWEST_EFFECTIVE
        return found if overlap or len(at) < 2 else found.averaged(np.ones(len(at)))

    @cached_property
    def agree(self):
        """Whether chains have one curve, and their scores differ by no more than visits of points explain (p = .01).

        Chains in one mode have deviations that are independent from visit to visit; chains in different modes do not.
        """
        curve, n_chains = self.curve, len(self.at)
        if isinstance(curve, AveragedCurve):
            return False
        if n_chains < 2:
            return True
        terms = curve.score_terms(self.maximum.log_h)
        chains, visits = curve.batches.chain_sums(terms), curve.batches.sums(terms)
        # The covariance is an estimate with this many degrees of freedom.
        shrink = max(1 - (len(chains.T) + 1) / curve.batches.freedom, 0.1)
        q = shrink * n_chains * np.einsum("ci,ij,cj->", chains, np.linalg.pinv(visits.T @ visits), chains)
        return bool(chi2.sf(q, chains.shape[1] * (n_chains - 1)) >= 0.01)

    def averaged(self, weights):
        """The same from a curve for each chain, with these weights."""
        weights = np.asarray(weights)
        curves = [
            Curve.at_points(draws, at, self.points, Batches.of_visits([at], 3))
            for draws, at, weight in zip(self.draws, self.at, weights, strict=True)
            if weight > 0
        ]
        curve = AveragedCurve(curves, weights[weights > 0])
        return replace(self, curve=curve, maximum=Maximum.of(curve, self.region, self.centre, self.reach))

    @property
    def outside(self):
        """Whether the maximum does not lie between the inner points of the last round."""
        return self.centre is not None and bool((np.abs(self.maximum.log_h - self.centre) > self.reach).any())

    @property
    def n_at(self):
        """Draws at every point, (n_points,)."""
        return np.bincount(np.concatenate(self.at), minlength=len(self.points))

    def score_series(self):
        """The derivatives of log p(w, z | h) at the maximum, less their means at the points; a list of (n_draws, 2)."""
        alpha, eta = self.maximum.h
        scores = [np.concatenate([each.doc_part([alpha], 1), each.word_part([eta], 1)], axis=1) for each in self.draws]
        at, n_at = np.concatenate(self.at), np.maximum(self.n_at, 1)
        means = np.stack([np.bincount(at, each, len(n_at)) / n_at for each in np.concatenate(scores).T], axis=1)
        return [each - means[own] for each, own in zip(scores, self.at, strict=True)]


def find_maximum(pool, beginning, reserved, tol):
    """Rounds until the maximum is precise, or until only `reserved` sweeps of every chain are left.

    Parameters
    ----------
    pool : ChainPool
    beginning : Beginning
        It has the first centre. If chains begin in different modes, more sweeps than those of the second round do not
        help.
    reserved : int
    tol : float
        See `Settings`. Infinite: one round is enough if the maximum lies within its box.

    Returns
    -------
    Skeleton
    """
    centre, found, rounds = np.clip(beginning.log_h, *np.log(pool.settings.region).T), None, []
    n_draws, n_moves, is_first = _FIRST_DRAWS, 0, True
    n_points, learns = 1 + 4 * len(_STEPS), np.isfinite(tol) and pool.corpus.n_tokens >= LEAST_TOKENS
    while True:
        deviations, left = _deviations(pool, centre, found), pool.left - reserved
        most = _most_draws(left // n_points)
        # Without `tol`, the last round takes what is left.
        if found is not None and most < max(n_draws / 2 if tol else min(n_draws / 2, _FIRST_DRAWS), 1):
            return found
        # Sweeps that do not suffice for two rounds are those of one.
        n_draws = most if is_first and most < (1 + _LONGER / 2) * n_draws else min(n_draws, most)
        visits, region = _round(pool, centre, deviations, max(n_draws, 1), left)
        rounds = [*rounds, visits]
        found = Skeleton.of(rounds, region, centre, _STEPS[0] * deviations)
        one_mode = found.agree and not beginning.several_modes
        _say(pool, found)
        # With so many moves behind, log m has no maximum between points.
        moves = found.outside and n_moves < _MOST_MOVES
        enough = found.outside or (_enough(found, tol, is_first, one_mode) and not (is_first and learns))
        if pool.all_ended or (enough and not moves) or (tol > 0 and no_topics(pool, found.maximum.log_h)):
            return found
        centre = found.maximum.log_h
        if moves:
            n_moves, rounds = n_moves + 1, []
            # Chains have not reached their posterior distribution, and get there faster if h moves with them.
            left = pool.left - reserved
            n_learn = min(2**n_moves * LEARNING, left // 3) if learns else 0
            if n_learn >= EM_SWEEPS and _most_draws((left - n_learn) // n_points) >= n_draws / 2:
                centre = pool.learn(n_learn)
            continue
        if is_first:
            # Chains are on their way to their posterior distribution: this round only places the points.
            rounds, n_draws, is_first = [], _LONGER * n_draws, False
        else:
            # What the error needs, but at least half as many and at most four times the draws so far. The spread
            # between chains in different modes needs no more.
            total, excess = len(found.at[0]) / n_points, found.maximum.excess_error(tol) if one_mode else 0.0
            n_draws = int(np.ceil((np.clip(excess**2, 1.5, 4) - 1) * total))


def _most_draws(n_sweeps):
    """Draws of a visit of so many sweeps, of which the first fifth is not used."""
    return (n_sweeps - n_sweeps // 5) // _EVERY


def _round(pool, centre, deviations, n_draws, most):
    """Visits of every chain to every point, with `n_draws` draws each but at most `most` sweeps; and the box around."""
    low, high = np.log(pool.settings.region).T
    steps = np.sort([0, *_STEPS, *np.negative(_STEPS)])
    away = np.array([*(step * np.eye(2)[0] for step in steps), *(step * np.eye(2)[1] for step in steps if step)])
    points = np.clip(centre + away * deviations, low, high)
    # The maximum is searched in a box of four standard deviations to either side.
    ends = np.clip([centre - 4 * deviations, centre + 4 * deviations], low, high)
    # The first fifth of a visit is not used.
    n_left_out = n_draws * _EVERY // 4
    # Chains visit the points from one end to the other, half of them in either direction, so that what is left of
    # earlier visits cancels.
    orders = [np.roll(np.arange(len(points)), -c)[:: (-1) ** c] for c in range(len(pool.chains))]
    visits = [Visits(points, order, n_draws, n_left_out) for order in orders]
    pool.chains = [with_step(chain, each) for chain, each in zip(pool.chains, visits, strict=True)]
    pool.sweep(max(min((n_draws * _EVERY + n_left_out) * len(points), most), 1))
    if not any(step.draws for step in pool.steps):
        # A callback has ended the chains before their first draw.
        for chain in pool.chains:
            chain.steps[0].keep(chain)
    return pool.steps, tuple((float(a), float(b)) for a, b in np.exp(ends.T))


def _deviations(pool, centre, found):
    """Standard deviations of log alpha and log eta: by the curvature of log m if it is known, but not too large."""
    draws = CountHistograms.stack([CountHistograms.of(chain) for chain in pool.chains])
    given_z = -np.array([draws.doc_part(np.exp(centre[:1]), 2).mean(), draws.word_part(np.exp(centre[1:]), 2).mean()])
    longest = np.ptp(np.log(pool.settings.region), axis=1) / 8
    largest = np.minimum(_WIDEST / np.sqrt(np.maximum(given_z, 1e-300)), longest)
    if found is None:
        return largest
    curvature = -np.diag(found.maximum.hessian)
    return np.minimum(1 / np.sqrt(np.maximum(curvature, 1e-300)), largest)


def _enough(found, tol, is_first, one_mode):
    """Whether more sweeps are not needed, or do not help: chains that disagree in a long round stay in their modes."""
    if tol == 0:
        return False
    precise = found.maximum.excess_error(tol) <= 1 and (one_mode or not np.isfinite(tol))
    return precise or not (is_first or one_mode)


def no_topics(pool, log_h):
    """Whether there are no topics to find: K V eta or K D alpha is larger than the number of tokens.

    With so large priors, topics or documents are nearly equal. With a limit twice as high, fits of noise cost up to 1.7
    times as much; with half of it, a fit of a simulated corpus with 20 topics ended too early.
    """
    alpha, eta = np.exp(log_h)
    corpus, K = pool.corpus, pool.priors.n_components
    return bool(K * max(eta * corpus.n_features, alpha * corpus.n_documents) > corpus.n_tokens)


def _say(pool, found):
    (alpha, eta), errors = found.maximum.h, np.sqrt(np.diag(found.maximum.monte_carlo))
    pool.run.progress.say(
        f"{found.n_at.sum()} draws at {len(found.points)} points: doc_topic_prior {alpha:.4g}, topic_word_prior "
        f"{eta:.4g}; Monte Carlo errors of their logarithms {errors[0]:.2g} and {errors[1]:.2g}"
    )
