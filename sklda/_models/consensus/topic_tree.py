"""The tree of the topics of several fits: what its nodes are, and the nodes on which the fits agree."""

from functools import cached_property

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from sklda._core.distances import jensen_shannon, jensen_shannon_pairs
from sklda._core.same_topics import mixture

# Words of similar frequency, within which the words of the corpus explain no choice of a topic.
_SIMILAR_WORDS = 16
# Rounding errors of squared distances between equal topics.
_ROUNDING = 1e-5


class Pool:
    """The topics of all fits, with their shares, fits and numbers, and the distances between them.

    Parameters
    ----------
    topics : list of ndarray of shape (n_components of the fit, n_features)
        For every fit. Rows sum to one; those of topics without words are zeros.
    shares : list of ndarray of shape (n_components of the fit,)
        Shares of the topics in the tokens.
    """

    def __init__(self, topics, shares):
        self.n_fits = len(topics)
        self.fit = np.repeat(np.arange(self.n_fits), [len(each) for each in topics])
        self.number = np.concatenate([np.arange(len(each)) for each in topics])
        self.topics, self.weight = np.concatenate(topics), np.concatenate(shares)

    @cached_property
    def distance(self):
        return jensen_shannon(self.topics, dtype=np.float32)

    def of_fits(self, members):
        """The mixture of the members in every fit that has some, (n_fits_with_members, n_features)."""
        topics, weights, fit = self.topics[members], self.weight[members], self.fit[members]
        return np.array([mixture(topics[fit == f], weights[fit == f]) for f in np.unique(fit)])

    def prevalence(self, members):
        """Part of the fits that have one of the members."""
        return len(np.unique(self.fit[members])) / self.n_fits

    def share(self, members):
        """Mean over all fits of the summed shares of the members."""
        return self.weight[members].sum() / self.n_fits

    def likeness(self, rows):
        """How alike the topics of several fits are, and the part of this that chance does not explain.

        The first is the mean over pairs of one less the distance. For the second: without topics, what a fit finds
        depends on a word only by its frequency, apart from noise that differs between fits. So a topic is compared with
        its expected form: words of similar frequency have its mass there in proportion to their shares in the corpus.
        Squared distances from there add up if the deviations of two fits have nothing in common, and vanish if they are
        equal.
        """
        n = len(rows)
        if n == 1:
            return 1.0, 1.0
        pairs = jensen_shannon(rows, dtype=np.float32)[np.triu_indices(n, 1)]
        together = (pairs**2).sum()
        if together <= len(pairs) * _ROUNDING:
            return float(1 - pairs.mean()), 1.0
        alone = (n - 1) * (jensen_shannon_pairs(rows, self._by_frequency(rows)) ** 2).sum()
        return float(1 - pairs.mean()), float(1 - together / max(alone, np.finfo(np.float64).tiny))

    @cached_property
    def _frequencies(self):
        """Words by falling frequency, the first of every group, group sizes, and their parts of their group."""
        words = self.weight @ self.topics
        order = np.argsort(-words, kind="stable")
        # The words that are left over at the end belong to the last group.
        starts = np.arange(0, max(len(words) - _SIMILAR_WORDS, 0) + 1, _SIMILAR_WORDS)
        sizes = np.diff([*starts, len(words)])
        mass = np.add.reduceat(words[order], starts)
        return order, starts, sizes, words[order] / np.repeat(np.where(mass > 0, mass, 1), sizes)

    def _by_frequency(self, topics):
        """The distributions in which words of similar frequency share their mass as in the corpus."""
        order, starts, sizes, part = self._frequencies
        found = np.empty_like(topics)
        found[:, order] = np.repeat(np.add.reduceat(topics[:, order], starts, axis=1), sizes, axis=1) * part
        return found


class TopicTree:
    """Average linkage of the topics of all fits. A node is a topic: in each fit, the mixture of its topics there.

    Nodes are numbered as by scipy: the topics of all fits first, then the merges by rising height.

    Parameters
    ----------
    pool : Pool

    Attributes
    ----------
    linkage : ndarray of shape (n - 1, 4)
        As in scipy.
    members : list of 2 n - 1 ndarray
        Topics of each node, places in the pool.
    height : ndarray of shape (2 n - 1,)
        Mean distance between the topics of the two parts; 0 for a single topic.
    prevalence, share : ndarray of shape (2 n - 1,)
        Part of the fits that have the node, and its share in the tokens, a mean over all fits.
    similarity : ndarray of shape (2 n - 1,)
        How alike the node is in the fits that have it. See `Pool.likeness`.
    beyond_chance : ndarray of shape (2 n - 1,)
    possible : ndarray of shape (2 n - 1,), bool
        Whether all topics of the node have words.
    persistence : ndarray of shape (2 n - 1,)
        Height of the merge with another node, less the height of the node. 0 for a node that cannot be a topic.
    """

    def __init__(self, pool):
        self.pool, n = pool, len(pool.topics)
        self.linkage = linkage(squareform(pool.distance, checks=False), "average") if n > 1 else np.zeros((0, 4))
        self.children = self.linkage[:, :2].astype(int)
        self.members = [np.array([i]) for i in range(n)]
        for left, right in self.children:
            self.members.append(np.sort(np.concatenate([self.members[left], self.members[right]])))
        self.prevalence = np.array([pool.prevalence(members) for members in self.members])
        self.share = np.array([pool.share(members) for members in self.members])
        self.height = np.concatenate([np.zeros(n), self.linkage[:, 2]])
        self.possible = self._have_words()
        self.persistence = self._persistence()
        found = [
            pool.likeness(pool.of_fits(members)) if len(members) > 1 and possible else (1.0, 1.0)
            for members, possible in zip(self.members, self.possible, strict=True)
        ]
        self.similarity, self.beyond_chance = np.array(found).T

    def _have_words(self):
        """Whether all topics of a node have words. Others are rows of zeros, at the distance 1 from all topics."""
        has_words = self.pool.topics.any(axis=1)
        return np.array([has_words[members].all() for members in self.members])

    def _persistence(self):
        above = np.ones(len(self.height))
        above[self.children] = self.linkage[:, 2, None]
        possible = self.possible.copy()
        # All topics of all fits are the corpus, which is not a topic unless the fits have one topic.
        has_words = self.pool.topics.any(axis=1)
        if has_words.any() and np.bincount(self.pool.fit[has_words]).max() > 1:
            possible &= [len(members) < has_words.sum() for members in self.members]
        return np.where(possible, above - self.height, 0)

    def choose(self, qualifies):
        """The nodes that qualify and persist most, none of which contains another: a list of numbers.

        They have the largest sum of share times prevalence times persistence. So a topic is as fine as it is in most
        fits, and coarser where the fits divide it in different ways.
        """
        value = self.share * self.prevalence * self.persistence
        n, best, chosen = len(self.pool.topics), np.zeros(len(value)), []
        for node, good in enumerate(qualifies & (self.persistence > 0)):
            below = self.children[node - n] if node >= n else []
            best[node] = best[below].sum() if len(below) else 0
            chosen.append([each for child in below for each in chosen[child]])
            if good and (value[node] > best[node] or not chosen[node]):
                best[node], chosen[node] = value[node], [node]
        return chosen[-1]

    def order(self, nodes):
        """Nodes by falling prevalence, then by falling share."""
        return sorted(nodes, key=lambda i: (-self.prevalence[i], -self.share[i], self.members[i][0]))


def centre(rows):
    """The distribution whose squared Hellinger distances from distributions have the smallest sum, (n_features,)."""
    mean = np.sqrt(rows).mean(axis=0) ** 2
    return mean / mean.sum()
