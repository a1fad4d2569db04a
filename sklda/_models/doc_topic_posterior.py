"""The posterior of the topic proportions of documents, given the topics or with draws of them."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.arguments import check_level, check_memory
from sklda._likelihood.held_out.proportion_draws import draw_proportions

# Draws of theta for each draw of phi: the chain of a document begins anew with each.
_DRAWS_EACH = 10


@dataclass(frozen=True, eq=False)
class DocTopicPosterior:
    """The posterior of topic proportions, as `doc_topic_posterior` of an estimator returns it.

    Attributes
    ----------
    mean : ndarray of shape (n_documents, n_components)
        Posterior means; rows sum to one.
    std : ndarray of shape (n_documents, n_components)
        Posterior standard deviations.
    draws : ndarray of shape (n_samples, n_documents, n_components), float32
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
                f"{len(self.draws)} draws have no interval of {level:.4g}: give n_samples={n_needed} or more."
            )
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")
        return low, high


def doc_topic_posterior(corpus, topic_word, alpha, n_samples, topics, seed, n_jobs):
    """`DocTopicPosterior` of a corpus.

    Parameters
    ----------
    topic_word, alpha
        See `fold_in`.
    topics : callable or None
        ``topics(n, seed)`` iterates over n draws of phi, which take the place of `topic_word`.
    """
    K = alpha.shape[1]
    # Blocks have their draws, too, until they are joined.
    check_memory(
        8 * n_samples * corpus.n_documents * K,
        f"{n_samples} draws of {corpus.n_documents} documents need",
        "Give a smaller n_samples, or fewer documents at a time.",
    )
    draws = np.empty((n_samples, corpus.n_documents, K), np.float32)
    if topics is None:
        moments = draw_proportions(
            corpus, topic_word, alpha, draws, seed=random.key(random.child(seed, 0)), n_jobs=n_jobs
        )
        return DocTopicPosterior(moments.mean(), moments.std(), draws)
    moments = None
    starts = range(0, n_samples, _DRAWS_EACH)
    for i, (start, phi) in enumerate(zip(starts, topics(len(starts), random.child(seed, 1)), strict=True)):
        own = draws[start : start + _DRAWS_EACH]
        key = random.key(random.child(seed, 2, i))
        found = draw_proportions(corpus, phi, alpha, own, seed=key, n_jobs=n_jobs)
        if moments is None:
            moments = found
        else:
            moments.add(found)
    return DocTopicPosterior(moments.mean(), moments.std(), draws)
