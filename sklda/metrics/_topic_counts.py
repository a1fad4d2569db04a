"""Several numbers of topics compared: held-out score, coherence, exclusivity, topics found again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from pandas import DataFrame
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from sklda._core import random
from sklda._core.arguments import check_int, distributions
from sklda._core.consensus import SAME_TOPIC
from sklda._core.counts import read_sparse
from sklda._core.covariates import covariate_frame
from sklda._core.distances import jensen_shannon
from sklda._core.document_values import DocumentValues, check_documents, number_of_documents
from sklda._core.names import index_of
from sklda._core.parallel import jobs_for
from sklda._core.types import Data, Model, Seed
from sklda._description.models import Description, check_order, topics_with_words
from sklda.metrics._coherence import topic_coherence
from sklda.metrics._exclusivity import topic_exclusivity
from sklda.metrics._scorers import make_held_out_scorer

MEASURES = ("score", "coherence", "exclusivity", "found_again", "found_share")
# The difference of two folds is one number, and says nothing about the error of their mean.
_DEFAULT_FOLDS, _FEWEST_FOLDS = 4, 3
# Degrees of freedom that a variance of a few fits gets from the usual one. doc/method/calibration.rst has half and
# twice.
_FREEDOM_OF_USUAL = 1


def compare_topic_counts(
    estimator: Model,
    X: Data,
    n_components: Sequence[int],
    *,
    cv: Any = None,
    params: dict[str, Any] | None = None,
    n_words: int = 10,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> DataFrame:
    """Fit a model with several numbers of topics, and compare them: what users of stm know as searchK.

    Each number of topics has a fit to all folds but one, for every fold. Held-out score and coherence are those of the
    fold that was left out. A topic counts as found again if another fit has it too.

    Parameters
    ----------
    estimator : estimator or pipeline
        A topic model with the parameter ``n_components``, or a pipeline that ends in one. It is not fitted itself. The
        steps before the model are fitted once, to all documents, so that all fits have the same words.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents.
    n_components : sequence of int
        Numbers of topics.
    cv : int, cross-validation generator or iterable of pairs of arrays, default=None
        The folds. An int: this number of folds of documents in random order. None: 4.
    params : dict of {str: object}, default=None
        Metadata of the documents: ``covariates`` of a `CovariateLDA`, ``collections`` of a `CompoundLDA`, or another
        argument of the ``fit`` of the model. Each has an entry for every document, or is a dict of such columns. The
        held-out scores use those two as well.
    n_words : int, default=10
        Number of top words of the coherence and of the exclusivity.
    n_jobs : int, default=None
        Number of fits at a time, as in joblib. Results do not depend on it.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Seeds of the folds and of the fits are derived from it. With an int, results are reproducible.

    Returns
    -------
    pandas.DataFrame
        A row for each number of topics, in the order of `n_components`. Each column except the first and the last is
        followed by one with the ending ``_std``: its standard errors, from the differences between folds.

        - ``n_components``
        - ``score``: held-out log-likelihood per token, in nats, see `make_held_out_scorer`; absent if the model has no
          ``doc_topic_prior_``
        - ``gain``: the score less that of the row before, fold by fold. Documents differ more than models, so its error
          is much smaller than that of the score. NaN in the first row.
        - ``coherence``: NPMI of the documents that were left out, a mean over topics, see `topic_coherence`
        - ``exclusivity``: see `topic_exclusivity`
        - ``found_again``: number of topics that another fit has too, at a Jensen-Shannon distance of at most 0.5; a
          mean over pairs of fits
        - ``found_share``: their part of the tokens
        - ``n_fits``: number of folds. An interval of 95 % is ``scipy.stats.t.ppf(0.975, n_fits - 1)`` errors on either
          side: 3.2 with four folds, 2.3 with ten.

        Topics without words of their own are left out of coherence, exclusivity and the topics found again: see
        ``topic_stability_`` of `GibbsLDA`. Without any other, coherence and exclusivity are NaN.

    Raises
    ------
    ValueError
        If a number of topics is not positive or occurs twice, there are fewer than two folds, or the estimator refuses
        X. If an entry of `params` does not belong to the documents, or the estimator has a `Checkpoint`.
    TypeError
        If the estimator has no parameter ``n_components`` or needs labels, or `params` is not a dict.

    Notes
    -----
    None of these chooses a number by itself. The held-out score often rises up to hundreds of topics. Coherence and
    exclusivity are highest with few topics. The number of topics found again has no maximum, because there are always
    narrow topics that other fits have, but their part of the tokens falls. See :ref:`how_many_topics`.

    The cost is that of a fit for every number of topics and every fold, and of the held-out scores.

    The standard errors of score, gain and coherence treat folds as independent. Those of ``found_again`` and
    ``found_share`` are jackknife errors: each fit in turn is left out with all its pairs. That of the exclusivity is
    corrected for the documents that fits share (Nadeau & Bengio 2003).

    A few fits that agree by chance say nothing about the next one, which may lack a topic. So one degree of freedom of
    each variance is not its own (Smyth 2004): it is the mean of the variances of all rows. For ``found_again`` and
    ``found_share`` it is the variance of independent topics, which is above zero where all fits agree. With a single
    difference of two numbers of topics, the ``gain`` has no other rows: its error is then that of fits that have about
    the same topics. Errors are NaN with two folds. From n folds, an error is itself uncertain by a part of about ``1 /
    sqrt(2 * n)``: 35 % with four folds, and 22 % with ten. :ref:`errors_over_folds` compares them with the spread over
    corpora.

    References
    ----------
    Nadeau & Bengio (2003). Inference for the generalization error. Machine Learning 52.

    Roberts, Stewart & Tingley (2019). stm: an R package for structural topic models. Journal of Statistical Software
    91. Section 3.4.

    Smyth (2004). Linear models and empirical Bayes methods for assessing differential expression in microarray
    experiments. Statistical Applications in Genetics and Molecular Biology 3.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import compare_topic_counts
    >>> X = make_lda_corpus(120, 60, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
    >>> table = compare_topic_counts(GibbsLDA(max_iter=50), X, [2, 4], cv=3, random_state=0)
    >>> table[["n_components", "score", "gain", "gain_std", "found_again"]].round(2)
       n_components  score  gain  gain_std  found_again
    0             2  -2.73   NaN       NaN         1.33
    1             4  -2.31  0.41      0.07         3.67
    """
    check_order(X, estimator)
    counts = checked_counts(n_components, "n_components")
    check_int(n_words, "n_words", 2)
    model, X = model_and_input(estimator, X)
    name = name_of_the_count(model)
    seed = random.seed_sequence(random_state)
    folds, metadata = _folds(cv, X, seed), _checked_metadata(params, X)
    tasks = [
        (clone(model).set_params(**{name: K}), X, metadata, *fold, n_words, random.child(seed, 1, K, f))
        for K in counts
        for f, fold in enumerate(folds)
    ]
    measured = Parallel(n_jobs=jobs_for(len(tasks), n_jobs))(delayed(_measure)(*task) for task in tasks)
    shared = float(np.mean([len(test) / len(train) for train, test in folds]))
    return _rows(counts, [measured[i : i + len(folds)] for i in range(0, len(measured), len(folds))], shared)


def checked_counts(numbers, name, least=1):
    """Numbers of topics, a list of distinct int from `least` on; `name` is that of the argument."""
    if isinstance(numbers, (str, bytes)) or not hasattr(numbers, "__len__") or not len(numbers):
        example = "10, 20, 40" if least else "0, 1, 2"
        raise TypeError(f"{name} must hold numbers of topics, as in [{example}]; got {numbers!r}.")
    counts = [check_int(n, f"{name}[{i}]", least) for i, n in enumerate(numbers)]
    if len(set(counts)) < len(counts):
        raise ValueError(f"{name} has the same number twice: {counts}.")
    return counts


def model_and_input(estimator, X):
    """The topic model at the end of pipelines, and its input. Earlier steps are fitted to all documents."""
    described = Description.of(estimator, X)
    estimator, X = described.estimator, described.X
    while isinstance(estimator, Pipeline):
        if len(estimator) > 1:
            X = clone(estimator[:-1]).fit_transform(X)
        estimator = estimator[-1]
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params") or isinstance(estimator, type):
        raise TypeError(f"estimator is {estimator!r}: give a topic model, or a pipeline that ends in one.")
    if get_tags(estimator).target_tags.required:
        raise TypeError(f"{type(estimator).__name__} needs labels, so its number of topics is not a choice.")
    # Not all sparse formats have rows that can be chosen.
    return estimator, read_sparse(X, "X") if sp.issparse(X) else X


def name_of_the_count(model):
    """The parameter that is the number of topics."""
    names = [name for name in model.get_params() if name.split("__")[-1] == "n_components"]
    if not names:
        kind = type(model).__name__
        raise TypeError(f"{kind} has no parameter n_components, so numbers of topics cannot be compared.")
    return min(names, key=len)


def _folds(cv, X, seed):
    """Pairs of arrays of rows: the documents of a fit, and those that are left out."""
    if cv is None or isinstance(cv, Integral):
        # Corpora are often in the order of their sources.
        state = random.key(random.child(seed, 0)) % 2**32
        cv = KFold(_DEFAULT_FOLDS if cv is None else cv, shuffle=True, random_state=state)
    folds = list(check_cv(cv).split(np.zeros(_num_samples(X))))
    if len(folds) < 2:
        raise ValueError(f"cv has {len(folds)} folds: topics are compared between at least two fits.")
    return folds


def _checked_metadata(params, X):
    """Metadata of the documents of X, of which rows can be chosen; covariates keep the places of the documents in X."""
    if params is not None and not isinstance(params, dict):
        raise TypeError(f"params must be a dict such as {{'covariates': values}}, got {type(params).__name__}.")
    known = {name: (params or {})[name] for name in ("collections", "covariates") if name in (params or {})}
    found = (params or {}) | DocumentValues.read(X, **known).given
    for name, values in found.items():
        if number_of_documents(next(iter(values.values()), None) if isinstance(values, dict) else values) is None:
            raise ValueError(f"params has {name} = {values!r}: give a value for each document.")
    check_documents(X, **found)
    if "covariates" in found:
        index = index_of(X)
        names = range(_num_samples(X)) if index is None else index
        found["covariates"] = covariate_frame(found["covariates"]).set_axis(names)
    return found


def _rows_of(metadata, rows):
    """The metadata of some documents."""
    return {
        name: {key: _safe_indexing(column, rows) for key, column in each.items()}
        if isinstance(each, dict)
        else _safe_indexing(each, rows)
        for name, each in metadata.items()
    }


def _measure(model, X, metadata, train, test, n_words, seed):
    """The topics of a fit with their shares, and its measures on the documents that were left out, a dict."""
    rng = np.random.default_rng(seed)
    names = sorted(name for name in model.get_params() if name.split("__")[-1] == "random_state")
    model.set_params(**{name: int(rng.integers(2**31)) for name in names})
    left_out = _safe_indexing(X, test)
    model.fit(_safe_indexing(X, train), **_rows_of(metadata, train))
    # ConsensusTopics can have none.
    components = np.asarray(model.components_, dtype=np.float64)
    topics = distributions(components, f"components_ of the {type(model).__name__}") if len(components) else components
    kept = topics_with_words(model, components)
    share = getattr(model, "topic_share_", None)
    if share is None:
        weights = components.sum(axis=1)
        share = weights / weights.sum()
    n_words = min(n_words, topics.shape[1])
    found = {
        "topics": topics[kept].astype(np.float32),
        "share": np.asarray(share)[kept],
        "coherence": np.nan,
        "exclusivity": np.nan,
    }
    if kept.any():
        found["coherence"] = topic_coherence(topics[kept], left_out, n_words=n_words)
        found["exclusivity"] = topic_exclusivity(topics[kept], n_words=n_words)
    if hasattr(model, "doc_topic_prior_"):
        scorer = make_held_out_scorer(metric="log_likelihood", random_state=int(rng.integers(2**31)))
        known = {name: metadata[name] for name in ("collections", "covariates") if name in metadata}
        found["score"] = scorer(model, left_out, **_rows_of(known, test))
    return found


def _rows(counts, measured, shared):
    """The table, from the measures of every number of topics and every fold.

    `shared` is the number of documents that are left out by those of a fit.
    """
    rows, columns = [], _of_folds(measured)
    variances = {name: np.array([each.var(ddof=1) for each in values]) for name, values in columns.items()}
    for i, (K, fits) in enumerate(zip(counts, measured, strict=True)):
        n, row = len(fits), {"n_components": K}
        for name, values in columns.items():
            known = variances[name][np.isfinite(variances[name])]
            usual = known.mean() if len(known) else np.nan
            # Topics of fits that share documents are alike (Nadeau & Bengio 2003).
            factor = 1 / n + (shared if name == "exclusivity" else 0)
            row[name] = float(values[i].mean())
            row[f"{name}_std"] = _moderated(factor * variances[name][i], factor * usual, n)
        rows.append(row | _found_again(fits) | {"n_fits": n})
    return DataFrame(rows)


def _of_folds(measured):
    """Scores, gains, coherence and exclusivity by name: for each number of topics an array of its folds."""
    columns = {}
    for name in MEASURES[:3]:
        if name in measured[0][0]:
            columns[name] = [np.array([fit[name] for fit in fits]) for fits in measured]
        if name == "score" and name in columns:
            scores = columns[name]
            columns["gain"] = [scores[0] * np.nan] + [b - a for a, b in pairwise(scores)]
    return columns


def _found_again(fits):
    """Number of topics that another fit has, a mean over pairs of fits, and their part of the tokens, with errors."""
    n = len(fits)
    pairs = np.full((2, n, n), np.nan)
    for a, b in np.argwhere(~np.eye(n, dtype=bool)):
        nearest = jensen_shannon(fits[a]["topics"], fits[b]["topics"], dtype=np.float32).min(axis=1, initial=1)
        again = nearest <= SAME_TOPIC
        pairs[:, a, b] = again.sum(), fits[a]["share"][again].sum()
    shares = [fit["share"] for fit in fits]
    weights = {"found_again": [np.ones(len(share)) for share in shares], "found_share": shares}
    found = {}
    for (name, own), values in zip(weights.items(), pairs, strict=True):
        mean = float(np.nanmean(values))
        found |= {name: mean, f"{name}_std": _moderated(_jackknife(values), _binomial(mean, own), n)}
    return found


def _moderated(variance, usual, n_fits):
    """A standard error whose variance is partly the usual one (Smyth 2004). NaN for two fits."""
    if n_fits < _FEWEST_FOLDS:
        return np.nan
    freedom = n_fits - 1
    return float(np.sqrt((freedom * variance + _FREEDOM_OF_USUAL * usual) / (freedom + _FREEDOM_OF_USUAL)))


def _jackknife(pairs):
    """The variance of the mean over pairs of fits, (n_fits, n_fits): each fit in turn is left out with its pairs.

    NaN for two fits.
    """
    n = len(pairs)
    if n < _FEWEST_FOLDS:
        return np.nan
    means = np.array([np.nanmean(np.delete(np.delete(pairs, f, 0), f, 1)) for f in range(n)])
    return float((n - 1) * means.var())


def _binomial(found, weights):
    """The variance of a sum of weights of topics if each topic of each fit is found by chance, with Jeffreys's prior.

    It is above zero if all topics of all fits were found.

    Parameters
    ----------
    found : float
        Sum of the weights of those that were found, a mean over fits.
    weights : list of ndarray of shape (n_topics,)
        For every fit.
    """
    total = np.mean([own.sum() for own in weights])
    if total == 0:
        return 0.0
    # Topics of all fits that would say as much if they had equal weights.
    n_topics = sum(own.sum() ** 2 / max((own**2).sum(), np.finfo(float).tiny) for own in weights)
    part = (min(found / total, 1) * n_topics + 0.5) / (n_topics + 1)
    return float(total**2 * part * (1 - part) / (n_topics + 1))
