"""Lengths and numbers of the runs that estimate the evidence of numbers of topics."""

from dataclasses import dataclass

from sklda._inference.evidence.annealing import GUIDE_SWEEPS
from sklda._inference.evidence.estimates import ANNEALED, SMALL_CORPUS, sweeps_of_chain, uses_both

# Temperatures of an annealing run; on a small corpus annealing from the prior has ten times as many. A scan makes
# longer runs if these do not suffice.
_TEMPERATURES, _TEMPERATURES_OF_SMALL = 300, 100
# Temperatures of a look, those on a small corpus, and sweeps of its initialisation.
_LOOK_TEMPERATURES, _SMALL_LOOK_TEMPERATURES, _LOOK_ANNEAL = 20, 50, 100
# The fewest sweeps of a look at one number of topics.
LEAST_LOOK = 4
# Sweeps for each number of topics from which on a short scan looks at one more.
_SWEEPS_OF_ONE = 16


@dataclass(frozen=True)
class Settings:
    """How the evidence of one number of topics is estimated.

    Attributes
    ----------
    method : str
        One of `estimates.METHODS`.
    n_temperatures : int
        Temperatures of an annealing run of full length.
    n_runs : int
        Runs from each chain.
    n_inner : int
        Sweeps of one estimate, for methods that do not anneal.
    """

    method: str
    n_temperatures: int
    n_runs: int
    n_inner: int

    @classmethod
    def for_scan(cls, corpus, method, n_temperatures, n_runs, n_inner):
        """Settings of a scan; `n_temperatures` None: 300, or 100 for up to 5,000 tokens."""
        if n_temperatures is None:
            n_temperatures = _TEMPERATURES_OF_SMALL if corpus.n_tokens <= SMALL_CORPUS else _TEMPERATURES
        return cls(method, n_temperatures, n_runs, n_inner)

    @classmethod
    def for_pmmh(cls, method, n_temperatures, n_runs, n_inner):
        """Settings of pseudo-marginal Metropolis-Hastings; `n_temperatures` None: 300."""
        return cls(method, _TEMPERATURES if n_temperatures is None else n_temperatures, n_runs, n_inner)


@dataclass(frozen=True)
class Look:
    """The first runs at a number of topics.

    Attributes
    ----------
    n_chains : int
    anneal_sweeps : int
        Sweeps of initialisation of a chain, if it is annealed.
    temperatures : tuple of int
        Temperatures of the runs of a chain; for methods that do not anneal only the number of runs is used.
    n_inner : int
        Sweeps of one estimate, for methods that do not anneal.
    guide_sweeps : int
    also_prior_ais, upper : bool
        See `estimates.estimate`.
    """

    n_chains: int
    anneal_sweeps: int
    temperatures: tuple
    n_inner: int
    guide_sweeps: int = GUIDE_SWEEPS
    also_prior_ais: bool = True
    upper: bool = False

    @classmethod
    def of(cls, corpus, settings, n_chains):
        """The look with these settings."""
        n = min(_LOOK_TEMPERATURES, settings.n_temperatures)
        if uses_both(corpus, settings.method):
            # Annealing from the prior has small errors, which two runs tell.
            temperatures = (min(_SMALL_LOOK_TEMPERATURES, settings.n_temperatures),) * 2
        elif settings.method == "guided_ais":
            temperatures = (n,)
        elif settings.method in ANNEALED:
            temperatures = (max(n // 2, 1), n)
        else:
            temperatures = (0,) * settings.n_runs
        upper = settings.method == "guided_ais" and len(temperatures) == 1
        return cls(n_chains, _LOOK_ANNEAL, temperatures, settings.n_inner, upper=upper)

    @classmethod
    def within(cls, settings, n_sweeps):
        """A look of one chain that takes at most `n_sweeps` sweeps, which are at least four."""
        guide, inner = max(n_sweeps // 8, 1), settings.n_inner
        if settings.method == "guided_ais":
            n = min(max((n_sweeps - guide - 1) // 5, 1), settings.n_temperatures)
            temperatures, used = (n,), guide + 2 * n + 1
        elif settings.method in ANNEALED:
            n = min(max((n_sweeps - 2) // 2, 1), settings.n_temperatures)
            temperatures, used = (max(n // 2, 1), n), max(n // 2, 1) + n + 2
        else:
            inner = min(inner, max(n_sweeps // 2, 2))
            temperatures, used = (0,), inner
        return cls(
            1, min(n_sweeps - used, _LOOK_ANNEAL), temperatures, inner, guide, False, settings.method == "guided_ais"
        )

    def options(self, settings):
        """Arguments of `estimates.estimate` and of `estimates.sweeps_of_chain`."""
        return {
            "method": settings.method,
            "temperatures": list(self.temperatures),
            "n_inner": self.n_inner,
            "also_prior_ais": self.also_prior_ais,
            "upper": self.upper,
            "guide_sweeps": self.guide_sweeps,
        }

    def sweeps(self, corpus, settings):
        """Sweeps of the runs at one number of topics."""
        return self.n_chains * sweeps_of_chain(corpus, **self.options(settings))


def short_scan(settings, counts, n_sweeps, start_sweeps):
    """A `Look` and some of `counts`, for a scan of so few sweeps that pruning would take too many of them.

    `start_sweeps` are taken at each number of topics before its look.
    """
    n_counts = min(len(counts), max(n_sweeps // (_SWEEPS_OF_ONE + start_sweeps), 1))
    share = n_sweeps // n_counts - start_sweeps
    if share >= 2 * _SWEEPS_OF_ONE:
        # The other half is for looks at numbers of topics between the best of these.
        share = max(share // 2, _SWEEPS_OF_ONE)
    chosen = sorted({counts[i * (len(counts) - 1) // max(n_counts - 1, 1)] for i in range(n_counts)})
    return Look.within(settings, share), chosen
