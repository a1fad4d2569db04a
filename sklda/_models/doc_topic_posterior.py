"""The posterior of the topic proportions of documents, given the topics or with draws of them."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._input.arguments import check_level
from sklda._input.memory import check_memory
from sklda._likelihood.held_out.proportion_draws import ProportionMoments, draw_proportions
from sklda._likelihood.held_out.token_topics import draw_topics

# Draws of theta for each draw of phi: the chain of a document begins anew with each.
_DRAWS_EACH = 10
# Draws of phi given the topics of a new document and of these topics given phi, and sweeps for the second.
_ROUNDS, _SWEEPS = 5, 5
# Entries of phi for the words of each document that are computed at a time.
_MOST_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class DocTopicPosterior:
    """The posterior of topic proportions, as `doc_topic_posterior` of an estimator returns it.

    Attributes
    ----------
    mean : ndarray of shape (n_documents, n_components)
        Posterior means; rows sum to one.
    std : ndarray of shape (n_documents, n_components)
        Posterior standard deviations.
    draws : ndarray of shape (n_draws, n_documents, n_components), float32
        Draws; rows sum to one.
    """

    mean: np.ndarray
    std: np.ndarray
    draws: np.ndarray

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Intervals that contain the proportions with this probability.

        Their ends are quantiles of the draws, chosen such that few draws do not make intervals too narrow: a further
        draw would be in them with this probability.

        Parameters
        ----------
        level : float, default=0.95
            Probability, the same on both sides outside.

        Returns
        -------
        low, high : ndarray of shape (n_documents, n_components)

        Raises
        ------
        ValueError
            If there are too few draws, fewer than ``2 / (1 - level) - 1``.
        """
        level = check_level(level)
        n_needed = int(np.ceil(2 / (1 - level) - 1 - 1e-6))
        if len(self.draws) < n_needed:
            raise ValueError(
                f"{len(self.draws)} draws have no interval of {level:.4g}: give n_draws={n_needed} or more."
            )
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")
        return low, high


def doc_topic_posterior(corpus, topic_word, alpha, n_draws, topics, seed, n_jobs, parameters=None, is_new=None):
    """`DocTopicPosterior` of a corpus.

    Parameters
    ----------
    topic_word, alpha
        See `fold_in`.
    topics : callable or None
        ``topics(n, seed)`` iterates over n draws of phi, which take the place of `topic_word`.
    parameters : callable or None
        ``parameters(n, seed)`` iterates over the Dirichlet parameters of these draws. Documents that the draws do not
        know then change their topics. None: they do not.
    is_new : ndarray of shape (n_documents,), bool
        The documents that the draws do not know.
    """
    K = alpha.shape[1]
    # Blocks have their draws, too, until they are joined.
    check_memory(
        8 * n_draws * corpus.n_documents * K,
        f"{n_draws} draws of {corpus.n_documents} documents need",
        "Give a smaller n_draws, or fewer documents at a time.",
    )
    draws = np.empty((n_draws, corpus.n_documents, K), np.float32)
    if topics is None:
        moments = draw_proportions(
            corpus, topic_word, alpha, draws, seed=random.key(random.child(seed, 0)), n_jobs=n_jobs
        )
        return DocTopicPosterior(moments.mean(), moments.std(), draws)
    moments = None
    starts = range(0, n_draws, _DRAWS_EACH)
    n_topics, seed_of_topics = len(starts), random.child(seed, 1)
    known = None if parameters is None or not is_new.any() else parameters(n_topics, seed_of_topics)
    for i, (start, phi) in enumerate(zip(starts, topics(n_topics, seed_of_topics), strict=True)):
        own, own_seed = draws[start : start + _DRAWS_EACH], random.child(seed, 2, i)
        if known is None:
            found = draw_proportions(corpus, phi, alpha, own, seed=random.key(own_seed), n_jobs=n_jobs)
        else:
            found = _draw_with_new_documents(corpus, phi, next(known), alpha, own, is_new, own_seed, n_jobs)
        if moments is None:
            moments = found
        else:
            moments.add(found)
    return DocTopicPosterior(moments.mean(), moments.std(), draws)


def _draw_with_new_documents(corpus, phi, parameters, alpha, draws, is_new, seed, n_jobs):
    """Draws of theta in blocks of documents, whose own words say something about the topics too."""
    K, sums = len(phi), np.zeros((3, corpus.n_documents, len(phi)))
    for first, last in corpus.blocks(n_tokens=max(_MOST_ENTRIES // K, 1)):
        part, own_alpha = corpus.part(first, last), alpha[first:last] if len(alpha) > 1 else alpha
        words = _OwnWords.of(part, is_new[first:last])
        topic_word = words.topics(phi, parameters, own_alpha, seed, n_jobs)
        own = draws[:, first:last]
        keys = part.document_keys(random.key(seed))
        found = draw_proportions(words.corpus, topic_word, own_alpha, own, keys=keys, n_jobs=n_jobs)
        sums[:, first:last] = found.expected, found.counts, found.squares
    return ProportionMoments(len(draws), *sums, alpha)


@dataclass(frozen=True, eq=False)
class _OwnWords:
    """Documents whose words have columns of phi of their own.

    Attributes
    ----------
    documents : Corpus
    corpus : Corpus
        The same with other words: numbers of the pairs of a document and a word.
    words : ndarray of shape (n_pairs,)
    ends : ndarray of shape (n_documents + 1,)
        Of the pairs of each document.
    is_new : ndarray of shape (n_documents,), bool
    """

    documents: Corpus
    corpus: Corpus
    words: np.ndarray
    ends: np.ndarray
    is_new: np.ndarray

    @classmethod
    def of(cls, documents, is_new):
        begins = np.diff(documents.words, prepend=-1) != 0
        begins[documents.offsets[:-1][documents.lengths > 0]] = True
        ends = np.concatenate([[0], np.cumsum(begins)])[documents.offsets]
        pairs = (np.cumsum(begins) - 1).astype(np.int32)
        return cls(documents, Corpus(pairs, documents.offsets, int(ends[-1])), documents.words[begins], ends, is_new)

    def topics(self, phi, parameters, alpha, seed, n_jobs):
        """Columns of phi, (n_components, n_pairs): given ones, and for new documents draws that know their words.

        The topics of the tokens of a document and phi are drawn given each other. Given these topics, phi has a
        Dirichlet distribution with their counts and the parameters that do not know the document.
        """
        found, prior, n_pairs = phi[:, self.words], parameters[:, self.words], len(self.words)
        totals, counts = parameters.sum(axis=1), np.zeros(found.shape)
        keys = self.documents.document_keys(random.key(random.child(seed, 0)))
        new = np.flatnonzero(self.is_new & (self.documents.lengths > 0))
        rngs = [np.random.Generator(np.random.PCG64(int(keys[d]))) for d in new]
        for r in range(_ROUNDS):
            keys = self.documents.document_keys(random.key(random.child(seed, 1, r)))
            topics = draw_topics(self.corpus, found, alpha, n_sweeps=_SWEEPS, keys=keys, n_jobs=n_jobs)
            has_topic = topics >= 0
            cells = topics[has_topic].astype(np.int64) * n_pairs + self.corpus.words[has_topic]
            counts = np.bincount(cells, minlength=counts.size).reshape(counts.shape)
            for d, rng in zip(new, rngs, strict=True):
                own = slice(self.ends[d], self.ends[d + 1])
                words = np.maximum(rng.standard_gamma(prior[:, own] + counts[:, own]), np.finfo(float).tiny)
                others = rng.standard_gamma(np.maximum(totals - prior[:, own].sum(axis=1), 0))
                found[:, own] = words / (words.sum(axis=1) + others)[:, None]
        return found
