"""Several numbers of topics: how topics split and stay, in two tables and one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pandas import DataFrame, concat
from scipy.special import stdtrit
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.utils.parallel import Parallel, delayed

from sklda._core import random
from sklda._core.distances import jensen_shannon
from sklda._core.linear_models import share_interval
from sklda._core.parallel import jobs_for
from sklda._core.same_topics import SAME_TOPIC
from sklda._description.models import Description, check_order
from sklda._description.view import View, view
from sklda._input.arguments import check_int, is_whole
from sklda._input.names import plain_text
from sklda._input.types import Data, Model, Seed
from sklda.inspection._axes import PanelsDisplay, colours_of, pyplot, size_in_points, wrapped
from sklda.inspection._panels import add_key, draw_points
from sklda.inspection._tokens import Tokens
from sklda.inspection._topic_flows import CHANGES, orders, origins, shared_tokens
from sklda.metrics._topic_counts import (
    checked_counts,
    checked_metadata,
    model_and_input,
    name_of_the_count,
    scores_of_folds,
    with_seeds,
)

_LEVEL = 0.95


def compare_topic_counts(
    estimator: Model | Sequence[Model],
    X: Data | None = None,
    n_components: Sequence[int] | None = None,
    *,
    cv: Any = None,
    params: dict[str, Any] | None = None,
    interval: tuple[int, int] | None = None,
    n_words: int = 3,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> TopicCountComparison:
    """Which number of topics: how topics split and stay, what new documents gain, which topics other fits find again.

    Each number of topics has a fit to all documents. Between neighbours the tokens are counted that two topics share.
    Each number also has a fit to all folds but one, for every fold: the documents left out have the held-out score, and
    a topic is found again if such a fit, with other documents and another seed, has it too.

    Parameters
    ----------
    estimator : estimator, pipeline, or list of fitted models
        A topic model with the parameter ``n_components``, or a pipeline that ends in one. It is not fitted itself. The
        steps before the model are fitted once, to all documents, so that all fits have the same words. A list has
        models that are fitted to X, each with another number of topics: then nothing is fitted, and there are no
        scores.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents.
    n_components : sequence of int
        Numbers of topics. Not for a list of models.
    cv : int, cross-validation generator or iterable of pairs of arrays, default=None
        The folds. An int: this number of folds of documents in random order. None: 4. 0: no fits to folds.
    params : dict of {str: object}, default=None
        Metadata of the documents: ``covariates`` of a `CovariateLDA`, ``collections`` of a `CompoundLDA`, or another
        argument of the ``fit`` of the model. Each has an entry for every document, or is a dict of such columns. The
        held-out scores use those two as well.
    interval : tuple of (int, int), default=None
        Numbers of topics to mark in the picture, such as ``topic_count_interval_`` of a `TopicCountLDA`.
    n_words : int, default=3
        How many of a topic's most probable words are in the table and in its label.
    n_jobs : int, default=None
        Number of fits at a time, as in joblib. Results do not depend on it.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Seeds of the folds and of the fits are derived from it. With an int, results are reproducible.

    Returns
    -------
    TopicCountComparison
        The tables ``counts`` and ``topics``. Its ``plot()`` draws the picture.

    Raises
    ------
    ValueError
        If a number of topics is not positive or occurs twice, there is one fold, or the estimator refuses X. If an
        entry of `params` does not belong to the documents, models make different words of X, or the estimator has a
        `Checkpoint`.
    TypeError
        If the estimator has no parameter ``n_components`` or needs labels, or `params` is not a dict.

    See Also
    --------
    sklda.metrics.match_topics : Topics of two fits by the distances of their words.
    sklda.TopicCountLDA : A posterior distribution of the number of topics.

    Notes
    -----
    Nothing here chooses a number by itself. The held-out score often rises up to hundreds of topics, and the part of
    the tokens in topics that are found again falls. See :ref:`how_many_topics`.

    The topics of tokens are those of the last draw of each fit, or, for models without draws, the likeliest ones. So no
    distance of topics has to be chosen, as for `sklda.metrics.match_topics`. Two draws of one chain do not agree on all
    tokens either: in the docstrings of :ref:`how_many_topics`, the median topic of 10 keeps 0.84 of its tokens from
    draw to draw, and that of 40 keeps 0.79. Alignments by products of proportions, as in the R package alto (Fukuyama,
    Sankaran & Symul 2023), compare documents instead of tokens.

    **Errors.** The standard errors of score and gain treat folds as independent. Those of ``found_again`` and
    ``found_share`` are jackknife errors: each fit in turn is left out with all its pairs. A few fits that agree by
    chance say nothing about the next one, which may lack a topic. So one degree of freedom of each variance is not its
    own (Smyth 2004): it is the mean of the variances of all rows. For ``found_again`` and ``found_share`` it is the
    variance of independent topics, which is above zero where all fits agree. With a single difference of two numbers of
    topics, the ``gain`` has no other rows: its error is then that of fits that have about the same topics. Errors are
    NaN with two folds. From n folds, an error is itself uncertain by a part of about ``1 / sqrt(2 * n)``: 35 % with
    four folds, and 22 % with ten. :ref:`errors_over_folds` compares them with the spread over corpora.

    **Cost.** That of a fit for every number of topics, and one for every fold, and of the held-out scores.

    References
    ----------
    Fukuyama, Sankaran & Symul (2023). Multiscale analysis of count data through topic alignment. Biostatistics 24.

    Smyth (2004). Linear models and empirical Bayes methods for assessing differential expression in microarray
    experiments. Statistical Applications in Genetics and Molecular Biology 3.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import compare_topic_counts
    >>> X = make_lda_corpus(120, 60, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
    >>> found = compare_topic_counts(GibbsLDA(max_iter=50), X, [2, 4], cv=3, random_state=0)
    >>> found.counts[["n_components", "score", "gain", "gain_std", "found_again"]].round(2)
       n_components  score  gain  gain_std  found_again
    0             2  -2.73   NaN       NaN         1.33
    1             4  -2.32  0.41      0.07         3.67
    >>> sorted(found.topics.loc[found.topics["n_components"] == 4, "change"])
    ['part', 'part', 'stays', 'stays']
    """
    check_order(X, estimator)
    n_words = check_int(n_words, "n_words", 1)
    if interval is not None:
        interval = checked_interval(interval)
    if isinstance(estimator, list):
        return _of_models(estimator, X, n_components, cv, params, interval, n_words)
    counts = sorted(checked_counts(n_components, "n_components"))
    # Their index is that of X, which steps before the model do not keep.
    metadata = checked_metadata(params, Description.of(estimator, X).X)
    model, X, words = model_and_input(estimator, X)
    name, seed = name_of_the_count(model), random.seed_sequence(random_state)
    table, topics = DataFrame({"n_components": counts}), None
    if not (is_whole(cv) and cv == 0):
        table, topics = scores_of_folds(model, X, counts, cv, metadata, seed, n_jobs)
    tasks = [(clone(model).set_params(**{name: K}), X, metadata, random.child(seed, 2, K)) for K in counts]
    fits = Parallel(n_jobs=jobs_for(len(tasks), n_jobs))(delayed(_fit)(*task) for task in tasks)
    views = [view(Description(each, X, vocabulary=words)) for each in fits]
    found = None if topics is None else [_found(*each) for each in zip(views, topics, strict=True)]
    return _comparison(views, table, found, interval, n_words)


def _of_models(
    models: list, X: Any, n_components: Any, cv: Any, params: Any, interval: Any, n_words: int
) -> TopicCountComparison:
    """The comparison of fitted models."""
    if not models:
        raise ValueError("estimator is an empty list: give fitted models, or one that is not fitted.")
    if not (n_components is None and cv is None and params is None):
        raise ValueError("n_components, cv and params are those of fits to come: do not give them with fitted models.")
    views = sorted((view(each, X, needs="counts") for each in models), key=lambda each: each.n_topics)
    counts = [each.n_topics for each in views]
    if len(set(counts)) < len(counts):
        raise ValueError(f"the models have {counts} topics: give models with different numbers of them.")
    if len({each.corpus.fingerprint for each in views}) > 1:
        raise ValueError("the models make different counts of X: give fits of the same words.")
    found = None if any(each.prevalence is None for each in views) else [each.prevalence for each in views]
    return _comparison(views, DataFrame({"n_components": counts}), found, interval, n_words)


def checked_interval(interval: Any) -> tuple[int, int]:
    """Two whole numbers in their order."""
    try:
        low, high = interval
    except (TypeError, ValueError):
        raise TypeError(f"interval must be a pair of numbers of topics, such as (8, 12); got {interval!r}.") from None
    low, high = check_int(low, "interval[0]", 1), check_int(high, "interval[1]", 1)
    if low > high:
        raise ValueError(f"interval is {interval}: give the smaller number first.")
    return low, high


def _fit(model: Any, X: Any, metadata: dict[str, Any], seed: Any) -> Any:
    return with_seeds(model, np.random.default_rng(seed)).fit(X, **metadata)


def _found(found: View, fits: list[np.ndarray]) -> np.ndarray:
    """The part of other fits that have each topic."""
    nearest = [jensen_shannon(found.topic_word, topics).min(axis=1, initial=1) for topics in fits]
    return (np.array(nearest) <= SAME_TOPIC).mean(axis=0)


def _comparison(
    views: list[View], counts: DataFrame, found: Any, interval: tuple[int, int] | None, n_words: int
) -> TopicCountComparison:
    """The tables of fits in the order of their numbers of topics."""
    topics = [Tokens(each).topics for each in views]
    sizes = [np.bincount(own[own >= 0], minlength=each.n_topics) for own, each in zip(topics, views, strict=True)]
    shared = [
        shared_tokens(*own, *(each.n_topics for each in pair))
        for own, pair in zip(pairwise(topics), pairwise(views), strict=True)
    ]
    nothing = {"change": "", "parent": None, "from_parent": np.nan, "of_parent": np.nan}
    rows = []
    for i, each in enumerate(views):
        rows.append(
            DataFrame(
                each.rows(range(each.n_topics))
                | {
                    "words": [each.top(k, n_words) for k in range(each.n_topics)],
                    "share": sizes[i] / max(sizes[i].sum(), 1),
                }
                | (origins(shared[i - 1]) if i else nothing)
                | {"found_in": np.nan if found is None else found[i]}
            )
        )
        rows[-1].insert(0, "n_components", int(counts["n_components"][i]))
    table = concat(rows, ignore_index=True).astype({"parent": "Int64"})
    changes = table.groupby("n_components")["change"]
    for name in CHANGES:
        numbers = changes.apply(lambda own, name=name: (own == name).sum())
        counts[name] = counts["n_components"].map(numbers).astype("Int64")
        counts.loc[0, name] = None
    return TopicCountComparison(counts, table, shared, interval)


# Inches: of the flows between two fits, of the labels of the last one, at least and at most of the height.
_COLUMN, _LABELS, _LOWEST, _HIGHEST, _PANEL = 1.9, 2.2, 3.6, 11.0, 0.95
# Parts of the height: all gaps between topics, and a gap if there are few. The width of a bar, in fits.
_GAPS, _GAP, _BAR = 0.3, 0.02, 0.09
# Flows of fewer tokens, as parts of both topics, are not drawn.
_LEAST_FLOW = 0.1
# Points of labels, from the largest to the smallest.
_SIZE, _SMALLEST = 8.0, 5.0


@dataclass(eq=False, repr=False)
class TopicCountComparison(PanelsDisplay):
    """How topics split and stay over numbers of topics: two tables, and a picture. `compare_topic_counts` makes it.

    In the picture, each number of topics is a column of bars, whose heights are the shares of the topics. Bands are the
    tokens that two topics share. Below are the held-out gain over the number before, and the part of the tokens in
    topics that other fits find again, with intervals of 95 % by Student's t.

    Parameters
    ----------
    counts : pandas.DataFrame
        A row for each number of topics, in ascending order. Columns with the ending ``_std`` are standard errors. Those
        from ``score`` to ``n_fits`` are absent without fits to folds.

        - ``n_components``
        - ``score``: held-out log-likelihood per token, in nats, see `sklda.metrics.make_held_out_scorer`; absent if the
          model has no ``doc_topic_prior_``
        - ``gain``: the score less that of the row before, fold by fold. Documents differ more than models, so its error
          is much smaller than that of the score. NaN in the first row.
        - ``found_again``: number of topics that another fit has too, at a Jensen-Shannon distance of at most 0.5; a
          mean over pairs of fits to folds
        - ``found_share``: their part of the tokens
        - ``n_fits``: number of folds. An interval of 95 % is ``scipy.stats.t.ppf(0.975, n_fits - 1)`` errors on either
          side: 3.2 with four folds, 2.3 with ten.
        - ``stays``, ``part``, ``joined`` and ``new``: numbers of topics with this change
    topics : pandas.DataFrame
        A row for each topic of each number, of the fits to all documents.

        - ``n_components``, ``topic``, ``words``, and ``name`` if topics have names
        - ``share``: part of the tokens
        - ``change``: how it came about of the topics of the number before. ``"stays"``: it has most of its tokens from
          one topic, and most of the tokens of that one. ``"part"``: it has most of its tokens from one topic, and not
          most of that one's. ``"joined"``: it has most of the tokens of a topic, and most of its own from others.
          ``"new"``: neither. Empty for the first number, and for topics without tokens
        - ``parent``: the topic of the number before that gives it the most tokens
        - ``from_parent``: their part of its tokens; ``of_parent``: their part of the tokens of the parent
        - ``found_in``: the part of the fits to folds that have the topic; for a list of models, of their chains. NaN if
          there are none
    shared : list of ndarray of shape (n_topics, n_topics of the next fit)
        Numbers of tokens that two topics share, of neighbours.
    interval : tuple of (int, int), default=None
        Numbers of topics that are marked.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of matplotlib Axes
        Of the flows, of the gain and of the topics found again, as far as they are known.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import compare_topic_counts
    >>> X = make_lda_corpus(40, 30, 3, random_state=0).data
    >>> fits = [GibbsLDA(K, max_iter=20, random_state=0).fit(X) for K in (2, 4)]
    >>> compare_topic_counts(fits, X).plot().axes_.shape
    (1,)
    """

    counts: DataFrame
    topics: DataFrame
    shared: Sequence[np.ndarray]
    interval: tuple[int, int] | None = None

    def __repr__(self):
        numbers = ", ".join(map(str, self.counts["n_components"]))
        return f"TopicCountComparison of {numbers} topics: tables counts and topics, picture plot()"

    def _measures(self):
        return [name for name in ("gain", "found_share") if name in self.counts and len(self.counts) > 1]

    def _panels(self):
        n = 1 + len(self._measures())
        return n, f"one Axes for the flows, and one for each of the {n - 1} measures"

    def _new_axes(self):
        n, most = len(self.counts), self.topics.groupby("n_components").size().max()
        panels = self._panels()[0] - 1
        flows = float(np.clip(0.11 * most, _LOWEST, _HIGHEST - _PANEL * panels))
        size = _COLUMN * n + _LABELS, flows + _PANEL * panels + 0.7
        ratios = [flows, *[_PANEL] * panels]
        figure = pyplot().figure(figsize=size, layout="constrained")
        return np.ravel(figure.subplots(1 + panels, 1, sharex=True, height_ratios=ratios, squeeze=False))

    def _draw(self, axes):
        key: dict[str, Any] = {}
        numbers = self.counts["n_components"].tolist()
        for ax in axes:
            ax.set_xlim(-0.3, len(numbers) - 1 + _LABELS / _COLUMN)
            ax.set_xticks(range(len(numbers)), [f"{K} topics" for K in numbers])
            ax.tick_params(axis="x", length=0, labelbottom=ax is axes[-1])
        for ax in axes[1:] if len(axes) > 1 else axes:
            self._mark_interval(ax, numbers, key)
        for ax, name in zip(axes[1:], self._measures(), strict=True):
            self._draw_measure(ax, name, key)
        self._draw_flows(axes[0], key)
        self.legend_: Any = add_key(axes, key)

    def _mark_interval(self, ax, numbers, key):
        """The numbers of topics that are marked. They may lie between the fits, or beyond them."""
        if self.interval is None:
            return
        ends = np.interp(np.log(self.interval), np.log(numbers), np.arange(len(numbers)))
        ends = ends + 0.25 * (np.array(self.interval) > numbers[-1]) - 0.25 * (np.array(self.interval) < numbers[0])
        band = ax.axvspan(ends[0] - 0.03, ends[1] + 0.03, color=colours_of(ax).pale, lw=0, zorder=0)
        key["{} to {} topics: the interval that is marked".format(*self.interval)] = band

    def _draw_measure(self, ax, name, key):
        colours, n = colours_of(ax), len(self.counts)
        # A gain belongs to the step between two numbers.
        places = np.arange(n) - (0.5 if name == "gain" else 0)
        values, (low, high) = self.counts[name].to_numpy(), self._interval_of(name)
        style = {"colour": colours.line, "bounds": (-np.inf, np.inf), "key": key, "size": 4}
        draw_points(ax, places, values, low, high, **style)
        ax.margins(y=0.25)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.axhline(0, color=colours.muted, lw=0.5, zorder=0)
        if name != "gain":
            ax.yaxis.set_major_formatter("{x:.0%}")
            ax.set_ylim(0, 1.05)
        where = {"transform": ax.get_yaxis_transform(), "va": "center", "ha": "right", "fontsize": 8}
        ax.text(1, np.mean(ax.get_ylim()), _TITLES[name], **where)

    def _interval_of(self, name):
        """The ends of the intervals of a measure, NaN where its error is unknown."""
        values, errors = (self.counts[each].to_numpy(np.float64) for each in (name, f"{name}_std"))
        freedom = self.counts["n_fits"].to_numpy(np.float64) - 1
        if name == "gain":
            reach = stdtrit(freedom, (1 + _LEVEL) / 2) * errors
            return values - reach, values + reach
        ends = share_interval(values, errors, freedom, _LEVEL)
        return tuple(np.where(errors == 0, values, end) for end in ends)

    def _draw_flows(self, ax, key):
        from matplotlib.collections import PolyCollection
        from matplotlib.patches import Patch

        colours = colours_of(ax)
        tables = [own for _, own in self.topics.groupby("n_components")]
        found = orders(self.shared, tables[0]["share"].to_numpy())
        bars = [_bars(own["share"].to_numpy(), order) for own, order in zip(tables, found, strict=True)]
        ax.set_ylim(1, 0)
        ax.set_yticks([])
        ax.spines[:].set_visible(False)

        shown = {"stays": colours.line, "part": colours.series[2], "joined": colours.series[3], "new": colours.accent}
        for i, counts in enumerate(self.shared):
            bands, kinds = _bands(counts, bars[i : i + 2], found[i : i + 2], tables[i + 1])
            x = np.array([i + _BAR / 2, i + 1 - _BAR / 2])
            for kind in ("", *CHANGES):
                own = [_band(x, *each) for each, other in zip(bands, kinds, strict=True) if other == kind]
                colour, alpha = (shown[kind], 0.55) if kind else (colours.muted, 0.2)
                ax.add_collection(PolyCollection(own, facecolor=colour, alpha=alpha, lw=0), autolim=False)
                if own:
                    key[_MEANINGS[kind]] = Patch(color=colour, alpha=alpha, lw=0)
        for i, (own, (low, high)) in enumerate(zip(tables, bars, strict=True)):
            unsure = (own["found_in"] < 0.5).to_numpy()
            if unsure.any():
                key["topic that fewer than half of the other fits have"] = Patch(color=colours.uncertain)
            face = np.where(unsure, colours.uncertain, colours.fill)
            ax.bar(i, high - low, _BAR, low, color=face)
        self.labels_ = [
            _label(ax, i, own, low, high, is_last=i == len(tables) - 1)
            for i, (own, (low, high)) in enumerate(zip(tables, bars, strict=True))
        ]


_TITLES = {
    "gain": "held-out gain over the\nnumber before (nats per token)",
    "found_share": "tokens in topics that\nother fits find again",
}
_MEANINGS = {
    "stays": "topic that stays",
    "part": "part of a topic that splits",
    "joined": "most of a topic, joined by others",
    "new": "largest source of a new topic",
    "": "other tokens that two topics share",
}


def _bars(shares: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The upper and lower ends of the bars of topics, parts of the height from the top, by topic."""
    n = len(shares)
    gap = min(_GAP, _GAPS / max(n - 1, 1))
    heights = shares[order] * (1 - gap * (n - 1))
    low = np.empty(n)
    low[order] = np.cumsum(heights) - heights + gap * np.arange(n)
    return low, low + shares * (1 - gap * (n - 1))


def _bands(
    counts: np.ndarray, bars: Sequence[Any], found: Sequence[np.ndarray], after: DataFrame
) -> tuple[np.ndarray, list[str]]:
    """The ends of the bands between two fits, (n_bands, 4), and the change that each shows: "" for no parent."""
    (low_a, high_a), (low_b, high_b) = bars
    rows, columns = found
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    own = counts[np.ix_(rows, columns)]
    begin_a = low_a[rows, None] + (own.cumsum(axis=1) - own) * _unit(high_a - low_a, sizes)[rows, None]
    begin_b = low_b[columns] + (own.cumsum(axis=0) - own) * _unit(high_b - low_b, totals)[columns]
    thick_a, thick_b = own * _unit(high_a - low_a, sizes)[rows, None], own * _unit(high_b - low_b, totals)[columns]
    part = np.maximum(own / np.maximum(sizes[rows, None], 1), own / np.maximum(totals[columns], 1))
    parents, changes = after["parent"].to_numpy(), after["change"].to_numpy()
    ends, kinds = [], []
    for i, j in np.argwhere(part >= _LEAST_FLOW):
        ends.append((begin_a[i, j], begin_a[i, j] + thick_a[i, j], begin_b[i, j], begin_b[i, j] + thick_b[i, j]))
        kinds.append(changes[columns[j]] if parents[columns[j]] == rows[i] else "")
    return np.array(ends).reshape(-1, 4), kinds


def _unit(heights: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The height of a token."""
    return heights / np.maximum(tokens, 1)


def _band(x: np.ndarray, low_a: float, high_a: float, low_b: float, high_b: float) -> np.ndarray:
    """The outline of a band between two bars."""
    t = np.linspace(0, 1, 21)
    along, rise = x[0] + (x[1] - x[0]) * t, t**2 * (3 - 2 * t)
    upper, lower = low_a + (low_b - low_a) * rise, high_a + (high_b - high_a) * rise
    return np.concatenate([np.stack([along, upper], axis=1), np.stack([along, lower], axis=1)[::-1]])


def _label(ax: Any, i: int, topics: DataFrame, low: np.ndarray, high: np.ndarray, *, is_last: bool) -> list[Any]:
    """Write the names of topics beside their bars. Behind the last bars, names that have no room move apart."""
    height, middles = size_in_points(ax)[1], (low + high) / 2
    names = topics["name"] if "name" in topics else topics["words"].map(" ".join)
    width = 72 * (_LABELS if is_last else _COLUMN * (1 - _BAR)) - 12
    size = float(np.clip(height / len(topics) / 1.15, _SMALLEST, _SIZE)) if is_last else _SIZE - 1
    room = 1.15 * size / height
    if is_last:
        # The largest, if not all have room.
        chosen = np.argsort(-topics["share"].to_numpy(), kind="stable")[: int(1 / room)]
        chosen = chosen[np.argsort(middles[chosen], kind="stable")]
        steps = room * np.arange(len(chosen))
        places = isotonic_regression(middles[chosen] - steps, y_min=room / 2, y_max=1 - room / 2 - steps[-1]) + steps
    else:
        # Those behind the label before.
        behind, end = [], -np.inf
        for k in np.argsort(middles, kind="stable"):
            if middles[k] >= end:
                behind.append(k)
                end = middles[k] + room
        chosen = np.array(behind)
        places = middles[chosen]
    texts = []
    for k, place in zip(chosen, places, strict=True):
        text = wrapped(plain_text(f"{topics['topic'].iloc[k]}: {names.iloc[k]}", 60), width, size, 1)
        texts.append(ax.text(i + _BAR / 2 + 0.03, place, text, va="center", fontsize=size))
        if abs(place - middles[k]) > room / 2:
            x = i + _BAR / 2 + np.array([0, 0.025])
            ax.plot(x, [middles[k], place], color=colours_of(ax).muted, lw=0.4)
    return texts
