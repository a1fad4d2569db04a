"""The part of a chain that one worker has: its documents and their topics, and the counts of all documents."""

from dataclasses import dataclass

import numpy as np

from sklda._core.parallel import Aligned, with_team
from sklda._kernels import _tokens
from sklda._sampling import log_joint
from sklda._sampling.blocked import run_tasks
from sklda._sampling.count_rows import CountRows
from sklda._sampling.partially_collapsed import PartiallyCollapsedChain


@dataclass(frozen=True, eq=False)
class NonzeroCounts(Aligned):
    """Numbers that are not zero in a large array.

    Attributes
    ----------
    places : ndarray of shape (n_cells,)
        Indices into the flat array, in ascending order.
    values : ndarray of shape (n_cells,)
        In the smallest signed type.
    """

    places: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, dense):
        """Those of a dense array of integers."""
        flat = dense.reshape(-1)
        places = np.flatnonzero(flat)
        values = flat[places]
        kinds = np.min_scalar_type(-int(np.abs(values).max(initial=0)) - 1)
        return cls(places.astype(np.uint32 if len(flat) <= 2**32 else np.int64), values.astype(kinds))

    def add_to(self, dense):
        """Add these numbers to a dense array."""
        dense.reshape(-1)[self.places] += self.values

    @property
    def nbytes(self):
        return self.places.nbytes + self.values.nbytes


class ShardChain(PartiallyCollapsedChain):
    """The part of a partially collapsed chain that one worker has.

    Every worker has the counts of all documents and draws the same phi from them. It draws the topics of its own
    documents only. `changed` has the changes of the counts, which the workers add up; `change` takes their sum.

    Parameters
    ----------
    corpus : Corpus
        The documents of this worker.
    priors, state
        See `GibbsChain`.
    first_document : int
        The number of its first document in the whole corpus.
    edges : list of int
        The first documents of the blocks of X, from 0, and the number of documents. Sums over documents are made for
        each of these blocks, so that they do not depend on the workers.
    frequencies : ndarray of shape (n_features,)
        Number of tokens of every word in the whole corpus.
    """

    def __init__(self, corpus, priors, state, first_document, edges, frequencies):
        self.first_document, self._edges, self._frequencies = first_document, edges, frequencies
        super().__init__(corpus, priors, state)

    def recount(self):
        """Set the counts of all documents to zero, and count those of this worker."""
        self.topic_totals[:] = 0
        self.rows = CountRows(self._frequencies, self._width)
        self._counted = np.zeros((self.corpus.n_features, self._width), np.int32)
        self._own = self._count()

    def _count(self):
        counts = np.zeros_like(self._counted)
        _tokens.count_topics(self.corpus.words, self.topics, counts, np.zeros(self.priors.n_components, np.int64))
        return counts

    def _set_up(self, topics):
        super()._set_up(topics)
        # No block of tasks crosses an edge of the blocks of X.
        self._blocks = [
            (first + a, first + b)
            for first, last in zip(self._edges[:-1], self._edges[1:], strict=True)
            for a, b in self.corpus.part(first, last).blocks(n_tokens=self.block_tokens)
        ]

    def with_threads(self, n_threads, work):
        """Return ``work()``. During this call, sweeps use `n_threads` threads."""
        if n_threads < 2:
            return work()

        def with_team_of_threads(team):
            self._team = team
            return work()

        try:
            return with_team(n_threads, with_team_of_threads)
        finally:
            self._team = None

    def sweep(self, stop):
        """Draw phi, then the tokens of these documents. The counts change with `change`."""
        for own, topics in self._new_topics(stop):
            self.topics[own] = topics
        self._own = self._count()
        self.n_sweeps += 1

    def changed(self):
        """The changes of the counts of these documents since the last call, a dense array."""
        changes = self._own - self._counted
        self._counted = self._own
        return changes

    def change(self, cells):
        """Add `NonzeroCounts` to the counts of all documents."""
        self.rows.change(cells.places, cells.values)
        topics = (cells.places % self._width).astype(np.int64)
        K = self.priors.n_components
        # The sums of float64 are exact: the numbers are whole.
        self.topic_totals += np.bincount(topics, cells.values, minlength=self._width)[:K].astype(np.int64)

    def log_topics_of_blocks(self):
        """The sums of log p(z | alpha) over the topics of documents, a list with a number for each block of X."""
        parts = super()._log_topics_of_blocks()
        starts = [first for first, _ in self._blocks]
        cuts = np.searchsorted(starts, self._edges[1:-1])
        return [float(sum(each)) for each in np.split(parts, cuts)]

    def log_words_of(self, index, n_shards):
        """The part of log p(w | z, eta) of one worker, a list with a number for each block of words."""
        tasks = ((self.priors, *block) for block in np.array_split(self._word_blocks, n_shards)[index])
        parts = run_tasks(self._team, self.rows.log_words, tasks)
        if index == 0:
            parts.append(log_joint.word_totals(self.topic_totals, self.priors))
        return [float(part) for part in parts]
