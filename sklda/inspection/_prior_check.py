"""What the spread of the shares of documents says against their prior, and what this does to effects on an outcome."""

import numpy as np

from sklda._core.least_squares import Columns
from sklda._core.priors import SMALLEST

# The least part of the variance of the prior that words are taken to explain, in each direction of the shares, and the
# least variance of the documents in units of that of the prior. Divisions by less would be noise.
_LEAST_PART = 0.1
# Parts of the documents for the error of what their spread says.
_PARTS = 20


def unshrunk(coefficients, shares, draws, total_alpha, matrix, weights):
    """Coefficients of shares, if the prior of the shares were that of the documents.

    With the covariance V of the prior, and the mean covariance R of shares given words, means of the shares move the
    part G = I - R / V of the way from the prior to what the words say. If the documents have the covariance W, the
    means have M = G W G' + (I - G) V, as in linear models of normal variables. So W is found from M, and a regression
    on the means has the coefficients ``M^-1 G W b`` in place of b. In simulated corpora the difference was between a
    third of the bias by a wrong prior and all of it.

    V is that of a prior whose mean is the mean of the documents. If topics have no words in common, the sum of alpha
    alone says how far apart the means of documents are, and another mean of the prior moves all of them together.

    Parameters
    ----------
    coefficients : ndarray of shape (n_shares,)
    shares : ndarray of shape (n_documents, n_shares)
        Posterior means of the shares that have coefficients, one less than there are groups.
    draws : ndarray of shape (n_draws, n_documents, n_shares)
    total_alpha : float
        The sum of alpha.
    matrix : ndarray of shape (n_documents, n_terms)
        Other terms of the regression.
    weights : ndarray of shape (n_documents,) or None

    Returns
    -------
    coefficients : ndarray of shape (1 + n_parts, n_shares)
        Of all documents, and without those of each of several parts, of equal size.
    sizes : ndarray of shape (1 + n_parts, n_shares)
        The eigenvalues of M + R in units of V: one in all directions, if the prior is that of the documents.
    """
    weights = np.ones(len(shares)) if weights is None else weights / weights.mean()
    others = Columns.of(matrix, weights)
    apart = shares - others.basis @ (others.weighted.T @ shares)
    own = draws - draws.mean(axis=0)
    mean = np.append(weights @ shares, 0) / weights.sum()
    mean[-1] = max(1 - mean.sum(), SMALLEST)
    prior = ((np.diag(mean) - np.outer(mean, mean)) / (total_alpha + 1))[:-1, :-1]
    # In units of the prior, whose covariance is then I.
    root = np.linalg.cholesky(prior)
    inverse = np.linalg.inv(root).T
    apart, own, scaled = apart @ inverse, own @ inverse, root.T @ coefficients

    sums = []
    for part in np.array_split(np.arange(len(shares)), min(_PARTS, len(shares))):
        of_means = (weights[part] * apart[part].T) @ apart[part]
        given_words = np.einsum("d,sdj,sdk->jk", weights[part], own[:, part], own[:, part], optimize=True)
        sums.append((of_means, given_words / (len(own) - 1), weights[part].sum()))
    of_means, given_words, n = (np.array(each) for each in zip(*sums, strict=True))

    def solved(of_means, given_words, n):
        found, sizes = _without_shrinkage(scaled, of_means / (n - matrix.shape[1]), given_words / n)
        return np.linalg.solve(root.T, found), sizes

    total = of_means.sum(axis=0), given_words.sum(axis=0), n.sum()
    without = [solved(*(whole - each for whole, each in zip(total, own, strict=True))) for own in sums]
    found, sizes = zip(solved(*total), *without, strict=True)
    return np.array(found), np.array(sizes)


def jackknife_error(without):
    """The standard errors of values from those without each of several parts, which are the first axis."""
    return np.sqrt((len(without) - 1) * without.var(axis=0))


def _without_shrinkage(coefficients, of_means, given_words):
    """As `unshrunk`, from the covariances of means and given words, in units of the prior, and their sizes."""
    one = np.eye(len(of_means))
    parts, vectors = np.linalg.eigh(one - given_words)
    parts = np.maximum(parts, _LEAST_PART)
    moved, back = (vectors * each @ vectors.T for each in (parts, 1 / parts))
    sizes, vectors = np.linalg.eigh(one + back @ (of_means + given_words - one) @ back)
    documents = vectors * np.maximum(sizes, _LEAST_PART) @ vectors.T
    return np.linalg.solve(moved @ documents, of_means @ coefficients), np.linalg.eigvalsh(of_means + given_words)
