"""Means and standard deviations of theta and phi over draws of z, and draws of theta and phi."""

import math
from dataclasses import dataclass
from itertools import chain as chain_of
from itertools import islice

import numpy as np
from scipy.sparse import csr_array, vstack

from sklda._core import random
from sklda._core.corpus import tally
from sklda._core.diagnostics import FEWEST_DRAWS, effective_draws, std_of_proportions
from sklda._core.parallel import NEVER_STOP
from sklda._input.memory import check_memory
from sklda._kernels import _tokens
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.matching import same_names
from sklda._sampling.point_estimates import add_estimates, word_blocks

# The variance of a t-distribution needs more than three degrees of freedom: this many effective draws are assumed.
FEWEST_EFFECTIVE = 5.0
# Proportions of a block of documents whose standard deviations are computed together.
_BLOCK_PROPORTIONS = 2**17


@dataclass(frozen=True, eq=False)
class TopicGroups:
    """Topics that stand together for one.

    Attributes
    ----------
    of_topic : ndarray of shape (n_components,)
        The number of the group of each topic.
    n_groups : int
        Groups can be empty.
    """

    of_topic: np.ndarray
    n_groups: int

    def sums(self, rows):
        """Sums over the topics of each group, (n_groups, ...), of rows for the topics."""
        found = np.zeros((self.n_groups, rows.shape[1]))
        np.add.at(found, self.of_topic, rows)
        return found


@dataclass(frozen=True, eq=False)
class PosteriorMeans:
    """Posterior means over draws of z.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features), float32
        Mean of the topic-word counts, plus eta; for a fixed topic, its distribution times its mean number of tokens.
    doc_topic : ndarray of shape (n_documents, n_components), float32
        Mean of theta.
    topic_shares : ndarray of shape (n_draws, n_components)
        Shares of the tokens in every topic, draw by draw.
    """

    components: np.ndarray
    doc_topic: np.ndarray
    topic_shares: np.ndarray


class _Moments:
    """The mean and the variance of arrays that are added one after the other, by Welford's update."""

    def __init__(self, shape):
        self.n, self.mean, self.squares = 0, np.zeros(shape), np.zeros(shape)

    def add(self, values):
        """Add an array, which is changed."""
        self.n += 1
        values -= self.mean
        self.mean += values / self.n
        self.squares += values**2 * (1 - 1 / self.n)

    def variance(self):
        """Unbiased, but 0 for a single array."""
        return self.squares / max(self.n - 1, 1)


def posterior_means(corpus, draws, method, stop=NEVER_STOP):
    """Means of theta and phi over the last draws of a chain.

    In every draw, the mean of phi and of theta is estimated by `add_estimates`. Draws are used backwards from the last
    one, up to the first pair of successive draws between which topics have switched names.

    Parameters
    ----------
    corpus : Corpus
    draws : KeptDraws
    method : {"cgs_p", "cgs"}
    stop : callable

    Returns
    -------
    PosteriorMeans
    """
    K, V = draws.priors.shape
    # Single precision: its rounding errors are far smaller than the differences between draws.
    doc_topic, topic_word = np.zeros((corpus.n_documents, K), np.float32), np.zeros((K, V), np.float32)
    shares, later = [], None
    for i in reversed(range(len(draws))):
        stop()
        topics = draws.topics[i]
        if len(draws) > 1:
            counts = _word_topic_counts(corpus, K, topics, stop)
            if later is not None and not same_names(counts, later, stop):
                break
            later = counts
        shares.append(tally(topics, K) / corpus.n_tokens)
        # The sum of the proportions of the draws so far: in place, because there may be many documents.
        priors = draws.priors_at(i)
        totals = corpus.lengths[:, None] + priors.doc_totals()
        doc_topic *= totals
        add_estimates(corpus, priors, topics, doc_topic, topic_word, method, stop)
        priors.add_doc(doc_topic)
        doc_topic /= totals
    doc_topic /= doc_topic.sum(axis=1, keepdims=True, dtype=np.float64)
    topic_word /= len(shares)
    fixed = np.flatnonzero(draws.priors.fixed)
    n_tokens = topic_word[fixed].sum(axis=1, keepdims=True)
    topic_word += draws.priors.topic_word()
    # The number of tokens says more than the sum of an eta without bounds.
    topic_word[fixed] *= np.maximum(n_tokens, 1) / draws.priors.totals[fixed, None]
    return PosteriorMeans(topic_word, doc_topic, np.array(shares[::-1]))


def _word_topic_counts(corpus, n_components, topics, stop):
    """m_kv, csr_array (n_features, n_components), without dense counts of all words at once."""
    blocks = []
    for block in word_blocks(corpus, n_components):
        stop()
        counts = block.counts(topics, n_components)
        # NumPy finds the few counts that are not zero faster by a mask.
        cells = np.flatnonzero(counts != 0)
        words, columns = np.divmod(cells, counts.shape[1])
        offsets = np.searchsorted(words, np.arange(len(counts) + 1))
        blocks.append(csr_array((counts.reshape(-1)[cells], columns, offsets), shape=(len(counts), n_components)))
    return vstack(blocks, "csr")


def doc_topic_std(corpus, draws, groups=None):
    """Posterior standard deviations of theta over draws of z, (n_documents, n_components) float32.

    The root of the variance between draws of E(theta | z) plus the mean of Var(theta | z), where theta given z has a
    Dirichlet distribution.

    Parameters
    ----------
    corpus : Corpus
    draws : KeptDraws
    groups : TopicGroups, default=None
        The standard deviations are then those of the sums of theta over each group, whose distribution is a Dirichlet
        distribution, too: (n_documents, n_groups).
    """
    K = draws.priors.n_components
    groups = TopicGroups(np.arange(K), K) if groups is None else groups
    result = np.empty((corpus.n_documents, groups.n_groups), np.float32)
    for first, last in corpus.blocks(n_documents=max(_BLOCK_PROPORTIONS // K, 1)):
        offsets = corpus.offsets[first : last + 1]
        own = slice(offsets[0], offsets[-1])
        alphas = [groups.sums(draws.priors_at(i).doc_of(slice(first, last)).T).T for i in range(len(draws))]
        topics = [groups.of_topic[each[own]] for each in draws.topics]
        result[first:last] = std_of_theta(offsets - offsets[0], topics, alphas)
    return result


def topic_word_variance(corpus, draws, groups):
    """Posterior variances of the topics over draws of z, (n_groups, n_features).

    As in `doc_topic_std`, from the Dirichlet distribution of phi given z. A group of `TopicGroups` is one topic that
    has the counts and eta of its parts. It is NaN for a group without topics.
    """
    V, n = corpus.n_features, len(draws)
    shape = groups.n_groups, V
    eta = groups.sums(np.broadcast_to(draws.priors.topic_word(), (len(groups.of_topic), V)))
    eta[eta.sum(axis=1) == 0] = np.nan
    moments, within = _Moments(shape), np.zeros(shape)
    for topics in draws.topics:
        cells = groups.of_topic[topics] * V + corpus.words
        counts = np.bincount(cells, minlength=groups.n_groups * V).reshape(shape) + eta
        totals = counts.sum(axis=1, keepdims=True)
        phi = counts / totals
        within += phi * (1 - phi) / (totals + 1) / n
        moments.add(phi)
    return within + moments.variance()


def topic_word_std_by_documents(corpus, draws):
    """Standard errors of the topics between draws of z and by the deviations of documents, (n_components, n_features).

    The words of a document may repeat more often than in the model, so its deviation from a topic counts as a whole. A
    topic with fewer than two documents of equal size has the errors of a Dirichlet distribution.
    """
    K, V = draws.priors.shape
    documents, size = corpus.token_documents, K * V
    starts = (np.diff(documents, prepend=-1) != 0) | (np.diff(corpus.words, prepend=-1) != 0)
    pairs = np.cumsum(starts) - 1
    pair_documents, pair_words = documents[starts], corpus.words[starts]
    eta = np.broadcast_to(draws.priors.topic_word(), (K, V))
    moments, within = _Moments((K, V)), np.zeros((K, V))
    for topics in draws.topics:
        cells, n = np.unique(pairs * K + topics, return_counts=True)
        pair, k = np.divmod(cells, K)
        place = k * V + pair_words[pair]
        n_dk = np.bincount(documents * K + topics, minlength=corpus.n_documents * K)
        n_own = n_dk[pair_documents[pair] * K + k]
        counts, own, cross = (np.bincount(place, n * by, size).reshape(K, V) for by in (1, n, n_own))
        totals = counts.sum(axis=1, keepdims=True)
        sizes = (n_dk.reshape(-1, K).astype(np.float64) ** 2).sum(axis=0)[:, None]
        shares = counts / np.maximum(totals, 1)
        # Deviations from a mean of which the document is a part are too small.
        apart = 1 - sizes / np.maximum(totals, 1) ** 2
        phi, weight = counts + eta, totals + eta.sum(axis=1, keepdims=True)
        phi /= weight
        by_documents = (own - 2 * shares * cross + shares**2 * sizes) / weight**2 / np.maximum(apart, 0.5)
        within += np.where(apart > 0.5, by_documents, phi * (1 - phi) / (weight + 1)) / len(draws)
        moments.add(phi)
    return std_of_proportions(within + moments.variance())


def variance_of_draws(values):
    """Unbiased variance of draws along the first axis; 0 for a single draw."""
    return np.var(values, axis=0, ddof=min(len(values) - 1, 1))


def variance_around_mean(chains):
    """Variance of quantities around the mean of one chain, from a few dependent draws of each chain.

    It is NaN with fewer than four draws in all: the variance of two of them may be a thousand times too small.
    Within chains it is that of the t-distribution of a further draw, with the effective number of draws in place of
    their number. So it contains the errors of the mean and of the variance. With several chains, the variance of their
    means is added.

    Parameters
    ----------
    chains : list of ndarray of shape (n_draws, n_quantities)

    Returns
    -------
    ndarray of shape (n_quantities,)
    """
    if sum(map(len, chains)) < FEWEST_DRAWS:
        return np.full(chains[0].shape[1], np.nan)
    n = max(np.mean([effective_number(each) for each in chains]), FEWEST_EFFECTIVE)
    freedom = len(chains) * (n - 1)
    within = np.mean([np.var(each, axis=0) for each in chains], axis=0) * n / (n - 1) * freedom / (freedom - 2)
    if len(chains) == 1:
        return within * (1 + 1 / n)
    return within + np.var([each.mean(axis=0) for each in chains], axis=0, ddof=1)


def effective_number(draws):
    """Effective number of draws: the harmonic mean over quantities, because that of a single one is very uncertain.

    Quantities that are the same in all draws do not count. Fewer than four draws count as independent.
    """
    found = effective_draws(draws.T[:, None])
    found = found[~np.isnan(found)]
    return min(1 / np.mean(1 / found), len(draws)) if len(found) else len(draws)


def std_of_theta(offsets, draws, alphas):
    """Posterior standard deviations of theta of some documents; see `doc_topic_std`.

    Parameters
    ----------
    offsets : ndarray of shape (n_documents + 1,)
    draws : list of ndarray of shape (n_tokens,)
    alphas : list of ndarray of shape (1 or n_documents, n_components)
        Of each draw.
    """
    lengths = np.diff(offsets)[:, None]
    shape = len(lengths), alphas[0].shape[1]
    moments = _Moments(shape)
    for topics, alpha in zip(draws, alphas, strict=True):
        totals = lengths + alpha.sum(axis=1, keepdims=True)
        theta = np.zeros(shape)
        _tokens.count_documents(offsets, topics.astype(np.int32), theta)
        theta += alpha
        theta /= totals
        moments.add(theta)
    within = (moments.mean - moments.squares / moments.n - moments.mean**2) / (totals + 1)
    return std_of_proportions(moments.variance() + within).astype(np.float32)


def sample_parameters(chains, n_draws, rng):
    """Draws of theta and phi from their Dirichlet distributions, one for each chain given its z.

    Parameters
    ----------
    chains : iterator of GibbsChain
        With at least `n_draws` states.
    n_draws : int
    rng : numpy.random.Generator

    Returns
    -------
    theta : ndarray of shape (n_draws, n_documents, n_components), float32
    phi : ndarray of shape (n_draws, n_components, n_features), float32
    """
    first = next(chains)
    K, V = first.priors.shape
    # Before the draws, so that too many samples fail at once.
    theta, phi = empty_draws(n_draws, (first.corpus.n_documents, K), (K, V))
    for i, chain in enumerate(chain_of([first], islice(chains, n_draws - 1))):
        theta[i], phi[i] = draw_parameters(chain, rng)
    return theta, phi


def empty_draws(n_draws, *shapes):
    """Arrays for draws of quantities with these shapes, float32; a MemoryError if they are too many."""
    n_bytes = 4 * n_draws * sum(math.prod(shape) for shape in shapes)
    check_memory(n_bytes, f"{n_draws} draws need at least", "Give a smaller n_draws.")
    return [np.empty((n_draws, *shape), np.float32) for shape in shapes]


def draw_parameters(chain, rng):
    """Draw theta and phi from their Dirichlet distributions, given the present z of a chain.

    Parameters
    ----------
    chain : GibbsChain
    rng : numpy.random.Generator

    Returns
    -------
    theta : ndarray of shape (n_documents, n_components)
    phi : ndarray of shape (n_components, n_features)
    """
    theta = draw_doc_topic(chain, rng)
    return theta, draw_topic_word(chain, rng)


def draw_topic_word(chain, rng):
    """Draw phi given the present z of a chain, (n_components, n_features)."""
    counts = chain.word_topic_counts[:, : chain.priors.n_components].T
    return np.exp(random.log_dirichlet(rng, counts + chain.priors.topic_word()))


def draw_doc_topic(chain, rng, rows=slice(None)):
    """Draw theta of some documents given the present z of a chain, (n_rows, n_components)."""
    return np.exp(random.log_dirichlet(rng, chain.priors.add_doc(chain.doc_topic_counts())[rows]))


def draw_dirichlets(parameters, n_draws, rng):
    """Draws from Dirichlet distributions, one for each row of each array of parameters.

    Returns
    -------
    tuple of ndarray of shape (n_draws, *shape of the parameters), float32
    """
    samples = empty_draws(n_draws, *(each.shape for each in parameters))
    for each, parameter in zip(samples, parameters, strict=True):
        for sample in each:
            sample[:] = np.exp(random.log_dirichlet(rng, parameter))
    return samples


def at_draws(corpus, draws, n_draws):
    """Chains at draws of z: at equal distances if there are more draws than samples, else at each several times."""
    for i in range(n_draws):
        at = i * len(draws) // n_draws if n_draws < len(draws) else i % len(draws)
        yield GibbsChain(corpus, draws.priors_at(at), ChainState(draws.topics[at], np.zeros(4, np.uint64)))
