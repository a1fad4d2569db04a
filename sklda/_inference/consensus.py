"""Topics of several fits: those that are found again, and topics of one fit that are split or merged in another."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import gammaln

from sklda._inference.diagnostics import std_of_proportions
from sklda._inference.distances import jensen_shannon, jensen_shannon_pairs

# Topics at a smaller Jensen-Shannon distance are the same topic. benchmarks/bench_consensus.py has the measurements.
SAME_TOPIC = 0.5
# 314 clusters of fits to corpora of one distribution had an agreement of .31 ± .06, at most .61; those of the bundled
# corpus have .77 to .92.
_BEYOND_CHANCE = 0.65
# Words of similar frequency, within which the words of the corpus explain no choice of a topic.
_SIMILAR_WORDS = 16
# Rounding errors of squared distances between equal topics.
_ROUNDING = 1e-5
# A topic covers several others if each of these makes the distance of their mixture smaller by this, chosen by looking
# at the words of the topics of eight fits of the bundled corpus.
_GAIN = 0.03


@dataclass
class Consensus:
    """Topics that are found again.

    Attributes
    ----------
    topic_word : ndarray of shape (n_topics, n_features)
        Rows sum to one.
    topic_word_std : ndarray of shape (n_topics, n_features)
        Standard deviations between the fits that have the topic.
    share : ndarray of shape (n_topics,)
        Means over all fits of the summed shares of the members.
    prevalence : ndarray of shape (n_topics,)
        Parts of the fits that have the topic.
    similarity : ndarray of shape (n_topics,)
        Means over pairs of fits of one less the distance of their members.
    members : list of ndarray of shape (n_members, 2)
        Pairs of a fit and one of its topics.
    n_by_chance : int
        Topics that enough fits have, but that are not more alike than in a corpus without topics.
    """

    topic_word: np.ndarray
    topic_word_std: np.ndarray
    share: np.ndarray
    prevalence: np.ndarray
    similarity: np.ndarray
    members: list[np.ndarray]
    n_by_chance: int = 0

    def attributes(self):
        """The fitted attributes of an estimator, a dict."""
        return {
            "components_": self.topic_word,
            "topic_word_std_": self.topic_word_std,
            "prevalence_": self.prevalence,
            "similarity_": self.similarity,
            "members_": self.members,
            "n_topics_": len(self.topic_word),
        }


def has_own_words(components, topic_word_prior):
    """Which topics have words of their own, (n_components,) bool.

    First, their counts exceed their prior mass, the sum of eta: otherwise more than half of their distribution is the
    prior, which other topics have too. Second, their counts and those of all other topics are more probable as draws
    from two distributions than from one. The prior of these is that of the topic: the Bayes factor is above one. A
    topic with all tokens has words of its own. Those that have none look like their prior, or like the corpus.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Counts m + eta.
    topic_word_prior : float or ndarray
        eta, in a shape that broadcasts to that of `components`.
    """
    priors = np.broadcast_to(np.asarray(topic_word_prior, dtype=np.float64), components.shape)
    words = sum(np.maximum(row - eta, 0) for row, eta in zip(components, priors, strict=True))
    found = np.zeros(len(components), bool)
    for k, (row, eta) in enumerate(zip(components, priors, strict=True)):
        own = np.maximum(row - eta, 0)
        rest = np.maximum(words - own, 0)
        if own.sum() > eta.sum():
            gain = _log_evidence(own, eta) + _log_evidence(rest, eta) - _log_evidence(words, eta)
            found[k] = rest.sum() < 1 or gain > 0
    return found


def _log_evidence(counts, eta):
    """log p of tokens in their order: draws from a distribution that is drawn from its Dirichlet prior."""
    total = eta.sum()
    return gammaln(total) - gammaln(total + counts.sum()) + (gammaln(eta + counts) - gammaln(eta)).sum()


def stability_and_prevalence(nearest, kept):
    """How alike each topic of a chain is to the nearest ones of the others, and the part of the chains that have it.

    Parameters
    ----------
    nearest : ndarray of shape (n_chains - 1, n_components)
        Distances of the nearest topics of the other chains.
    kept : ndarray of shape (n_components,), bool
        See `has_own_words`. The others get NaN.

    Returns
    -------
    dict of {str: ndarray of shape (n_components,)}
        The fitted attributes.
    """
    prevalence = (1 + (nearest <= SAME_TOPIC).sum(axis=0)) / (len(nearest) + 1)
    found = {"topic_stability_": 1 - nearest.mean(axis=0), "topic_prevalence_": prevalence}
    return {name: np.where(kept, values, np.nan) for name, values in found.items()}


def find_consensus(topics, shares, min_prevalence):
    """Cluster the topics of all fits, and keep the clusters that many fits have.

    The linkage is the mean distance between two clusters. A cluster may have several topics of a fit. Then their
    mixture stands for that fit. The topic of a cluster is the distribution whose Hellinger distances from those of its
    fits have the smallest sum of squares: its roots are proportional to the mean of their roots. Clusters that
    chance can make are left out, see `_Pool.agreement`.

    Parameters
    ----------
    topics : list of ndarray of shape (n_components of the fit, n_features)
        For every fit. Rows sum to one.
    shares : list of ndarray of shape (n_components of the fit,)
        Shares of the topics in the tokens.
    min_prevalence : float
        The smallest part of the fits that must have a topic.

    Returns
    -------
    Consensus
        By falling prevalence, then by falling share.
    """
    pool = _Pool(topics, shares)
    clusters = fcluster(linkage(squareform(pool.distance, checks=False), "average"), SAME_TOPIC, "distance")
    found = [np.flatnonzero(clusters == c) for c in range(1, clusters.max() + 1)]
    # Topics without words are rows of zeros, at the distance 1 from all others. The margin is for rounding errors.
    found = [members for members in found if pool.topics[members].any()]
    found = [members for members in found if pool.prevalence(members) >= min_prevalence - 1e-9]
    kept = [members for members in found if pool.agreement(members) >= _BEYOND_CHANCE]
    consensus = pool.consensus(sorted(kept, key=lambda m: (-pool.prevalence(m), -pool.share(m), m[0])))
    return replace(consensus, n_by_chance=len(found) - len(kept))


def consensus_of(topics, shares, members):
    """The `Consensus` of given members: a list of arrays of pairs of a fit and one of its topics, in their order."""
    pool = _Pool(topics, shares)
    starts = np.cumsum([0, *map(len, topics)])
    return pool.consensus([np.sort(starts[pairs[:, 0]] + pairs[:, 1]) for pairs in members])


class _Pool:
    """The topics of all fits, with their shares, fits and numbers, and the distances between them."""

    def __init__(self, topics, shares):
        self.n_fits = len(topics)
        self.fit = np.repeat(np.arange(self.n_fits), [len(each) for each in topics])
        self.number = np.concatenate([np.arange(len(each)) for each in topics])
        self.topics, self.weight = np.concatenate(topics), np.concatenate(shares)
        self.distance = jensen_shannon(self.topics, dtype=np.float32)

    def prevalence(self, members):
        """Part of the fits that have one of the members."""
        return len(np.unique(self.fit[members])) / self.n_fits

    def share(self, members):
        """Mean over all fits of the summed shares of the members."""
        return self.weight[members].sum() / self.n_fits

    def agreement(self, members):
        """The part of the distance of topics from the words of the corpus that they share over fits, at most 1.

        Without topics, what a fit finds depends on a word only by its frequency, but for noise that differs between
        fits. So a topic is compared with its expected form: words of similar frequency have its mass there in
        proportion to their shares in the corpus. Squared distances add up if the deviations have nothing in common, and
        vanish if they are equal. Each topic is compared with the nearest one of every other fit.
        """
        fit, squares = self.fit[members], self.distance[np.ix_(members, members)] ** 2
        alone = jensen_shannon_pairs(self.topics[members], self._by_frequency(self.topics[members])) ** 2
        apart = together = n_pairs = 0
        for f in np.unique(fit):
            own, others = np.flatnonzero(fit == f), np.flatnonzero(fit != f)
            nearest = own[squares[np.ix_(others, own)].argmin(axis=1)]
            together += squares[others, nearest].sum()
            apart += (alone[others] + alone[nearest]).sum()
            n_pairs += len(others)
        return 1.0 if together <= n_pairs * _ROUNDING else 1 - together / max(apart, np.finfo(np.float64).tiny)

    def _by_frequency(self, topics):
        """The distributions in which words of similar frequency share their mass as in the corpus."""
        words = self.weight @ self.topics
        order = np.argsort(-words, kind="stable")
        # The words that are left over at the end belong to the last group.
        starts = np.arange(0, max(len(words) - _SIMILAR_WORDS, 0) + 1, _SIMILAR_WORDS)
        sizes = np.diff([*starts, len(words)])
        mass = np.add.reduceat(words[order], starts)
        part = words[order] / np.repeat(np.where(mass > 0, mass, 1), sizes)
        found = np.empty_like(topics)
        found[:, order] = np.repeat(np.add.reduceat(topics[:, order], starts, axis=1), sizes, axis=1) * part
        return found

    def consensus(self, found):
        """The `Consensus` of clusters, a list of arrays of places in the pool."""
        topic_word, std = np.zeros((2, len(found), self.topics.shape[1]))
        for c, members in enumerate(found):
            rows = _of_fits(self.topics[members], self.weight[members], self.fit[members])
            topic_word[c] = centre(rows)
            std[c] = std_of_proportions(rows.var(axis=0, ddof=1)) if len(rows) > 1 else 0
        return Consensus(
            topic_word,
            std,
            np.array([self.share(members) for members in found]),
            np.array([self.prevalence(members) for members in found]),
            np.array([_similarity(self.distance, members, self.fit) for members in found]),
            [np.stack([self.fit[members], self.number[members]], axis=1) for members in found],
        )


def centre(rows):
    """The distribution whose squared Hellinger distances from distributions have the smallest sum, (n_features,)."""
    mean = np.sqrt(rows).mean(axis=0) ** 2
    return mean / mean.sum()


def mixture(rows, weights):
    """The mixture of distributions with weights, (n_features,)."""
    weights = np.maximum(weights, np.finfo(np.float64).tiny)
    return weights / weights.sum() @ rows


def parts_of(whole, pieces, weights, distances):
    """The pieces whose mixture is closest to a topic, found one after the other.

    Parameters
    ----------
    whole : ndarray of shape (n_features,)
    pieces : ndarray of shape (n, n_features)
    weights : ndarray of shape (n,)
    distances : ndarray of shape (n,)
        Of the pieces from the whole.

    Returns
    -------
    chosen : list of int
        At least one, the closest first. Each of the others makes the distance clearly smaller.
    distance : float
        Of the mixture from the whole.
    """
    first = int(np.argmin(distances))
    chosen, best = [first], float(distances[first])
    # More distant pieces have almost no word of the topic.
    candidates = [int(i) for i in np.argsort(distances, kind="stable") if i != first and distances[i] < 0.9]
    while candidates:
        mixtures = np.array([mixture(pieces[[*chosen, i]], weights[[*chosen, i]]) for i in candidates])
        found = jensen_shannon_pairs(whole, mixtures)
        place = int(found.argmin())
        if found[place] > best - _GAIN:
            break
        best = float(found[place])
        chosen.append(candidates.pop(place))
    return chosen, best


def splits_and_merges(a, b, a_weights, b_weights, distances):
    """Topics of one set that several topics of the other set cover together, and do not cover alone.

    Parameters
    ----------
    a, b : ndarray of shape (n, n_features) and (l, n_features)
    a_weights, b_weights : ndarray of shape (n,) and (l,)
        Shares of the topics.
    distances : ndarray of shape (n, l)

    Returns
    -------
    list of (list of int, list of int, float)
        Topics of `a`, topics of `b` and their distance. One of the lists has one topic, the other at least two.
    """
    found = []
    if not distances.size:
        return found
    for i, row in enumerate(distances):
        chosen, distance = parts_of(a[i], b, b_weights, row)
        if len(chosen) > 1 and distance <= SAME_TOPIC:
            found.append(([i], sorted(chosen), distance))
    for j, column in enumerate(distances.T):
        chosen, distance = parts_of(b[j], a, a_weights, column)
        if len(chosen) > 1 and distance <= SAME_TOPIC:
            found.append((sorted(chosen), [j], distance))
    return found


def _of_fits(topics, weights, fit):
    """The mixture of the topics of every fit, (n_fits_with_topics, n_features)."""
    return np.array([mixture(topics[fit == f], weights[fit == f]) for f in np.unique(fit)])


def _similarity(distance, members, fit):
    """Mean of one less the distance over pairs of members of different fits; 1 if one fit has all members."""
    others = fit[members][:, None] != fit[members]
    return float(1 - distance[np.ix_(members, members)][others].mean()) if others.any() else 1.0
