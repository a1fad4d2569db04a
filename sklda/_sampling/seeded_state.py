"""Seed words of topics: the state in which chains begin, and pseudo-counts that are added to eta.

The posterior of z has modes that sweeps do not leave, so the first state decides which topic has the seeds. In it, all
tokens of a seed are in its topic, and so are many others of the documents that have seeds. Without this, the words that
go with the seeds are in several topics at first, and the topic with most of them takes the seeds.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from sklda._core import random
from sklda._sampling.partially_collapsed import random_topics

# A token that is no seed begins in the topic of a seed of its document with this multiple of the share of seeds in the
# document, but at most with this probability. benchmarks/bench_seed_words.py shows what half and twice of them do.
_MULTIPLE, _MOST = 3.0, 0.9


@dataclass(frozen=True, eq=False)
class SeedWords:
    """The seeds of the topics of a fit, sorted by topics and words. A word may be a seed of several topics.

    Attributes
    ----------
    topics, words : ndarray of shape (n_seeds,)
        Words are columns of X.
    strengths : ndarray of shape (n_seeds,)
        Pseudo-counts, in tokens.
    shape : (int, int)
        n_components, n_features.
    names : dict of {int: str}
        The names of topics whose keys were names.
    missing : list of str
        Seeds that are no column of X.
    """

    topics: np.ndarray
    words: np.ndarray
    strengths: np.ndarray
    shape: tuple[int, int]
    names: dict[int, str]
    missing: list[str]

    @cached_property
    def seeded(self) -> np.ndarray:
        """The topics that have seeds, in order."""
        return np.unique(self.topics)

    @property
    def pseudo_counts(self) -> csr_array | None:
        """The strengths that are not zero, (n_components, n_features); None if all are."""
        cells = self.strengths > 0
        if not cells.any():
            return None
        return csr_array((self.strengths[cells], (self.topics[cells], self.words[cells])), shape=self.shape)

    def of_topic(self, topic: int) -> np.ndarray:
        """The columns of the seeds of a topic."""
        return self.words[self.topics == topic]

    def equal(self, other: "SeedWords | None") -> bool:
        """Whether other seeds are the same."""
        return other is not None and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("topics", "words", "strengths")
        )

    def shares(self, topic_word: np.ndarray, topic_share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the tokens of topics that are their seeds, and of the tokens of seeds that are in their topic.

        Each has shape (n_components,), with NaN for topics without seeds, and for seeds without tokens.
        """
        of_topic, of_seeds = np.full((2, self.shape[0]), np.nan)
        for k in self.seeded:
            part = topic_word[:, self.of_topic(k)].sum(axis=1)
            total = topic_share @ part
            of_topic[k], of_seeds[k] = part[k], topic_share[k] * part[k] / total if total > 0 else np.nan
        return of_topic, of_seeds

    def shares_of_topics(self, corpus, topics: np.ndarray) -> np.ndarray:
        """Shares of all topics in the tokens of the seeds of each seeded topic, (n_seeded, n_components).

        They are means over the seeds that have tokens.
        """
        words, place = np.unique(self.words, return_inverse=True)
        column = np.full(self.shape[1], -1)
        column[words] = np.arange(len(words))
        columns = column[corpus.words]
        own = columns >= 0
        counts = np.bincount(columns[own] * self.shape[0] + topics[own], minlength=len(words) * self.shape[0])
        counts = counts.reshape(len(words), self.shape[0])
        totals = counts.sum(axis=1)
        used = totals[place] > 0
        found = np.zeros((len(self.seeded), self.shape[0]))
        row = np.searchsorted(self.seeded, self.topics[used])
        np.add.at(found, row, (counts / np.maximum(totals, 1)[:, None])[place[used]])
        return found / np.maximum(np.bincount(row, minlength=len(found)), 1)[:, None]

    def first_topics(self, words: np.ndarray, offsets: np.ndarray, first: int, priors, key: int) -> np.ndarray:
        """The topics of the tokens of some documents, (n_tokens,) int32, as chains begin.

        They depend on `key`, the document, and the numbers of the tokens, the first of which is `first`.
        """
        others = np.setdiff1d(np.arange(self.shape[0]), self.seeded)
        topics = random_topics(words, first, priors, key, others if len(others) else None)
        by_word = np.argsort(self.words, kind="stable")
        topics_by_word = self.topics[by_word]
        starts = np.searchsorted(self.words[by_word], np.arange(self.shape[1] + 1))
        n_of_word = np.diff(starts)
        keys = [random.key(np.random.SeedSequence([key, i])) for i in range(2)]
        choice, joins = (random.uniforms(each, first, len(words)) for each in keys)

        is_seed = n_of_word[words] > 0
        seeds = np.flatnonzero(is_seed)
        of_seeds = words[seeds]
        topics[seeds] = topics_by_word[starts[of_seeds] + (choice[seeds] * n_of_word[of_seeds]).astype(np.int64)]

        n_before = np.concatenate([[0], np.cumsum(is_seed)])[offsets]
        n_in_document, lengths = np.diff(n_before), np.diff(offsets)
        probability = np.minimum(_MULTIPLE * n_in_document / np.maximum(lengths, 1), _MOST)
        joining = np.flatnonzero(~is_seed & (joins < np.repeat(probability, lengths)))
        document = np.searchsorted(offsets, joining, side="right") - 1
        partner = n_before[document] + (choice[joining] * n_in_document[document]).astype(np.int64)
        topics[joining] = topics[seeds[partner]]
        return topics
