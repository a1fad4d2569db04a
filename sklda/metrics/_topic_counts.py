"""Several numbers of topics in fits to parts of the documents: held-out score, and topics found again, with errors."""

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
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from sklda._core import random
from sklda._core.distances import jensen_shannon
from sklda._core.parallel import jobs_for
from sklda._core.same_topics import SAME_TOPIC
from sklda._description.models import Description, input_of, names_of_steps, shares_of, topics_with_words, unwrap
from sklda._input.arguments import check_int, distributions
from sklda._input.counts import read_sparse
from sklda._input.covariates import covariate_frame
from sklda._input.document_values import DocumentValues, check_documents, number_of_documents
from sklda._input.names import index_of
from sklda.metrics._scorers import make_held_out_scorer

# The difference of two folds is one number, and says nothing about the error of their mean.
_DEFAULT_FOLDS, _FEWEST_FOLDS = 4, 3
# Degrees of freedom that a variance of a few fits gets from the usual one. doc/method/calibration.rst has half and
# twice.
_FREEDOM_OF_USUAL = 1


def scores_of_folds(
    model: Any, X: Any, counts: Sequence[int], cv: Any, metadata: dict[str, Any], seed: Any, n_jobs: int | None
) -> tuple[DataFrame, list[list[np.ndarray]]]:
    """Fit a model with several numbers of topics to all folds but one: a table, and the topics of these fits.

    The table has a row for each number, and the topics are those of every number and fold, (n_topics, n_features).
    """
    name = name_of_the_count(model)
    folds = _folds(cv, X, seed)
    tasks = [
        (clone(model).set_params(**{name: K}), X, metadata, *fold, random.child(seed, 1, K, f))
        for K in counts
        for f, fold in enumerate(folds)
    ]
    measured = Parallel(n_jobs=jobs_for(len(tasks), n_jobs))(delayed(_measure)(*task) for task in tasks)
    fits = [measured[i : i + len(folds)] for i in range(0, len(measured), len(folds))]
    return _rows(counts, fits), [[fit["topics"] for fit in own] for own in fits]


def with_seeds(model: Any, rng: np.random.Generator) -> Any:
    """The model, whose seeds and those of models in it are set."""
    names = sorted(name for name in model.get_params() if name.split("__")[-1] == "random_state")
    return model.set_params(**{name: int(rng.integers(2**31)) for name in names})


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
    """The topic model at the end of pipelines, its input, and the words of its columns, None if they are not known.

    Earlier steps are fitted to all documents.
    """
    described = Description.of(estimator, X)
    X, words = described.X, described.vocabulary
    estimator, pipelines = unwrap(described)
    for pipeline in pipelines:
        if len(pipeline) > 1:
            steps = clone(pipeline[:-1])
            X = steps.fit_transform(input_of(steps[0], X))
            words = names_of_steps(steps) if described.vocabulary is None else words
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params") or isinstance(estimator, type):
        raise TypeError(f"estimator is {estimator!r}: give a topic model, or a pipeline that ends in one.")
    if get_tags(estimator).target_tags.required:
        raise TypeError(f"{type(estimator).__name__} needs labels, so its number of topics is not a choice.")
    # Not all sparse formats have rows that can be chosen.
    return estimator, read_sparse(X, "X") if sp.issparse(X) else X, words


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
        cv, n = check_int(_DEFAULT_FOLDS if cv is None else cv, "cv", 2), _num_samples(X)
        if n < cv:
            raise ValueError(f"X has {n} documents, too few for cv = {cv} folds: give fewer folds, or cv=0 for none.")
        cv = KFold(cv, shuffle=True, random_state=state)
    folds = list(check_cv(cv).split(np.zeros(_num_samples(X))))
    if len(folds) < 2:
        raise ValueError(f"cv has {len(folds)} folds: topics are compared between at least two fits.")
    return folds


def checked_metadata(params, X):
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


def _measure(model, X, metadata, train, test, seed):
    """The topics of a fit with their shares, and its score of the documents that were left out, a dict."""
    rng, left_out = np.random.default_rng(seed), _safe_indexing(X, test)
    with_seeds(model, rng).fit(_safe_indexing(X, train), **_rows_of(metadata, train))
    # ConsensusTopics can have none.
    components = np.asarray(model.components_, dtype=np.float64)
    topics = distributions(components, f"components_ of the {type(model).__name__}") if len(components) else components
    kept = topics_with_words(model, components)
    found = {"topics": topics[kept].astype(np.float32), "share": shares_of(model, components)[kept]}
    if hasattr(model, "doc_topic_prior_"):
        scorer = make_held_out_scorer(metric="log_likelihood", random_state=int(rng.integers(2**31)))
        known = {name: metadata[name] for name in ("collections", "covariates") if name in metadata}
        found["score"] = scorer(model, left_out, **_rows_of(known, test))
    return found


def _rows(counts, measured):
    """The table, from the measures of every number of topics and every fold."""
    rows, columns = [], _of_folds(measured)
    variances = {name: np.array([each.var(ddof=1) for each in values]) for name, values in columns.items()}
    for i, (K, fits) in enumerate(zip(counts, measured, strict=True)):
        n, row = len(fits), {"n_components": K}
        for name, values in columns.items():
            known = variances[name][np.isfinite(variances[name])]
            usual = known.mean() if len(known) else np.nan
            row[name] = float(values[i].mean())
            row[f"{name}_std"] = _moderated(variances[name][i] / n, usual / n, n)
        rows.append(row | _found_again(fits) | {"n_fits": n})
    return DataFrame(rows)


def _of_folds(measured):
    """Scores and gains by name: for each number of topics an array of its folds; empty if the model has no score."""
    if "score" not in measured[0][0]:
        return {}
    scores = [np.array([fit["score"] for fit in fits]) for fits in measured]
    return {"score": scores, "gain": [scores[0] * np.nan] + [b - a for a, b in pairwise(scores)]}


def _found_again(fits):
    """Number of topics that another fit has, a mean over pairs of fits, and their part of the tokens, with errors."""
    n = len(fits)
    pairs = np.full((2, n, n), np.nan)
    for a, b in np.argwhere(~np.eye(n, dtype=bool)):
        nearest = jensen_shannon(fits[a]["topics"], fits[b]["topics"], dtype=np.float32).min(axis=1, initial=1)
        again = nearest <= SAME_TOPIC
        # Sums of single precision may be more than one.
        pairs[:, a, b] = again.sum(), min(fits[a]["share"][again].sum(dtype=np.float64), 1)
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
