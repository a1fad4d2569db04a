"""The model of compound LDA in a fit: collections, first values, and which hyperparameters are learnt."""

from dataclasses import dataclass

import numpy as np

from sklda._core.parallel import Aligned
from sklda._core.priors import check_prior
from sklda._models.compound.alpha import first_of_pair
from sklda._sampling.mixture_step import LARGEST_GAMMA, SMALLEST_GAMMA


@dataclass(frozen=True, eq=False)
class CompoundModel(Aligned):
    """The settings and first values of compound LDA, which do not change along a chain.

    Attributes
    ----------
    collections : ndarray of shape (n_documents,), int64
        The collection of every document.
    n_collections : int
    alpha, gamma : float
        The first values.
    alpha_prior : tuple of (shape, rate) or None
        Gamma prior of alpha; None: alpha is fixed.
    learn_gamma, learn_eta : bool
        Whether gamma and eta are learnt by Gibbs-EM in the burn-in.
    """

    collections: np.ndarray
    n_collections: int
    alpha: float = 1.0
    gamma: float = 1.0
    alpha_prior: tuple | None = None
    learn_gamma: bool = False
    learn_eta: bool = False

    @classmethod
    def make(cls, collections, n_collections, n_components, *, alpha, gamma, default, learn_eta):
        """From `collection_topic_prior` and `doc_concentration` of `CompoundLDA`, and its `DefaultPrior`.

        Raises
        ------
        ValueError
            If one of them is out of range.
        """
        learn_gamma = default.learns(gamma)
        # alpha of other estimators has the default, and gamma is a sum over topics.
        gamma = default.value * n_components if gamma is None else check_prior(gamma, "doc_concentration", {})
        if not SMALLEST_GAMMA <= gamma <= LARGEST_GAMMA:
            raise ValueError(
                f"doc_concentration = {gamma:g}: it must lie between {SMALLEST_GAMMA:g} and {LARGEST_GAMMA:g}."
            )
        alpha_prior = alpha if isinstance(alpha, tuple) else None
        if alpha_prior is None:
            alpha = check_prior(alpha, "collection_topic_prior", {})
        else:
            alpha = first_of_pair(alpha_prior, "collection_topic_prior")
        return cls(
            collections,
            n_collections,
            alpha=alpha,
            gamma=gamma,
            alpha_prior=alpha_prior,
            learn_gamma=learn_gamma,
            learn_eta=learn_eta,
        )

    @property
    def changes_priors(self):
        """Whether gamma or eta changes in a fit."""
        return self.learn_gamma or self.learn_eta
