"""The hyperparameters of compound LDA: initial values, the statistics of an M-step, a slice step for alpha."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import gammaln

from sklda._core.count_histograms import CountHistograms
from sklda._core.priors import LARGEST, SMALLEST, check_prior
from sklda._core.slice_sampling import slice_on_log
from sklda._models.compound.tail_counts import TailCounts
from sklda._sampling.prior_learning import LEAST_TOKENS, SMALL_CORPUS_PRIOR

# gamma, a sum over topics, as given. At 1e-6 a document has one topic only. A smaller gamma would bring gamma pi to the
# smallest value that the kernels take, 1e-12, for mixtures that are not small.
SMALLEST_GAMMA, LARGEST_GAMMA = 1e-6, LARGEST
# gamma is learnt in this range. At 1e6 a document of less than a thousand words has the mixture of its collection.
LEARNT_GAMMA = (SMALLEST_GAMMA, 1e6)
# The Gamma prior of alpha is cut off at these values. The first alpha is the prior mean, cut off at the other two.
DRAWN_ALPHA = (1e-6, 1e6)
_FIRST_ALPHA = (1e-3, 1e3)


@dataclass(frozen=True, eq=False)
class CompoundHyperparameters:
    """The first alpha, gamma and eta of a fit, and which of them change.

    Attributes
    ----------
    alpha, gamma : float
    eta : float or ndarray
    alpha_prior : tuple of (shape, rate) or None
        Gamma prior of an alpha that is drawn.
    learn_gamma, learn_eta : bool
    concentrations : Concentrations or None
        Those of the hierarchical Dirichlet process, whose alpha is a / `n_components`.
    """

    alpha: float
    gamma: float
    eta: float | np.ndarray
    alpha_prior: tuple | None
    learn_gamma: bool
    learn_eta: bool
    concentrations: Any = None

    @classmethod
    def make(
        cls,
        n_components,
        collection_topic_prior,
        doc_concentration,
        topic_word_prior,
        learn_priors,
        n_tokens,
        concentrations=None,
    ):
        """From the parameters of `CompoundLDA`: what is None has its default, and is learnt if `learn_priors`.

        With `concentrations`, they replace the first two priors.

        Raises
        ------
        ValueError, TypeError
            If a value is out of range or not a number.
        """
        # alpha and eta of other estimators are 1 / K at first, and those of a small corpus stay at another value.
        first = 1.0 / n_components
        if learn_priors and n_tokens < LEAST_TOKENS:
            learn_priors, first = False, SMALL_CORPUS_PRIOR
        if concentrations is not None:
            # The number of topics in use is not K, so eta does not begin at 1 / K.
            eta = SMALL_CORPUS_PRIOR if topic_word_prior is None else topic_word_prior
            learn_eta = learn_priors and topic_word_prior is None
            alpha, gamma = concentrations.topic.first / n_components, concentrations.doc.first
            return cls(alpha, gamma, eta, None, False, learn_eta, concentrations)
        learn_gamma, learn_eta = (learn_priors and value is None for value in (doc_concentration, topic_word_prior))
        gamma = first * n_components
        if doc_concentration is not None:
            gamma = check_prior(doc_concentration, "doc_concentration", {})
        if not SMALLEST_GAMMA <= gamma <= LARGEST_GAMMA:
            raise ValueError(
                f"doc_concentration = {gamma:g}: it must lie between {SMALLEST_GAMMA:g} and {LARGEST_GAMMA:g}."
            )
        eta = first if topic_word_prior is None else topic_word_prior
        alpha, alpha_prior = _first_alpha(collection_topic_prior)
        return cls(alpha, gamma, eta, alpha_prior, learn_gamma, learn_eta)


def _first_alpha(given):
    """The first alpha, and its Gamma prior or None."""
    if not isinstance(given, tuple):
        return check_prior(given, "collection_topic_prior", {}), None
    if len(given) != 2 or not all(isinstance(a, Real) and 0 < a < np.inf for a in given):
        raise ValueError(f"collection_topic_prior = {given!r}: a Gamma prior is a pair (shape, rate), both positive.")
    return float(np.clip(given[0] / given[1], *_FIRST_ALPHA)), given


def document_prior(gamma, pi):
    """The Dirichlet parameter of a document's proportions, gamma pi, no smaller than the kernels allow."""
    return np.maximum(gamma * pi, SMALLEST)


@dataclass(frozen=True, eq=False)
class CompoundStatistics:
    """The statistics of one draw of (pi, z), for the M-step.

    Attributes
    ----------
    tails : TailCounts or None
        None if gamma is not learnt.
    pi : ndarray of shape (n_entries,) or None
        pi_jk of the cell of each entry of `tails`.
    counts : CountHistograms
    """

    tails: TailCounts | None
    pi: np.ndarray | None
    counts: CountHistograms

    def log_topics(self, gamma, order=0):
        """log p(z | pi, gamma) without what gamma does not change, or its derivative with respect to log gamma."""
        i, documents = self.tails.steps, self.tails.documents
        total = self.counts.lengths.sum_of_log_rising(gamma, order)[0, 0]
        later = i > 0
        a = gamma * self.pi[later]
        first, documents = documents[~later].sum(), documents[later]
        if order == 0:
            return first * np.log(gamma[0]) + documents @ np.log(a + i[later]) - total
        share = a / (a + i[later])
        return first + documents @ share - total if order == 1 else documents @ (share * (1 - share)) - total


def draw_alpha(rng, alpha, log_pi, shape, rate):
    """alpha given pi under a Gamma(shape, rate) prior, cut off at `DRAWN_ALPHA`: one slice step on log alpha."""
    J, K = log_pi.shape
    total = log_pi.sum()

    def log_density(x):
        a = np.exp(x)
        return J * (gammaln(K * a) - K * gammaln(a)) + a * total + shape * x - rate * a

    return slice_on_log(rng, alpha, log_density, DRAWN_ALPHA)
