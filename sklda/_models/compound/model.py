"""The model of compound LDA in a fit: collections, first values, burn-in, and which hyperparameters are learnt."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklda._core.parallel import Aligned
from sklda._models.compound.concentrations import Concentrations
from sklda._sampling.prior_learning import LEAST_TOKENS, SMALL_CORPUS_PRIOR
from sklda._sampling.run_chains import burn_in_of

# The share of the burn-in with merges. The last M-step for eta uses draws after them.
_MERGING = 0.4


@dataclass(frozen=True, eq=False)
class CompoundModel(Aligned):
    """The settings and first values of compound LDA, which do not change along a chain.

    Attributes
    ----------
    collections : ndarray of shape (n_documents,), int64
        The collection of every document.
    n_collections : int
    alpha, gamma, eta : float
        The first values. eta may be an array.
    alpha_prior : tuple of (shape, rate) or None
        Gamma prior of alpha; None: alpha is fixed.
    learn_gamma, learn_eta : bool
        Whether gamma and eta are learnt by Gibbs-EM in the burn-in.
    burn_in : int
        Sweeps before the averages begin. gamma and eta are learnt only in these sweeps.
    concentrations : Concentrations or None
        Those of the hierarchical Dirichlet process; None: the mixtures have the prior alpha.
    merging : int
        The first sweeps of the burn-in, in which topics of the HDP are merged.
    """

    collections: np.ndarray
    n_collections: int
    alpha: float = 1.0
    gamma: float = 1.0
    eta: float | np.ndarray = 1.0
    alpha_prior: tuple | None = None
    learn_gamma: bool = False
    learn_eta: bool = False
    burn_in: int = 0
    concentrations: Concentrations | None = None
    merging: int = 0

    @classmethod
    def of_hdp(
        cls,
        collections,
        n_collections,
        concentrations,
        *,
        n_components,
        topic_word_prior,
        learn_priors,
        n_tokens,
        max_iter,
        burn_in,
        earlier=None,
    ):
        """From the parameters of `HDPLDA`, where alpha is a / `n_components`.

        `earlier` is the `CompoundModel` of the fit that is continued, whose burn-in stays, and its last states.

        Raises
        ------
        ValueError
            If topics cannot be exchanged, or the burn-in does not fit the number of sweeps.
        """
        if np.ndim(topic_word_prior) == 2:
            raise ValueError(
                "the HDP needs topics that can be exchanged: give topic_word_prior as a float or one value per word."
            )
        if earlier is not None:
            before, states = earlier
            burn_in = burn_in_of(before.burn_in, max_iter + min(state.n_sweeps for state in states))
        else:
            # A chain begins with all topics. Annealing would keep the topics alike that are not needed.
            burn_in = burn_in_of(burn_in, max_iter)
        return cls(
            collections,
            n_collections,
            alpha=concentrations.topic.first / n_components,
            gamma=concentrations.doc.first,
            # The number of topics in use is not K, so eta does not begin at 1 / K.
            eta=SMALL_CORPUS_PRIOR if topic_word_prior is None else topic_word_prior,
            learn_eta=bool(learn_priors) and topic_word_prior is None and n_tokens >= LEAST_TOKENS,
            burn_in=burn_in,
            concentrations=concentrations,
            merging=int(_MERGING * burn_in),
        )

    @cached_property
    def row_of(self):
        """`collections` as `Priors` takes it. The documents of the only collection of an HDP share alpha."""
        shared = self.concentrations and self.n_collections == 1
        return np.empty(0, np.int32) if shared else self.collections.astype(np.int32)

    @property
    def learns(self):
        """Whether gamma or eta is learnt by Gibbs-EM."""
        return self.learn_gamma or self.learn_eta

    @property
    def changes_priors(self):
        """Whether gamma or eta changes in a fit."""
        return self.learns or bool(self.concentrations and self.concentrations.doc.prior)
