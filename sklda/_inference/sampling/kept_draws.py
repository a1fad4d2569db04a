"""The draws of a chain that were kept, with the priors of each."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sklda._inference.priors import Priors


@dataclass(frozen=True, eq=False)
class KeptDraws:
    """The last draws of z of one chain, at least one.

    Attributes
    ----------
    priors : Priors
        The priors of all draws. A subclass can have another alpha in each draw.
    topics : sequence of ndarray of shape (n_tokens,)
        The topics of all tokens in each draw.
    """

    priors: Priors
    topics: Any

    def __len__(self) -> int:
        return len(self.topics)

    def priors_at(self, index: int) -> Priors:
        """The priors of one draw."""
        return self.priors

    def alpha_at(self, index: int, first: int, last: int) -> np.ndarray:
        """alpha in one draw, of the documents from `first` to `last`, (1 or n_documents, n_components)."""
        return self.priors.doc[first:last] if len(self.priors.doc) > 1 else self.priors.doc

    def mean_alpha(self) -> np.ndarray:
        """Mean of alpha over the draws, (1 or n_documents, n_components)."""
        return self.priors.doc

    def last(self, n_draws: int) -> Self:
        """The last draws only."""
        return replace(self, topics=self.topics[-n_draws:])
