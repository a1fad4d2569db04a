"""How far known topics have moved from what was known."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame
from scipy.stats import chi2

from sklda._core import random
from sklda._core.arguments import check_int, check_level
from sklda._core.types import Model, Seed
from sklda._description.view import view
from sklda._sampling.known_weights import draw_known, weight_interval, weight_likelihood


def topic_drift(
    estimator: Model,
    *,
    level: float = 0.95,
    n_words: int = 3,
    n_samples: int = 200,
    random_state: Seed = None,
) -> DataFrame:
    """How far each known topic has moved in the documents of the fit, with intervals.

    Parameters
    ----------
    estimator : estimator, or pipeline or search that has one
        A fitted `GibbsLDA` with `known_topics`.
    level : float, default=0.95
        Probability of the intervals of the weights.
    n_words : int, default=3
        Number of words that a topic has gained, and lost, the most.
    n_samples : int, default=200
        Posterior draws of the topics, for ``moved_std``.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws.

    Returns
    -------
    pandas.DataFrame
        A row for every known topic, in the order of the model, with these columns:

        - ``topic``, and ``name`` if topics have names
        - ``share``: its part of the tokens
        - ``weight``, ``weight_low`` and ``weight_high``: its weight, in words, and the interval. The upper end is
          infinite if the words are as probable without any drift. NaN for a weight that was given.
        - ``moved`` and ``moved_std``: the part of its probability that is on other words than before. It is half the
          sum of the absolute differences between the posterior mean of the topic and the known one. Its standard
          deviation is that of what the words that have gained have won, over posterior draws. Both are 0 for a fixed
          topic. In simulations ``moved`` was up to .01 too large for topics that had not moved, and up to .02 too small
          for those of which .3 had.
        - ``gained`` and ``lost``: lists of the words whose probability has changed the most, the most changed first

    Raises
    ------
    ValueError, TypeError
        If the model has no known topics, or an argument is out of range.

    Notes
    -----
    The interval of a weight has the values at which the log likelihood is within half the quantile of the chi-square
    distribution of its maximum. It is averaged over draws of the topics of all tokens, so it contains that these are
    uncertain. ``moved`` is given the weight. All is of the chain that was kept: other modes of the posterior are not
    contained. A topic without tokens has not moved: look at its share first.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import topic_drift
    >>> corpus = make_lda_corpus(200, 40, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0)
    >>> known = corpus.topic_word.copy()
    >>> known[1] = 0.6 * known[1] + 0.4 * known[0][::-1]
    >>> lda = GibbsLDA(3, known_topics=known, max_iter=200, random_state=0).fit(corpus.data)
    >>> table = topic_drift(lda, random_state=0)
    >>> int(table["weight"].argmin()), round(float(table["moved"][1]), 1)
    (1, 0.4)
    """
    level = check_level(level)
    n_words, n_samples = check_int(n_words, "n_words", 1), check_int(n_samples, "n_samples", 1)
    found = view(estimator, None)
    model = found.model
    if not hasattr(model, "known_weight_"):
        raise TypeError(
            f"{type(model).__name__} has no known topics: give a GibbsLDA that was fitted with known_topics."
        )
    weights, known, results = model.known_weight_, model.known_topic_word_, model._results_
    n = len(weights)
    low, high = np.full((2, n), np.nan)
    learning = model._learning_
    if learning is not None and learning.known.learnt.any():
        learnt = learning.known.learnt
        likelihood = weight_likelihood(results.corpus, results.kept_draws(), learning)
        found_low, found_high = weight_interval(likelihood, np.log(weights[learnt]), chi2.ppf(level, 1) / 2)
        # The weights come from the draws of the burn-in, the intervals from those behind it.
        low[learnt], high[learnt] = np.minimum(found_low, weights[learnt]), np.maximum(found_high, weights[learnt])
    rng = np.random.default_rng(random.seed_sequence(random_state))
    draws = draw_known(results.corpus, results.kept_draws(), n_samples, rng)
    change = found.topic_word[:n] - known
    change[np.isinf(weights)] = 0
    # The sum over the words that have gained is linear in phi, so that its mean over draws is not above that of phi.
    more = change > 0
    moved_std = np.std([((phi - known) * more).sum(axis=1) for phi in draws], axis=0)
    columns = found.rows(range(n)) | {
        "share": found.share[:n],
        "weight": weights,
        "weight_low": low,
        "weight_high": high,
        "moved": np.abs(change).sum(axis=1) / 2,
        "moved_std": moved_std,
    }
    for name, sign in (("gained", -1), ("lost", 1)):
        orders = np.argsort(sign * change, axis=1, kind="stable")[:, :n_words]
        columns[name] = [
            [found.words[v] for v in order if sign * row[v] < 0] for order, row in zip(orders, change, strict=True)
        ]
    return DataFrame(columns)
