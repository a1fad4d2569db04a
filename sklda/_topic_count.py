"""TopicCountLDA: the posterior over the number of topics."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sklda._base import BaseLDA
from sklda._callbacks import Stages
from sklda.inference import evidence, random
from sklda.inference.chain import ChainState, GibbsChain, run_chains
from sklda.inference.point_estimates import METHODS
from sklda.inference.topic_count import PriorRule, Scan, pmmh

# Where the range is open: its first end, and the last that it may be widened to.
_FIRST, _WIDEST = 20, 200
# Sweeps at the number of topics chosen, before its topics are taken.
_LAST_SWEEPS = 50
# Sweeps that separate draws which start from the same state.
_FRESH_SWEEPS = 5
_VAGUE, _LEVEL = 0.1, 0.95


class TopicCountLDA(BaseLDA):
    """Latent Dirichlet allocation with a posterior over the number of topics, and topics at its mode.

    The evidence p(w | T) of every number of topics T is estimated by annealing, from chains that were pruned from more
    topics down to T. The result says how precise it is: standard errors contain the differences between independent
    prunings, and where they leave neighbours undecided, there is a warning.

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
        ``"scan"``: evidence of every T, roughly at first and more precisely where it matters. ``"pmmh"``: pseudo-marginal
        Metropolis-Hastings over T (Chen & Doss 2018, section 4.2), proposing neighbours.
    evidence : str, default="guided_ais"
        How log p(w | T) is estimated, see `sklda.metrics.log_evidence`. ``"cgs_transition"`` is the estimator of Chen &
        Doss: unbiased for p, but its logarithm is too low by hundreds of nats and more the more topics there are, so
        that few topics win. ``"chib"``, ``"harmonic_mean_z"`` and ``"harmonic_mean_psi"`` are worse, for comparisons, and
        warn; they are not for ``method="pmmh"``, which needs unbiased estimates.
    doc_topic_prior : float, {"empirical_bayes"} or None, default=None
        alpha, the Dirichlet parameter per topic of a document's proportions, the same for all topics. None: ``1 / T``.
        ``"empirical_bayes"``: at each T the value that Gibbs-EM finds along the prunings.
    topic_word_prior : float or array-like of shape (n_features,), {"empirical_bayes"} or None, default=None
        eta, the Dirichlet parameter per word of a topic. None: ``1 / T``.
    n_temperatures : int, default=300
        Sweeps of an annealing run where it matters; more where that leaves open which T is likely.
    n_runs : int, default=4
        Annealing runs from each pruning where it matters.
    n_pilots : int, default=2
        Independent prunings. More are made where they disagree.
    n_inner : int, default=50
        Sweeps behind one estimate, for kinds of `evidence` that do not anneal.
    max_iter : int, default=30000
        Sweeps over the corpus, all chains together, after which the scan begins no new round. Its first looks and one
        round of `n_runs` runs are made in any case.
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
        The numbers of topics looked at, ascending.
    topic_count_posterior_ : ndarray of shape (n_counts,)
        p(T | w). With the scan, from `log_evidence_` plus `log_evidence_shortfall_`; with ``method="pmmh"``, the share of
        its steps.
    topic_count_posterior_std_ : ndarray of shape (n_counts,)
        Its Monte Carlo standard error.
    topic_count_interval_ : tuple of (int, int)
        Smallest and largest T of a credible interval of 0.95 that contains the Monte Carlo error.
    n_components_ : int
        The mode of the posterior.
    log_evidence_ : ndarray of shape (n_counts,)
        log of the mean of unbiased estimates of p(w | T), in nats; a lower bound in probability. NaN where pmmh proposed
        nothing.
    log_evidence_std_ : ndarray of shape (n_counts,)
        Its standard error: spread between runs, and between prunings.
    log_evidence_shortfall_ : ndarray of shape (n_counts,)
        By how much `log_evidence_` is probably too low, since a few runs miss the rare ones that carry the mean.
    evidence_trace_ : ndarray of shape (n_estimates,)
        Every estimate made; fields ``n_components``, ``pilot``, ``n_sweeps`` and ``log_evidence``.
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
    >>> X = make_lda_corpus(100, 30, 3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).X
    >>> lda = TopicCountLDA(2, 6, doc_topic_prior=0.1, topic_word_prior=0.1, n_temperatures=80, random_state=0)
    >>> lda.fit(X).n_components_
    3
    """
