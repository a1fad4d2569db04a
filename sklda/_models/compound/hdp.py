"""The step of the hierarchical Dirichlet process, truncated at K topics: the mixtures and the concentrations.

Teh, Jordan, Beal & Blei (2006), by the weak limit (section 2.3 there; Ishwaran & Zarepour 2002):

    pi_0 ~ Dir(a / K, ..., a / K),  pi_j ~ Dir(b pi_0),  theta_d ~ Dir(gamma pi_j),

and with one collection pi_1 = pi_0. A sweep draws z given the mixtures. Then the step draws the tables of the documents
and of the collections, the concentrations given the tables, and the mixtures given both.
"""

import numpy as np

from sklda._core import random
from sklda._models.compound.concentrations import (
    draw_collection_concentration,
    draw_doc_concentration,
    draw_topic_concentration,
    draw_upper_tables,
)
from sklda._sampling.mixture_step import document_prior
from sklda._sampling.topics_in_use import TopicsInUse, of_shares, topic_counts

# What a chain records after every sweep, by the names in `traces_`.
RECORDED = ("topic_count", "large_topic_count", "topic_concentration", "collection_concentration", "doc_concentration")


class HDPMixtures(TopicsInUse):
    """Draws the mixtures of both levels, so that a chain has the target p(z, pi_0, pi, a, b, gamma | w, eta).

    Parameters
    ----------
    model : CompoundModel
    concentrations : Concentrations
    seed : numpy.random.SeedSequence
        See `MixtureStep`.
    n_components : int
        The number at which the process is truncated, K.

    Attributes
    ----------
    alpha : float
        a / K.
    b : float
    records : list of tuple
        The quantities of `RECORDED` after every sweep.
    """

    merging_share = 0.4

    def __init__(self, model, concentrations, seed, n_components):
        given = concentrations
        super().__init__(model.collections, model.n_collections, seed, n_components, given.doc.first)
        self.concentrations, self.alpha, self.b = given, given.topic.first / n_components, given.collection.first
        self.traces_priors = model.learn_eta or bool(given.doc.prior)

    def after(self, chain, stop):
        """Change the numbers of topics, merge topics in some sweeps, and draw the mixtures and the concentrations."""
        self._renumber(chain, self._used_before)
        if self.merges_after(chain):
            tables = base_tables = self.draw_tables(chain)
            if len(tables) > 1:
                rng = np.random.default_rng(random.child(self.seed, chain.n_sweeps, 0))
                base_tables = draw_upper_tables(rng, self._opened(tables), tables)
            self.merge(chain, tables, base_tables.sum(axis=0), stop)
        self.draw_mixtures(chain, np.random.default_rng(random.child(self.seed, chain.n_sweeps)))
        self.records.append((*topic_counts(chain), self.alpha * len(self.log_base), self.b, self.gamma))
        self.trace_priors(chain)
        self.set_alpha(chain)

    def traces(self):
        values = np.reshape(self.records, (-1, len(RECORDED)))
        several = len(self.log_pi) > 1
        return {name: values[:, i] for i, name in enumerate(RECORDED) if several or name != "collection_concentration"}

    def _opened(self, tables):
        """The concentration with which each cell of `tables` opens tables of the upper level."""
        return np.broadcast_to(document_prior(self.b, np.exp(self.log_base)), tables.shape)

    def gains_of_shares(self, first, second, n_used, base_tables):
        K, base = len(self.log_base), np.exp(self.log_base)
        gains = of_shares(first, second, np.full(K, self.alpha), base_tables, base)
        # The prior of one topic more, a / K for each number that it can have.
        return gains - np.log(self.alpha * (K - n_used + 1))

    def draw_mixtures(self, chain, rng):
        """Draw the concentrations and the mixtures given z."""
        given, tables, lengths = self.concentrations, self.draw_tables(chain), chain.corpus.distinct_lengths
        K = len(self.log_base)
        if given.doc.prior:
            total = tables.sum()
            self.gamma = draw_doc_concentration(rng, self.gamma, given.doc.prior, total, *lengths)
        several, upper = len(tables) > 1, tables[0]
        if several:
            if given.collection.prior:
                base = np.exp(self.log_base)
                self.b = draw_collection_concentration(rng, self.b, given.collection.prior, tables, base)
            upper = draw_upper_tables(rng, self._opened(tables), tables).sum(axis=0)
        if given.topic.prior:
            self.alpha = draw_topic_concentration(rng, self.alpha * K, given.topic.prior, upper) / K
        self.log_base = random.log_dirichlet(rng, (self.alpha + upper)[None])[0]
        if several:
            self.log_pi = random.log_dirichlet(rng, document_prior(self.b, np.exp(self.log_base)) + tables)
        else:
            self.log_pi = self.log_base[None].copy()
