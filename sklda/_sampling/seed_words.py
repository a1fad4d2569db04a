"""Seed words of topics, as pseudo-counts that are added to eta."""

from collections.abc import Iterator, Mapping, Set
from numbers import Integral

import numpy as np
from scipy.sparse import csr_array

from sklda._core.names import find_words, read_column
from sklda._core.priors import check_memory_of_topics


def pseudo_counts(seed_words, strength, n_components, corpus, names):
    """The pseudo-counts of seed words: `strength` times the count of the word in the corpus.

    Parameters
    ----------
    seed_words : dict of {int: sequence of str or int}
        Words of topics, as words or as columns of X.
    strength : float
    n_components : int
    corpus : Corpus
    names : dict of {str: int} or None
        The column of every word. None: unknown.

    Returns
    -------
    csr_array of shape (n_components, n_features)

    Raises
    ------
    ValueError
        If a topic or a column is out of range, a word is not in the vocabulary, or words are given without their
        names.
    TypeError
        If `seed_words` is not a dict, or a topic or word has the wrong type.
    """
    check_memory_of_topics(n_components)
    if not isinstance(seed_words, Mapping):
        raise TypeError(f"seed_words must be a dict of topics and their words, got {seed_words!r}.")
    counts = corpus.word_frequencies
    pairs = [(topic, word) for topic, words in seed_words.items() for word in _words_of(topic, words, n_components)]
    texts = [word for _, word in pairs if isinstance(word, str)]
    if texts and names is None:
        raise ValueError(
            f"seed_words has the word {texts[0]!r}, but the words of the columns of X are not known. Give "
            "vocabulary=vectorizer.get_feature_names_out(), an X with column names, or numbers of columns."
        )
    column_of = dict(zip(texts, find_words(texts, names, "seed_words"), strict=True)) if texts else {}
    cells = set()
    for topic, word in pairs:
        if not isinstance(word, str) and (not isinstance(word, Integral) or isinstance(word, bool)):
            raise TypeError(f"seed_words[{topic}] must have words or numbers of columns, got {word!r}.")
        column = column_of[word] if isinstance(word, str) else int(word)
        if not 0 <= column < corpus.n_features:
            raise ValueError(f"seed_words[{topic}] has column {column}; X has {corpus.n_features} columns.")
        cells.add((int(topic), column))
    topics, columns = np.array(sorted(cells), dtype=np.int64).reshape(-1, 2).T
    # A word that does not occur gets the weight of one token.
    values = strength * np.maximum(counts[columns], 1.0)
    return csr_array((values, (topics, columns)), shape=(n_components, corpus.n_features))


def _words_of(topic, words, n_components):
    """The seed words of a topic as a list."""
    if not isinstance(topic, Integral) or isinstance(topic, bool):
        raise TypeError(f"The keys of seed_words must be numbers of topics, got {topic!r}.")
    if not 0 <= topic < n_components:
        raise ValueError(f"seed_words has topic {topic}; topics are numbered from 0 to {n_components - 1}.")
    if isinstance(words, Iterator):
        raise TypeError(
            f"seed_words[{topic}] is an iterator, which a second fit would find empty: give a list of words."
        )
    # The order of the words does not matter.
    return read_column(list(words) if isinstance(words, Set) else words, f"seed_words[{topic}]", "a list of words")
