"""Effects of covariates on topic proportions, by the method of composition: a table and a display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._design import covariate_of, read_columns, with_value
from sklda._inference.records import frame
from sklda._inference.types import Data, Model, Seed, Table, Values
from sklda.inspection._axes import Display, distinct_colours, legend_label, plain_text, style_shares
from sklda.inspection._effects import Effects
from sklda.inspection._parameters import described

# Points of a curve.
_POINTS = 41


@described
def topic_effects(
    X: Data,
    model: Model,
    covariates: Any,
    *,
    topics: Values | None = None,
    formula: str | None = None,
    transformer: Any = None,
    n_draws: int = 50,
    level: float = 0.95,
    n_words: int = 3,
    feature_names: ArrayLike | None = None,
    topic_names: Values | None = None,
    random_state: Seed = None,
) -> Table:
    """How the proportions of topics depend on covariates, with errors that contain the uncertainty of the proportions.

    For each draw of the topic proportions theta, a linear model of the proportion of each topic is fitted by least
    squares. The result is the mixture of the posteriors of its coefficients over the draws: the method of composition
    (Treier & Jackman 2008), as ``estimateEffect`` of the R package stm. The draws come from all chains, or from all
    fits of a `ConsensusTopics`.

    Parameters
    ----------
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents. If they are those of the fit, theta has its posterior draws. Otherwise theta is drawn given the
        topics and `doc_topic_prior_` of the model.
    model : estimator, pipeline, or pair (topic_word, doc_topic_prior)
        A fitted topic model with ``components_`` and ``doc_topic_prior_``, a pipeline or search that ends in one, or
        arrays.
    covariates : array-like, sparse matrix or data frame with n_documents rows
        Numbers, or texts and other labels for categories. A category has a column for each level but the first in
        order, its base. Columns of an array have the names x0, x1, ...
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all.
    formula : str, default=None
        The terms of the linear model, such as ``"bs(year, df=4) + source"``, for the package formulaic. `covariates` is
        then a data frame or a dict of columns that it takes.
    transformer : transformer of scikit-learn, default=None
        It makes the columns of the linear model from `covariates`, for example
        ``SplineTransformer(include_bias=False)``. A clone is fitted.
    n_draws : int, default=50
        Number of draws of theta.
    level : float, default=0.95
        Probability of the intervals.

    Returns
    -------
    pandas.DataFrame, or list of dict if pandas is not installed
        A row for every topic and term. Columns ``topic``, ``name`` (its number, with its name or its words) and
        ``term``. ``base`` is the level with which a category is compared, and ``estimate`` the change of the proportion
        if the term grows by one. ``low`` and ``high`` are the ends of its interval. The others are ``standard_error``
        and ``attenuation``.

    Raises
    ------
    ValueError
        If there are not more documents than terms, a term is a combination of others, a value is missing, or an
        argument is out of range.
    TypeError
        If the model is no topic model, or covariates are no array or data frame.
    ImportError
        If a formula is given without formulaic.

    See Also
    --------
    TopicEffectsDisplay : The same as a plot.
    sklda.CovariateLDA : A model with covariates in the prior of theta.

    Notes
    -----
    **Effects are shrunk, and the errors do not contain this.** The prior of LDA has no covariates, and pulls the
    proportions of all documents to one mean. If z were known, the proportion of a topic in a document of n tokens would
    be ``(n_k + alpha_k) / (n + alpha_0)``, where alpha_0 is the sum of alpha. So an effect is shrunk by about
    ``n / (n + alpha_0)``, and more if words do not tell topics apart. The column ``attenuation`` has the mean of this
    factor over the documents: estimates are too small by about this factor, or by a smaller one. It is 1 if the prior
    of theta has these covariates: for `CovariateLDA`, and for `CompoundLDA` with categories.

    Residuals are taken as equally spread, and topics as the same in all draws; those of several chains are matched.

    References
    ----------
    Treier & Jackman (2008). Democracy as a latent variable. American Journal of Political Science 52.

    Roberts, Stewart & Airoldi (2016). A model of text for experimentation in the social sciences. JASA 111.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import topic_effects
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = topic_effects(X, lda, np.arange(60), random_state=0)
    >>> [str(term) for term in table["term"]]
    ['intercept', 'x0', 'intercept', 'x0']
    """
    names = {"feature_names": feature_names, "topic_names": topic_names}
    effects = Effects.of(X, model, covariates, formula, transformer, n_draws, level, random_state, **names)
    shown = effects.view.chosen(topics)
    terms, bases = effects.design.terms, effects.design.bases
    found = [values[:, shown].T.ravel() for values in effects.models.summary(np.eye(len(terms)), effects.level)]
    return frame(
        {
            "topic": np.repeat(shown, len(terms)),
            "name": np.repeat(effects.view.labels(shown, n_words), len(terms)),
            "term": terms * len(shown),
            "base": bases * len(shown),
            **dict(zip(("estimate", "standard_error", "low", "high"), found, strict=True)),
            "attenuation": np.full(len(shown) * len(terms), effects.attenuation),
        }
    )


@dataclass(eq=False, repr=False, kw_only=True)
class TopicEffectsDisplay(Display):
    """Mean topic proportions as a function of one covariate, with intervals.

    A category is shown as points with intervals, a number as a curve with a band. All other covariates have the values
    of the documents: a proportion is the mean over all documents if they had this value of the covariate. Use
    `from_estimator` to make one.

    Parameters
    ----------
    name : str
        Name of the covariate.
    values : sequence of length n_values
        Values of the covariate: numbers of a curve, or levels. Numbers that are levels, as by ``C(name)`` in a formula,
        are an array of objects.
    estimate, low, high : ndarray of shape (n_values, n_topics)
        Mean proportions of the topics shown, and their intervals.
    topics : list of str
        Names of the topics shown.
    attenuation : float, default=1.0
        See `topic_effects`.

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
    attenuation: float = 1.0

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data,
        covariates: Any,
        *,
        covariate: str | None = None,
        topics: Values | None = None,
        formula: str | None = None,
        transformer: Any = None,
        n_draws: int = 50,
        level: float = 0.95,
        n_words: int = 3,
        feature_names: ArrayLike | None = None,
        topic_names: Values | None = None,
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
            Topics to show; None: the five largest.
        formula, transformer, n_draws, level
            See `topic_effects`.

        Raises
        ------
        ValueError, TypeError
            As `topic_effects`; also if there is no covariate of this name.
        """
        names = {"feature_names": feature_names, "topic_names": topic_names}
        effects = Effects.of(X, estimator, covariates, formula, transformer, n_draws, level, random_state, **names)
        found, n_documents = effects.view, effects.view.n_documents
        columns = dict(read_columns(covariates, n_documents))
        name = next(iter(columns)) if covariate is None else covariate
        if name not in columns:
            raise ValueError(f"covariate must be one of {', '.join(map(repr, columns))}, got {covariate!r}.")
        values = _values(name, columns[name], effects.design, covariates)
        at = (effects.design.matrix(with_value(covariates, name, value), n_documents) for value in values)
        estimate, _, low, high = effects.models.summary(np.array([each.mean(axis=0) for each in at]), effects.level)
        share = np.nanmean(estimate, axis=0)
        shown = found.chosen(topics, 5, share)
        return cls(
            name=name,
            values=values,
            estimate=estimate[:, shown],
            low=low[:, shown],
            high=high[:, shown],
            topics=found.labels(shown, n_words),
            attenuation=effects.attenuation,
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
        shrunk = f",\neffects shrunk to about {self.attenuation:.0%}" if self.attenuation < 0.995 else ""
        ax.set_ylabel(f"mean topic proportion{shrunk}")
        style_shares(ax)


def _values(name, column, design, covariates):
    """The values of a covariate at which a display shows proportions: levels, or a grid of numbers."""
    levels = covariate_of(name, column).levels
    if levels is not None:
        return list(levels)
    distinct = np.unique(np.asarray(column, dtype=np.float64))
    if len(distinct) <= 2:
        return distinct
    if design.has_steps(covariates, name, distinct):
        # As objects, they are shown as levels.
        kept = np.unique(np.asarray(column))
        return kept.astype(object)
    return np.linspace(distinct[0], distinct[-1], _POINTS)
