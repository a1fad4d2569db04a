"""Display of the shares of topics in the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklda._core.arguments import check_int
from sklda._core.types import Data, Model, Values
from sklda._description.view import NO_TOPIC, view
from sklda.inspection._axes import (
    NAME_WIDTH,
    Display,
    colours_of,
    largest_of,
    names_size,
    style_bars,
    text_width,
    wrapped,
)

# Points of the texts at the right of the bars.
_NOTE_SIZE = 8


@dataclass(eq=False, repr=False)
class TopicSharesDisplay(Display):
    """The shares of topics in the tokens of a corpus, with standard errors and stability where they are known.

    Error bars have two standard deviations in both directions. Those of a single chain do not contain the differences
    between modes; the label of the axis says so. `from_estimator` plots a fitted model; the constructor takes the
    values to plot.

    Parameters
    ----------
    share : array-like of shape (n_topics,)
        Shares of the topics shown, from top to bottom.
    names : sequence of n_topics str
    share_std : array-like of shape (n_topics,), default=None
        Posterior standard deviations.
    stability : array-like of shape (n_topics,), default=None
        How alike each topic is in all chains or fits, from 0 to 1. NaN: it has no words of its own.
    deviations : str, default="two standard deviations"
        What the error bars have, for the label of the axis.
    found_in : sequence of n_topics str, default=None
        In how many chains or fits each topic is found, such as "3 of 4 chains".

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from sklda.inspection import TopicSharesDisplay
    >>> display = TopicSharesDisplay([0.7, 0.3], ["0: cat dog", "1: bank rate"], share_std=[0.02, 0.02])
    >>> display.plot().ax_.get_xlabel()
    'share of the tokens, ± two standard deviations'
    """

    share: Values
    names: Sequence[str]
    share_std: Values | None = None
    stability: Values | None = None
    deviations: str = "two standard deviations"
    found_in: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        n_topics: int = 30,
        n_words: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot the shares of the topics of a fitted model, the largest first.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents. None: the shares in the model.
        n_topics : int, default=30
            The largest number of topics to show.
        n_words : int, default=3
            How many of a topic's most probable words are in its label, if it has no name.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        TopicSharesDisplay

        Raises
        ------
        ValueError, TypeError
            If the model is not one that this function takes, or an argument does not fit it.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> from sklda.inspection import TopicSharesDisplay, describe
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
        >>> named = describe(lda, X, topic_names=["fruit", "cars"])
        >>> TopicSharesDisplay.from_estimator(named).ax_.get_xlabel()
        'share of the tokens'
        """
        check_int(n_topics, "n_topics", 1)
        found = view(estimator, X)
        order = found.chosen(None, n_topics)
        std, stability, found_in = found.share_std, found.stability, found.found_in
        display = cls(
            found.share[order],
            found.labels(order, n_words),
            None if std is None else np.asarray(std)[order],
            None if stability is None else np.asarray(stability)[order],
            found.deviations,
            None if found_in is None else [found_in[k] for k in order],
        )
        display._selection = largest_of(len(order), found.n_topics)
        return display.plot(ax=ax)

    # Says that not all topics are shown.
    _selection = ""

    def _figsize(self):
        width, lines = names_size(self.names)
        notes = max((text_width(each, _NOTE_SIZE) for each in self._notes()), default=0) / 72
        return width + 4.2 + notes, 1 + (0.24 if lines == 1 else 0.36) * len(self.share)

    def _notes(self):
        """What stands at the right of each bar: the stability of the topic."""
        if self.stability is None:
            return []
        found_in = [""] * len(self.share) if self.found_in is None else [f", in {each}" for each in self.found_in]
        return [
            NO_TOPIC if np.isnan(value) else f"stability {value:.2f}{rest}"
            for value, rest in zip(self.stability, found_in, strict=True)
        ]

    def _draw(self, ax):
        places, colours = np.arange(len(self.share)), colours_of(ax)
        error = None if self.share_std is None else 2 * np.asarray(self.share_std)
        self.bars_: Any = ax.barh(places, self.share, color=colours.fill, xerr=error, ecolor=colours.ink, capsize=2)
        ax.set_yticks(places, [wrapped(name, NAME_WIDTH, 10) for name in self.names], fontsize=10)
        for place, note in zip(places, self._notes(), strict=False):
            # Beside the axes, where no bar is.
            where = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "center", "fontsize": _NOTE_SIZE}
            ax.annotate(note, (1.01, place), **where)
        label = "share of the tokens" + ("" if error is None else f", ± {self.deviations}")
        ax.set_xlabel(f"{label}\n{self._selection}".strip())
        ax.set_xlim(left=0)
        style_bars(ax)
