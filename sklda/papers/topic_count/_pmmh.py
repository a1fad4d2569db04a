"""The number of topics by pseudo-marginal Metropolis-Hastings (Chen & Doss 2018, section 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import in_parallel
from sklda._core.priors import Priors, at_topics
from sklda._input.arguments import check_choice, check_int
from sklda._input.types import Counts, Seed
from sklda._input.warn import warn
from sklda._likelihood.held_out.averages import log_mean, log_mean_exp
from sklda._models.gibbs import GibbsLDA
from sklda._sampling.annealed_start import annealed_chain
from sklda._sampling.chain import ChainState
from sklda.papers.topic_count._forward_runs import UNBIASED, ForwardSettings, check_memory_of_chains, forward_runs

# There is a warning of a chain that stays for more proposals than this, and for more than this share of them.
_LONG_STAY = 50
_LONG_STAY_SHARE = 1 / 5


def pmmh(
    X: Counts,
    min_components: int,
    max_components: int,
    *,
    topic_count_prior: ArrayLike | Any | None = None,
    evidence: Literal["cgs_transition", "guided_ais", "ais"] = "cgs_transition",
    doc_topic_prior: float | str | Callable[[int], float] = "1/T",
    topic_word_prior: ArrayLike | str = "1/T",
    n_proposals: int = 1000,
    n_temperatures: int = 100,
    n_inner: int = 50,
    n_runs: int = 2,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """The posterior over the number of topics by pseudo-marginal Metropolis-Hastings over T, at given priors.

    A step proposes a neighbour of T, one of two with probability 1/2 each, or the only neighbour of an end, with a new
    unbiased estimate of p(w | T), by chains whose first state for T is always the same. The estimate of an accepted T
    is kept until the chain leaves T. So the chain is exact for every variance of the estimates, but it stays long at a
    T if they vary much. For small corpora, and to check `sklda.TopicCountLDA`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    min_components, max_components : int
        The smallest and the largest number of topics.
    topic_count_prior : array-like of shape (n_counts,) or distribution of scipy.stats, default=None
        p(T), up to a factor. None: uniform.
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
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        First chains that run at the same time. Results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``topic_counts`` (n_counts,): the numbers of topics.
        - ``trace`` (n_proposals + 1,): the chain over them.
        - ``posterior``, ``posterior_std`` (n_counts,): p(T | w), the share of the steps of the chain, and its standard
          error by batch means.
        - ``posterior_recycled`` (n_counts,): p(T | w) from all estimates that were made, those of rejected proposals
          included.
        - ``log_evidence``, ``log_evidence_std`` (n_counts,): logarithm of the mean of all estimates of p(w | T), and
          its standard error; NaN without any.
        - ``acceptance_rate``: share of proposals accepted.
        - ``longest_stay``: the most proposals in a row that were rejected.
        - ``model``: a `sklda.GibbsLDA` with the most probable number of topics, by the last accepted state of z.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts, or an argument is out of range.
    MemoryError
        If the estimates do not fit into the memory.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the chain rejects many proposals in a row.

    References
    ----------
    Chen & Doss (2018). Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling.

    Examples
    --------
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.papers.topic_count import pmmh
    >>> X = make_lda_corpus(10, 8, 2, doc_length=6, topic_word_prior=0.3, random_state=0).data
    >>> priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.3}
    >>> runs = {"n_proposals": 200, "n_temperatures": 20, "random_state": 0}
    >>> found = pmmh(X, 1, 6, evidence="guided_ais", **priors, **runs)
    >>> found.trace.shape, found.posterior.shape
    ((201,), (6,))
    """
    check_int(min_components, "min_components", 1)
    check_int(max_components, "max_components", min_components)
    check_choice(evidence, "evidence", UNBIASED)
    lengths = {"n_proposals": n_proposals, "n_temperatures": n_temperatures, "n_inner": n_inner, "n_runs": n_runs}
    for name, given in lengths.items():
        check_int(given, name, 1)
    corpus = Corpus.from_counts(X)
    if corpus.n_tokens == 0:
        raise ValueError(f"X has {corpus.n_documents} documents and no token at all.")
    log_prior = _log_prior(topic_count_prior, np.arange(min_components, max_components + 1))
    counts = sorted(log_prior)
    priors = {T: _priors_at(T, doc_topic_prior, topic_word_prior, corpus) for T in counts}
    settings = ForwardSettings(evidence, n_temperatures, n_runs, n_inner)
    check_memory_of_chains(corpus, max(counts), evidence)
    seed = random.seed_sequence(random_state)
    chain = PMMH(corpus, log_prior, priors, settings, random.child(seed, 0), n_jobs)
    trace = chain.propose(n_proposals)
    if trace.longest_stay > max(_LONG_STAY, int(_LONG_STAY_SHARE * n_proposals)):
        warn(
            f"the chain over the number of topics rejected {trace.longest_stay} of {n_proposals} proposals in a row: "
            "its estimates of the evidence vary too much. Use sklda.TopicCountLDA, or larger numbers of runs and of "
            "their sweeps.",
            ConvergenceWarning,
        )
    value, std = np.array([trace.log_evidence_at(T) for T in counts]).T
    posterior, posterior_std = trace.shares(counts)
    mode = counts[int(np.argmax(posterior))]
    at_mode = {
        "n_components": mode,
        "doc_topic_prior": float(priors[mode].doc[0, 0]),
        "topic_word_prior": priors[mode].word,
        "random_state": random.key(random.child(seed, 1)) % 2**32,
    }
    return Bunch(
        topic_counts=np.array(counts),
        trace=trace.counts,
        posterior=posterior,
        posterior_std=posterior_std,
        posterior_recycled=softmax([log_prior[T] for T in counts] + np.where(np.isnan(value), -np.inf, value)),
        log_evidence=value,
        log_evidence_std=std,
        acceptance_rate=float(trace.accepted.mean()),
        longest_stay=trace.longest_stay,
        model=GibbsLDA.from_assignments(X, chain.ends[mode].topics.astype(np.int32), **at_mode),
    )


def _log_prior(given: Any, counts: np.ndarray) -> dict[int, float]:
    """log p(T), up to a constant, of the numbers of topics of positive probability."""
    if given is None:
        values = np.ones(len(counts))
    else:
        values = np.asarray(given.pmf(counts) if hasattr(given, "pmf") else given, dtype=np.float64)
    if values.shape != counts.shape or not (np.isfinite(values) & (values >= 0)).all() or not values.any():
        raise ValueError(
            f"topic_count_prior must be a distribution of scipy.stats, or {len(counts)} numbers for {counts[0]} to "
            f"{counts[-1]} topics, none negative and not all zero; got {given!r}."
        )
    return {int(T): float(np.log(p)) for T, p in zip(counts, values, strict=True) if p > 0}


def _priors_at(T: int, doc_topic_prior: Any, topic_word_prior: Any, corpus: Corpus) -> Priors:
    alpha = at_topics(doc_topic_prior, "doc_topic_prior", T)
    eta = at_topics(topic_word_prior, "topic_word_prior", T)
    if np.ndim(alpha) > 0 or np.ndim(eta) > 1:
        raise ValueError("all topics have the same prior: doc_topic_prior is one number, and so is eta of a word.")
    return Priors.make(alpha, eta, T, corpus.n_features)


@dataclass(frozen=True, eq=False)
class TopicCountTrace:
    """The chain over the number of topics; the first row of each array, (n_proposals + 1,), is its beginning."""

    counts: np.ndarray  # the number of topics after every proposal
    log_evidence: np.ndarray  # the estimates of log p(w | T) that belong to `counts`
    proposed: np.ndarray  # the proposals
    proposed_log_evidence: np.ndarray  # the estimate of log p(w | T) of every proposal

    @property
    def accepted(self) -> np.ndarray:
        """Whether each proposal was accepted, (n_proposals,)."""
        return self.counts[1:] != self.counts[:-1]

    @property
    def longest_stay(self) -> int:
        """Largest number of proposals in a row that were rejected."""
        moves = np.flatnonzero(np.concatenate([[True], self.accepted, [True]]))
        return int(np.diff(moves).max()) - 1

    def shares(self, counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Share of the steps at each of `counts`, and its standard error by batch means."""
        at = (self.counts[:, None] == counts).astype(float)
        if len(at) == 1:
            # The largest standard deviation of a share.
            return at[0], np.full(at.shape[1], 0.5)
        n_batches = max(int(len(at) ** 0.5), 2)
        batches = np.array([part.mean(axis=0) for part in np.array_split(at, n_batches)])
        return at.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(n_batches)

    def log_evidence_at(self, T: int) -> tuple[float, float]:
        """log of the mean of all estimates made for T, accepted or not, and its standard error; NaN without any."""
        found = self.proposed_log_evidence[self.proposed == T]
        return log_mean_exp(found) if len(found) else (np.nan, np.nan)


class PMMH:
    """The chain over the number of topics, with annealed first states of z for each of them.

    `log_prior` has log p(T), and `ends` the last accepted state of z by number of topics.
    """

    def __init__(
        self,
        corpus: Corpus,
        log_prior: dict[int, float],
        priors: dict[int, Priors],
        settings: ForwardSettings,
        seed: np.random.SeedSequence,
        n_jobs: int | None = None,
    ) -> None:
        self.corpus = corpus
        self.log_prior = log_prior
        self.priors = priors
        self.settings = settings
        self.seed = seed
        self.n_jobs = n_jobs
        self.counts = sorted(log_prior)
        self.rng = np.random.default_rng(random.child(seed, 3))
        tasks = [(corpus, priors[T], random.child(seed, 0, T)) for T in self.counts]
        self.states = dict(zip(self.counts, in_parallel(_annealed_state, tasks, n_jobs), strict=True))
        self.ends: dict[int, ChainState] = {}

    def propose(self, n_proposals: int) -> TopicCountTrace:
        """Begin at a number of topics drawn from the prior, and make the proposals."""
        T = int(self.rng.choice(self.counts, p=softmax([self.log_prior[T] for T in self.counts])))
        value, self.ends[T] = self._estimate(T, 0)
        rows = [(T, value, T, value)]
        for i in range(1, n_proposals + 1):
            proposed, log_back = propose_neighbour(self.counts, T, self.rng)
            new, new_end = self._estimate(proposed, i)
            log_ratio = new + self.log_prior[proposed] - value - self.log_prior[T] + log_back
            if np.log(self.rng.random()) < log_ratio:
                T, value = proposed, new
                self.ends[T] = new_end
            rows.append((T, value, proposed, new))
        counts, log_evidence, proposed_counts, proposed_log_evidence = map(np.array, zip(*rows, strict=True))
        return TopicCountTrace(counts, log_evidence, proposed_counts, proposed_log_evidence)

    def _estimate(self, T: int, i: int) -> tuple[float, ChainState]:
        """log of unbiased estimate number i of p(w | T), and the last state of z. Every i has its own streams."""
        seed = random.child(self.seed, 1, i, UNBIASED.index(self.settings.method), 0)
        task = (self.corpus, self.priors[T], self.states[T], self.settings, seed)
        ((log_weights, ends),) = in_parallel(forward_runs, [task], self.n_jobs)
        chosen = self.rng.choice(len(ends), p=softmax(log_weights))
        return float(log_mean(log_weights)), ends[chosen]


def _annealed_state(corpus, priors, seed, stop):
    return annealed_chain(corpus, priors, seed, stop).state().compact(priors.n_components)


def propose_neighbour(counts: list[int], T: int, rng: np.random.Generator) -> tuple[int, float]:
    """A proposal from T, and log of the ratio of the proposal probabilities, backwards over forwards."""
    here = counts.index(T)
    near = [i for i in (here - 1, here + 1) if 0 <= i < len(counts)]
    if not near:
        return T, 0.0
    there = near[rng.integers(len(near))]
    back = sum(0 <= i < len(counts) for i in (there - 1, there + 1))
    return counts[there], np.log(len(near) / back)
