"""The words of documents with their topics, in the order of a text or, without texts, grouped by topic."""

import re
from itertools import chain, repeat

import numpy as np

from sklda._core.names import read_names
from sklda.inspection._tokens import Tokens, likeliest

# The pattern of CountVectorizer, with words of one letter.
_PATTERN = r"(?u)\b\w+\b"
# Characters of all texts of a page, and of one text.
_ALL_CHARACTERS, _SHORTEST, _LONGEST = 5_000_000, 500, 5_000
# Different words of a document without a text.
_MOST_WORDS = 500


class Texts:
    """The parts of documents for the explorer.

    `word_index` (n_features,) has the place of each word on the page; -1 for others. `kind` says where the topics of
    tokens come from, see `Tokens`, and `notes` what was cut.
    """

    def __init__(self, view, word_index, documents):
        self.view, self.word_index = view, word_index
        self.texts = (
            None if documents is None else read_names(documents, "documents", view.n_documents, "document", "text")
        )
        self.kind, self.notes = None, []
        self.pattern, self.normalise = _tokenizer(view.pipelines)

    def of(self, rows, topics, longest=_LONGEST):
        """Pairs (row, parts) of documents. Texts are cut after `longest` characters, or earlier if there are many.

        ``parts`` is a dict. With texts, ``text`` is a list of three values for every word: what is before it, the word,
        and its topic (place on the page, or -1). Without, ``bag`` is a list of three values for every different word
        and topic: place of the word, topic and number of tokens.
        """
        if not len(rows):
            return []
        place = np.full(self.view.n_topics + 1, -1)
        place[topics] = np.arange(len(topics))
        rows = np.asarray(rows)
        limit = int(np.clip(_ALL_CHARACTERS // len(rows), _SHORTEST, longest))
        found, cut = [], 0
        for d, words, token_topics, counts in self._entries(rows):
            if self.texts is None:
                entries = self._bag(words, place[token_topics], counts)
                cut += len(entries) > 3 * _MOST_WORDS
                found.append((int(d), {"bag": entries[: 3 * _MOST_WORDS]}))
            else:
                cut += len(self.texts[d]) > limit
                text = self.texts[d][:limit]
                found.append((int(d), {"text": self._text(text, words, place[token_topics], counts)}))
        if cut:
            most = f"{limit:,} characters" if self.texts is not None else f"{_MOST_WORDS} different words"
            self.notes.append(f"Documents with more than {most} are cut: {cut:,}.")
        return found

    def _entries(self, rows):
        """For every row: words, topics and numbers of tokens, by word and topic."""
        view = self.view
        if not view.has_counts:
            self.kind = "likeliest"
            for d in rows:
                words = view.counts.indices[slice(*view.counts.indptr[d : d + 2])]
                yield d, words, likeliest(view, d, words), np.ones(len(words), int)
            return
        tokens, places = self._tokens(rows)
        self.kind = tokens.kind
        offsets = tokens.corpus.offsets
        for d, i in zip(rows, places, strict=True):
            own = slice(*offsets[i : i + 2])
            pairs, counts = np.unique(
                np.stack([tokens.corpus.words[own], tokens.topics[own]]), axis=1, return_counts=True
            )
            yield d, *pairs, counts

    def _tokens(self, rows):
        """Tokens of the rows, and the places of the rows in these."""
        view = self.view
        if view.is_training and hasattr(view.model, "topic_assignments_"):
            return Tokens(view), rows
        return Tokens(view.of_documents(rows)), np.arange(len(rows))

    def _bag(self, words, topics, counts):
        """By topic, those with the most tokens first; in a topic, the most frequent words first."""
        totals = np.bincount(topics + 1, weights=counts, minlength=1)
        order = np.lexsort((words, -counts, topics, -totals[topics + 1]))
        order = order[self.word_index[words[order]] >= 0]
        return np.stack([self.word_index[words], topics, counts], axis=1)[order].ravel().tolist()

    def _text(self, text, words, topics, counts):
        left = {}
        for v, k, c in zip(words.tolist(), topics.tolist(), counts.tolist(), strict=True):
            # Weights such as tf-idf are not counts: all occurrences of a word have one topic.
            occurrences = repeat(k, c) if self.view.has_counts else repeat(k)
            left.setdefault(self.view.words[v], []).append(occurrences)
        left = {name: chain.from_iterable(runs) for name, runs in left.items()}
        parts, end = [], 0
        for match in re.finditer(self.pattern, text):
            word = match.group()
            topic = next(chain(*(left.get(name, ()) for name in (word, self.normalise(word)))), None)
            if topic is not None:
                parts += [text[end : match.start()], word, topic]
                end = match.end()
        return [*parts, text[end:], "", -1]


def _tokenizer(pipelines):
    """The pattern of words, and the function that makes a name of a word, of a pipeline's vectorizer."""
    for pipeline in pipelines:
        for _, step in pipeline.steps:
            if hasattr(step, "build_preprocessor") and hasattr(step, "token_pattern"):
                pattern = step.token_pattern if isinstance(step.token_pattern, str) else _PATTERN
                # A pattern with a group names the group as the word, so its place in the text is not the match's.
                pattern = pattern if not re.compile(pattern).groups else _PATTERN
                return pattern, step.build_preprocessor()
    return _PATTERN, str.lower
