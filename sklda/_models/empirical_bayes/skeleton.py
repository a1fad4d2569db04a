"""m(h) from a skeleton: a few fixed points h around its maximum, each swept by every chain.

A round sweeps every chain at nine points: the centre, and 1.25 and 2.5 standard deviations of log alpha and of log eta
to either side. On large corpora chains mix slowly, and have longer visits of the five inner points. Reverse logistic
regression of all draws gives log m(h), its maximum and its curvature. Longer rounds follow around the last maximum,
until the maximum is precise or `max_iter` sweeps were made. Draws are used together, except for those of the first
round, which only places the points. If the maximum does not lie between the inner points, Gibbs-EM goes on first; the
error of a last maximum of this kind contains its distance from the centre. If chains disagree, each has a curve of its
own, and `modes` weighs them.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

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
from sklda._sampling.prior_learning import learns_from
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
    centre = np.clip(log_h, *np.log(pool.settings.region).T)
    rounds = _Rounds(pool, centre, reserved, error_ratio, several_modes)

    # Short rounds place the points.
    if not rounds.until_inside(may_be_last=not settled):
        return rounds.found
    if (settled or not rounds.learns) and rounds.precise:
        return rounds.found

    # The draws of longer ones are used together.
    rounds.begin_again(rounds.found.maximum.log_h, _LONGER * rounds.n_draws)
    while rounds.until_inside():
        # Chains that disagree in a long round stay in their modes.
        if rounds.precise or (error_ratio > 0 and not rounds.one_mode):
            break
        rounds.centre = rounds.found.maximum.log_h
        rounds.n_draws = rounds.needed_draws()
    return rounds.found


@dataclass(eq=False)
class _Rounds:
    """Rounds of visits around a centre, which follows the maximum, and the skeleton by them."""

    pool: ChainPool
    centre: np.ndarray  # log h, (2,)
    reserved: int  # sweeps of every chain that must be left
    error_ratio: float
    several_modes: bool
    n_draws: int = _FIRST_DRAWS  # of a visit, in the next round
    n_moves: int = 0  # times that the centre has followed a maximum away from its points
    kept: list[list[Visits]] = field(default_factory=list)  # the rounds whose draws are used
    found: Any = None  # the `Skeleton` by them

    def until_inside(self, may_be_last: bool = False) -> bool:
        """Make rounds until the maximum lies between the inner points; False if they end before that.

        With `may_be_last`, sweeps that do not suffice for two rounds are those of one.
        """
        while self.found is None or self.most_draws(self.left) >= self.fewest_draws:
            if may_be_last and self.most_draws(self.left) < (1 + _LONGER / 2) * self.n_draws:
                self.n_draws = self.most_draws(self.left)
            self.make()
            if self.pool.all_ended or (self.error_ratio > 0 and no_topics(self.pool, self.found.maximum.log_h)):
                return False
            if not self.found.outside:
                return True
            if self.n_moves == _MOST_MOVES:
                # With so many moves behind, log m has no maximum between points.
                return False
            self.follow()
        return False

    def make(self) -> None:
        """Make a round: visits of every chain to every point, and the skeleton with them."""
        self.n_draws = min(self.n_draws, self.most_draws(self.left))
        deviations = _deviations(self.pool, self.centre, self.found)
        low, high = np.log(self.pool.settings.region).T
        on_axis = np.sort([0, *self.steps, *np.negative(self.steps)])
        along_alpha = [(step, 0) for step in on_axis]
        along_eta = [(0, step) for step in on_axis if step]
        points = np.clip(self.centre + np.array(along_alpha + along_eta) * deviations, low, high)
        self._visit(points, max(self.n_draws, 1))
        # The maximum is searched in a box of four standard deviations to either side.
        ends = np.clip([self.centre - 4 * deviations, self.centre + 4 * deviations], low, high)
        region = tuple((float(a), float(b)) for a, b in np.exp(ends.T))
        self.found = Skeleton.of(self.kept, region, self.centre, _STEPS[0] * deviations)
        _say(self.pool, self.found)

    def _visit(self, points, n_draws):
        """Keep `n_draws` draws of every chain at each of the points, or fewer if too few sweeps are left."""
        pool, left = self.pool, self.left
        # The first fifth of a visit is not used.
        n_left_out = n_draws * _EVERY // 4
        # Chains visit the points from one end to the other, half of them in either direction, so that what is left of
        # earlier visits cancels.
        orders = [np.roll(np.arange(len(points)), -c)[:: (-1) ** c] for c in range(len(pool.chains))]
        visits = [Visits(points, order, n_draws, n_left_out) for order in orders]
        pool.chains = [with_step(chain, each) for chain, each in zip(pool.chains, visits, strict=True)]
        pool.sweep(max(min((n_draws * _EVERY + n_left_out) * len(points), left), 1))
        if not any(step.draws for step in pool.steps):
            # A callback has ended the chains before their first draw.
            for chain in pool.chains:
                chain.steps[0].keep(chain)
        self.kept.append(pool.steps)

    def follow(self) -> None:
        """Move to the maximum, which lies outside the inner points.

        Chains have not reached their posterior distribution, and get there faster if h moves with them. So Gibbs-EM
        goes on, longer with every move, if sweeps for a round of half the length are left after it.
        """
        self.n_moves += 1
        n_learn = min(2**self.n_moves * LEARNING, self.left // 3) if self.learns else 0
        enough = n_learn >= EM_SWEEPS and self.most_draws(self.left - n_learn) >= self.n_draws / 2
        self.begin_again(self.pool.learn(n_learn) if enough else self.found.maximum.log_h, self.n_draws)

    def begin_again(self, centre: np.ndarray, n_draws: int) -> None:
        """Go on elsewhere, without the draws so far: chains were on their way to their posterior distribution."""
        self.centre, self.n_draws, self.kept = centre, n_draws, []

    @property
    def learns(self) -> bool:
        """Whether chains learn h by Gibbs-EM."""
        return bool(np.isfinite(self.error_ratio)) and learns_from(self.pool.corpus.n_tokens)

    @property
    def steps(self) -> tuple[float, ...]:
        """Visits of chains that mix slowly must be long, so large corpora have only the inner points."""
        return _STEPS if self.pool.corpus.n_tokens <= MOST_SEARCHED else _STEPS[:1]

    @property
    def left(self) -> int:
        """Sweeps of every chain."""
        return self.pool.left - self.reserved

    def most_draws(self, n_sweeps: int) -> int:
        """Draws of a visit in a round of so many sweeps. The first fifth of a visit is not used."""
        n_sweeps //= 1 + 4 * len(self.steps)
        return (n_sweeps - n_sweeps // 5) // _EVERY

    @property
    def fewest_draws(self) -> float:
        """Draws of a visit below which another round is not worth its sweeps; without `error_ratio`, it takes all."""
        half = self.n_draws / 2
        return max(half if self.error_ratio else min(half, _FIRST_DRAWS), 1)

    def needed_draws(self) -> int:
        """Draws of the next visits: what the error needs, but at least half as many and at most three times so many.

        The spread between chains in different modes needs no more.
        """
        n_so_far = len(self.found.at[0]) / (1 + 4 * len(self.steps))
        excess = self.found.maximum.excess_error(self.error_ratio) if self.one_mode else 0.0
        return int(np.ceil((np.clip(excess**2, 1.5, 4) - 1) * n_so_far))

    @property
    def one_mode(self) -> bool:
        return self.found.agree and not self.several_modes

    @property
    def precise(self) -> bool:
        """Whether the error is small enough, and known: chains are in one mode, and mix."""
        known = not np.isfinite(self.error_ratio) or (self.one_mode and self.found.mixed)
        return known and self.found.maximum.excess_error(self.error_ratio) <= 1


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
