"""The posterior over the number of topics by pseudo-marginal Metropolis-Hastings."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._core.types import Counts, Seed, TopicPrior
from sklda._core.warn import warn
from sklda._models.fit_run import FitRun, all_or_nothing
from sklda._models.parameters import POSITIVE, HasMethods, Interval, StrOptions, shared
from sklda._models.progress import with_callbacks
from sklda._models.topic_count.count_prior import LARGEST, CountPrior
from sklda._models.topic_count.estimator import TopicCountLDA
from sklda._models.topic_count.posterior import LAST_SWEEPS
from sklda._sampling.point_estimates import check_memory_of_results
from sklda.papers.topic_count._forward_runs import UNBIASED, ForwardSettings
from sklda.papers.topic_count._pmmh import PMMH

# The fit warns of a chain that stays for more proposals than this, and for more than this share of them.
_LONG_STAY = 50
_LONG_STAY_SHARE = 1 / 5


class PMMHTopicCountLDA(TopicCountLDA):
    """The posterior over the number of topics by pseudo-marginal Metropolis-Hastings over T, at given priors.

    A step proposes a neighbour of T, with a new unbiased estimate of p(w | T). The chain is exact for every variance of
    the estimates, but it stays long at a T if they vary much. For small corpora, and to check
    `sklda.TopicCountLDA`.

    Parameters
    ----------
    min_components : int, default=1
        The smallest number of topics.
    max_components : int, default=None
        The largest number of topics. None: 20.
    topic_count_prior, point_estimate, fold_in_iter, n_jobs, verbose, random_state
        Those of `sklda.TopicCountLDA`.
    evidence : {"cgs_transition", "guided_ais", "ais"}, default="cgs_transition"
        How p(w | T) is estimated. ``"cgs_transition"`` is the estimator of the paper, see `log_evidence_by_sweeps`; its
        logarithm is too low by hundreds of nats, and by more with more topics, so it favours few topics.
        ``"guided_ais"`` and ``"ais"`` anneal, see `log_evidence`.
    doc_topic_prior : float, str or callable, default="1/T"
        alpha, the Dirichlet parameter per topic of a document's proportions, the same for all topics: a number, a text
        such as ``"5/T"``, or a function of T. The default is that of the paper.
    topic_word_prior : float, str or array-like of shape (n_features,), default="1/T"
        eta, the Dirichlet parameter per word of a topic.
    n_proposals : int, default=1000
        Number of proposals.
    n_temperatures : int, default=100
        Sweeps of an annealing run.
    n_inner : int, default=50
        Sweeps of an estimate by ``"cgs_transition"``.
    n_runs : int, default=2
        Estimates that are averaged for a proposal.

    Attributes
    ----------
    topic_count_trace_ : ndarray of shape (n_proposals + 1,), int
        The chain over the number of topics.
    topic_count_posterior_ : ndarray of shape (n_counts,)
        p(T | w), the share of the steps of the chain.
    topic_count_posterior_recycled_ : ndarray of shape (n_counts,)
        p(T | w) from all estimates that were made, those of rejected proposals included.
    acceptance_rate_ : float
        Share of proposals accepted; NaN without any.
    longest_stay_ : int
        The most proposals in a row that were rejected.
    log_evidence_, log_evidence_std_ : ndarray of shape (n_counts,)
        Logarithm of the mean of all estimates of p(w | T), and its standard error; NaN without any. All other
        attributes are those of `sklda.TopicCountLDA`.

    References
    ----------
    Chen & Doss (2018). Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.topic_count import PMMHTopicCountLDA
    >>> X = make_lda_corpus(10, 8, 2, doc_length=6, topic_word_prior=0.3, random_state=0).data
    >>> priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.3}
    >>> runs = {"n_proposals": 200, "n_temperatures": 20, "random_state": 0}
    >>> lda = PMMHTopicCountLDA(1, 6, evidence="guided_ais", **priors, **runs).fit(X)
    >>> lda.topic_count_trace_.shape
    (201,)
    """

    _parameter_constraints = {
        **shared("point_estimate", "fold_in_iter", "n_jobs", "verbose", "random_state"),
        "min_components": [POSITIVE],
        "max_components": [None, POSITIVE],
        "topic_count_prior": [None, "array-like", HasMethods("pmf")],
        "evidence": [StrOptions(set(UNBIASED))],
        "doc_topic_prior": [Interval(Real, 0, None, closed="neither"), str, callable],
        "topic_word_prior": [Interval(Real, 0, None, closed="neither"), str, "array-like"],
        "n_proposals": [POSITIVE],
        "n_temperatures": [POSITIVE],
        "n_inner": [POSITIVE],
        "n_runs": [POSITIVE],
    }

    def __init__(
        self,
        min_components: int = 1,
        max_components: int | None = None,
        *,
        topic_count_prior: ArrayLike | Any | None = None,
        evidence: Literal["cgs_transition", "guided_ais", "ais"] = "cgs_transition",
        doc_topic_prior: TopicPrior = "1/T",
        topic_word_prior: ArrayLike | str = "1/T",
        n_proposals: int = 1000,
        n_temperatures: int = 100,
        n_inner: int = 50,
        n_runs: int = 2,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        fold_in_iter: int = 6,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.min_components = min_components
        self.max_components = max_components
        self.topic_count_prior = topic_count_prior
        self.evidence = evidence
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_proposals = n_proposals
        self.n_temperatures = n_temperatures
        self.n_inner = n_inner
        self.n_runs = n_runs
        self.point_estimate = point_estimate
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Counts, y: Any = None) -> Self:
        """Find the posterior over the number of topics, and topics at its mode.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        y : None
            Not used.

        Returns
        -------
        self : PMMHTopicCountLDA
            The fitted estimator. If an error ends the fit, the estimator is as it was before. After Ctrl-C it has the
            results so far, if there are any.

        Raises
        ------
        ValueError, TypeError
            As in `sklda.TopicCountLDA.fit`.
        """
        self._validate_params()
        corpus = self._training_corpus(X)
        with FitRun(self, corpus, X, y) as run:
            prior = CountPrior(self.topic_count_prior, self.min_components, self.max_components)
            rule = self._prior_rule(corpus)
            settings = ForwardSettings(self.evidence, self.n_temperatures, self.n_runs, self.n_inner)
            check_memory_of_results(corpus, min(prior.up_to(LARGEST)), 1, LAST_SWEEPS // 10)

            run.begin()
            self._fold_in_seed_ = run.fold_in_seed
            pmmh = PMMH(
                corpus,
                rule,
                prior,
                settings,
                n_proposals=self.n_proposals,
                seed=random.child(run.seed, 0),
                n_jobs=self.n_jobs,
                run=run,
            )
            posterior = pmmh.estimate()
            trace = pmmh.trace
            n_proposals = len(trace.accepted)
            if trace.longest_stay > max(_LONG_STAY, int(_LONG_STAY_SHARE * n_proposals)):
                warn(
                    f"the chain over the number of topics rejected {trace.longest_stay} of {n_proposals} proposals in "
                    "a row: its estimates of the evidence vary too much. Use sklda.TopicCountLDA, or larger numbers of "
                    "runs and of their sweeps.",
                    ConvergenceWarning,
                )
            self.topic_count_trace_: np.ndarray = trace.counts
            self.topic_count_posterior_recycled_: np.ndarray = pmmh.recycled
            self.acceptance_rate_: float = float(trace.accepted.mean()) if n_proposals else np.nan
            self.longest_stay_: int = trace.longest_stay
            return self._finish(run, corpus, prior, posterior)
