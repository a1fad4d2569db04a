"""One display of mean topic proportions: by covariates, over time, and in groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._description.view import lacks, view
from sklda._input.arguments import check_int, check_level
from sklda._input.covariates import levels_of
from sklda._input.names import plain_text, plain_texts
from sklda._input.types import Data, Model, Seed, Values
from sklda.inspection._axes import PanelsDisplay, colours_of, largest_of, series_styles, size_in_points
from sklda.inspection._effects import Effects
from sklda.inspection._groups import group_shares
from sklda.inspection._panels import (
    DIFFERENCES,
    SHARES,
    add_key,
    bounds_axis,
    date_axis,
    draw_curve,
    draw_points,
    draw_rug,
    group_handle,
    interval_handle,
    label_panels,
    name_columns,
    name_rows,
    new_rows,
    new_scales,
    note,
    note_shrinkage,
    style_rows,
)
from sklda.inspection._periods import dates_of_labels, is_near, on_an_axis
from sklda.inspection._topics_over_time import by_period

# The periods with the fewest documents, which have this part of them together, do not set the range of the axis.
_FEW = 0.02
# More points than this on an axis are small.
_MANY = 20
# Points of a curve.
_POINTS = 41
# The axis has the bands of this part of the documents, so that a few far ones do not set its range.
_IN_RANGE = 0.98


@dataclass(eq=False, repr=False, kw_only=True)
class TopicEffectsDisplay(PanelsDisplay):
    """Mean topic proportions by a covariate, a date or a group, with intervals, in a panel for each topic.

    `from_estimator` draws what topics depend on, `from_dates` how they change over time, and `from_groups` how groups
    of documents or collections differ. The numbers are those of `topic_effects` and `topics_over_time`.

    A category has a row for each level, with a point and its interval; a number with two values, such as a treatment,
    is shown in the same way. Other numbers have a curve with a band, and lines below the axis at the values of the
    documents. All other covariates have the values of the documents, or given ones: a proportion is the mean over all
    documents if they had this value of the covariate. Curves can belong to groups, and differences can be shown. Dates,
    and groups that have an order, are on an axis, with a point for each period or group, which a line joins.

    A point without a line is open: its error is unknown, as that of a level that only one cluster has. The models are
    linear, so curves where there are few documents can go beyond 0 and 100 %. They are cut there, with a mark, as are
    intervals of periods with very few documents where the axis ends. An axis leaves out a few documents that are far
    from all others, at most 2 % or one, such as those of a wrong year; the key has their number and their values.

    Parameters
    ----------
    name : str
        Name of the covariate; empty for dates and groups.
    values : sequence of length n_values
        Values of the covariate: numbers of a curve, levels, or dates, an array of datetime64. Numbers that are levels,
        as by ``C(name)`` in a formula, are an array of objects.
    estimate, low, high : ndarray of shape (n_values, n_topics * n_groups)
        Mean proportions, or their differences, and their intervals; the groups of one topic are side by side. NaN: not
        shown, and for an interval, unknown.
    topics : list of str of length n_topics
        Names of the topics shown.
    groups : sequence of str of length n_groups, default=("",)
        Names of the groups.
    attenuation : float or ndarray of shape (n_topics * n_groups,), default=1.0
        See `topic_effects`.
    difference : str, default=""
        The two values whose difference is shown, if there is one.
    documents : sequence of arrays, default=()
        The values of the covariate of the documents, an array for each group.
    joined : bool, default=False
        Whether the values follow each other on an axis, and a line joins their points.
    note : str, default=""
        What the intervals are, for the legend.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of matplotlib Axes
        One for each topic; a single one for the difference of two values of the covariate.
    legend_ : matplotlib Legend or None
        Groups, and marks that need an explanation.

    See Also
    --------
    topic_effects : Coefficients as a table, and what the intervals do not contain.
    topics_over_time : Periods as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicEffectsDisplay
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> TopicEffectsDisplay.from_estimator(lda, X, np.arange(60), random_state=0).axes_[0].get_xlabel()
    'x0'
    """

    name: str
    values: Sequence[Any] | np.ndarray
    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    topics: Sequence[str]
    groups: Sequence[str] = ("",)
    attenuation: float | np.ndarray = 1.0
    difference: str = ""
    documents: Sequence[np.ndarray] = ()
    joined: bool = False
    note: str = ""

    # Says that not all topics are shown.
    _selection = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        covariates: Any = None,
        *,
        covariate: str | None = None,
        topics: Values | None = None,
        by: str | None = None,
        at: Mapping[str, Any] | None = None,
        difference: Sequence[Any] | None = None,
        formula: str | None = None,
        transformer: Any = None,
        clusters: Any = None,
        weights: ArrayLike | None = None,
        missing: Literal["raise", "drop"] = "raise",
        n_draws: int = 50,
        level: float = 0.95,
        n_words: int = 3,
        random_state: Seed = None,
        ax: Any = None,
    ) -> Self:
        """Compute the effects, and plot them along one covariate.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
            See `topic_effects`.
        X : array-like, sparse matrix, or whatever a pipeline takes
            Documents.
        covariates : array-like, sparse matrix or data frame with n_documents rows
            See `topic_effects`.
        covariate : str, default=None
            Name of the covariate of the horizontal axis, ``x0`` for the first column of an array. None: the first.
        topics : sequence of int or str, default=None
            Topics to show; None: the six largest.
        by : str, default=None
            Name of a category. Each of its levels has a colour, and a curve or points of its own. Curves differ in
            shape if the formula has the product of both covariates, as in ``"rating * bs(day, df=5)"``. A curve ends
            where its level has no documents.
        at : dict, default=None
            Values of other covariates, by name, that all documents are given.
        difference : pair of values, default=None
            The first minus the second: of the levels of `by`, along the covariate; without `by`, of the covariate.
        formula, transformer, clusters, weights, missing, n_draws, level
            See `topic_effects`.
        n_words : int, default=3
            How many of a topic's most probable words are in its label, if it has no name.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Of the draws.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        TopicEffectsDisplay

        Raises
        ------
        ValueError, TypeError
            As `topic_effects`; also if there is no covariate of this name, or `by` is not a category.
        """
        effects = Effects.of(
            X,
            estimator,
            covariates,
            formula=formula,
            transformer=transformer,
            clusters=clusters,
            weights=weights,
            missing=missing,
            n_draws=n_draws,
            level=level,
            random_state=random_state,
        )
        found = effects.view
        columns = effects.frame[effects.design.variables]
        if not len(columns.columns):
            raise ValueError(f"formula = {formula!r} has no covariate: there is nothing to show.")
        name = _checked(columns.columns[0] if covariate is None else covariate, columns, "covariate")
        at = {_checked(key, columns, "a key of at"): value for key, value in dict(at or {}).items()}
        if name in at:
            raise ValueError(f"at has the covariate of the axis, {name!r}: give values of other covariates.")
        if difference is not None and len(difference) != 2:
            raise ValueError(f"difference must be a pair of values, got {difference!r}.")
        compared = columns[name if by is None else _checked(by, columns, "by")]
        if difference is not None and _is_logical(compared) and not all(each in (True, False) for each in difference):
            raise ValueError(f"difference = {tuple(difference)!r}: the values of {compared.name!r} are True and False.")
        groups = _groups(by, columns, {name, *at}, difference)
        values = _values(name, columns[name], effects.design, effects.frame)
        if difference is not None and by is None:
            by, groups, values = name, list(difference), [_minus(difference)]
        # With a difference of the covariate itself, `by` takes its place.
        own = [{by: group} for group in groups] if groups else [{}]
        rows = np.array([effects.rows({**at, **each}, name, [each[name]] if by == name else values) for each in own])
        documents = [_of_documents(columns, name, {**at, **each}) for each in own]
        known = np.array([_in_range(values, each) for each in documents])
        if difference is not None:
            rows, known, groups = rows[:1] - rows[1:], known[:1] & known[1:], []
            documents = [np.concatenate(documents)]
        asked = found.chosen(topics)
        summary = effects.summary(np.concatenate(rows), asked, shares=difference is None)
        # A group without documents, or with one, has a curve over all values.
        known = np.where(known.any(axis=1, keepdims=True), known, True)
        for key in ("estimate", "low", "high"):
            summary[key] = np.where(known.reshape(-1, 1), summary[key], np.nan)
        shown = np.arange(len(asked))
        if topics is None:
            share = found.share if difference is not None else np.nanmean(summary["estimate"], axis=0)
            shown = np.argsort(-share, kind="stable")[:6]

        def curves(each):
            """(n_values, n_topics * n_groups) of (n_groups * n_values, n_topics)."""
            each = each[:, shown].reshape(len(rows), len(values), len(shown))
            return each.transpose(1, 2, 0).reshape(len(values), -1)

        display = cls(
            name=name,
            values=values,
            estimate=curves(summary["estimate"]),
            low=curves(summary["low"]),
            high=curves(summary["high"]),
            topics=plain_texts(found.labels(asked[shown], n_words)),
            groups=[f"{by} = {group}" for group in groups] or [""],
            attenuation=curves(summary["attenuation"])[0],
            difference="" if difference is None else f"{by}: {_minus(difference)}",
            documents=documents if _is_scale(values) else (),
            note=f"{100 * level:g} % intervals",
        )
        return display._shown(topics, found, ax)

    @classmethod
    def from_dates(
        cls,
        estimator: Model,
        X: Data | None = None,
        dates: Any = None,
        *,
        period: Literal["day", "week", "month", "quarter", "year", "decade"] | int | None = None,
        topics: Values | None = None,
        clusters: Any = None,
        weights: ArrayLike | None = None,
        missing: Literal["raise", "drop"] = "raise",
        n_draws: int = 50,
        level: float = 0.95,
        n_words: int = 3,
        random_state: Seed = None,
        ax: Any = None,
    ) -> Self:
        """Plot the mean proportions by period, as `topics_over_time` has them.

        Points are in the middle of their periods, and a line joins those of periods that follow each other.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
            See `topic_effects`.
        X : array-like, sparse matrix, or whatever a pipeline takes
            Documents.
        dates : sequence of length n_documents
            Years, or dates; see `topics_over_time`.
        period : {"day", "week", "month", "quarter", "year", "decade"} or int, default=None
            Length of the periods; see `topics_over_time`.
        topics : sequence of int or str, default=None
            Topics to show; None: the six largest.
        clusters, weights, missing, n_draws, level
            See `topics_over_time`.
        n_words : int, default=3
            How many of a topic's most probable words are in its label, if it has no name.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Of the draws.
        ax : sequence of matplotlib Axes, default=None
            One for each topic. None: those of a new figure.

        Returns
        -------
        TopicEffectsDisplay

        Raises
        ------
        ValueError, TypeError
            As `topics_over_time`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> from sklda.inspection import TopicEffectsDisplay, describe
        >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
        >>> named = describe(lda, X, topic_names=["fruit", "cars"])
        >>> len(TopicEffectsDisplay.from_dates(named, dates=1990 + np.arange(60) // 6, random_state=0).axes_)
        2
        """
        found = by_period(estimator, X, dates, period, clusters, weights, missing, n_draws, level, random_state)
        shown = found.view.chosen(topics, 6)
        middles, days = on_an_axis(found.starts + (found.ends - found.starts) // 2, found.days)
        display = cls(
            name="",
            values=middles,
            estimate=found.means.estimate[:, shown],
            low=found.means.low[:, shown],
            high=found.means.high[:, shown],
            topics=plain_texts(found.view.labels(shown, n_words)),
            attenuation=found.means.attenuation[shown],
            documents=[days],
            joined=True,
            note=f"{100 * level:g} % intervals",
        )
        return display._shown(topics, found.view, ax)

    @classmethod
    def from_groups(
        cls,
        estimator: Model,
        X: Data | None = None,
        groups: ArrayLike | None = None,
        *,
        topics: Values | None = None,
        ordered: bool | None = None,
        clusters: Any = None,
        weights: ArrayLike | None = None,
        missing: Literal["raise", "drop"] = "raise",
        n_draws: int = 50,
        level: float = 0.95,
        n_words: int = 3,
        random_state: Seed = None,
        ax: Any = None,
    ) -> Self:
        """Plot the mean proportions in groups of documents, or the mixtures of the collections of a `CompoundLDA`.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents. Not needed for the collections of `CompoundLDA`.
        groups : sequence of n_documents hashable labels, default=None
            The groups of the documents, of which the mean proportions are shown, with the intervals of
            `topics_over_time`. None: the collections of a `CompoundLDA`, whose mixtures are shown, with intervals by
            their posterior standard deviations. Documents without words, and those that the fit left out, do not count:
            there is a warning, and the shares of a group of such documents are NaN.
        topics : sequence of int or str, default=None
            Topics to show; None: the six largest.
        ordered : bool, default=None
            Whether the groups have an order, such as the volumes of a book, and are joined by a line. None: if all
            labels are dates or more than two numbers.
        clusters, weights, missing, n_draws, level
            See `topics_by_group`. They belong to groups of documents.
        n_words : int, default=3
            How many of a topic's most probable words are in its label, if it has no name.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Of the draws.
        ax : sequence of matplotlib Axes, default=None
            One for each topic. None: those of a new figure.

        Returns
        -------
        TopicEffectsDisplay

        Raises
        ------
        TypeError
            If there are neither groups nor collections.

        Examples
        --------
        >>> from sklda import CompoundLDA
        >>> from sklda.datasets import make_compound_lda_corpus
        >>> from sklda.inspection import TopicEffectsDisplay
        >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
        >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(corpus.data, collections=corpus.collections)
        >>> TopicEffectsDisplay.from_groups(lda).legend_.get_texts()[0].get_text()
        '95 % intervals within one chain'
        """
        n_draws, level = check_int(n_draws, "n_draws", 1), check_level(level)
        if groups is None and not (clusters is None and weights is None):
            raise ValueError("clusters and weights belong to groups of documents: give groups.")
        found = view(estimator, X, groups=groups, clusters=clusters, weights=weights, missing=missing)
        shares = group_shares(found, random_state, level, n_draws, shrinks=True)
        if shares is None:
            raise lacks(found.model, "collection_topic_", "give X and groups, or a fitted CompoundLDA")
        is_mixture = shares.kind == "mixture"
        if not is_mixture:
            found.say_what_is_left_out()
        shown = found.chosen(topics, 6)
        values = _of_labels(shares.labels, ordered)
        joined = ordered if isinstance(values, list) else True
        order = slice(None) if isinstance(values, list) else np.argsort(values, kind="stable")
        display = cls(
            name="",
            values=values if isinstance(values, list) else values[order],
            estimate=shares.mean[order][:, shown],
            low=shares.low[order][:, shown],
            high=shares.high[order][:, shown],
            topics=plain_texts(found.labels(shown, n_words)),
            attenuation=shares.attenuation[shown],
            joined=bool(joined),
            note=f"{100 * level:g} % intervals" + (" within one chain" if is_mixture and found.n_chains == 1 else ""),
        )
        return display._shown(topics, found, ax)

    def _shown(self, topics, found, ax):
        """The picture, which says how many topics it has if they were not chosen."""
        if topics is None:
            self._selection = largest_of(len(self.topics), found.n_topics)
        return self.plot(ax)

    def _panels(self):
        if self._is_one_panel():
            return 1, "one Axes"
        return len(self.topics), f"one Axes for each of the {len(self.topics)} topics"

    def _is_one_panel(self):
        """A single difference has a row for each topic."""
        return bool(self.difference) and len(self.values) == 1

    def _is_on_axis(self):
        return self.joined or _is_scale(self.values)

    def _is_curve(self):
        """Whether the values are a grid of numbers. Dates and levels have points."""
        return _is_scale(self.values) and not self.joined and np.asarray(self.values).dtype.kind in "iuf"

    def _new_axes(self):
        n = self._panels()[0]
        if self._is_on_axis():
            return new_scales(n, () if _is_scale(self.values) else [plain_text(value) for value in self.values])
        if self._is_one_panel():
            return new_rows(1, self.topics)
        return new_rows(n, list(map(self._label, self.values)), len(self.groups))

    def _draw(self, axes):
        self.bounds_: tuple[float, float] = DIFFERENCES if self.difference else SHARES
        key = {}
        if len(self.groups) > 1:
            for group, style in zip(self.groups, self._styles(axes[0]), strict=True):
                key[plain_text(group, 60)] = group_handle(axes[0], *style)
        if self._is_one_panel():
            rows = [np.ravel(each).astype(np.float64) for each in (self.estimate, self.low, self.high)]
            self._draw_rows(axes[0], [rows], len(self.topics), key)
            name_rows(axes, self.topics)
            axes[0].set_xlabel(
                f"difference of the mean proportions in percentage points\n{plain_text(self.difference)}"
            )
        elif self._is_on_axis():
            self._draw_scale(axes, key)
        else:
            self._draw_levels(axes, key)
        note_shrinkage(axes[0], self.attenuation, key)
        if self.note and np.isfinite(np.asarray(self.low, dtype=np.float64)).any():
            kind = "band" if self._is_curve() else "|" if self._is_on_axis() else "_"
            key[self.note] = interval_handle(axes[0], kind)
        if self._selection:
            note(axes[0], self._selection, key)
        self.legend_: Any = add_key(axes, key)

    def _styles(self, ax):
        """The colour and the marker of each group."""
        return [(colours_of(ax).line, "o")] if len(self.groups) == 1 else series_styles(ax, len(self.groups))

    def _curves(self, topic):
        """Estimates, lower and upper ends of the groups of one topic, each of shape (n_groups, n_values)."""
        n = len(self.groups)
        own = slice(topic * n, (topic + 1) * n)
        return [np.asarray(each, dtype=np.float64)[:, own].T for each in (self.estimate, self.low, self.high)]

    def _draw_scale(self, axes, key):
        from matplotlib.ticker import MaxNLocator

        values = np.asarray(self.values, dtype=None if _is_scale(self.values) else object)
        is_date, is_label = values.dtype.kind == "M", not _is_scale(self.values)
        is_curve = self._is_curve()
        x = values if is_date else np.arange(len(values)) if is_label else values.astype(np.float64)
        documents, far = self._near_documents()
        inside = _between(x, documents) if far else np.ones(len(x), bool)
        shown = self._range(
            inside & (self._has_many(x) if is_date else self._near(x)), inside=None if is_curve else inside
        )
        x = x[inside]
        if far:
            note(axes[0], far, key)
        for k, ax in enumerate(axes):
            curves = [each[:, inside] for each in self._curves(k)]
            for g, (estimate, low, high) in enumerate(zip(*curves, strict=True)):
                colour, marker = self._styles(ax)[g]
                if self.joined:
                    ax.plot(x, estimate, color=colour, lw=1, alpha=0.6)
                options = {"colour": colour, "bounds": shown, "key": key}
                if is_curve:
                    options |= {"marker": marker, "place": (g, len(self.groups))} if len(self.groups) > 1 else {}
                    draw_curve(ax, x, estimate, low, high, **options)
                else:
                    size = 5.5 if len(x) <= _MANY else 3.5
                    draw_points(ax, x, estimate, low, high, marker=marker, size=size, **options)
            draw_rug(ax, documents, self._styles(ax), key)
            ax.set_title(self.topics[k], loc="left", fontsize=10)
            bounds_axis(ax.yaxis, self.bounds_)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_ylim(shown)
            if is_date:
                date_axis(ax)
                ax.set_xlim(*_with_half_steps(x))
            else:
                ax.set_xlim(_with_room(x, 0.02 if is_curve else 0.05))
                if self.joined:
                    ax.xaxis.set_major_locator(MaxNLocator(6, integer=bool((x == np.floor(x)).all())))
            if is_label:
                name_columns(ax, [plain_text(label) for label in values])
            if self.difference:
                ax.axhline(0, color=colours_of(ax).muted, lw=0.8, zorder=1)
        what = f"difference (points)\n{plain_text(self.difference)}" if self.difference else "mean proportion"
        label_panels(axes, plain_text(self.name), what)

    def _near_documents(self):
        """The documents of each group that are not far from the others, and what a key says of these, if any are."""
        values = np.concatenate(self.documents) if len(self.documents) else np.empty(0)
        near = is_near(values)
        if near.all():
            return self.documents, ""
        kept = values[near]
        first, last = kept.min(), kept.max()
        documents = [each[(each >= first) & (each <= last)] for each in self.documents]
        outside = np.unique(values[~near])
        ends = " to ".join(dict.fromkeys(_as_text(each) for each in (outside[0], outside[-1])))
        n = int((~near).sum())
        return documents, f"not shown: {n} document{'s' * (n > 1)} far from the others, {ends}"

    def _has_many(self, dates):
        """Which periods have most documents, so that the intervals of others do not set the range of the axis."""
        documents = np.concatenate([np.empty(0, "datetime64[D]"), *self.documents])
        middles = dates[:-1] + np.diff(dates) // 2
        counts = np.bincount(np.searchsorted(middles, documents), minlength=len(dates))
        order = np.argsort(counts, kind="stable")
        few = np.cumsum(counts[order]) <= _FEW * len(documents)
        return ~np.isin(np.arange(len(dates)), order[few]) if len(documents) else np.ones(len(dates), bool)

    def _near(self, x):
        """Which values of the covariate are where most documents are."""
        documents = np.concatenate([np.empty(0), *self.documents])
        if not len(documents):
            return np.ones(len(x), bool)
        first, last = np.quantile(documents, [(1 - _IN_RANGE) / 2, (1 + _IN_RANGE) / 2])
        step = np.diff(x).max(initial=0)
        return (x >= first - step) & (x <= last + step)

    def _range(self, chosen=slice(None), inside=None):
        """The ends of the axis of proportions: those of the intervals at some values of the covariate.

        The estimates at the values `inside` are in the axis, too.
        """
        parts = [np.asarray(self.estimate)[chosen if inside is None else inside]]
        parts += [np.asarray(each)[chosen] for each in (self.low, self.high)]
        values = np.concatenate([np.ravel(each) for each in parts])
        values = np.clip(values[np.isfinite(values)], *self.bounds_)
        low, high = values.min(initial=0), values.max(initial=0.01)
        room = 0.05 * (high - low)
        return max(low - room, self.bounds_[0]) if low < 0 else 0, min(high + room, self.bounds_[1])

    def _draw_levels(self, axes, key):
        for k, ax in enumerate(axes):
            self._draw_rows(ax, zip(*self._curves(k), strict=True), len(self.values), key)
            ax.set_title(self.topics[k], loc="left", fontsize=10)
        name = plain_text(self.name, 20)
        of = f"difference by {name} in percentage points\n{plain_text(self.difference)}"
        by = f" by {name}" if name else ""
        label_panels(axes, of if self.difference else f"mean topic proportion{by}", "")
        name_rows(axes, list(map(self._label, self.values)))

    def _draw_rows(self, ax, groups, n_rows, key):
        """Rows with a point for each of `groups`, which are estimates and intervals."""
        n_groups, places = len(self.groups), np.arange(n_rows)
        height = size_in_points(ax)[1] / (n_rows * n_groups)
        options = {"bounds": self.bounds_, "key": key, "horizontal": True, "size": min(5.5, 0.4 * height)}
        for g, ((colour, marker), points) in enumerate(zip(self._styles(ax), groups, strict=True)):
            # A shift for each group keeps the intervals apart.
            own = places + 0.7 * ((g + 0.5) / n_groups - 0.5)
            draw_points(ax, own, *points, colour=colour, marker=marker, **options)
        style_rows(ax, n_rows, self.bounds_)
        ax.set_xlim(self._range())
        if self.difference:
            ax.axvline(0, color=colours_of(ax).muted, lw=0.8, zorder=1)

    def _label(self, value):
        """A text says what it is; a number needs the name of the covariate."""
        shown = f"{value:g}" if isinstance(value, Real) and not isinstance(value, bool) else str(value)
        return plain_text(f"{self.name} = {shown}" if isinstance(value, Real) else shown, 60)


def _is_scale(values):
    """Whether values are numbers that are shown along an axis: more than two, which may be levels."""
    if getattr(values, "dtype", None) is not None and values.dtype.kind == "M":
        return True
    return len(values) > 2 and all(isinstance(value, Real) for value in values)


def _is_finite(number):
    """Whether a number has a place on an axis; an int may be too large for it."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _of_labels(labels, ordered):
    """Labels of groups as values: dates or numbers on an axis, or a list of texts."""
    dates = None if ordered is False else dates_of_labels(labels)
    if dates is not None:
        return dates
    are_numbers = all(isinstance(each, Real) and not isinstance(each, bool) and _is_finite(each) for each in labels)
    if are_numbers and len(labels) > 2 and ordered is not False:
        return np.array(labels, dtype=object)
    return [plain_text(label) for label in labels]


def _between(x, documents):
    """Which values are those of documents, or between them; a period has its middle."""
    values = np.concatenate(documents)
    nearest = [np.abs(x - end).argmin() for end in (values.min(), values.max())]
    return (np.arange(len(x)) >= nearest[0]) & (np.arange(len(x)) <= nearest[1])


def _as_text(value):
    """A date by its year, a number as it is."""
    return str(value.astype("datetime64[Y]")) if isinstance(value, np.datetime64) else f"{value:g}"


def _with_half_steps(dates):
    """The ends of an axis of the middles of periods."""
    half = (np.diff(dates).min() if len(dates) > 1 else np.timedelta64(360, "D")) / 2
    return dates[0] - half, dates[-1] + half


def _with_room(values, part):
    low, high = values.min(), values.max()
    room = part * (high - low) or 1
    return low - room, high + room


def _checked(name, columns, what):
    if name not in columns:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, columns))}, got {name!r}.")
    return name


def _groups(by, columns, taken, difference):
    """The levels of `by` for which there are curves, or that are subtracted."""
    if by is None:
        return []
    if _checked(by, columns, "by") in taken:
        raise ValueError(f"by = {by!r} is the covariate of the axis or in at: give another one.")
    if difference is not None:
        return list(difference)
    levels = (False, True) if _is_logical(columns[by]) else levels_of(by, columns[by])
    if levels is None:
        raise ValueError(f"by = {by!r} is a number: give a category, or difference= with two of its values.")
    return list(levels)


def _is_logical(column):
    """Whether a covariate has True and False alone."""
    return all(value is True or value is False for value in column.tolist())


def _of_documents(columns, name, given):
    """The values of a number of the documents that have given levels of other covariates; empty for a category."""
    if levels_of(name, columns[name]) is not None:
        return np.empty(0)
    column = np.asarray(columns[name], dtype=np.float64)
    same = np.ones(len(column), bool)
    for key, value in given.items():
        if key != name and (_is_logical(columns[key]) or levels_of(key, columns[key]) is not None):
            same &= np.array([each == value for each in columns[key]])
    return column[same]


def _in_range(values, documents):
    """Which values of a curve lie between those of the documents."""
    if np.asarray(values).dtype.kind not in "iuf":
        return np.ones(len(values), bool)
    return (values >= documents.min(initial=np.inf)) & (values <= documents.max(initial=-np.inf))


def _minus(difference):
    return f"{difference[0]} − {difference[1]}"


def _values(name, column, design, frame):
    """The values of a covariate at which a display shows proportions: levels, or a grid of numbers."""
    levels = [False, True] if _is_logical(column) else levels_of(name, column)
    if levels is not None:
        is_number = all(isinstance(level, Real) for level in levels)
        return np.array(levels, dtype=object) if is_number else list(levels)
    distinct = np.unique(np.asarray(column, dtype=np.float64))
    if len(distinct) <= 2:
        return distinct
    if design.has_steps(frame, name, distinct):
        # As objects, they are shown as levels.
        kept = np.unique(np.asarray(column))
        return kept.astype(object)
    # A few documents that are far from the others have no curve.
    column = np.asarray(column, dtype=np.float64)
    near = column[is_near(column)]
    return np.linspace(near.min(), near.max(), _POINTS)
