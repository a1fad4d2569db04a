"""The collapsed Gibbs sampler of labelled LDA."""

import numpy as np

from sklda._core import random
from sklda._core.parallel import NEVER_STOP
from sklda._kernels import _label_counts, _labeled, _log_joint
from sklda._sampling import log_joint
from sklda._sampling.chain import Chain, ChainState
from sklda._sampling.collapsed import BLOCK_WEIGHTS


class LabelChain(Chain):
    """A Markov chain of topic assignments, in which a document has only its open topics.

    Parameters
    ----------
    corpus : Corpus
    priors : LabelPriors
    state : ChainState
        Its `topics` are those of this class.

    Attributes
    ----------
    topics : ndarray of shape (n_tokens,), int32
        Which of the open topics of its document every token has.
    pair_counts : ndarray of shape (n_pairs,), int32
        m_kv.
    topic_totals : ndarray of shape (n_topics,), int64
        m_k.
    """

    def _set_up(self, topics):
        """Set the topics, and make the counts and the scratch arrays of sweeps."""
        opened, corpus = self.priors.opened, self.corpus
        most = int(opened.numbers.max(initial=1))
        self._scratch = np.empty(opened.n_topics + most), np.empty(most, np.int32)
        weights = max(len(opened.places) // max(corpus.n_tokens, 1), 1)
        self._blocks = corpus.blocks(n_tokens=BLOCK_WEIGHTS // (8 * weights))
        self._structure = (
            corpus.words,
            corpus.offsets,
            opened.offsets,
            opened.topics,
            opened.place_offsets,
            opened.places,
        )
        self.set_topics(topics)

    @classmethod
    def initialise(cls, corpus, priors, seed, steps=()):
        """A chain whose tokens have random open topics."""
        numbers = np.repeat(priors.opened.numbers, corpus.lengths)
        topics = np.random.default_rng(random.child(seed, 0)).integers(np.maximum(numbers, 1), dtype=np.int32)
        return cls(corpus, priors, ChainState(topics, random.stream(random.child(seed, 1)), steps=steps))

    def set_topics(self, topics):
        """Set the topics of all tokens, and count them."""
        self.topics = np.array(topics, np.int32)
        self.pair_counts = np.zeros(len(self.priors.opened.pairs), np.int32)
        self.topic_totals = np.zeros(self.priors.opened.n_topics, np.int64)
        _label_counts.count(*self._structure, self.topics, self.pair_counts, self.topic_totals)

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once from its full conditional."""
        self._in_blocks(_labeled.sweep, stop, self.stream)
        self.n_sweeps += 1

    def add_expected_counts(self, doc, pair, stop=NEVER_STOP):
        """Add the expectations of n_dk and m_kv under the full conditional of each token to float64 arrays."""
        self._in_blocks(_labeled.expected_counts, stop, doc, pair)

    def _in_blocks(self, kernel, stop, *arrays):
        """Call a kernel for one block of documents after the other."""
        priors = self.priors
        for first, last in self._blocks:
            stop()
            kernel(
                *self._structure,
                priors.doc,
                priors.word,
                priors.pair,
                priors.totals,
                first,
                last,
                self.topics,
                self.pair_counts,
                self.topic_totals,
                *arrays,
                *self._scratch,
            )

    def log_topics(self):
        """log p(z | alpha)."""
        opened = self.priors.opened
        # A document without open topics has tokens, too: with one topic of any prior they add nothing.
        prior = np.append(self.priors.doc[opened.topics], 1.0)
        totals = np.add.reduceat(prior, opened.offsets)[:-1]
        cells = *log_joint.flat(prior), opened.offsets[:-1], 1, np.empty((0, 0))
        return _log_joint.tokens(
            self.corpus.offsets, self.topics, len(self._scratch[1]), *cells, self._scratch[1]
        ) - _log_joint.totals(totals, self.corpus.lengths, log_joint.ONE_EACH)

    def log_words(self):
        """log p(w | z, eta)."""
        priors, offsets = self.priors, self.priors.opened.pair_offsets
        if len(priors.pair):
            cells = *log_joint.flat(priors.pair), offsets[:-1], 1, np.empty((0, 0))
        else:
            cells = log_joint.cell_priors(priors.word[:, None], self.corpus.n_tokens)
        return log_joint.word_totals(self.topic_totals, priors) + _log_joint.rows(offsets, self.pair_counts, *cells)

    def doc_counts(self):
        """n_dk of every document and open topic, int64."""
        places, has_topics = self._open_places()
        return np.bincount(places[has_topics], minlength=len(self.priors.opened.topics))

    def token_topics(self):
        """The topic of every token, int32 (n_tokens,); -1 in documents without open topics."""
        places, has_topics = self._open_places()
        topics = np.full(self.corpus.n_tokens, -1, np.int32)
        topics[has_topics] = self.priors.opened.topics[places[has_topics]]
        return topics

    def _open_places(self):
        """Positions of the tokens' topics among the open topics of all documents, and whether a token has a topic."""
        opened, lengths = self.priors.opened, self.corpus.lengths
        return np.repeat(opened.offsets[:-1], lengths) + self.topics, np.repeat(opened.numbers, lengths) > 0
