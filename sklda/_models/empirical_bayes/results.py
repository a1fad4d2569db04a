"""m(h) of a fitted estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._core.priors import LARGEST, SMALLEST
from sklda._input.arguments import check_choice, real_numbers
from sklda._models.empirical_bayes.ellipse import Ellipse
from sklda._models.empirical_bayes.estimate import MarginalLikelihoodEstimate

KINDS = ("monte_carlo", "statistical", "total")


class MarginalLikelihoodMixin:
    """Methods of a fitted estimator for m(h), where h = (alpha, eta) = (doc_topic_prior, topic_word_prior)."""

    _estimate_: MarginalLikelihoodEstimate

    def _set_estimate(self, found: MarginalLikelihoodEstimate) -> None:
        """Set the attributes that come from the estimate of m(h)."""
        self._estimate_ = found
        self.grid_: tuple[np.ndarray, np.ndarray] = (found.alphas, found.etas)
        self.occupancy_: np.ndarray = found.occupancy
        self.r_hat_: np.ndarray = found.r_hat
        self.n_effective_: np.ndarray = found.n_effective
        self.mode_log_evidence_: np.ndarray = found.beginning.log_evidence
        self.mode_log_evidence_std_: float = found.beginning.log_evidence_std

    def _found(self) -> MarginalLikelihoodEstimate:
        during = "m(h) of the %(name)s is estimated when all of its chains have ended: callbacks see it then."
        check_is_fitted(self, "_estimate_", msg=during if hasattr(self, "components_") else None)
        return self._estimate_

    def log_marginal_likelihood(
        self, doc_topic_prior: ArrayLike, topic_word_prior: ArrayLike, *, return_std: bool = False
    ) -> Any:
        """log m(h), the log-likelihood of the priors with topics, proportions and assignments integrated out.

        Parameters
        ----------
        doc_topic_prior, topic_word_prior : float or array-like
            alpha and eta, of shapes that broadcast. Away from the points of the chains there are soon too few draws for
            an estimate.
        return_std : bool, default=False
            Whether to return the Monte Carlo standard error as well.

        Returns
        -------
        value : float or ndarray
            In nats, up to the constant that makes it 0 at (`doc_topic_prior_`, `topic_word_prior_`).
        std : float or ndarray
            Standard error of this difference, from batches of draws; infinite for h with fewer than ten effective
            draws. Only with `return_std`.

        Examples
        --------
        >>> from sklda import EmpiricalBayesLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(60, 20, 2, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
        >>> lda = EmpiricalBayesLDA(2, max_iter=1000, random_state=0).fit(X)
        >>> value, std = lda.log_marginal_likelihood([0.2, 0.3], 0.5, return_std=True)
        >>> value.shape, bool((value < 3 * std).all())  # the maximum has 0
        ((2,), True)
        """
        found = self._found()
        alpha, eta = pairs_of(doc_topic_prior, topic_word_prior)
        value, std = found.curve.log_ratio(alpha.ravel(), eta.ravel(), found.maximum.h)
        value = value.reshape(eta.shape)[()]
        std = std.reshape(eta.shape)[()]
        return (value, std) if return_std else value

    def confidence_region(
        self, level: float = 0.95, kind: Literal["monte_carlo", "statistical", "total"] = "monte_carlo"
    ) -> Ellipse:
        """An ellipse for the priors, on the scale of their logarithms.

        It holds given the number of topics. With a wrong `n_components`, no kind covers the priors that generated the
        corpus.

        Parameters
        ----------
        level : float, default=0.95
        kind : {"monte_carlo", "statistical", "total"}, default="monte_carlo"
            ``"monte_carlo"`` covers the maximum of m(h). Its error comes from batches of draws, as in Theorem 1 of
            George & Doss (2018), and contains the spread between chains if they disagree. ``"statistical"`` covers the
            priors that generated the corpus, if the maximum is exact. It comes from the curvature of log m there.
            ``"total"`` covers the priors that generated the corpus: the sum of both covariances.

        Returns
        -------
        Ellipse
            With `center`, `covariance`, `standard_errors`, `contains` and `boundary`, alpha before eta in all.

        Raises
        ------
        ValueError
            If `level` does not lie between 0 and 1, or `kind` is unknown.

        Examples
        --------
        >>> from sklda import EmpiricalBayesLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(60, 20, 2, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
        >>> lda = EmpiricalBayesLDA(2, max_iter=1000, random_state=0).fit(X)
        >>> region = lda.confidence_region(0.95, "statistical")
        >>> region.contains(lda.doc_topic_prior_, lda.topic_word_prior_), region.standard_errors.shape
        (True, (2,))
        """
        found = self._found()
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        check_choice(kind, "kind", KINDS)
        return Ellipse(
            center=np.array(found.maximum.h),
            covariance=getattr(found.maximum, kind).copy(),
            level=level,
            kind=kind,
            region=found.region,
        )


def pairs_of(doc_topic_prior: ArrayLike, topic_word_prior: ArrayLike) -> tuple[np.ndarray, ...]:
    """alpha and eta as arrays of one shape."""
    given = {"doc_topic_prior": doc_topic_prior, "topic_word_prior": topic_word_prior}
    pairs = np.broadcast_arrays(*(real_numbers(values, name) for name, values in given.items()))
    for name, values in zip(given, pairs, strict=True):
        bad = ~((values >= SMALLEST) & (values <= LARGEST))
        if bad.any():
            raise ValueError(f"{name} must lie between {SMALLEST:g} and {LARGEST:g}, got {values[bad].flat[0]:g}.")
    return pairs
