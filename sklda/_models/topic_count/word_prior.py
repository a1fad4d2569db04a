"""An eta for each word: a common eta times a factor, which is one of a few levels.

    phi_k ~ Dir(eta_1, ..., eta_V),  eta_v = eta FACTORS[l_v],  l_v ~ p(l | shape)

Frequent words are frequent in most topics. Where eta is one number, this looks like further topics. From the factor 1
on, the proportions of the levels fall geometrically in both directions, so that the eta of words are about equal or
follow a power law; how fast they fall, the shape says, which is unknown.

The levels of words are independent of each other given z, the shape, and a Beta variate for each topic, whose logarithm
stands for the sum of eta over the words (Escobar & West 1995).
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import digamma, log_softmax

from sklda._core import random
from sklda._core.rising import log_gamma_ratio, sum_of_log_gamma_ratios

_LEVEL_OF_ONE = 6
_POWERS = np.arange(17) - _LEVEL_OF_ONE
FACTORS = 2.0**_POWERS
# The ratios of the proportions of a level and of the next one nearer to the factor 1, and each shape, with a ratio for
# smaller factors and one for larger ones, is equally likely. 2^-s belongs to a power law with exponent s.
_RATIOS = 0.002, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7
# log p(l | shape), (n_shapes, n_levels).
_LOG_P = log_softmax(
    [
        np.log(smaller) * np.maximum(-_POWERS, 0) + np.log(larger) * np.maximum(_POWERS, 0)
        for smaller in _RATIOS
        for larger in _RATIOS
    ],
    axis=1,
)


class WordPrior(NamedTuple):
    """eta and the levels of the words."""

    eta: float
    levels: np.ndarray  # (n_features,), int

    @classmethod
    def equal(cls, eta, n_features) -> Self:
        """The same eta for all words."""
        return cls(eta, np.full(n_features, _LEVEL_OF_ONE))

    def of_words(self):
        """eta_v, (n_features,)."""
        return self.eta * FACTORS[self.levels]

    def shapes(self):
        """p(shape | levels), (n_shapes,)."""
        return softmax(_LOG_P @ np.bincount(self.levels, minlength=len(FACTORS)))


class WordCounts(NamedTuple):
    """The counts m_kv > 0 of a draw of z, word by word, and the sizes m_k of the topics with tokens."""

    values: np.ndarray  # the different counts, (n_values,)
    places: np.ndarray  # that of each count in `values`
    ends: np.ndarray  # the counts of word v are those from ends[v] to ends[v + 1]
    totals: np.ndarray

    @classmethod
    def of(cls, chain) -> Self:
        counts = chain.rows.dense()
        positive = counts > 0
        values, places = np.unique(counts[positive], return_inverse=True)
        ends = np.concatenate([[0], np.cumsum(np.count_nonzero(positive, axis=1))])
        return cls(values, places, ends, chain.topic_totals[chain.topic_totals > 0].astype(np.float64))

    def log_density(self, levels):
        """log p(w | z, eta, levels) as a function of log eta."""
        n_values, total, once = len(self.values), FACTORS[levels].sum(), np.ones(len(self.totals))
        cells = np.repeat(levels, np.diff(self.ends)) * n_values + self.places
        occurs = np.bincount(cells, minlength=len(FACTORS) * n_values).reshape(-1, n_values)
        used = np.flatnonzero(occurs.any(axis=1))
        occurs, factors = occurs[used].astype(np.float64), FACTORS[used, None]

        def log_density(x):
            eta = np.exp(x)
            rising = np.vdot(occurs, log_gamma_ratio(eta * factors, self.values))
            return rising - sum_of_log_gamma_ratios(eta * total, self.totals, once)

        return log_density

    def probabilities(self, eta, shape, rate):
        """p(l_v | z, eta, shape, rate), (n_features, n_levels); minus the rate is the sum of the log Beta variates."""
        shape_of_occurs = len(self.ends) - 1, len(self.values)
        occurs = csr_array((np.ones(len(self.places)), self.places, self.ends), shape_of_occurs)
        log_p = occurs @ log_gamma_ratio(eta * FACTORS, self.values[:, None])
        log_p += _LOG_P[shape] - rate * eta * FACTORS
        return softmax(log_p)


def softmax(log_p):
    """Probabilities from their logarithms, each row up to a constant; faster than that of SciPy for small arrays."""
    p = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def draw_levels(rng, prior, counts):
    """Draw the levels of a `WordPrior` given z and eta, and return it."""
    shape = np.searchsorted(np.cumsum(prior.shapes()), rng.random() * (1 - 1e-9))
    parameters = np.column_stack([np.full(len(counts.totals), prior.of_words().sum()), counts.totals])
    rate = -random.log_dirichlet(rng, parameters)[:, 0].sum()
    p = np.cumsum(counts.probabilities(prior.eta, shape, rate), axis=1)
    return prior._replace(levels=(p < rng.random((len(p), 1)) * p[:, -1:]).sum(axis=1))


def mode_of_levels(eta, priors, counts):
    """The `WordPrior` with the most likely level of each word, and log p - log p(. | w) of its levels and their shape.

    `priors` and `counts` are those of draws from the posterior. The second term is a product over words.
    """
    shapes, p = np.mean([prior.shapes() for prior in priors], axis=0), 0.0
    shape = shapes.argmax()
    for prior, each in zip(priors, counts, strict=True):
        total = prior.of_words().sum()
        p = p + each.probabilities(eta, shape, (digamma(total + each.totals) - digamma(total)).sum()) / len(priors)
    found = WordPrior(eta, p.argmax(axis=1))
    log_prior = _LOG_P[shape, found.levels].sum() - np.log(len(_LOG_P))
    return found, log_prior - np.log(shapes[shape]) - np.log(p.max(axis=1)).sum()
