"""CovariateLDA: the prior of the topic proportions depends on covariates of the documents."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklda._core import random
from sklda._core.design import VaryingDesign, design_of, needed_covariates
from sklda._core.document_values import DocumentValues
from sklda._core.priors import Priors, check_prior
from sklda._core.types import Counts, Seed, TopicPrior
from sklda._core.warn import warn
from sklda._models.base import BaseLDA
from sklda._models.covariates.coefficients import (
    MOST_TERMS,
    Coefficients,
    Columns,
    CovariateModel,
    alpha_at,
    check_memory_of_regressions,
    continued,
    first_chains,
    prior_of,
    summed_to_zero,
    variance_at_new_levels,
    widened,
)
from sklda._models.doc_topic_posterior import DocTopicPosterior
from sklda._models.fit_run import FitRun, all_or_nothing, settings_of
from sklda._models.parameters import HasMethods, Interval, shared
from sklda._models.progress import with_callbacks
from sklda._models.results import ChainAttributes, ChainResults, eta_attribute, normalised, total_variance
from sklda._sampling.annealed_start import Annealing
from sklda._sampling.draws import variance_of_draws
from sklda._sampling.point_estimates import check_memory_of_results
from sklda._sampling.prior_learning import LEAST_TOKENS, SMALL_CORPUS_PRIOR, refuse_symmetric
from sklda._sampling.run_chains import Schedule, burn_in_of, check_burn_in

# Bounds of sigma, in units of log alpha. The smaller one has no effect of a covariate, and the larger one no shrinkage.
_SIGMA = (1e-6, 1e3)


class CovariateLDA(ChainAttributes, BaseLDA):
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
    learn_priors : {"asymmetric"} or False, default="asymmetric"
        Whether `topic_word_prior` is learnt if it is None, by Gibbs-EM in the burn-in. If X has fewer than 1,000
        tokens, it is not learnt: eta and the median of alpha are 0.1 if they are None. The coefficients are always
        drawn.
    max_iter : int, default=500
        Sweeps over the corpus of each chain. With `warm_start`, the number of further ones.
    burn_in : int, default=None
        Number of sweeps before the draws. None: the annealed sweeps at the start, as in `GibbsLDA`, and half of the
        others.
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
        topic, see `coef_draws_`. That of one chain is within its mode.
    coef_draws_ : ndarray of shape (n_coef_draws, n_components, n_terms)
        Draws of the coefficients after the burn-in, chain by chain. They are one sweep apart; up to seven if alpha has
        more than 50,000 values that differ. The topics of all chains have the order of `coef_`. NaN where a chain does
        not have a topic: the matched one is at a Jensen-Shannon distance above 0.5.
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
        ``"dense"``: tokens are drawn document by document.
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
        If chains clearly disagree: R-hat of a quantity in `diagnostics_` is above 2 over at least 50 sweeps.
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
        *("n_components", "coef_scale", "doc_topic_prior", "topic_word_prior", "learn_priors"),
        *("burn_in", "n_chains"),
    )
    coef_: np.ndarray
    coef_std_: np.ndarray
    coef_draws_: np.ndarray
    intercept_: np.ndarray
    intercept_std_: np.ndarray
    intercept_draws_: np.ndarray

    _parameter_constraints = {
        **shared(
            "n_components",
            "doc_topic_prior",
            "topic_word_prior",
            "learn_priors",
            "max_iter",
            "burn_in",
            "n_draws",
            "draw_every",
            "point_estimate",
            "n_chains",
            "fold_in_iter",
            "warm_start",
            "n_jobs",
            "verbose",
            "random_state",
        ),
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
        learn_priors: Literal["asymmetric", False] = "asymmetric",
        max_iter: int = 500,
        burn_in: int | None = None,
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
        self.learn_priors = learn_priors
        self.max_iter = max_iter
        self.burn_in = burn_in
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
        needed = needed_covariates(self.formula, self.transformer)
        corpus, values = self._training_documents(X, needed, covariates=covariates)
        given = values["covariates"]
        with FitRun(self, corpus, X, y, covariates=given) as run:
            design, columns = None, np.zeros((corpus.n_documents, 0))
            terms, groups, around = [], np.zeros(0, int), np.zeros(0, int)
            if given is not None:
                options = {"intercept": False, "most_terms": MOST_TERMS}
                design = design_of(given, corpus.n_documents, self.formula, self.transformer, **options)
                columns = design.matrix(given, corpus.n_documents)
                design = VaryingDesign(design, columns)
                columns = np.ascontiguousarray(columns[:, design.kept])
                terms, groups, around = design.terms, design.groups, design.around
            elif self.formula is not None or self.transformer is not None:
                kind = "transformer" if self.formula is None else "formula"
                raise ValueError(f"the {kind} needs covariates: give them with fit(X, covariates=...).")
            standardised = Columns.of(columns, terms, groups)
            if run.former is not None:
                self._check_same_covariates(terms, columns)
            model, priors = self._model_and_eta(corpus, standardised.distinct, groups, run.former)
            check_memory_of_regressions(model)
            # alpha has a row for each distinct row of the covariates; twice while it changes.
            n_rows = (self.n_chains + 1) * len(model.rows)
            check_memory_of_results(corpus, self.n_components, self.n_chains, self.n_draws, n_rows)
            if design is None:
                give = "Give them with fit(X, covariates=...)."
                if y is not None:
                    give = "It does not use y: call fit(X, covariates=y)."
                warn(f"CovariateLDA has no covariates, so alpha differs between topics only, as in GibbsLDA. {give}")

            run.begin(n_chains=self.n_chains, n_sweeps=self.max_iter, n_annealed=model.annealing.n_sweeps)
            self._settings_ = settings_of(self)
            self._fold_in_seed_ = run.fold_in_seed
            self._model_ = model
            self._design_ = design
            self._columns_ = columns
            self._groups_, self._around_ = groups, around
            self._centre_, self._scale_ = standardised.centre, standardised.scale
            self.covariate_names_: np.ndarray = np.array(terms, dtype=object)
            self.covariate_mean_: np.ndarray = standardised.mean
            self.covariate_std_: np.ndarray = standardised.std
            if run.former is not None:
                chains = continued(corpus, priors, model, run.former.states)
            else:
                seeds = [random.child(run.seed, 0, c) for c in range(self.n_chains)]
                chains = first_chains(corpus, priors, seeds, model)
            schedule = Schedule(self.n_draws, self.draw_every, annealing=model.annealing, burn_in=model.burn_in)
            chains = run.sweep(chains, self.max_iter, schedule=schedule, n_jobs=self.n_jobs)
            run.progress.end(chains)

            self._set_results(chains)
            self._results_.warn_of_modes()
            self._results_.warn_of_disagreement()
            return run.finish()

    def _model_and_eta(self, corpus, distinct, groups, former):
        """The model of the coefficients, and `Priors` with eta."""
        K, sigma = self.n_components, self.coef_scale
        refuse_symmetric(self.learn_priors, "alpha differs between topics and documents")
        learns = bool(self.learn_priors)
        if sigma is not None and not _SIGMA[0] <= sigma <= _SIGMA[1]:
            raise ValueError(f"coef_scale = {sigma:g}: it must lie between {_SIGMA[0]:g} and {_SIGMA[1]:g}.")
        first = 1.0 / K
        if learns and corpus.n_tokens < LEAST_TOKENS:
            first, learns = SMALL_CORPUS_PRIOR, False
        eta = first if self.topic_word_prior is None else self.topic_word_prior
        # The step of the coefficients sets alpha.
        priors = Priors.make(1.0, eta, K, corpus.n_features)
        alpha = self._alpha
        alpha = first if alpha is None else alpha
        centre = np.log(check_prior(alpha, "doc_topic_prior", {"one per topic": (K,)}) * np.ones(K))
        learns = learns and self.topic_word_prior is None
        if former is not None:
            annealing, burn_in = self._model_.annealing, self._model_.burn_in
            check_burn_in(burn_in, self.max_iter + min(state.n_sweeps for state in former.states))
        else:
            annealing = Annealing.within(self.max_iter, self.burn_in)
            burn_in = burn_in_of(self.burn_in, self.max_iter, annealing.n_sweeps)
        model = CovariateModel(*distinct, centre, sigma, groups, learns, burn_in, annealing)
        return model, priors

    def _check_same_covariates(self, terms, columns):
        """Refuse to continue if the covariates are not those of the previous fit."""
        if terms != self.covariate_names_.tolist() or not np.array_equal(columns, self._columns_):
            raise ValueError(
                "warm_start=True continues the previous fit, but these covariates are different from those of that "
                "fit. Fit with warm_start=False to begin again."
            )

    def _set_results(self, chains):
        results = ChainResults(chains)
        for chain, priors, record in zip(chains, results.priors, results.records, strict=True):
            step = chain.step(Coefficients)
            path = step.draws()
            # The intercept at the mean covariates, and in the units of the covariates.
            middle = path[:, :, 0] + path[:, :, 1:] @ ((self.covariate_mean_ - self._centre_) / self._scale_)
            path[:, :, 1:] /= self._scale_
            path[:, :, 0] -= path[:, :, 1:] @ self._centre_
            path = summed_to_zero(path, self._groups_, self._around_)
            coef, intercept = path[:, :, 1:], path[:, :, 0]
            record["doc_topic_prior_"] = alpha_at(middle.mean(axis=0))
            record["topic_word_prior_"] = eta_attribute(self.topic_word_prior, priors)
            record["coef_"] = coef.mean(axis=0)
            record["intercept_"] = intercept.mean(axis=0)
            record["coef_draws_"] = coef
            record["intercept_draws_"] = intercept
            record["coef_scale_"] = step.sigma_means()
        chains.clear()  # They have arrays for sweeps.
        results.estimate(self.point_estimate, self.n_jobs)
        self._set_chain_results(results)
        has_topics = results.has_topics(normalised(self.components_))
        self.coef_, self.coef_std_, self.coef_draws_ = _over_chains(results, "coef_draws_", has_topics)
        self.intercept_, self.intercept_std_, self.intercept_draws_ = _over_chains(
            results, "intercept_draws_", has_topics
        )

    def fit_transform(self, X: Counts, y: Any = None, *, normalize: bool = True, covariates: Any = None) -> np.ndarray:
        """Find topics, and return the topic proportions: ``fit(X, covariates=z).transform(X, covariates=z)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        normalize : bool, default=True
            Whether rows sum to one.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            See `fit`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, year = make_lda_corpus(60, 40, 3, random_state=0).data, np.arange(60)
        >>> CovariateLDA(3, max_iter=50, random_state=0).fit_transform(X, covariates=year).shape
        (60, 3)
        """
        return self._fit_transform(X, y, normalize, covariates=covariates)

    def transform(self, X: Counts, *, normalize: bool = True, covariates: Any = None) -> np.ndarray:
        """Topic proportions of documents, given the topics and coefficients found.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        normalize : bool, default=True
            Whether rows sum to one; otherwise they are expected topic counts plus prior.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            Those of the fit. None: all documents have the mean covariates, and the prior is `doc_topic_prior_`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            By CVB0 and Gibbs sampling with the topics fixed; each token's full conditional is averaged over the last
            two thirds of `fold_in_iter` sweeps, and CVB0 counts for 30 sweeps. A row depends neither on the other rows
            nor on `n_jobs`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X is not a matrix of counts with the features of the fit, or covariates are not of the kind of the fit.

        Warns
        -----
        UserWarning
            If a category has a new level, see `document_prior`.

        Examples
        --------
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, years = make_lda_corpus(60, 30, 2, random_state=0).data, [[2000 + d % 20] for d in range(60)]
        >>> lda = CovariateLDA(2, max_iter=50, random_state=0).fit(X, covariates=years)
        >>> lda.transform(X[:3], covariates=years[:3]).shape
        (3, 2)
        """
        return self._transform(X, normalize, covariates=covariates)

    def doc_topic_posterior(
        self, X: Counts, *, n_samples: int = 100, topic_uncertainty: bool = False, covariates: Any = None
    ) -> DocTopicPosterior:
        """Posterior of the topic proportions of documents: means, standard deviations and draws.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        n_samples : int, default=100
            Number of draws. Intervals of 95 % need 39 or more.
        topic_uncertainty : bool, default=False
            Whether the topics have a new draw from their posterior every ten draws. The coefficients are those
            fitted in both cases.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            As in `transform`.

        Returns
        -------
        DocTopicPosterior
            See `GibbsLDA.doc_topic_posterior`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, year = make_lda_corpus(60, 40, 3, random_state=0).data, np.arange(60)
        >>> lda = CovariateLDA(3, max_iter=50, random_state=0).fit(X, covariates=year)
        >>> posterior = lda.doc_topic_posterior(X[:5], covariates=year[:5])
        >>> low, high = posterior.interval(0.95)
        >>> posterior.mean.shape, bool((low < high).all())
        ((5, 3), True)
        """
        return self._doc_topic_posterior(X, n_samples, topic_uncertainty, covariates=covariates)

    def score_samples(self, X: Counts, *, covariates: Any = None) -> np.ndarray:
        """Held-out log-likelihood of documents, log p(w_d | phi, alpha_d), by guided annealed importance sampling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            As in `transform`.

        Returns
        -------
        ndarray of shape (n_documents,)
            Nats, without the multinomial coefficient; 0 for a document without words.

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, year = make_lda_corpus(60, 40, 3, random_state=0).data, np.arange(60)
        >>> lda = CovariateLDA(3, max_iter=50, random_state=0).fit(X, covariates=year)
        >>> lda.score_samples(X[:5], covariates=year[:5]).shape
        (5,)
        """
        return self._score_samples(X, covariates=covariates)

    def score(
        self, X: Counts, y: Any = None, sample_weight: ArrayLike | None = None, *, covariates: Any = None
    ) -> float:
        """Mean held-out log-likelihood per token, in nats; greater is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            As in `transform`.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, year = make_lda_corpus(60, 40, 3, random_state=0).data, np.arange(60)
        >>> lda = CovariateLDA(3, max_iter=50, random_state=0).fit(X, covariates=year)
        >>> bool(lda.score(X, covariates=year) < 0)
        True
        """
        return self._score(X, sample_weight, covariates=covariates)

    def perplexity(self, X: Counts, *, covariates: Any = None) -> float:
        """Held-out perplexity, ``exp(-score(X))``: smaller is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        covariates : array-like, sparse matrix or data frame with n_documents rows, default=None
            As in `transform`.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import CovariateLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X, year = make_lda_corpus(60, 40, 3, random_state=0).data, np.arange(60)
        >>> lda = CovariateLDA(3, max_iter=50, random_state=0).fit(X, covariates=year)
        >>> bool(1 < lda.perplexity(X, covariates=year) < 40)  # a guess among all 40 words has 40
        True
        """
        return self._perplexity(X, covariates=covariates)

    def _prior_given(self, values):
        covariates = values["covariates"]
        return self._doc_prior() if covariates is None else self.document_prior(covariates)

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
        check_is_fitted(self)
        if self._design_ is None:
            raise ValueError("the fit had no covariates: do not give any, or fit with covariates.")
        covariates = DocumentValues.read(covariates=covariates)["covariates"]
        columns = self._design_.matrix(covariates)
        prior = prior_of(columns, self.intercept_, self.coef_)
        variance = variance_at_new_levels(columns, self._groups_, self._around_, self.coef_scale_ / self._scale_)
        new = np.flatnonzero(variance)
        if len(new):
            prior[new] = widened(prior[new], variance[new])
            warn(
                f"{len(new)} of {len(prior)} documents, of which document {new[0]} is the first, have a level of a "
                "category, or a combination of levels, that no document of the fit had. Their prior is that of the "
                "mean level, as wide as levels differ."
            )
        return prior

    def _prior_of_training(self):
        return prior_of(self._columns_, self.intercept_, self.coef_)

    def _known_groups(self):
        return self._columns_


def _over_chains(results, name, has_topics):
    """The mean of the kept chain, standard deviations and draws of all chains, of an entry of their records."""
    draws = results.in_order(name, (slice(None),))
    # A chain that lacks a topic says nothing about it.
    for own, has in zip(draws, has_topics, strict=True):
        own[:, ~has] = np.nan
    means, variances = [each.mean(axis=0) for each in draws], [variance_of_draws(each) for each in draws]
    return means[results.best], np.sqrt(total_variance(means, variances)), np.concatenate(draws)
