"""Effects of covariates on topic proportions, by the method of composition: a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._core.covariates import levels_of
from sklda._core.names import plain_text
from sklda._core.types import Data, Model, Seed, Values
from sklda.inspection._axes import LINE, MUTED, PanelsDisplay, distinct_colours
from sklda.inspection._effects import Effects, TopicSums
from sklda.inspection._intervals import (
    DIFFERENCES,
    SHARES,
    add_key,
    bounds_axis,
    draw_curve,
    draw_points,
    draw_rug,
    group_handle,
    label_panels,
    new_rows,
    new_scales,
    note_shrinkage,
    style_rows,
    title_panel,
)
from sklda.inspection._parameters import described

# --- Effects of covariates on topic proportions, by the method of composition: a table --------------------------------


@described
def topic_effects(
    estimator: Model,
    X: Data | None = None,
    covariates: Any = None,
    *,
    topics: Values | Mapping[str, Values] | None = None,
    formula: str | None = None,
    transformer: Any = None,
    clusters: Any = None,
    weights: ArrayLike | None = None,
    missing: Literal["raise", "drop"] = "raise",
    n_draws: int = 50,
    level: float = 0.95,
    n_words: int = 3,
    random_state: Seed = None,
) -> DataFrame:
    """How the proportions of topics depend on covariates, with errors that contain the uncertainty of the proportions.

    For each draw of the topic proportions theta, a linear model of the proportion of each topic is fitted by least
    squares. The result is the mixture of the posteriors of its coefficients over the draws: the method of composition
    (Treier & Jackman 2008), as ``estimateEffect`` of the R package stm. The draws come from all chains, or from all
    fits of a `ConsensusTopics`.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        A fitted topic model with ``components_`` and ``doc_topic_prior_``, a pipeline or search that has one, or
        arrays.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents. If they are those of the fit, theta has its posterior draws. Otherwise theta is drawn given the
        topics and `doc_topic_prior_` of the model.
    covariates : array-like, sparse matrix or data frame with n_documents rows
        Numbers, or texts and other labels for categories. A category has a column for each level but the first in
        order, its base. Columns of an array have the names x0, x1, ...
    topics : sequence of int or str, or dict of {str: sequence of int or str}, default=None
        Topics of the table, by number or name. None: all. A dict has a row for the sum of several topics, such as
        ``{"immigration": [3, 5]}``: effects on the sum of their proportions.
    formula : str, default=None
        The terms of the linear model, such as ``"bs(year, df=4) + source"``, for the package formulaic. `covariates` is
        then a data frame or a dict of columns that it takes.
    transformer : transformer of scikit-learn, default=None
        It makes the columns of the linear model from `covariates`, for example
        ``SplineTransformer(include_bias=False)``. A clone is fitted.
    clusters : sequence of n_documents labels, default=None
        The source, author or place of every document, if documents of one are not independent. Errors are then those of
        so many clusters. None: documents are independent.
    weights : array-like of shape (n_documents,), default=None
        Weights of the documents, such as those of a survey, in any unit. Least squares and means have these weights. A
        document of weight 0 takes no part. None: all documents count alike.
    n_draws : int, default=50
        Number of draws of theta; at least one of each chain or fit.
    level : float, default=0.95
        Probability of the intervals.

    Returns
    -------
    pandas.DataFrame
        A row for every topic and term, with the columns

        - ``topic``, ``name`` (its number, with its name or its words) and ``term``; for a sum of topics, the tuple of
          their numbers, and its name;
        - ``base``: the level with which a category is compared;
        - ``estimate``: the change of the proportion if the term grows by one;
        - ``standard_error``, and ``low`` and ``high``, the ends of the interval;
        - ``t``, the estimate by its error, and ``p_value``, for no effect of this term, but at least 1e-6: nobody knows
          the tails of these distributions better;
        - ``df``: degrees of freedom of the linear models. Few clusters have less than their number;
        - ``found_in``: the number of chains or fits that have the topic, or all topics of a sum, whose draws count;
        - ``attenuation``: see the notes.

    Raises
    ------
    ValueError
        If there are not more documents than terms, a term is a combination of others or zero, a value is missing, or an
        argument is out of range.
    TypeError
        If the model is not a topic model, or covariates are neither an array nor a data frame.

    Warns
    -----
    UserWarning
        If `clusters` is None, and a covariate is the same for all documents with one value of another column of
        `covariates`: a label, or a whole number that has two documents on average.
        If an effect depends on one document or cluster alone.
        If documents have no words, or the fit left them out: they do not count.

    See Also
    --------
    TopicEffectsDisplay : The same as a plot.
    sklda.CovariateLDA : A model with covariates in the prior of theta.

    Notes
    -----
    **Effects are shrunk, and the errors do not contain this.** The prior of LDA has no covariates, and pulls the
    proportions of all documents to one mean. The column ``attenuation`` is the part of an effect that is left. It is
    measured: documents are simulated from the model, and their proportions drawn again. If z were known, it would be
    ``n / (n + alpha_0)`` for documents of n tokens, where alpha_0 is the sum of alpha; it is smaller if words do not
    tell topics apart. Errors of the topics themselves are not in it: in simulations the part that was left was lower by
    another 0.03 to 0.05. The column is 1 if the prior of theta has these covariates: for `CovariateLDA`, and for
    `CompoundLDA` with categories. With a small part r, the errors are too wide as well, by about ``sqrt((2 - r) / r)``:
    the spread of draws counts within each draw and between them.

    **Errors.** In each draw they are CR2 errors, with Satterthwaite's degrees of freedom (Bell & McCaffrey 2002;
    Pustejovsky & Tipton 2018). Without clusters each document is one: they are HC2 errors, and documents may have
    different spread. With `weights`, they are unbiased if documents have equal spread, whatever their weights: a weight
    is that of a survey, and no number of documents. A t-distribution stands for each draw, and the interval has the
    quantiles of their mixture.

    A chain has a topic if its matched topic is at a Jensen-Shannon distance of at most 0.5 from the one shown. If a
    proportion does not vary between documents with the same covariates, as that of a label that no document has,
    nothing tells how exact its effects are: errors, intervals and p-values are NaN.

    **Intervals of shares.** A mean proportion is not a difference: it lies between 0 and 1. The intercept is one if
    there are documents for which all other terms are zero, such as those of the base of a category. Its interval is
    symmetric on the scale of log(p / (1 - p)), and longer towards 1/2. Ten documents that happen to have little of a
    topic do not say that others have as little. So an error moves towards the one that the spread of all documents
    gives, in units of p (1 - p), if that is larger: as if 20 more documents had been seen, which are also in ``df``.
    With `clusters` it does not. All shares of this package have this rule: of periods, groups, levels and curves, in
    tables, plots and the explorer.

    References
    ----------
    Bell & McCaffrey (2002). Bias reduction in standard errors for linear regression with multi-stage samples. Survey
    Methodology 28.

    Pustejovsky & Tipton (2018). Small-sample methods for cluster-robust variance estimation and hypothesis testing in
    fixed effects models. Journal of Business & Economic Statistics 36.

    Roberts, Stewart & Airoldi (2016). A model of text for experimentation in the social sciences. JASA 111.

    Treier & Jackman (2008). Democracy as a latent variable. American Journal of Political Science 52.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import topic_effects
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = topic_effects(lda, X, np.arange(60), random_state=0)
    >>> [str(term) for term in table["term"]]
    ['intercept', 'x0', 'intercept', 'x0']
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
    shown = TopicSums.of(effects.view, topics, n_words)
    terms, bases = effects.design.terms, effects.design.bases
    found = effects.summary(np.eye(len(terms)), shown, effects.is_share())
    found["t"] = found["estimate"] / found["standard_error"]
    columns = "estimate", "standard_error", "low", "high", "t", "p_value", "df"
    return DataFrame(
        {
            "topic": [number for number in shown.numbers for _ in terms],
            "name": np.repeat(shown.labels, len(terms)),
            "term": terms * len(shown.members),
            "base": bases * len(shown.members),
            **{name: found[name].T.ravel() for name in columns},
            "found_in": np.repeat(shown.found_in(effects.draws.has_topics), len(terms)),
            "attenuation": found["attenuation"].T.ravel(),
        }
    )


# --- Effects of covariates on topic proportions, by the method of composition: a display ------------------------------


# Points of a curve.
_POINTS = 41
# The axis has the bands of this part of the documents, so that a few far ones do not set its range.
_IN_RANGE = 0.98


@dataclass(eq=False, repr=False, kw_only=True)
class TopicEffectsDisplay(PanelsDisplay):
    """Mean topic proportions as a function of one covariate, with intervals, in a panel for each topic.

    A category has a row for each level, with a point and its interval; a number with two values, such as a treatment,
    is shown in the same way. Other numbers have a curve with a band, and lines below the axis at the values of the
    documents. All other covariates have the values of the documents, or given ones: a proportion is the mean over all
    documents if they had this value of the covariate. Curves can belong to groups, and differences can be shown.

    A point without a line is open: its error is unknown, as that of a level that only one cluster has. The models are
    linear, so intervals, and curves where there are few documents, can go beyond 0 and 100 %. They are cut there, with
    a mark: proportions have no such values. Use `from_estimator` to make one.

    Parameters
    ----------
    name : str
        Name of the covariate.
    values : sequence of length n_values
        Values of the covariate: numbers of a curve, or levels. Numbers that are levels, as by ``C(name)`` in a formula,
        are an array of objects.
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

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each topic; a single one for the difference of two values of the covariate.
    legend_ : matplotlib Legend or None
        Groups, and marks that need an explanation.

    See Also
    --------
    topic_effects : The coefficients as a table, and what the intervals do not contain.
    TopicsOverTimeDisplay : Shares of topics by year, month or day.

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

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        covariates: Any = None,
        *,
        covariate: str | None = None,
        topics: Values | Mapping[str, Values] | None = None,
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
        topics : sequence of int or str, or dict of {str: sequence of int or str}, default=None
            Topics to show, or sums of them; None: the six largest.
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
        groups = _groups(by, columns, {name, *at}, difference)
        values = _values(name, columns[name], effects.design, effects.frame)
        if difference is not None and by is None:
            by, groups, values = name, list(difference), [_minus(difference)]
        # With a difference of the covariate itself, `by` takes its place.
        own = [{by: group} for group in groups] if groups else [{}]
        rows = np.array([[effects.row({**at, name: value, **each}) for value in values] for each in own])
        documents = [_of_documents(columns, name, {**at, **each}) for each in own]
        known = np.array([_in_range(values, each) for each in documents])
        if difference is not None:
            rows, known, groups = rows[:1] - rows[1:], known[:1] & known[1:], []
            documents = [np.concatenate(documents)]
        asked = TopicSums.of(found, topics, n_words)
        summary = effects.summary(np.concatenate(rows), asked, shares=difference is None)
        # A group without documents, or with one, has a curve over all values.
        known = np.where(known.any(axis=1, keepdims=True), known, True)
        for key in ("estimate", "low", "high"):
            summary[key] = np.where(known.reshape(-1, 1), summary[key], np.nan)
        shown = np.arange(len(asked.members))
        if topics is None:
            share = found.share if difference is not None else np.nanmean(summary["estimate"], axis=0)
            shown = np.argsort(-share, kind="stable")[:6]

        def curves(each):
            """(n_values, n_topics * n_groups) of (n_groups * n_values, n_topics)."""
            each = each[:, shown].reshape(len(rows), len(values), len(shown))
            return each.transpose(1, 2, 0).reshape(len(values), -1)

        return cls(
            name=name,
            values=values,
            estimate=curves(summary["estimate"]),
            low=curves(summary["low"]),
            high=curves(summary["high"]),
            topics=[asked.labels[i] for i in shown],
            groups=[f"{by} = {group}" for group in groups] or [""],
            attenuation=curves(summary["attenuation"])[0],
            difference="" if difference is None else f"{by}: {_minus(difference)}",
            documents=documents if _is_scale(values) else (),
        ).plot(ax)

    def _panels(self):
        if self._is_one_panel():
            return 1, "one Axes"
        return len(self.topics), f"one Axes for each of the {len(self.topics)} topics"

    def _is_one_panel(self):
        """A single difference has a row for each topic."""
        return bool(self.difference) and len(self.values) == 1

    def _new_axes(self):
        n = self._panels()[0]
        if _is_scale(self.values):
            return new_scales(n)
        rows = len(self.topics) if self._is_one_panel() else len(self.values) * len(self.groups)
        return new_rows(n, rows)

    def _draw(self, axes):
        self.bounds_ = DIFFERENCES if self.difference else SHARES
        names = [plain_text(group) for group in self.groups]
        key = dict(zip(names, map(group_handle, self._colours()), strict=True)) if len(names) > 1 else {}
        if self._is_one_panel():
            rows = [np.ravel(each).astype(np.float64) for each in (self.estimate, self.low, self.high)]
            self._draw_rows(axes[0], [rows], self.topics, key)
            axes[0].set_xlabel(
                f"difference of the mean proportions in percentage points\n{plain_text(self.difference)}"
            )
        elif _is_scale(self.values):
            self._draw_scale(axes, key)
        else:
            self._draw_levels(axes, key)
        note_shrinkage(self.attenuation, key, "effects")
        self.legend_ = add_key(axes, key)

    def _colours(self):
        return [LINE] if len(self.groups) == 1 else distinct_colours(len(self.groups))[: len(self.groups)]

    def _curves(self, topic):
        """Estimates, lower and upper ends of the groups of one topic, each of shape (n_groups, n_values)."""
        n = len(self.groups)
        own = slice(topic * n, (topic + 1) * n)
        return [np.asarray(each, dtype=np.float64)[:, own].T for each in (self.estimate, self.low, self.high)]

    def _draw_scale(self, axes, key):
        x = np.asarray(self.values, dtype=np.float64)
        is_curve = np.asarray(self.values).dtype.kind != "O"
        draw = draw_curve if is_curve else draw_points
        shown = self._range(self._near(x))
        for k, ax in enumerate(axes):
            for colour, *curve in zip(self._colours(), *self._curves(k), strict=True):
                draw(ax, x, *curve, colour=colour, bounds=shown, key=key)
            draw_rug(ax, self.documents, self._colours(), key)
            title_panel(ax, self.topics[k])
            bounds_axis(ax.yaxis, self.bounds_)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set(xlim=_with_room(x, 0.02 if is_curve else 0.05), ylim=shown)
            if self.difference:
                ax.axhline(0, color=MUTED, lw=0.8, zorder=1)
        what = f"difference (points)\n{plain_text(self.difference)}" if self.difference else "mean proportion"
        label_panels(axes, plain_text(self.name), what)

    def _near(self, x):
        """Which values of the covariate are where most documents are."""
        documents = np.concatenate([np.empty(0), *self.documents])
        if not len(documents):
            return np.ones(len(x), bool)
        first, last = np.quantile(documents, [(1 - _IN_RANGE) / 2, (1 + _IN_RANGE) / 2])
        step = np.diff(x).max(initial=0)
        return (x >= first - step) & (x <= last + step)

    def _range(self, chosen=slice(None)):
        """The ends of the axis of proportions: those of the intervals at some values of the covariate."""
        values = np.concatenate([np.ravel(np.asarray(each)[chosen]) for each in (self.estimate, self.low, self.high)])
        values = np.clip(values[np.isfinite(values)], *self.bounds_)
        low, high = values.min(initial=0), values.max(initial=0.01)
        room = 0.05 * (high - low)
        return max(low - room, self.bounds_[0]) if low < 0 else 0, min(high + room, self.bounds_[1])

    def _draw_levels(self, axes, key):
        for k, ax in enumerate(axes):
            self._draw_rows(ax, zip(*self._curves(k), strict=True), list(map(self._label, self.values)), key)
            title_panel(ax, self.topics[k])
        name = plain_text(self.name, 20)
        of = f"difference by {name} in percentage points\n{plain_text(self.difference)}"
        label_panels(axes, of if self.difference else f"mean topic proportion by {name}", "")

    def _draw_rows(self, ax, groups, labels, key):
        """A row for each label, with a point for each of `groups`, which are estimates and intervals."""
        n_groups, places = len(self.groups), np.arange(len(labels))
        for g, (colour, points) in enumerate(zip(self._colours(), groups, strict=True)):
            # A shift for each group keeps the intervals apart.
            own = places + 0.7 * ((g + 0.5) / n_groups - 0.5)
            draw_points(ax, own, *points, colour=colour, bounds=self.bounds_, key=key, horizontal=True)
        style_rows(ax, labels, self.bounds_)
        ax.set_xlim(self._range())
        if self.difference:
            ax.axvline(0, color=MUTED, lw=0.8, zorder=1)

    def _label(self, value):
        """A text says what it is; a number needs the name of the covariate."""
        return plain_text(f"{self.name} = {value:g}" if isinstance(value, Real) else value)


def _is_scale(values):
    """Whether values are numbers that are shown along an axis: more than two, which may be levels."""
    return len(values) > 2 and all(isinstance(value, Real) for value in values)


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
    levels = levels_of(by, columns[by])
    if difference is not None:
        return list(difference)
    if levels is None:
        raise ValueError(f"by = {by!r} is a number: give a category, or difference= with two of its values.")
    return list(levels)


def _of_documents(columns, name, given):
    """The values of a number of the documents that have given levels of other covariates; empty for a category."""
    if levels_of(name, columns[name]) is not None:
        return np.empty(0)
    column = np.asarray(columns[name], dtype=np.float64)
    same = np.ones(len(column), bool)
    for key, value in given.items():
        if key != name and levels_of(key, columns[key]) is not None:
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
    levels = levels_of(name, column)
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
    return np.linspace(distinct[0], distinct[-1], _POINTS)
