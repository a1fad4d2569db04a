"""Display of the top words of topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from sklda._description.view import view
from sklda._input.arguments import check_int
from sklda._input.names import plain_text
from sklda._input.types import Data, Model, Values
from sklda.inspection._axes import PanelsDisplay, colours_of, largest_of, pyplot, style_bars, text_width
from sklda.inspection._ranking import Ranking

# Characters of a word that are shown.
_LONGEST = 24


@dataclass(eq=False, repr=False)
class TopicWordsDisplay(PanelsDisplay):
    """The most probable words of topics, with their probabilities. Each topic has a scale of its own.

    Use `from_estimator` to make one.

    Parameters
    ----------
    words : list of ndarray of str
        The words of each topic shown, most probable first.
    probabilities : list of ndarray
        Their probabilities.
    names : list of str
        Titles.
    word_shares : list of ndarray, default=None
        Shares of the words in the corpus.
    label : str, default=""
        Label of the axis of the words, for example if they are numbers of columns.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of matplotlib Axes

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicWordsDisplay
    >>> lda = GibbsLDA(3, max_iter=30, random_state=0).fit(make_lda_corpus(40, 30, 3, random_state=0).data)
    >>> TopicWordsDisplay.from_estimator(lda, n_words=5).axes_.shape
    (3,)
    """

    words: Sequence[Any]
    probabilities: Sequence[np.ndarray]
    names: Sequence[str]
    word_shares: Sequence[np.ndarray] | None = None
    label: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        topics: Values | None = None,
        rank_by: Literal["probability", "relevance", "frex"] = "probability",
        probability_weight: float | None = None,
        n_words: int = 10,
        ax: Any = None,
    ) -> Self:
        """Plot the topics of any fitted topic model.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents. With these, a line marks the share of each word in the tokens.
        topics : sequence of int or str, default=None
            Topics to show. None: the twelve with the largest shares of the tokens.
        rank_by : {"probability", "relevance", "frex"}, default="probability"
            Order of the words; see `topic_table`.
        probability_weight : float in [0, 1], default=None
            See `topic_table`.
        n_words : int, default=10
            Number of words of each topic.
        ax : sequence of matplotlib Axes, default=None
            One for each topic. None: those of a new figure.

        Returns
        -------
        TopicWordsDisplay

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, or an argument does not fit it.
        """
        n_words = check_int(n_words, "n_words", 1)
        found = view(estimator, X)
        ranking = Ranking(found, rank_by, probability_weight)
        shown = found.chosen(topics, 12)
        top = [ranking.top(k, n_words) for k in shown]
        display = cls(
            [np.array([found.words[v] for v in row]) for row in top],
            [found.topic_word[k, row] for k, row in zip(shown, top, strict=True)],
            [f"topic {k}" if found.names is None else plain_text(f"{k}: {found.names[k]}", 60) for k in shown],
            None if found.counts is None else [found.word_share[row] for row in top],
            "" if found.has_names else "column of X",
        )
        if topics is None:
            display._selection = largest_of(len(shown), found.n_topics)
        return display.plot(ax)

    # Says that not all topics are shown.
    _selection = ""

    def _panels(self):
        return len(self.words), f"one Axes for each of the {len(self.words)} topics"

    def _draw(self, axes):
        for i, ax in enumerate(axes):
            words, colours = self.words[i], colours_of(ax)
            places = np.arange(len(words))
            ax.barh(places, self.probabilities[i], color=colours.fill)
            if self.word_shares is not None:
                ax.vlines(self.word_shares[i], places - 0.4, places + 0.4, color=colours.ink)
            ax.set_yticks(places, [plain_text(word, _LONGEST) for word in words])
            ax.set_title(self.names[i], fontsize=10, loc="left")
            style_bars(ax)
            ax.locator_params(axis="x", nbins=3)
        figure = axes[0].figure
        figure.supylabel(self.label, fontsize=10)
        marks = "" if self.word_shares is None else "; line: its share in the corpus"
        label = f"probability of the word in the topic{marks}\n{self._selection}".strip()
        figure.supxlabel(label, fontsize=10)

    def _new_axes(self):
        """Axes of a new figure, one for each topic, at most four in a row."""
        n = len(self.words)
        longest = max((text_width(plain_text(word, _LONGEST), 10) for words in self.words for word in words), default=0)
        titles = max((text_width(name, 10) for name in self.names), default=0)
        # A long title has three lines above the bars.
        bars = 1.3 if titles < 85 else 2.0
        columns = min(n, 4 if bars == 1.3 else 3)
        rows = -(-n // columns)
        height = rows * (0.75 + 0.19 * max(map(len, self.words)) + (0 if bars == 1.3 else 0.3))
        figure = pyplot().figure(figsize=((bars + longest / 72) * columns, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax in axes[n:]:
            ax.remove()
        return axes[:n]
