"""Seed words of topics, as pseudo-counts that are added to eta."""

from collections.abc import Mapping
from numbers import Integral

import numpy as np
from scipy.sparse import csr_array

from sklda._inference.priors import check_memory_of_topics


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
    cells = set()
    for topic, words in seed_words.items():
        if not isinstance(topic, Integral) or isinstance(topic, bool):
            raise TypeError(f"The keys of seed_words must be numbers of topics, got {topic!r}.")
        if not 0 <= topic < n_components:
            raise ValueError(f"seed_words has topic {topic}; topics are numbered from 0 to {n_components - 1}.")
        if isinstance(words, (str, bytes)) or not np.iterable(words):
            raise TypeError(f"seed_words[{topic}] must be a list of words, got {words!r}.")
        cells.update((int(topic), _column(word, topic, corpus.n_features, names)) for word in words)
    topics, columns = np.array(sorted(cells), dtype=np.int64).reshape(-1, 2).T
    # A word that does not occur gets the weight of one token.
    values = strength * np.maximum(counts[columns], 1.0)
    return csr_array((values, (topics, columns)), shape=(n_components, corpus.n_features))


def _column(word, topic, n_features, names):
    """The column of a seed word."""
    if isinstance(word, str):
        if names is None:
            raise ValueError(
                f"seed_words[{topic}] has the word {word!r}, but the words of the columns of X are not known. Give "
                "vocabulary=vectorizer.get_feature_names_out(), an X with column names, or numbers of columns."
            )
        if word not in names:
            raise ValueError(f"seed_words[{topic}] has the word {word!r}, which is not in the vocabulary.")
        return int(names[word])
    if not isinstance(word, Integral) or isinstance(word, bool):
        raise TypeError(f"seed_words[{topic}] must have words or numbers of columns, got {word!r}.")
    if not 0 <= word < n_features:
        raise ValueError(f"seed_words[{topic}] has column {word}; X has {n_features} columns.")
    return int(word)


def columns_of(vocabulary, n_features, names=None):
    """The column of every word, as a dict.

    Parameters
    ----------
    vocabulary : dict of {str: int} or sequence of n_features str
    n_features : int
    names : sequence of n_features str, default=None
        The column names of X, if it has some. A word must not be the name of another column.
    """
    if isinstance(vocabulary, Mapping):
        found = dict(vocabulary)
        wrong = [word for word, column in found.items() if not isinstance(column, Integral)]
        if wrong:
            raise TypeError(f"vocabulary must have numbers of columns, got {found[wrong[0]]!r} for {wrong[0]!r}.")
    else:
        words = list(vocabulary) if np.iterable(vocabulary) else [vocabulary]
        wrong = [word for word in words if not isinstance(word, str)]
        if wrong:
            raise TypeError(f"vocabulary must have the words of the columns of X, got {wrong[0]!r}.")
        if len(words) != n_features:
            raise ValueError(f"vocabulary has {len(words)} words; X has {n_features} columns.")
        found = {word: column for column, word in enumerate(words)}
        if len(found) < n_features:
            twice = next(word for column, word in enumerate(words) if found[word] != column)
            raise ValueError(f"vocabulary has {twice!r} twice; give seed words as numbers of columns.")
    outside = [word for word, column in found.items() if not 0 <= column < n_features]
    if outside:
        raise ValueError(f"vocabulary has column {found[outside[0]]} for {outside[0]!r}; X has {n_features} columns.")
    for column, name in enumerate(() if names is None else names):
        if found.get(name, column) != column:
            raise ValueError(
                f"vocabulary has column {found[name]} for {name!r}, but column {column} of X has this name. Give the "
                "words in the order of the columns."
            )
    return found
