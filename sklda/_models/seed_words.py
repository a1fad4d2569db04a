"""Seed words of estimators: read with a message about doubtful ones, and told after a fit where their tokens are."""

from __future__ import annotations

import numpy as np

from sklda._core.corpus import Corpus
from sklda._core.largest import largest
from sklda._core.names import distinct, listed, listed_unknown
from sklda._core.warn import warn
from sklda._models.parameters import columns_of_words
from sklda._sampling.seeded_state import SeedWords, read_seed_words

# A word of more documents than this share tells no topic.
_COMMON = 0.5
# A topic that has less of the tokens of its seeds may be about something else.
_LEAST_SHARE = 0.5
# Words that name a topic without seeds, beside topics with names.
_N_WORDS = 3


def seeds_of(estimator, corpus, known=None) -> SeedWords | None:
    """The `seed_words` of an estimator with known topics or without; None if there are none."""
    if estimator.seed_words is None:
        return None
    columns, n_known = columns_of_words(estimator, corpus), 0 if known is None else len(known.topics)
    seeds = read_seed_words(estimator.seed_words, estimator.n_components, corpus.n_features, columns, n_known)
    if seeds is None:
        return None
    both = [] if known is None or known.names is None else set(seeds.names.values()) & set(known.names[:n_known])
    if both:
        raise ValueError(f"{listed(sorted(both))} is a known topic and has its words: it cannot have seed_words.")
    _warn_of_doubtful(seeds, corpus, columns or {})
    return seeds


def _warn_of_doubtful(seeds, corpus, columns):
    """One warning that names seeds that X does not have, that two topics share, and that most documents have."""
    word_of = _words_by_column(columns)
    words, n_topics = np.unique(seeds.words, return_counts=True)
    absent = corpus.word_frequencies[words] == 0
    gone = _named(words[absent], word_of)
    shared = _named(words[n_topics > 1], word_of)
    parts = []
    if seeds.missing or gone:
        shown = ", ".join(filter(None, [listed_unknown(seeds.missing, columns), listed(gone)]))
        parts.append(f"X does not have {shown}: leave them out, or write them as the vocabulary does.")
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


def set_seeds(estimator, seeds, corpus):
    """Set the attributes of seeds after a fit, names of topics included, and warn of topics without their seeds."""
    if seeds is None:
        return
    word_of = _words_by_column(columns_of_words(estimator, corpus))
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
    lost = [k for k in seeds.seeded.tolist() if not of_seeds[k] >= _LEAST_SHARE]
    if lost:
        words = {k: listed(estimator.seed_words_[k]) for k in lost}
        shown = "; ".join(
            f"{seeds.names.get(k, k)!r} has {100 * of_seeds[k]:.0f} % of the tokens of {words[k]}" for k in lost
        )
        warn(
            f"Most tokens of the seed words of some topics are in other topics: {shown}. Read the other words of these "
            "topics before you name them. Give seeds that are frequent and about one subject, or fewer topics."
        )
