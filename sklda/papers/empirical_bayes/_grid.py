"""Chains on (h, z), h = (alpha, eta) on a grid: serial tempering (George & Doss 2018, section 2.3) and full Bayes.

Both have the target p(w, z | h_j) / zeta_j over grid points j. With zeta = 1 the prior of h is uniform on the grid:
full Bayes by griddy Gibbs (section 6). With zeta_j near m(h_j) all points are visited equally often: serial tempering.
"""

import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.count_histograms import CountHistograms
from sklda._core.priors import Priors
from sklda._models.empirical_bayes.prior_steps import with_step
from sklda._sampling.steps import Step
from sklda.papers.empirical_bayes._dirichlet import dirichlet_log_density


@dataclass(frozen=True, eq=False)
class DirichletDraws:
    """The statistics of draws of (theta, beta) in log nu_h(theta, beta), with the interface of `CountHistograms`.

    The paper's own ratio (equation 2.2), where theta and beta are drawn and not integrated out.
    """

    n_documents: int
    n_components: int
    n_features: int
    # Sums over all entries of log theta and of log beta, (n_draws,).
    log_theta: np.ndarray
    log_beta: np.ndarray

    @classmethod
    def stack(cls, parts):
        return replace(
            parts[0],
            log_theta=np.concatenate([part.log_theta for part in parts]),
            log_beta=np.concatenate([part.log_beta for part in parts]),
        )

    def __len__(self):
        return len(self.log_theta)

    def word_part(self, eta, order=0):
        """log density of beta, or its derivative of that order with respect to log eta; (n_draws, n_etas)."""
        return dirichlet_log_density(eta, self.n_components, self.n_features, self.log_beta, order)

    def doc_part(self, alpha, order=0):
        """log density of theta, or its derivative of that order with respect to log alpha; (n_draws, n_alphas)."""
        return dirichlet_log_density(alpha, self.n_documents, self.n_components, self.log_theta, order)


class Observation(NamedTuple):
    """What is kept of a sweep."""

    # Indices of alpha and of eta on the grid.
    at: tuple
    counts: CountHistograms
    parameters: DirichletDraws | None
    # The functionals at the draw of theta and beta.
    values: list


class Grid:
    """Ascending values of alpha and eta, and log zeta at every pair."""

    def __init__(self, corpus: Corpus, n_components: int, alphas: ArrayLike, etas: ArrayLike) -> None:
        self.alphas = np.asarray(alphas, dtype=np.float64)
        self.etas = np.asarray(etas, dtype=np.float64)
        self.shape = (len(self.alphas), len(self.etas))
        self.log_zeta = np.zeros(self.shape)
        # What `priors` needs of each point.
        self._by_eta = [Priors.make(1.0, eta, n_components, corpus.n_features) for eta in self.etas]
        self._by_alpha = [np.full((1, n_components), alpha) for alpha in self.alphas]

    @classmethod
    def over(cls, corpus, n_components, region, shape):
        """Logarithmically spaced points over ((alpha_low, alpha_high), (eta_low, eta_high))."""
        of_alpha, of_eta = region
        n_alphas, n_etas = shape
        return cls(corpus, n_components, alphas=np.geomspace(*of_alpha, n_alphas), etas=np.geomspace(*of_eta, n_etas))

    def with_log_zeta(self, log_zeta):
        """The same points with another log zeta."""
        other = copy.copy(self)
        other.log_zeta = log_zeta
        return other

    @property
    def region(self):
        return (self.alphas[0], self.alphas[-1]), (self.etas[0], self.etas[-1])

    @property
    def points(self):
        """(alpha, eta) of every grid point, in the order of ``log_zeta.ravel()``; (n_points, 2)."""
        return np.stack(np.meshgrid(self.alphas, self.etas, indexing="ij"), axis=2).reshape(-1, 2)

    def priors(self, at):
        """`Priors` of the grid point ``at`` = (index of alpha, index of eta)."""
        return replace(self._by_eta[at[1]], doc=self._by_alpha[at[0]])

    def parts(self, draw):
        """log p(w, z | h) of one draw: a part for every alpha and a part for every eta, to be added."""
        return draw.doc_part(self.alphas)[0], draw.word_part(self.etas)[0]

    def neighbours(self, at):
        """The points at most one step away in either direction, without the point itself."""
        return [
            (i, j)
            for i in range(max(at[0] - 1, 0), min(at[0] + 2, self.shape[0]))
            for j in range(max(at[1] - 1, 0), min(at[1] + 2, self.shape[1]))
            if (i, j) != at
        ]


class GridPoints(Step):
    """Draws a grid point before every sweep, which then has its priors.

    The point is drawn from its full conditional, or, if `index` is "neighbours", by Metropolis-Hastings with uniform
    proposals among its neighbours (equation 2.8). If `augmented`, it is drawn given (theta, beta), as in the paper, and
    not given z alone. `functionals`, functions of (doc_topic, topic_word), are evaluated after every sweep. With a
    `gain`, log zeta moves after every sweep: by stochastic approximation with gain 1 / (gain + sweeps).
    """

    def __init__(
        self,
        grid: Grid,
        rng: np.random.Generator,
        *,
        index: str = "full_conditional",
        augmented: bool = False,
        functionals: tuple = (),
        gain: float | None = None,
    ) -> None:
        self.grid = grid
        self.rng = rng
        self.index = index
        self.augmented = augmented
        self.functionals = functionals
        self.gain = gain
        self.log_zeta = grid.log_zeta.copy()
        # The indices of alpha and of eta; None before the first sweep.
        self.at: tuple[int, int] | None = None
        # One for each sweep.
        self.observations: list[Observation] = []
        # Those of `Grid.parts`, for the present draw.
        self._parts: tuple[np.ndarray, np.ndarray] | None = None

    def state(self):
        other = super().state()
        other.rng = copy.deepcopy(self.rng)
        return other

    def before(self, chain):
        self.at = self._propose() if self.index == "neighbours" and self.at is not None else self._draw()
        chain.priors = self.grid.priors(self.at)

    def after(self, chain, stop):
        """Add the present draw to `observations`."""
        self.observe(chain)
        self._parts = self._parts_of(self.observations[-1])
        if self.gain is not None:
            moved = (self.log_zeta.size * self.conditional() - 1) / (self.gain + len(self.observations))
            self.log_zeta = self.log_zeta + moved

    def look(self, chain):
        """See the present draw of a chain, before its first sweep."""
        self._parts = self._parts_of(self._observation(chain))

    def observe(self, chain):
        """Add the present draw to `observations`."""
        self.observations.append(self._observation(chain))

    def conditional(self):
        """Probabilities of the grid points given the rest, (n_alphas, n_etas)."""
        of_alpha, of_eta = self._parts
        log_p = of_alpha[:, None] + of_eta - self.log_zeta
        p = np.exp(log_p - log_p.max())
        return p / p.sum()

    def _draw(self):
        running = np.cumsum(self.conditional().ravel())
        drawn = int(np.searchsorted(running, self.rng.random() * running[-1], side="right"))
        return divmod(min(drawn, len(running) - 1), self.grid.shape[1])

    def _propose(self):
        around = self.grid.neighbours(self.at)
        if not around:
            return self.at
        new = around[self.rng.integers(len(around))]
        log_ratio = np.log(len(around)) - np.log(len(self.grid.neighbours(new)))
        of_alpha, of_eta = self._parts
        for at, sign in ((new, 1), (self.at, -1)):
            log_ratio += sign * (of_alpha[at[0]] + of_eta[at[1]] - self.log_zeta[at])
        return new if np.log1p(-self.rng.random()) < log_ratio else self.at

    def _parts_of(self, seen):
        return self.grid.parts(seen.parameters if self.augmented else seen.counts)

    def _observation(self, chain):
        at = self.at or (0, 0)
        counts = CountHistograms.of(chain)
        if not (self.augmented or self.functionals):
            return Observation(at=at, counts=counts, parameters=None, values=[])
        K, V = chain.priors.shape
        log_theta = random.log_dirichlet(self.rng, chain.doc_topic_counts() + chain.priors.doc)
        log_beta = random.log_dirichlet(self.rng, chain.word_topic_counts[:, :K].T + chain.priors.topic_word())
        parameters = DirichletDraws(
            n_documents=chain.corpus.n_documents,
            n_components=K,
            n_features=V,
            log_theta=np.array([log_theta.sum()]),
            log_beta=np.array([log_beta.sum()]),
        )
        theta = np.exp(log_theta)
        beta = np.exp(log_beta)
        values = [float(functional(theta, beta)) for functional in self.functionals]
        return Observation(at=at, counts=counts, parameters=parameters, values=values)


def continue_on_grid(chain, grid, rng, **options):
    """Let a chain go on over a grid, with other random numbers than those of its stream; see `GridPoints`."""
    # Another chain may continue with the stream as well.
    chain.stream = rng.integers(2**64, size=4, dtype=np.uint64)
    step = GridPoints(grid, rng, **options)
    step.look(chain)
    return with_step(chain, step)
