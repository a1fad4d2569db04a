"""The words of documents with their topics, in the order of a text or, without texts, grouped by topic."""

import base64
import json
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice, repeat

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sklda._input.names import read_names
from sklda.inspection._tokens import Tokens, likeliest

# The pattern of CountVectorizer, with words of one letter.
_PATTERN = r"(?u)\b\w+\b"
# Characters of all texts of a page; pairs of a word and a topic of all documents without texts.
ALL_CHARACTERS, ALL_PAIRS = 40_000_000, 6_000_000
# Characters of a block before it is compressed. The page unpacks one to show a document, which takes milliseconds.
_BLOCK = 250_000
# Characters of the beginning of a text.
_EXCERPT = 120
# Characters of a line of prose that was broken to fit a page. Shorter lines are verses, lists or answers.
_LINE = 55
# The part of the breaks after such lines that are of the page, in a text whose lines are joined.
_OF_THE_PAGE = 2 / 3
# Marks that turn the direction of what follows. Names are isolated on the page, and texts are in many pieces.
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
# The beginning of a line that is one of its own: indented, or an entry of a list.
_OWN_LINE = re.compile(r"\s|[>|]|[-*+•]\s|\(?(\d{1,3}|[A-Za-z])[.)]\s")
# What a passage is counted in: words, and parts of texts that have no spaces.
_SPACED = re.compile(r"\S{1,20}")


def texts_of(found):
    """The texts of the documents of a view, given as `texts` or as X of a pipeline; None if they are not known."""
    texts = found.values["texts"]
    if texts is not None and found.counts is None:
        raise ValueError("texts are shown with the topics of the words of X: give X, too.")
    return found.X if texts is None and found.pipelines and _all_texts(found.X) else texts


def _all_texts(X):
    # A frame iterates over the names of its columns.
    is_list = hasattr(X, "__len__") and not isinstance(X, (str, bytes)) and getattr(X, "ndim", 1) == 1
    return is_list and all(isinstance(text, str) for text in X)


class Texts:
    """The words of documents for the explorer.

    `word_index` (n_features,) has the place of each word on the page; -1 for others. `kind` says where the topics of
    tokens come from, see `Tokens`, and `notes` what was cut.
    """

    def __init__(self, view, word_index, texts):
        self.view, self.word_index = view, word_index
        self.texts = None
        if texts is not None:
            texts = read_names(texts, "texts", view.n_documents, "document", "text")
            self.texts = [joined_lines(text) for text in texts]
        self.kind, self.notes = None, []
        self.reader = _WordReader.of(view.pipelines)

    def excerpts(self, rows):
        """The beginnings of the texts; None without texts."""
        if self.texts is None:
            return None
        beginnings = (" ".join(self.texts[d][: 5 * _EXCERPT].split()) for d in rows)
        return [text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…" for text in beginnings]

    def passages(self, rows, n_words):
        """The passages of about `n_words` words with the most words of each topic k in the documents `rows[k]`."""
        distinct = np.unique(np.concatenate(rows)).tolist()
        parts = dict(zip(distinct, self.parts(distinct, np.arange(self.view.n_topics)), strict=True))
        return [[_passage(parts[d], k, n_words) for d in own] for k, own in enumerate(rows)]

    def parts(self, rows, topics, longest=None):
        """The words of documents in turn, a dict for each. Texts are cut after `longest` characters.

        With texts, ``text`` is a list that alternates between what is before a word and the word, and ``topics`` has
        the topics of these words: places in `topics`, or -1. Without, ``bag`` is an array with three columns and a row
        for every different word and topic: place of the word on the page, topic, and number of tokens.
        """
        place = np.full(self.view.n_topics + 1, -1)
        place[topics] = np.arange(len(topics))
        for d, words, token_topics, counts in self._entries(np.asarray(rows, int)):
            if self.texts is None:
                yield {"bag": self._bag(words, place[token_topics], counts)}
            else:
                yield self._text(self.texts[d][:longest], words, place[token_topics], counts)

    def blocks(self, rows, topics):
        """The words of documents in compressed blocks, for a page of limited size.

        They are a list of pairs: the place in `rows` of the first document, and the base64 of the deflated JSON of a
        list with a dict for each document. The dicts are those of `parts`, with a flat bag. ``whole`` is the number of
        characters, or of rows of a bag, that a document has which is cut.
        """
        parts = self._bags(rows, topics) if self.texts is None else self._cut_texts(rows, topics)
        return list(_packed(parts))

    def _cut_texts(self, rows, topics):
        sizes = [len(self.texts[d]) for d in rows]
        limit = self._limit(sizes, ALL_CHARACTERS, "characters")
        for size, part in zip(sizes, self.parts(rows, topics, limit), strict=True):
            yield part | {"whole": size} if size > limit else part

    def _bags(self, rows, topics):
        bags = [part["bag"] for part in self.parts(rows, topics)]
        limit = self._limit(list(map(len, bags)), ALL_PAIRS, "pairs of a word and a topic")
        for bag in bags:
            part = {"bag": bag[:limit].ravel().tolist()}
            yield part | {"whole": len(bag)} if len(bag) > limit else part

    def _limit(self, sizes, most, unit):
        """The largest size at which documents are cut, so that all have `most` together; a note if some are cut."""
        sizes = np.array(sizes, np.int64)
        low, high = 0, int(sizes.max(initial=0))
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if np.minimum(sizes, middle).sum() <= most else (low, middle - 1)
        cut = np.count_nonzero(sizes > low)
        if cut:
            self.notes.append(f"{cut:,} of {len(sizes):,} documents are cut: they have more than {low:,} {unit}.")
        return low

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
        if view.is_training and view.of_fit("topic_assignments_") is not None:
            return Tokens(view), rows
        return Tokens(view.of_documents(rows)), np.arange(len(rows))

    def _bag(self, words, topics, counts):
        """By topic, those with the most tokens first; in a topic, the most frequent words first."""
        totals = np.bincount(topics + 1, weights=counts, minlength=1)
        order = np.lexsort((words, -counts, topics, -totals[topics + 1]))
        order = order[self.word_index[words[order]] >= 0]
        return np.stack([self.word_index[words], topics, counts], axis=1)[order].astype(np.int32)

    def _text(self, text, words, topics, counts):
        left = {}
        for v, k, c in zip(words.tolist(), topics.tolist(), counts.tolist(), strict=True):
            # Weights such as tf-idf are not counts: all occurrences of a word have one topic.
            occurrences = repeat(k, c) if self.view.has_counts else repeat(k)
            left.setdefault(self.view.words[v], []).append(occurrences)
        left = {name: chain.from_iterable(runs) for name, runs in left.items()}
        pieces, topic_of_word, end = [], [], 0
        for start, stop, names in self.reader.words(text):
            if start < end:
                continue
            topic = next((topic for name in names if (topic := next(left.get(name, iter(())), None)) is not None), None)
            if topic is not None:
                pieces += [text[end:start], text[start:stop]]
                topic_of_word.append(topic)
                end = stop
        return {"text": [*pieces, text[end:]], "topics": topic_of_word}


def _passage(part, topic, n_words):
    """The words of a text among which most have the topic, see `Texts.parts`; of several such passages a middle one.

    None if no word of the topic is found in the text.
    """
    text = "".join(part["text"])
    words = [match.span() for match in _SPACED.finditer(text)]
    if len(words) <= n_words:
        return " ".join(text.split())
    ends = np.cumsum([len(piece) for piece in part["text"]])
    of_topic = ends[1::2][np.array(part["topics"], dtype=int) == topic]
    if not len(of_topic):
        return None
    place = np.searchsorted([start for start, _ in words], of_topic) - 1
    before = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=len(words)))])
    found = before[n_words:] - before[:-n_words]
    most = np.flatnonzero(found == found.max())
    first = int(most[(len(most) - 1) // 2])
    last = first + n_words - 1
    passage = " ".join(text[words[first][0] : words[last][1]].split())
    return f"{'… ' * (first > 0)}{passage}{' …' * (last + 1 < len(words))}"


def beginning(text: str, n_words: int) -> str:
    """The first words of a text, with its line breaks."""
    ends = [match.end() for match in islice(_SPACED.finditer(text), n_words + 1)]
    return text.strip() if len(ends) <= n_words else f"{text[: ends[n_words - 1]].strip()} …"


def joined_lines(text):
    """The text with spaces for the line breaks that only fit it to a page.

    After such a break comes a word for which the line had no room, as its paragraph's longest line shows. Verses, lists
    and paragraphs of one line keep their breaks.
    """
    lines = text.split("\n")
    sizes = [len(line.rstrip()) for line in lines]
    n_long, of_the_page, start = 0, [], 0
    for end in [i for i, size in enumerate(sizes) if not size] + [len(lines)]:
        width = max(sizes[start:end], default=0)
        for i in range(start, end - 1):
            following = lines[i + 1]
            if _OWN_LINE.match(following):
                continue
            n_long += sizes[i] >= _LINE
            if width >= _LINE and sizes[i] + 1 + len(following.split(None, 1)[0]) > width:
                of_the_page.append(i)
        start = end + 1
    if not of_the_page or len(of_the_page) < _OF_THE_PAGE * n_long:
        return text
    ends = np.full(len(lines), "\n", dtype=object)
    ends[of_the_page] = " "
    ends[-1] = ""
    return "".join(line + end for line, end in zip(lines, ends, strict=True))


def _packed(parts):
    """Blocks of documents, see `Texts.blocks`."""
    first, block, size = 0, [], 0
    for i, part in enumerate(parts):
        written = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
        block.append(written)
        size += len(written)
        if size >= _BLOCK:
            yield [first, _deflated(block)]
            first, block, size = i + 1, [], 0
    if block:
        yield [first, _deflated(block)]


def _deflated(block):
    return base64.b64encode(zlib.compress(encoded(_TURNS.sub("", f"[{','.join(block)}]")))).decode()


def encoded(text: str) -> bytes:
    """UTF-8, with question marks for lone surrogates, which it does not have."""
    return text.encode("utf-8", "replace")


@dataclass(frozen=True)
class _WordReader:
    """Where the words of a vectorizer stand in a text: words, stems or lemmas, and sequences of them."""

    pattern: re.Pattern[str]
    tokens: Callable[[str], list[str]]  # what the vectorizer makes of a word
    stop_words: frozenset[str] = frozenset()
    sizes: Sequence[int] = (1,)  # of sequences, the longest first

    @classmethod
    def of(cls, pipelines):
        """That of the vectorizer of a pipeline, or of `CountVectorizer` without one."""
        steps = (step for pipeline in pipelines for _, step in pipeline.steps)
        step = next(
            (step for step in steps if hasattr(step, "build_tokenizer")), CountVectorizer(token_pattern=_PATTERN)
        )
        pattern = re.compile(step.token_pattern if isinstance(step.token_pattern, str) else _PATTERN)
        if callable(step.analyzer):
            return cls(pattern, cache(step.analyzer))
        tokenize, preprocess = step.build_tokenizer(), step.build_preprocessor()
        low, high = step.ngram_range
        tokens = cache(lambda word: tokenize(preprocess(word)))
        return cls(pattern, tokens, step.get_stop_words() or frozenset(), range(high, low - 1, -1))

    def words(self, text):
        """Start, end, and the possible names of every word and sequence of words in turn."""
        found = []
        for match in self.pattern.finditer(text):
            start, end = match.span(1 if self.pattern.groups else 0)
            own = self.tokens(match.group())
            if len(own) == 1 and own[0] not in self.stop_words:
                found.append((start, end, own[0], text[start:end]))
        for i, (start, _, _, as_it_is) in enumerate(found):
            for size in self.sizes:
                sequence = found[i : i + size]
                if len(sequence) == size:
                    name = " ".join(word for _, _, word, _ in sequence)
                    yield start, sequence[-1][1], (as_it_is, name) if size == 1 else (name,)
