"""Lengths and numbers of the runs that estimate the evidence of numbers of topics."""

from dataclasses import dataclass

from sklda._inference.evidence.estimates import SMALL_CORPUS

# Temperatures of an annealing run; in scans of a small corpus more, because its posterior is broad and sweeps are fast.
_TEMPERATURES, _TEMPERATURES_OF_SMALL = 300, 1200
# Sweeps after which a scan begins no new round: the first number, or on a small corpus as many sweeps as draw the
# second number of tokens, in about 30 CPU seconds.
_MAX_SWEEPS, _MAX_TOKENS = 50_000, 3 * 10**8


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
        """Settings of a scan; `n_temperatures` None: 300, or 1,200 for up to 5,000 tokens."""
        if n_temperatures is None:
            n_temperatures = _TEMPERATURES_OF_SMALL if corpus.n_tokens <= SMALL_CORPUS else _TEMPERATURES
        return cls(method, n_temperatures, n_runs, n_inner)

    @classmethod
    def for_pmmh(cls, method, n_temperatures, n_runs, n_inner):
        """Settings of pseudo-marginal Metropolis-Hastings; `n_temperatures` None: 300."""
        return cls(method, _TEMPERATURES if n_temperatures is None else n_temperatures, n_runs, n_inner)


def default_max_sweeps(corpus):
    """Sweeps after which a scan begins no new round, by default."""
    return max(_MAX_SWEEPS, _MAX_TOKENS // corpus.n_tokens)
