"""The words by which groups of documents differ within a topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame
from scipy.special import stdtrit

from sklda._core import random
from sklda._core.largest import largest
from sklda._core.linear_models import LinearModels
from sklda._description.view import view
from sklda._input.arguments import check_int, check_level
from sklda._input.memory import check_memory
from sklda._input.names import listed
from sklda._input.types import Data, Model, Seed, Values
from sklda._input.warn import warn
from sklda._sampling.group_words import sample_group_counts
from sklda.inspection._groups import groups_to_compare
from sklda.inspection._tokens import Tokens

# Samples of a log ratio for its quantiles: so many beyond each end of its interval, and bounds of their number.
# The ends then have errors of .10 to .16 posterior standard deviations; with half of all three .15 to .24, with twice
# .08 to .10.
_BEYOND, _FEWEST, _MOST = 15, 600, 6000
# The quantiles of the median and, of a normal distribution, of one standard deviation on each side.
_MIDDLE = 0.1587, 0.5, 0.8413
# Shares of words in the clusters of a block of words: 16 MB.
_BLOCK = 2**21
# Identifiers of documents are as many labels as this, most of which one document has.
_MANY_GROUPS = 10


def group_words(
    estimator: Model,
    X: Data | None = None,
    groups: ArrayLike | None = None,
    *,
    clusters: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    topics: Values | None = None,
    n_words: int = 10,
    least_tokens: int = 20,
    level: float = 0.95,
    n_sweeps: int = 100,
    random_state: Seed = None,
) -> DataFrame:
    """The words that each group of documents uses more than the others within a topic.

    A word has a log ratio: that of its probability in the topic in a group, by that in all other groups. The prior of
    each group is a Dirichlet distribution around that of the topic (Monroe, Colaresi & Quinn 2008). Its centre and its
    strength are drawn too.

    Parameters
    ----------
    estimator : estimator, or pipeline or search that has one
        A fitted estimator of this package.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents, as word counts. They need not be those of the fit.
    groups : sequence of n_documents hashable labels
        Of the documents. Documents without words, and those that the fit left out, do not count, and there is a
        warning.
    clusters : sequence of n_documents labels, default=None
        The source, author or book of every document, if documents of one are not independent. None: documents are
        independent.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents that count and lack a value of an argument: an error that names them, or they are left
        out and a warning says so.
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all.
    n_words : int, default=10
        Number of words of each topic and group, those with the largest log ratios in standard deviations.
    least_tokens : int, default=20
        Words with fewer tokens in the topic, as the mean over draws, are left out.
    level : float, default=0.95
        Probability of the intervals.
    n_sweeps : int, default=100
        Number of sweeps, of which each second one of the last two thirds gives a draw. At least 6.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws.

    Returns
    -------
    pandas.DataFrame
        A row for each topic, group and word, with these columns:

        - ``topic``, ``name`` if topics have names, ``group`` and ``word``
        - ``log_ratio``: posterior median in nats, above 0 if the group uses the word more; ``std``: half the width of
          the middle 68 % of the posterior, which is skewed for rare words; ``z``: their quotient
        - ``low`` and ``high``: the ends of the interval
        - ``df``: degrees of freedom of the errors of clusters; only with `clusters`
        - ``share``: of the word in the tokens of the topic in this group; ``share_of_others``: in all other groups
        - ``tokens``: of the word in the topic, in all groups

        A group has fewer rows if it uses fewer words more than the others. With `clusters`, a topic of which each group
        has a single cluster has none.

    Raises
    ------
    ValueError
        If X has no counts, `groups` or `clusters` has another length or fewer than two labels, each group has a single
        cluster, or an argument is out of range.
    TypeError
        If the model has no posterior draws of the topics of tokens.

    See Also
    --------
    topic_check : Whether the words of a topic depend on groups at all.
    contrast_topics : Words by which two topics differ.

    Notes
    -----
    The sampler of the fit does not use the groups: it gives a token a topic that has the word in all groups, so groups
    come out more alike than they are. Therefore this function makes further sweeps, which begin at the last draw, and
    in which each group has its own distribution over words for every topic. The prior of the centre is
    `topic_word_prior_`. If X is not the X of the fit, it is the posterior of the fit, `components_`: the topics stay
    those of the model. The weight n / (n + strength) of the n tokens of a group has a uniform prior (Daniels 1999). The
    alpha of documents is that of the model. The intervals contain the uncertainty of the topics of tokens, within one
    mode.

    In simulations, intervals of 95 % contain the truth in 94 to 95 % of words, and in 93 % if a group has a tenth of
    the documents. If the fit lacks a topic, it is 75 %. Because the prior has one strength for all words of a topic,
    log ratios are pulled towards zero if only a few words differ. With 1 for four of the 40 most frequent words and 0
    for all others, the estimates are .43, and 31 % of their intervals contain the truth.

    Documents of one author have words in common, and few authors may make a difference of groups. With `clusters` the
    error of a log ratio is also that of the difference of the two shares, from a linear model of the shares in the
    clusters of each group (CR2, Bell & McCaffrey 2002), divided by the slope of the logarithm between the shares.
    ``std`` is the larger one of this error and that of the posterior. ``low`` and ``high`` are the ends of the wider
    interval, which has the quantiles of a t-distribution with ``df`` degrees of freedom. Log ratios stay the same.

    References
    ----------
    Bell & McCaffrey (2002). Bias reduction in standard errors for linear regression with multi-stage samples. Survey
    Methodology 28.

    Daniels (1999). A prior for the variance in hierarchical models. Canadian Journal of Statistics 27.

    Monroe, Colaresi & Quinn (2008). Fightin' words: lexical feature selection and evaluation for identifying the
    content of political conflict. Political Analysis 16.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import group_words
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = group_words(lda, X, np.arange(60) % 2, n_words=1, random_state=0)
    >>> sorted(set(table["topic"]))
    [0, 1]

    The documents are of twelve authors, and those of an author are not independent:

    >>> authors = np.arange(60) % 12
    >>> table = group_words(
    ...     lda, X, authors % 2, clusters=authors, n_words=1, random_state=0
    ... )
    >>> bool((table["df"] < 12).all())
    True
    """
    n_words, least_tokens = check_int(n_words, "n_words", 1), check_int(least_tokens, "least_tokens", 1)
    found = view(estimator, X, needs="counts", groups=groups, clusters=clusters, missing=missing)
    chosen = found.chosen(topics)
    sample = GroupSample.of_view(found, n_sweeps, level, random_state)
    parts = []
    for k in chosen:
        own = sample.of(k, least_tokens)
        for g, label in enumerate(sample.labels):
            columns = own.words_of(g, n_words)
            n = len(columns["word"])
            parts.append({"topic": np.full(n, k), "group": [label] * n} | columns)
    whole = {name: np.concatenate([each[name] for each in parts]) for name in parts[0] if name != "group"}
    words = [found.words[v] for v in whole.pop("word")]
    labels = [label for each in parts for label in each["group"]]
    return DataFrame(found.rows(whole.pop("topic")) | {"group": labels, "word": words} | whole)


@dataclass
class GroupSample:
    """Posterior draws of the words of topics in groups. `labels` are those of the groups, in order."""

    labels: list
    draws: Any
    level: float
    seed: Any
    parts: Any  # `_Parts` of the groups; None without clusters

    @classmethod
    def of_view(cls, found, n_sweeps, level, random_state):
        """Sample from a view with documents."""
        n_sweeps, level = check_int(n_sweeps, "n_sweeps", 6), check_level(level)
        labels, index, clusters = groups_to_compare(found)
        parts = _Parts.of(index, clusters, labels)
        found.say_what_is_left_out()
        if len(labels) > _MANY_GROUPS and 2 * len(labels) > found.n_documents:
            raise ValueError(
                f"groups has {len(labels)} labels for {found.n_documents} documents, as if they were identifiers: give "
                "labels that several documents have."
            )
        K, V = found.n_topics, found.n_features
        # Of all groups in a sweep, twice, and of all draws of a topic.
        n_bytes = 4 * len(labels) * V * (2 * K + n_sweeps // 3)
        if parts is not None:
            # Entries of 8 bytes, of which each token has at most one.
            n_bytes += 8 * found.corpus.n_tokens * (n_sweeps // 3)
        needs = f"counts of {V} words in {K} topics and {len(labels)} groups need at least"
        check_memory(n_bytes, needs, "Give fewer groups, or leave out rare words.")
        seed = random.seed_sequence(random_state)
        topics = Tokens(found).draws(1, random.child(seed, 0))[-1]
        # What is known of the topics before the documents are seen: other documents do not know those of the fit.
        eta = found.model.topic_word_prior_ if found.is_training else found.model.components_
        draws = sample_group_counts(
            found.corpus,
            topics,
            index,
            found.alpha,
            eta,
            n_sweeps,
            random.child(seed, 1),
            part_of=None if parts is None else parts.of_documents,
        )
        return cls(labels, draws, level, seed, parts)

    def of(self, topic, least_tokens):
        """The words of a topic that have enough tokens: `TopicRatios`."""
        own = self.draws.of(topic)
        tokens = own.tokens()
        words = np.flatnonzero(tokens.sum(axis=0) >= least_tokens)
        # The results of a topic do not depend on which others are asked for.
        rng = np.random.default_rng(random.child(self.seed, 2, int(topic)))
        tail = (1 - self.level) / 2
        n_samples = int(np.clip(_BEYOND / tail, _FEWEST, _MOST))
        quantiles = own.log_ratios(words, (tail, 1 - tail, *_MIDDLE), n_samples, rng)
        low, high, below, median, above = quantiles.swapaxes(0, 1)
        found = TopicRatios(words, tokens, median, (above - below) / 2, low, high)
        if self.parts is not None:
            found.widen(*self.parts.errors(self.draws.parts(topic), words), self.level)
        return found


@dataclass
class _Parts:
    """The parts of groups: the documents of each cluster in a group.

    `of_documents` has the number of the part of each document, from zero; -1 for documents that do not count. `groups`
    and `clusters`, (n_parts,), are the numbers of the group and the cluster of each part.
    """

    of_documents: np.ndarray
    groups: np.ndarray
    clusters: np.ndarray

    @classmethod
    def of(cls, groups, clusters, labels):
        """Those of documents; None without clusters."""
        if clusters is None:
            return None
        used = groups >= 0
        pairs, index = np.unique(np.stack([groups[used], clusters[used]]), axis=1, return_inverse=True)
        n_clusters = np.bincount(pairs[0])
        if n_clusters.max() == 1:
            raise ValueError("each group has a single cluster: nothing tells its words from those of its group.")
        if n_clusters.min() == 1:
            alone = [labels[g] for g in np.flatnonzero(n_clusters == 1)]
            warn(
                f"groups with a single cluster: {listed(alone)}. Its own deviation is unknown, so errors take that of "
                "the other clusters."
            )
        of_documents = np.full(len(groups), -1)
        of_documents[used] = np.ravel(index)
        return cls(of_documents, *pairs)

    def errors(self, draws, words):
        """Errors of the shares of words in each group less those in all others, if clusters are independent.

        Parameters
        ----------
        draws : list of csr_array of shape (n_parts, n_features)
            Counts of the words of a topic.
        words : ndarray of shape (n_words,), int

        Returns
        -------
        error : ndarray of shape (n_groups, n_words)
            NaN for a group without tokens of the topic, and if nothing tells how much clusters deviate.
        freedom : ndarray of shape (n_groups,)
            Degrees of freedom.
        """
        n_groups = self.groups.max() + 1
        error, freedom = np.full((n_groups, len(words)), np.nan), np.full(n_groups, np.nan)
        sizes = np.array([counts.sum(axis=1) for counts in draws], dtype=np.float64)
        used = np.flatnonzero(sizes.any(axis=0))
        distinct, group_of = np.unique(self.groups[used], return_inverse=True)
        if len(distinct) < 2 or not len(words):
            return error, freedom
        sizes, clusters = sizes[:, used], np.unique(self.clusters[used], return_inverse=True)[1]
        weights, matrix = sizes.mean(axis=0), np.eye(len(distinct))[group_of]

        def shares(words):
            """In every draw the shares of the words in the parts, such that their means are those of the groups."""
            for counts, size in zip(draws, sizes, strict=True):
                own = counts[used][:, words].toarray()
                of_groups = (matrix.T @ own) / np.maximum(matrix.T @ size, 1)[:, None]
                expected = of_groups[group_of]
                yield expected + (own - size[:, None] * expected) / weights[:, None]

        totals = matrix.T @ weights
        others = totals * (1 - np.eye(len(totals)))
        combinations = np.eye(len(totals)) - others / others.sum(axis=1, keepdims=True)
        n_block = max(_BLOCK // len(used), 1)
        for block in np.split(np.arange(len(words)), range(n_block, len(words), n_block)):
            models = LinearModels.fit(matrix, shares(words[block]), combinations, clusters, weights)
            error[np.ix_(distinct, block)] = np.sqrt((models.scales**2).mean(axis=0) + models.centres.var(axis=0))
            freedom[distinct] = models.freedom
        return error, freedom


@dataclass
class TopicRatios:
    """Log ratios of words of a topic in every group and in all others, with their errors, (n_groups, n_words).

    `tokens` are the mean counts (n_groups, n_features), and `freedom`, (n_groups,), is None without clusters.
    """

    words: np.ndarray
    tokens: np.ndarray
    log_ratio: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    freedom: np.ndarray | None = None

    def widen(self, error, freedom, level):
        """Take the errors of differences of shares, as of `_Parts`, where they are larger.

        Between the shares p and q, the logarithm has the slope (log p - log q) / (p - q). With it, a log ratio has as
        many errors as its difference. The slope at p or q, as in the delta method, would not do: a word of a single
        author may have q = 0.
        """
        others = self.tokens.sum(axis=0) - self.tokens
        share = np.maximum(
            *(each[:, self.words] / np.maximum(each.sum(axis=1, keepdims=True), 1) for each in (self.tokens, others))
        )
        size = np.maximum(np.abs(self.log_ratio), 1e-9)
        error = error / share * size / -np.expm1(-size)
        error[np.isnan(error)] = np.inf
        reach = error * np.nan_to_num(stdtrit(freedom, (1 + level) / 2), nan=1)[:, None]
        self.std, self.freedom = np.maximum(self.std, error), freedom
        self.low = np.minimum(self.low, self.log_ratio - reach)
        self.high = np.maximum(self.high, self.log_ratio + reach)

    def words_of(self, group, n_words):
        """Words that a group uses more: columns, a dict."""
        median, std = self.log_ratio[group], np.maximum(self.std[group], np.finfo(np.float64).tiny)
        scores = median / std
        places = largest(scores, n_words)
        places = places[scores[places] > 0]
        words, own = self.words[places], self.tokens[group]
        others = self.tokens.sum(axis=0) - own
        columns = {
            "word": words,
            "log_ratio": median[places],
            "std": std[places],
            "z": scores[places],
            "low": self.low[group, places],
            "high": self.high[group, places],
        }
        if self.freedom is not None:
            columns["df"] = np.full(len(places), self.freedom[group])
        return columns | {
            "share": own[words] / max(own.sum(), 1),
            "share_of_others": others[words] / max(others.sum(), 1),
            "tokens": (own + others)[words],
        }
