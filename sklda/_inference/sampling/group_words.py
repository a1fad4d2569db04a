"""Log ratios of the probabilities of words of a topic in groups of documents, from chains that know the groups."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import betaln, digamma, polygamma

from sklda._inference import random
from sklda._inference.corpus import Corpus
from sklda._inference.priors import LARGEST, SMALLEST, Priors
from sklda._inference.sampling.chain import ChainState
from sklda._inference.sampling.collapsed import GibbsChain

# Bounds of the strength of the prior of a group, in tokens: groups with no word in common, and equal groups.
_STRENGTHS = 1.0, 1e9
# The strength before the first sweep. It is estimated after each sweep.
_FIRST_STRENGTH = 1000.0
# Of its logarithm. Its standard error is larger.
_TOLERANCE = 0.02
# Added to the pooled counts of a topic, so that every word has a probability.
_ADDED = 0.05


def prior_strength(first, second):
    """The sum of the Dirichlet prior of the words of two groups that is most likely, in tokens.

    The words of each group are a draw from ``Dir(strength * shares)``, where the shares are those in both groups. Given
    the number of tokens of a word in both groups, that in the first group then has a beta-binomial distribution, exact
    for groups of equal size. Its likelihood does not depend on the distribution from which both groups come, so equal
    groups are not taken as more alike than they are.

    Parameters
    ----------
    first, second : ndarray of shape (n_features,), int
        Counts of the words in the groups.
    """
    pooled = first + second
    n, n_first = int(pooled.sum()), int(first.sum())
    if not 0 < n_first < n:
        return _STRENGTHS[1]
    # A single token says nothing. Words with the same counts have the same likelihood.
    used = pooled > 1
    pairs, times = np.unique(first[used] * np.int64(n + 1) + second[used], return_counts=True)
    a, b = pairs // (n + 1), pairs % (n + 1)
    part = n_first / n
    shares = (a + b + _ADDED) / (n + _ADDED * len(pooled)) / (2 * part * (1 - part))

    def minus_log_likelihood(log_strength):
        each = np.exp(log_strength) * shares
        x, y = part * each, (1 - part) * each
        return -(times * (betaln(a + x, b + y) - betaln(x, y))).sum()

    options = {"bounds": np.log(_STRENGTHS), "method": "bounded", "options": {"xatol": _TOLERANCE}}
    return float(np.exp(minimize_scalar(minus_log_likelihood, **options).x))


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Posterior draws of the counts of words by group and topic, with their priors.

    Attributes
    ----------
    counts : list of csr_array of shape (n_groups * n_components, n_features), int32
        Of every draw. Row ``g * n_components + k`` has group g and topic k.
    strengths : ndarray of shape (n_draws, n_groups, n_components)
        The sum of the prior of each group against all others, in tokens. See `prior_strength`.
    """

    counts: list
    strengths: np.ndarray

    def of(self, topic):
        """The draws of a topic: a `TopicGroups`."""
        K = self.strengths.shape[2]
        counts = np.stack([each[topic::K].toarray() for each in self.counts])
        return TopicGroups(counts, self.strengths[:, :, topic])


@dataclass(frozen=True, eq=False)
class TopicGroups:
    """Posterior draws of the counts of words of one topic by group, (n_draws, n_groups, n_features).

    `strengths` are those of `GroupCounts`, (n_draws, n_groups).
    """

    counts: np.ndarray
    strengths: np.ndarray

    def tokens(self, group):
        """Mean counts of all words in the group, and in all others."""
        own = self.counts[:, group].mean(axis=0)
        return own, self.counts.sum(axis=1).mean(axis=0) - own

    def log_ratios(self, group):
        """Posterior mean and standard deviation of the log ratio of the probabilities of all words, in nats."""
        means, variances = [], []
        for (own, n_own), (rest, n_rest) in self._parameters(group):
            means.append(digamma(own) - digamma(n_own) - digamma(rest) + digamma(n_rest))
            variances.append(polygamma(1, own) - polygamma(1, n_own) + polygamma(1, rest) - polygamma(1, n_rest))
        return np.mean(means, axis=0), np.sqrt(np.mean(variances, axis=0) + np.var(means, axis=0))

    def quantiles(self, group, words, probabilities, n_samples, rng):
        """Quantiles of the log ratios of some words, (n_probabilities, n_words): of a mixture over the draws."""
        samples, shape = [], (-(-n_samples // len(self.counts)), len(words))
        for both in self._parameters(group, words):
            own, rest = (_log_beta(a, n - a, shape, rng) for a, n in both)
            samples.append(own - rest)
        return np.quantile(np.concatenate(samples), probabilities, axis=0)

    def _parameters(self, group, words=slice(None)):
        """For every draw, Dirichlet parameters of words and their sum, in the group and in all others."""
        for counts, strengths in zip(self.counts, self.strengths, strict=True):
            pooled, size = counts.sum(axis=0, dtype=np.float64), counts[group].sum(dtype=np.float64)
            part = (size + _ADDED) / (pooled.sum() + 2 * _ADDED)
            priors = strengths[group] / (2 * (1 - part)), strengths[group] / (2 * part)
            shares, own = _shares(pooled)[words], counts[group, words]
            yield (
                (priors[0] * shares + own, priors[0] + size),
                (priors[1] * shares + (pooled[words] - own), priors[1] + pooled.sum() - size),
            )


def _log_beta(a, b, shape, rng):
    """Logarithms of draws from beta distributions.

    A gamma of a small shape a can be zero in double precision, and log G(a + 1) + log(U) / a cannot.
    """
    x, y = (np.log(rng.standard_gamma(c + 1, shape)) - rng.standard_exponential(shape) / c for c in (a, b))
    return x - np.logaddexp(x, y)


def _shares(pooled):
    """Shares of words in the prior from their counts, rows that sum to one."""
    added = pooled + _ADDED
    return added / added.sum(axis=-1, keepdims=True)


def sample_group_counts(corpus, topics, group_of, alpha, n_sweeps, seed):
    """Gibbs sweeps in which every group has its own distribution over words for each topic.

    Given the other groups, the words of topic k in group g have the prior ``Dir(strength_gk / (2 r_gk) * phi0_k)``.
    Here phi0 are the shares of words in all groups, and r_gk is the share of the others in the tokens of the topic.
    Strengths and shares are computed from the counts after every sweep. The counts of a chain that does not know the
    groups would not do, because it makes them more alike than they are.

    Parameters
    ----------
    corpus : Corpus
    topics : ndarray of shape (n_tokens,), int32
        The first state.
    group_of : ndarray of shape (n_documents,), int
        Numbers of groups from 0.
    alpha : ndarray of shape (1 or n_documents, n_components)
    n_sweeps : int
        Draws are kept after every second sweep of the last two thirds.
    seed : SeedSequence

    Returns
    -------
    GroupCounts
    """
    alpha = np.maximum(alpha, SMALLEST)
    n_groups, K = int(group_of.max()) + 1, alpha.shape[1]
    groups = [_Group(corpus, topics, np.flatnonzero(group_of == g), alpha) for g in range(n_groups)]
    for g, each in enumerate(groups):
        each.stream = random.stream(random.child(seed, g))
    strengths = np.full((n_groups, K), _FIRST_STRENGTH)
    counts, kept = np.stack([each.counts for each in groups]), []
    for sweep in range(n_sweeps):
        totals = counts.sum(axis=2, dtype=np.float64)
        rest = (totals.sum(axis=0) - totals + 1) / (totals.sum(axis=0) + n_groups)
        shares = _shares(counts.sum(axis=0, dtype=np.float64))
        for g, each in enumerate(groups):
            counts[g] = each.sweep(np.clip((strengths[g] / (2 * rest[g]))[:, None] * shares, SMALLEST, LARGEST))
        pooled = counts.sum(axis=0)
        for g in range(n_groups):
            # With two groups, the second has the strengths of the first.
            strengths[g] = (
                strengths[0]
                if n_groups == 2 and g
                else [prior_strength(*each) for each in zip(counts[g], pooled - counts[g], strict=True)]
            )
        if sweep >= n_sweeps // 3 and (n_sweeps - 1 - sweep) % 2 == 0:
            kept.append((csr_array(counts.reshape(n_groups * K, -1)), strengths.copy()))
    return GroupCounts([each for each, _ in kept], np.array([each for _, each in kept]))


class _Group:
    """The documents of a group, and a chain of them: `topics`, `stream` and `counts`, (n_components, n_features)."""

    def __init__(self, corpus, topics, rows, alpha):
        lengths = corpus.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(corpus.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        self.corpus = Corpus(corpus.words[at], offsets, corpus.n_features)
        self.topics = topics[at].astype(np.int32)
        self.alpha = alpha[rows] if len(alpha) > 1 else alpha[0]
        used, K = self.topics >= 0, alpha.shape[1]
        cells = self.topics[used].astype(np.int64) * corpus.n_features + self.corpus.words[used]
        self.counts = np.bincount(cells, minlength=K * corpus.n_features).reshape(K, -1)

    def sweep(self, eta):
        """Draw the topics of all tokens once, and return the counts."""
        if self.corpus.n_tokens:
            priors = Priors.make(self.alpha, eta, *eta.shape, self.corpus.n_documents)
            chain = GibbsChain(self.corpus, priors, ChainState(self.topics, self.stream))
            chain.sweep()
            self.topics, self.stream = chain.topics, chain.stream
            self.counts = chain.word_topic_counts[:, : len(eta)].T
        return self.counts
