"""Held-out likelihood along the sweeps of a fit."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.types import Counts, Model, Seed
from sklda._likelihood.held_out.averages import log_mean_exp, mean_per_token
from sklda._likelihood.held_out.ratio_ais import training_curve
from sklda.metrics._checks import check_options
from sklda.metrics._models import Description, check_arrays, inner_model

_PAIR = "(snapshots, doc_topic_prior)"


def held_out_curve(
    estimator: Model,
    X: Counts,
    *,
    n_temperatures: int = 20,
    n_runs: int = 2,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Held-out log-likelihood per token along the sweeps of a fit.

    The first snapshot has a guided estimate. Then the documents are annealed from each snapshot to the next
    (iteration-AIS). Each estimate continues the ones before it, so the errors of the points are correlated.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (snapshots, doc_topic_prior)
        A `GibbsLDA` fitted with `snapshot_every`, or a pipeline or search that has one; X is then what the pipeline
        takes. A pair of arrays: topics of shape (n_snapshots, n_components, n_features), each row a distribution over
        words, and alpha, a float or an array of shape (n_components,).
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts of documents that were not in the fit; with a pipeline, its input.
    n_temperatures : int, default=20
        Sweeps from one snapshot to the next, and five times as many for the first.
    n_runs : int, default=2
        Independent runs, at least 2.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        ``score`` (n_snapshots,): mean per token, in nats; ``std`` (n_snapshots,): its Monte Carlo standard error;
        ``log_likelihood`` (n_snapshots, n_documents); ``sweeps`` (n_snapshots,): the sweeps after which the
        snapshots were taken, or 0, 1, 2, ... for arrays.

    Raises
    ------
    ValueError
        If there is no snapshot, shapes disagree, or X has no token.

    References
    ----------
    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI. Section 3.2.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import held_out_curve
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> lda = GibbsLDA(3, max_iter=30, snapshot_every=10, random_state=0).fit(X[:60])
    >>> curve = held_out_curve(lda, X[60:], random_state=0)
    >>> curve.sweeps.tolist(), curve.score.shape
    ([10, 20, 30], (3,))
    """
    snapshots, alpha, sweeps, X = _snapshots(X, estimator)
    if len(snapshots) == 0:
        raise ValueError("there is no snapshot: snapshot_every may be larger than the number of sweeps.")
    check_options("guided_ais", n_temperatures, n_runs, None, "linear", return_std=True)
    corpus = Corpus.from_counts(X)
    models = [check_arrays(topic_word, alpha, corpus) for topic_word in snapshots]
    runs = training_curve(
        corpus,
        [topic_word for topic_word, _ in models],
        models[0][1],
        n_temperatures=n_temperatures,
        n_runs=n_runs,
        seed=random.seed_sequence(random_state),
        n_jobs=n_jobs,
    )
    value, std = log_mean_exp(runs)
    return Bunch(
        score=np.array([mean_per_token(row, corpus.lengths) for row in value]),
        std=np.sqrt((std**2).sum(axis=1)) / corpus.n_tokens,
        log_likelihood=value,
        sweeps=np.arange(len(value)) if sweeps is None else sweeps,
    )


def _snapshots(X, model):
    """Topics along a fit, their prior, the sweeps after which they were taken or None, and the counts."""
    model = Description.of(model).estimator
    if isinstance(model, tuple):
        if len(model) != 2:
            raise ValueError(f"model is a tuple of {len(model)}; arrays are given as a pair {_PAIR}.")
        if not hasattr(model[0], "__len__"):
            raise TypeError(f"the snapshots must be a sequence of matrices, got {model[0]!r}.")
        return *model, None, X
    model, X = inner_model(model, X, advice=f"fit a GibbsLDA with snapshot_every=10, or give a pair {_PAIR}")
    if not hasattr(model, "snapshots_"):
        raise ValueError("the estimator has no snapshots: fit it with, for example, snapshot_every=10.")
    return model.snapshots_, model.doc_topic_prior_, model.snapshot_sweeps_, X
