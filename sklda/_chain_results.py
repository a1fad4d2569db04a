"""Fitted attributes from chains: means over draws, uncertainty, all chains, diagnostics."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from sklda._inference.consensus import has_own_words, stability_and_prevalence
from sklda._inference.corpus import Corpus
from sklda._inference.diagnostics import diagnose, std_of_proportions
from sklda._inference.parallel import in_parallel
from sklda._inference.sampling.collapsed import ChainState, compact_topics
from sklda._inference.sampling.draws import (
    at_draws,
    doc_topic_std,
    posterior_means,
    sample_parameters,
    variance_around_mean,
)
from sklda._inference.sampling.kept_draws import KeptDraws
from sklda._inference.sampling.matching import match_and_nearest
from sklda._inference.sampling.parameters import draw_doc_topic
from sklda._inference.sampling.prior_learning import MUCH_MISSING, missing_information
from sklda._inference.sampling.run_chains import best_chain, traces_of
from sklda._inference.warn import warn

# R-hat beyond which chains get a warning: the variance between chains is three times that within. With fewer sweeps
# after the burn-in R-hat is unreliable.
_LARGE_R_HAT, _FEWEST_SWEEPS = 2.0, 50
# Topics for which one more sweep allows one more draw in the means. With 500 and 1,000 topics, the expected counts of a
# draw take about as long as n_components / 150 sweeps, on documents of 100 tokens.
_TOPICS_EACH = 12


class ChainAttributes:
    """Fitted attributes that are computed on access, so that a fit needs no memory for them."""

    best_chain_: int
    n_draws_: int
    topic_word_: np.ndarray
    doc_topic_: np.ndarray
    _corpus_: Corpus
    _chain_states_: list[ChainState]
    _chain_draws_: list[KeptDraws]
    _chain_records_: list[dict[str, Any]]
    _chain_means_: list[Any]

    _needed = dict.fromkeys(("topic_stability_", "topic_prevalence_"), "compares chains, so it needs n_chains > 1")

    @cached_property
    def doc_topic_std_(self) -> np.ndarray:
        """Posterior standard deviations of the topic proportions, (n_documents, n_components) float32."""
        return doc_topic_std(self._corpus_, self._chain_draws_[self.best_chain_].last(self.n_draws_))

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

    def _sample_posterior(self, n_samples, seed):
        draws = self._chain_draws_[self.best_chain_].last(self.n_draws_)
        chains = at_draws(self._corpus_, draws, n_samples)
        return sample_parameters(chains, n_samples, np.random.default_rng(seed))

    def _continued_chain(self, seed):
        """A chain that goes on from the last draw of the kept one at its priors, with other random numbers."""
        chain = next(at_draws(self._corpus_, self._chain_draws_[self.best_chain_].last(1), 1))
        chain.restart_stream(seed)
        return chain

    def _draw_doc_topic(self, n_draws, seed):
        """Iterate over draws of theta of all chains in turn, with the topics in the order of the kept chain."""
        if not hasattr(self, "_chain_draws_"):
            yield from super()._draw_doc_topic(n_draws, seed)
            return
        rng, n_chains, chains = np.random.default_rng(seed), len(self._chain_draws_), []
        for c, (draws, record) in enumerate(zip(self._chain_draws_, self._chain_records_, strict=True)):
            n_own = n_draws // n_chains + (c < n_draws % n_chains)
            chains.append((at_draws(self._corpus_, draws.last(record["n_draws"]), n_own), record["matched"]))
        for i in range(n_draws):
            own, order = chains[i % n_chains]
            chain = next(own)
            yield draw_doc_topic(chain, rng)[:, order]


class ChainResults:
    """The results of one or several chains on one corpus.

    The chains themselves are not kept, because they need memory for sweeps.

    Parameters
    ----------
    estimator : BaseLDA
        Its parameters `point_estimate` and `n_jobs` are used. ``estimator._prior_attributes(draws)`` returns the
        attributes of the priors of a chain, a dict, from its `KeptDraws`.
    chains : list of GibbsChain
        With a trace and at least one draw.

    Attributes
    ----------
    best : int
        Index of the chain that is kept.
    """

    def __init__(self, estimator, chains):
        self.estimator = estimator
        self.corpus, self.sampler = chains[0].corpus, chains[0].sampler
        self.states = [_compact(each) for each in chains]
        self.draws = [each.kept_draws() for each in chains]
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
                f"The chains disagree: R-hat is {values}. They are in different modes of the posterior, or max_iter is "
                "too small. The standard deviations of one chain are then too small. See topic_stability_ for the "
                "topics that all chains have.",
                ConvergenceWarning,
            )

    def warn_of_weak_priors(self):
        """Warn if Gibbs-EM comes to the maximum so slowly that the learnt alpha is not near it."""
        missing = missing_information(self.corpus, self.draws[self.best])
        if missing > MUCH_MISSING:
            warn(
                "The learnt alpha may be far from its most likely value, and is usually too small: words have only "
                f"{1 - min(missing, 1):.0%} of the information about it that the topics of all tokens would have, and "
                "Gibbs-EM then takes thousands of sweeps. Give doc_topic_prior, use fewer topics, or use "
                "EmpiricalBayesLDA, which states the errors of its priors.",
                ConvergenceWarning,
            )

    @cached_property
    def means(self):
        """Posterior means of every chain, a list of PosteriorMeans."""
        method = self.estimator.point_estimate
        tasks = []
        for state, draws in zip(self.states, self.draws, strict=True):
            most = most_draws(method, state.n_sweeps, draws.priors.n_components)
            tasks.append((self.corpus, draws if most is None else draws.last(most), method))
        return in_parallel(posterior_means, tasks, self.estimator.n_jobs, always_in_threads=False)

    @cached_property
    def matches(self):
        """For each other chain, the order of its topics that fits the kept chain, and the nearest distances."""
        if len(self.means) == 1:
            return {}
        topics, kept = self._topics, self._kept
        others = [c for c in range(len(topics)) if c != self.best]
        return {c: match_and_nearest(topics[self.best], topics[c], kept[c]) for c in others}

    @cached_property
    def _topics(self):
        """Topics of every chain as distributions over words."""
        return [_normalised(each.components) for each in self.means]

    @cached_property
    def _kept(self):
        """Which topics of every chain have words of their own."""
        return [
            has_own_words(each.components, draws.priors.topic_word())
            for each, draws in zip(self.means, self.draws, strict=True)
        ]

    def orders(self):
        """The topics of every chain that belong to those of the kept chain, a list of arrays."""
        same = np.arange(self.draws[0].priors.n_components)
        return [self.matches[c][0] if c in self.matches else same for c in range(len(self.means))]

    def attributes(self):
        """The fitted attributes, a dict."""
        state, kept = self.states[self.best], self.means[self.best]
        records = [self.estimator._prior_attributes(draws) for draws in self.draws]
        found = {
            "components_": kept.components,
            "doc_topic_": kept.doc_topic,
            "n_draws_": len(kept.topic_shares),
            **records[self.best],
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
            "_chain_draws_": self.draws,
            "_chain_records_": [
                {
                    **{name.removesuffix("_"): value for name, value in record.items()},
                    "n_draws": len(each.topic_shares),
                    "matched": order,
                }
                for record, each, order in zip(records, self.means, self.orders(), strict=True)
            ],
            # Of the chain that was kept, `components_` and `doc_topic_` have them.
            "_chain_means_": [
                None
                if c == self.best
                else Bunch(topic_word=self._topics[c].astype(np.float32), doc_topic=each.doc_topic.astype(np.float32))
                for c, each in enumerate(self.means)
            ],
        }
        shares = [each.topic_shares[:, order] for each, order in zip(self.means, self.orders(), strict=True)]
        found["topic_share_"] = shares[self.best].mean(axis=0)
        found["topic_share_std_"] = std_of_proportions(variance_around_mean(shares))
        if self.matches:
            nearest = np.array([distances for _, distances in self.matches.values()])
            found |= stability_and_prevalence(nearest, self._kept[self.best])
        return found


def most_draws(method, n_sweeps, n_components):
    """The largest number of draws of a chain in its means, or None."""
    return max(n_sweeps * _TOPICS_EACH // n_components, 1) if method == "cgs_p" else None


def total_variance(means, variances):
    """Variance over chains: the mean of their variances, and the variance of their means if there are several."""
    between = np.var(means, axis=0, ddof=1) if len(means) > 1 else 0.0
    return np.mean(variances, axis=0) + between


def _compact(chain):
    """The state of a chain, whose topics are the last draw itself if they are equal."""
    state = chain.state()
    topics = compact_topics(state.topics, chain.priors.n_components)
    if state.draws and np.array_equal(state.draws[-1].topics, topics):
        topics = state.draws[-1].topics
    return replace(state, topics=topics)


def _normalised(components):
    return components / components.sum(axis=1, keepdims=True, dtype=np.float64)
