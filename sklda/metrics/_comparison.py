"""Comparison of two topic models, document by document."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.arguments import check_choice
from sklda._core.corpus import Corpus
from sklda._core.types import Counts, Model, Seed
from sklda._likelihood.held_out.averages import log_mean_exp
from sklda._likelihood.held_out.log_likelihoods import log_likelihoods
from sklda._likelihood.held_out.ratio_ais import log_ratios
from sklda._sampling.matching import match_topics
from sklda.metrics._checks import check_options
from sklda.metrics._models import corpus_and_model

# Number of standard errors by which the two directions may differ: a normal variate exceeds 3 once in 370 times.
_CONVERGED = 3
# Documents of the trial that selects a path; chosen, not measured.
_TRIAL_DOCUMENTS = 64


def compare_topic_models(
    a: Model,
    b: Model,
    X: Counts,
    *,
    path: Literal["auto", "convex", "geometric", "difference"] = "auto",
    n_temperatures: int = 100,
    n_runs: int = 2,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Log ratio of the probabilities of each document under two topic models.

    Parameters
    ----------
    a, b : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        Fitted topic models with ``components_`` and ``doc_topic_prior_``, or pipelines or searches that end in one; X
        is then what the pipelines take, and both must make the same counts from it. A pair of arrays: phi, of shape
        (n_components, n_features) with rows that sum to one, and alpha, a float or an array of shape (n_components,) or
        (n_documents, n_components). A `sklda.CompoundLDA` has the prior of a document of unknown collection;
        ``(lda.topic_word_, lda.document_prior(collections))`` has that of each document.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts; with pipelines, their input.
    path : {"auto", "convex", "geometric", "difference"}, default="auto"
        - ``"convex"`` and ``"geometric"``: ratio-AIS. It anneals from one model to the other, in both directions, along
          mixtures or geometric means of matched topics (Foulds & Smyth 2014, equations 6 and 5); alpha changes
          linearly. Both models need the same number of topics, and all words of the documents need a positive
          probability in every topic.
        - ``"difference"``: the difference of two guided estimates; for any two models.
        - ``"auto"``: ``"convex"`` or ``"difference"``, whichever has the smaller error at equal cost in a trial on up
          to 64 documents.
    n_temperatures : int, default=100
        Sweeps of each annealing run.
    n_runs : int, default=2
        Independent runs, in each direction or of each model; at least 2.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Blocks of 64 documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``log_ratio`` (n_documents,): log p(w_d | a) - log p(w_d | b), in nats; on the annealed paths the mean of the
          two directions, whose biases have opposite signs.
        - ``std`` (n_documents,): its Monte Carlo standard error; on the annealed paths at least half of the
          disagreement of the directions.
        - ``path``: the path used.
        - ``forward``, ``reverse`` (n_documents,): the same ratio by annealing from b to a, and from a to b (only on
          annealed paths).
        - ``disagreement``, ``disagreement_std``: mean over documents of forward minus reverse, in nats, and its error.
        - ``converged``: whether the disagreement is within 3 standard errors of zero, so no bias is visible; None for
          ``"difference"``.
        - ``alignment`` (n_components,): the topic of b that was matched to each topic of a (only on annealed
          paths).

    Raises
    ------
    ValueError
        If shapes disagree, or the path is not possible for these models.
    TypeError
        If a model was fitted with covariates: give ``(lda.topic_word_, lda.document_prior(covariates))``.

    References
    ----------
    Foulds & Smyth (2014). Annealing paths for the evaluation of topic models. UAI.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import compare_topic_models
    >>> X = make_lda_corpus(80, 40, 3, random_state=0).data
    >>> good = GibbsLDA(3, max_iter=100, random_state=0).fit(X[:60])
    >>> bad = GibbsLDA(3, max_iter=1, random_state=0).fit(X[:60])
    >>> bool(compare_topic_models(good, bad, X[60:], random_state=0).log_ratio.mean() > 0)
    True
    """
    check_choice(path, "path", ("auto", "convex", "geometric", "difference"))
    check_options("guided_ais", n_temperatures, n_runs, None, "linear", return_std=True)
    (corpus, *a), (same_corpus, *b) = (corpus_and_model(X, model) for model in (a, b))
    if corpus.fingerprint != same_corpus.fingerprint:
        raise ValueError("a and b make different counts from X: likelihoods of different words cannot be compared.")
    seed = random.seed_sequence(random_state)
    why_not = _no_path(corpus, a, b)
    if path in ("convex", "geometric") and why_not:
        raise ValueError(f"path={path!r} is not possible: {why_not}. Use path='difference'.")
    alignment = None
    if path != "difference" and not why_not:
        alignment = match_topics(a[0], b[0])[0]
        b = b[0][alignment], b[1][:, alignment]
    common = {"n_temperatures": n_temperatures, "n_jobs": n_jobs}
    if path == "auto":
        path = "difference" if why_not else _better_path(corpus, a, b, seed, common)
    if path == "difference":
        return _by_difference(corpus, a, b, seed, n_runs=n_runs, **common)
    return _by_ratio(corpus, a, b, seed, path, alignment, n_runs=n_runs, **common)


def _by_difference(corpus, a, b, seed, **common):
    """The ratio from an estimate for each model."""
    (first, first_std), (second, second_std) = (
        log_mean_exp(log_likelihoods(corpus, *model, seed=random.child(seed, i), **common))
        for i, model in enumerate((a, b))
    )
    return Bunch(
        log_ratio=_subtract(first, second), std=np.hypot(first_std, second_std), path="difference", converged=None
    )


def _by_ratio(corpus, a, b, seed, path, alignment, **common):
    """The ratio by annealing from b to a and from a to b."""
    forward, forward_std = log_mean_exp(log_ratios(corpus, b, a, path=path, seed=random.child(seed, 0), **common))
    reverse, reverse_std = log_mean_exp(log_ratios(corpus, a, b, path=path, seed=random.child(seed, 1), **common))
    # Weights are infinite where a probability underflows.
    with np.errstate(invalid="ignore"):
        gap, log_ratio = forward + reverse, (forward - reverse) / 2
        disagreement = gap.mean()
    if not np.isfinite(disagreement):
        gap_std = np.inf
    elif len(gap) > 1:
        gap_std = gap.std(ddof=1) / np.sqrt(len(gap))
    else:
        gap_std = np.hypot(forward_std, reverse_std)[0]
    return Bunch(
        log_ratio=log_ratio,
        std=np.maximum(np.hypot(forward_std, reverse_std), np.abs(gap)) / 2,
        path=path,
        forward=forward,
        reverse=-reverse,
        disagreement=float(disagreement),
        disagreement_std=float(gap_std),
        converged=bool(np.isfinite(disagreement) and abs(disagreement) <= _CONVERGED * gap_std + 1e-9),
        alignment=alignment,
    )


def _no_path(corpus, a, b):
    """Why the two models cannot be annealed into one another, or an empty string."""
    if len(a[0]) != len(b[0]):
        return f"the models have {len(a[0])} and {len(b[0])} topics"
    present = np.unique(corpus.words)
    if not ((a[0][:, present] > 0).all() and (b[0][:, present] > 0).all()):
        return "a word of X has probability zero in a topic"
    return ""


def _better_path(corpus, a, b, seed, common):
    """The path whose two estimates at equal cost differ less, on some of the documents."""
    chosen = np.unique(np.linspace(0, corpus.n_documents - 1, _TRIAL_DOCUMENTS).astype(int))
    trial = Corpus.from_counts(corpus.to_counts()[chosen])
    a, b = ((m[0], m[1][chosen] if len(m[1]) > 1 else m[1]) for m in (a, b))
    seeds = [random.child(seed, 2, i) for i in range(4)]
    there = log_ratios(trial, b, a, path="convex", n_runs=1, seed=seeds[0], **common)[0]
    back = log_ratios(trial, a, b, path="convex", n_runs=1, seed=seeds[1], **common)[0]
    runs = [log_likelihoods(trial, *m, seed=s, n_runs=2, **common) for m, s in zip((a, b), seeds[2:], strict=True)]
    with np.errstate(invalid="ignore"):
        difference = np.diff(runs[0] - runs[1], axis=0)[0]
    return "convex" if np.mean((there + back) ** 2) <= np.mean(difference**2) else "difference"


def _subtract(a, b):
    """a - b; NaN for documents of probability zero in both models."""
    both = np.isneginf(a) & np.isneginf(b)
    return np.where(both, np.nan, np.subtract(a, b, where=~both, out=np.zeros_like(a)))
