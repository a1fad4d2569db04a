"""Seed words of estimators: read with a message about doubtful ones, and told after a fit where their tokens are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from sklda._core.corpus import Corpus
from sklda._core.largest import largest
from sklda._input.arguments import is_whole, real_numbers
from sklda._input.memory import check_memory_of_topics
from sklda._input.names import distinct, listed, listed_unknown, read_column
from sklda._input.warn import warn
from sklda._sampling.seed_places import MOST_OF_SEEDS
from sklda._sampling.seeded_state import SeedWords

# A word of more documents than this share tells no topic.
_COMMON = 0.5
# Words that name a topic without seeds, beside topics with names.
_N_WORDS = 3


def seeds_of(estimator, corpus, columns, known=None) -> SeedWords | None:
    """The `seed_words` of an estimator with known topics or without; None if there are none."""
    if estimator.seed_words is None:
        return None
    n_known = 0 if known is None else len(known)
    seeds = read_seed_words(estimator.seed_words, estimator.n_components, corpus.n_features, columns, n_known)
    if seeds is None:
        return None
    both = [] if known is None or known.names is None else set(seeds.names.values()) & set(known.names[:n_known])
    if both:
        raise ValueError(f"{listed(sorted(both))} is a known topic and has its words: it cannot have seed_words.")
    _warn_of_doubtful(seeds, corpus, columns or {})
    return seeds


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
    if not is_whole(key):
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
                "vocabulary=vectorizer.get_feature_names_out(), an X with column names, or numbers of columns. In a "
                "pipeline, give the vectorizer and the model the same vocabulary."
            )
        if word in columns or not re.search(r"[*?]", word):
            return [int(columns[word])] if word in columns else []
        pattern = re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in word), re.DOTALL)
        return [int(column) for each, column in columns.items() if pattern.fullmatch(each)]
    if not is_whole(word):
        raise TypeError(f"seed_words[{key!r}] must have words or numbers of columns, got {word!r}.")
    if not 0 <= int(word) < n_features:
        raise ValueError(f"seed_words[{key!r}] has column {word}; X has {n_features} columns.")
    return [int(word)]


def _warn_of_doubtful(seeds, corpus, columns):
    """One warning that names seeds that X or all documents lack, that two topics share, or that most documents have."""
    word_of = _words_by_column(columns)
    words, n_topics = np.unique(seeds.words, return_counts=True)
    absent = corpus.word_frequencies[words] == 0
    gone = _named(words[absent], word_of)
    shared = _named(words[n_topics > 1], word_of)
    parts = []
    if seeds.missing:
        shown = listed_unknown(seeds.missing, columns)
        parts.append(f"X does not have {shown}: leave them out, or write them as the vocabulary does.")
    if gone:
        parts.append(f"No document has {listed(gone)}, although X has columns of that name: leave them out.")
    if shared:
        parts.append(f"Several topics have {listed(shared)}: leave them with the topic that they are most about.")
    # On a cluster, the documents are with the workers.
    if isinstance(corpus, Corpus):
        common = _named(words[_document_frequencies(words, corpus) > _COMMON * corpus.n_documents], word_of)
        if common:
            parts.append(f"More than half of the documents have {listed(common)}, which tell no topic: leave them out.")
    if parts:
        warn("seed_words: " + " ".join(parts))


def _document_frequencies(words, corpus):
    """In how many documents each of some words is."""
    place = np.full(corpus.n_features, -1)
    place[words] = np.arange(len(words))
    places = place[corpus.words]
    tokens = np.flatnonzero(places >= 0)
    pairs = np.unique(corpus.token_documents[tokens].astype(np.int64) * len(words) + places[tokens])
    return np.bincount(pairs % len(words), minlength=len(words))


def _words_by_column(columns):
    return {} if columns is None else {column: word for word, column in columns.items()}


def _named(columns, word_of):
    """The words of columns, or their numbers."""
    return [word_of.get(v, v) for v in np.asarray(columns).tolist()]


def set_seeds(estimator, seeds, columns):
    """Set the attributes of seeds after a fit, names of topics included, and warn of topics without their seeds."""
    if seeds is None:
        return
    word_of = _words_by_column(columns)
    estimator.seed_words_ = {k: _named(seeds.of_topic(k), word_of) for k in seeds.seeded.tolist()}
    if seeds.names:
        names = getattr(estimator, "topic_names_", None)
        if names is None:
            top = (largest(row, _N_WORDS) for row in estimator.topic_word_)
            names = [" ".join(map(str, _named(columns, word_of))) for columns in top]
        others = [k for k in range(len(names)) if k not in seeds.names]
        all_names = dict(zip(others, distinct([names[k] for k in others], seeds.names.values()), strict=True))
        estimator.topic_names_ = np.array([(all_names | seeds.names)[k] for k in range(len(names))], dtype=object)
    _, of_seeds = seeds.shares(estimator.topic_word_, estimator.topic_share_)
    lost = [k for k in seeds.seeded.tolist() if not of_seeds[k] >= MOST_OF_SEEDS]
    if lost:
        words = {k: listed(estimator.seed_words_[k]) for k in lost}
        shown = "; ".join(
            f"{seeds.names.get(k, k)!r} has {100 * of_seeds[k]:.0f} % of the tokens of {words[k]}" for k in lost
        )
        warn(
            f"Most tokens of the seed words of some topics are in other topics: {shown}. Read the other words of these "
            "topics before you name them. Give seeds that are frequent and about one subject, or fewer topics."
        )
