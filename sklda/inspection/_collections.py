"""Display of the shares of topics in groups of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._inference.types import Data, Model, Values
from sklda.inspection._axes import Display, distinct_colours, legend_label, plain_text, pyplot, style_shares
from sklda.inspection._groups import as_collections, group_shares
from sklda.inspection._ranking import chosen_topics
from sklda.inspection._view import topic_label, view


@dataclass(eq=False, repr=False)
class CollectionTopicsDisplay(Display):
    """Topic shares of collections, or of other groups of documents, with their errors.

    Use `from_estimator` to make one.

    Parameters
    ----------
    mean, std : ndarray of shape (n_collections, n_topics)
        Shares of the topics shown, and their posterior standard deviations or standard errors; NaN where unknown.
    collections : ndarray of shape (n_collections,)
        Labels.
    names : list of str
        Names of the topics shown.
    deviations : str, default="standard errors"
        What the error bars have, for the label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklda import CompoundLDA
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> from sklda.inspection import CollectionTopicsDisplay
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> lda = CompoundLDA(3, max_iter=50, random_state=0).fit(corpus.data, collections=corpus.collections)
    >>> CollectionTopicsDisplay.from_estimator(lda).ax_.get_ylabel()
    'topic share, ± standard deviations within one chain'
    """

    mean: np.ndarray
    std: np.ndarray
    collections: Values
    names: Sequence[str]
    deviations: str = "standard errors"

    @classmethod
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        groups: ArrayLike | None = None,
        topics: Sequence[Any] | None = None,
        feature_names: ArrayLike | None = None,
        n_words: int = 3,
        ordered: bool = False,
        topic_names: Values | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the topic shares of the collections of a fitted `CompoundLDA`, or of groups of documents for any model.

        Parameters
        ----------
        estimator : estimator, pipeline, or pair (topic_word, doc_topic)
            A fitted topic model with ``components_``, a pipeline or search that ends in one, or arrays of shapes
            (n_components, n_features) and (n_documents, n_components).
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents. Not needed for the collections of `CompoundLDA`.
        groups : sequence of n_documents hashable labels, default=None
            The groups of the documents. None, or collections of the fit: the mixtures of `CompoundLDA`, with posterior
            standard deviations. Otherwise the shares of topics in the tokens of the groups, with the standard errors of
            a sample of documents. Documents whose label is missing (None, NaN, NaT or NA) are one group, None.
        topics : sequence of int or str, default=None
            Topics to show; None: the eight largest.
        feature_names : sequence of str of length n_features, default=None
            Words. None: the names that a pipeline's vectorizer gives, ``feature_names_in_``, or column numbers.
        n_words : int, default=3
            Number of a topic's most probable words in its label, if it has no name.
        ordered : bool, default=False
            Whether the collections have an order, such as years. Each topic is then a line over the collections;
            otherwise each topic is a group of bars.
        topic_names : sequence of str of length n_components, default=None
            Names of the topics. None: those of the model, if it has some.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        CollectionTopicsDisplay

        Raises
        ------
        TypeError
            If there are neither groups nor collections.
        """
        found = view(estimator, X, feature_names, collections=as_collections(estimator, groups), names=topic_names)
        shares = group_shares(found, groups)
        if shares is None:
            kind = "the pair of arrays" if found.model is None else type(found.model).__name__
            raise TypeError(f"{kind} has no collection_topic_: give X and groups, or a fitted CompoundLDA.")
        size = found.share if shares.kind == "sample" else found.model.corpus_topic_
        topics = chosen_topics(topics, found, 8, size)
        names = [topic_label(found, k, n_words) for k in topics]
        errors = "standard errors" if shares.kind == "sample" else found.deviations.removeprefix("two ")
        labels = np.array(shares.labels, dtype=object)
        return cls(shares.mean[:, topics], shares.std[:, topics], labels, names, errors).plot(ordered=ordered, ax=ax)

    def plot(self, ax: Any = None, *, ordered: bool = False) -> Self:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: those of a new figure.
        ordered : bool, default=False
            True: a line for each topic over the collections; False: a group of bars for each topic.

        Returns
        -------
        CollectionTopicsDisplay
        """
        return self._plot_on(ax, ordered=ordered)

    def _figsize(self):
        return 9, 5

    def _draw(self, ax, ordered):
        n_collections, n_topics = self.mean.shape
        labels = [plain_text(label) for label in self.collections]
        if ordered:
            places = np.arange(n_collections)
            for k, colour in enumerate(distinct_colours(n_topics)[:n_topics]):
                # A small shift for each topic keeps error bars apart.
                shift = 0.02 * (k - (n_topics - 1) / 2)
                style = {"color": colour, "marker": "o", "markersize": 4, "capsize": 2, "label": self.names[k]}
                ax.errorbar(places + shift, self.mean[:, k], self.std[:, k], **style)
            ax.set_xticks(places, labels)
        else:
            width = 0.8 / n_collections
            colours = pyplot().get_cmap("viridis")(np.linspace(0.05, 0.9, n_collections))
            for j, colour in enumerate(colours):
                places = np.arange(n_topics) + (j - (n_collections - 1) / 2) * width
                style = {"color": colour, "error_kw": {"elinewidth": 1}, "label": legend_label(labels[j])}
                ax.bar(places, self.mean[j], width, yerr=self.std[j], **style)
            ax.set_xticks(np.arange(n_topics), self.names, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_ylim(bottom=0)
        ax.set_ylabel(f"topic share, ± {self.deviations}")
        style_shares(ax)
