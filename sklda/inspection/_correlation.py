"""Correlations between the proportions of topics over documents, with standard errors."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.rounding import rounding
from sklda._description.view import view
from sklda._input.arguments import check_int
from sklda._input.types import Data, Model, Seed
from sklda._sampling.draws import draw_doc_topic


def topic_correlation(
    estimator: Model,
    X: Data | None = None,
    *,
    n_draws: int | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Correlations between the proportions of topics over documents: which topics occur together.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents. None: those of the fit, or the rows of ``doc_topic``. Those without words, and those that the fit
        left out, do not count, and there is a warning.
    n_draws : int, default=None
        Draws from the posterior for documents of the fit, at least 20. None: 400 for a model fitted by a chain, which
        makes a further sweep for each of them; 20 for other models with ``sample_posterior``, whose draws take
        ``4 * n_draws * n_components * (n_documents + n_features)`` bytes.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws.

    Returns
    -------
    sklearn.utils.Bunch
        - ``correlation`` (n_components, n_components): Pearson correlations, corrected for the prior; NaN for a topic
          whose proportion is the same in all documents
        - ``std`` (n_components, n_components): standard errors, at most 1; 0 on the diagonal, and where documents have
          only one possible correlation, -1 of two topics; NaN where the correlation is
        - ``uncorrected`` (n_components, n_components): posterior means, which the prior pulls towards its own
          correlations
        - ``information`` (n_components, n_components): the part of the correlation that comes from the words, from 0.05
          to 1. The rest comes from the prior. NaN without a correction
        - ``neutral`` (n_components, n_components): the correlations of topics that do not depend on each other, see
          Notes
        - ``n_draws``: number of draws, 0 if there were none

    Raises
    ------
    ValueError, TypeError
        If the model is not a topic model, or X or an option is wrong. If there are fewer than three documents with
        words.

    Notes
    -----
    Proportions sum to one, so most correlations are negative even if topics do not depend on each other. ``neutral``
    has the correlations of a Dirichlet distribution with the same means m, whatever its concentration:
    ``-sqrt(m_k m_l / ((1 - m_k) (1 - m_l)))``. Topics above it occur together.

    **The prior.** Documents have Dirichlet priors, so posterior means are pulled towards the correlations r_0 of the
    prior, most where words say least. Let U be the variance of a correlation over samples of documents whose theta is
    known, and B its variance in the posterior. At the prior, B / U is the part of the information that is missing
    (Louis 1982), and posterior means move only the part 1 - B / U of the way. So the estimate from the mean r is one
    step of Newton's method, ``r_0 + (r - r_0) / (1 - B / U)``. Its variance is ``U / (1 - B / U)``, plus those of r and
    of the information over parts of the chain. An uncertain information makes the step shorter and the error larger.
    The step is exact near the prior, and approximate far from it: half of its length is an error too. An alpha for all
    documents counts as ``neutral``; if it was given with other means, the difference that they make is an error.

    Where ``information`` is below 0.3, words hardly tell two topics apart. The estimate then lies between the truth and
    the prior, and only its error says how far.

    The fit has learnt its topics with the prior too. With few words and many documents, it mixes the words of topics
    that occur together until they have the correlation of the prior. No error contains this.
    :ref:`errors_of_correlations` has measurements.

    The draws are those of the chain that was kept, which goes on at the priors of its last draw. So differences between
    modes are not contained, and neither are errors of learnt priors. U comes from the influence function of a
    correlation r of standardised x and y: the mean square of ``x y - r (x^2 + y^2) / 2``, divided by the number of
    documents. It holds for variables that are not normal, too.

    **Without a correction.** Variational models, `LabeledLDA`, merged topics and `ConsensusTopics` have no chain that
    goes on. Their correlations are means over draws, and the errors follow Rubin's rules: ``mean(U) + (1 + 1 / M) B``
    with M draws. Those of `ConsensusTopics` come from all fits. Without draws, as for arrays and new documents, the
    correlations are those of the proportions, and the errors those over samples of documents alone. Neither contains
    the pull of the prior.

    References
    ----------
    Louis (1982). Finding the observed information matrix when using the EM algorithm. Journal of the Royal Statistical
    Society B 44.

    Rubin (1987). Multiple imputation for nonresponse in surveys. Wiley. Chapter 3.

    Examples
    --------
    >>> from sklda.inspection import topic_correlation
    >>> theta = [[0.5, 0.5, 0.0], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]]
    >>> topics = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], theta
    >>> topic_correlation(topics).correlation.round(2)
    array([[ 1.  ,  0.98, -1.  ],
           [ 0.98,  1.  , -0.99],
           [-1.  , -0.99,  1.  ]])
    """
    return _correlation(view(estimator, X, needs="proportions"), n_draws, random_state)


# Draws by default: of a chain that goes on, and of other models.
_CHAIN_DRAWS, _DRAWS, _FEWEST_DRAWS = 400, 20, 20
# Parts of a chain, for the jackknife. The variance over documents, which is slow, is that of each tenth draw.
_BLOCKS, _VARIANCE_EVERY = 10, 10
# The variance between draws is known no better than this: it depends on the corpus, too.
_ERROR_OF_VARIANCE = 0.1
_LEAST_INFORMATION = 0.05
# The step from the mean to the estimate is linear. This part of it is an error, too.
_ERROR_OF_STEP = 0.5


def _correlation(found, n_draws, random_state):
    if n_draws is not None:
        check_int(n_draws, "n_draws", _FEWEST_DRAWS)
    seed, used = random.seed_sequence(random_state), found.used
    if len(used) < 3:
        raise ValueError(f"a correlation needs at least three documents with words; there are {len(used)}.")
    found.say_what_is_left_out()
    chains = found.chains
    if found.is_of_fit and chains is not None and chains.continues:
        return _of_chain(chains.continued_chain(random.child(seed, 0)), used, n_draws or _CHAIN_DRAWS, seed)
    has_draws = found.is_of_fit and found.has_draws
    thetas = found.model._sample_posterior(n_draws or _DRAWS, seed)[0] if has_draws else [found.doc_topic]
    values, variances = zip(*(_pearson(theta[used]) for theta in thetas), strict=True)
    variance_of_draws = np.var(values, axis=0, ddof=1) if len(values) > 1 else 0.0
    total = np.mean(variances, axis=0) + (1 + 1 / len(values)) * variance_of_draws
    mean = np.mean(values, axis=0)
    return Bunch(
        correlation=mean,
        std=np.sqrt(total),
        uncorrected=mean,
        information=np.full(mean.shape, np.nan),
        neutral=_neutral(np.mean([theta[used].mean(axis=0, dtype=np.float64) for theta in thetas], axis=0)),
        n_draws=len(values) if has_draws else 0,
    )


def _of_chain(chain, used, n_draws, seed):
    """Corrected correlations, from a draw of theta of the documents `used` after each further sweep of a chain."""
    rng, K = np.random.default_rng(random.child(seed, 1)), chain.priors.n_components
    sums, squares = np.zeros((2, _BLOCKS, K, K))
    sizes, means, variances = np.zeros((_BLOCKS, 1, 1)), np.zeros(K), []
    for i in range(n_draws):
        chain.sweep()
        theta = draw_doc_topic(chain, rng, used)
        block = i * _BLOCKS // n_draws
        if i % _VARIANCE_EVERY == 0:
            r, variance = _pearson(theta)
            variances.append(variance)
        else:
            r = _standardised(theta)[1]
        sums[block] += r
        squares[block] += r**2
        sizes[block] += 1
        means += theta.mean(axis=0) / n_draws
    neutral, priors = _neutral(means), chain.priors
    # The means of a given alpha need not be those of the documents. One that differs between documents is learnt.
    stated = _prior_correlation(priors.doc_of(used))
    prior = neutral if priors.shared else stated
    corrected = _corrected(sums, squares, sizes, np.mean(variances, axis=0), prior, stated)
    return Bunch(**corrected, neutral=neutral, n_draws=n_draws)


def _corrected(sums, squares, sizes, variance, prior, stated):
    """The step from the correlations of the prior to the most likely ones, a dict.

    Parameters
    ----------
    sums, squares : ndarray of shape (n_blocks, n_components, n_components)
        Of correlations of the draws in each block, and of their squares.
    sizes : ndarray of shape (n_blocks, 1, 1)
        Number of draws in each block.
    variance : ndarray of shape (n_components, n_components)
        U, over samples of documents.
    prior, stated : ndarray of shape (n_components, n_components)
        Correlations of the prior with the means of the documents, and with its own.
    """
    # If documents have only one possible correlation, as with two topics, there is nothing to correct.
    constant = 1 - np.abs(sums.sum(axis=0) / sizes.sum()) <= rounding(1.0)
    # It may be zero in the draws that have one: then there is little information.
    variance = np.maximum(variance, rounding(1.0) ** 2)

    def moments(sums, squares, n):
        mean = sums / n
        between = np.maximum(squares - n * mean**2, 0) / (n - 1)
        return mean, np.where(constant, 1, 1 - between / variance)

    mean, information = moments(sums.sum(axis=0), squares.sum(axis=0), sizes.sum())
    parts = moments(sums.sum(axis=0) - sums, squares.sum(axis=0) - squares, sizes.sum() - sizes)
    error, own_error = ((_BLOCKS - 1) * np.var(each, axis=0) for each in parts)
    own_error = own_error + (_ERROR_OF_VARIANCE * (1 - information)) ** 2
    least = np.clip(information - np.sqrt(own_error), _LEAST_INFORMATION, 1)
    information = np.clip(information, _LEAST_INFORMATION, 1)
    # An uncertain divisor makes a step too long on average, and this one does not.
    gain = np.maximum(information / (information**2 + own_error), 1)
    total = variance / least + error / least**2 + ((mean - prior) / least**2) ** 2 * own_error
    estimate = np.clip(prior + (mean - prior) * gain, -1, 1)
    total += (_ERROR_OF_STEP * (estimate - mean)) ** 2 + ((gain - 1) * (stated - prior)) ** 2
    return {
        "correlation": np.where(constant, mean, estimate),
        "std": np.where(constant, 0, np.minimum(np.sqrt(total), 1)),
        "uncorrected": mean,
        "information": information,
    }


def _prior_correlation(alpha):
    """Correlations of theta in the prior, for alpha of shape (1 or n_documents, n_components)."""
    totals = alpha.sum(axis=1, keepdims=True)
    means = alpha / totals
    parts, centred = means / (totals + 1) / len(means), means - means.mean(axis=0)
    covariance = np.diag(parts.sum(axis=0)) - parts.T @ means + centred.T @ centred / len(means)
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    return np.clip(covariance / scale / scale[:, None], -1, 1)


def _neutral(means):
    """Correlations of a Dirichlet distribution with these means. They do not depend on its concentration."""
    odds = np.sqrt(means / np.maximum(1 - means, np.finfo(np.float64).tiny))
    found = np.maximum(-np.outer(odds, odds), -1)
    np.fill_diagonal(found, 1)
    return found


def _standardised(theta):
    """Standardised columns, their correlations, and which columns are constant."""
    centred = np.asarray(theta, dtype=np.float64) - theta.mean(axis=0, dtype=np.float64)
    scale = np.sqrt((centred**2).mean(axis=0))
    # Proportions may have been stored in single precision.
    constant = scale <= rounding(np.asarray(theta, np.float32), axis=0)
    z = centred / np.where(constant, 1, scale)
    r = np.clip(z.T @ z / len(z), -1, 1)
    np.fill_diagonal(r, 1)
    r[constant] = r[:, constant] = np.nan
    return z, r, constant


def _pearson(theta):
    """Correlations of columns, and their variances over samples of rows."""
    z, r, constant = _standardised(theta)
    n = len(z)
    squares = z**2
    both, cubes, fourth = squares.T @ squares / n, (squares * z).T @ z / n, (squares**2).mean(axis=0)
    variance = both - r * (cubes + cubes.T) + r**2 / 4 * (fourth[:, None] + fourth + 2 * both)
    variance = np.maximum(variance, 0) / n
    np.fill_diagonal(variance, 0)
    variance[constant] = variance[:, constant] = np.nan
    return r, variance
