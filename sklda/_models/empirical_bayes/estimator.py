"""EmpiricalBayesLDA: priors by maximum marginal likelihood, with their errors."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklda._core import random
from sklda._core.priors import Priors
from sklda._input.memory import check_memory_of_results
from sklda._input.types import Counts, Seed
from sklda._models.base import BaseLDA
from sklda._models.empirical_bayes.chain_pool import ChainPool, with_a_record
from sklda._models.empirical_bayes.estimate import estimate
from sklda._models.empirical_bayes.prior_steps import trace_of
from sklda._models.empirical_bayes.results import MarginalLikelihoodMixin
from sklda._models.empirical_bayes.settings import NAMES, Settings, run_lengths
from sklda._models.fit_run import FitRun, all_or_nothing
from sklda._models.parameters import POSITIVE, Interval
from sklda._models.progress import with_callbacks
from sklda._models.results import ChainAttributes, ChainResults
from sklda._sampling.prior_of_documents import all_shown


class EmpiricalBayesLDA(MarginalLikelihoodMixin, ChainAttributes, BaseLDA):
    """Latent Dirichlet allocation whose priors maximise the marginal likelihood of the corpus, with error bars.

    Both priors are symmetric: h = (alpha, eta) = (doc_topic_prior, topic_word_prior). m(h) is the probability of the
    corpus given h. The algorithm:

    1. Chains start annealed and learn h by Gibbs-EM. With more than 60,000 tokens, Gibbs-EM is longer, and ends when h
       moves by less than one percent while its sweeps double. How far h has moved is part of the Monte Carlo errors.
    2. With 2,000 to 60,000 tokens, better modes of the topic assignments are searched from each chain; two searches
       that find nothing but one mode are enough. Annealed evidence weighs each mode at the h learnt in it.
    3. Every chain is swept at nine fixed points: the median h of the chains, and 1.25 and 2.5 standard deviations of
       log alpha and of log eta to either side. With more than 60,000 tokens, it is swept for longer at the five inner
       ones.
    4. Reverse logistic regression of all draws (Geyer 1994) gives log m(h), its maximum, curvature and errors.
    5. Longer rounds of steps 3 and 4 follow around the maximum until it is precise (`error_ratio`). If it lies away
       from the inner points, Gibbs-EM goes on first; if that does not help, the Monte Carlo errors contain the
       distance.
    6. If chains disagree, as with an R-hat above 1.1, log m is the mean of their curves, weighted by the probabilities
       of their modes, and errors contain the spread.
    7. The chains continue with the priors at the maximum, and their draws give the topics.

    Errors do not allow for a mode that no search found. Compare several seeds.

    There is no ``warm_start``. For more sweeps, give the priors found to `GibbsLDA`, which has ``warm_start``.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    max_iter : int, default=None
        Largest number of sweeps of each chain, the last ones included. Those of searches and weighing count too,
        divided by the number of chains. A sweep of annealing counts as one. None: 3e8 divided by the number of tokens,
        or 6e7 with more than 60,000, between 500 and 24,000; 1000 with more than a million tokens.
    error_ratio : float, default=0.25
        The search ends when the Monte Carlo standard errors of log h are below this share of the statistical ones, or
        below 0.01, which is one percent of a prior. It also ends if more sweeps cannot help, because the chains are in
        different modes of the topic assignments, or the corpus has no topics to find. 0: it ends after `max_iter`
        sweeps; those that no longer help to find the maximum are made there.
    n_chains : int, default=None
        Independent chains. None: 4, or 2 with more than 120,000 tokens, where a few long chains get farther than many
        short ones.
    n_draws : int, default=15
        Draws over which topics and proportions are averaged. They come from the last half of the sweeps at the maximum.
        There are between 40 and 200 of these sweeps, fewer for large corpora, but at most a quarter of `max_iter`.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        How topics and proportions are computed from a draw. ``"cgs_p"``: from expected counts under each token's full
        conditional (Papanikolaou et al. 2017, equations 33 and 41). ``"cgs"``: from the counts of the draw.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    n_jobs : int, default=None
        Chains, or blocks of 64 documents in `transform`, that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 prints the expected cost, what was found after every stage, and a line that is updated in a terminal or a
        notebook, else ten lines; 2 prints a line for every sweep.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    doc_topic_prior_, topic_word_prior_ : float
        alpha and eta at the maximum of m(h).
    grid_ : (ndarray of shape (n_alphas,), ndarray of shape (n_etas,))
        Values of alpha and of eta at which the chains were swept.
    occupancy_ : ndarray of shape (n_alphas, n_etas)
        Share of the draws at each pair of these values.
    prior_trace_ : ndarray of shape (n_chains, n_sweeps, 2)
        alpha and eta in every sweep since the start. NaN after the last sweep of shorter chains.
    r_hat_, n_effective_ : ndarray of shape (2,)
        Split R-hat and effective number of draws. They are those of the derivatives of log p(w, z | h) with respect to
        log alpha and log eta at the maximum.
    mode_log_evidence_ : ndarray of shape (n_modes,)
        log p(w | h) of the modes that searches found, the best first, in nats. Each is at the h
        learnt in the mode. It is the mean logarithm of annealed runs, somewhat too low for all modes. Empty if there
        was no search.
    mode_log_evidence_std_ : float
        Standard error of one of these; NaN if there are none.
    components_ : ndarray of shape (n_components, n_features)
        Topic-word counts plus prior; normalised rows are `topic_word_`.
    topic_word_ : ndarray of shape (n_components, n_features)
        Topics as distributions over words.
    doc_topic_, doc_topic_std_ : ndarray of shape (n_documents, n_components)
        Topic proportions of the training documents, and their posterior standard deviations.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        Topic of every token in the last draw, document by document. In a document, word ids ascend, and a word of count
        c has c tokens.
    topic_share_, topic_share_std_ : ndarray of shape (n_components,)
        Shares of the tokens, and their posterior standard deviations.
    n_draws_, chains_, topic_stability_, topic_prevalence_ : int, list of Bunch, ndarray of shape (n_components,)
        Number of draws that were averaged; results of all chains; stability of the topics over chains. See `GibbsLDA`.
    traces_, diagnostics_ : dict
        Traces of the sweeps at the maximum, and R-hat and effective draws of them. See `GibbsLDA`.
    log_joint_trace_ : ndarray of shape (n_chains, n_iter_)
        log p(w, z | alpha, eta) after every sweep at the maximum, in nats. NaN after the last sweep of a chain that a
        callback ended early.
    n_iter_, n_burn_in_ : int
        Sweeps in `log_joint_trace_` of the longest chain, and those of them that are not used for draws.
    best_chain_ : int
        The chain from which the topics are computed: the row of `log_joint_trace_` with the highest mean over the last
        half of its sweeps.
    sampler_ : str
        The kernel that was used, ``"dense"`` or ``"sparse"``; see `GibbsLDA`.
    n_features_in_ : int
        Size of the vocabulary.
    topic_names_ : ndarray of shape (n_components,)
        Names of the topics. Only after `set_topic_names`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words, if X had them as column names.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If a prior's maximum lies at an edge of the region searched, where its errors are infinite, or away from the
        points of the last round. If an R-hat is above 1.1, or only one search found the best mode.

    References
    ----------
    Buta & Doss (2011). Computational approaches for empirical Bayes methods and Bayesian sensitivity analysis. Annals
    of Statistics 39.

    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.

    Geyer (1994). Estimating normalizing constants and reweighting mixtures in Markov chain Monte Carlo. Technical
    report 568, School of Statistics, University of Minnesota.

    Papanikolaou, Foulds, Rubin & Tsoumakas (2017). Dense distributions from sparse samples: improved Gibbs sampling
    parameter estimators for LDA. JMLR 18.

    Examples
    --------
    >>> from sklda import EmpiricalBayesLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(60, 20, 2, doc_length=50, topic_word_prior=0.5, doc_topic_prior=0.3, random_state=0).data
    >>> lda = EmpiricalBayesLDA(2, max_iter=1000, random_state=0).fit(X)
    >>> bool(lda.confidence_region(0.999, "statistical").contains(0.3, 0.5))
    True
    """

    _learns_alpha = True
    _parameter_constraints = {
        "max_iter": [None, POSITIVE],
        "error_ratio": [Interval(Real, 0, None, closed="left")],
        "n_chains": [POSITIVE, None],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        max_iter: int | None = None,
        error_ratio: float = 0.25,
        n_chains: int | None = None,
        n_draws: int = 15,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        fold_in_iter: int = 6,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.error_ratio = error_ratio
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.point_estimate = point_estimate
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None) -> Self:
        """Find the priors, and topics at these priors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts: non-negative whole numbers of any dtype, as from `CountVectorizer`. Documents may be empty.
        y : None
            Not used.

        Returns
        -------
        self : EmpiricalBayesLDA
            The fitted estimator. If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If X has a negative, missing, infinite or fractional count (the message names the first one), if X has no
            token, or if a parameter is out of range.
        TypeError
            If a parameter has the wrong type.
        """
        self._validate_params()
        corpus = self._training_corpus(X)
        with FitRun(self, corpus, X, y) as run:
            priors = Priors.make(None, None, self.n_components, corpus.n_features)
            n_last, max_iter, n_chains = run_lengths(corpus.n_tokens, self.max_iter, self.n_chains)
            settings = Settings(n_last, max_iter, self.n_draws, self.error_ratio)
            check_memory_of_results(corpus, self.n_components, n_chains, self.n_draws)

            run.begin(n_chains=n_chains, n_sweeps=max_iter)
            seed = random.child(run.seed, 0)
            pool = ChainPool(corpus, priors, settings, seed, n_chains=n_chains, n_jobs=self.n_jobs, run=run)
            self._set_estimate(estimate(pool))
            run.progress.end(pool.chains)
            self._set_results(pool.chains)
            return run.finish()

    def _set_results(self, chains):
        chains = [with_a_record(chain) for chain in chains]
        records = [
            {
                "doc_topic_prior_": float(chain.priors.doc[0, 0]),
                "topic_word_prior_": float(chain.priors.word[0]),
                "prior_trace_": np.reshape(trace_of(chain).path, (-1, 2)),
            }
            for chain in chains
        ]
        results = ChainResults(chains, all_shown(chains), records)
        results.estimate(self.point_estimate, self.n_jobs)
        self._set_chain_results(results)

    def summary(self) -> str:
        """The priors that were found, with their intervals, in a sentence.

        Returns
        -------
        str
            Each interval is that of 95 %.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklda import EmpiricalBayesLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(60, 40, 3, random_state=0).data
        >>> lda = EmpiricalBayesLDA(3, max_iter=1000, random_state=0).fit(X)
        >>> lda.summary()[:16]
        'doc_topic_prior '
        """
        check_is_fitted(self)
        region = self.confidence_region(0.95, "total")
        parts = []
        for name, value, (low, high) in zip(NAMES, region.center, region.intervals, strict=True):
            interval = f"{low:.3g} to {high:.3g}" if np.isfinite(high) else "its error is unknown"
            parts.append(f"{name} {value:.3g} ({interval})")
        found = f"{' and '.join(parts)} maximise the marginal likelihood with {len(self.components_)} topics."
        known = np.isfinite(region.intervals).all(axis=1).any()
        return f"{found} The intervals of 95 % contain the Monte Carlo error." if known else found
