"""m(h) from a skeleton: a few fixed points h around its maximum, each swept by every chain.

A round sweeps every chain at nine points: the centre, and 1.25 and 2.5 standard deviations of log alpha and of log eta
to either side. On large corpora chains mix slowly, and have longer visits of the five inner points. Reverse logistic
regression of all draws gives log m(h), its maximum and its curvature. Longer rounds follow around the last maximum,
until the maximum is precise or `max_iter` sweeps were made. Draws are used together, except for those of the first
round, which only places the points. If the maximum does not lie between the inner points, Gibbs-EM goes on first; the
error of a last maximum of this kind contains its distance from the centre. If chains disagree, each has a curve of its
own, and `modes` weighs them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from sklda._core.count_histograms import CountHistograms
from sklda._core.gibbs_em import MStep
from sklda._models.empirical_bayes.batch_means import Batches
from sklda._models.empirical_bayes.chain_pool import EM_SWEEPS, LEARNING, ChainPool
from sklda._models.empirical_bayes.convergence import LARGEST_R_HAT, unranked_r_hat
from sklda._models.empirical_bayes.marginal_likelihood import FEWEST_EFFECTIVE, AveragedCurve, Curve
from sklda._models.empirical_bayes.maximum import Maximum
from sklda._models.empirical_bayes.prior_steps import with_step
from sklda._models.empirical_bayes.settings import MOST_SEARCHED
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
    """Visits of a chain to fixed points, log h of shape (n_points, 2), in a given order of them.

    At each point `n_draws` draws are kept, after `n_left_out` sweeps.
    """

    def __init__(self, points: np.ndarray, order: np.ndarray, n_draws: int, n_left_out: int) -> None:
        self.points = points
        self.order = order
        self.n_left_out = n_left_out
        self.length = n_left_out + n_draws * _EVERY
        self.n_sweeps = 0
        # The draws, and the point of each.
        self.draws: list[CountHistograms] = []
        self.at: list[int] = []

    @property
    def _point(self):
        return self.order[min(self.n_sweeps // self.length, len(self.order) - 1)]

    def begin(self, chain):
        MStep().set(chain, self.points[self._point])

    def after(self, chain, stop):
        """Keep the draw of a chain, or not; go to the next point at the end of a visit."""
        before = self._point
        passed = self.n_sweeps % self.length - self.n_left_out
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
    """m(h) from draws at the points."""

    points: np.ndarray  # log h of all rounds, (n_points, 2)
    draws: list  # a `CountHistograms` of every chain that has draws
    at: list  # the points of these draws, an array (n_draws,) for every chain
    region: tuple  # the box in which the maximum was searched, a pair of (float, float)
    curve: Curve | AveragedCurve  # averaged if chains disagree
    maximum: Maximum
    # The centre of the last round, and the distances of its inner points from it, (2,). None and zero if a point has no
    # draws.
    centre: np.ndarray | None
    reach: np.ndarray | float

    @classmethod
    def of(
        cls, rounds: list[list[Visits]], region: tuple, centre: np.ndarray | None, reach: np.ndarray | float
    ) -> Self:
        """From rounds, each with the `Visits` of all chains."""
        points = np.concatenate([visits[0].points for visits in rounds])
        # The points of a round come after those of the rounds before.
        starts = np.cumsum([0, *(len(visits[0].points) for visits in rounds[:-1])])
        draws, at = [], []
        for of_chain in zip(*rounds, strict=True):
            own = [draw for visits in of_chain for draw in visits.draws]
            if own:
                draws.append(CountHistograms.stack(own))
                own_at = [start + np.array(visits.at, int) for start, visits in zip(starts, of_chain, strict=True)]
                at.append(np.concatenate(own_at))
        if len(np.unique(np.concatenate(at))) < len(points):
            centre = None
            reach = 0.0
        curve = Curve.at_points(
            CountHistograms.stack(draws),
            np.concatenate(at),
            points,
            # A batch is the visit of a chain to a point, or a third of it if there is one chain.
            Batches.of_visits(at, 1 if len(at) > 1 else 3),
        )
        found = cls(
            points=points,
            draws=draws,
            at=at,
            region=region,
            curve=curve,
            maximum=Maximum.of(curve, region, centre, reach),
            centre=centre,
            reach=reach,
        )
        overlap = curve.effective_weights(found.maximum.log_h) >= FEWEST_EFFECTIVE
        return found if overlap or len(at) < 2 else found.averaged(np.ones(len(at)))

    @cached_property
    def r_hat(self):
        """Those of the two derivatives of log p(w, z | h) at the maximum, (2,)."""
        return unranked_r_hat(self.score_series())

    @property
    def mixed(self):
        """Whether R-hat is small. If not, the draws of all chains together say too little about the errors."""
        return bool(self.r_hat.max() <= LARGEST_R_HAT)

    @cached_property
    def agree(self):
        """Whether chains have one curve, and their scores differ by no more than visits of points explain (p = .01).

        Chains in one mode have deviations that are independent from visit to visit; chains in different modes do not.
        """
        curve = self.curve
        n_chains = len(self.at)
        if isinstance(curve, AveragedCurve):
            return False
        if n_chains < 2:
            return True
        terms = curve.score_terms(self.maximum.log_h)
        chains = curve.batches.chain_sums(terms)
        visits = curve.batches.sums(terms)
        # Hotelling's T squared, whose covariance is an estimate with the degrees of freedom of the batches.
        shrink = max(1 - (len(chains.T) + 1) / curve.batches.freedom, 0.1)
        q = shrink * n_chains * np.einsum("ci,ij,cj->", chains, np.linalg.pinv(visits.T @ visits), chains)
        return bool(chi2.sf(q, chains.shape[1] * (n_chains - 1)) >= 0.01)

    def averaged(self, weights: ArrayLike) -> Self:
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
        at = np.concatenate(self.at)
        n_at = np.maximum(self.n_at, 1)
        means = np.stack([np.bincount(at, each, len(n_at)) / n_at for each in np.concatenate(scores).T], axis=1)
        return [each - means[own] for each, own in zip(scores, self.at, strict=True)]


def find_maximum(
    pool: ChainPool,
    log_h: np.ndarray,
    *,
    reserved: int,
    error_ratio: float,
    several_modes: bool = False,
    settled: bool = False,
) -> Skeleton:
    """Rounds until the maximum is precise, or until only `reserved` sweeps of every chain are left.

    The first round is around `log_h`. It only places the points, unless chains have `settled` or the sweeps do not
    suffice for another one. If `error_ratio`, see `Settings`, is infinite, one round is enough if the maximum lies
    between its points. If chains begin in several modes, more sweeps than those of the second round do not help.
    """
    # Visits of chains that mix slowly must be long, so large corpora have only the inner points.
    steps = _STEPS if pool.corpus.n_tokens <= MOST_SEARCHED else _STEPS[:1]
    n_points = 1 + 4 * len(steps)
    learns = np.isfinite(error_ratio) and pool.corpus.n_tokens >= LEAST_TOKENS
    on_their_way = learns and not settled
    centre = np.clip(log_h, *np.log(pool.settings.region).T)
    found: Skeleton | None = None
    rounds: list[list[Visits]] = []
    n_draws = _FIRST_DRAWS
    n_moves = 0
    is_first = True
    while True:
        # How long a round can be.
        left = pool.left - reserved
        most = _most_draws(left // n_points)
        if found is not None and most < _fewest_draws(n_draws, error_ratio):
            return found
        if is_first and not settled and most < (1 + _LONGER / 2) * n_draws:
            # Sweeps that do not suffice for two rounds are those of one.
            n_draws = most
        n_draws = min(n_draws, most)

        # The round.
        deviations = _deviations(pool, centre, found)
        visits, region = _round(pool, centre, deviations, steps, max(n_draws, 1), left)
        rounds.append(visits)
        found = Skeleton.of(rounds, region, centre, _STEPS[0] * deviations)
        one_mode = found.agree and not several_modes
        _say(pool, found)

        # The end.
        if pool.all_ended or (error_ratio > 0 and no_topics(pool, found.maximum.log_h)):
            return found
        moves = found.outside and n_moves < _MOST_MOVES
        if found.outside and not moves:
            # With so many moves behind, log m has no maximum between points.
            return found
        if not moves and not (is_first and on_their_way) and _enough(found, error_ratio, is_first, one_mode):
            return found

        # The next round: around the last maximum, and with the draws that its precision needs.
        if moves:
            n_moves += 1
            rounds = []
            centre = _moved_centre(pool, found, n_moves, reserved, n_points, n_draws, learns)
            continue
        centre = found.maximum.log_h
        if is_first:
            # Chains are on their way to their posterior distribution: this round only places the points.
            rounds = []
            n_draws = _LONGER * n_draws
            is_first = False
        else:
            n_draws = _needed_draws(found, error_ratio, one_mode, n_points)


def _moved_centre(
    pool: ChainPool, found: Skeleton, n_moves: int, reserved: int, n_points: int, n_draws: int, learns: bool
) -> np.ndarray:
    """Where the next round is if the maximum lies outside the inner points.

    Chains have not reached their posterior distribution, and get there faster if h moves with them. So Gibbs-EM goes
    on, longer with every move, if sweeps for a round of half the length are left after it.
    """
    left = pool.left - reserved
    n_learn = min(2**n_moves * LEARNING, left // 3) if learns else 0
    if n_learn >= EM_SWEEPS and _most_draws((left - n_learn) // n_points) >= n_draws / 2:
        return pool.learn(n_learn)
    return found.maximum.log_h


def _needed_draws(found: Skeleton, error_ratio: float, one_mode: bool, n_points: int) -> int:
    """Draws of the next visits: what the error needs, but at least half as many and at most three times those so far.

    The spread between chains in different modes needs no more.
    """
    n_so_far = len(found.at[0]) / n_points
    excess = found.maximum.excess_error(error_ratio) if one_mode else 0.0
    return int(np.ceil((np.clip(excess**2, 1.5, 4) - 1) * n_so_far))


def _fewest_draws(n_draws: int, error_ratio: float) -> float:
    """Draws of a visit below which another round is not worth its sweeps; without `error_ratio`, it takes all."""
    half = n_draws / 2
    return max(half if error_ratio else min(half, _FIRST_DRAWS), 1)


def _most_draws(n_sweeps: int) -> int:
    """Draws of a visit of so many sweeps, of which the first fifth is not used."""
    return (n_sweeps - n_sweeps // 5) // _EVERY


def _round(
    pool: ChainPool, centre: np.ndarray, deviations: np.ndarray, steps: tuple, n_draws: int, most: int
) -> tuple[list[Visits], tuple]:
    """Visits of every chain to every point, with `n_draws` draws each but at most `most` sweeps; and the box around."""
    low, high = np.log(pool.settings.region).T
    on_axis = np.sort([0, *steps, *np.negative(steps)])
    along_alpha = [(step, 0) for step in on_axis]
    along_eta = [(0, step) for step in on_axis if step]
    points = np.clip(centre + np.array(along_alpha + along_eta) * deviations, low, high)
    # The maximum is searched in a box of four standard deviations to either side.
    ends = np.clip([centre - 4 * deviations, centre + 4 * deviations], low, high)
    region = tuple((float(a), float(b)) for a, b in np.exp(ends.T))
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
    return pool.steps, region


def _deviations(pool: ChainPool, centre: np.ndarray, found: Skeleton | None) -> np.ndarray:
    """Standard deviations of log alpha and log eta: by the curvature of log m if it is known, but not too large."""
    draws = CountHistograms.stack([CountHistograms.of(chain) for chain in pool.chains])
    alpha, eta = np.exp(centre[:1]), np.exp(centre[1:])
    curvature_given_z = -np.array([draws.doc_part(alpha, 2).mean(), draws.word_part(eta, 2).mean()])
    longest = np.ptp(np.log(pool.settings.region), axis=1) / 8
    largest = np.minimum(_WIDEST / np.sqrt(np.maximum(curvature_given_z, 1e-300)), longest)
    if found is None:
        return largest
    curvature = -np.diag(found.maximum.hessian)
    return np.minimum(1 / np.sqrt(np.maximum(curvature, 1e-300)), largest)


def _enough(found: Skeleton, error_ratio: float, is_first: bool, one_mode: bool) -> bool:
    """Whether more sweeps are not needed, or do not help: chains that disagree in a long round stay in their modes."""
    if error_ratio == 0:
        return False
    one_curve = one_mode and found.mixed
    precise = found.maximum.excess_error(error_ratio) <= 1 and (one_curve or not np.isfinite(error_ratio))
    return precise or not (is_first or one_mode)


def no_topics(pool: ChainPool, log_h: np.ndarray) -> bool:
    """Whether there are no topics to find: K V eta or K D alpha is larger than the number of tokens.

    With so large priors, topics or documents are nearly equal. With a limit twice as high, fits of noise cost up to 1.7
    times as much; with half of it, a fit of a simulated corpus with 20 topics ended too early.
    """
    alpha, eta = np.exp(log_h)
    corpus = pool.corpus
    counts_of_prior = pool.priors.n_components * max(eta * corpus.n_features, alpha * corpus.n_documents)
    return bool(counts_of_prior > corpus.n_tokens)


def _say(pool: ChainPool, found: Skeleton) -> None:
    alpha, eta = found.maximum.h
    errors = np.sqrt(np.diag(found.maximum.monte_carlo))
    pool.run.progress.say(
        f"{found.n_at.sum()} draws at {len(found.points)} points: doc_topic_prior {alpha:.4g}, topic_word_prior "
        f"{eta:.4g}; Monte Carlo errors of their logarithms {errors[0]:.2g} and {errors[1]:.2g}"
    )
