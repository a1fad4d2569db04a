"""The prior of the proportions of documents: what models of chains differ in. That of LDA is the simplest one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sklda._core.gibbs_em import BOUNDS, MStep
from sklda._core.parallel import Aligned
from sklda._core.priors import Priors
from sklda._sampling.chain import KeptDraws
from sklda._sampling.prior_of_topics import learnt_now
from sklda._sampling.run_chains import best_chain
from sklda._sampling.steps import Step


class Shown(NamedTuple):
    """What results show of chains.

    Attributes
    ----------
    best : int
        Index of the chain that is kept.
    draws : list of KeptDraws
        Of each chain, with the topics that are shown.
    topics : list of callable
        For each chain: takes values of all topics on the last axis, and returns those of the topics that are shown.
    attributes : dict
        Fitted attributes on which this depends.
    """

    best: int
    draws: list[KeptDraws]
    topics: list[Callable[[np.ndarray], np.ndarray]]
    attributes: Mapping[str, Any] = {}


def all_shown(chains: list[Any]) -> Shown:
    """All draws and topics."""
    return Shown(best_chain(chains), [chain.kept_draws() for chain in chains], [lambda values: values] * len(chains))


class PriorOfDocuments(Aligned):
    """What a model says of the proportions of its documents.

    Its defaults are those of a model with steps: they draw what alpha depends on, and set the rows of alpha of the
    chain.

    Attributes
    ----------
    n_components : int
        The number of topics of a chain, or the most that it may have.
    alpha : float or ndarray of shape (n_components,)
        The first alpha of all documents.
    shares_alpha : bool
        Whether all documents have one alpha.
    n_rows : int
        Different rows of alpha that a chain may have.
    m_step : MStep or None
        What Gibbs-EM learns in the burn-in.
    changes : bool
        Whether alpha changes along a chain.
    alpha_moves : bool
        Whether alpha goes with the topics of a merge, a split or an exchange. Otherwise only topics with the same alpha
        take part.
    merges : bool
        Whether its steps merge topics, so that no others do.
    chains : type or None
        The class of its chains. None: that of the sampler.
    """

    n_components: int
    alpha: Any = 1.0
    shares_alpha: bool = False
    n_rows: int = 1
    m_step: Any = None
    changes: bool = True
    alpha_moves: bool = False
    merges: bool = False
    chains: Any = None

    def steps(self, seed: np.random.SeedSequence) -> list[Step]:
        """The steps of a new chain that draw what alpha depends on."""
        return []

    def check_memory(self) -> None:
        """Refuse what does not fit into the memory."""

    def check_continues(self, before: Any) -> None:
        """Refuse to continue a chain whose prior was `before`."""

    def facts(self) -> dict[str, Any]:
        """The fitted attributes that are known before the first sweep."""
        return {}

    def shown(self, chains: list[Any]) -> Shown:
        """Which chain is kept, and which draws and topics the results show."""
        return all_shown(chains)

    def chain_attributes(self, chain: Any, draws: Any = None, topics: Any = None) -> dict[str, Any]:
        """The fitted attributes that a chain has for itself; `draws` and `topics` are those of `Shown`.

        They are None for a chain on a cluster.
        """
        return {}

    def attributes(self, results: Any) -> dict[str, Any]:
        """The fitted attributes that compare or join all chains, from `ChainResults` with means.

        They take the place of those that the kept chain has for itself.
        """
        return {}

    def warn(self, results: Any, fitted: Mapping[str, Any]) -> None:
        """Warn of results that are probably wrong; `fitted` are the fitted attributes."""


class SharedAlpha(PriorOfDocuments):
    """Proportions are Dirichlet(alpha), with one alpha for all documents: LDA.

    Parameters
    ----------
    given : float, array-like of shape (n_components,) or None
    default : DefaultPrior
    learn_priors : bool or "symmetric"
        True: topics have an alpha each.
    n_components : int
    """

    shares_alpha = True

    def __init__(self, given, default, learn_priors, n_components):
        self.alpha, self.n_components = default.or_given(given), n_components
        self.per_topic = has_one_each(given, learn_priors)
        self.m_step = MStep((BOUNDS, None), self.per_topic) if default.learns(given) else None
        self.changes = self.alpha_moves = self.m_step is not None

    def check_continues(self, before):
        if self.m_step is not None and before.m_step is None:
            raise ValueError(learnt_now("doc_topic_prior"))

    def chain_attributes(self, chain, draws=None, topics=None):
        return {"doc_topic_prior_": alpha_attribute(chain.priors, self.per_topic)}


def has_one_each(given: Any, learn_priors: bool | str) -> bool:
    """Whether topics have an alpha each, because it is given or learnt so; then the fitted attribute is an array."""
    return bool(np.ndim(given)) if given is not None else bool(learn_priors) and learn_priors != "symmetric"


def alpha_attribute(priors: Priors, per_topic: bool) -> Any:
    """An alpha that all documents share as a fitted attribute: an array, or a float if topics have the same."""
    return priors.doc[0].copy() if per_topic else float(priors.doc[0, 0])
