"""The draws of a chain that were kept, with the priors of each."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sklda._inference.priors import Priors
from sklda._inference.sampling.steps import Draw, Step


@dataclass(frozen=True, eq=False)
class KeptDraws:
    """The last draws of one chain, at least one.

    Attributes
    ----------
    priors : Priors
        The priors of all draws, but for an alpha that a step draws.
    draws : list of Draw
    steps : tuple of Step
        Those of the chain.
    """

    priors: Priors
    draws: list[Draw]
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, priors: Priors, topics: Any) -> Self:
        """Draws of z to which nothing is added."""
        return cls(priors, [Draw(i, z, {}) for i, z in enumerate(topics)])

    def __len__(self) -> int:
        return len(self.draws)

    @property
    def topics(self) -> list[Any]:
        """The topics of all tokens in each draw, (n_tokens,)."""
        return [draw.topics for draw in self.draws]

    def added(self, name: str) -> np.ndarray:
        """What a step has added to the draws, (n_draws, ...)."""
        return np.array([draw.added[name] for draw in self.draws])

    def _alpha(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of alpha in one draw, and the row of each document, as in `Priors`."""
        found = [step.alpha_of(self.draws[index].added) for step in self.steps]
        return next((each for each in found if each is not None), (self.priors.doc, self.priors.row_of))

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

    def step(self, kind: type) -> Any:
        """The step of a class."""
        return next(step for step in self.steps if isinstance(step, kind))

    def last(self, n_draws: int) -> Self:
        """The last draws only."""
        return replace(self, draws=self.draws[-n_draws:])
