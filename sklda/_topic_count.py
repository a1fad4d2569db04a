"""TopicCountLDA: the posterior over the number of topics."""

from numbers import Integral, Real

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_scalar
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklda._base import BaseLDA
from sklda._callbacks import Stages
from sklda._inference import random
from sklda._inference.evidence import annealing as evidence
from sklda._inference.sampling.collapsed import ChainState, GibbsChain, run_chains
from sklda._inference.sampling.point_estimates import METHODS, reserve
from sklda._inference.topic_count.pmmh import pmmh
from sklda._inference.topic_count.prior_rules import LearntRule, PriorRule
from sklda._inference.topic_count.scan import Scan
from sklda._inference.warn import warn
from sklda.metrics._evidence import COMPARATOR

_LEARN = "empirical_bayes"
# Where the range is open: its first end, and the last that it may be widened to.
_FIRST, _WIDEST = 20, 200
# Sweeps of an annealing run, and in scans of a small corpus.
_TEMPERATURES = 300, 1200
# Sweeps after which the scan begins no new round: as many, or on a small corpus those that pass over so many tokens.
_SWEEPS, _TOKENS = 50_000, 3 * 10**8
# Sweeps at the number of topics chosen, before its topics are taken.
_LAST_SWEEPS = 50
# Sweeps that separate draws which start from the same state.
_FRESH_SWEEPS = 5
# A posterior probability with a larger standard error, or a larger one at the end of the range, is worth a warning.
_VAGUE, _AT_THE_END = 0.1, 0.1


class TopicCountLDA(BaseLDA):
    """Latent Dirichlet allocation with a posterior over the number of topics, and topics at its mode.

    The evidence p(w | T) of numbers of topics T is estimated by annealing, from chains that were pruned from more
    topics down to T or annealed. The result says how precise it is: standard errors contain the differences between
    independent starts, and where they leave neighbours undecided, there is a warning.

    Parameters
    ----------
    min_components : int, default=2
        The smallest number of topics.
    max_components : int, default=None
        The largest. None: 20, and further by half while the end of the range may still be likely, up to 200.
    topic_count_prior : array-like of shape (max_components - min_components + 1,), scipy.stats distribution or None, \
default=None
        p(T), up to a factor. None: uniform.
    method : {"scan", "pmmh"}, default="scan"
        ``"scan"``: the evidence, roughly at first and at T up to an eighth apart, then between those that come near the
        best, more precisely where it matters. ``"pmmh"``: pseudo-marginal Metropolis-Hastings over T (Chen & Doss 2018,
        section 4.2), proposing neighbours.
    evidence : str, default="guided_ais"
        How log p(w | T) is estimated, see `sklda.metrics.log_evidence`. ``"cgs_transition"`` is the estimator of Chen &
        Doss: unbiased for p, but its logarithm is too low by hundreds of nats and more the more topics there are, so
        that few topics win. ``"chib"``, ``"harmonic_mean_z"`` and ``"harmonic_mean_psi"`` are worse, are meant for
        comparisons, and warn; ``method="pmmh"``, which needs unbiased estimates, does not take them.
    doc_topic_prior : float, {"empirical_bayes"} or None, default=None
        alpha, the Dirichlet parameter per topic of a document's proportions, the same for all topics. None: ``1 / T``.
        ``"empirical_bayes"``: at each T the value that Gibbs-EM finds along the prunings.
    topic_word_prior : float or array-like of shape (n_features,), {"empirical_bayes"} or None, default=None
        eta, the Dirichlet parameter per word of a topic. None: ``1 / T``.
    n_temperatures : int, default=None
        Sweeps of an annealing run where it matters; more where that leaves open which T is likely. None: 300, or for a
        scan of up to 5,000 tokens 1,200.
    n_runs : int, default=2
        Annealing runs from each pilot where it matters.
    n_pilots : int, default=2
        Independent prunings, and where it matters as many annealed starts beside them: these find the better modes
        where topics are few, those where they are many. More are made where pilots disagree.
    n_inner : int, default=50
        Sweeps behind one estimate, for kinds of `evidence` that do not anneal.
    max_iter : int, default=None
        Sweeps over the corpus, all chains together, after which the scan begins no new round. Its first looks and one
        round of `n_runs` runs are made in any case. None: 50,000, or on fewer than 6,000 tokens 3e8 over their number.
    n_proposals : int, default=1000
        Proposals of ``method="pmmh"``.
    point_estimate : {"cgs_p", "cgs"}, default="cgs_p"
        As in `GibbsLDA`.
    fold_in_iter : int, default=30
        Sweeps over a document in `transform`.
    n_jobs : int, default=None
        Prunings and annealing runs at a time. No result depends on it.
    verbose : int, default=0
        1 prints a line after every stage.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int makes the fit, and `transform` after it, the same every time.

    Attributes
    ----------
    topic_counts_ : ndarray of shape (n_counts,), int
        The numbers of topics, ascending.
    topic_count_posterior_ : ndarray of shape (n_counts,)
        p(T | w). With the scan, from `log_evidence_` plus `log_evidence_shortfall_`, as a mean over their errors; with
        ``method="pmmh"``, the share of its steps.
    topic_count_posterior_std_ : ndarray of shape (n_counts,)
        Its Monte Carlo standard error; with the scan, two cover what 0.95 of the errors of the evidence make of it.
    topic_count_interval_ : tuple of (int, int)
        Smallest and largest T of a credible interval of 0.95 that contains the Monte Carlo error.
    n_components_ : int
        The mode of the posterior.
    log_evidence_ : ndarray of shape (n_counts,)
        log of the mean of unbiased estimates of p(w | T), in nats; a lower bound in probability. NaN where nothing was
        estimated: between numbers of topics that are out of the question, and where pmmh proposed nothing.
    log_evidence_std_ : ndarray of shape (n_counts,)
        Its standard error: spread between runs, and between pilots.
    log_evidence_shortfall_ : ndarray of shape (n_counts,)
        By how much `log_evidence_` is probably too low, since a few runs miss the rare ones that carry the mean.
    evidence_trace_ : ndarray of shape (n_estimates,)
        Every estimate made; fields ``n_components``, ``pilot``, ``n_sweeps`` (ten times as many where annealing from
        the prior was kept) and ``log_evidence``.
    topic_count_trace_ : ndarray of shape (n_proposals + 1,), int
        The chain of ``method="pmmh"``; only with it, as are the next three.
    topic_count_posterior_recycled_ : ndarray of shape (n_counts,)
        p(T | w) from all estimates that were made, those of rejected proposals included.
    acceptance_rate_ : float
        Share of proposals accepted.
    longest_stay_ : int
        The most proposals in a row that were rejected.
    components_, topic_word_, doc_topic_, doc_topic_prior_, topic_word_prior_, topic_assignments_, log_joint_trace_, \
best_chain_, sampler_, n_features_in_, feature_names_in_
        Of the topics at the mode, as in `GibbsLDA`.
    n_iter_ : int
        Sweeps over the corpus, all chains together.

    Notes
    -----
    The evidence is that of the model: with real texts it keeps rising as long as more topics describe the words better,
    which need not be topics that a reader would tell apart. Report the interval, and compare held-out scores.

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
        "evidence": [StrOptions(set(evidence.METHODS))],
        "doc_topic_prior": [None, Interval(Real, 0, None, closed="neither"), StrOptions({_LEARN})],
        "topic_word_prior": [None, Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({_LEARN})],
        "n_temperatures": [None, Interval(Integral, 2, None, closed="left")],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "n_pilots": [Interval(Integral, 1, None, closed="left")],
        "n_inner": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "n_proposals": [Interval(Integral, 1, None, closed="left")],
        "point_estimate": [StrOptions(set(METHODS))],
    }

    def __init__(
        self,
        min_components=2,
        max_components=None,
        *,
        topic_count_prior=None,
        method="scan",
        evidence="guided_ais",
        doc_topic_prior=None,
        topic_word_prior=None,
        n_temperatures=None,
        n_runs=2,
        n_pilots=2,
        n_inner=50,
        max_iter=None,
        n_proposals=1000,
        point_estimate="cgs_p",
        fold_in_iter=30,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.min_components = min_components
        self.max_components = max_components
        self.topic_count_prior = topic_count_prior
        self.method = method
        self.evidence = evidence
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_temperatures = n_temperatures
        self.n_runs = n_runs
        self.n_pilots = n_pilots
        self.n_inner = n_inner
        self.max_iter = max_iter
        self.n_proposals = n_proposals
        self.point_estimate = point_estimate
        self.fold_in_iter = fold_in_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _fit(self, corpus, data):
        log_prior, rule = self._first_log_prior(), self._prior_rule(corpus)
        room = reserve(corpus, max(log_prior))
        if self.evidence not in evidence.UNBIASED:
            if self.method == "pmmh":
                raise ValueError(
                    f"method='pmmh' needs unbiased estimates, and evidence={self.evidence!r} is not: "
                    f"give one of {', '.join(map(repr, evidence.UNBIASED))}."
                )
            warn(f"evidence={COMPARATOR.format(self.evidence)}")
        seed = random.seed_sequence(self.random_state)
        stages = Stages(self, data)
        n_temperatures = self.n_temperatures
        if n_temperatures is None:
            n_temperatures = _TEMPERATURES[self.method == "scan" and corpus.n_tokens <= evidence.SMALL]
        options = {
            "method": self.evidence,
            "n_temperatures": n_temperatures,
            "n_runs": self.n_runs,
            "n_inner": self.n_inner,
            "seed": random.child(seed, 0),
            "n_jobs": self.n_jobs,
            "report": stages,
        }
        if self.method == "scan":
            budget = max(_SWEEPS, _TOKENS // corpus.n_tokens) if self.max_iter is None else self.max_iter
            scan = Scan(corpus, rule, log_prior, n_pilots=self.n_pilots, budget=budget, **options)
            scan.run(_WIDEST if self.max_components is None else None, self._log_prior)
            result, attributes = scan.result(), {}
        else:
            result, attributes = self._pmmh(corpus, rule, log_prior, options)
        self._warn(result)

        mode = int(result.counts[np.argmax(result.posterior)])
        priors, pilots = result.draws[mode][:2]
        chains = run_chains([GibbsChain(corpus, priors, state) for state in pilots], _LAST_SWEEPS, n_jobs=self.n_jobs)
        del room
        traces = self._trace_attributes(chains)
        chain = chains[traces["best_chain_"]]
        attributes |= (
            traces
            | self._topic_attributes(chain)
            | {
                "sampler_": chain.sampler,
                "topic_counts_": result.counts,
                "topic_count_posterior_": result.posterior,
                "topic_count_posterior_std_": result.posterior_std,
                "topic_count_interval_": result.interval,
                "n_components_": mode,
                "log_evidence_": result.log_evidence,
                "log_evidence_std_": result.log_evidence_std,
                "log_evidence_shortfall_": result.log_evidence_shortfall,
                "evidence_trace_": result.runs,
                "doc_topic_prior_": float(priors.doc[0, 0]),
                "topic_word_prior_": _one_if_equal(priors.word),
                "n_iter_": result.n_sweeps + _LAST_SWEEPS * len(chains),
                "_fold_in_seed_": random.key(random.child(seed, 1)),
                "_draws_": (corpus, result.draws),
            }
        )
        stages.end(attributes)
        return attributes

    def _pmmh(self, corpus, rule, log_prior, options):
        trace, result, recycled = pmmh(corpus, rule, log_prior, n_proposals=self.n_proposals, **options)
        n_proposals = len(trace.accepted)
        if trace.longest_stay > max(50, n_proposals // 5):
            warn(
                f"the chain over the number of topics stayed where it was for {trace.longest_stay} of {n_proposals} "
                "proposals in a row: its estimates of the evidence vary too much. Use method='scan', or more "
                "temperatures, runs or inner sweeps.",
                ConvergenceWarning,
            )
        return result, {
            "topic_count_trace_": trace.counts,
            "topic_count_posterior_recycled_": recycled,
            "acceptance_rate_": float(trace.accepted.mean()),
            "longest_stay_": trace.longest_stay,
        }

    def _warn(self, result):
        """Say what the posterior leaves open for want of computation, and where its range ends too soon."""
        vague = result.posterior_std > _VAGUE
        if vague.any():
            T = result.counts[vague]
            warn(
                f"p(T | w) has a standard error above {_VAGUE} at {len(T)} numbers of topics from {T[0]} to {T[-1]}: "
                f"the data do not decide between them, or max_iter, n_temperatures or n_pilots are too small to tell. "
                f"Report topic_count_interval_, {result.interval}, rather than n_components_.",
                ConvergenceWarning,
            )
        if len(result.counts) > 1 and result.posterior[-1] > _AT_THE_END and self._goes_on(int(result.counts[-1])):
            warn(
                f"p(T | w) is {result.posterior[-1]:.2g} at the end of the range, {result.counts[-1]} topics: "
                "more may be likelier. Raise max_components.",
                ConvergenceWarning,
            )

    def _first_log_prior(self):
        """log p(T) by the numbers of topics that the scan begins with."""
        low = self.min_components
        high = max(low, _FIRST) if self.max_components is None else self.max_components
        if low > high:
            raise ValueError(f"min_components={low} is larger than max_components={high}.")
        log_prior = self._log_prior(range(low, high + 1))
        if not log_prior:
            raise ValueError(
                f"topic_count_prior is zero everywhere from {low} to {high}: no number of topics is possible."
            )
        return log_prior

    def _log_prior(self, counts):
        """log p(T) of those of `counts` that are possible."""
        given = self.topic_count_prior
        if given is None:
            return dict.fromkeys(counts, 0.0)
        if hasattr(given, "pmf"):
            values = np.asarray(given.pmf(np.array(counts)), dtype=np.float64)
        else:
            if self.max_components is None:
                raise ValueError("topic_count_prior as an array needs max_components: its last value is for that many.")
            values = np.asarray(given, dtype=np.float64)
            if values.shape != (len(counts),):
                raise ValueError(
                    f"topic_count_prior has shape {values.shape}; from min_components={counts[0]} to "
                    f"max_components={counts[-1]} there are {len(counts)} numbers of topics."
                )
        bad = ~(np.isfinite(values) & (values >= 0))
        if bad.any():
            raise ValueError(
                f"topic_count_prior is {values[bad][0]:g} at {counts[int(np.argmax(bad))]} topics; "
                "it must be finite and not negative."
            )
        return {T: float(np.log(p)) for T, p in zip(counts, values, strict=True) if p > 0}

    def _goes_on(self, last):
        """Whether more than `last` topics are possible, but for max_components."""
        given = self.topic_count_prior
        return given is None or (hasattr(given, "pmf") and bool(self._log_prior([last + 1])))

    def _prior_rule(self, corpus):
        given = {"doc_topic_prior": self.doc_topic_prior, "topic_word_prior": self.topic_word_prior}
        learns = tuple(name for name, value in given.items() if isinstance(value, str))
        if learns:
            if np.ndim(self.topic_word_prior):
                raise ValueError(
                    "doc_topic_prior='empirical_bayes' needs a topic_word_prior that is one number, None or "
                    "'empirical_bayes'; it is an array."
                )
            given = {name: None if name in learns else value for name, value in given.items()}
            rule = LearntRule(**given, n_features=corpus.n_features, learns=learns)
        else:
            rule = PriorRule(**given, n_features=corpus.n_features)
        # Checks shapes and ranges before anything is sampled.
        rule(self.min_components)
        return rule

    def sample_posterior(self, n_samples=1, random_state=None):
        """Draws of the number of topics and of all that the model has, given the words.

        T is drawn from `topic_count_posterior_`; z from the states in which the annealing runs for T ended, by their
        weights, followed by five sweeps; theta and phi from their Dirichlet distributions given z.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None

        Returns
        -------
        sklearn.utils.Bunch
            ``n_components`` (n_samples,), and lists of `n_samples` arrays: ``topic_assignments`` (n_tokens,),
            ``doc_topic`` (n_documents, T) and ``topic_word`` (T, n_features). Topics have no order, and none that
            carries over from one draw to the next.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
        corpus, draws = self._draws_
        seed = random.seed_sequence(random_state)
        rng = np.random.default_rng(random.child(seed, 0))
        posterior = np.array([self.topic_count_posterior_[self.topic_counts_ == T].sum() for T in draws])
        counts = rng.choice(list(draws), n_samples, p=posterior / posterior.sum())
        samples = []
        for i, T in enumerate(counts.tolist()):
            priors, _, ends, log_weights = draws[T]
            state = ends[rng.choice(len(ends), p=softmax(log_weights))]
            chain = GibbsChain(corpus, priors, ChainState(state.topics, random.stream(random.child(seed, 1, i))))
            for _ in range(_FRESH_SWEEPS):
                chain.sweep()
            samples.append((chain.topics, *evidence.draw_parameters(chain, rng)))
        z, theta, phi = (list(each) for each in zip(*samples, strict=True))
        return Bunch(n_components=counts, topic_assignments=z, doc_topic=theta, topic_word=phi)


def _one_if_equal(values):
    return float(values[0]) if (values == values[0]).all() else values.copy()
