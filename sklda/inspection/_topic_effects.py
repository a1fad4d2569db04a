"""Effects of covariates on topic proportions, by the method of composition: a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._core.covariates import covariate_of
from sklda._core.types import Data, Model, Seed, Values
from sklda.inspection._axes import MUTED, Display, distinct_colours, legend_label, plain_text, style_shares
from sklda.inspection._effects import Effects, TopicSums
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
        - ``t``, the estimate by its error, and ``p_value``, for no effect of this term;
        - ``df``: degrees of freedom of the linear models. Few clusters have less than their number;
        - ``found_in``: the number of chains or fits that have the topic, or all topics of a sum, whose draws count;
        - ``attenuation``: see the notes.

    Raises
    ------
    ValueError
        If there are not more documents than terms, a term is a combination of others, a value is missing, or an
        argument is out of range.
    TypeError
        If the model is no topic model, or covariates are no array or data frame.
    ImportError
        If a formula is given without formulaic.

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
    quantiles of their mixture. A chain has a topic if its matched topic is at a Jensen-Shannon distance of at most 0.5
    from the one shown. If a proportion does not vary between documents with the same covariates, as that of a label
    that no document has, nothing tells how exact its effects are: errors, intervals and p-values are NaN.

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
        n_draws=n_draws,
        level=level,
        random_state=random_state,
    )
    shown = TopicSums.of(effects.view, topics, n_words)
    terms, bases = effects.design.terms, effects.design.bases
    found = effects.summary(np.eye(len(terms)), shown)
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


@dataclass(eq=False, repr=False, kw_only=True)
class TopicEffectsDisplay(Display):
    """Mean topic proportions as a function of one covariate, with intervals.

    A category is shown as points with intervals, a number as a curve with a band. All other covariates have the values
    of the documents, or given ones: a proportion is the mean over all documents if they had this value of the
    covariate. Curves can belong to groups, and differences can be shown. The models are linear, so intervals can go
    beyond 0 and 100 %; the axis shows little of that. Use `from_estimator` to make one.

    Parameters
    ----------
    name : str
        Name of the covariate.
    values : sequence of length n_values
        Values of the covariate: numbers of a curve, or levels. Numbers that are levels, as by ``C(name)`` in a formula,
        are an array of objects.
    estimate, low, high : ndarray of shape (n_values, n_curves)
        Mean proportions, or their differences, and their intervals. NaN: not shown.
    topics : list of str of length n_curves
        Names of the topics shown; with `by`, a name for each topic and level.
    attenuation : float or ndarray of shape (n_curves,), default=1.0
        See `topic_effects`.
    difference : str, default=""
        The two values whose difference is shown, if there is one.

    See Also
    --------
    topic_effects : The coefficients as a table, and what the intervals do not contain.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicEffectsDisplay
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> TopicEffectsDisplay.from_estimator(lda, X, np.arange(60), random_state=0).ax_.get_xlabel()
    'x0'
    """

    name: str
    values: Sequence[Any] | np.ndarray
    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    topics: Sequence[str]
    attenuation: float | np.ndarray = 1.0
    difference: str = ""

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
            Topics to show, or sums of them; None: the five largest, and with `by` the largest.
        by : str, default=None
            Name of a category. There is a curve for each of its levels, which differ in shape if the formula has the
            product of both covariates, as in ``"rating * bs(day, df=5)"``. A curve ends where its level has no
            documents.
        at : dict, default=None
            Values of other covariates, by name, that all documents are given.
        difference : pair of values, default=None
            The first minus the second: of the levels of `by`, along the covariate; without `by`, of the covariate.
        formula, transformer, clusters, weights, n_draws, level
            See `topic_effects`.

        Raises
        ------
        ValueError, TypeError
            As `topic_effects`; also if there is no covariate of this name, or `by` is no category.
        """
        effects = Effects.of(
            X,
            estimator,
            covariates,
            formula=formula,
            transformer=transformer,
            clusters=clusters,
            weights=weights,
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
        known = np.array([_in_range(values, columns, name, {**at, **each}) for each in own])
        if difference is not None:
            rows, known, groups = rows[:1] - rows[1:], known[:1] & known[1:], []
        asked = TopicSums.of(found, topics, n_words)
        summary = effects.summary(np.concatenate(rows), asked)
        # A group without documents, or with one, has a curve over all values.
        known = np.where(known.any(axis=1, keepdims=True), known, True)
        for key in ("estimate", "low", "high"):
            summary[key] = np.where(known.reshape(-1, 1), summary[key], np.nan)
        labels = [f", {by} = {group}" for group in groups] or [""]
        shown = np.arange(len(asked.members))
        if topics is None:
            share = found.share if difference is not None else np.nanmean(summary["estimate"], axis=0)
            shown = np.argsort(-share, kind="stable")[: 1 if groups else 5]

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
            topics=[topic + label for topic in (asked.labels[i] for i in shown) for label in labels],
            attenuation=curves(summary["attenuation"])[0],
            difference="" if difference is None else _minus(difference),
        ).plot(ax)

    def _figsize(self):
        return 9, 5

    def _draw(self, ax):
        n_topics = len(self.topics)
        colors = distinct_colours(n_topics)
        is_number = np.asarray(self.values).dtype.kind in "iuf"
        for k in range(n_topics):
            label = legend_label(self.topics[k])
            if is_number:
                ax.plot(self.values, self.estimate[:, k], color=colors[k], label=label)
                ax.fill_between(self.values, self.low[:, k], self.high[:, k], color=colors[k], alpha=0.2, linewidth=0)
                continue
            # A shift for each topic keeps the intervals apart.
            places = np.arange(len(self.values)) + 0.6 * ((k + 0.5) / n_topics - 0.5)
            errors = [self.estimate[:, k] - self.low[:, k], self.high[:, k] - self.estimate[:, k]]
            ax.errorbar(
                places, self.estimate[:, k], np.maximum(errors, 0), color=colors[k], fmt="o", capsize=3, label=label
            )
        if not is_number:
            ax.set_xticks(np.arange(len(self.values)), [plain_text(value) for value in self.values])
        ax.set_xlabel(plain_text(self.name))
        parts = [f"{part:.0%}" for part in (np.min(self.attenuation), np.max(self.attenuation))]
        shrunk = f",\neffects shrunk to about {' to '.join(dict.fromkeys(parts))}" if parts[0] != "100%" else ""
        if self.difference:
            ax.axhline(0, color=MUTED, linewidth=0.8)
            ax.set_ylabel(f"difference of mean topic proportions,\n{plain_text(self.difference)}{shrunk}")
        else:
            ax.set_ylabel(f"mean topic proportion{shrunk}")
        style_shares(ax)
        # Bands of a linear model go far beyond all possible values where there are few documents.
        bottom, top = ax.get_ylim()
        ax.set_ylim(max(bottom, -1.05 if self.difference else -0.1), min(top, 1.05))


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
    levels = covariate_of(by, columns[by]).levels
    if difference is not None:
        return list(difference)
    if levels is None:
        raise ValueError(f"by = {by!r} is a number: give a category, or difference= with two of its values.")
    return list(levels)


def _in_range(values, columns, name, given):
    """Which values of a curve lie between those of the documents that have the given levels."""
    if np.asarray(values).dtype.kind not in "iuf":
        return np.ones(len(values), bool)
    column = np.asarray(columns[name], dtype=np.float64)
    same = np.ones(len(column), bool)
    for key, value in given.items():
        if key != name and covariate_of(key, columns[key]).levels is not None:
            same &= np.array([each == value for each in columns[key]])
    own = column[same]
    return (values >= own.min(initial=np.inf)) & (values <= own.max(initial=-np.inf))


def _minus(difference):
    return f"{difference[0]} − {difference[1]}"


def _values(name, column, design, frame):
    """The values of a covariate at which a display shows proportions: levels, or a grid of numbers."""
    levels = covariate_of(name, column).levels
    if levels is not None:
        return list(levels)
    distinct = np.unique(np.asarray(column, dtype=np.float64))
    if len(distinct) <= 2:
        return distinct
    if design.has_steps(frame, name, distinct):
        # As objects, they are shown as levels.
        kept = np.unique(np.asarray(column))
        return kept.astype(object)
    return np.linspace(distinct[0], distinct[-1], _POINTS)
