"""Fitted attributes from chains: means over draws, uncertainty, all chains, diagnostics."""

import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.diagnostics import FEWEST_DRAWS, clear_rise, diagnose, std_of_proportions
from sklda._core.distances import jensen_shannon_pairs
from sklda._core.parallel import in_parallel
from sklda._core.same_topics import SAME_TOPIC, has_own_words, stability_and_prevalence
from sklda._input.warn import warn
from sklda._sampling.chain import ChainState, compact_topics
from sklda._sampling.choice import chain_class
from sklda._sampling.draws import (
    at_draws,
    doc_topic_std,
    draw_doc_topic,
    draw_topic_word,
    posterior_means,
    sample_parameters,
    variance_around_mean,
)
from sklda._sampling.matching import match_and_nearest
from sklda._sampling.prior_learning import FAR, MUCH_MISSING, missing_information
from sklda._sampling.run_chains import in_rows, traces_of

# R-hat beyond which chains get a warning: the variance between chains is three times that within. With fewer sweeps
# after the burn-in R-hat is unreliable.
_LARGE_R_HAT, FEWEST_SWEEPS = 2.0, 50
# A smaller rise of the log joint over the draws, in nats per token, is not worth more sweeps: fits of different seeds
# differ by more. benchmarks/bench_short_fits.py shows what half and twice of it do.
LEAST_RISE = 0.01
# Tail probabilities of credible intervals.
TAILS = 0.025, 0.975
# Topics for which one more sweep allows one more draw in the means. With 500 and 1,000 topics, the expected counts of a
# draw take about as long as n_components / 150 sweeps, on documents of 100 tokens.
_TOPICS_EACH = 12
# Further draws of a fit with too few, and sweeps from one to the next: as a fit has them by default.
_FURTHER_DRAWS, _FURTHER_BETWEEN = 15, 10


class FitResults:
    """What a fit keeps beside its attributes; those of all models have this form. A fitted estimator has ``_results_``.

    Attributes
    ----------
    corpus : Corpus
    states : list of ChainState
        The last states of all chains, from which a warm start continues; empty if there are none.
    best : int
        Index of the chain that is kept.
    continues : bool
        Whether sweeps can go on from the last draw, see `ChainResults.continued_chain`.
    topic_parameters : callable or None
        See `ChainResults.topic_parameters`.
    """

    corpus: Corpus
    states: list[Any] = []
    best: int
    continues = False
    topic_parameters: Any = None

    def kept_draws(self):
        """The draws of z in the means of the kept chain, `KeptDraws`; None if there are none."""
        return None


class RunResults(FitResults):
    """What the runs of chains of any kind have in common: their traces, and which of them is kept.

    Parameters
    ----------
    chains : list
        Chains or their states, with traces.
    n_burn_in : int
        Number of sweeps of the longest burn-in.
    best : int
        Index of the chain that is kept.

    Attributes
    ----------
    traces : dict of {str: ndarray of shape (n_chains, n_sweeps)}
    n_burn_in : int
        That of the parameters, but at least one sweep of every chain follows.
    """

    def __init__(self, chains, n_burn_in, best):
        self.traces, self.best = traces_of(chains), best
        self.n_burn_in = min(n_burn_in, min(len(each.trace) for each in chains) - 1)

    @cached_property
    def diagnostics(self):
        return diagnose(self.traces, self.n_burn_in)

    def warn_of_disagreement(self):
        """Warn if R-hat is large for a quantity that does not depend on the names of topics."""
        log_joint = self.traces["log_joint"]
        if len(log_joint) < 2 or (~np.isnan(log_joint)).sum(axis=1).min() < self.n_burn_in + FEWEST_SWEEPS:
            return
        r_hat = {name: found.r_hat for name, found in self.diagnostics.items() if found.r_hat > _LARGE_R_HAT}
        if r_hat:
            values = ", ".join(f"{value:.2f} for {name}" for name, value in r_hat.items())
            warn(
                f"The chains disagree: R-hat is {values} (1 if they agree). They have found different topics, or "
                "max_iter is too small. The standard deviations of one chain are then too small. See topic_stability_ "
                "for the topics that all chains have.",
                ConvergenceWarning,
            )


class ChainResults(RunResults):
    """The results of one or several Gibbs chains on one corpus. A fitted estimator has them as ``_results_``.

    The chains themselves are not kept, because they need memory for sweeps.

    Parameters
    ----------
    chains : list of GibbsChain
        With a trace and at least one draw.
    shown : Shown
    records : list of dict
        The fitted attributes that every chain has for itself.

    Attributes
    ----------
    corpus : Corpus
    states : list of ChainState
    draws : list of KeptDraws
    priors : list of Priors
        Those of the draws of every chain.
    shares : list of ndarray of shape (n_draws, n_components)
        Shares of the tokens in the draws of small parameters of every chain; present ones if it has kept none.
    share_sweeps : list of list of int
        The sweeps of these draws.
    means : list of PosteriorMeans
        Of every chain. Those of the fitted estimator have no topics and proportions of the chain that is kept, because
        ``components_`` and ``doc_topic_`` have them.
    orders : list of ndarray of shape (n_components,)
        The topics of every chain that belong to those of the kept chain.
    stability : dict
        The fitted attributes that compare chains; empty with one chain.
    """

    continues = True

    def __init__(self, chains, shown, records):
        self.corpus, self.sampler = chains[0].corpus, chains[0].sampler
        self.states, self.draws, self.records = [_compact(each) for each in chains], shown.draws, records
        parameters = [each.parameter_draws() for each in chains]
        self.share_sweeps = [[draw.sweep for draw in own] for own in parameters]
        self.shares = [
            topics(np.array([draw.values["topic_share"] for draw in own]))
            for own, topics in zip(parameters, shown.topics, strict=True)
        ]
        super().__init__(self.states, max(each.n_burn_in for each in self.states), shown.best)

    @property
    def priors(self):
        return [each.priors for each in self.draws]

    @cached_property
    def _alpha(self):
        """See `missing_information`, for the kept chain."""
        return missing_information(self.corpus, self.draws[self.best])

    @property
    def _has_weak_alpha(self):
        return self._alpha[0] > MUCH_MISSING

    def warn_of_weak_alpha(self):
        """Warn if words say too little about a learnt alpha."""
        missing, _ = self._alpha
        if self._has_weak_alpha:
            warn(
                "The learnt alpha may be far from its most likely value: words have only "
                f"{100 * (1 - min(missing, 1)):.0f} % of the information about it that the topics of all tokens would "
                "have. Gibbs-EM then takes thousands of sweeps. Give doc_topic_prior, use fewer topics, or use "
                "EmpiricalBayesLDA, which states the errors of its priors.",
                ConvergenceWarning,
            )

    def signs_of_short_fit(self, learns_alpha):
        """What says that the kept chain had too few sweeps, beside its log joint."""
        signs = []
        if any(step.n_moves for step in self.states[self.best].steps if not step.settled()):
            signs.append(
                "Merging some topics and splitting others still led to better topics at the end of the burn-in, so "
                "some topics may be two in one, and others copies of each other."
            )
        to_come = self._alpha[1] if learns_alpha and not self._has_weak_alpha else 0
        if abs(to_come) > FAR:
            signs.append(
                f"The learnt alpha is too {'small' if to_come > 0 else 'large'}: its sum should be about "
                f"{np.exp(to_come):.2g} times as large."
            )
        return signs

    def estimate(self, method, n_jobs):
        """Compute the means. This takes the time of some sweeps."""
        tasks = []
        for state, draws in zip(self.states, self.draws, strict=True):
            most = most_draws(method, state.n_sweeps, draws.priors.n_components)
            tasks.append((self.corpus, draws if most is None else draws.last(most), method))
        self.means = in_parallel(posterior_means, tasks, n_jobs, always_in_threads=False)
        self._compare()

    def _compare(self):
        """Match the topics of other chains to those of the kept one, and measure how near they are."""
        self.orders = [np.arange(each.priors.n_components) for each in self.draws]
        self.stability = {}
        if len(self.means) == 1:
            return
        topics = [normalised(each.components) for each in self.means]
        own_words = [
            has_own_words(each.components, draws.priors.topic_word())
            for each, draws in zip(self.means, self.draws, strict=True)
        ]
        nearest = []
        for c, other in enumerate(topics):
            if c != self.best:
                n_known = len(self.priors[self.best].weights)
                self.orders[c], distances = match_and_nearest(topics[self.best], other, own_words[c], n_known=n_known)
                nearest.append(distances)
        self.stability = stability_and_prevalence(np.array(nearest), own_words[self.best])

    def in_order(self, name, before=(...,)):
        """An entry of the record of every chain, with its topics in the order of the kept chain.

        `before` are the indices before that of the topics.
        """
        return [own[name][(*before, order)] for own, order in zip(self.records, self.orders, strict=True)]

    def topic_shares(self):
        """`shares`, with the topics of all chains in the order of the kept chain."""
        return [shares[:, order] for shares, order in zip(self.shares, self.orders, strict=True)]

    def without_means_of_kept_chain(self):
        """A copy without the topics and proportions of the kept chain, which the fitted estimator has."""
        stored = copy.copy(self)
        stored.means = list(self.means)
        stored.means[self.best] = replace(self.means[self.best], components=None, doc_topic=None)
        return stored

    def doc_topic_std(self):
        return doc_topic_std(self.corpus, self.kept_draws())

    def chains(self, topic_word, doc_topic):
        """A list of Bunch. The arguments are those of the chain that is kept."""
        found = []
        for c, (draws, means) in enumerate(zip(self.draws, self.means, strict=True)):
            kept = c == self.best
            found.append(
                Bunch(
                    topic_assignments=draws.topics[-1].copy(),
                    topic_word=(topic_word if kept else normalised(means.components)).astype(np.float32),
                    doc_topic=(doc_topic if kept else means.doc_topic).astype(np.float32),
                    **{name.removesuffix("_"): value for name, value in self.records[c].items()},
                    n_draws=len(means.topic_shares),
                    matched=self.orders[c],
                )
            )
        return found

    def sample(self, n_draws, seed):
        """theta and phi of `n_draws` draws."""
        draws, _ = self.several_draws(self.best, random.child(seed, 0))
        chains = at_draws(self.corpus, draws, n_draws)
        return sample_parameters(chains, n_draws, np.random.default_rng(seed))

    def draw_topic_word(self, n_draws, seed):
        """Iterate over draws of phi of the kept chain, (n_components, n_features)."""
        rng, (draws, _) = np.random.default_rng(seed), self.several_draws(self.best, random.child(seed, 0))
        for chain in at_draws(self.corpus, draws, n_draws):
            yield draw_topic_word(chain, rng)

    def topic_parameters(self, n_draws, seed):
        """Iterate over the Dirichlet parameters of the draws of `draw_topic_word`, (n_components, n_features)."""
        draws, _ = self.several_draws(self.best, random.child(seed, 0))
        for chain in at_draws(self.corpus, draws, n_draws):
            priors = chain.priors
            yield chain.word_topic_counts[:, : priors.n_components].T + priors.topic_word().astype(np.float64)

    def continued_chain(self, seed):
        """A chain that goes on from the last draw of the kept one at its priors, with other random numbers."""
        chain = next(at_draws(self.corpus, self.draws[self.best].last(1), 1))
        chain.restart_stream(seed)
        return chain

    def several_draws(self, c, seed):
        """Enough draws of a chain to see how they vary, and the mean of theta over them.

        The mean is None if they are those of the means of the chain. If the fit has kept too few, the chain makes
        further sweeps at the priors of its last draw.
        """
        draws = self._averaged(c)
        if len(draws) >= FEWEST_DRAWS:
            return draws, None
        draws = self.draws[c]
        if len(draws) < FEWEST_DRAWS:
            before = next(at_draws(self.corpus, draws.last(1), 1))
            state = ChainState(before.topics, random.stream(seed))
            chain = chain_class("collapsed", self.corpus, before.priors)(self.corpus, before.priors, state)
            for _ in range(_FURTHER_DRAWS):
                for _ in range(_FURTHER_BETWEEN):
                    chain.sweep()
                chain.keep_draw(_FURTHER_DRAWS)
            draws = chain.kept_draws()
        means = posterior_means(self.corpus, draws, "cgs_p")
        return draws.last(len(means.topic_shares)), means.doc_topic

    def draw_doc_topic(self, n_draws, seed, topic_word):
        """Iterate over draws of theta of all chains in turn, with the topics in the order of the kept chain.

        A draw has NaN for topics that its chain does not have, and for documents without words. `topic_word` is that of
        the kept chain.
        """
        rng, n_chains, chains = np.random.default_rng(seed), len(self.states), []
        used = np.flatnonzero(self.corpus.lengths)
        has_topics = self.has_topics(topic_word)
        for c, order in enumerate(self.orders):
            n_own = n_draws // n_chains + (c < n_draws % n_chains)
            draws, _ = self.several_draws(c, random.child(seed, c))
            chains.append((at_draws(self.corpus, draws, n_own), order))
        for i in range(n_draws):
            own, order = chains[i % n_chains]
            theta = np.full((self.corpus.n_documents, len(order)), np.nan)
            theta[used] = np.where(has_topics[i % n_chains], draw_doc_topic(next(own), rng, used)[:, order], np.nan)
            yield theta

    def has_topics(self, topic_word):
        """Which topics every chain has, (n_chains, n_components): those whose match is as near as `SAME_TOPIC`.

        The argument is that of the kept chain, which has all.
        """
        found = np.ones((len(self.states), len(topic_word)), bool)
        for c, (means, order) in enumerate(zip(self.means, self.orders, strict=True)):
            if c != self.best:
                own = normalised(means.components)[order]
                found[c] = jensen_shannon_pairs(topic_word, own) <= SAME_TOPIC
        return found

    def kept_draws(self):
        return self._averaged(self.best)

    def _averaged(self, c):
        """The draws of a chain that its means have."""
        return self.draws[c].last(len(self.means[c].topic_shares))


class ChainAttributes:
    """Fitted attributes of Gibbs chains. Some are computed on access, so that a fit needs no memory for them."""

    topic_word_: np.ndarray
    doc_topic_: np.ndarray
    topic_share_: np.ndarray
    topic_share_std_: np.ndarray
    _results_: ChainResults

    def _set_chain_results(self, results):
        """Set the attributes that all models of Gibbs chains have, from `ChainResults` with means."""
        best, means = results.best, results.means
        shares = [each.topic_shares[:, order] for each, order in zip(means, results.orders, strict=True)]
        vars(self).update(results.records[best])
        if "prior_trace_" in results.records[best]:
            self.prior_trace_: np.ndarray = in_rows([each["prior_trace_"] for each in results.records])
        self.components_: np.ndarray = means[best].components
        self.doc_topic_ = means[best].doc_topic
        self.n_draws_: int = len(means[best].topic_shares)
        self.topic_share_, self.topic_share_std_ = shares_with_std(shares[best], shares)
        vars(self).update(results.stability)
        self.topic_assignments_: np.ndarray = results.draws[best].topics[-1].astype(np.int32)
        self.sampler_: str = results.sampler
        self._fingerprint_ = results.corpus.fingerprint
        self._used_tokens_ = results.corpus.lengths
        set_traces(self, results)
        self._results_ = results.without_means_of_kept_chain()

    @cached_property
    def doc_topic_std_(self) -> np.ndarray:
        """Posterior standard deviations of the topic proportions, (n_documents, n_components) float32."""
        return self._results_.doc_topic_std()

    @property
    def chains_(self) -> list[Bunch]:
        """The results of every chain, a list of Bunch."""
        return self._results_.chains(self.topic_word_, self.doc_topic_)

    @property
    def _chains(self):
        return self._results_

    def _sample_posterior(self, n_draws, seed):
        return self._results_.sample(n_draws, seed)

    def _draw_topic_word(self, n_draws, seed):
        return self._results_.draw_topic_word(n_draws, seed)

    def _knowledge_of_draws(self, corpus):
        keys = self._results_.corpus.document_keys(0)
        is_new = ~np.isin(corpus.document_keys(0), keys)
        return {"parameters": self._results_.topic_parameters, "is_new": is_new}

    def _draw_doc_topic(self, n_draws, seed):
        return self._results_.draw_doc_topic(n_draws, seed, self.topic_word_)

    def _has_topics(self):
        return self._results_.has_topics(self.topic_word_)


def most_draws(method, n_sweeps, n_components):
    """The largest number of draws of a chain in its means, or None."""
    return max(n_sweeps * _TOPICS_EACH // n_components, 1) if method == "cgs_p" else None


def total_variance(means, variances):
    """Variance over chains: the mean of their variances, and the variance of their means if there are several.

    The values of a chain that are NaN do not count. One chain at least has a number.
    """
    known = ~np.isnan(means)
    n = known.sum(axis=0)
    deviations = np.where(known, means - np.nansum(means, axis=0) / n, 0)
    return np.nanmean(variances, axis=0) + (deviations**2).sum(axis=0) / np.maximum(n - 1, 1)


def set_traces(estimator, results):
    """Set the fitted attributes of the traces of `RunResults`."""
    estimator.log_joint_trace_ = results.traces["log_joint"]
    estimator.traces_ = results.traces
    estimator.diagnostics_ = results.diagnostics
    estimator.n_iter_ = results.traces["log_joint"].shape[1]
    estimator.n_burn_in_ = results.n_burn_in
    estimator.best_chain_ = results.best


def warn_of_short_fit(estimator, n_tokens, signs=()):
    """Warn if the log joint of the kept chain still rises, or if there are other signs of too few sweeps."""
    trace = estimator.log_joint_trace_[estimator.best_chain_]
    found = clear_rise(trace[~np.isnan(trace)], estimator.n_burn_in_)
    more = "more sweeps"
    if found is not None and found[0] > LEAST_RISE * n_tokens:
        rise, n_sweeps = found
        signs = [f"The log joint still rises, by {_two_digits(rise)} nats after the burn-in.", *signs]
        more = f"about {_two_digits(n_sweeps)} sweeps"
    if signs:
        warn(f"The fit has too few sweeps. {' '.join(signs)} Fit with {more}.", ConvergenceWarning)


def _two_digits(value):
    return f"{float(f'{value:.2g}'):,.0f}"


def shares_with_std(kept, chains):
    """Shares of the topics and their standard deviations.

    They come from draws of the shares in the kept chain and in all chains, (n_draws, n_components) each.
    """
    return kept.mean(axis=0), std_of_proportions(variance_around_mean(chains))


def _compact(chain):
    """The state of a chain, whose topics are the last draw itself if they are equal."""
    state = chain.state()
    topics = compact_topics(state.topics, chain.priors.n_components)
    if state.draws and np.array_equal(state.draws[-1].topics, topics):
        topics = state.draws[-1].topics
    return replace(state, topics=topics)


def normalised(components):
    return components / components.sum(axis=1, keepdims=True, dtype=np.float64)
