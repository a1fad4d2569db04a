"""TopicCountLDA: the posterior over the number of topics."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_scalar
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklda._base import BaseLDA
from sklda._callbacks import Progress
from sklda._chain_results import ChainAttributes, ChainResults
from sklda._fitting import prior_attributes
from sklda._inference import random
from sklda._inference.evidence.estimates import METHODS, UNBIASED
from sklda._inference.sampling import point_estimates
from sklda._inference.topic_count.count_prior import CountPrior
from sklda._inference.topic_count.pmmh import PMMH
from sklda._inference.topic_count.posterior import sample_models
from sklda._inference.topic_count.prior_rules import PriorRule
from sklda._inference.topic_count.scan import Scan
from sklda._inference.topic_count.settings import Settings
from sklda._inference.types import Seed
from sklda._inference.warn import warn
from sklda.metrics._evidence import COMPARATOR

# Warnings are given for: a posterior probability with a larger standard error than this;
_LARGE_ERROR = 0.1
# a larger posterior probability than this at the end of the range;
_LARGE_AT_END = 0.1
# a chain of ``method="pmmh"`` that stays for more proposals than this, and for more than this share of them.
_LONG_STAY, _LONG_STAY_SHARE = 50, 1 / 5


class TopicCountLDA(ChainAttributes, BaseLDA):
    """Latent Dirichlet allocation with a posterior over the number of topics, and topics at its mode.

    The evidence p(w | T) of numbers of topics T is estimated by annealed importance sampling. Its runs begin at the
    states of two kinds of chains: pruned from more topics down to T, and annealed at T. The standard errors contain the
    differences between independent chains. The fit warns if the estimates do not decide between numbers of topics.

    Ctrl-C and callbacks end a fit early: the results are then those of the estimates so far, with a ConvergenceWarning.
    If there are none yet, KeyboardInterrupt is raised and nothing is fitted.

    Parameters
    ----------
    min_components : int, default=2
        The smallest number of topics.
    max_components : int, default=None
        The largest number of topics. None: 200, but numbers above 20 are tried only while they may be likely.
    topic_count_prior : array-like of shape (max_components - min_components + 1,), scipy.stats distribution or None, \
default=None
        p(T), up to a factor. None: uniform.
    method : {"scan", "pmmh"}, default="scan"
        ``"scan"``: short runs at a few values of T far apart, then at values between the best of them, and long runs at
        likely T. ``"pmmh"``: pseudo-marginal Metropolis-Hastings over T, which proposes neighbours (Chen & Doss 2018).
    evidence : str, default="guided_ais"
        How log p(w | T) is estimated, see `sklda.metrics.log_evidence`. ``"cgs_transition"`` is the estimator of Chen &
        Doss. It is unbiased for p, but its logarithm is too low by hundreds of nats, and by more with more topics. So
        it favours few topics. ``"chib"``, ``"harmonic_mean_z"`` and ``"harmonic_mean_psi"`` are
        worse. They are meant for comparisons, with a warning. ``method="pmmh"`` needs unbiased estimates and refuses
        them.
    doc_topic_prior : float, default=None
        alpha, the Dirichlet parameter per topic of a document's proportions, the same for all topics. None: ``1 / T``,
        or learnt.
    topic_word_prior : float or array-like of shape (n_features,), default=None
        eta, the Dirichlet parameter per word of a topic. None: ``1 / T``, or learnt.
    learn_priors : {"symmetric"} or bool, default=False
        Whether priors that are None are learnt at each T, by Gibbs-EM in the pruned chains. Topics have the same
        priors, because the evidence of different T is compared, so there is no ``"asymmetric"``. True is the same as
        ``"symmetric"``.
    n_temperatures : int, default=None
        Sweeps of an annealing run at likely T. A scan makes longer runs if these do not decide which T is likely. None:
        300, or 100 for a scan of up to 5,000 tokens. There annealing from the prior makes ten times as many sweeps.
    n_runs : int, default=2
        Annealing runs from each chain at likely T.
    n_chains : int, default=2
        Pruned chains, and at likely T as many annealed ones. Annealed chains find better modes with few topics, pruned
        chains with many. A scan searches for better modes, and makes more chains, if they disagree.
    n_inner : int, default=50
        Sweeps of one estimate, for kinds of `evidence` that do not anneal.
    max_sweeps : int, default=None
        The largest number of sweeps over the corpus in a scan, all chains together: those of initialisation, of
        annealing in both directions, of searches between modes, and the last ones. If it does not allow the next runs,
        the fit ends with the results so far and a warning. The smallest is 5, or 10 if priors are learnt. None: 1.5e9
        divided by the number of tokens, but from 10,000 to 50,000; with N < 600 tokens, 5e7 / (N + 400); then a sweep
        with T topics counts as (T + 40) / 60. ``method="pmmh"`` does not use it.
    n_proposals : int, default=1000
        Proposals of ``method="pmmh"``.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        How topics and proportions are computed from the last draw. ``"cgs_p"``: from every token's full conditional
        given the others (Papanikolaou et al. 2017). ``"cgs"``: from the topics drawn.
    fold_in_iter : int, default=6
        Sweeps over a document in `transform`, after CVB0.
    n_jobs : int, default=None
        Chains or annealing runs that run at the same time. Results do not depend on it.
    verbose : int, default=0
        1 prints the expected sweeps and seconds at the start, and the results so far after every stage.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        With an int, the fit and `transform` after it are the same every time.

    Attributes
    ----------
    topic_counts_ : ndarray of shape (n_counts,), int
        The numbers of topics, ascending. Numbers above 200 are left out if they are larger than all that had runs.
    topic_count_posterior_ : ndarray of shape (n_counts,)
        p(T | w). With the scan, from `log_evidence_` plus `log_evidence_downward_bias_`, as a mean over draws of their
        errors; with ``method="pmmh"``, the share of its steps.
    topic_count_posterior_std_ : ndarray of shape (n_counts,)
        Its Monte Carlo standard error. With the scan, an interval of two of them on both sides contains 95 % of the
        draws of the errors of the evidence.
    topic_count_interval_ : tuple of (int, int)
        Smallest and largest T of a credible interval of 0.95 that contains the Monte Carlo error.
    n_components_ : int
        The mode of the posterior.
    log_evidence_ : ndarray of shape (n_counts,)
        Logarithm of the mean of unbiased estimates of p(w | T), in nats. It is rarely much above log p(w | T). NaN if
        there is no estimate: between unlikely numbers of topics, and at those that pmmh never proposed.
    log_evidence_std_ : ndarray of shape (n_counts,)
        Its standard error, from the spread between runs, in one or in both directions, and between chains.
    log_evidence_downward_bias_ : ndarray of shape (n_counts,)
        Estimate of the amount by which `log_evidence_` is too low, because a few runs miss the rare weights that
        dominate the mean.
    evidence_trace_ : ndarray of shape (n_estimates,)
        All estimates, with fields ``n_components``, ``chain``, ``n_sweeps`` (ten times as many if annealing from the
        prior was kept) and ``log_evidence``.
    topic_count_trace_ : ndarray of shape (n_proposals + 1,), int
        The chain of ``method="pmmh"``. This and the next three attributes exist only with ``method="pmmh"``.
    topic_count_posterior_recycled_ : ndarray of shape (n_counts,)
        p(T | w) from all estimates that were made, those of rejected proposals included.
    acceptance_rate_ : float
        Share of proposals accepted.
    longest_stay_ : int
        The most proposals in a row that were rejected.
    components_ : ndarray of shape (n_components_, n_features), float32
        Topics at the mode, as expected word counts plus eta. This and the next attributes have the meaning that they
        have in `GibbsLDA`; they come from the last sweeps of the chains at the mode.
    topic_word_ : ndarray of shape (n_components_, n_features)
        Topics as distributions over words; rows sum to one.
    doc_topic_, doc_topic_std_ : ndarray of shape (n_documents, n_components_), float32
        Topic proportions of the documents, means over draws, and their standard deviations within the chain.
    topic_share_, topic_share_std_ : ndarray of shape (n_components_,)
        Share of the tokens in each topic, and its standard deviation with the differences between chains.
    topic_assignments_ : ndarray of shape (n_tokens,), int32
        The topic of every token in the last draw, document by document, in the order of word ids.
    n_draws_ : int
        Number of draws that were averaged, ten sweeps apart.
    doc_topic_prior_ : float
        alpha at the mode.
    topic_word_prior_ : float or ndarray of shape (n_features,)
        eta at the mode.
    chains_ : list of sklearn.utils.Bunch
        Results of every chain at the mode.
    topic_stability_, topic_prevalence_ : ndarray of shape (n_components_,)
        How alike each topic is in the chains at the mode, and in how many of them it was found.
    traces_, diagnostics_ : dict
        Quantities after every last sweep, and their R-hat and effective draws.
    log_joint_trace_ : ndarray of shape (n_chains_at_mode, n_iter_)
        log p(w, z | alpha, eta) of the chains at the mode after each of their last sweeps, in nats.
    n_burn_in_ : int
        0: the last sweeps follow the runs of the scan.
    best_chain_ : int
        The chain from which the topics are computed: the row of `log_joint_trace_` with the largest mean over the last
        half of its sweeps.
    sampler_ : str
        The sampler of the chains, ``"dense"`` or ``"sparse"``; see `GibbsLDA`.
    n_iter_ : int
        Last sweeps of each chain at the mode, the columns of `log_joint_trace_`.
    n_sweeps_ : int
        Sweeps over the corpus of the whole fit, all chains together. A search between modes counts with all sweeps that
        it was allowed.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics. Only after `set_topic_names`.
    n_features_in_, feature_names_in_
        Number of words, and their names if X had string column names.

    Notes
    -----
    The evidence measures how well the model describes the words. With real texts it rises while more topics describe
    them better, even if a reader cannot distinguish these topics. Report the interval, and compare held-out scores.

    There is no ``warm_start``: the states of all chains at all T are not kept after the fit. With the same int as
    `random_state` and a larger `max_sweeps`, a fit repeats the rounds of the earlier one and adds new ones.

    References
    ----------
    Chen & Doss (2018). Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling.

    Examples
    --------
    >>> from sklda import TopicCountLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(100, 30, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).data
    >>> lda = TopicCountLDA(2, 6, doc_topic_prior=0.1, topic_word_prior=0.1, n_temperatures=80, random_state=0)
    >>> lda.fit(X).n_components_
    3
    """

    _parameter_constraints = {
        **{name: value for name, value in BaseLDA._parameter_constraints.items() if name != "n_components"},
        "min_components": [Interval(Integral, 1, None, closed="left")],
        "max_components": [None, Interval(Integral, 1, None, closed="left")],
        "topic_count_prior": [None, "array-like", HasMethods("pmf")],
        "method": [StrOptions({"scan", "pmmh"})],
        "evidence": [StrOptions(set(METHODS))],
        "doc_topic_prior": [None, Interval(Real, 0, None, closed="neither")],
        "learn_priors": [StrOptions({"asymmetric", "symmetric"}), "boolean"],
        "n_temperatures": [None, Interval(Integral, 2, None, closed="left")],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_inner": [Interval(Integral, 2, None, closed="left")],
        "max_sweeps": [None, Interval(Integral, 1, None, closed="left")],
        "n_proposals": [Interval(Integral, 1, None, closed="left")],
        "point_estimate": [StrOptions(set(point_estimates.METHODS))],
    }

    def __init__(
        self,
        min_components: int = 2,
        max_components: int | None = None,
        *,
        topic_count_prior: ArrayLike | Any | None = None,
        method: Literal["scan", "pmmh"] = "scan",
        evidence: str = "guided_ais",
        doc_topic_prior: ArrayLike | None = None,
        topic_word_prior: ArrayLike | None = None,
        learn_priors: Literal["symmetric"] | bool = False,
        n_temperatures: int | None = None,
        n_runs: int = 2,
        n_chains: int = 2,
        n_inner: int = 50,
        max_sweeps: int | None = None,
        n_proposals: int = 1000,
        point_estimate: Literal["cgs_p", "cgs"] = "cgs_p",
        fold_in_iter: int = 6,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.min_components = min_components
        self.max_components = max_components
        self.topic_count_prior = topic_count_prior
        self.method = method
        self.evidence = evidence
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learn_priors = learn_priors
        self.n_temperatures = n_temperatures
        self.n_runs = n_runs
        self.n_chains = n_chains
        self.n_inner = n_inner
        self.max_sweeps = max_sweeps
        self.n_proposals = n_proposals
        self.point_estimate = point_estimate
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, corpus, data):
        prior = CountPrior(self.topic_count_prior, self.min_components, self.max_components)
        rule = self._prior_rule(corpus)
        self._check_evidence()
        reserved = point_estimates.reserve_memory(corpus, max(prior.first))
        seed = random.seed_sequence(self.random_state)
        progress = Progress(self, data, fitted_attributes=dict)
        common = {"seed": random.child(seed, 0), "n_jobs": self.n_jobs, "report": progress.stage}
        announce = progress.say if self.verbose else None
        lengths = self.evidence, self.n_temperatures, self.n_runs, self.n_inner
        if self.method == "scan":
            settings = Settings.for_scan(corpus, *lengths)
            options = {"n_chains": self.n_chains, "max_sweeps": self.max_sweeps, "announce": announce}
            posterior, attributes = Scan(corpus, rule, prior, settings, **options, **common).run(), {}
        else:
            pmmh = PMMH(corpus, rule, prior, Settings.for_pmmh(*lengths), n_proposals=self.n_proposals, **common)
            posterior, attributes = pmmh.run(), self._pmmh_attributes(pmmh)
        chains = self._last_chains(corpus, posterior)
        self._warn(posterior, prior)
        del reserved
        results = ChainResults(self, chains)
        results.warn_of_disagreement()
        attributes |= results.attributes() | self._posterior_attributes(posterior)
        attributes |= {
            "n_sweeps_": posterior.n_sweeps + sum(len(each.trace) for each in chains),
            "_fold_in_seed_": random.key(random.child(seed, 1)),
            "_draws_": posterior.draws,
        }
        progress.end(attributes)
        return attributes

    def _last_chains(self, corpus, posterior):
        """The chains at the mode after their last sweeps; after one sweep if Ctrl-C ends these."""
        draws = posterior.draws[posterior.mode]
        try:
            return draws.chains(corpus, posterior.last_sweeps, self.n_jobs)
        except KeyboardInterrupt:
            return draws.chains(corpus, 1, self.n_jobs)

    def _prior_attributes(self, draws):
        return prior_attributes(self, draws.priors)

    def _check_evidence(self):
        """Warn of estimators that are not unbiased; refuse them with pmmh."""
        if self.evidence in UNBIASED:
            return
        if self.method == "pmmh":
            raise ValueError(
                f"method='pmmh' needs unbiased estimates, and evidence={self.evidence!r} is not: "
                f"give one of {', '.join(map(repr, UNBIASED))}."
            )
        warn(f"evidence={COMPARATOR.format(self.evidence)}")

    def _prior_rule(self, corpus):
        if self.learn_priors == "asymmetric":
            raise ValueError(
                "learn_priors='asymmetric' is not possible: numbers of topics are compared by their evidence for "
                "topics with the same priors. Give learn_priors='symmetric', True or False."
            )
        make = PriorRule.learning if self.learn_priors else PriorRule
        rule = make(self.doc_topic_prior, self.topic_word_prior, corpus.n_features)
        if self.learn_priors and not rule.learns:
            raise ValueError(
                "learn_priors=True learns the priors that are None, and both doc_topic_prior and topic_word_prior are "
                "given: set one of them to None, or learn_priors to False."
            )
        # Checks shapes and ranges before anything is sampled.
        rule(self.min_components)
        return rule

    def _posterior_attributes(self, posterior):
        return {
            "topic_counts_": posterior.counts,
            "topic_count_posterior_": posterior.probability,
            "topic_count_posterior_std_": posterior.std,
            "topic_count_interval_": posterior.interval,
            "n_components_": posterior.mode,
            "log_evidence_": posterior.log_evidence,
            "log_evidence_std_": posterior.log_evidence_std,
            "log_evidence_downward_bias_": posterior.log_evidence_downward_bias,
            "evidence_trace_": posterior.estimates,
        }

    def _pmmh_attributes(self, pmmh):
        trace = pmmh.trace
        n_proposals = len(trace.accepted)
        if trace.longest_stay > max(_LONG_STAY, int(_LONG_STAY_SHARE * n_proposals)):
            warn(
                f"the chain over the number of topics rejected {trace.longest_stay} of {n_proposals} "
                "proposals in a row: its estimates of the evidence vary too much. Use method='scan', or more "
                "temperatures, runs or inner sweeps.",
                ConvergenceWarning,
            )
        return {
            "topic_count_trace_": trace.counts,
            "topic_count_posterior_recycled_": pmmh.recycled,
            "acceptance_rate_": float(trace.accepted.mean()),
            "longest_stay_": trace.longest_stay,
        }

    def _warn(self, posterior, prior):
        """Warn if the estimates ended early, if the posterior is imprecise, or if its range may end too early."""
        if posterior.unfinished:
            warn(
                f"p(T | w) is that of the first {len(posterior.estimates)} estimates, because {posterior.unfinished}. "
                "Its standard errors are larger than after a whole fit.",
                ConvergenceWarning,
            )
        imprecise = posterior.std > _LARGE_ERROR
        if imprecise.any():
            T = posterior.counts[imprecise]
            warn(
                f"p(T | w) has a standard error above {_LARGE_ERROR} at {len(T)} numbers of topics from {T[0]} to "
                f"{T[-1]}: the data do not decide between them, or max_sweeps, n_temperatures or n_chains are too "
                f"small. Report topic_count_interval_, {posterior.interval}, rather than n_components_.",
                ConvergenceWarning,
            )
        counts, at_end = posterior.counts, posterior.probability[-1]
        if len(counts) > 1 and at_end > _LARGE_AT_END and prior.cut_off_at(int(counts[-1])):
            warn(
                f"p(T | w) is {at_end:.2g} at the end of the range, {counts[-1]} topics: "
                "larger numbers may be more likely. Raise max_components.",
                ConvergenceWarning,
            )

    def sample_posterior(self, n_samples: int = 1, random_state: Seed = None) -> Bunch:
        """Draws of the number of topics, assignments, proportions and topics from their posterior.

        T is drawn from `topic_count_posterior_`. z is one of the states in which the annealing runs for T ended, drawn
        by their weights, after five more sweeps. theta and phi are drawn from their Dirichlet distributions given z.

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
        """
        check_is_fitted(self)
        n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
        corpus, draws = self._corpus_, self._draws_
        probability = np.array([self.topic_count_posterior_[self.topic_counts_ == T].sum() for T in draws])
        seed = random.seed_sequence(random_state)
        counts, z, theta, phi = sample_models(corpus, draws, probability, n_samples, seed)
        return Bunch(n_components=counts, topic_assignments=z, doc_topic=theta, topic_word=phi)
