"""The topics of two fits: which are the same, and which are split or merged."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import Bunch

from sklda._core.distances import jensen_shannon, jensen_shannon_pairs
from sklda._core.same_topics import splits_and_merges
from sklda._description.models import shares_of, topic_weights, topics_with_words, unwrap, words_of
from sklda._input.arguments import distributions
from sklda._input.types import Model


def match_topics(a: Model, b: Model) -> Bunch:
    """Match the topics of two fits over the same words: the nearest in both directions, and one to one.

    Parameters
    ----------
    a, b : estimator, pipeline, or array-like of shape (n_components, n_features)
        Fitted topic models with ``components_``, pipelines or searches that end in one, or the weights of words in
        topics, not negative. In a pair of weights and a prior, the prior is not used. The numbers of topics may differ.

    Returns
    -------
    sklearn.utils.Bunch
        - ``distances`` (n_components of a, n_components of b): Jensen-Shannon distances, roots of the divergence in
          bits, from 0 to 1
        - ``nearest_in_b``, ``distance_in_b`` (n_components of a,): for every topic of a, the nearest one of b, and its
          distance
        - ``nearest_in_a``, ``distance_in_a`` (n_components of b,): the other way round
        - ``one_to_one``, ``one_to_one_distance`` (n_components of a,): the topic of b in the assignment with the
          smallest sum of distances (Hungarian algorithm), and its distance; -1 and NaN if b has too few topics
        - ``splits``, ``merges``: lists of dict with ``a`` and ``b`` (lists of topics) and ``distance``. A topic of a
          that several topics of b cover together is split; several topics of a that one topic of b covers are merged.

    Raises
    ------
    ValueError
        If the fits have different words, or weights are not distributions.
    TypeError
        If a model has no topics.

    Notes
    -----
    A topic without words of its own does not count: see ``topic_stability_`` of :class:`~sklda.GibbsLDA`. Such topics
    of all fits look alike, like their prior. Their distances from all others are 1, and they have -1 and NaN in place
    of the nearest topic and its distance. Arrays of weights have no prior, so all their topics are compared.

    A distance of 0.5 or less is the same topic. How often topics are found again is measured on the page
    :ref:`reportable_topics`.

    Examples
    --------
    >>> from sklda.metrics import match_topics
    >>> a = [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    >>> b = [[0.0, 0.0, 0.0, 1.0], [0.4, 0.6, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    >>> found = match_topics(a, b)
    >>> found.nearest_in_b.tolist(), found.distance_in_b.round(2).tolist()
    ([1, 0], [0.09, 0.56])
    >>> found.splits
    [{'a': [1], 'b': [0, 2], 'distance': 0.0}]
    """
    (first, in_a), (second, in_b) = (_topics(each, name) for each, name in ((a, "a"), (b, "b")))
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"a has {first.shape[1]} features and b has {second.shape[1]}: fits of the same words match.")
    names = [words_of(each, first.shape[1]) for each in (a, b)]
    if None not in names and names[0] != names[1]:
        v = next(v for v, (x, y) in enumerate(zip(*names, strict=True)) if x != y)
        raise ValueError(f"column {v} is the word {names[0][v]!r} in a and {names[1][v]!r} in b: use one vocabulary.")
    # Topics without words are rows of zeros, at the distance 1 from all others.
    distances = jensen_shannon(first, second)
    of_a, of_b = (np.flatnonzero(topics.any(axis=1)) for topics in (first, second))
    known = distances[np.ix_(of_a, of_b)]
    i, j = linear_sum_assignment(known)
    rows, columns = of_a[i], of_b[j]
    one_to_one, alone = np.full(len(first), -1), np.full(len(first), np.nan)
    one_to_one[rows], alone[rows] = columns, jensen_shannon_pairs(first[rows], second[columns])
    nearest_in_b, distance_in_b = _nearest(known, of_a, of_b, len(first))
    nearest_in_a, distance_in_a = _nearest(known.T, of_b, of_a, len(second))
    related = [
        {"a": topics, "b": others, "distance": round(distance, 6)}
        for topics, others, distance in splits_and_merges(first, second, in_a, in_b, distances)
    ]
    return Bunch(
        distances=distances,
        nearest_in_b=nearest_in_b,
        distance_in_b=distance_in_b,
        nearest_in_a=nearest_in_a,
        distance_in_a=distance_in_a,
        one_to_one=one_to_one,
        one_to_one_distance=alone,
        splits=[row for row in related if len(row["b"]) > 1],
        merges=[row for row in related if len(row["a"]) > 1],
    )


def _nearest(distances, rows, columns, n):
    """For each of n topics, the nearest one and its distance; -1 and NaN for those that are not in `rows`."""
    nearest, found = np.full(n, -1), np.full(n, np.nan)
    if distances.size:
        nearest[rows], found[rows] = columns[distances.argmin(axis=1)], distances.min(axis=1)
    return nearest, found


def _topics(model, name):
    """Topics as distributions, and their shares. Topics without words are zeros."""
    weights, _ = topic_weights(None, model)
    topics = distributions(weights, f"components_ of {name}" if hasattr(model, "fit") else name)
    model = unwrap(model)[0]
    topics = topics * topics_with_words(model, np.asarray(weights, dtype=np.float64))[:, None]
    return topics, shares_of(model, weights)
