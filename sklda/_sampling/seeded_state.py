"""Seed words of topics: the state in which chains begin, and pseudo-counts that are added to eta.

The posterior of z has modes that sweeps do not leave, so the first state decides which topic has the seeds. In it, all
tokens of a seed are in its topic, and so are many others of the documents that have seeds. Without this, the words that
go with the seeds are in several topics at first, and the topic with most of them takes the seeds.
"""

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sklda._core import random
from sklda._core.arguments import real_numbers
from sklda._core.names import listed_unknown, read_column
from sklda._core.priors import check_memory_of_topics
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


def read_seed_words(
    seed_words: Any, n_components: int, n_features: int, columns: dict[str, int] | None, n_known: int = 0
) -> SeedWords | None:
    """Seeds as a user gives them; None if there are none.

    Parameters
    ----------
    seed_words : dict of {int or str: sequence of words, or dict of {word: float}}
        Names are those of the first topics behind the known ones, in their order.
    n_components, n_features : int
    columns : dict of {str: int} or None
        The column of every word. None: it is unknown.
    n_known : int, default=0
        Number of known topics, which have no seeds.
    """
    check_memory_of_topics(n_components)
    if not isinstance(seed_words, Mapping):
        raise TypeError(f"seed_words must be a dict of topics and their words, got {seed_words!r}.")
    names = _names_of(seed_words, n_components, n_known)
    strengths: dict[tuple[int, int], float] = {}
    missing: list[str] = []
    without: dict[int | str, list[str]] = {}
    for key, words in seed_words.items():
        topic = names[key] if isinstance(key, str) else _number_of(key, n_components, n_known)
        own = _words_of(key, words)
        found = False
        for word, strength in own:
            matched = _columns_of(key, word, n_features, columns)
            if not matched:
                missing.append(word)
            for column in matched:
                found = True
                if strengths.setdefault((topic, column), strength) != strength:
                    raise ValueError(f"seed_words[{key!r}] has two strengths for the word {word!r}.")
        if not found and (own or isinstance(key, str)):
            without[key] = [word for word, _ in own]
    if without:
        shown = "; ".join(
            f"{key!r} has {listed_unknown(words, columns) if words else 'no word'}" for key, words in without.items()
        )
        raise ValueError(f"Each topic of seed_words needs a word that X has. Some have none: {shown}.")
    if not strengths:
        return None
    cells = sorted(strengths)
    topics, found_words = np.array(cells, dtype=np.int64).T
    values = np.array([strengths[cell] for cell in cells])
    named = {topic: name for name, topic in names.items()}
    return SeedWords(topics, found_words, values, (n_components, n_features), named, list(dict.fromkeys(missing)))


def _names_of(seed_words, n_components, n_known):
    """The topic of every key that is a name."""
    names = [key for key in seed_words if isinstance(key, str)]
    if not names:
        return {}
    if len(names) < len(seed_words):
        other = next(key for key in seed_words if not isinstance(key, str))
        raise TypeError(f"The keys of seed_words must all be names or all be numbers, got {names[0]!r} and {other!r}.")
    if n_known + len(names) > n_components:
        known = f" and there are {n_known} known ones" if n_known else ""
        raise ValueError(f"seed_words has {len(names)} topics{known}, but n_components={n_components}.")
    for name in names:
        if not name.strip():
            raise ValueError("seed_words has an empty name of a topic.")
    return {name: n_known + i for i, name in enumerate(names)}


def _number_of(key, n_components, n_known):
    """A key that is the number of a topic."""
    if not isinstance(key, Integral) or isinstance(key, bool):
        raise TypeError(f"The keys of seed_words must be names or numbers of topics, got {key!r}.")
    if not 0 <= int(key) < n_components:
        raise ValueError(f"seed_words has topic {key}; topics are numbered from 0 to {n_components - 1}.")
    if int(key) < n_known:
        raise ValueError(
            f"seed_words has topic {key}, which is a known topic and has its words. New topics are numbered from "
            f"{n_known}."
        )
    return int(key)


def _words_of(key: Any, words: Any) -> list[tuple[Any, float]]:
    """The seed words of a topic and their strengths."""
    name = f"seed_words[{key!r}]"
    if isinstance(words, Mapping):
        strengths = real_numbers(list(words.values()), f"The strengths of {name}")
        for word, strength in zip(words, strengths, strict=True):
            if not 0 <= strength < np.inf:
                raise ValueError(f"{name}[{word!r}] is {strength:g}: a strength is a number of tokens, 0 or more.")
        return list(zip(words, strengths.tolist(), strict=True))
    if isinstance(words, Iterator):
        raise TypeError(f"{name} is an iterator, which a second fit would find empty: give a list of words.")
    # The order of the words does not matter.
    words = read_column(list(words) if isinstance(words, Set) else words, name, "a list of words")
    return [(word, 0.0) for word in words]


def _columns_of(key, word, n_features, columns):
    """The columns of a word or of a pattern with * and ?; of a number, itself."""
    if isinstance(word, str):
        if columns is None:
            raise ValueError(
                f"seed_words has the word {word!r}, but the words of the columns of X are not known. Give "
                "vocabulary=vectorizer.get_feature_names_out(), an X with column names, or numbers of columns."
            )
        if word in columns or not re.search(r"[*?]", word):
            return [int(columns[word])] if word in columns else []
        pattern = re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in word), re.DOTALL)
        return [int(column) for each, column in columns.items() if pattern.fullmatch(each)]
    if not isinstance(word, Integral) or isinstance(word, bool):
        raise TypeError(f"seed_words[{key!r}] must have words or numbers of columns, got {word!r}.")
    if not 0 <= int(word) < n_features:
        raise ValueError(f"seed_words[{key!r}] has column {word}; X has {n_features} columns.")
    return [int(word)]
