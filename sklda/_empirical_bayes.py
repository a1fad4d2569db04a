"""EmpiricalBayesLDA: priors by maximum marginal likelihood, with their errors."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklda._callbacks import Progress
from sklda._gibbs import GibbsLDA
from sklda._inference import random
from sklda._inference.hyperparameters.empirical_bayes import estimate
from sklda._inference.hyperparameters.gibbs_em import expectation_maximisation
from sklda._inference.hyperparameters.marginal_likelihood import global_band
from sklda._inference.hyperparameters.maximum import NAMES, Ellipse
from sklda._inference.hyperparameters.mode_search import WIDEST
from sklda._inference.hyperparameters.serial_tempering import TemperedChain
from sklda._inference.hyperparameters.settings import EM_METHODS, METHODS, Options, Plan, most_sweeps
from sklda._inference.priors import LARGEST, SMALLEST, Priors
from sklda._inference.sampling.point_estimates import reserve

KINDS = ("monte_carlo", "statistical")

# Default sweeps of a chain, at least and at most, and token draws that they make in between: to tune, and to estimate.
_TUNING, _TUNING_TOKENS = (50, 300), 1.5e8
_SWEEPS, _TOKENS = (150, 5000), 1e9


class EmpiricalBayesLDA(GibbsLDA):
    """Latent Dirichlet allocation whose priors maximise the marginal likelihood of the corpus, with error bars.

    Both priors are symmetric, and h = (eta, alpha) = (topic_word_prior, doc_topic_prior) throughout. m(h), the
    probability of the corpus given h, is estimated as a function of h from chains that move in h as well as in the
    topics; after its maximum is found, the chains go on there and give topics as `GibbsLDA` does.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    method : {"auto", "serial_tempering", "full_bayes", "gibbs_em", "variational_em"}, default="auto"
        ``"serial_tempering"`` visits all points of a grid of h alike (George & Doss 2018, section 2.3, with theta and
        phi integrated out); ``"full_bayes"`` visits them by their posterior (section 6). ``"auto"`` tries both and goes
        on with the one whose Monte Carlo error of log h is smaller after equally many sweeps, which cost the same. The
        two EM methods are for comparison: neither has a theory that ensures the maximum, and they give no m(h).
    n_tuning : int, default=None
        Sweeps of each chain that find the grid, as many that tune, and as many, at least, at the maximum in the end.
        None: 300, and fewer, but not less than 50, for more than 500,000 tokens.
    max_iter : int, default=None
        Sweeps of each chain that estimate m(h) and its maximum, at most; of Gibbs-EM all of the chain's, of variational
        EM steps. None: 5000, and fewer, but not less than 150, for more than 200,000 tokens; of the EM methods a fifth.
    tol : float, default=0.1
        The chains end before `max_iter` where the Monte Carlo standard errors of log h are below this share of the
        statistical ones, which more sweeps do not change. Where chains agree, m(h) itself is known to twice that, and
        the rest of the sweeps are made at its maximum, unless there are `functionals`. 0: after `max_iter` sweeps, all
        for m(h).
    grid_shape : (int, int), default=(11, 11)
        Values of eta and of alpha on the grid of serial tempering. That of full Bayes is
        wider, with three more between each two.
    region : ((float, float), (float, float)), default=None
        ((eta_low, eta_high), (alpha_low, alpha_high)), where the grid lies and the maximum is looked for. None: the
        grid is put around what pilot chains found between 1e-5 and 1e4.
    functionals : dict of {str: callable}, default=None
        Functions of (doc_topic, topic_word), arrays of shapes (n_documents, n_components) and (n_components,
        n_features), that return a number. Their posterior expectations are estimated for every h.
    tempering : dict or "paper", default=None
        How serial tempering is done: ``"ratio"`` "collapsed" or "augmented" (theta and phi drawn, equation 2.2),
        ``"index"`` "full_conditional" or "neighbours" (equation 2.8), ``"tuning"`` "stochastic_approximation" or
        "restarts" (equation 2.16), ``"grid"`` "pilot" or "subsampling", ``"estimator"`` "mixture" (equation 2.10),
        "component" (2.17) or "simple" (2.1, from one h). What is not given is the first; ``"paper"`` takes the second
        of the first four.
    doc_topic_prior, topic_word_prior : float, default=None
        Where the search starts. None: ``1 / n_components``. With ``method="gibbs_em"`` an array of shape
        (n_components,) as `doc_topic_prior` gives every topic an alpha of its own; the paper warns that a corpus says
        too little of that many.
    n_chains : int, default=4
        Independent chains; where they disagree, chosen from twelve times as many starts by the evidence of their modes.
    point_estimate, fold_in_iter, n_jobs, verbose, random_state
        As in `GibbsLDA`.

    Attributes
    ----------
    topic_word_prior_, doc_topic_prior_ : float
        eta and alpha at the maximum of m(h). With an alpha for every topic, an ndarray of shape (n_components,).
    method_ : str
        The method used.
    grid_ : (ndarray of shape (n_etas,), ndarray of shape (n_alphas,))
        Values of eta and of alpha on the grid.
    occupancy_ : ndarray of shape (n_etas, n_alphas)
        Shares of the draws that the grid points had; equal where serial tempering went everywhere.
    acceptance_ : float
        Share of the sweeps before which h changed.
    prior_trace_ : ndarray of shape (n_chains, n_iter_, 2)
        eta and alpha at every sweep.
    r_hat_, ess_ : ndarray of shape (2,)
        Split R-hat and effective number of draws of the posterior means of log eta and of log alpha given the topics.
    log_evidence_, log_evidence_std_ : ndarray of shape (n_starts,), float
        log p(w | h) at one h from every start, nats, and the standard deviation of a run; empty, and NaN, where chains
        agree at once or the corpus is too large.
    components_, topic_word_, doc_topic_, topic_assignments_, log_joint_trace_, n_iter_, best_chain_, sampler_
        As in `GibbsLDA`; the joint is at the priors of the sweep.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If a prior's maximum cannot be told from an edge (the warning names it; the prior's errors are then infinite),
        if chains disagree about h, if few starts came within reach of the best evidence, or if part of the grid was not
        visited.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Examples
    --------
    >>> from sklda import EmpiricalBayesLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(60, 20, 2, doc_length=50, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
    >>> lda = EmpiricalBayesLDA(2, n_tuning=100, max_iter=1000, random_state=0).fit(X)
    >>> bool(lda.confidence_region(0.999, "statistical").contains(0.5, 0.3))
    True
    """

    _parameter_constraints = {
        **{
            name: constraint
            for name, constraint in GibbsLDA._parameter_constraints.items()
            if name not in ("sampler", "warm_start", "snapshot_every")
        },
        "method": [StrOptions({"auto", *METHODS, *EM_METHODS})],
        "n_tuning": [None, Interval(Integral, 1, None, closed="left")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "grid_shape": ["array-like"],
        "region": [None, "array-like"],
        "functionals": [None, Mapping],
        "tempering": [None, StrOptions({"paper"}), dict],
    }

    # Of `GibbsLDA`, and not for this estimator.
    snapshot_every = None

    def __init__(
        self,
        n_components=10,
        *,
        method="auto",
        n_tuning=None,
        max_iter=None,
        tol=0.1,
        grid_shape=(11, 11),
        region=None,
        functionals=None,
        tempering=None,
        doc_topic_prior=None,
        topic_word_prior=None,
        n_chains=4,
        point_estimate="cgs_p",
        fold_in_iter=30,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.method = method
        self.n_tuning = n_tuning
        self.max_iter = max_iter
        self.tol = tol
        self.grid_shape = grid_shape
        self.region = region
        self.functionals = functionals
        self.tempering = tempering
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_chains = n_chains
        self.point_estimate = point_estimate
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, corpus, data):
        per_topic = np.ndim(self.doc_topic_prior) > 0
        if np.ndim(self.topic_word_prior) > 0:
            raise ValueError(
                "topic_word_prior must be one number: the priors whose maximum is looked for are symmetric."
            )
        if per_topic and self.method != "gibbs_em":
            raise ValueError(
                "doc_topic_prior must be one number, for both priors are symmetric; "
                "an alpha for every topic takes method='gibbs_em'."
            )
        room = reserve(corpus, self.n_components)
        priors, _ = self._priors(corpus)
        region, functionals = self._checked_region(), dict(self.functionals or {})
        for name, function in functionals.items():
            if not callable(function):
                raise TypeError(
                    f"functionals[{name!r}] must be a function of (doc_topic, topic_word), got {function!r}."
                )
        seed = random.seed_sequence(self.random_state)
        fold_in_seed = random.key(random.child(seed, 1))
        options = Options.make(self.tempering)
        n_tuning, max_iter = self._lengths(corpus.n_tokens)
        most = most_sweeps(self.method, options, n_tuning, max_iter)
        progress = Progress(self, data, {"_fold_in_seed_": fold_in_seed}, self.n_chains, n_sweeps=most)
        plan = Plan(
            corpus=corpus,
            priors=priors,
            region=region or WIDEST,
            placed=region is not None,
            options=options,
            functionals=tuple(functionals.values()),
            n_tuning=n_tuning,
            max_iter=max_iter,
            tol=self.tol,
            grid_shape=self._checked_shape(),
            n_chains=self.n_chains,
            seed=random.child(seed, 0),
            n_jobs=self.n_jobs,
            listener=progress,
        )
        if self.method in EM_METHODS:
            chains = expectation_maximisation(plan, self.method, per_topic)
            attributes = {"method_": self.method}
        else:
            found = estimate(plan, self.method)
            chains = found.chains
            for chain in chains:
                eta, alpha = found.maximum.h
                chain.priors = Priors.make(alpha, eta, self.n_components, corpus.n_features)
            attributes = {
                "method_": found.method,
                "grid_": (found.grid.etas, found.grid.alphas),
                "occupancy_": found.occupancy,
                "acceptance_": found.acceptance,
                "r_hat_": found.r_hat,
                "ess_": found.ess,
                "log_evidence_": found.log_evidence,
                "log_evidence_std_": found.log_evidence_std,
                "_estimate_": replace(found, chains=[]),
                "_functional_names_": tuple(functionals),
            }
        del room
        progress.end(chains)
        return progress.fitted(chains) | attributes

    def _lengths(self, n_tokens):
        """Sweeps to tune and to estimate, by the size of the corpus where they are not given."""
        n_tokens = max(n_tokens, 1)
        n_tuning = int(np.clip(_TUNING_TOKENS // n_tokens, *_TUNING)) if self.n_tuning is None else self.n_tuning
        max_iter = int(np.clip(_TOKENS // n_tokens, *_SWEEPS)) if self.max_iter is None else self.max_iter
        if self.max_iter is None and self.method in EM_METHODS:
            max_iter //= 5
        return n_tuning, max_iter

    def _checked_region(self):
        if self.region is None:
            return None
        region = np.asarray(self.region, dtype=np.float64)
        if region.shape != (2, 2) or not ((region >= SMALLEST) & (region <= LARGEST)).all():
            raise ValueError(
                "region must be ((eta_low, eta_high), (alpha_low, alpha_high)) between "
                f"{SMALLEST:g} and {LARGEST:g}, got {self.region!r}."
            )
        if (region[:, 0] >= region[:, 1]).any():
            raise ValueError(f"region must have low < high for both priors, got {self.region!r}.")
        return tuple((float(low), float(high)) for low, high in region)

    def _checked_shape(self):
        shape = np.asarray(self.grid_shape)
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 2).any():
            raise ValueError(f"grid_shape must be two whole numbers, both at least 2, got {self.grid_shape!r}.")
        return tuple(shape.tolist())

    def _fitted_attributes(self, chains):
        attributes = super()._fitted_attributes(chains)
        attributes.pop("_chain_states_")
        attributes.pop("_fingerprint_")
        best = chains[attributes["best_chain_"]]
        alpha = best.priors.doc[0]
        if isinstance(best, TemperedChain):
            trace = np.full((len(chains), attributes["n_iter_"], 2), np.nan)
            for row, chain in zip(trace, chains, strict=True):
                row[: len(chain.visited)] = np.reshape(chain.visited, (-1, 2))
            attributes["prior_trace_"] = trace
        return attributes | {
            "topic_word_prior_": float(best.priors.word[0]),
            "doc_topic_prior_": alpha.copy() if np.ndim(self.doc_topic_prior) else float(alpha[0]),
        }

    def _found(self):
        check_is_fitted(self)
        if not hasattr(self, "_estimate_"):
            raise NotFittedError(
                f"method={self.method_!r} gives the priors without the marginal likelihood around them. "
                "Fit with method='auto', 'serial_tempering' or 'full_bayes'."
            )
        return self._estimate_

    def log_marginal_likelihood(self, topic_word_prior, doc_topic_prior, *, return_std=False):
        """log m(h), the log-likelihood of the priors with topics, proportions and assignments integrated out.

        Parameters
        ----------
        topic_word_prior, doc_topic_prior : float or array-like
            eta and alpha, of shapes that broadcast. Beyond the grid the estimate soon has no draws to rest on.
        return_std : bool, default=False
            Whether to return the Monte Carlo standard error as well.

        Returns
        -------
        value : float or ndarray
            Nats, up to the one constant that makes it 0 at (`topic_word_prior_`, `doc_topic_prior_`).
        std : float or ndarray
            Of the difference from there, by batch means; infinite where fewer than ten effective draws reach. Only with
            `return_std`.
        """
        found = self._found()
        eta, alpha = _pairs(topic_word_prior, doc_topic_prior)
        value, std = found.log_ratio(eta.ravel(), alpha.ravel())
        value, std = value.reshape(eta.shape)[()], std.reshape(eta.shape)[()]
        return (value, std) if return_std else value

    def confidence_region(self, level=0.95, kind="monte_carlo"):
        """An ellipse for the priors, on the scale of their logarithms.

        Parameters
        ----------
        level : float, default=0.95
        kind : {"monte_carlo", "statistical"}, default="monte_carlo"
            ``"monte_carlo"`` covers the maximum of m(h), which more sweeps would give: by batching as in Theorem 1 of
            George & Doss (2018), with the spread between chains where they disagree. ``"statistical"`` covers the
            priors that generated the corpus: from the curvature of log m at its maximum.

        Returns
        -------
        Ellipse
            With `center`, `covariance`, `standard_errors`, `contains` and `boundary`.

        Raises
        ------
        ValueError
            If `level` does not lie between 0 and 1 or `kind` is another.
        """
        found = self._found()
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}.")
        maximum = found.maximum
        return Ellipse(np.array(maximum.h), getattr(maximum, kind).copy(), level, kind, found.region)

    def posterior_expectation(self, name, topic_word_prior, doc_topic_prior, *, level=0.95):
        """Posterior expectation of a functional as the priors vary, with a band that holds for all priors at once.

        Parameters
        ----------
        name : str
            One of `functionals`.
        topic_word_prior, doc_topic_prior : float or array-like
            eta and alpha, of shapes that broadcast, on the grid's region.
        level : float, default=0.95
            Confidence that the band contains the whole function, as far as draws reach on the grid's region.

        Returns
        -------
        value, low, high : float or ndarray
            Equation 2.14 of George & Doss (2018), and a band as that of equation 2.19, but wider where fewer draws
            reach; infinite where fewer than ten effective ones do.

        Raises
        ------
        ValueError
            If there is no functional of that name, or `level` does not lie between 0 and 1.
        """
        found = self._found()
        if name not in self._functional_names_:
            raise ValueError(f"there is no functional {name!r}; the fit had {list(self._functional_names_)}.")
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        values = found.functional_values[:, self._functional_names_.index(name)]
        eta, alpha = _pairs(topic_word_prior, doc_topic_prior)
        mean, std = found.functional_curve.expectations(values, eta.ravel(), alpha.ravel())
        band = global_band(found.functional_curve, values, found.grid.region, level)
        # Infinite even where the functional is constant as far as draws reach.
        half = band * std if band else np.where(np.isinf(std), np.inf, 0.0)
        return tuple(each.reshape(eta.shape)[()] for each in (mean, mean - half, mean + half))


def _pairs(*h):
    eta, alpha = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in h))
    for name, values in zip(NAMES, (eta, alpha), strict=True):
        bad = ~((values >= SMALLEST) & (values <= LARGEST))
        if bad.any():
            raise ValueError(f"{name} must lie between {SMALLEST:g} and {LARGEST:g}, got {values[bad].flat[0]:g}.")
    return eta, alpha
