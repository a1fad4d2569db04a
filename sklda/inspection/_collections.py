"""Display of the shares of topics in groups of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklda._core.types import Data, Model, Values
from sklda.inspection._axes import Display, distinct_colours, legend_label, plain_text, pyplot, style_shares
from sklda.inspection._groups import group_shares
from sklda.inspection._parameters import described
from sklda.inspection._view import lacks, view


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

    Examples
    --------
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
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data | None = None,
        *,
        groups: ArrayLike | None = None,
        topics: Values | None = None,
        ordered: bool = False,
        n_words: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot the topic shares of the collections of a fitted `CompoundLDA`, or of groups of documents for any model.

        Parameters
        ----------
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents. Not needed for the collections of `CompoundLDA`.
        groups : sequence of n_documents hashable labels, default=None
            The groups of the documents. None, or collections of the fit: the mixtures of `CompoundLDA`, with posterior
            standard deviations. Otherwise the shares of topics in the tokens of the groups, with the standard errors of
            a sample of documents. Documents whose label is missing (None, NaN, NaT or NA) are one group, None.
            Documents without words, and those that the fit left out, do not count: there is a warning, and the shares
            of a group of such documents are NaN. A standard error is NaN if all documents of the group have the same
            proportion.
        topics : sequence of int or str, default=None
            Topics to show; None: the eight largest.
        ordered : bool, default=False
            Whether the collections have an order, such as years. Each topic is then a line over the collections;
            otherwise each topic is a group of bars.

        Raises
        ------
        TypeError
            If there are neither groups nor collections.
        """
        found = view(estimator, X, groups=groups)
        shares = group_shares(found)
        if shares is None:
            raise lacks(found.model, "collection_topic_", "give X and groups, or a fitted CompoundLDA")
        if shares.kind == "sample":
            found.say_what_is_left_out()
        topics = found.chosen(topics, 8, shares.overall)
        errors = "standard errors" if shares.kind == "sample" else found.deviations.removeprefix("two ")
        labels = np.array(shares.labels, dtype=object)
        names = found.labels(topics, n_words)
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
