"""The prior of documents of compound LDA: a mixture of the topics for each collection."""

from __future__ import annotations

import numpy as np

from sklda._core.priors import SMALLEST
from sklda._models.compound.hyperparameters import document_prior
from sklda._models.compound.mixtures import GammaMStep, Mixtures
from sklda._models.compound.results import check_same_collections, corpus_mixture, mixtures_of_chains
from sklda._sampling.prior_of_documents import PriorOfDocuments


class CollectionMixtures(PriorOfDocuments):
    """The proportions of a document of collection j are Dirichlet(gamma pi_j), and pi_j is Dirichlet(alpha).

    Parameters
    ----------
    labels : ndarray of shape (n_collections,)
    model : CompoundModel
    n_components : int
    kind : type
        The step that draws the mixtures.
    """

    alpha_moves = True

    def __init__(self, labels, model, n_components, kind=Mixtures):
        self.labels, self.model, self.n_components, self.kind = labels, model, n_components, kind
        self.alpha = max(model.gamma / n_components, SMALLEST)
        self.n_rows = len(labels)
        self.m_step = GammaMStep() if model.learn_gamma else None

    def steps(self, seed):
        return [self.kind(self.model, seed, self.n_components, self.model.alpha, self.model.gamma)]

    @property
    def changes(self):
        return True

    def check_continues(self, before):
        check_same_collections(self.labels, self.model.collections, before.labels, before.model.collections)

    def facts(self):
        return {"collections_": self.labels, "_collection_of_": self.model.collections}

    def record(self, chain, draws):
        step = chain.step(Mixtures)
        mean, std = step.mixtures()
        record = {
            "collection_topic_": mean,
            "collection_topic_std_": std,
            "collection_topic_draws_": np.reshape(
                [each.values["mixtures"] for each in chain.parameters], (-1, *mean.shape)
            ),
            "collection_topic_prior_": step.alpha_mean(),
            "doc_concentration_": float(draws.added("gamma")[0]),
        }
        if self.model.changes_priors:
            record["prior_trace_"] = np.reshape(step.prior_trace, (-1, 2))
        return record

    def attributes(self, results):
        mixtures = mixtures_of_chains(results)
        weights = corpus_mixture(mixtures["collection_topic_"], self.model.collections, results.corpus)
        gamma = results.records[results.best]["doc_concentration_"]
        return mixtures | {"corpus_topic_": weights, "doc_topic_prior_": document_prior(gamma, weights)}
