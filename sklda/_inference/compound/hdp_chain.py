"""The Markov chain of the hierarchical Dirichlet process, truncated at K topics: z, the mixtures, the concentrations.

Teh, Jordan, Beal & Blei (2006), by the weak limit (section 2.3 there; Ishwaran & Zarepour 2002):

    pi_0 ~ Dir(a / K, ..., a / K),  pi_j ~ Dir(b pi_0),  theta_d ~ Dir(gamma pi_j),

and with one collection pi_1 = pi_0. A sweep draws z given the mixtures, then the tables of the documents and of the
collections, the concentrations given the tables, and the mixtures given both.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.compound import concentrations as steps
from sklda._inference.compound.chain import CompoundChain, CompoundDraws, CompoundState
from sklda._inference.compound.merge_pass import merged_numbers
from sklda._inference.compound.priors import document_prior
from sklda._inference.corpus import Corpus, count_tokens
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.priors import Priors, padded
from sklda._inference.sampling.collapsed import ChainState, GibbsChain, compact_topics
from sklda._inference.sampling.count_rows import CountRows
from sklda._inference.sampling.draws import variance_of_draws
from sklda._kernels import LANES

# The share of tokens that the large topics hold together.
LARGE_SHARE = 0.99
# The largest sum of a mixture over the topics that a sweep leaves out, times the number of documents. A document opens
# about gamma tables for each unit of it, so a sweep misses about gamma times this many of the tables that a full sweep
# opens. It affects the time of a sweep and the mixing, not the distribution.
_LEFT_OUT = 0.1
# The number of topics of a sweep is a multiple of this one: a vector takes as long as a part of it.
_WHOLE = LANES
# Sweeps between two merge passes, or fewer for this number of passes: a pass merges at most half of the topics.
_MERGE_EVERY, _PASSES = 10, 10
# What a chain records after every sweep, by the names in `traces_`.
RECORDED = ("topic_count", "large_topic_count", "topic_concentration", "collection_concentration", "doc_concentration")


@dataclass(frozen=True, eq=False)
class HDPState(CompoundState):
    """A `CompoundState`, and the state of the upper levels.

    Attributes
    ----------
    log_base : ndarray of shape (n_components,)
        Logarithm of pi_0.
    b : float
    records : tuple of tuple
        The quantities of `RECORDED` after every sweep.
    """

    log_base: np.ndarray | None = None
    b: float = 1.0
    records: tuple = ()

    def more_traces(self):
        values = np.reshape(self.records, (-1, len(RECORDED)))
        several = len(self.log_pi) > 1
        return {name: values[:, i] for i, name in enumerate(RECORDED) if several or name != "collection_concentration"}


@dataclass(frozen=True, eq=False)
class HDPDraws(CompoundDraws):
    """Draws of z and of the mixtures, with gamma of each draw, (n_draws,)."""

    def _alpha(self, index):
        return document_prior(self.gamma[index], self.mixtures[index]), self.collections

    def last(self, n_draws):
        return dataclasses.replace(super().last(n_draws), gamma=self.gamma[-n_draws:])


class HDPChain(CompoundChain):
    """A chain with target p(z, pi_0, pi, a, b, gamma | w, eta), phi and theta integrated out.

    A sweep of the tokens is one over the topics with the largest shares of the mixtures only, of which there are enough
    that the others have almost no share. Given the mixtures this choice does not depend on z. The tokens of the other
    topics stay in them; every other token is drawn from its full conditional given that it is in a topic of the sweep.
    So the sweep keeps the distribution of z given the mixtures. Every topic can have a large share in a later sweep.

    In the first sweeps of the burn-in, `Model.merging`, topics are merged about ten times, see `merge_pass`.

    The topics are exchangeable, so their numbers can be changed. In the burn-in the topics with tokens have the first
    numbers, and at its end they are sorted by size. Afterwards a topic keeps its number while it has tokens, and a new
    topic takes the first number that is free.

    Parameters
    ----------
    corpus : Corpus
    priors : Priors
        Only eta is used, which the topics share.
    state : HDPState
    model : Model
        With `concentrations`.

    Attributes
    ----------
    n_shown : int or None
        The number of topics of draws and moments that are given to others: the first ones, and the sum of all others as
        the last one. None: all topics.
    """

    n_shown = None

    def __init__(self, corpus, priors, state, model):
        self.log_base, self.b, self.records = state.log_base.copy(), state.b, list(state.records)
        super().__init__(corpus, priors, state, model)

    @classmethod
    def initialise(cls, corpus, priors, seed, model, alpha, gamma, eta=None):
        """Begin with the topics of a `GibbsChain`, with uniform mixtures, and with the first concentrations."""
        given, K = model.concentrations, priors.n_components
        return super().initialise(corpus, priors, seed, model, given.topic.first / K, given.doc.first, eta)

    @classmethod
    def _first_state(cls, model, **fields):
        K = fields["log_pi"].shape[1]
        return HDPState(**fields, log_base=np.full(K, -np.log(K)), b=model.concentrations.collection.first)

    @property
    def n_topics(self):
        """The number at which the process is truncated, K."""
        return len(self.log_base)

    @property
    def used(self):
        """The topics with tokens, a mask."""
        return self.topic_totals > 0

    def recount(self):
        """Compute m_kv and m_k from z; rows end at the last topic with tokens."""
        self._n_larger, self.topic_totals[:] = None, 0
        width = padded(int(self.topics.max(initial=0)) + 1)
        self.rows = CountRows.of(self.corpus, self.topics, width, self.topic_totals)

    @property
    def word_topic_counts(self):
        counts = self.rows.dense()
        return np.pad(counts, ((0, 0), (0, self._width - counts.shape[1])))

    def _sweep_tokens(self, stop=NEVER_STOP):
        before, swept = self.used, self._swept_topics()
        column = np.full(self.priors.n_components, -1, np.int32)
        column[swept] = np.arange(len(swept))
        columns = column[self.topics]
        moves, corpus = columns >= 0, self.corpus
        some_stay = not moves.all()
        if some_stay:
            ends = np.concatenate([[0], np.cumsum(moves)])[corpus.offsets]
            corpus, columns = Corpus(corpus.words[moves], ends, corpus.n_features), columns[moves]
        alpha, no_rows = np.ascontiguousarray(self.priors.doc[:, swept]), np.empty((0, padded(len(swept))), np.float32)
        priors = Priors(alpha, self.priors.word, no_rows, self.priors.totals[swept], self.priors.row_of)
        chain = GibbsChain(corpus, priors, ChainState(columns, self.stream))
        chain.sweep(stop)
        self.stream = chain.stream
        if some_stay:
            self.topics[moves] = swept[chain.topics]
        else:
            self.topics = swept[chain.topics]
        self.n_sweeps += 1
        self.topic_totals = count_tokens(self.topics, self.priors.n_components)
        self._renumber(before)
        self.recount()
        every = max(min(_MERGE_EVERY, self.model.merging // _PASSES), 1)
        if self.n_sweeps <= self.model.merging and self.n_sweeps % every == 0:
            self._merge(stop)

    def _merge(self, stop):
        """Merge topics; the mixtures of a merged topic are the sums."""
        tables = base_tables = self.draw_tables()
        if len(tables) > 1:
            rng = np.random.default_rng(random.child(self.seed, self.n_sweeps, 0))
            base_tables = steps.draw_tables(rng, self._opened(tables), tables)
        before, number = self.used, merged_numbers(self, tables, base_tables.sum(axis=0), stop)
        gone = np.flatnonzero(number != np.arange(len(number)))
        for log_shares in (self.log_pi, self.log_base[None]):
            log_shares[:, number[gone]] = np.logaddexp(log_shares[:, number[gone]], log_shares[:, gone])
        self.topics = number[self.topics]
        self.topic_totals = count_tokens(self.topics, self.priors.n_components)
        self._renumber(before)
        self.recount()

    def _opened(self, tables):
        """The concentration with which each cell of `tables` opens tables of the upper level."""
        return np.broadcast_to(document_prior(self.b, np.exp(self.log_base)), tables.shape)

    def _swept_topics(self):
        """The topics of a sweep, ascending, int32: those with the largest shares, in whole vectors."""
        share = self.pi.max(axis=0)
        order = np.argsort(-share, kind="stable")
        # Beyond topic i of this order every mixture has at most the sum of these.
        left = np.cumsum(share[order][::-1])[::-1]
        n = np.count_nonzero(left > _LEFT_OUT / self.corpus.n_documents)
        return np.sort(order[: -(-max(n, 1) // _WHOLE) * _WHOLE]).astype(np.int32)

    def _renumber(self, before):
        """Change the numbers of topics. `before` has the topics with tokens before the sweep."""
        used, K = self.used, self.priors.n_components
        if self.n_sweeps == max(self.model.burn_in, 1):
            source = np.argsort(-self.topic_totals, kind="stable")
        else:
            n_used = np.count_nonzero(used)
            wrong = used & (np.arange(K) >= n_used) if self.n_sweeps <= self.model.burn_in else used & ~before
            # A new topic may have the first free number already.
            movers = np.flatnonzero(wrong)
            places = np.flatnonzero(~used | wrong)[: len(movers)]
            movers, places = np.setdiff1d(movers, places), np.setdiff1d(places, movers)
            source = np.arange(K)
            source[places], source[movers] = movers, places
        if (source == np.arange(K)).all():
            return
        number = np.empty(K, np.int32)
        number[source] = np.arange(K)
        self.topics = number[self.topics]
        self.log_pi, self.log_base = np.ascontiguousarray(self.log_pi[:, source]), self.log_base[source]

    def _move_mixtures(self, rng):
        given, tables, lengths = self.model.concentrations, self.draw_tables(), self.corpus.distinct_lengths
        K = len(self.log_base)
        if given.doc.prior:
            self.gamma = steps.draw_doc_concentration(rng, self.gamma, given.doc.prior, tables.sum(), *lengths)
        several, upper = len(tables) > 1, tables[0]
        if several:
            if given.collection.prior:
                base = np.exp(self.log_base)
                self.b = steps.draw_collection_concentration(rng, self.b, given.collection.prior, tables, base)
            upper = steps.draw_tables(rng, self._opened(tables), tables).sum(axis=0)
        if given.topic.prior:
            self.alpha = steps.draw_topic_concentration(rng, self.alpha * K, given.topic.prior, upper) / K
        self.log_base = random.log_dirichlet(rng, (self.alpha + upper)[None])[0]
        if several:
            self.log_pi = random.log_dirichlet(rng, document_prior(self.b, np.exp(self.log_base)) + tables)
        else:
            self.log_pi = self.log_base[None].copy()
        self.alphas.append(self.alpha)
        self.records.append((*self._topic_counts(), self.alpha * K, self.b, self.gamma))

    def _topic_counts(self):
        """The number of topics with tokens, and of the largest ones that hold `LARGE_SHARE` of all tokens."""
        held = np.cumsum(np.sort(self.topic_totals)[::-1])
        return np.count_nonzero(self.used), int(np.searchsorted(held, LARGE_SHARE * held[-1])) + 1

    def _set_doc_prior(self):
        if len(self.log_pi) > 1:
            super()._set_doc_prior()
        else:
            self.priors = dataclasses.replace(self.priors, doc=document_prior(self.gamma, self.pi))

    def last_shown(self):
        """The smallest `n_shown` of the draws: up to the last topic of a draw, and one for the others, if any."""
        last = max(int(z.max(initial=0)) for z in super().kept_draws().topics)
        return min(last + 2, self.priors.n_components)

    def kept_draws(self):
        draws = super().kept_draws()
        # After the burn-in, and before it, the last records are those of the last draws.
        sweeps = [sweep for sweep, _ in self.mixture_draws[-len(draws) :]] or [len(self.records)]
        gamma = np.array([self.records[sweep - 1][-1] if sweep else self.gamma for sweep in sweeps])
        mixtures = self._shown(draws.mixtures)
        K = mixtures.shape[-1]
        topics = [compact_topics(z, K) for z in draws.topics]
        priors = dataclasses.replace(draws.priors.resized(K), doc=document_prior(gamma[-1], mixtures[-1]))
        return HDPDraws(priors, topics, mixtures, gamma, draws.collections)

    def mixtures(self):
        mean, std = super().mixtures()
        shown = self._shown(std)
        if self.n_shown is not None and self.n_shown < mean.shape[1]:
            rest = [self._shown(pi)[:, -1] for _, pi in self.mixture_draws] or [[0.0]]
            shown[:, -1] = np.sqrt(variance_of_draws(rest))
        return self._shown(mean), shown

    def shown_mixture_draws(self):
        return [self._shown(pi) for _, pi in self.mixture_draws]

    def _shown(self, mixtures):
        """The columns of the topics that are shown, the last one the sum of all others."""
        n, K = self.n_shown, mixtures.shape[-1]
        if n is None or n == K:
            return mixtures
        rest = mixtures[..., n - 1 :].sum(axis=-1, keepdims=True)
        return np.concatenate([mixtures[..., : n - 1], rest], axis=-1)

    def state(self):
        state = super().state()
        values = {field.name: getattr(state, field.name) for field in dataclasses.fields(CompoundState)}
        return HDPState(**values, log_base=self.log_base.copy(), b=self.b, records=tuple(self.records))


def show_in_common(chains):
    """Give all chains the same number of shown topics."""
    n_shown = max(chain.last_shown() for chain in chains)
    for chain in chains:
        chain.n_shown = n_shown
