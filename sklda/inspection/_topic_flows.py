"""Which topics of one model split into which of the next one: the flow of tokens, and its display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from pandas import DataFrame
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from sklda._core import random
from sklda._core.parallel import jobs_for
from sklda._core.types import Data, Model, Seed
from sklda.inspection._axes import Display, pyplot
from sklda.inspection._parameters import described
from sklda.inspection._view import view
from sklda.metrics._models import Description
from sklda.metrics._topic_counts import _name_of_the_count, checked_counts, model_and_input

# Half the width of the bar of a topic, of the distance between models, and the room between topics, of the height.
_HALF, _GAP = 0.04, 0.15
# Smallest height of a topic that has a label, of the height of the plot.
_LABELLED = 0.014


@described
def topic_flows(models: Sequence[Model], X: Data | None = None) -> DataFrame:
    """The tokens that topics of one model share with the topics of the next one.

    Parameters
    ----------
    models : sequence of fitted models
        At least two, of the same documents, usually with more and more topics.
    X : array-like, sparse matrix, or whatever a pipeline takes, default=None
        Documents. None: those of the fits, for models that know how many tokens these have.

    Returns
    -------
    pandas.DataFrame
        Rows with tokens, in the order of the models and by falling share. ``model`` is the index of the first of the
        two, ``topic`` and ``next_topic`` are their topics. ``share`` is a part of all tokens, ``of_topic`` and
        ``of_next`` are parts of the tokens of the two topics.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two models, one is not a topic model, they were fitted to other documents, or no
        document has words. If X is None, and a model does not know the documents of its fit.

    Warns
    -----
    UserWarning
        If a fit left documents out. Their tokens do not flow.

    Notes
    -----
    If all models have ``topic_assignments_`` of the same documents and X is None, each token counts for its topics in
    both models. Otherwise the flow is a sum over documents of the number of tokens times the proportions of both
    topics, as if topics were independent within a document (the product weights of Fukuyama et al.).

    References
    ----------
    Fukuyama, Sankaran & Symul (2023). Multiscale analysis of count data through topic alignment. Biostatistics 24.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import topic_flows
    >>> X = make_lda_corpus(80, 60, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
    >>> models = [GibbsLDA(K, max_iter=50, random_state=0).fit(X) for K in (2, 4)]
    >>> rows = topic_flows(models)
    >>> float(rows["share"].sum().round(6))
    1.0
    """
    parts = []
    for m, flow in enumerate(_flows(_views(models, X))):
        of_topic, of_next = (np.where(sums > 0, sums, 1) for sums in (flow.sum(axis=1), flow.sum(axis=0)))
        order = np.argsort(-flow, axis=None, kind="stable")[: np.count_nonzero(flow)]
        k, j = np.unravel_index(order, flow.shape)
        share = flow[k, j]
        parts.append(
            {
                "model": np.full(len(order), m),
                "topic": k,
                "next_topic": j,
                "share": share,
                "of_topic": share / of_topic[k],
                "of_next": share / of_next[j],
            }
        )
    return DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _views(models, X):
    if not isinstance(models, (list, tuple)) or len(models) < 2:
        raise ValueError("models must be a list of at least two fitted models: the flow is that from one to the next.")
    views = [view(model, X, needs="proportions") for model in models]
    n = {found.n_documents for found in views}
    if len(n) > 1:
        raise ValueError(f"The models have {sorted(n)} documents: fit all of them to the same documents, or give X.")
    if any(found.counts is None for found in views):
        _check_documents_of_fits(views)
    return views


def _check_documents_of_fits(views):
    """Refuse fits to different documents, and models that do not know how many tokens these have."""
    for found in views:
        if found.used_tokens is None:
            kind = "pair of arrays" if found.model is None else type(found.model).__name__
            raise ValueError(f"the {kind} does not say how many tokens the documents have: give X.")
    # The documents of a `CollapsedVariationalLDA`, which has no topics of tokens, are as any others for inspection.
    # Their hash has a name of its own.
    names = "_fingerprint_", "_documents_"
    marks = {getattr(found.model, name) for found in views for name in names if hasattr(found.model, name)} - {None}
    tokens = np.array([found.used_tokens for found in views])
    # A fit that left documents out has none of their tokens.
    if len(marks) > 1 or ((tokens > 0) & (tokens != tokens.max(axis=0))).any():
        raise ValueError("The models were fitted to different documents: fit all of them to the same ones, or give X.")


def _flows(views):
    """Shares of the tokens by topics of successive models, a list of ndarray (n_topics, n_topics of the next)."""
    used = np.all([found.takes_part for found in views], axis=0)
    most = max(len(found.used) for found in views)
    for found in views:
        # Documents without words have no tokens that could flow.
        if len(found.used) < most:
            found.say_what_is_left_out()
    marks = {getattr(found.model, "_fingerprint_", None) if found.counts is None else None for found in views}
    tokens = [getattr(found.model, "topic_assignments_", None) for found in views]
    flows = []
    for i, (a, b) in enumerate(pairwise(views)):
        if len(marks) == 1 and None not in marks and all(each is not None for each in tokens):
            # Tokens of documents that a fit left out have no topic.
            known = (tokens[i] >= 0) & (tokens[i + 1] >= 0)
            flow = np.zeros((a.n_topics, b.n_topics))
            np.add.at(flow, (tokens[i][known], tokens[i + 1][known]), 1)
        else:
            first = np.asarray(a.doc_topic[used], dtype=np.float64) * a.used_tokens[used, None]
            flow = first.T @ b.doc_topic[used]
        if not flow.any():
            raise ValueError("The documents have no words: no tokens flow from one model to the next.")
        flows.append(flow / flow.sum())
    return flows


@dataclass(eq=False, repr=False)
class TopicFlowDisplay(Display):
    """The flow of tokens between the topics of successive models: which topics split into which.

    Each topic is a bar as high as its share, each flow a band as wide as its share. The colour of a topic is the
    largest part of its tokens that come from one topic of the model before. A subject that is divided has parts near
    1; a topic that collects pieces of many topics has a low part. `from_estimator` fits the models; the constructor
    takes the values to plot.

    Parameters
    ----------
    flows : sequence of ndarray of shape (n_topics, n_topics of the next model)
        Shares of the tokens; each sums to one.
    names : sequence of sequence of str
        Names of the topics of every model.
    titles : sequence of str
        One for every model.

    Attributes
    ----------
    ax_ : matplotlib Axes
    order_ : list of ndarray
        The topics of every model from the bottom to the top.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import TopicFlowDisplay
    >>> X = make_lda_corpus(40, 30, 3, random_state=0).data
    >>> lda = GibbsLDA(max_iter=20)
    >>> display = TopicFlowDisplay.from_estimator(lda, X, n_components=[2, 4], random_state=0)
    >>> [len(order) for order in display.order_]
    [2, 4]
    """

    flows: Sequence[np.ndarray]
    names: Sequence[Sequence[str]]
    titles: Sequence[str]

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Model,
        X: Data,
        *,
        n_components: Sequence[int],
        n_words: int = 2,
        n_jobs: int | None = None,
        random_state: Seed = None,
        ax: Any = None,
    ) -> Self:
        """Fit a model to all documents with several numbers of topics, and plot the flow between them.

        Parameters
        ----------
        estimator : estimator or pipeline
            See `compare_topic_counts`. It is not fitted itself.
        X : array-like, sparse matrix, or whatever a pipeline takes
        n_components : sequence of int
            Numbers of topics, from left to right; at least two.
        n_words : int, default=2
            How many of a topic's most probable words are in its label.
        n_jobs : int, default=None
            Number of fits at a time, as in joblib. Results do not depend on it.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Seeds of the fits are derived from it.
        """
        counts = checked_counts(n_components, "n_components")
        model, X, words = model_and_input(estimator, X)
        name, seed = _name_of_the_count(model), random.seed_sequence(random_state)
        seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
        tasks = [
            clone(model).set_params(**{name: K} | dict.fromkeys(seeds, random.key(random.child(seed, K)) % 2**31))
            for K in counts
        ]
        fitted = Parallel(n_jobs=jobs_for(len(tasks), n_jobs))(delayed(each.fit)(X) for each in tasks)
        # Those that know their documents have the topics of tokens, too.
        documents = None if all(hasattr(each, "_used_tokens_") for each in fitted) else X
        named = [Description(each, feature_names=words) for each in fitted]
        return cls.from_models(named, documents, n_words=n_words, ax=ax)

    @classmethod
    @described
    def from_models(
        cls,
        models: Sequence[Model],
        X: Data | None = None,
        *,
        n_words: int = 2,
        ax: Any = None,
    ) -> Self:
        """Plot the flow between the topics of fitted models.

        Parameters
        ----------
        models : sequence of fitted models
            See `topic_flows`.
        X : array-like, sparse matrix, or whatever a pipeline takes, default=None
            Documents. None: those of the fits, for models that know how many tokens these have.
        n_words : int, default=2
            How many of a topic's most probable words are in its label.
        """
        views = _views(models, X)
        names = [found.labels(n_words=n_words) for found in views]
        return cls(_flows(views), names, [f"{found.n_topics} topics" for found in views]).plot(ax=ax)

    def _figsize(self):
        return 2.6 * len(self.names) + 1, max(5.0, 0.21 * max(map(len, self.names)))

    def _draw(self, ax):
        flows = [np.asarray(flow, dtype=np.float64) for flow in self.flows]
        shares = [flows[0].sum(axis=1), *(flow.sum(axis=0) for flow in flows)]
        self.order_ = _orders(flows)
        bottom = [_bottoms(share, order) for share, order in zip(shares, self.order_, strict=True)]
        colours = pyplot().get_cmap("viridis_r")
        for m, flow in enumerate(flows):
            _bands(ax, m, flow, bottom[m : m + 2], self.order_[m : m + 2])
        for m, (share, low) in enumerate(zip(shares, bottom, strict=True)):
            one = np.ones(len(share)) if m == 0 else flows[m - 1].max(axis=0) / np.where(share > 0, share, 1)
            face = ["0.35" if m == 0 else colours(part) for part in one]
            ax.bar(m, share, 2 * _HALF, low, color=face, zorder=2)
            for k in np.flatnonzero(share >= _LABELLED * (1 + _GAP)):
                ax.annotate(
                    self.names[m][k], (m + _HALF, low[k] + share[k] / 2), (3, 0), textcoords="offset points",
                    va="center", fontsize=6.5, zorder=3,
                )  # fmt: skip
        ax.set_xticks(range(len(shares)), self.titles)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set(yticks=[], xlim=(-0.1, len(shares) - 0.35), ylim=(-0.01, 1.01 + _GAP))
        ax.spines[:].set_visible(False)
        bar = pyplot().cm.ScalarMappable(pyplot().Normalize(0, 1), colours)
        label = "largest part from one topic of the model before"
        ax.figure.colorbar(bar, ax=ax, label=label, shrink=0.5, pad=0.02)


def _orders(flows):
    """The topics of every model from the bottom to the top: at the mean place of the topics that they come from."""
    orders = [np.argsort(flows[0].sum(axis=1), kind="stable")]
    for flow in flows:
        place = np.empty(len(flow))
        place[orders[-1]] = np.arange(len(flow))
        sums = flow.sum(axis=0)
        orders.append(np.argsort(place @ flow / np.where(sums > 0, sums, 1), kind="stable"))
    return orders


def _bottoms(share, order):
    """The lower ends of the bars of a model, with gaps between them that sum to `_GAP`."""
    found = np.empty(len(share))
    gap = _GAP / max(len(share) - 1, 1)
    found[order] = np.cumsum(share[order]) - share[order] + gap * np.arange(len(share))
    return found


def _bands(ax, m, flow, bottoms, orders):
    """The bands from model m to the next one."""
    t = np.linspace(0, 1, 30)
    curve = t**2 * (3 - 2 * t)
    begin, end = bottoms[0].copy(), bottoms[1].copy()
    x = m + _HALF + t * (1 - 2 * _HALF)
    # Within a bar, bands are in the order of the topics at their other end.
    starts, ends = np.zeros_like(flow), np.zeros_like(flow)
    for k in orders[0]:
        for j in orders[1]:
            starts[k, j], ends[k, j] = begin[k], end[j]
            begin[k] += flow[k, j]
            end[j] += flow[k, j]
    for k, j in zip(*np.nonzero(flow > 1e-3), strict=True):
        low = starts[k, j] + (ends[k, j] - starts[k, j]) * curve
        ax.fill_between(x, low, low + flow[k, j], color="0.6", alpha=0.45, lw=0, zorder=1)
