"""Is a new topic needed beside the known ones? The evidence of several numbers of new topics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from pandas import DataFrame
from sklearn.base import clone

from sklda._core import random
from sklda._description.models import check_order, unwrap
from sklda._input.arguments import check_int
from sklda._input.types import Data, Model, Seed
from sklda._likelihood.evidence import estimates
from sklda.metrics._topic_counts import checked_counts, model_and_input


def compare_new_topics(
    estimator: Model,
    X: Data,
    *,
    n_new: Sequence[int] = (0, 1, 2),
    n_temperatures: int = 300,
    n_runs: int = 2,
    n_chains: int = 4,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> DataFrame:
    """Fit known topics with several numbers of new ones beside them, and compare their evidence.

    Each number of new topics has a fit of its own, and the log evidence log p(w | alpha, eta) at the priors and weights
    that this fit has learnt.

    Parameters
    ----------
    estimator : GibbsLDA or pipeline
        With `known_topics`, or a pipeline that ends in one. It is not fitted itself. Its `n_components` is not used.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents.
    n_new : sequence of int, default=(0, 1, 2)
        Numbers of new topics.
    n_temperatures : int, default=300
        Sweeps of an annealing run, see `sklda.papers.topic_count.log_evidence`.
    n_runs : int, default=2
        Runs of every chain, in each direction.
    n_chains : int, default=4
        Chains for the evidence. They begin in turn at the last state of the fit and with annealed sweeps, which may end
        in another mode.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Seeds of fits and of runs are derived from it.
    n_jobs : int, default=None
        Chains at a time. Results do not depend on it.

    Returns
    -------
    pandas.DataFrame
        A row for each number of new topics, in ascending order.

        - ``n_new``, and ``n_components``: the number of all topics
        - ``log_evidence``, ``log_evidence_std``: in nats
        - ``gain``, ``gain_std``: the evidence less that of the row before. NaN in the first row. A new topic is needed
          if the gain is positive and several times its error.
        - ``new_share``: part of the tokens in new topics

    Raises
    ------
    ValueError, TypeError
        If the estimator has no `known_topics`, a number is negative or occurs twice, or the estimator refuses X.

    Notes
    -----
    The priors of each number are its own, so that the gain contains what they have gained by learning. In simulations
    of corpora without a new topic, the gain of one was about zero, or negative. Those of a new topic of a tenth of the
    tokens were hundreds of nats. :ref:`known_topics` has the table.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import compare_new_topics
    >>> corpus = make_lda_corpus(100, 40, 3, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0)
    >>> lda = GibbsLDA(known_topics=corpus.topic_word[:2], known_weight=np.inf, max_iter=80)
    >>> table = compare_new_topics(lda, corpus.data, n_temperatures=50, n_chains=2, random_state=0)
    >>> (table["gain"] > 3 * table["gain_std"]).tolist()
    [False, True, False]
    """
    check_order(X, estimator)
    numbers = sorted(checked_counts(n_new, "n_new", least=0))
    for name, value, least in (
        ("n_temperatures", n_temperatures, 2),
        ("n_runs", n_runs, 1),
        ("n_chains", n_chains, 1),
    ):
        check_int(value, name, least)
    model, X, _ = model_and_input(estimator, X)
    if getattr(model, "known_topics", None) is None:
        raise TypeError(
            f"{type(model).__name__} has no known_topics: give a GibbsLDA with them. compare_topic_counts compares "
            "numbers of topics none of which is known."
        )
    model._validate_params()
    seed = random.seed_sequence(random_state)
    settings = estimates.EvidenceSettings("guided_ais", n_temperatures, n_runs)
    n_known, rows = _n_known(model.known_topics), []
    for n in numbers:
        fitted = _fit(model, X, n_known + n, random.child(seed, n, 0))
        results = fitted._results_
        value, std = estimates.annealed_evidence(
            results.corpus,
            results.priors[results.best],
            settings,
            n_chains=n_chains,
            init=[results.states[results.best].topics.astype(np.int32), "anneal"],
            seed=random.child(seed, n, 1),
            n_jobs=n_jobs,
        )
        share = float(fitted.topic_share_[n_known:].sum())
        rows.append([n, n_known + n, value, std, np.nan, np.nan, share])
    for before, row in pairwise(rows):
        row[4:6] = row[2] - before[2], float(np.hypot(row[3], before[3]))
    columns = ["n_new", "n_components", "log_evidence", "log_evidence_std", "gain", "gain_std", "new_share"]
    return DataFrame(rows, columns=columns)


def _n_known(known_topics: Any) -> int:
    """Number of known topics, of a model or of rows."""
    model = unwrap(known_topics)[0]
    return len(model.components_) if hasattr(model, "components_") else len(known_topics)


def _fit(model, X, n_components, seed):
    """A clone with the same known topics, which `clone` would make unfitted, fitted to X."""
    given = {name: getattr(model, name) for name in ("known_topics", "init")}
    seed = random.key(seed) % 2**32
    fitted = clone(model).set_params(**given, n_components=n_components, random_state=seed, warm_start=False)
    return fitted.fit(X)
