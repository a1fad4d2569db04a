"""The region of the grid, and the first state of the chains on it."""

from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.hyperparameters.mode_search import ModeSearch, search_modes
from sklda._inference.hyperparameters.subsampling import find_region


@dataclass(frozen=True, eq=False)
class Placement:
    """The region of the grid, and the result of the mode search.

    Attributes
    ----------
    region : pair of (float, float)
        The region of the grid.
    modes : ModeSearch or None
        None if the region comes from subsampling; chains then begin with random topics.
    """

    region: tuple
    modes: ModeSearch | None = None

    @property
    def curve(self):
        """A first estimate of m(h), or None."""
        return None if self.modes is None else self.modes.curve

    @property
    def in_equilibrium(self):
        """Whether chains are known to have reached the posterior of (h, z)."""
        return self.modes is not None and self.modes.agree

    @property
    def separate_modes(self):
        """Whether chains are known to be in separate modes."""
        return self.modes is not None and not self.modes.agree

    @property
    def no_topics(self):
        """Whether there are no topics to find."""
        return self.modes is not None and self.modes.no_topics

    @property
    def log_evidence(self):
        """Log evidence of every initialisation that was screened, in nats; empty if none was."""
        return np.empty(0) if self.modes is None else self.modes.log_evidence

    @property
    def log_evidence_std(self):
        """Standard deviation of the logarithm of a run; NaN if there was none."""
        return np.nan if self.modes is None else self.modes.log_evidence_std


def place(pool):
    """Choose the region of the grid, and give a pool its first chains.

    Parameters
    ----------
    pool : ChainPool

    Returns
    -------
    Placement
    """
    seed, settings = random.child(pool.seed, 0), pool.settings
    if settings.tempering.grid == "subsampling" and not settings.grid_is_region:
        region = find_region(pool, seed)
        pool.initialise(seed)
        return Placement(region)
    modes = search_modes(pool, seed)
    pool.chains = modes.chains
    return Placement(settings.region if settings.grid_is_region else modes.region, modes)
