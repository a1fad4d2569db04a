"""The prior of the topics: eta, given or learnt, with seed words and known topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from sklda._core.gibbs_em import BOUNDS, MStep, SeededMStep
from sklda._core.known_topic_priors import KnownMStep, KnownTopics
from sklda._core.priors import SMALLEST, Priors
from sklda._sampling.known_places import KnownPlaces
from sklda._sampling.prior_learning import DefaultPrior, learns_from
from sklda._sampling.seed_places import SeedPlaces
from sklda._sampling.seeded_state import SeedWords
from sklda._sampling.steps import Step


@dataclass(frozen=True, eq=False)
class PriorOfTopics:
    """The prior of the topics of a fit.

    Attributes
    ----------
    eta : float or ndarray of shape (n_features,) or (n_components, n_features)
        As given, or the first value. Without the parts of seed words and known topics.
    learns_eta : bool
        Whether eta, then one number, is learnt in the burn-in.
    seeds : SeedWords or None
        Their strengths are added to eta.
    known : KnownTopics or None
        Their weights may be learnt.
    bounds : (float, float)
        Smallest and largest eta that is learnt.
    learning : dict
        Options of `Learner`, if priors are not learnt as usual.
    """

    eta: Any
    learns_eta: bool = False
    seeds: SeedWords | None = None
    known: KnownTopics | None = None
    bounds: tuple[float, float] = BOUNDS
    learning: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def make(
        cls,
        given: Any,
        default: DefaultPrior,
        n_tokens: int,
        seeds: SeedWords | None = None,
        known: KnownTopics | None = None,
        bounds: tuple[float, float] = BOUNDS,
        learning: Mapping[str, Any] | None = None,
    ) -> Self:
        """From the parameters of an estimator."""
        if known is not None and not learns_from(n_tokens):
            known = replace(known, learnt=np.zeros_like(known.learnt))
        return cls(default.or_given(given), default.learns(given), seeds, known, bounds, learning or {})

    @property
    def pseudo_counts(self) -> csr_array | None:
        """The strengths of seeds, (n_components, n_features); None if there are none."""
        return None if self.seeds is None else self.seeds.pseudo_counts

    def priors(self, alpha: Any, n_components: int, n_features: int) -> Priors:
        """The first `Priors` of chains, with an alpha that all documents share."""
        priors = Priors.make(alpha, self.eta, n_components, n_features)
        if self.known is not None:
            return self.known.with_priors(priors, self.eta, self.pseudo_counts, self.known.weights)
        if self.pseudo_counts is None:
            return priors
        return Priors.make(alpha, priors.topic_word() + self.pseudo_counts.toarray(), n_components, n_features)

    @property
    def m_step(self) -> MStep | None:
        """What Gibbs-EM learns in the burn-in."""
        bounds = None, self.bounds if self.learns_eta else None
        if self.known is not None and (self.learns_eta or self.known.learnt.any()):
            given = None if self.learns_eta else self.eta
            return KnownMStep(bounds, known=self.known, given_eta=given, pseudo_counts=self.pseudo_counts)
        if not self.learns_eta:
            return None
        if self.pseudo_counts is None:
            return MStep(bounds)
        cells = self.pseudo_counts.tocoo()
        return SeededMStep(bounds, cells=(cells.row, cells.col, cells.data))

    @property
    def has_rows(self) -> bool:
        """Whether topics have etas of their own that are made here."""
        return self.pseudo_counts is not None or self.known is not None

    def steps(self, alpha_moves: bool) -> list[Step]:
        """The steps of a new chain; `alpha_moves` says whether alpha goes with the topics of an exchange."""
        steps: list[Step] = []
        if self.known is not None:
            seeded = () if self.seeds is None else self.seeds.seeded
            steps.append(KnownPlaces(self.known.topic_word, alpha_moves, seeded))
        if self.seeds is not None:
            steps.append(SeedPlaces(self.seeds, alpha_moves, 0 if self.known is None else len(self.known)))
        return steps

    def check_continues(self, before: PriorOfTopics) -> None:
        """Refuse other known topics and seeds than those `before`, and what was given and is now to be learnt."""
        known = self.known
        topics, topics_before = (() if each.known is None else each.known.topic_word for each in (self, before))
        if not np.array_equal(topics, topics_before):
            raise ValueError(
                "warm_start=True continues a fit with other known_topics. Give the same ones, or fit with "
                "warm_start=False to begin again."
            )
        if not (self.seeds is before.seeds is None or (self.seeds is not None and self.seeds.equal(before.seeds))):
            raise ValueError(
                "warm_start=True continues a fit with other seed_words, with which its chains began. Give the same "
                "ones, or fit with warm_start=False to begin again."
            )
        if self.learns_eta and not before.learns_eta:
            raise ValueError(learnt_now("topic_word_prior"))
        if known is not None and before.known is not None and (known.learnt & ~before.known.learnt).any():
            raise ValueError(
                "warm_start=True continues a fit with a given known_weight, but one of them is now 'learn', and "
                "weights are learnt only in the first fit. Give all of them, or fit with warm_start=False to begin "
                "again."
            )

    def continued(self, priors: Priors, before: PriorOfTopics, own: Priors) -> Priors:
        """`priors` with what a chain has learnt, whose prior was `before` and whose priors are `own`."""
        known = self.known
        if known is not None:
            weights = np.where(known.learnt, own.weights, known.weights)
            eta = own.base_eta if self.learns_eta else self.eta
            return known.with_priors(priors, eta, self.pseudo_counts, weights)
        m_step, m_step_before = self.m_step, before.m_step
        if m_step is None or m_step_before is None:
            return priors
        return m_step.with_eta(priors, m_step_before.eta(own))

    def facts(self) -> dict[str, Any]:
        """The fitted attributes of known topics."""
        if self.known is None:
            return {}
        found = {"known_topic_word_": self.known.topic_word, "known_topic_word_std_": self.known.std}
        names = self.known.names
        return found if names is None else found | {"topic_names_": np.array(names, dtype=object)}

    def chain_attributes(self, priors: Priors) -> dict[str, Any]:
        """The fitted attributes that a chain with these priors has for itself."""
        if len(priors.topic) and self.has_rows:
            # Rounding to single precision may have left the allowed range.
            eta = np.maximum(priors.topic_word(), SMALLEST, dtype=np.float64)
        else:
            eta = eta_attribute(self.eta, priors)
        weights = {} if self.known is None else {"known_weight_": priors.weights.copy()}
        return {"topic_word_prior_": eta, **weights}


def eta_attribute(given: Any, priors: Priors | None = None) -> Any:
    """eta as a fitted attribute: that of chains with `priors`, or as given; a copy, with the shape that was given."""
    if np.ndim(given) == 1 and priors is not None:
        return priors.word.copy()
    if np.ndim(given):
        return np.array(given, dtype=np.float64)
    return float(given if priors is None else priors.word[0])


def learnt_now(name: str) -> str:
    """Why a chain with a given prior cannot continue with one that is learnt."""
    return (
        f"warm_start=True continues a fit with a given {name}, but {name} is now None, and priors are learnt only in "
        f"the first fit. Give a {name}, or fit with warm_start=False to begin again."
    )
