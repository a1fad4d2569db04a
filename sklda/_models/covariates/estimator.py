"""CovariateLDA: the prior of the topic proportions depends on covariates of the documents."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._input.design import VaryingDesign, design_of, needed_covariates
from sklda._input.document_values import DocumentValues, check_documents
from sklda._input.types import Counts, Model, Seed, TopicPrior, TopicWords
from sklda._models.chain_lda import LocalChainLDA
from sklda._models.covariates.prior import MOST_TERMS, CovariateRegression, prior_of
from sklda._models.fit_run import all_or_nothing
from sklda._models.parameters import HasMethods, Interval
from sklda._models.prior_by_document import PriorByDocument
from sklda._models.progress import with_callbacks
from sklda._sampling.prior_learning import DefaultPrior


class CovariateLDA(PriorByDocument, LocalChainLDA):
    """Latent Dirichlet allocation in which topic proportions depend on covariates of the documents.

    The Dirichlet parameter of topic k in document d is exp(x_d . lambda_k), where x_d has a one and the covariates of
    the document: Dirichlet-multinomial regression (Mimno & McCallum 2008). Covariates are numbers such as a year, and
    categories such as a source. The effects of the levels of a category vary around the intercept, with a spread that
    is learnt: those of rare levels are pulled towards it, and a level that no document of the fit had has this spread.
    The coefficients lambda are drawn together with the topics of the tokens, so they have posterior means and standard
    deviations. Without covariates this is LDA with an alpha for each topic.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    formula : str, default=None
        The terms, such as ``"source * bs(year, df=4)"``, for the package formulaic. `covariates` is then a data frame
        or a dict of columns that it takes. Splines have the basis of the fit in new documents. An intercept is left
        out, because the model has one.
    transformer : transformer of scikit-learn, default=None
        It makes the columns from `covariates`, for example ``SplineTransformer(include_bias=False)``. A clone is
        fitted.
    coef_scale : float, default=None
        sigma, the prior standard deviation of all coefficients but the intercepts; between 1e-6 and 1e3. It is that of
        a number divided by its standard deviation, of half of the difference between the values of a number that has
        two, and of the effects of the levels of a category. A smaller value shrinks effects more. None: it is drawn in
        every step, one for all numbers and one for each category, with half-Cauchy priors of scale 1.
    doc_topic_prior : float, array-like of shape (n_components,), str or callable, default=None
        The prior median of alpha at the mean covariates. The logarithm of this alpha has the prior standard deviation
        2. None: ``1 / n_components``. A text such as ``"50/K"`` and a function of the number of topics follow it.
    topic_word_prior : float or array-like of shape (n_features,) or (n_components, n_features), default=None
        eta, the Dirichlet parameter per word of a topic. None: ``1 / n_components``, the first value if it is learnt.
    seed_words, known_topics, known_weight, vocabulary
        Seed words and known topics, as in `GibbsLDA`.
    learn_priors : bool, default=True
        Whether `topic_word_prior` is learnt if it is None, by Gibbs-EM in the burn-in. If X has fewer than 1,000
        tokens, it is not learnt: eta and the median of alpha are 0.1 if they are None. The coefficients are always
        drawn.
    sampler, init
        As in `GibbsLDA`. With every sampler except ``"collapsed"``, a single chain can use `n_jobs` cores.
    max_iter : int, default=500
        Sweeps over the corpus of each chain. With `warm_start`, the number of further ones.
    burn_in : int, default=None
        Number of sweeps before the draws. None: the annealed sweeps at the start, as in `GibbsLDA`, and half of the
        others.
    tol : float, default=None
        In nats per token: a chain that has converged ends before `max_iter`, as in `GibbsLDA`.
    n_draws : int, default=15
        Topics and topic proportions are means over this number of draws, the last ones of the chain. A chain takes one
        byte for each token and draw, two bytes with more than 256 topics.
        With ``"cgs_p"``, at most one draw is averaged for every ``n_components / 12`` sweeps: with many topics, the
        averages of a short fit would take longer than a tenth of it.
    draw_every : int, default=10
        Number of sweeps between two draws.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        Estimate of topics and topic proportions from each draw, see `GibbsLDA`.
    n_chains : int, default=1
        Number of independent chains. The topics are those of the chain with the highest mean log joint over the last
        half of its sweeps. `chains_` has the results of all chains.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    warm_start : bool, default=False
        Whether `fit` continues from the last state of the previous fit, on the same X and covariates. The results are
        then those of one longer fit with the burn-in of the first. Parameters that the chains depend on must not
        change; `draw_every` may change.
    n_jobs : int, default=None
        Chains, or blocks of 64 documents in `transform`, that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 shows one line that is updated in a terminal or a notebook, and otherwise prints ten lines; 2 prints a line
        for every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components, n_terms)
        Posterior means of the coefficients: the change of log alpha_k if the covariate grows by one of its units, or
        for a level of a category the difference from the mean of all its levels. Those of a category sum to zero.
    coef_std_ : ndarray of shape (n_components, n_terms)
        Posterior standard deviations. With several chains they contain the differences between those that have the
        topic, see `coef_draws_`. That of one chain is within its mode. Successive draws are correlated, so for many
        levels of a category a fit of 500 sweeps is short: with fifty levels, 95 % intervals covered 0.917 of the
        coefficients, and 0.954 after 1,500 sweeps. Where most effects of a category are zero, they covered 0.88 of
        them, and those of `sklda.inspection.topic_effects` 0.97: report these.
    coef_draws_ : ndarray of shape (n_coef_draws, n_components, n_terms)
        Draws of the coefficients after the burn-in, chain by chain: up to 256 of each chain, one sweep apart or two,
        four, .... If alpha has more than 50,000 values that differ, coefficients change in every second to seventh
        sweep. The topics of all chains have the order of `coef_`. NaN where a chain does not have a topic: the matched
        one is at a Jensen-Shannon distance above 0.5.
    intercept_ : ndarray of shape (n_components,)
        Posterior means of log alpha if all numbers are zero, averaged over the levels of categories.
    intercept_std_ : ndarray of shape (n_components,)
        Posterior standard deviations.
    intercept_draws_ : ndarray of shape (n_coef_draws, n_components)
        Draws of the intercepts, NaN as in `coef_draws_`.
    coef_scale_ : ndarray of shape (n_terms,)
        sigma of each coefficient, as given or its posterior mean. It is the same for all numbers, and for all levels of
        a category.
    covariate_names_ : ndarray of shape (n_terms,)
        Names of the terms. Those of categories are ``name[level]``. Terms that are the same in all documents are left
        out.
    covariate_mean_, covariate_std_ : ndarray of shape (n_terms,)
        Means and standard deviations of the terms over the documents.
    doc_topic_prior_ : ndarray of shape (n_components,)
        alpha at the mean covariates: the prior of a document without covariates.
    topic_word_prior_ : float or ndarray
        eta, as given or learnt.
    components_ : ndarray of shape (n_components, n_features), float32
        Topic-word counts plus prior, means over draws.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words: `components_` with rows that sum to one.
    doc_topic_ : ndarray of shape (n_documents, n_components), float32
        Topic proportions of the training documents, means over draws.
    doc_topic_std_ : ndarray of shape (n_documents, n_components), float32
        Posterior standard deviations of the proportions, within the chain.
    topic_share_, topic_share_std_ : ndarray of shape (n_components,)
        Share of the tokens in each topic, and its posterior standard deviation.
    n_draws_ : int
        Number of draws that were averaged.
    chains_ : list of sklearn.utils.Bunch
        Results of every chain, see `GibbsLDA`; also ``coef``, ``intercept``, their draws, and ``coef_scale``.
    topic_stability_ : ndarray of shape (n_components,)
        How close each topic is to the nearest topics of the other chains, from 0 to 1. NaN for a topic without
        words of its own, see `GibbsLDA`. Only with several chains.
    topic_prevalence_ : ndarray of shape (n_components,)
        Part of the chains that have the topic, see `GibbsLDA`. Only with several chains.
    traces_, diagnostics_ : dict
        Quantities after every sweep, and their R-hat and effective draws.
    sampler_ : str
        The sampler that was used, see `GibbsLDA`. For ``sampler="collapsed"`` it is ``"dense"``.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        Topic of every token in the last draw.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | lambda, eta) after every sweep, in nats. NaN after the last sweep of a chain that ended early.
    n_iter_ : int
        Sweeps of the longest chain, those of earlier fits with `warm_start` included.
    n_burn_in_ : int
        Number of sweeps of the burn-in.
    best_chain_ : int
        Index of the chain from which the topics come, a row of `log_joint_trace_`.
    topic_names_ : ndarray of shape (n_components,)
        Names of the topics. Only after `set_topic_names`.
    n_features_in_ : int
        Size of the vocabulary.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words, if X had them as column names.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If chains clearly disagree: R-hat of a quantity in `diagnostics_` is above 2 over at least 50 sweeps. If there
        were too few sweeps: the log joint still rises, or the last round of merges and splits in the burn-in still
        found better topics.
    UserWarning
        If a category has more than 10 levels, most of which one document has, if a number is a combination of others,
        if a term is the same in all documents, or if there are no covariates.

    See Also
    --------
    sklda.inspection.topic_effects : Effects on the proportions themselves, as a table.
    CompoundLDA : A mixture of topics for each group of documents.

    Notes
    -----
    Given z, lambda is drawn with auxiliary counts, given which each topic is a Poisson regression. A step of elliptical
    slice sampling around the mode keeps its posterior (Nishihara, Murray & Adams 2014). :ref:`covariate_lda` has
    measurements.

    References
    ----------
    Mimno & McCallum (2008). Topic models conditioned on arbitrary features with Dirichlet-multinomial regression. UAI.

    Nishihara, Murray & Adams (2014). Parallel MCMC with generalized elliptical slice sampling. JMLR 15.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import CovariateLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> X, year = make_lda_corpus(60, 40, 3, random_state=0).data, np.arange(60)
    >>> lda = CovariateLDA(3, max_iter=100, random_state=0).fit(X, covariates=year)
    >>> lda.coef_.shape, lda.coef_std_.shape, lda.transform(X, covariates=year).shape
    ((3, 1), (3, 1), (60, 3))
    """

    _continued = (
        *("n_components", "coef_scale", "doc_topic_prior", "topic_word_prior", "known_weight"),
        *("learn_priors", "burn_in", "n_chains"),
    )
    _takes = ("covariates",)
    coef_: np.ndarray
    coef_std_: np.ndarray
    coef_draws_: np.ndarray
    intercept_: np.ndarray
    intercept_std_: np.ndarray
    intercept_draws_: np.ndarray

    _parameter_constraints = {
        "formula": [None, str],
        "transformer": [None, HasMethods(["fit", "transform"])],
        "coef_scale": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        formula: str | None = None,
        transformer: Any = None,
        coef_scale: float | None = None,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike | None = None,
        seed_words: TopicWords | None = None,
        known_topics: ArrayLike | Model | None = None,
        known_weight: Any = "learn",
        vocabulary: ArrayLike | dict[str, int] | None = None,
        learn_priors: bool = True,
        sampler: Literal["collapsed", "partitioned", "grouped", "partially_collapsed"] = "collapsed",
        init: Literal["anneal", "random", "sequential", "prune", "search"] | ArrayLike | Model = "anneal",
        max_iter: int = 500,
        burn_in: int | None = None,
        tol: float | None = None,
        n_draws: int = 15,
        draw_every: int = 10,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        n_chains: int = 1,
        fold_in_iter: int = 6,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.formula = formula
        self.transformer = transformer
        self.coef_scale = coef_scale
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seed_words = seed_words
        self.known_topics = known_topics
        self.known_weight = known_weight
        self.vocabulary = vocabulary
        self.learn_priors = learn_priors
        self.sampler = sampler
        self.init = init
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.tol = tol
        self.n_draws = n_draws
        self.draw_every = draw_every
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.fold_in_iter = fold_in_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None, *, covariates: Any = None) -> Self:
        """Find topics in a corpus, and how their proportions depend on the covariates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used. There is a UserWarning if y is given without `covariates`.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            Numbers, or texts and other labels for categories. A category has a column for each level. None: the prior
            of theta has an alpha for each topic, with a UserWarning.

        Returns
        -------
        self : CovariateLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If X is not a matrix of counts or has no token. If covariates have more than 1000 terms, no row for each
            document, or a missing or masked value. If a parameter is out of range. With `warm_start`, if X, the
            covariates or a parameter are not those of the previous fit.
        TypeError
            If covariates are neither an array nor a data frame, or a parameter is of the wrong type.

        Examples
        --------
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, years = make_lda_corpus(60, 30, 2, random_state=0).data, [[2000 + d % 20] for d in range(60)]
        >>> lda = CovariateLDA(2, max_iter=50, random_state=0).fit(X, covariates=years)
        >>> lda.coef_.shape
        (2, 1)
        """
        if covariates is None:
            if self.formula is not None or self.transformer is not None:
                kind = "transformer" if self.formula is None else "formula"
                raise ValueError(f"the {kind} needs covariates: give them with fit(X, covariates=...).")
            self._warn_of_none("covariates", y)
        return self._fit(X, y, needed=needed_covariates(self.formula, self.transformer), covariates=covariates)

    def _priors(self, corpus, values, columns):
        default = DefaultPrior.of(self.learn_priors, corpus.n_tokens, self.n_components)
        return self._regression(corpus, values, default), self._read_topic_prior(corpus, default, columns)

    def _regression(self, corpus, values, default):
        given, design, columns = values["covariates"], None, np.zeros((corpus.n_documents, 0))
        if given is not None:
            options = {"intercept": False, "most_terms": MOST_TERMS}
            design = design_of(given, self.formula, self.transformer, **options)
            columns = design.matrix(given)
            design = VaryingDesign(design, columns)
            columns = np.ascontiguousarray(columns[:, design.kept])
        return CovariateRegression(design, columns, default.or_given(self._alpha), self.n_components, self.coef_scale)

    def _prior_given(self, values):
        return self._doc_prior() if values["covariates"] is None else self.document_prior(values)

    def document_prior(self, covariates: Any) -> np.ndarray:
        """The Dirichlet parameter of theta of documents, ``exp(intercept_ + x @ coef_.T)``.

        Parameters
        ----------
        covariates : array-like, sparse matrix or data frame with n_documents rows
            Those of the fit; x has their columns `covariate_names_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            A prior for the functions of `sklda.metrics`, together with `topic_word_`. Its values are cut off at 1e-12
            and 1e12. If no document of the fit had a level or a combination of levels, its effect is zero on average
            and varies as those of the others: the prior has the means and the total variance of theta under this.

        Raises
        ------
        ValueError
            If covariates are not of the kind of the fit. If a category has a new level, and the formula has its product
            with a number without the number itself, or contrasts of your own.

        Warns
        -----
        UserWarning
            If a category has a new level, or a combination of levels is new.

        Examples
        --------
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, years = make_lda_corpus(60, 30, 2, random_state=0).data, [[2000 + d % 20] for d in range(60)]
        >>> lda = CovariateLDA(2, max_iter=50, random_state=0).fit(X, covariates=years)
        >>> lda.document_prior([[2005], [2015]]).shape
        (2, 2)
        """
        values = self._read_covariates(covariates)
        values.check_complete()
        return self._prior_of_documents_.of(values["covariates"], self.intercept_, self.coef_, self.coef_scale_)

    def _prior_where_known(self, covariates, n_documents):
        """As `document_prior`; documents that lack a covariate have the prior of one of which nothing is known."""
        values = self._read_covariates(covariates)
        check_documents(n_documents=n_documents, **values.given)
        found, known = np.repeat(self._doc_prior(), n_documents, axis=0), values.complete(n_documents)
        if known.any():
            found[known] = self.document_prior(values.covariates_of(np.flatnonzero(known)))
        return found

    def _read_covariates(self, covariates):
        """Covariates of new documents, of which those that the model has must not be missing."""
        check_is_fitted(self)
        design = self._prior_of_documents_.design
        if design is None:
            raise ValueError("the fit had no covariates: do not give any, or fit with covariates.")
        needed = design.variables if self.transformer is None else ()
        return DocumentValues.read(covariates=covariates, needed=needed)

    def _prior_of_training(self):
        return prior_of(self._prior_of_documents_.columns, self.intercept_, self.coef_)

    def _known_groups(self):
        return self._prior_of_documents_.columns
