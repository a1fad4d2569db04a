"""The prior of documents whose topics have unknown shares and an unknown, finite number; and what a fit says of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from sklearn.exceptions import ConvergenceWarning

from sklda._core import random
from sklda._core.corpus import tally
from sklda._core.distances import jensen_shannon
from sklda._core.same_topics import SAME_TOPIC
from sklda._core.word_information import dependence_on_documents
from sklda._input.warn import warn
from sklda._models.results import TAILS
from sklda._models.topic_count.count_modes import weights_of
from sklda._models.topic_count.count_prior import CountPrior
from sklda._models.topic_count.finite_mixtures import FiniteMixtures
from sklda._models.topic_count.finite_prior import FinitePrior
from sklda._sampling.chain import KeptDraws
from sklda._sampling.mixture_step import draws_of_topics
from sklda._sampling.prior_of_documents import PriorOfDocuments, Shown
from sklda._sampling.run_chains import best_chain
from sklda._sampling.some_topics import SomeTopicsChain

# The fit warns of a posterior probability at an end of the range that is larger than this.
_LARGE = 0.1
# It warns if words depend on documents by more standard deviations than this. Under the model, one corpus in 30,000
# does.
_DEVIATES, _FEWEST_SWEEPS = 4, 50


class NumberOfTopics(PriorOfDocuments):
    """Proportions are Dirichlet(gamma pi), pi is Dirichlet(g, ..., g) for T topics, and T has a prior.

    Parameters
    ----------
    n_documents : int
    range_of_counts : CountPrior
    finite : FinitePrior
    """

    merges = True
    chains = SomeTopicsChain

    def __init__(self, n_documents: int, range_of_counts: CountPrior, finite: FinitePrior) -> None:
        self.n_documents, self.range_of_counts, self.finite = n_documents, range_of_counts, finite
        self.n_components = int(finite.counts[-1])

    def steps(self, seed):
        return [FiniteMixtures(self.n_documents, seed, self.n_components, self.finite)]

    def shown(self, chains):
        """The posterior of T, and draws with the most likely number of topics."""
        steps, counts = [chain.step(FiniteMixtures) for chain in chains], self.finite.counts
        drawn = [
            step.traces()["topic_count"][-max(chain.n_sweeps - chain.n_burn_in, 1) :].astype(int)
            for step, chain in zip(steps, chains, strict=True)
        ]
        posterior = _posterior_of(steps)
        if not posterior.any():
            # Callbacks see a fit before the end of the burn-in.
            posterior = np.bincount(np.searchsorted(counts, np.concatenate(drawn)), minlength=len(counts))
        if len(counts) > 1 and not steps[0].is_exact(chains[0]) and not any(step.modes for step in steps):
            posterior = _spread(counts, posterior, _variance_between(chains))
        posterior = posterior / posterior.sum()
        # The most likely number of topics of a stored draw, so that there are topics.
        kept = [chain.kept_draws() for chain in chains]
        stored = {draw.added["n_topics"] for draws in kept for draw in draws.draws}
        chosen = max(stored, key=lambda T: posterior[np.searchsorted(counts, T)])
        alike = [_draws_alike(draws, chosen) for draws in kept]
        labels = [_by_size(draws, chosen) for draws in alike]
        # The chain with the highest log joint of those that have a draw with so many topics.
        own = [c for c, draws in enumerate(alike) if draws.draws[-1].added["n_topics"] == chosen]
        return Shown(
            best=own[best_chain([chains[c] for c in own])],
            draws=[_in_order(draws, each) for draws, each in zip(alike, labels, strict=True)],
            topics=[lambda values, each=each: values[..., each] for each in labels],
            attributes={
                "topic_counts_": counts,
                "topic_count_posterior_": posterior,
                "topic_count_draws_": np.concatenate(drawn),
                "topic_count_interval_": _interval(counts, posterior),
                "n_components_": int(chosen),
            },
        )

    def chain_attributes(self, chain, draws, topics):
        shares = draws.added("mixtures")[:, 0]
        return {
            "corpus_topic_": shares.mean(axis=0),
            "corpus_topic_std_": shares.std(axis=0),
            "doc_topic_prior_": draws.mean_priors().doc[0].copy(),
        }

    def attributes(self, results):
        after = {name: values[:, results.n_burn_in :].ravel() for name, values in results.traces.items()}
        low, high = np.nanquantile(after["few_tokens_count"], TAILS, method="inverted_cdf")
        topics = results.states[results.best].topics
        check = dependence_on_documents(results.corpus, topics, int(topics.max(initial=0)) + 1, random.seed_sequence(0))
        return {
            "few_tokens_interval_": (int(low), int(high)),
            "share_concentration_": float(np.exp(np.nanmean(np.log(after["share_concentration"])))),
            "doc_concentration_": float(np.nanmean(after["doc_concentration"])),
            "model_check_z_": check,
        }

    def warn(self, results, fitted):
        """Warn of a range that is too small, and of a model that does not fit."""
        counts, posterior = self.finite.counts, fitted["topic_count_posterior_"]
        interval, check, n_burn_in = fitted["topic_count_interval_"], fitted["model_check_z_"], results.n_burn_in
        cut_off = len(counts) > 1 and posterior[-1] > _LARGE and self.range_of_counts.cuts_off(int(counts[-1]) + 1)
        if cut_off:
            warn(
                f"p(T | w) is {posterior[-1]:.2g} at the end of the range, {counts[-1]} topics: "
                "larger numbers may be more likely. Raise max_components.",
                ConvergenceWarning,
            )
        if len(counts) > 1 and posterior[0] > _LARGE and self.range_of_counts.cuts_off(int(counts[0]) - 1):
            warn(
                f"p(T | w) is {posterior[0]:.2g} at the start of the range, {counts[0]} topics: "
                "smaller numbers may be more likely. Lower min_components.",
                ConvergenceWarning,
            )
        # With fewer topics than the corpus has, and in a chain that has hardly begun, words depend on documents in any
        # case.
        if not cut_off and n_burn_in >= _FEWEST_SWEEPS and is_burst(check):
            warn(
                f"The words of the topics depend on the documents by {check:.0f} standard deviations "
                "more than the model allows, as they do if a word that occurs in a document is likely to occur there "
                f"again. topic_count_interval_, {interval}, is how many topics describe such texts best, not how many "
                "subjects they have. See sklda.inspection.topic_check."
            )


def _posterior_of(steps):
    """p(T | w): of all chains alike, or of all modes by their evidence."""
    modes = [mode for step in steps for mode in step.modes]
    if not modes:
        return sum(step.posterior for step in steps)
    modes += [step.last_mode for step in steps if step.last_mode is not None]
    return sum(weight * mode.posterior for weight, mode in zip(weights_of(modes), modes, strict=True))


def _variance_between(chains):
    """The variance of the number of topics between chains that end in different modes.

    If each of some topics is found by a chain with a probability p of its own, independently, this is the sum of
    p (1 - p). So large is the mean number of topics that one chain has, and another one has not.
    """
    distributions = []
    for chain in chains:
        counts = chain.word_topic_counts[:, np.flatnonzero(chain.topic_totals)].T + chain.priors.word
        distributions.append(counts / counts.sum(axis=1, keepdims=True))
    numbers = []
    for a, b in combinations(distributions, 2):
        same = csr_array(jensen_shannon(a, b, dtype=np.float32) <= SAME_TOPIC)
        n_same = np.count_nonzero(maximum_bipartite_matching(same) >= 0)
        numbers.append((len(a) + len(b)) / 2 - n_same)
    return np.mean(numbers or [0.0])


def _spread(counts, posterior, variance):
    """The posterior with a variance of T added, normal and within the possible numbers.

    What is at an end of these stays there: a chain that wants to go on does not say how far, and the fit warns.
    """
    parts = np.exp(-((counts[:, None] - counts) ** 2) / (2 * max(variance, 1e-3)))
    parts[:, [0, -1]] = np.eye(len(counts))[:, [0, -1]]
    return parts / parts.sum(axis=0) @ posterior


def _draws_alike(draws: KeptDraws, n_topics: int) -> KeptDraws:
    """Those draws that have a number of topics, or else the nearest one, and the same topics with tokens as most."""
    counts = np.array([draw.added["n_topics"] for draw in draws.draws])
    chosen = np.flatnonzero(np.abs(counts - n_topics) == np.abs(counts - n_topics).min())
    kinds = {i: (tally(draws.topics[i], draws.priors.n_components) > 0).tobytes() for i in chosen.tolist()}
    # Later draws come first.
    most = max(reversed(kinds.values()), key=list(kinds.values()).count)
    return replace(draws, draws=[draws.draws[i] for i, kind in kinds.items() if kind == most])


def _by_size(draws: KeptDraws, n_topics: int) -> np.ndarray:
    """The topics of these draws, the largest first; the last ones may be without tokens."""
    sizes = sum(tally(z, draws.priors.n_components) for z in draws.topics)
    return np.lexsort((-draws.draws[-1].added["mixtures"][0], -sizes))[: max(n_topics, np.count_nonzero(sizes))]


def _in_order(draws: KeptDraws, labels: np.ndarray) -> KeptDraws:
    """The draws with only these topics, in this order, and their priors."""
    place = np.zeros(draws.priors.n_components, np.int32)
    place[labels] = np.arange(len(labels))
    found = draws_of_topics(draws, lambda values: values[..., labels], place)
    if found.draws[-1].added["eta"] is None:
        return found
    return replace(found, priors=found.priors.with_eta(found.added("eta").mean(axis=0)))


def is_burst(check: float) -> bool:
    """Whether words depend on documents by more than the model allows, with `model_check_z_`."""
    return check > _DEVIATES


def _interval(counts, probability):
    """Smallest and largest count after a probability of at most 0.025 is cut from either end."""
    low = np.argmax(np.cumsum(probability) > TAILS[0])
    high = len(counts) - 1 - np.argmax(np.cumsum(probability[::-1]) > TAILS[0])
    return int(counts[low]), int(counts[high])
