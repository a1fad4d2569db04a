"""Seed words of topics, as pseudo-counts that are added to eta."""

from collections.abc import Iterator, Mapping, Set
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sklda._core.arguments import real_numbers
from sklda._core.corpus import Corpus
from sklda._core.names import find_words, read_column
from sklda._core.priors import check_memory_of_topics


def pseudo_counts(
    seed_words: Mapping[int, Any], n_components: int, corpus: Corpus, names: dict[str, int] | None
) -> csr_array:
    """The pseudo-counts of seed words, (n_components, n_features): strength times the count of the word in the corpus.

    `names` has the column of every word; None: it is unknown.
    """
    check_memory_of_topics(n_components)
    if not isinstance(seed_words, Mapping):
        raise TypeError(f"seed_words must be a dict of topics and their words, got {seed_words!r}.")
    counts = corpus.word_frequencies
    seeds = [
        (topic, word, strength)
        for topic, words in seed_words.items()
        for word, strength in _words_of(topic, words, n_components)
    ]
    texts = [word for _, word, _ in seeds if isinstance(word, str)]
    if texts and names is None:
        raise ValueError(
            f"seed_words has the word {texts[0]!r}, but the words of the columns of X are not known. Give "
            "vocabulary=vectorizer.get_feature_names_out(), an X with column names, or numbers of columns."
        )
    column_of = dict(zip(texts, find_words(texts, names, "seed_words"), strict=True)) if texts else {}
    strengths: dict[tuple[int, int], float] = {}
    for topic, word, strength in seeds:
        if not isinstance(word, str) and (not isinstance(word, Integral) or isinstance(word, bool)):
            raise TypeError(f"seed_words[{topic}] must have words or numbers of columns, got {word!r}.")
        column = column_of[word] if isinstance(word, str) else int(word)
        if not 0 <= column < corpus.n_features:
            raise ValueError(f"seed_words[{topic}] has column {column}; X has {corpus.n_features} columns.")
        cell = int(topic), column
        if strengths.setdefault(cell, strength) != strength:
            raise ValueError(f"seed_words[{topic}] has two strengths for the word {word!r}.")
    cells = sorted(strengths)
    topics, columns = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    # A word that does not occur gets the weight of one token.
    values = np.array([strengths[cell] for cell in cells]) * np.maximum(counts[columns], 1.0)
    return csr_array((values, (topics, columns)), shape=(n_components, corpus.n_features))


def _words_of(topic: Any, words: Any, n_components: int) -> list[tuple[Any, float]]:
    """The seed words of a topic and their strengths."""
    if not isinstance(topic, Integral) or isinstance(topic, bool):
        raise TypeError(f"The keys of seed_words must be numbers of topics, got {topic!r}.")
    if not 0 <= int(topic) < n_components:
        raise ValueError(f"seed_words has topic {topic}; topics are numbered from 0 to {n_components - 1}.")
    if isinstance(words, Mapping):
        strengths = real_numbers(list(words.values()), f"The strengths of seed_words[{topic}]")
        for word, strength in zip(words, strengths, strict=True):
            if not 0 < strength < np.inf:
                raise ValueError(f"seed_words[{topic}][{word!r}] is {strength:g}: a strength must be positive.")
        return list(zip(words, strengths.tolist(), strict=True))
    if isinstance(words, Iterator):
        raise TypeError(
            f"seed_words[{topic}] is an iterator, which a second fit would find empty: give a list of words."
        )
    # The order of the words does not matter.
    words = read_column(list(words) if isinstance(words, Set) else words, f"seed_words[{topic}]", "a list of words")
    return [(word, 1.0) for word in words]
