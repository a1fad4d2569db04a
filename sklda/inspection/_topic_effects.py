"""Effects of covariates on topic proportions, by the method of composition: a table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._input.types import Data, Model, Seed, Values
from sklda.inspection._effects import Effects


def topic_effects(
    estimator: Model,
    X: Data | None = None,
    covariates: Any = None,
    *,
    topics: Values | None = None,
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
        A fitted topic model with ``components_`` and ``transform``, a pipeline or search that has one, or arrays.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents. If they are those of the fit, theta has its posterior draws. Otherwise theta is drawn given the
        topics and `doc_topic_prior_` of the model. The proportions of a model without a prior count as known.
    covariates : array-like, sparse matrix or data frame with n_documents rows
        Numbers, or texts and other labels for categories. A category has a column for each level but the first in
        order, its base. Columns of an array have the names x0, x1, ...
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all. For the sum of several topics, give a model in which they are
        merged (`sklda.merge_topics`).
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
        A row for every topic and term, with the columns

        - ``topic``, ``name`` (its number, with its name or its words) and ``term``;
        - ``base``: the level with which a category is compared;
        - ``estimate``: the change of the proportion if the term grows by one. The intercept is the proportion where all
          terms are 0; that of the year 0 says nothing;
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
    permutation_test : p-values by exchanges of covariates.
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
    shown = effects.view.chosen(topics)
    terms, bases = effects.design.terms, effects.design.bases
    columns = effects.columns(shown)
    shrunk = columns.pop("attenuation")
    return DataFrame(
        {
            "topic": [number for number in shown.tolist() for _ in terms],
            "name": np.repeat(effects.view.labels(shown, n_words), len(terms)),
            "term": terms * len(shown),
            "base": bases * len(shown),
            **columns,
            "found_in": np.repeat(effects.draws.has_topics[:, shown].sum(axis=0), len(terms)),
            "attenuation": shrunk,
        }
    )
