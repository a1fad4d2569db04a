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
        The priors of all draws. A subclass can have another alpha in each draw, see `_alpha`.
    topics : sequence of ndarray of shape (n_tokens,)
        The topics of all tokens in each draw.
    """

    priors: Priors
    topics: Any

    def __len__(self) -> int:
        return len(self.topics)

    def _alpha(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of alpha in one draw, and the row of each document, as in `Priors`."""
        return self.priors.doc, self.priors.row_of

    def priors_at(self, index: int) -> Priors:
        """The priors of one draw."""
        doc, row_of = self._alpha(index)
        return replace(self.priors, doc=doc, row_of=row_of)

    def mean_priors(self) -> Priors:
        """The priors with the mean of alpha over the draws."""
        first = self.priors_at(0)
        if first.doc is self.priors.doc:
            return first
        total = np.zeros_like(first.doc)
        for i in range(len(self)):
            total += self._alpha(i)[0]
        return replace(first, doc=total / len(self))

    def last(self, n_draws: int) -> Self:
        """The last draws only."""
        return replace(self, topics=self.topics[-n_draws:])
