"""The topics of labelled LDA as sparse counts, of which only the columns that are needed become dense."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sklda._core.parallel import Aligned


@dataclass(frozen=True, eq=False)
class LabelTopics(Aligned):
    """phi of labels and shared topics: ``topics[:, words]`` are its columns for some words.

    Parameters
    ----------
    counts : csr_array of shape (n_features, n_topics)
        Mean counts of words in topics.
    eta : float or ndarray of shape (n_features,) or (n_topics, n_features)
    """

    counts: sp.csr_array
    eta: np.ndarray

    @property
    def shape(self):
        return self.counts.shape[::-1]

    def __len__(self):
        return self.shape[0]

    @property
    def _eta(self):
        return np.broadcast_to(self.eta, self.shape)

    @property
    def totals(self):
        """Sum over words of counts plus eta, (n_topics,)."""
        return np.asarray(self.counts.sum(axis=0)).ravel() + self._eta.sum(axis=1)

    def __getitem__(self, index):
        every, words = index
        dense = self.counts[words].toarray().T + self._eta[:, words]
        return dense[every] / self.totals[every, None]

    def components(self):
        """Counts plus eta, ndarray of shape (n_topics, n_features)."""
        return np.ascontiguousarray(self.counts.toarray().T + self._eta)


def label_prior(frequencies, weights, shared_odds):
    """alpha of new documents whose labels are unknown (Papanikolaou et al. 2017, equation 59).

    Parameters
    ----------
    frequencies : ndarray of shape (n_labels,)
        Weights of the labels, of which at least one is positive.
    weights : (float, float)
        The sum of alpha that is distributed in proportion to `frequencies`, and the sum that is distributed evenly.
    shared_odds : ndarray of shape (n_shared,)
        Number of tokens of the shared topics, relative to those of all labels. Their alpha has this ratio to the sum of
        alpha over labels.

    Returns
    -------
    ndarray of shape (n_labels + n_shared,)
    """
    by_frequency, even = weights
    labels = by_frequency * frequencies / frequencies.sum() + even / len(frequencies)
    return np.concatenate([labels, (by_frequency + even) * shared_odds])
