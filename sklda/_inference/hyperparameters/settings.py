"""What an estimate of h = (eta, alpha) is to be made of: options, lengths, and how chains are swept."""

from dataclasses import dataclass, field

import numpy as np

from sklda._inference import random
from sklda._inference.hyperparameters.mode_search import wider
from sklda._inference.hyperparameters.serial_tempering import Grid, TemperedChain
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import run_chains

METHODS, EM_METHODS = ("serial_tempering", "full_bayes"), ("gibbs_em", "variational_em")

# Restarts of zeta, as in the paper, at most.
RESTARTS = 4


@dataclass(frozen=True)
class Options:
    """How serial tempering is done; the last value but for `estimator` is the paper's (George & Doss 2018).

    Attributes
    ----------
    ratio : {"collapsed", "augmented"}
        Ratios of p(w, z | h), or of nu_h(theta, beta, z) with theta and beta drawn after every sweep (equation 2.2).
    index : {"full_conditional", "neighbours"}
        How the grid point moves: from its full conditional, or by Metropolis-Hastings among neighbours (equation 2.8).
    tuning : {"stochastic_approximation", "restarts"}
        How zeta is found: adapted sweep by sweep, then frozen; or by runs from zeta = 1 (equation 2.16).
    grid : {"pilot", "subsampling"}
        Where the grid lies: around where short chains on (h, z) went, or by the iterative scheme of section 2.3 on a
        growing part of the documents.
    estimator : {"mixture", "component", "simple"}
        Equation 2.10, equation 2.17, or equation 2.1 from chains at one h. The weights of the last two have no
        variance at h far from the draw's own, so that over a wide grid their errors are understated.
    """

    ratio: str = "collapsed"
    index: str = "full_conditional"
    tuning: str = "stochastic_approximation"
    grid: str = "pilot"
    estimator: str = "mixture"

    ALLOWED = {
        "ratio": ("collapsed", "augmented"),
        "index": ("full_conditional", "neighbours"),
        "tuning": ("stochastic_approximation", "restarts"),
        "grid": ("pilot", "subsampling"),
        "estimator": ("mixture", "component", "simple"),
    }

    @classmethod
    def make(cls, given):
        """From None (the defaults), ``"paper"`` or a dict of some of the attributes."""
        if given is None:
            return cls()
        if isinstance(given, str) and given == "paper":
            return cls("augmented", "neighbours", "restarts", "subsampling", "mixture")
        if not isinstance(given, dict):
            raise TypeError(f"tempering must be None, 'paper' or a dict, got {given!r}.")
        for name, value in given.items():
            if name not in cls.ALLOWED:
                raise ValueError(f"tempering has no option {name!r}; its options are {sorted(cls.ALLOWED)}.")
            if value not in cls.ALLOWED[name]:
                raise ValueError(f"tempering[{name!r}] must be one of {cls.ALLOWED[name]}, got {value!r}.")
        return cls(**given)


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be run.

    Attributes
    ----------
    corpus : Corpus
    priors : Priors
        Where h starts; symmetric.
    region : pair of pairs of float
        The box of (eta, alpha) that is searched.
    placed : bool
        Whether the grid is that box, and not to be placed within it.
    options : Options
    functionals : tuple of callable
        Of (doc_topic, topic_word).
    n_tuning : int
        Sweeps of every chain to find the grid, to tune, and at the maximum.
    max_iter : int
        Sweeps of every chain that estimate m(h), at most.
    tol : float
        They end where the Monte Carlo errors of log h are below this share of the statistical ones.
    grid_shape : (int, int)
    n_chains : int
    seed : numpy.random.SeedSequence
    n_jobs : int or None
    listener : object or None
        As in `run_chains`; hears of all sweeps after the grid is placed.
    """

    corpus: object
    priors: Priors
    region: tuple
    placed: bool
    options: Options
    functionals: tuple
    n_tuning: int
    max_iter: int
    tol: float
    grid_shape: tuple
    n_chains: int
    seed: np.random.SeedSequence
    n_jobs: int | None
    listener: object | None
    ended: set = field(default_factory=set)

    def sweep(self, chains, n_sweeps):
        """The chains after `n_sweeps` more sweeps; those that the listener has ended stay as they are."""
        live = [c for c in range(len(chains)) if c not in self.ended]
        listener = None if self.listener is None else _Some(self.listener, live, self.ended)
        swept = run_chains([chains[c] for c in live], n_sweeps, n_jobs=self.n_jobs, listener=listener)
        result = list(chains)
        for c, chain in zip(live, swept, strict=True):
            result[c] = chain
        return result

    def grid(self, region, refined=1):
        if self.options.estimator == "simple":
            middle = np.sqrt([low * high for low, high in region])
            return Grid(self.corpus, self.priors.n_components, *middle[:, None])
        shape = [(n - 1) * refined + 1 for n in self.grid_shape]
        return Grid.over(self.corpus, self.priors.n_components, region, shape)

    def search(self, grid):
        """Where the maximum is looked for, given the grid."""
        wide = self.placed or self.options.estimator == "simple"
        return self.region if wide else wider(grid.region, self.region)

    def tempered(self, chains, grid, stage, gain=None):
        """The chains on (h, z), with nothing observed yet."""
        return [
            TemperedChain(
                chain,
                grid,
                np.random.default_rng(random.child(self.seed, 1, stage, c)),
                index=self.options.index,
                augmented=self.options.ratio == "augmented",
                functionals=self.functionals,
                gain=gain,
            )
            for c, chain in enumerate(chains)
        ]


def most_sweeps(method, options, n_tuning, max_iter):
    """The sweeps of a chain that a listener hears of, at most."""
    restarts = n_tuning * (RESTARTS - 1) if options.tuning == "restarts" else 0
    return {
        "serial_tempering": 2 * n_tuning + restarts + max_iter,
        "full_bayes": 2 * n_tuning + max_iter,
        "auto": 5 * n_tuning + restarts + max(max_iter - n_tuning, 0),
        "gibbs_em": n_tuning + max_iter,
        "variational_em": 2 * n_tuning,
    }[method]


class _Some:
    """A listener to some of the chains, who remembers which have ended."""

    def __init__(self, listener, live, ended):
        self.listener, self.live, self.ended = listener, live, ended

    def before(self, index):
        self.listener.before(self.live[index])

    def after(self, index, chain):
        if self.listener.after(self.live[index], chain):
            self.ended.add(self.live[index])
            return True
        return False
