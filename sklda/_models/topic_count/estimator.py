"""TopicCountLDA: the posterior over the number of topics."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_scalar
from sklearn.utils.validation import check_is_fitted

from sklda._core import random
from sklda._core.types import Counts, Seed, TopicPrior
from sklda._core.warn import warn
from sklda._core.word_information import dependence_on_documents
from sklda._likelihood.evidence.estimates import EvidenceSettings
from sklda._models.base import BaseLDA
from sklda._models.fit_run import FitRun, all_or_nothing
from sklda._models.parameters import POSITIVE, HasMethods, Interval, shared
from sklda._models.progress import with_callbacks
from sklda._models.results import ChainAttributes, ChainResults, prior_attributes
from sklda._models.topic_count.count_prior import LARGEST, CountPrior
from sklda._models.topic_count.posterior import LAST_SWEEPS, sample_models
from sklda._models.topic_count.runs import PriorRule
from sklda._models.topic_count.scan import Scan
from sklda._sampling.point_estimates import check_memory_of_results
from sklda._sampling.run_chains import best_chain

# Sweeps of the first annealing runs.
_TEMPERATURES = 100
# The fit warns of a posterior probability whose standard error is larger than this, and of one at the end of the range
# that is itself larger.
_LARGE = 0.1
# It warns if words depend on documents by more standard deviations than this. Under the model, one corpus in 30,000
# does.
_DEVIATES = 4
# It says that shares are unequal if equal ones would vary as much with this probability. Of 60 simulated corpora of the
# model, 3 to 40 topics, none did.
_UNEQUAL = 1e-4


class TopicCountLDA(ChainAttributes, BaseLDA):
    """Latent Dirichlet allocation with a posterior over the number of topics, and topics at its mode.

    The evidence p(w | T) is that of the number of topics alone: assignments, proportions, topics and, by default, the
    priors h = (alpha, eta) are integrated out:

    1. Chains at T: of the `n_chains` new chains of a round, the first begins with twice as many topics and merges pairs
       of them, the second is annealed, and so on in turn. Each then draws h and z in turn. When h has begun to
       settle, rounds of moves merge topics and split others where this raises the joint probability; then h settles.
    2. Runs of each chain, at its posterior mean of h: one goes forward, from independent tokens to the posterior of z,
       and one backward. Bennett's acceptance ratio makes one value of both, log p(w | T, h). The evidence is
       p(w | T, h) p(h) / p(h | w, T), whose last factor comes from the draws of h. Its error comes from the spread
       between chains, and between runs.
    3. The first chains are at four T, each twice the one before. While the largest T is the best, the next is twice as
       large.
    4. As far as log p(w | T) rises, it is concave in T; as far as it falls, in log T. So between two T with runs it is
       bounded from below by the line between them, and from above by continued lines. It is also not below the evidence
       of fewer topics with empty ones beside them. A T has no runs only if its upper bound is so low that its
       probability does not count, or if both bounds are as close as the errors of the values. The next runs are at the
       T with the highest upper bound.
    5. A value far below one of these lower bounds is that of chains in poor modes: new chains are made there.
    6. Draws within errors and bounds are draws of p(T | w). If the interval goes on beyond the largest T with runs, a
       larger one follows. Then all T that may be likely get new chains, with runs of one length: longer runs are less
       biased, so values of different lengths cannot be compared. In every other round they are twice as long.
    7. This ends when each p(T | w) is known to 0.05, or when two rounds leave more than 0.9 of the width of the
       interval, which is then about as wide as the data leave it. The T beside the best one have runs then. It also
       ends when `max_iter` is spent. log p(w | T) may then still rise at the largest T with runs. In this case each
       larger T is as likely to be where it turns, and the interval reaches to the end of the range.

    The topics are those of chains at the most likely T.

    Ctrl-C, callbacks and too little memory for more topics end a fit early: the results are then those of the estimates
    so far, with a ConvergenceWarning. If there are none yet, KeyboardInterrupt or MemoryError is raised and nothing is
    fitted.

    Parameters
    ----------
    min_components : int, default=1
        The smallest number of topics.
    max_components : int, default=None
        The largest number of topics. None: 200.
    topic_count_prior : array-like of shape (max_components - min_components + 1,), scipy.stats distribution or None, \
default=None
        p(T), up to a factor. None: uniform.
    doc_topic_prior : float, str or callable, default=None
        alpha, the Dirichlet parameter per topic of a document's proportions, the same for all topics. None: it is
        unknown, with a weak prior: log alpha is normal around log 0.1 with a standard deviation of 2, so that 95 % of
        it lie between .002 and 5. A text such as ``"5/T"`` is a number over T; ``"1/T"`` is that of Chen & Doss. A
        function is called with T.
    topic_word_prior : float, str or array-like of shape (n_features,), default=None
        eta, the Dirichlet parameter per word of a topic. None: it is unknown, with the same prior as alpha. ``"1/T"``
        is that of Chen & Doss.
    n_chains : int, default=2
        New chains at a number of topics before each of its runs; at least 2, because their spread is the error.
    max_iter : int, default=None
        The largest number of sweeps over the corpus in a scan, all chains together: those of initialisation, of
        annealing in both directions, and the last ones. If it does not allow the next runs, the fit ends with the
        results so far and a warning. None: 120,000 for 10,000 tokens, and half of it for four times as many or a
        quarter of them, but at least 12,000: so for a million tokens, and for a hundred. The first annealing runs have
        100 sweeps; fewer if these would take more than a fifteenth of `max_iter`. Before them a chain has as many
        sweeps as a run, and at least 150, to find a mode, as many for moves to better ones, and as many with draws of
        h. Then it has as many as a run: their mean counts are the guide of the runs.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        How topics and proportions are computed from the draws. ``"cgs_p"``: from every token's full conditional
        given the others (Papanikolaou et al. 2017). ``"cgs"``: from the topics drawn.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    n_jobs : int, default=None
        Chains or annealing runs that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 prints the expected sweeps and seconds at the start, and the results so far after every round.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    topic_counts_ : ndarray of shape (n_counts,), int
        The numbers of topics, ascending: up to 200, or to twice the largest one that had runs if that is more.
    topic_count_posterior_ : ndarray of shape (n_counts,)
        p(T | w), the mean over draws, also at T without runs.
    topic_count_posterior_std_ : ndarray of shape (n_counts,)
        Its Monte Carlo standard error. An interval of two of them on both sides contains 95 % of the draws.
    topic_count_interval_ : tuple of (int, int)
        Smallest and largest T of a credible interval of 0.95 that contains the Monte Carlo error, and `n_components_`.
    n_components_ : int
        The most likely number of topics that had runs.
    log_evidence_ : ndarray of shape (n_counts,)
        log p(w | T) by the runs at T, in nats; NaN without runs. If chains are in different modes, it comes from the
        better half of them. It is not below the evidence of fewer topics with empty ones beside them.
    log_evidence_std_ : ndarray of shape (n_counts,)
        Its standard error, from the spread between runs and between chains. Part of it is common to all T: the middle
        between forward and backward runs is not exactly the value. Most of this part cancels in p(T | w).
    evidence_trace_ : ndarray of shape (n_estimates,)
        All estimates, with fields ``n_components``, ``chain``, ``n_sweeps``, ``log_evidence`` (forward) and
        ``log_evidence_backward``.
    components_, topic_word_, doc_topic_, doc_topic_std_, topic_share_, topic_share_std_, topic_assignments_
        Topics and proportions at the mode, as in `GibbsLDA`: means over draws of a chain, and its last draw.
    chains_, topic_stability_, n_draws_, traces_, diagnostics_, n_burn_in_, log_joint_trace_, best_chain_, sampler_
        Of the chains at the mode, as in `GibbsLDA`. They begin at the ends of annealing runs.
    doc_topic_prior_ : float
        alpha at the mode. If it is unknown, the posterior mean of its logarithm, exponentiated.
    topic_word_prior_ : float or ndarray of shape (n_features,)
        eta at the mode, likewise.
    model_check_z_ : float
        How far the words of the topics depend on the documents, in standard deviations of what the model allows. Above
        4 there is a warning: the number of topics is that of a model that does not fit. Topics in fewer than ten
        documents do not count. See `inspection.topic_check`.
    n_iter_ : int
        Sweeps over the corpus of the whole fit, all chains together. A round of moves counts as 20 sweeps.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics. Only after `set_topic_names`.
    n_features_in_, feature_names_in_
        Number of words, and their names if X had string column names.

    Notes
    -----
    The evidence measures how well the model describes the words. With real texts it rises while more topics describe
    them better, even if a reader cannot distinguish these topics. Report the interval, and compare held-out scores.

    The identity in 2. holds at every h (Besag 1989). Given z, alpha and eta are independent, and their densities need
    only how often each count occurs.

    There is no ``warm_start``: the states of all chains at all T are not kept after the fit. With the same int as
    `random_state` and a larger `max_iter`, a fit repeats the rounds of the earlier one and adds new ones.

    References
    ----------
    Besag (1989). A candidate's formula: a curious result in Bayesian prediction. Biometrika.

    Chen & Doss (2018). Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling.

    Examples
    --------
    >>> from sklda import TopicCountLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(100, 30, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
    >>> lda = TopicCountLDA(2, 6, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0)
    >>> lda.fit(X).n_components_
    3
    """

    _parameter_constraints = {
        **shared("point_estimate", "fold_in_iter", "n_jobs", "verbose", "random_state"),
        "min_components": [POSITIVE],
        "max_components": [None, POSITIVE],
        "topic_count_prior": [None, "array-like", HasMethods("pmf")],
        "doc_topic_prior": [None, Interval(Real, 0, None, closed="neither"), str, callable],
        "topic_word_prior": [None, Interval(Real, 0, None, closed="neither"), str, "array-like"],
        "n_chains": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [None, POSITIVE],
    }

    def __init__(
        self,
        min_components: int = 1,
        max_components: int | None = None,
        *,
        topic_count_prior: ArrayLike | Any | None = None,
        doc_topic_prior: TopicPrior | None = None,
        topic_word_prior: ArrayLike | str | None = None,
        n_chains: int = 2,
        max_iter: int | None = None,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        fold_in_iter: int = 6,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.min_components = min_components
        self.max_components = max_components
        self.topic_count_prior = topic_count_prior
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_chains = n_chains
        self.max_iter = max_iter
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
            Word counts: non-negative whole numbers of any dtype, as from `CountVectorizer`. Documents may be empty.
        y : None
            Not used.

        Returns
        -------
        self : TopicCountLDA
            The fitted estimator. If an error ends the fit, the estimator is as it was before. After Ctrl-C it has the
            results so far, if there are any.

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
            prior = CountPrior(self.topic_count_prior, self.min_components, self.max_components)
            rule = self._prior_rule(corpus)
            # Results of the fewest topics: more are possible, and do not have to be fitted.
            fewest = min(prior.up_to(LARGEST))
            check_memory_of_results(corpus, fewest, self.n_chains, LAST_SWEEPS // 10)

            run.begin()
            self._fold_in_seed_ = run.fold_in_seed
            seed = random.child(run.seed, 0)
            scan = Scan(
                corpus,
                rule,
                prior,
                EvidenceSettings("guided_ais", n_sweeps=_TEMPERATURES, n_runs=1),
                n_chains=self.n_chains,
                max_sweeps=self.max_iter,
                seed=seed,
                n_jobs=self.n_jobs,
                run=run,
            )
            return self._finish(run, corpus, prior, scan.estimate())

    def _finish(self, run, corpus, prior, posterior):
        """Make the last sweeps at the mode of a posterior, warn of its faults, and set the fitted attributes."""
        try:
            chains = posterior.chains(corpus, posterior.last_sweeps, self.n_jobs, run)
        except KeyboardInterrupt:
            # The estimates so far are kept. Topics need one sweep.
            run.leaves_the_plan()
            chains = posterior.chains(corpus, 1, self.n_jobs, run)
        check = dependence_on_documents(corpus, chains[best_chain(chains)].topics, posterior.mode, run.seed)
        self.topic_counts_: np.ndarray = posterior.counts
        self.topic_count_posterior_: np.ndarray = posterior.probability
        self.topic_count_posterior_std_: np.ndarray = posterior.std
        self.topic_count_interval_: tuple[int, int] = posterior.interval
        self.n_components_: int = posterior.mode
        self.log_evidence_: np.ndarray = posterior.log_evidence
        self.log_evidence_std_: np.ndarray = posterior.log_evidence_std
        self.evidence_trace_: np.ndarray = posterior.estimates
        self.model_check_z_ = check
        self._n_scan_sweeps_ = posterior.n_sweeps
        self._draws_ = posterior.draws
        run.progress.end(chains)
        self._set_results(chains)
        self._warn(posterior, prior)
        self._results_.warn_of_disagreement()
        return run.finish()

    def _set_results(self, chains):
        results = ChainResults(chains)
        chains.clear()  # They have arrays for sweeps.
        results.records = [prior_attributes(self, priors) for priors in results.priors]
        results.estimate(self.point_estimate, self.n_jobs)
        self._set_chain_results(results)
        self.n_iter_: int = self._n_scan_sweeps_ + sum(len(state.trace) for state in results.states)

    def _prior_rule(self, corpus):
        rule = PriorRule(self.doc_topic_prior, self.topic_word_prior, corpus.n_features)
        # Checks shapes and ranges before anything is sampled.
        if np.ndim(self.topic_word_prior) > 1:
            raise ValueError("topic_word_prior must be a number, or one for each word: all topics have the same prior.")
        if not rule.at(self.min_components).exchangeable:
            raise ValueError("doc_topic_prior must give one number, because all topics have the same prior.")
        return rule

    def _warn(self, posterior, prior):
        """Warn of estimates that ended early or are imprecise, of a small range, and of a model that does not fit."""
        if posterior.unfinished:
            n = len(posterior.estimates)
            warn(
                f"p(T | w) is that of the first {n} estimate{'s' * (n > 1)}, because {posterior.unfinished}. "
                "Its standard errors are larger than after a whole fit.",
                ConvergenceWarning,
            )
        imprecise = posterior.std > _LARGE
        if imprecise.any():
            T = posterior.counts[imprecise]
            warn(
                f"p(T | w) has a standard error above {_LARGE} at {len(T)} numbers of topics from {T[0]} to "
                f"{T[-1]}: the data do not decide between them, or max_iter or n_chains are too "
                f"small. Report topic_count_interval_, {posterior.interval}, rather than n_components_.",
                ConvergenceWarning,
            )
        counts = posterior.counts
        at_start, at_end = posterior.probability[[0, -1]]
        cut_off = len(counts) > 1 and at_end > _LARGE and prior.cuts_off(int(counts[-1]) + 1)
        if cut_off:
            warn(
                f"p(T | w) is {at_end:.2g} at the end of the range, {counts[-1]} topics: "
                "larger numbers may be more likely. Raise max_components.",
                ConvergenceWarning,
            )
        too_many = len(counts) > 1 and at_start > _LARGE and prior.cuts_off(int(counts[0]) - 1)
        if too_many:
            warn(
                f"p(T | w) is {at_start:.2g} at the start of the range, {counts[0]} topics: "
                "smaller numbers may be more likely. Lower min_components.",
                ConvergenceWarning,
            )
        # With fewer topics than the corpus has, words depend on documents in any case, and with any wrong number shares
        # are unequal.
        is_right = not (cut_off or posterior.unfinished)
        if is_right and self.model_check_z_ > _DEVIATES:
            warn(
                f"The words of the topics depend on the documents by {self.model_check_z_:.0f} standard deviations "
                "more than the model allows, as they do if a word that occurs in a document is likely to occur there "
                f"again. topic_count_interval_, {posterior.interval}, is how many topics describe such texts best, not "
                "how many subjects they have. See sklda.inspection.topic_check."
            )
        if is_right and not too_many and (unequal := self._unequal_shares()):
            warn(unequal.strip())

    def sample_posterior(self, n_samples: int = 1, random_state: Seed = None) -> Bunch:
        """Draws of the number of topics, assignments, proportions and topics from their posterior.

        T is drawn from `topic_count_posterior_`. z is one of the states in which the annealing runs for T ended, drawn
        by their weights, or that of a new annealed chain if T had no runs. Five more sweeps follow, with draws of
        unknown priors. theta and phi are drawn from their Dirichlet distributions given z.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None

        Returns
        -------
        sklearn.utils.Bunch
            ``n_components`` (n_samples,), and lists of `n_samples` arrays: ``topic_assignments`` (n_tokens,),
            ``doc_topic`` (n_documents, T) and ``topic_word`` (T, n_features). Topics of different draws do not
            correspond to each other.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklda import TopicCountLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(100, 30, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
        >>> lda = TopicCountLDA(2, 6, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(X)
        >>> draws = lda.sample_posterior(3, random_state=0)
        >>> [theta.shape[1] for theta in draws.doc_topic] == draws.n_components.tolist()
        True
        """
        check_is_fitted(self)
        n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
        corpus = self._results_.corpus
        draws = self._draws_
        probability = np.array([self.topic_count_posterior_[self.topic_counts_ == T].sum() for T in draws])
        seed = random.seed_sequence(random_state)
        counts, z, theta, phi = sample_models(corpus, draws, probability, n_samples, seed)
        return Bunch(n_components=counts, topic_assignments=z, doc_topic=theta, topic_word=phi)

    def summary(self) -> str:
        """What the fit says of the number of topics, in sentences.

        Returns
        -------
        str

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklda import TopicCountLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(100, 60, 3, doc_length=40, random_state=0).data
        >>> print(TopicCountLDA(1, 6, random_state=0).fit(X).summary())
        3 topics (95 %). This is the number of topics that describes the words best, not that of the subjects.
        """
        check_is_fitted(self)
        low, high = self.topic_count_interval_
        if low == high:
            found = f"{low} topic{'s' if low > 1 else ''} (95 %)."
        else:
            largest = self.topic_count_posterior_.max()
            found = f"{low} to {high} topics (95 %)."
            found += (
                f" {self.n_components_} are the most likely, with a probability of {largest:.2f}."
                if largest > 0.5
                else " The data do not decide within this range."
            )
        found += " This is the number of topics that describes the words best, not that of the subjects."
        if self.model_check_z_ > _DEVIATES:
            found += (
                f" Words depend on documents by {self.model_check_z_:.0f} standard deviations more than the model "
                "allows, so it may be too large."
            )
        return found + self._unequal_shares()

    def _unequal_shares(self) -> str:
        """A sentence about shares that differ by more than one alpha allows, with a space before it; or nothing."""
        others = self.n_components_ - 1
        if not others or self._variation_of_shares() * others <= chi2.isf(_UNEQUAL, others):
            return ""
        smallest, largest = 100 * self.topic_share_.min(), 100 * self.topic_share_.max()
        return (
            f" The shares of the topics, from {smallest:.2g} % to {largest:.2g} %, differ by more than the model "
            "allows, whose topics have one alpha. So small topics may be missing, a large one may count as several, "
            "and the interval is less certain than it says. HDPLDA is a model of unequal shares."
        )

    def _variation_of_shares(self) -> float:
        """The variance of the shares of the topics over that which an alpha that they have in common allows."""
        corpus = self._results_.corpus
        share = self.topic_share_
        T = len(share)
        n_documents = np.count_nonzero(corpus.lengths)
        # Shares of one document vary as those of T alpha + 1 draws, and tokens vary in addition.
        expected = 1 / ((T * self.doc_topic_prior_ + 1) * n_documents) + 1 / corpus.n_tokens
        return float(T * ((share - 1 / T) ** 2).sum() / ((T - 1) * expected))
