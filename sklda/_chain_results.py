"""Fitted attributes from chains: means over draws, uncertainty, all chains, diagnostics."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from sklda._inference.corpus import Corpus
from sklda._inference.diagnostics import diagnose
from sklda._inference.parallel import in_parallel
from sklda._inference.priors import SMALLEST, Priors
from sklda._inference.sampling.collapsed import ChainState, compact_topics
from sklda._inference.sampling.draws import doc_topic_std, posterior_means
from sklda._inference.sampling.matching import match_topics
from sklda._inference.sampling.run_chains import best_chain, traces_of
from sklda._inference.warn import warn

# R-hat beyond which chains get a warning: the variance between chains is three times that within. With fewer sweeps
# after the burn-in R-hat is unreliable.
_LARGE_R_HAT, _FEWEST_SWEEPS = 2.0, 50


class ChainAttributes:
    """Fitted attributes that are computed on access, so that a fit needs no memory for them."""

    best_chain_: int
    n_draws_: int
    topic_word_: np.ndarray
    doc_topic_: np.ndarray
    _corpus_: Corpus
    _chain_states_: list[ChainState]
    _chain_priors_: list[Priors]
    _chain_records_: list[dict[str, Any]]
    _chain_means_: list[Any]

    @cached_property
    def doc_topic_std_(self) -> np.ndarray:
        """Posterior standard deviations of the topic proportions, (n_documents, n_components) float32."""
        state, priors = self._chain_states_[self.best_chain_], self._chain_priors_[self.best_chain_]
        draws = [z for _, z in state.draws[-self.n_draws_ :]] or [state.topics]
        return doc_topic_std(self._corpus_, priors, draws)

    @property
    def chains_(self) -> list[Bunch]:
        """The results of every chain, a list of Bunch."""
        return [
            Bunch(
                topic_assignments=state.topics.copy(),
                topic_word=(self.topic_word_ if c == self.best_chain_ else own.topic_word).astype(np.float32),
                doc_topic=(self.doc_topic_ if c == self.best_chain_ else own.doc_topic).astype(np.float32),
                **self._chain_records_[c],
            )
            for c, (state, own) in enumerate(zip(self._chain_states_, self._chain_means_, strict=True))
        ]


class ChainResults:
    """The results of one or several chains on one corpus.

    The chains themselves are not kept, because they need memory for sweeps.

    Parameters
    ----------
    estimator : GibbsLDA
        Its parameters are used.
    chains : list of GibbsChain
        With a trace and at least one draw.
    """

    def __init__(self, estimator, chains):
        self.estimator = estimator
        self.corpus, self.sampler, self.priors = chains[0].corpus, chains[0].sampler, [each.priors for each in chains]
        self.states = [_compact(each) for each in chains]
        self.best = best_chain(self.states)
        self.traces = traces_of(self.states)
        self.n_burn_in = min(max(each.n_burn_in for each in chains), min(len(each.trace) for each in chains) - 1)
        self.diagnostics = diagnose(self.traces, self.n_burn_in)

    def warn_of_disagreement(self):
        """Warn if R-hat is large for a quantity that does not depend on the names of topics."""
        if len(self.states) < 2 or min(len(state.trace) for state in self.states) < self.n_burn_in + _FEWEST_SWEEPS:
            return
        r_hat = {name: found.r_hat for name, found in self.diagnostics.items() if found.r_hat > _LARGE_R_HAT}
        if r_hat:
            values = ", ".join(f"{value:.2f} for {name}" for name, value in r_hat.items())
            warn(
                f"The chains disagree: R-hat is {values}. They are in different modes of the posterior, or max_iter="
                f"{self.estimator.max_iter} is too small. The standard deviations of one chain are then too small. See "
                "topic_stability_ for the topics that all chains have.",
                ConvergenceWarning,
            )

    def attributes(self):
        """The fitted attributes, a dict."""
        tasks = [
            (self.corpus, priors, state, self.estimator.point_estimate)
            for priors, state in zip(self.priors, self.states, strict=True)
        ]
        means = in_parallel(_means, tasks, self.estimator.n_jobs, always_in_threads=False)
        state, priors, kept = (each[self.best] for each in (self.states, self.priors, means))
        others = {c: _normalised(each.components) for c, each in enumerate(means) if c != self.best}
        best_topics = _normalised(kept.components) if others else None
        matches = {c: match_topics(best_topics, topics) for c, topics in others.items()}
        orders = [matches[c][0] if c in matches else np.arange(priors.n_components) for c in range(len(means))]
        found = {
            "components_": kept.components,
            "doc_topic_": kept.doc_topic,
            "n_draws_": len(kept.topic_shares),
            "doc_topic_prior_": _doc_prior(self.estimator, priors),
            "topic_word_prior_": _word_prior(self.estimator, priors),
            "topic_assignments_": state.topics.astype(np.int32),
            "log_joint_trace_": self.traces["log_joint"],
            "traces_": self.traces,
            "diagnostics_": self.diagnostics,
            "n_iter_": self.traces["log_joint"].shape[1],
            "n_burn_in_": self.n_burn_in,
            "best_chain_": self.best,
            "sampler_": self.sampler,
            "_corpus_": self.corpus,
            "_fingerprint_": self.corpus.fingerprint,
            "_chain_states_": self.states,
            "_chain_priors_": self.priors,
            "_chain_records_": [
                {
                    "doc_topic_prior": _doc_prior(self.estimator, own),
                    "topic_word_prior": _word_prior(self.estimator, own),
                    "n_draws": len(each.topic_shares),
                    "matched": order,
                }
                for own, each, order in zip(self.priors, means, orders, strict=True)
            ],
            # Of the chain that was kept, `components_` and `doc_topic_` have them.
            "_chain_means_": [
                Bunch(topic_word=others[c].astype(np.float32), doc_topic=each.doc_topic.astype(np.float32))
                if c in others
                else None
                for c, each in enumerate(means)
            ],
            "_learnt_kind_": self.estimator._kind_of_learning(),
        }
        found |= _shares([each.topic_shares[:, order] for each, order in zip(means, orders, strict=True)], self.best)
        if matches:
            found["topic_stability_"] = 1 - np.mean([distances for _, distances in matches.values()], axis=0)
        if self.estimator.snapshot_every is not None:
            shape = (-1, *kept.components.shape)
            found["snapshots_"] = np.array([phi for _, phi in state.snapshots], dtype=np.float32).reshape(shape)
            found["snapshot_sweeps_"] = np.array([sweep for sweep, _ in state.snapshots], dtype=int)
        return found


def _compact(chain):
    """The state of a chain, whose topics are the last draw itself if they are equal."""
    state = chain.state()
    topics = compact_topics(state.topics, chain.priors.n_components)
    if state.draws and np.array_equal(state.draws[-1][1], topics):
        topics = state.draws[-1][1]
    return replace(state, topics=topics)


def _means(corpus, priors, state, method, stop):
    # A callback sees a chain before its first draw is kept.
    draws = [z for _, z in state.draws] or [state.topics]
    return posterior_means(corpus, priors, draws, method, stop)


def _normalised(components):
    return components / components.sum(axis=1, keepdims=True, dtype=np.float64)


def _doc_prior(estimator, priors):
    """alpha as an attribute: a float if all topics have the same."""
    given, alpha = estimator.doc_topic_prior, priors.doc[0]
    as_array = np.ndim(given) if given is not None else estimator._kind_of_learning() == "asymmetric"
    return alpha.copy() if as_array else float(alpha[0])


def _word_prior(estimator, priors):
    """eta as an attribute: as given, or a float if it was learnt; with seed words, a matrix."""
    given = estimator.topic_word_prior
    if len(priors.topic) and (given is None or estimator.seed_words):
        # Rounding to single precision may have left the allowed range.
        return np.maximum(priors.topic_word(), SMALLEST, dtype=np.float64)
    if np.ndim(given):
        return np.array(given, dtype=np.float64)
    return float(priors.word[0])


def _shares(shares, best):
    """Shares of the tokens and their standard deviations, from the shares in the draws of every chain."""
    means = np.array([each.mean(axis=0) for each in shares])
    within = np.mean([each.var(axis=0) for each in shares], axis=0)
    between = means.var(axis=0, ddof=1) if len(means) > 1 else 0.0
    return {"topic_share_": means[best], "topic_share_std_": np.sqrt(within + between)}
