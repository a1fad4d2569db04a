"""How far known topics have moved from what was known."""

from __future__ import annotations

from math import ceil

import numpy as np
from pandas import DataFrame
from scipy.stats import chi2

from sklda._core import random
from sklda._description.view import view
from sklda._input.arguments import check_int, check_level
from sklda._input.types import Model, Seed
from sklda._sampling.known_drift import distance_from_known, draw_drift
from sklda._sampling.known_weights import weight_interval, weight_likelihood


def topic_drift(
    estimator: Model,
    *,
    level: float = 0.95,
    n_words: int = 3,
    n_draws: int = 200,
    random_state: Seed = None,
) -> DataFrame:
    """How far each known topic has moved in the documents of the fit, with intervals.

    Parameters
    ----------
    estimator : estimator, or pipeline or search that has one
        A fitted `GibbsLDA` with `known_topics`.
    level : float, default=0.95
        Probability of the intervals.
    n_words : int, default=3
        Number of words that a topic has gained, and lost, the most.
    n_draws : int, default=200
        Posterior draws of the topics, for ``moved``; at least ``2 / (1 - level) - 1``. Each takes three sweeps, after
        100 sweeps before the first.
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
        - ``moved``, ``moved_low`` and ``moved_high``: its distance from what was known, and the interval, from 0 (the
          same distribution over words) to 1 (no word in common). The interval begins at 0 if it is possible that
          nothing has moved. All are 0 for a fixed topic. With fewer than ten tokens, or tokens in fewer than three
          documents, the estimate is NaN, and the interval is from 0 to 1. If the known topics were given as an array or
          a data frame, they are taken as exact, and their own errors are part of the distance.
        - ``gained`` and ``lost``: lists of the words whose probability has changed the most, the most changed first

    Raises
    ------
    ValueError, TypeError
        If the model has no known topics, or an argument is out of range.

    Notes
    -----
    The distance of the topic phi in these documents from the known one, m, is the chord distance (Orloci 1967) divided
    by the root of two,

        moved = norm(phi / norm(phi) - m / norm(m)) / sqrt(2) = sqrt(1 - cos(phi, m)),

    with lengths and the cosine of vectors of all words. If a part of .1, .3 or .5 of a topic has moved to other words,
    and both sides are spread over as many words, it is .08, .28 and .54. Frequent words count most. A change of rare
    words is small, however many they are: half the sum of absolute differences would count it in full, but the noise
    of rare words too, which cannot be told from a change.

    If `known_topics` was a fitted model, m has errors of its own: ``known_topic_word_std_``. Their squares are
    subtracted from the squared distance, and the interval contains them. Give a model where there is one.

    A row of `topic_word_` is pulled towards what was known by its weight, so its distance would be too small. ``moved``
    is measured in a chain that goes on from the last draw of the fit, in which a known topic is held by 0.2 % of its
    tokens; the other priors are those of the fit. The shares of words among its tokens have noise, of the words and
    of their topics, which would add to any distance. So the variance of its draws is subtracted from the squared length
    of what is orthogonal to m. Words repeat within documents more often than in the model, so the noise is that of
    documents: in each draw the deviation of every document from the topic has a random sign (Liu 1988). With such words
    and a model as `known_topics`, intervals contained 0 for .85 of 40 topics that had not moved. The interval has all
    distances for which the estimate is not in a tail of the estimates that such noise makes; :ref:`errors_of_drift` has
    its coverage. This takes the time of about 700 sweeps of the fit, and memory for the counts of the known topics in
    each draw.

    The interval of a weight has the values at which the log likelihood is within half the quantile of the chi-square
    distribution of its maximum. It is averaged over draws of the topics of all tokens, so it contains that these are
    uncertain.

    All is of the chain that was kept: other modes of the posterior are not contained. A topic that has moved far still
    has its name if a fit can tell it from the new ones by what is left (:ref:`exchanges`). m is taken as exact. If it
    was estimated from few words, its own errors are part of the distance.

    References
    ----------
    Orloci (1967). An agglomerative method for classification of plant communities. Journal of Ecology 55.

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
    >>> table[["moved", "moved_low", "moved_high"]].round(3)
       moved  moved_low  moved_high
    0  0.000      0.000       0.009
    1  0.418      0.417       0.420
    2  0.010      0.000       0.026
    """
    level = check_level(level)
    n_words, n_draws = check_int(n_words, "n_words", 1), check_int(n_draws, "n_draws", 1)
    n_needed = ceil(2 / (1 - level) - 1 - 1e-6)
    if n_draws < n_needed:
        raise ValueError(f"{n_draws} draws have no interval of {level:.4g}: give n_draws={n_needed} or more.")
    found = view(estimator, None)
    model = found.model
    weights = found.known_weights
    if weights is None:
        raise TypeError(
            f"{type(model).__name__} has no known topics: give a GibbsLDA that was fitted with known_topics."
        )
    known, results = model.known_topic_word_, model._results_
    n = len(weights)
    low, high = np.full((2, n), np.nan)
    learnt = model._prior_of_topics_.known.learnt
    if learnt.any():
        likelihood = weight_likelihood(results.corpus, results.kept_draws(), model._prior_of_topics_)
        found_low, found_high = weight_interval(likelihood, np.log(weights[learnt]), chi2.ppf(level, 1) / 2)
        # The weights come from the draws of the burn-in, the intervals from those behind it.
        low[learnt], high[learnt] = np.minimum(found_low, weights[learnt]), np.maximum(found_high, weights[learnt])
    moved, moved_low, moved_high = np.zeros((3, n))
    free = np.flatnonzero(np.isfinite(weights))
    if len(free):
        seed = random.seed_sequence(random_state)
        rng = np.random.default_rng(random.child(seed, 1))
        chain = results.continued_chain(random.child(seed, 0))
        # One number that all topics have, or the array that was given.
        eta = model._prior_of_topics_.eta if np.isnan(chain.priors.base_eta) else chain.priors.base_eta
        draws = draw_drift(chain, known, eta, n_draws, rng)
        for k in free.tolist():
            ends = distance_from_known(draws.of(k), known[k], model.known_topic_word_std_[k], level, rng)
            moved[k], moved_low[k], moved_high[k] = ends
    change = found.topic_word[:n] - known
    change[np.isinf(weights)] = 0
    columns = found.rows(range(n)) | {
        "share": found.share[:n],
        "weight": weights,
        "weight_low": low,
        "weight_high": high,
        "moved": moved,
        "moved_low": moved_low,
        "moved_high": moved_high,
    }
    for name, sign in (("gained", -1), ("lost", 1)):
        orders = np.argsort(sign * change, axis=1, kind="stable")[:, :n_words]
        columns[name] = [
            [found.words[v] for v in order if sign * row[v] < 0] for order, row in zip(orders, change, strict=True)
        ]
    return DataFrame(columns)
