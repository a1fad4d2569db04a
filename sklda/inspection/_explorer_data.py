"""The contents of the explorer's page, as numbers, names and lists that JSON can hold."""

from numbers import Number

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from sklda._core.distances import jensen_shannon
from sklda._core.largest import largest
from sklda._description.view import NO_TOPIC
from sklda.inspection._groups import group_shares
from sklda.inspection._period_shares import period_shares
from sklda.inspection._ranking import relevance
from sklda.inspection._scaling import classical_scaling
from sklda.inspection._texts import Texts

# The limits of a page; `Texts` has those of the words of documents.
MAX_TOPICS, MAX_WORDS, MAX_DOCUMENTS = 300, 20_000, 20_000
# Words listed for a topic, at every position of the slider; its steps are 0.05.
N_WORDS, LAMBDAS = 30, np.linspace(0, 1, 21)
# Documents listed for a topic.
N_CLOSEST = 10
# Topics of a word or a document, and the smallest share of these that is stored.
N_SHARES, SMALLEST_SHARE = 8, 0.01
# Characters of a name.
MAX_NAME = 200


def page_data(view, texts=None, kind_of_group=None):
    """All that the page shows of a `View`, a dict. Groups are such as "source"."""
    notes = []
    topics = _largest_topics(view.share, notes)
    words = _Words(view, topics, notes)
    kept, closest = _documents(view, topics, notes)
    place = {int(d): i for i, d in enumerate(kept)}
    texts = Texts(view, words.index, texts)
    blocks = [] if view.counts is None else texts.blocks(kept, topics)
    periods = None if view.values["dates"] is None else period_shares(view)
    distances = jensen_shannon(view.topic_word[topics])
    return {
        "n_topics": view.n_topics,
        "n_words": view.n_features,
        "n_documents": view.n_documents,
        "n_tokens": None if view.counts is None else float(view.weights.sum()),
        "notes": notes + texts.notes,
        "lambdas": LAMBDAS.round(2).tolist(),
        "n_listed": N_WORDS,
        "topics": {"id": topics.tolist(), **_topic_columns(view, topics)},
        "words": words.data(),
        "similarity": _similarity(distances),
        "documents": {
            "id": kept.tolist(),
            "name": [clip(str(view.document_names[d])) for d in kept],
            "numbered": all(isinstance(name, int) for name in view.document_names),
            "excerpt": texts.excerpts(kept),
            "date": None if periods is None else [periods.dates[d] for d in kept],
            "tokens": None if view.counts is None else view.lengths[kept].tolist(),
            "topics": [_shares(view.doc_topic[d, topics]) if view.takes_part[d] else [] for d in kept],
            "closest": [[place[int(d)] for d in row] for row in closest],
            "std": _closest_std(view, topics, closest),
            "blocks": blocks,
            "topic_kind": texts.kind,
        },
        "groups": _groups(view, topics, kind_of_group),
        "periods": None if periods is None else _periods(periods, topics),
    }


def clip(name):
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


class _Words:
    """The words that the page has, and the words of every topic at every position of the slider."""

    def __init__(self, view, topics, notes):
        self.view, self.topics = view, topics
        share = view.word_share
        listed = [self._listed(view.topic_word[k], share) for k in topics]
        always = np.unique(np.concatenate(listed))
        V = view.n_features
        kept = np.arange(V)
        if V > MAX_WORDS:
            weight = share.copy()
            weight[always] = np.inf
            kept = np.sort(largest(weight, max(MAX_WORDS, len(always))))
            notes.append(
                f"{len(kept):,} of {V:,} words are on this page: the top words of topics and the most frequent words."
            )
        self.kept, self.listed = kept, listed
        self.index = np.full(V, -1)
        self.index[kept] = np.arange(len(kept))

    def _listed(self, probability, share):
        """Words that are among the first `N_WORDS` of a topic for a lambda of the slider."""
        possible = np.count_nonzero(probability)
        top = [largest(relevance(probability, share, weight), min(N_WORDS, possible)) for weight in LAMBDAS]
        return np.unique(np.concatenate(top))

    def data(self):
        view, kept = self.view, self.kept
        joint = view.share[self.topics, None] * view.topic_word[np.ix_(self.topics, kept)]
        sums = (view.share @ view.topic_word)[kept]
        given_word = (joint / np.where(sums > 0, sums, 1)).T
        return {
            "name": [clip(view.words[v]) for v in kept],
            "id": kept.tolist(),
            "share": view.word_share[kept].tolist(),
            "count": None if view.counts is None else view.word_counts[kept].tolist(),
            "topics": [_shares(row) for row in given_word],
            "listed": [
                # All digits, so that the page has the order of `topic_table`.
                {"word": self.index[row].tolist(), "probability": view.topic_word[k, row].tolist()}
                for k, row in zip(self.topics, self.listed, strict=True)
            ],
        }


def _largest_topics(shares, notes):
    """The topics on the page, ascending; a note if they are not all."""
    if len(shares) <= MAX_TOPICS:
        return np.arange(len(shares))
    notes.append(f"{MAX_TOPICS:,} of {len(shares):,} topics are on this page. The largest are shown.")
    return np.sort(largest(shares, MAX_TOPICS))


def _documents(view, topics, notes):
    """Rows of the documents on the page, and for every topic its closest documents."""
    if view.left_out:
        notes.append(view.left_out)
    D = view.n_documents
    closest = [view.closest(k, N_CLOSEST) for k in topics]
    if D <= MAX_DOCUMENTS:
        return np.arange(D), closest
    first = np.full(D, False)
    first[np.concatenate(closest)] = True
    order = np.argsort(~first, kind="stable")[: max(MAX_DOCUMENTS, np.count_nonzero(first))]
    notes.append(
        f"{len(order):,} of {D:,} documents are on this page: the closest ones of every topic and the first ones."
    )
    return np.sort(order), closest


def _similarity(distances):
    """Topics on a map, and all pairs of them."""
    scaling = classical_scaling(distances)
    return {
        "order": _leaf_order(distances).tolist(),
        "values": [[round(float(1 - value), 3) for value in row[: i + 1]] for i, row in enumerate(distances)],
        "points": scaling.points.round(4).tolist(),
        "part": round(scaling.part, 3),
    }


def _topic_columns(view, topics):
    std, stability = view.share_std, view.stability
    return {
        "name": None if view.names is None else [clip(view.names[k]) for k in topics],
        "share": view.share[topics].tolist(),
        "share_std": None if std is None else np.asarray(std)[topics].tolist(),
        "stability": None if stability is None else _known(np.asarray(stability)[topics].tolist()),
        "found_in": None if view.found_in is None else [view.found_in[k] for k in topics],
        "no_topic": NO_TOPIC,
        "deviations": view.deviations,
    }


def _closest_std(view, topics, closest):
    std = view.doc_topic_std
    return None if std is None else [_short(std[row, k]) for k, row in zip(topics, closest, strict=True)]


def _shares(row):
    """The largest entries as a flat list: index, value, index, value, ..."""
    top = largest(row, N_SHARES)
    top = top[row[top] >= SMALLEST_SHARE]
    return [x for k in top for x in (int(k), round(float(row[k]), 3))]


def _groups(view, topics, word):
    found = group_shares(view)
    if found is None:
        return None
    word = clip(str(word)) if word else "collection" if found.kind == "mixture" else "group"
    return {
        "word": word,
        # A number alone does not say of what.
        "name": [clip(f"{word} {label}" if isinstance(label, Number) else str(label)) for label in found.labels],
        **{name: [_known(_short(row)) for row in getattr(found, name)[:, topics]] for name in ("mean", "low", "high")},
        "kind": found.kind,
    }


def _periods(found, topics):
    shown = {"mean": found.means.estimate, "low": found.means.low, "high": found.means.high}
    return {
        "length": found.length,
        "name": found.labels,
        **{name: [_known(_short(row)) for row in each[:, topics]] for name, each in shown.items()},
        "documents": found.means.documents.tolist(),
        "undated": found.n_undated,
    }


def _known(values):
    """None in place of NaN, which JSON does not have."""
    return [None if x != x else x for x in values]


def _short(values):
    """Numbers with six significant digits, enough for what is shown."""
    return [float(f"{value:.6g}") for value in values]


def _leaf_order(distances: np.ndarray) -> np.ndarray:
    """Topics in the order of the leaves of average linkage; close ones stand side by side where n is at most 500."""
    n = len(distances)
    if n < 2:
        return np.zeros(1, int)
    return leaves_list(linkage(squareform(distances, checks=False), "average", optimal_ordering=n <= 500))
