"""Fitted attributes from chains: means over draws, uncertainty, all chains, diagnostics."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from sklda._inference.diagnostics import diagnose
from sklda._inference.parallel import in_parallel
from sklda._inference.priors import SMALLEST
from sklda._inference.sampling.collapsed import compact_topics
from sklda._inference.sampling.draws import posterior_moments
from sklda._inference.sampling.matching import match_topics
from sklda._inference.sampling.run_chains import best_chain, traces_of
from sklda._inference.warn import warn

# R-hat beyond which chains get a warning: the variance between chains is three times that within. With fewer sweeps
# after the burn-in R-hat says little.
_LARGE_R_HAT, _FEWEST_SWEEPS = 2.0, 50


class ChainResults:
    """The results of one or several chains on one corpus.

    Parameters
    ----------
    estimator : GibbsLDA
        Its parameters are used.
    chains : list of GibbsChain
        With a trace and at least one draw.
    """

    def __init__(self, estimator, chains):
        self.estimator, self.chains = estimator, chains
        self.best = best_chain(chains)
        self.traces = traces_of(chains)
        self.n_burn_in = min(max(chain.n_burn_in for chain in chains), min(len(chain.trace) for chain in chains) - 1)
        self.diagnostics = diagnose(self.traces, self.n_burn_in)

    def warn_of_disagreement(self):
        """Warn if R-hat is large for a quantity that does not depend on the names of topics."""
        if len(self.chains) < 2 or min(len(chain.trace) for chain in self.chains) < self.n_burn_in + _FEWEST_SWEEPS:
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
        tasks = [(chain, self.estimator.point_estimate) for chain in self.chains]
        moments = in_parallel(_moments, tasks, self.estimator.n_jobs, always_in_threads=False)
        chain, kept = self.chains[self.best], moments[self.best]
        topics = [each.components / each.components.sum(axis=1, keepdims=True) for each in moments]
        best_topics = topics[self.best]
        matches = {c: match_topics(best_topics, each) for c, each in enumerate(topics) if c != self.best}
        orders = [matches[c][0] if c in matches else np.arange(len(topics[c])) for c in range(len(topics))]
        found = {
            "components_": kept.components,
            "doc_topic_": kept.doc_topic,
            "doc_topic_std_": kept.doc_topic_std,
            "n_draws_": len(kept.topic_shares),
            "doc_topic_prior_": _doc_prior(self.estimator, chain.priors),
            "topic_word_prior_": _word_prior(self.estimator, chain.priors),
            "topic_assignments_": chain.topics.copy(),
            "chains_": [
                _chain_bunch(self.estimator, *each) for each in zip(self.chains, moments, topics, orders, strict=True)
            ],
            "log_joint_trace_": self.traces["log_joint"],
            "traces_": self.traces,
            "diagnostics_": self.diagnostics,
            "n_iter_": self.traces["log_joint"].shape[1],
            "n_burn_in_": self.n_burn_in,
            "best_chain_": self.best,
            "sampler_": chain.sampler,
            "_corpus_": chain.corpus,
            "_fingerprint_": chain.corpus.fingerprint,
            "_chain_states_": [each.state() for each in self.chains],
            "_chain_priors_": [each.priors for each in self.chains],
            "_learnt_kind_": self.estimator._kind_of_learning(),
        }
        found |= _shares([each.topic_shares[:, order] for each, order in zip(moments, orders, strict=True)], self.best)
        if matches:
            found["topic_stability_"] = 1 - np.mean([distances for _, distances in matches.values()], axis=0)
        if self.estimator.snapshot_every is not None:
            shape = (-1, *kept.components.shape)
            found["snapshots_"] = np.array([phi for _, phi in chain.snapshots], dtype=np.float32).reshape(shape)
            found["snapshot_sweeps_"] = np.array([sweep for sweep, _ in chain.snapshots], dtype=int)
        return found


def _moments(chain, method, stop):
    # A callback sees a chain before its first draw is kept.
    draws = [z for _, z in chain.draws] or [chain.topics]
    return posterior_moments(chain.corpus, chain.priors, draws, method, stop)


def _chain_bunch(estimator, chain, moments, topic_word, order):
    """What `chains_` has of a chain."""
    return Bunch(
        topic_assignments=compact_topics(chain.topics, chain.priors.n_components),
        topic_word=topic_word.astype(np.float32),
        doc_topic=moments.doc_topic.astype(np.float32),
        doc_topic_prior=_doc_prior(estimator, chain.priors),
        topic_word_prior=_word_prior(estimator, chain.priors),
        n_draws=len(moments.topic_shares),
        matched=order,
    )


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
