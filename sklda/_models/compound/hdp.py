"""The step of the hierarchical Dirichlet process, truncated at K topics: the mixtures and the concentrations.

Teh, Jordan, Beal & Blei (2006), by the weak limit (section 2.3 there; Ishwaran & Zarepour 2002):

    pi_0 ~ Dir(a / K, ..., a / K),  pi_j ~ Dir(b pi_0),  theta_d ~ Dir(gamma pi_j),

and with one collection pi_1 = pi_0. A sweep draws z given the mixtures. Then the step draws the tables of the documents
and of the collections, the concentrations given the tables, and the mixtures given both.
"""

import dataclasses

import numpy as np

from sklda._core import random
from sklda._models.compound.concentrations import (
    draw_collection_concentration,
    draw_doc_concentration,
    draw_topic_concentration,
    draw_upper_tables,
)
from sklda._models.compound.hyperparameters import document_prior
from sklda._models.compound.topics_in_use import TopicsInUse, of_shares, used
from sklda._sampling.chain import compact_topics
from sklda._sampling.draws import variance_of_draws

# The share of tokens that the large topics hold together.
LARGE_SHARE = 0.99
# What a chain records after every sweep, by the names in `traces_`.
RECORDED = ("topic_count", "large_topic_count", "topic_concentration", "collection_concentration", "doc_concentration")


class HDPMixtures(TopicsInUse):
    """Draws the mixtures of both levels, so that a chain has the target p(z, pi_0, pi, a, b, gamma | w, eta).

    Parameters
    ----------
    model : CompoundModel
    concentrations : Concentrations
    seed : numpy.random.SeedSequence
        See `Mixtures`.
    n_components : int
        The number at which the process is truncated, K.

    Attributes
    ----------
    b : float
    records : list of tuple
        The quantities of `RECORDED` after every sweep.
    n_shown : int or None
        The number of topics of draws and moments that are given to others: the first ones, and the sum of all others as
        the last one. None: all topics.
    """

    merging_share = 0.4
    n_shown = None

    def __init__(self, model, concentrations, seed, n_components):
        given = concentrations
        super().__init__(model, seed, n_components, given.topic.first / n_components, given.doc.first)
        self.concentrations, self.b = given, given.collection.first

    @property
    def traces_priors(self):
        return self.model.learn_eta or bool(self.concentrations.doc.prior)

    def after(self, chain, stop):
        """Change the numbers of topics, merge topics in some sweeps, and draw the mixtures and the concentrations."""
        self._renumber(chain, self._used_before)
        if self.merges_after(chain):
            tables = base_tables = self.draw_tables(chain)
            if len(tables) > 1:
                rng = np.random.default_rng(random.child(self.seed, chain.n_sweeps, 0))
                base_tables = draw_upper_tables(rng, self._opened(tables), tables)
            self.merge(chain, tables, base_tables.sum(axis=0), stop)
        super().after(chain, stop)

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

    def move(self, chain, rng):
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
        self.records.append((*topic_counts(chain), self.alpha * K, self.b, self.gamma))

    def shown(self, draws):
        mixtures, gamma = self.shown_topics(draws.added("mixtures")), draws.draws[-1].added["gamma"]
        K = mixtures.shape[-1]
        shown = [
            draw._replace(topics=compact_topics(draw.topics, K), added=draw.added | {"mixtures": pi})
            for draw, pi in zip(draws.draws, mixtures, strict=True)
        ]
        priors = dataclasses.replace(draws.priors.resized(K), doc=document_prior(gamma, mixtures[-1]))
        return dataclasses.replace(draws, priors=priors, draws=shown)

    def mean_and_std(self, kept):
        mean, std = (self.shown_topics(values) for values in super().mean_and_std(kept))
        if self.n_shown not in (None, self.log_pi.shape[1]):
            # The variance of a sum is not the sum of variances.
            std[:, -1] = np.sqrt(variance_of_draws([pi[:, -1] for pi in kept] or [[0.0]]))
        return mean, std

    def shown_topics(self, mixtures):
        """The columns of the topics that are shown, the last one the sum of all others."""
        n, K = self.n_shown, mixtures.shape[-1]
        if n is None or n == K:
            return mixtures
        rest = mixtures[..., n - 1 :].sum(axis=-1, keepdims=True)
        return np.concatenate([mixtures[..., : n - 1], rest], axis=-1)


def topic_counts(chain):
    """The number of topics with tokens, and of the largest ones that hold `LARGE_SHARE` of all tokens."""
    held = np.cumsum(np.sort(chain.topic_totals)[::-1])
    return np.count_nonzero(used(chain)), int(np.searchsorted(held, LARGE_SHARE * held[-1])) + 1


def show_in_common(chains):
    """Give all chains the same number of shown topics: up to the last one of a draw, and one for the others, if any."""
    for chain in chains:
        chain.step(HDPMixtures).n_shown = None
    last = max(int(z.max(initial=0)) for chain in chains for z in chain.kept_draws().topics)
    for chain in chains:
        chain.step(HDPMixtures).n_shown = min(last + 2, chain.priors.n_components)
