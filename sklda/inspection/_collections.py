"""Displays of topics, and of their shares in collections."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklda.inspection._axes import pyplot


def _words(estimator, feature_names):
    """Names of the words: as given, those of the fit, or numbers."""
    n_features = estimator.components_.shape[1]
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", np.arange(n_features))
    if len(feature_names) != n_features:
        raise ValueError(f"feature_names has {len(feature_names)} names; the fit had {n_features} features.")
    return np.asarray(feature_names).astype(str)


def _chosen(topics, shares, most):
    """The topics requested, or the `most` largest ones in descending order."""
    if topics is None:
        return np.argsort(-shares, kind="stable")[:most]
    topics = np.atleast_1d(topics)
    if topics.dtype.kind not in "iu" or not len(topics) or topics.min() < 0 or topics.max() >= len(shares):
        raise ValueError(f"topics must be numbers from 0 to {len(shares) - 1}, got {topics.tolist()}.")
    return topics


class CollectionTopicsDisplay:
    """Topic shares of collections with their posterior standard deviations.

    Use `from_estimator` to make one.

    Parameters
    ----------
    mean, std : ndarray of shape (n_collections, n_topics)
        Shares of the topics shown, and their posterior standard deviations.
    collections : ndarray of shape (n_collections,)
        Labels.
    names : list of str
        Names of the topics shown.

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
    'topic share'
    """

    def __init__(self, mean, std, collections, names):
        self.mean, self.std, self.collections, self.names = mean, std, collections, names

    @classmethod
    def from_estimator(cls, estimator, *, topics=None, feature_names=None, n_words=3, ordered=False, ax=None):
        """Plot the topic shares of the collections of a fitted `CompoundLDA`.

        Parameters
        ----------
        estimator : CompoundLDA
            Fitted.
        topics : sequence of int, default=None
            Topics to show; None: the eight largest.
        feature_names : sequence of str of length n_features, default=None
            Words. None: ``feature_names_in_`` or, without it, column numbers.
        n_words : int, default=3
            Number of a topic's most probable words in its name.
        ordered : bool, default=False
            Whether the collections have an order, like years. Each topic is then a line over the collections; otherwise
            each topic is a group of bars.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        CollectionTopicsDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "collection_topic_"):
            raise TypeError(f"{type(estimator).__name__} has no collection_topic_: give a fitted CompoundLDA.")
        words = _words(estimator, feature_names)
        topics = _chosen(topics, estimator.corpus_topic_, 8)
        names = [
            f"{k}: " + " ".join(words[np.argsort(-estimator.components_[k], kind="stable")[:n_words]]) for k in topics
        ]
        mean, std = estimator.collection_topic_[:, topics], estimator.collection_topic_std_[:, topics]
        return cls(mean, std, estimator.collections_, names).plot(ordered=ordered, ax=ax)

    def plot(self, *, ordered=False, ax=None):
        """Draw the shares.

        Parameters
        ----------
        ordered : bool, default=False
            True: a line for each topic over the collections; False: a group of bars for each topic.
        ax : matplotlib Axes, default=None
            None: those of a new figure.

        Returns
        -------
        CollectionTopicsDisplay
        """
        plt = pyplot()
        if ax is None:
            ax = plt.subplots(figsize=(9, 5), layout="constrained")[1]
        n_collections, n_topics = self.mean.shape
        if ordered:
            places = np.arange(n_collections)
            colors = plt.get_cmap("tab10" if n_topics <= 10 else "turbo")(np.linspace(0, 1, max(n_topics, 10)))
            for k in range(n_topics):
                # A small shift for each topic keeps error bars apart.
                shift = 0.02 * (k - (n_topics - 1) / 2)
                ax.errorbar(
                    places + shift,
                    self.mean[:, k],
                    self.std[:, k],
                    color=colors[k],
                    marker="o",
                    markersize=4,
                    capsize=2,
                    label=self.names[k],
                )
            ax.set_xticks(places, map(str, self.collections))
        else:
            width = 0.8 / n_collections
            colors = plt.get_cmap("viridis")(np.linspace(0.05, 0.9, n_collections))
            for j in range(n_collections):
                ax.bar(
                    np.arange(n_topics) + (j - (n_collections - 1) / 2) * width,
                    self.mean[j],
                    width,
                    yerr=self.std[j],
                    color=colors[j],
                    error_kw={"elinewidth": 1},
                    label=str(self.collections[j]),
                )
            ax.set_xticks(np.arange(n_topics), self.names, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter("{x:.0%}")
        ax.set_ylabel("topic share")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        self.ax_, self.figure_ = ax, ax.figure
        return self


class TopicWordsDisplay:
    """The most probable words of topics, with their probabilities.

    Use `from_estimator` to make one.

    Parameters
    ----------
    words : list of ndarray of str
        The words of each topic shown, most probable first.
    probabilities : list of ndarray
        Their probabilities.
    names : list of str
        Titles.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicWordsDisplay
    >>> lda = GibbsLDA(3, max_iter=30, random_state=0).fit(make_lda_corpus(40, 30, 3, random_state=0).data)
    >>> TopicWordsDisplay.from_estimator(lda, n_words=5).axes_.shape
    (3,)
    """

    def __init__(self, words, probabilities, names):
        self.words, self.probabilities, self.names = words, probabilities, names

    @classmethod
    def from_estimator(cls, estimator, *, topics=None, n_words=10, feature_names=None, figure=None):
        """Plot the topics of any fitted topic model.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``components_``.
        topics : sequence of int, default=None
            Topics to show. None: the twelve with the largest sums in ``components_``.
        n_words : int, default=10
            Number of words of each topic.
        feature_names : sequence of str of length n_features, default=None
            Words. None: ``feature_names_in_`` or, without it, column numbers.
        figure : matplotlib Figure, default=None
            None: a new figure.

        Returns
        -------
        TopicWordsDisplay
        """
        check_is_fitted(estimator)
        names = _words(estimator, feature_names)
        weights = estimator.components_.sum(axis=1)
        topics = _chosen(topics, weights, 12)
        top = [np.argsort(-estimator.components_[k], kind="stable")[:n_words] for k in topics]
        return cls(
            [names[row] for row in top],
            [estimator.components_[k, row] / weights[k] for k, row in zip(topics, top, strict=True)],
            [f"topic {k}" for k in topics],
        ).plot(figure=figure)

    def plot(self, *, figure=None):
        """Draw the words and their probabilities.

        Parameters
        ----------
        figure : matplotlib Figure, default=None
            None: a new one.

        Returns
        -------
        TopicWordsDisplay
        """
        plt = pyplot()
        n = len(self.words)
        columns = min(n, 4)
        rows = -(-n // columns)
        if figure is None:
            height = rows * (0.6 + 0.19 * max(map(len, self.words)))
            figure = plt.figure(figsize=(2.8 * columns, height), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
        for ax in axes[n:]:
            ax.remove()
        for ax, words, probabilities, name in zip(axes, self.words, self.probabilities, self.names, strict=False):
            places = np.arange(len(words))
            ax.barh(places, probabilities, color="steelblue")
            ax.set_yticks(places, words)
            ax.invert_yaxis()
            ax.set_title(name, fontsize=10, loc="left")
            ax.tick_params(axis="y", length=0)
            ax.spines[["top", "right"]].set_visible(False)
            ax.xaxis.set_major_formatter("{x:.0%}")
        figure.supxlabel("probability of the word in the topic", fontsize=10)
        self.axes_, self.figure_ = axes[:n], figure
        return self
