"""Permutation tests of effects on topic proportions: a table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._core import random
from sklda._core.least_squares import Columns
from sklda._input.arguments import check_int
from sklda._input.names import listed
from sklda._input.types import Data, Model, Seed, Values
from sklda.inspection._effects import Effects
from sklda.inspection._theta import prior_knows

# The key of the stream of permutations, which no draw of theta has.
_STREAM = 2**20
# Exchanges after which columns are looked at: a column that all of these leave as it is has nothing to exchange.
_TRIED = 20
# Coefficients that differ by less, relative to the largest, are equal: those of the same assignment in another order.
_ROUNDING = 1e-9


def permutation_test(
    estimator: Model,
    X: Data | None = None,
    covariates: Any = None,
    *,
    permuted: Values | str | None = None,
    topics: Values | None = None,
    formula: str | None = None,
    transformer: Any = None,
    clusters: Any = None,
    weights: ArrayLike | None = None,
    missing: Literal["raise", "drop"] = "raise",
    n_permutations: int = 999,
    n_draws: int = 50,
    n_words: int = 3,
    random_state: Seed = None,
) -> DataFrame:
    """Test effects of covariates on topic proportions by exchanging the covariates between documents.

    The effect of a term is compared with its effects after the values of covariates have been exchanged at random. In
    an experiment that assigned them at random, the p-value is exact for any number of documents. The hypothesis is that
    each document would have had the same words with any other value.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        A topic model whose fit did not have these covariates.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents.
    covariates : array-like, sparse matrix or data frame with n_documents rows
        As for `topic_effects`.
    permuted : str, or sequence of str, default=None
        The covariates whose values are exchanged, together: such as the treatment of an experiment. The others stay
        with their documents. None: all.
    topics, formula, transformer
        See `topic_effects`.
    clusters : sequence of n_documents labels, default=None
        The source, author or place of every document. If all documents of a cluster have the same values of the
        permuted covariates, these are exchanged between clusters; otherwise between documents of one cluster. None:
        between all documents.
    weights : array-like of shape (n_documents,), default=None
        Weights of the documents, which stay with them. A document of weight 0 takes no part.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents that count and lack a value of an argument: an error that names them, or they are left
        out and a warning says so.
    n_permutations : int, default=999
        Number of exchanges. The smallest possible p-value is ``1 / (n_permutations + 1)``.
    n_draws : int, default=50
        Number of draws of theta, whose mean is used.
    n_words : int, default=3
        How many of a topic's most probable words are in its label, if it has no name.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws and the exchanges.

    Returns
    -------
    pandas.DataFrame
        A row for every topic, and every term that the permuted covariates change, with the columns

        - ``topic``, ``name``, ``term`` and ``base``: as in `topic_effects`;
        - ``estimate``: the change of the proportion if the term grows by one, that of `topic_effects`;
        - ``p_value``: two-sided, the part of exchanges with an effect of at least this size;
        - ``exchanged``: ``"documents"``, ``"documents within clusters"`` or ``"clusters"``;
        - ``units``: the number of these documents or clusters;
        - ``permutations``: their number.

    Raises
    ------
    ValueError
        If the prior of the model has a permuted covariate, nothing can be exchanged, or as for `topic_effects`.
    TypeError
        If the model is not a topic model.

    Warns
    -----
    UserWarning
        As `topic_effects`.

    See Also
    --------
    topic_effects : Intervals, which need few assumptions if there are many documents or clusters.

    Notes
    -----
    The model is fitted once: its fit did not know the covariates, so no fit would differ if they had been exchanged.
    That of a `CovariateLDA` did, which is refused.

    The topics, and the proportions given the words, are taken as they are. The test does not contain that another fit
    would find other topics; the intervals of `topic_effects` over several chains do.

    The p-value is ``(1 + b) / (1 + n_permutations)``, where b exchanges have an effect at least as far from zero
    (Phipson & Smyth 2010). Where other covariates stay, and go together with the permuted ones, nobody has assigned
    these at random, and the p-value is one of a rough check only. Each topic has a test of its own: with many topics
    some p-values are small by chance.

    References
    ----------
    Phipson & Smyth (2010). Permutation p-values should never be zero. Statistical Applications in Genetics and
    Molecular Biology 9.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import permutation_test
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = permutation_test(lda, X, {"treated": np.arange(60) % 2}, n_permutations=99, random_state=0)
    >>> table[["term", "exchanged", "units", "permutations"]].to_dict("records")[0]
    {'term': 'treated', 'exchanged': 'documents', 'units': 60, 'permutations': 99}
    """
    n_permutations = check_int(n_permutations, "n_permutations", 1)
    effects = Effects.of(
        X,
        estimator,
        covariates,
        formula=formula,
        transformer=transformer,
        clusters=clusters,
        weights=weights,
        missing=missing,
        n_draws=n_draws,
        random_state=random_state,
    )
    shown = effects.view.chosen(topics)
    names = _permuted(effects, permuted)
    exchanged, units, orders = _exchanges(effects, names)
    proportions = _means(theta[:, shown] for theta in effects.draws.theta)
    estimate = _coefficients(effects.matrix, effects.weights, proportions)

    rng = np.random.default_rng(random.child(random.seed_sequence(random_state), _STREAM))
    moved, are_rows = np.zeros(len(estimate), dtype=bool), np.ones(len(estimate), dtype=bool)
    for _ in range(_TRIED):
        order = orders(rng)
        matrix = _matrix(effects, names, order)
        moved |= (matrix != effects.matrix).any(axis=0)
        are_rows &= (matrix == effects.matrix[order]).all(axis=0)
    if not moved.any():
        raise ValueError(f"no exchange of {listed(names)} changes a term of the linear model: give other covariates.")
    # Beside the terms, numbers as they are: the prior may have them, and the terms be their powers.
    numbers = effects.frame[names].select_dtypes(["number", "bool"]).to_numpy(dtype=np.float64)
    if prior_knows(effects.view, effects.draws.used, np.hstack([effects.matrix[:, moved], numbers])).any():
        has = listed(names) + (", or one of them," if len(names) > 1 else ",")
        raise ValueError(
            f"the prior of the {type(effects.view.model).__name__} has {has} so its fit would be another one after an "
            "exchange. Fit a GibbsLDA, or another model without these covariates."
        )
    larger = np.zeros(estimate.shape, dtype=int)
    for _ in range(n_permutations):
        order = orders(rng)
        if are_rows[moved].all():
            matrix = np.where(moved, effects.matrix[order], effects.matrix)
        else:
            # A product of a covariate that is exchanged and one that is not.
            matrix = _matrix(effects, names, order)
        found = _coefficients(matrix, effects.weights, proportions)
        larger += np.abs(found) >= np.abs(estimate) * (1 - _ROUNDING)

    p_value = np.where(np.isnan(estimate), np.nan, (1 + larger) / (1 + n_permutations))
    terms = np.flatnonzero(moved)
    return DataFrame(
        {
            "topic": [number for number in shown.tolist() for _ in terms],
            "name": np.repeat(effects.view.labels(shown, n_words), len(terms)),
            "term": [effects.design.terms[j] for j in terms] * len(shown),
            "base": [effects.design.bases[j] for j in terms] * len(shown),
            "estimate": estimate[terms].T.ravel(),
            "p_value": p_value[terms].T.ravel(),
            "exchanged": exchanged,
            "units": units,
            "permutations": n_permutations,
        }
    )


def _permuted(effects, permuted):
    """The names of the covariates whose values are exchanged."""
    known = list(effects.design.variables)
    if permuted is None:
        return known
    names = [permuted] if isinstance(permuted, str) else list(permuted)
    others = [name for name in names if name not in known]
    if others or not names:
        what = f"has {others[0]!r}, which is none of them" if others else "has no name"
        raise ValueError(f"permuted must hold names of covariates of the model, {listed(known)}; it {what}.")
    return names


def _exchanges(effects, names):
    """What is exchanged, how many of them there are, and a function that draws rows in a new order."""
    n_documents = len(effects.frame)
    if effects.clusters is None:
        return "documents", n_documents, lambda rng: rng.permutation(n_documents)
    values, clusters = effects.frame[names], effects.clusters
    first = np.unique(clusters, return_index=True)[1]
    of_first = values.iloc[first[clusters]].reset_index(drop=True)
    if values.reset_index(drop=True).equals(of_first):
        return "clusters", len(first), lambda rng: first[rng.permutation(len(first))[clusters]]
    by_cluster = np.argsort(clusters, kind="stable")

    def within(rng):
        order = np.empty(n_documents, dtype=int)
        order[by_cluster] = np.lexsort((rng.random(n_documents), clusters))
        return order

    return "documents within clusters", n_documents, within


def _matrix(effects, names, order):
    """The columns of the linear model after an exchange."""
    if set(names) == set(effects.design.variables):
        return effects.matrix[order]
    values = {name: effects.frame[name].array[order] for name in names}
    return effects.design.matrix(effects.frame.assign(**values))


def _means(draws):
    """The means of draws of proportions, (n_documents, n_rows), over those that have the topic."""
    total, count = 0.0, 0
    for theta in draws:
        known = ~np.isnan(theta)
        total, count = total + np.where(known, theta, 0), count + known
    return np.where(count, total / np.maximum(count, 1), np.nan)


def _coefficients(matrix, weights, proportions):
    """Those of least squares, (n_terms, n_rows)."""
    columns = Columns.of(matrix, weights)
    return columns.in_basis(np.eye(matrix.shape[1])).T @ (columns.weighted.T @ proportions)
