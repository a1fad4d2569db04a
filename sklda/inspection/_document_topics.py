"""Display of a passage of a document with the topic of every word."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._core.largest import largest
from sklda._description.view import view
from sklda._input.arguments import check_int
from sklda._input.names import plain_text, plain_texts
from sklda._input.types import Data, Model
from sklda.inspection._axes import TOPIC_COLOURS, Display, pyplot
from sklda.inspection._texts import Texts, texts_of

# Columns of a line. In points: the font, the distance of characters, which is larger than their width because
# screens round it up, and the distance of lines.
_WIDTH, _FONT, _ADVANCE, _LINE = 80, 9, 9 * 0.64, 15
# Of the topics that have colours, for greyscale, and their size in points.
_LETTERS, _SMALL = "abcdefg", 6


@dataclass(eq=False, repr=False)
class DocumentTopicsDisplay(Display):
    """A passage of a document, whose words have the colours and the letters of their topics.

    If no text is known, the words of the document by topic. `from_estimator` makes one from a fitted model; the
    constructor takes the values to plot.

    Parameters
    ----------
    parts : list of (str, int)
        The passage in pieces, each with the place of its topic in `topics`; -1 for a piece without colour.
    topics : sequence of str
        Names of the topics that have colours, at most 7.
    title : str, default=""

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklda.inspection import DocumentTopicsDisplay
    >>> display = DocumentTopicsDisplay([("The ", -1), ("cat", 0), (" sleeps.", -1)], ["0: cat dog"], "a text")
    >>> display.plot().ax_.get_title(loc="left")
    'a text'
    """

    parts: Sequence[tuple[str, int]]
    topics: Sequence[str]
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        document: int,
        text: str | None = None,
        n_topics: int = 5,
        n_characters: int = 1200,
        n_words: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot a passage of a document of X.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes
            Documents. See `token_topics` for where the topics of tokens come from.
        document : int
            Row of X.
        text : str, default=None
            A text of the document, or a part of it. None: that in X, if a pipeline takes texts; otherwise its words by
            topic.
        n_topics : int, default=5
            Number of topics with a colour, those of the most words of the passage; at most 7.
        n_characters : int, default=1200
            Where the passage is cut.
        n_words : int, default=3
            How many of a topic's most probable words are in its label, if it has no name.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        DocumentTopicsDisplay

        Raises
        ------
        ValueError
            If `document` is not a row of X or has no words, or an argument is out of range.
        TypeError
            If the model is not a topic model, or `text` is not a str.

        Examples
        --------
        >>> from sklearn.feature_extraction.text import CountVectorizer
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklda import GibbsLDA
        >>> from sklda.inspection import DocumentTopicsDisplay
        >>> texts = ["apple banana apple", "banana cherry apple", "car engine wheel", "engine wheel wheel"]
        >>> model = make_pipeline(CountVectorizer(), GibbsLDA(2, max_iter=50, random_state=0)).fit(texts)
        >>> DocumentTopicsDisplay.from_estimator(model, texts, document=2).ax_.get_title(loc="left")
        'document 2'
        """
        n_topics = check_int(n_topics, "n_topics", 1, len(TOPIC_COLOURS))
        n_characters = check_int(n_characters, "n_characters", 1)
        if text is not None and not isinstance(text, str):
            raise TypeError(f"text must be a str, got {text!r}.")
        found = view(estimator, X, needs="counts")
        document = found.document(document)
        known = texts_of(found)
        if text is None and known is not None:
            text = list(known)[document]
        if not found.lengths[document]:
            raise ValueError(f"document {document} has no words to show.")
        texts = None if text is None else [text if d == document else "" for d in range(found.n_documents)]
        reader = Texts(found, np.arange(found.n_features), texts)
        (part,) = reader.parts([document], np.arange(found.n_topics))
        if text is None:
            rows = part["bag"].tolist()
            parts = [each for v, k, n in rows for each in ((_repeated(found.words[v], n), k), (" ", -1))]
        else:
            # Between words there is no topic.
            topics = [part["topics"][i // 2] if i % 2 else -1 for i in range(len(part["text"]))]
            parts = list(zip(part["text"], topics, strict=True))
        parts = _cut(parts, n_characters)
        weights = np.bincount([k + 1 for _, k in parts], minlength=found.n_topics + 1)[1:]
        shown = largest(weights, n_topics)
        shown = shown[weights[shown] > 0]
        place = {int(k): i for i, k in enumerate(shown)}
        parts = [(piece, place.get(int(k), -1)) for piece, k in parts]
        display = cls(parts, plain_texts(found.labels(shown, n_words)), f"document {found.document_names[document]}")
        n_found = int((weights > 0).sum())
        if len(shown) < n_found:
            display._selection = f"the {len(shown)} topics with the most words here, of {n_found}:"
        return display.plot(ax=ax)

    # Says that not all topics of the passage have a colour.
    _selection = ""

    def _figsize(self):
        n_lines = len(_lines(self.parts)) + len(self.topics) + bool(self._selection)
        return (_WIDTH + 4) * _ADVANCE / 72, (n_lines * _LINE + 45) / 72

    def _draw(self, ax):
        ax.set_axis_off()
        ax.set_title(plain_text(self.title, 60), loc="left", fontsize=10)
        lines = _lines(self.parts)
        for i, line in enumerate(lines):
            begin = 0
            for piece, topic in line:
                # Word by word, so that widths that are rounded do not add up.
                for word in re.finditer(r"\S+", piece):
                    self._write(ax, begin + _columns(piece[: word.start()]), i, word.group(), topic)
                begin += _columns(piece)
        below = len(lines) + 0.7
        if self._selection:
            self._write(ax, 0, below, self._selection, -1)
            below += 1
        for i, name in enumerate(self.topics):
            self._write(ax, 0, below + i, "  ", i)
            self._write(ax, 4, below + i, name.replace(r"\$", "$"), -1)

    def _write(self, ax, column, line, text, topic):
        """Write at a place that does not depend on the size of the axes; the letter of a topic is behind its words."""
        box = None if topic < 0 else {"facecolor": TOPIC_COLOURS[topic], "alpha": 0.45, "edgecolor": "none", "pad": 1}
        where = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "baseline", "annotation_clip": False}
        family = pyplot().rcParams["font.family"]
        font = {"family": ["DejaVu Sans Mono", "DejaVu Sans", *family], "parse_math": False}
        shown = "".join(c if c.isprintable() else "?" for c in text)
        place = np.array([column * _ADVANCE, -(line + 0.8) * _LINE])
        written = [ax.annotate(shown, (0, 1), tuple(place), bbox=box, fontsize=_FONT, **where, **font)]
        if topic >= 0:
            behind = place + np.array([_columns(text) * _ADVANCE, 0.4 * _FONT])
            written.append(ax.annotate(_LETTERS[topic], (0, 1), tuple(behind), fontsize=_SMALL, **where, **font))
        for each in written:
            # The layout would make room for it at the cost of the axes.
            each.set_in_layout(False)


def _columns(text):
    """The number of columns that a text has: Chinese, Japanese and Korean characters have two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _repeated(word, n):
    return word if n == 1 else f"{word}×{n}"


def _cut(parts, most):
    """The first pieces, at most so many characters, with single spaces."""
    found, left = [], most
    for piece, topic in parts:
        words = " ".join(piece.split())
        spaces = piece[:1].isspace(), piece[-1:].isspace() and bool(words)
        piece = " " * spaces[0] + words + " " * spaces[1]
        if len(piece) > left:
            return [*found, (piece[:left], topic), ("…", -1)]
        left -= len(piece)
        found.append((piece, topic))
    return found


def _lines(parts):
    """The pieces of every line. A line is broken at a space, or within a word that is longer than a line."""
    text = "".join(piece for piece, _ in parts).rstrip()
    numbers = np.repeat(np.arange(len(parts)), [len(piece) for piece, _ in parts])
    ends = np.cumsum([_columns(c) for c in text])
    lines, begin = [], 0
    while begin < len(text):
        before = ends[begin - 1] if begin else 0
        end = begin + max(int(np.searchsorted(ends[begin:] - before, _WIDTH, side="right")), 1)
        if end < len(text):
            space = text.rfind(" ", begin + 1, end + 1)
            end = end if space < 0 else space
        own = numbers[begin : min(end, len(text))]
        cuts = [0, *(np.flatnonzero(np.diff(own)) + 1).tolist(), len(own)]
        lines.append([(text[begin + a : begin + b], parts[own[a]][1]) for a, b in itertools.pairwise(cuts)])
        begin = end + (text[end : end + 1] == " ")
    return lines
