"""alpha and gamma of compound LDA: their first values, and a slice step for alpha."""

from numbers import Real

import numpy as np
from scipy.special import gammaln

from sklda._core.priors import LARGEST, SMALLEST, check_prior
from sklda._core.slice_sampling import slice_on_log

# gamma, a sum over topics, as given. At 1e-6 a document has one topic only. A smaller gamma would bring gamma pi to the
# smallest value that the kernels take, 1e-12, for mixtures that are not small.
SMALLEST_GAMMA, LARGEST_GAMMA = 1e-6, LARGEST
# gamma is learnt in this range. At 1e6 a document of less than a thousand words has the mixture of its collection.
LEARNT_GAMMA = (SMALLEST_GAMMA, 1e6)
# The Gamma prior of alpha is cut off at these values. The first alpha is the prior mean, cut off at the other two.
DRAWN_ALPHA = (1e-6, 1e6)
_FIRST_ALPHA = (1e-3, 1e3)


def first_hyperparameters(n_components, collection_topic_prior, doc_concentration, default):
    """The first alpha and gamma of a fit, and which of them change: fields of `CompoundModel`, a dict.

    They come from the parameters of `CompoundLDA` and its `DefaultPrior`.

    Raises
    ------
    ValueError, TypeError
        If a value is out of range or not a number.
    """
    # alpha of other estimators has the default, and gamma is a sum over topics.
    gamma = default.value * n_components
    if doc_concentration is not None:
        gamma = check_prior(doc_concentration, "doc_concentration", {})
    if not SMALLEST_GAMMA <= gamma <= LARGEST_GAMMA:
        raise ValueError(
            f"doc_concentration = {gamma:g}: it must lie between {SMALLEST_GAMMA:g} and {LARGEST_GAMMA:g}."
        )
    alpha, alpha_prior = _first_alpha(collection_topic_prior)
    return {
        "alpha": alpha,
        "gamma": gamma,
        "alpha_prior": alpha_prior,
        "learn_gamma": default.is_learnt and doc_concentration is None,
    }


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


def draw_alpha(rng, alpha, log_pi, shape, rate):
    """alpha given pi under a Gamma(shape, rate) prior, cut off at `DRAWN_ALPHA`: one slice step on log alpha."""
    J, K = log_pi.shape
    total = log_pi.sum()

    def log_density(x):
        a = np.exp(x)
        return J * (gammaln(K * a) - K * gammaln(a)) + a * total + shape * x - rate * a

    return slice_on_log(rng, alpha, log_density, DRAWN_ALPHA)
