"""The settings of a fit of compound LDA: collections, algorithm, burn-in and which hyperparameters are learnt."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklda._core.parallel import Aligned
from sklda._models.compound.concentrations import Concentrations
from sklda._sampling.annealed_start import NOT_ANNEALED, Annealing
from sklda._sampling.run_chains import burn_in_of

# The share of the burn-in with merges. The last M-step for eta uses draws after them.
_MERGING = 0.4
METHODS = ("augmented", "langevin", "variational")


@dataclass(frozen=True, eq=False)
class Model(Aligned):
    """Settings that do not change along a chain or an ascent.

    Attributes
    ----------
    collections : ndarray of shape (n_documents,), int64
        The collection of every document.
    n_collections : int
    method : {"augmented", "langevin", "variational"}
    alpha_prior : tuple of (shape, rate) or None
        Gamma prior of alpha; None: alpha is fixed.
    learn_gamma, learn_eta : bool
        Whether gamma and eta are learnt: by Gibbs-EM in the burn-in, or in every variational iteration.
    burn_in : int
        Sweeps before the averages begin. Step sizes, gamma and eta change only in these sweeps.
    annealing : Annealing
        The first sweeps of the tokens, which have larger priors.
    concentrations : Concentrations or None
        Those of the hierarchical Dirichlet process; None: the mixtures have the prior alpha.
    merging : int
        The first sweeps of the burn-in, in which topics of the HDP are merged.
    """

    collections: np.ndarray
    n_collections: int
    method: str = "augmented"
    alpha_prior: tuple | None = None
    learn_gamma: bool = False
    learn_eta: bool = False
    burn_in: int = 0
    annealing: Annealing = NOT_ANNEALED
    concentrations: Concentrations | None = None
    merging: int = 0

    @classmethod
    def make(cls, collections, n_collections, method, hyperparameters, *, max_iter, burn_in, earlier=None):
        """Settings of a fit, new or continued.

        Parameters
        ----------
        collections : ndarray of shape (n_documents,), int64
        n_collections : int
        method : str
        hyperparameters : CompoundHyperparameters
        max_iter : int
            Sweeps of this fit.
        burn_in : int or None
            None: the annealed sweeps, and half of the others.
        earlier : pair of Model and list of state, default=None
            Model and last states of the fit that is continued. Its burn-in is kept.

        Raises
        ------
        ValueError
            If the method cannot do what is asked, or the burn-in does not fit the number of sweeps.
        """
        if hyperparameters.concentrations and method != "augmented":
            raise ValueError(f"method={method!r} does not draw the concentrations of 'hdp': give method='augmented'.")
        if method == "variational":
            if hyperparameters.alpha_prior is not None:
                raise ValueError("method='variational' does not draw alpha: give collection_topic_prior as a float.")
            annealing, burn_in = NOT_ANNEALED, 0
        elif earlier is not None:
            annealing, burn_in = earlier[0].annealing, earlier[0].burn_in
            burn_in_of(burn_in, max_iter + min(state.n_sweeps for state in earlier[1]))
        else:
            # A chain of the HDP begins with all topics. Annealing would keep the topics alike that are not needed.
            annealing = NOT_ANNEALED if hyperparameters.concentrations else Annealing.within(max_iter, burn_in)
            burn_in = burn_in_of(burn_in, max_iter, annealing.n_sweeps)
        return cls(
            collections,
            n_collections,
            method,
            hyperparameters.alpha_prior,
            hyperparameters.learn_gamma,
            hyperparameters.learn_eta,
            burn_in,
            annealing,
            hyperparameters.concentrations,
            int(_MERGING * burn_in) if hyperparameters.concentrations else 0,
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
