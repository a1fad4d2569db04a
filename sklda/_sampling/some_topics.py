"""The collapsed sampler over some of the topics."""

import numpy as np

from sklda._core.corpus import Corpus, tally
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors, padded
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.count_rows import CountRows


class SomeTopicsChain(GibbsChain):
    """A `GibbsChain` whose sweep takes some topics only.

    The tokens of the other topics stay in them; every other token is drawn from its full conditional given that it is
    in a topic of the sweep. If the choice of the topics does not depend on z, the sweep keeps the distribution of z.
    Topics have one eta. Rows of counts end at the last topic with tokens.

    Attributes
    ----------
    swept : ndarray of int32 or None
        The topics of the next sweep, ascending. None: all.
    """

    swept = None
    _rows = None

    def recount(self):
        """Compute m_k from z. m_kv is computed when it is needed."""
        self._n_larger, self._rows = None, None
        self.topic_totals = tally(self.topics, self.priors.n_components)

    @property
    def rows(self):
        if self._rows is None:
            totals = np.zeros_like(self.topic_totals)
            self._rows = CountRows.of(self.corpus, self.topics, padded(self._n_first), totals)
        return self._rows

    @property
    def _n_first(self):
        """The number of topics up to the last one with tokens."""
        return int(np.flatnonzero(self.topic_totals).max(initial=0)) + 1

    @property
    def word_topic_counts(self):
        counts = self.rows.dense()
        return np.pad(counts, ((0, 0), (0, self._width - counts.shape[1])))

    def renumber(self, number):
        """Give every topic another number, (n_components,) int32. Topics of the same number become one."""
        self.topics = number[self.topics]
        self.recount()

    def sweep(self, stop=NEVER_STOP):
        """Draw every token of the topics `swept` once. ``stop()`` is called between blocks of documents."""
        K, corpus = self.priors.n_components, self.corpus
        swept = np.arange(K, dtype=np.int32) if self.swept is None else self.swept
        n, width = len(swept), padded(len(swept))
        alpha, no_rows = np.ascontiguousarray(self.priors.doc[:, swept]), np.empty((0, width), np.float32)
        priors = Priors(alpha, self.priors.word, no_rows, self.priors.totals[swept], self.priors.row_of)
        if swept[-1] == n - 1 and self._n_first <= n and padded(self._n_first) == width:
            # The first topics have all tokens: they change in place, and so do the counts.
            self._draw_tokens(priors, self.topic_totals[:n], stop)
            self._n_larger = None
            if padded(self._n_first) != width:
                self._rows = None
            return
        column = np.full(K, -1, np.int32)
        column[swept] = np.arange(n)
        columns = column[self.topics]
        moves = columns >= 0
        some_stay = not moves.all()
        if some_stay:
            ends = np.concatenate([[0], np.cumsum(moves)])[corpus.offsets]
            corpus, columns = Corpus(corpus.words[moves], ends, corpus.n_features), columns[moves]
        chain = GibbsChain(corpus, priors, ChainState(columns, self.stream))
        chain.sweep(stop)
        self.stream = chain.stream
        if some_stay:
            self.topics[moves] = swept[chain.topics]
        else:
            self.topics = swept[chain.topics]
        self.n_sweeps += 1
        self.recount()
