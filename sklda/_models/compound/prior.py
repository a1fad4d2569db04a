"""The prior of documents of compound LDA: a mixture of the topics for each collection."""

from __future__ import annotations

from functools import partial

import numpy as np

from sklda._core.priors import SMALLEST
from sklda._models.compound.concentrations import Concentrations
from sklda._models.compound.gamma import GammaMStep
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.mixtures import Mixtures
from sklda._models.compound.model import CompoundModel
from sklda._models.compound.results import (
    check_same_collections,
    corpus_mixture,
    hdp_attributes,
    mixtures_of_chains,
    warn_of_smallest_eta,
    warn_of_truncation,
    warn_of_unsettled_count,
)
from sklda._sampling.draws import variance_of_draws
from sklda._sampling.mixture_step import document_prior, draws_of_topics
from sklda._sampling.prior_of_documents import PriorOfDocuments, Shown
from sklda._sampling.run_chains import best_chain
from sklda._sampling.some_topics import SomeTopicsChain


class CollectionMixtures(PriorOfDocuments):
    """The proportions of a document of collection j are Dirichlet(gamma pi_j), and pi_j is Dirichlet(alpha).

    Parameters
    ----------
    labels : ndarray of shape (n_collections,)
    model : CompoundModel
    n_components : int
    """

    alpha_moves = True
    # The step that draws the mixtures.
    kind: type = Mixtures

    def __init__(self, labels, model, n_components):
        self.labels, self.model, self.n_components = labels, model, n_components
        self.alpha = max(model.gamma / n_components, SMALLEST)
        self.n_rows = len(labels)
        self.m_step = GammaMStep() if model.learn_gamma else None

    def steps(self, seed):
        return [self.kind(self.model, seed, self.n_components)]

    def check_continues(self, before):
        check_same_collections(self.labels, self.model.collections, before.labels, before.model.collections)

    def facts(self):
        return {"collections_": self.labels, "_collection_of_": self.model.collections}

    def chain_attributes(self, chain, draws, topics):
        return self._mixture_attributes(chain, topics) | {
            "collection_topic_prior_": chain.step(Mixtures).alpha_mean(chain),
            "doc_concentration_": float(draws.added("gamma")[0]),
        }

    def _mixture_attributes(self, chain, topics):
        """Mean, standard deviation and draws of the mixtures of a chain, and the path of its priors."""
        step = chain.step(self.kind)
        draws = topics(np.array([draw.values["mixtures"] for draw in chain.parameter_draws()]))
        mean = draws.mean(axis=0)
        record = {
            "collection_topic_": mean / mean.sum(axis=1, keepdims=True),
            "collection_topic_std_": np.sqrt(variance_of_draws(draws)),
            "collection_topic_draws_": draws,
        }
        if step.traces_priors:
            record["prior_trace_"] = np.reshape(step.prior_trace, (-1, 2))
        return record

    def attributes(self, results):
        mixtures = mixtures_of_chains(results)
        weights = corpus_mixture(mixtures["collection_topic_"], self.model.collections, results.corpus)
        gamma = results.records[results.best]["doc_concentration_"]
        return mixtures | {"corpus_topic_": weights, "doc_topic_prior_": document_prior(gamma, weights)}


class ProcessMixtures(CollectionMixtures):
    """That of the hierarchical Dirichlet process: pi_j is Dirichlet(b pi_0), and pi_0 is Dirichlet(a / K, ...).

    Parameters
    ----------
    labels : ndarray of shape (n_collections,)
    collections : ndarray of shape (n_documents,), int64
    concentrations : Concentrations
    n_components : int
    learns_eta : bool
        Whether eta is learnt in it.
    """

    merges = True
    chains = SomeTopicsChain
    kind = HDPMixtures

    def __init__(
        self,
        labels: np.ndarray,
        collections: np.ndarray,
        concentrations: Concentrations,
        n_components: int,
        learns_eta: bool,
    ) -> None:
        first = concentrations.topic.first / n_components, concentrations.doc.first
        model = CompoundModel(collections, len(labels), *first, learn_eta=learns_eta)
        super().__init__(labels, model, n_components)
        self.concentrations = concentrations

    def steps(self, seed):
        return [HDPMixtures(self.model, self.concentrations, seed, self.n_components)]

    def shown(self, chains):
        """All chains have the same topics: up to the last one of a draw, and one for all others, if any."""
        kept = [chain.kept_draws() for chain in chains]
        last = max(int(z.max(initial=0)) for draws in kept for z in draws.topics)
        topics = partial(_with_rest, n=min(last + 2, self.n_components))
        return Shown(best_chain(chains), [draws_of_topics(draws, topics) for draws in kept], [topics] * len(chains))

    def chain_attributes(self, chain, draws, topics):
        return self._mixture_attributes(chain, topics) | {"doc_concentration_": float(draws.added("gamma").mean())}

    def attributes(self, results):
        found = super().attributes(results) | hdp_attributes(results)
        return found | {"doc_topic_prior_": document_prior(found["doc_concentration_"], found["corpus_topic_"])}

    def warn(self, results, fitted):
        if self.model.learn_eta:
            warn_of_smallest_eta(results)
        warn_of_truncation(results, self.n_components)
        warn_of_unsettled_count(results)


def _with_rest(values: np.ndarray, n: int) -> np.ndarray:
    """The first topics on the last axis, and the sum of all others as topic n."""
    if n == values.shape[-1]:
        return values
    return np.concatenate([values[..., : n - 1], values[..., n - 1 :].sum(axis=-1, keepdims=True)], axis=-1)
