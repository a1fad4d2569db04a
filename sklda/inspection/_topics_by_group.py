"""Mean topic proportions by group, with intervals."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._core import random
from sklda._description.view import view
from sklda._input.arguments import check_int, check_level
from sklda._input.names import grouped
from sklda._input.types import Data, Model, Seed, Values
from sklda.inspection._effects import GroupMeans, used_documents


def topics_by_group(
    estimator: Model,
    X: Data | None = None,
    groups: ArrayLike | None = None,
    *,
    topics: Values | None = None,
    clusters: Any = None,
    weights: ArrayLike | None = None,
    missing: Literal["raise", "drop"] = "raise",
    n_draws: int = 50,
    level: float = 0.95,
    n_words: int = 3,
    random_state: Seed = None,
) -> DataFrame:
    """The mean proportions of topics in the documents of each group, with intervals.

    Groups are authors, books or parties, for instance.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        See `topic_effects`.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents. If they are those of the fit, theta has its posterior draws. Otherwise theta is drawn given the
        topics and `doc_topic_prior_` of the model.
    groups : sequence of n_documents hashable labels
        The group of every document.
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all.
    clusters : sequence of n_documents labels, default=None
        The source, author or book of every document, if documents of one are not independent. None: documents are
        independent.
    weights : array-like of shape (n_documents,), default=None
        Weights of the documents in the means, in any unit. The lengths of pieces of books, for instance, give shares of
        words. A document of weight 0 takes no part. None: all documents count alike.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents that count and lack a value of an argument: an error that names them, or they are left
        out and a warning says so.
    n_draws : int, default=50
        Number of draws of theta; at least one of each chain or fit.
    level : float, default=0.95
        Probability of the intervals.
    n_words : int, default=3
        How many of a topic's most probable words are in its label, if it has no name.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws.

    Returns
    -------
    pandas.DataFrame
        A row for every topic and group, with the columns

        - ``topic``, ``name`` (its number, with its name or its words) and ``group``;
        - ``documents``: their number in the group;
        - ``estimate``: the mean proportion of the topic in these;
        - ``standard_error``, and ``low`` and ``high``, the ends of the interval; NaN if nothing tells how exact the
          estimate is, as with one document or cluster;
        - ``df``: degrees of freedom;
        - ``found_in``: the number of chains or fits that have the topic, whose draws count;
        - ``attenuation``: see `topic_effects`.

    Raises
    ------
    ValueError
        If `groups` is None or lacks a label, no document takes part, or an argument is out of range.
    TypeError
        If the model is not a topic model.

    Warns
    -----
    UserWarning
        If documents have no words, or the fit left them out: they do not count.

    See Also
    --------
    TopicEffectsDisplay.from_groups : The same as a plot.
    topic_effects : Differences of groups.
    topics_over_time : Periods in place of groups.

    Notes
    -----
    Errors and intervals are those of the shares of `topic_effects`. Intervals of two groups may overlap although the
    groups differ: `topic_effects` has the difference and its interval.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import topics_by_group
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = topics_by_group(lda, X, ["Austen", "Dickens", "Dickens"] * 20, topics=[0], random_state=0)
    >>> table[["group", "documents"]].to_dict("list")
    {'group': ['Austen', 'Dickens'], 'documents': [20, 40]}
    """
    n_draws, level = check_int(n_draws, "n_draws", 1), check_level(level)
    if groups is None:
        raise ValueError("groups is None: give the group of every document.")
    seed = random.seed_sequence(random_state)
    found = view(estimator, X, needs="prior", missing=missing, groups=groups, clusters=clusters, weights=weights)
    used = used_documents(found)
    found.say_what_is_left_out()
    distinct, index = grouped(found.groups.take(used))
    means = GroupMeans.of(found, used, index, len(distinct), n_draws=n_draws, level=level, seed=seed)
    return means.table(found, topics, n_words, {"group": distinct})
