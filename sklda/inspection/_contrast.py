"""Two sides next to each other: words by which two topics differ, or two groups of documents within a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame
from scipy.special import rel_entr

from sklda._core.arguments import check_int
from sklda._core.largest import largest
from sklda._core.names import plain_text
from sklda._core.types import Data, Model, Seed, Values
from sklda._description.view import view
from sklda.inspection._axes import Display, colours_of, lay_out, size_in_points, wrapped
from sklda.inspection._group_words import GroupSample


def contrast_topics(
    estimator: Model,
    *,
    topic: int | str,
    other_topic: int | str,
    other_estimator: Model | None = None,
    n_words: int = 10,
) -> DataFrame:
    """The words by which two topics differ most: two of one model, or one of each of two models.

    The order is that of the parts of words in the Jensen-Shannon divergence of the topics, so a word comes first if it
    is frequent in one topic and much rarer in the other.

    Parameters
    ----------
    estimator : estimator, pipeline, or pair (topic_word, doc_topic)
        A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes (n_components,
        n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
    topic, other_topic : int or str
        Their numbers or names.
    other_estimator : estimator, pipeline, or pair (topic_word, doc_topic), default=None
        The model that has `other_topic`, such as another fit, with the same features. None: the first one.
    n_words : int, default=10
        Number of words for each topic.

    Returns
    -------
    pandas.DataFrame
        A row for each topic and word, first the words that are more probable in `topic`, then those in `other_topic`:

        - ``side``: the topic in which the word is more probable, its number with its name or words
        - ``word``
        - ``probability`` and ``probability_in_other``: of the word in `topic` and in `other_topic`
        - ``log_ratio``: of these, in nats; infinite if a probability is zero
        - ``divergence``: part of the word in the divergence, in bits. All words together have the divergence.

    Raises
    ------
    ValueError
        If a topic is not in its model, or the models have other features.
    TypeError
        If a model is not a topic model.

    See Also
    --------
    TopicContrastDisplay : The same as a plot.
    similarity_table : How alike all topics are.

    Examples
    --------
    >>> from sklda.inspection import contrast_topics, describe
    >>> topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], [[0.5, 0.5]]
    >>> table = contrast_topics(describe(topics, feature_names=["the", "cat", "sleeps"]), topic=0, other_topic=1)
    >>> [str(word) for word in table["word"]]
    ['cat', 'sleeps']
    """
    found = _TwoTopics.of(estimator, topic, other_topic, other_estimator)
    sides = [found.words_of(side, check_int(n_words, "n_words", 1)) for side in (0, 1)]
    v = np.concatenate(sides)
    first, second = found.probabilities[:, v]
    with np.errstate(divide="ignore"):
        ratio = np.log(first) - np.log(second)
    return DataFrame(
        {
            "side": [found.names[side] for side, words in enumerate(sides) for _ in words],
            "word": [found.words[each] for each in v],
            "probability": first,
            "probability_in_other": second,
            "log_ratio": ratio,
            "divergence": found.parts[v],
        }
    )


@dataclass
class _TwoTopics:
    """Two topics with the same features: probabilities (2, n_features), and names of the topics."""

    probabilities: np.ndarray
    names: list
    words: list

    @classmethod
    def of(cls, model, topic, other_topic, other_estimator):
        first = view(model, needs="topics")
        second = first if other_estimator is None else view(other_estimator, needs="topics")
        if first.topic_word.shape[1] != second.topic_word.shape[1]:
            sizes = first.topic_word.shape[1], second.topic_word.shape[1]
            raise ValueError(
                "estimator has {} features and other_estimator {}: give fits of the same words.".format(*sizes)
            )
        if None not in (first.known_words, second.known_words) and first.known_words != second.known_words:
            raise ValueError(
                "estimator and other_estimator have features with other names: give fits of the same words."
            )
        first.known_words = second.known_words = first.known_words or second.known_words
        chosen = [(each, each.chosen([k])[0]) for each, k in ((first, topic), (second, other_topic))]
        names = [each.labels([k])[0] for each, k in chosen]
        if other_estimator is not None:
            names = [f"{name} ({which})" for name, which in zip(names, ("model", "other model"), strict=True)]
        return cls(np.stack([each.topic_word[k] for each, k in chosen]), names, first.words)

    @property
    def parts(self):
        """Parts of the words in the Jensen-Shannon divergence, in bits."""
        return rel_entr(self.probabilities, self.probabilities.mean(axis=0)).sum(axis=0) / (2 * np.log(2))

    def words_of(self, side, n_words):
        own, other = self.probabilities[side], self.probabilities[1 - side]
        words = largest(np.where(own > other, self.parts, -1), n_words)
        return words[own[words] > other[words]]


@dataclass(eq=False, repr=False)
class TopicContrastDisplay(Display):
    """Words by which two topics differ most, or two groups of documents within a topic, as bars to the left and right.

    They are like the perspectives of the R package stm. `from_estimator` plots a fitted model; the constructor takes
    the values to plot.

    Parameters
    ----------
    words : sequence of str
        From top to bottom.
    first, second : array-like of shape (n_words,)
        Their shares on the left and on the right.
    names : sequence of 2 str
        Of both sides.
    ratios : array-like of shape (n_words, 3), default=None
        How many times as large the larger share is, and its interval.
    title : str, default=""

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : list of 2 matplotlib BarContainer

    See Also
    --------
    contrast_topics : Two topics as a table.
    group_words : Groups as a table.

    Examples
    --------
    >>> from sklda.inspection import TopicContrastDisplay
    >>> topics = [[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], [[0.5, 0.5]]
    >>> TopicContrastDisplay.from_estimator(topics, topic=0, other_topic=1, n_words=1).words
    ['1', '2']
    """

    words: Sequence[Any]
    first: Values
    second: Values
    names: Sequence[str]
    ratios: Values | None = None
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        topic: int | str,
        other_topic: int | str | None = None,
        other_estimator: Model | None = None,
        groups: ArrayLike | None = None,
        group: Any = None,
        clusters: Any = None,
        missing: Literal["raise", "drop"] = "raise",
        n_words: int = 10,
        least_tokens: int = 20,
        level: float = 0.95,
        n_sweeps: int = 100,
        random_state: Seed = None,
        ax: Any = None,
    ) -> Self:
        """Plot two topics, with `other_topic`, or a topic in two groups of the documents X, with `groups`.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and
            documents.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents, for `groups` only.
        topic : int or str
            Its number or name.
        other_topic : int or str, default=None
            The topic on the right.
        other_estimator : estimator, pipeline, or pair (topic_word, doc_topic), default=None
            The model that has `other_topic`. None: `estimator`.
        groups : sequence of n_documents hashable labels, default=None
            Of the documents.
        group : hashable, default=None
            The label on the left; all others are on the right. Not needed for two groups.
        clusters : sequence of n_documents labels, default=None
            The source, author or book of every document, for `groups` only; see `group_words`.
        missing : {"raise", "drop"}, default="raise"
            What happens to documents that count and lack a value of an argument: an error that names them, or they are
            left out and a warning says so.
        n_words : int, default=10
            Number of words of each side.
        least_tokens, level, n_sweeps
            See `group_words`.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Of the draws.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        TopicContrastDisplay

        Raises
        ------
        ValueError
            If there is not one of `other_topic` and `groups`, groups are given without X, or `group` is not a label.
        TypeError
            If the model is not a topic model, or for `groups` has no posterior draws of the topics of tokens.
        """
        n_words = check_int(n_words, "n_words", 1)
        if (other_topic is None) == (groups is None):
            raise ValueError("give other_topic for two topics, or X and groups for two groups: one of both.")
        if groups is None and clusters is not None:
            raise ValueError("clusters are those of the documents of groups: give groups, too.")
        if groups is None:
            found = _TwoTopics.of(estimator, topic, other_topic, other_estimator)
            v = np.concatenate([found.words_of(side, n_words) for side in (0, 1)])
            left, right = found.probabilities[:, v]
            return cls([found.words[each] for each in v], left, right, found.names).plot(ax=ax)
        if other_estimator is not None:
            raise ValueError("other_estimator is for other_topic: do not give it with groups.")
        found = view(estimator, X, needs="counts", groups=groups, clusters=clusters, missing=missing)
        (chosen,) = found.chosen([topic])
        least_tokens = check_int(least_tokens, "least_tokens", 1)
        sample = GroupSample.of_view(found, n_sweeps, level, random_state)
        g, names = _sides(sample.labels, group)
        own = sample.of(chosen, least_tokens)
        rows = [own.words_of(g, n_words, side) for side in (1, -1)]
        columns = {name: np.concatenate([each[name] for each in rows]) for name in rows[0]}
        ratios = np.stack([columns[name] for name in ("log_ratio", "low", "high")], axis=1)
        # A word of the right side has the ratio of right to left.
        right = ratios[:, 0] < 0
        ratios[right] = -ratios[right][:, [0, 2, 1]]
        return cls(
            [found.words[v] for v in columns["word"]],
            columns["share"],
            columns["share_of_others"],
            names,
            np.exp(ratios),
            f"topic {found.labels([chosen])[0]}",
        ).plot(ax=ax)

    def _figsize(self):
        return 7 if self.ratios is None else 8.5, 1.5 + 0.22 * len(self.words)

    def _draw(self, ax):
        places, colours = np.arange(len(self.words)), colours_of(ax)
        first, second = (np.asarray(each, dtype=np.float64) for each in (self.first, self.second))
        left, right = colours.series[0], colours.series[4]
        self.bars_: list[Any] = [ax.barh(places, -first, color=left), ax.barh(places, second, color=right)]
        most = max(first.max(initial=0), second.max(initial=0)) * 1.05 or 1.0
        ax.set_xlim(-most, most)
        ax.axvline(0, color=colours.ink, lw=0.8)
        ax.set_yticks(places, [plain_text(word, 24) for word in self.words])
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.xaxis.set_major_formatter(lambda x, _: f"{abs(x):.2g}")
        ratios = [] if self.ratios is None else np.asarray(self.ratios)
        for place, each in zip(places, ratios, strict=False):
            # Beside the axes, where no bar is.
            where = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 8, "annotation_clip": False}
            ax.annotate("{} times ({} to {})".format(*map(_times, each)), (1.02, place), **where)
        # Half of the axes for the name of each side, above its bars.
        lay_out([ax])
        half = size_in_points(ax)[0] / 2 - 8
        names = [wrapped(plain_text(name, 60), half, 9) for name in self.names]
        where = {"transform": ax.transAxes, "va": "bottom", "fontsize": 9}
        for x, align, name in zip((0.49, 0.51), ("right", "left"), names, strict=True):
            ax.text(x, 1.01, name, ha=align, color=colours.ink, **where)
        most_lines = max(name.count("\n") + 1 for name in names)
        ax.set_xlabel("share of the word in the topic")
        if self.title:
            ax.set_title(plain_text(self.title, 60), fontsize=10, pad=8 + 12 * most_lines)


def _sides(labels, group):
    """The place of the group on the left, and the names of both sides."""
    if group is None:
        if len(labels) != 2:
            raise ValueError(f"there are {len(labels)} groups: give group, the label of the one on the left.")
        return 0, [str(label) for label in labels]
    if group not in labels:
        raise ValueError(f"group {group!r} is not among the labels {labels}.")
    g = labels.index(group)
    return g, [str(group), str(labels[1 - g]) if len(labels) == 2 else "all others"]


def _times(ratio):
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}" if ratio < 1000 else "over 1,000"
