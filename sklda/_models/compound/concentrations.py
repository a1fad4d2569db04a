"""The concentrations of the hierarchical Dirichlet process: their priors, and slice steps given counts of tables."""

from dataclasses import dataclass

import numpy as np

from sklda._core.priors import SMALLEST
from sklda._core.rising import log_gamma_ratio
from sklda._core.slice_sampling import slice_on_log
from sklda._models.compound.alpha import DRAWN_ALPHA, first_of_pair
from sklda._sampling.mixture_step import LARGEST_GAMMA, LEARNT_GAMMA, SMALLEST_GAMMA

# Gamma priors (shape, rate): those of a and gamma in section 6.1 of Teh et al. (2006); b has that of a.
PRIORS = {
    "topic_concentration": (1.0, 0.1),
    "collection_concentration": (1.0, 0.1),
    "doc_concentration": (1.0, 1.0),
}
# eta is learnt above this value. Real texts repeat words within documents more often than the model does, and with a
# smaller eta each such repetition can be a topic: chains then disagree on which topics there are.
SMALLEST_HDP_ETA = 0.05


@dataclass(frozen=True)
class Concentration:
    """A concentration that is fixed, or has a Gamma prior.

    Attributes
    ----------
    first : float
        The fixed value, or the first one.
    prior : tuple of (shape, rate) or None
        None: it is fixed.
    """

    first: float
    prior: tuple | None = None

    @classmethod
    def make(cls, given, name):
        """From a parameter of `HDPLDA`: a number, a pair (shape, rate), or None for the pair in `PRIORS`.

        Raises
        ------
        ValueError
            If it is none of these, or out of range.
        """
        given = PRIORS[name] if given is None else given
        if isinstance(given, tuple):
            return cls(first_of_pair(given, name), tuple(map(float, given)))
        smallest, largest = (SMALLEST_GAMMA, LARGEST_GAMMA) if name == "doc_concentration" else DRAWN_ALPHA
        if not smallest <= given <= largest:
            raise ValueError(f"{name} = {given:g}: it must lie between {smallest:g} and {largest:g}.")
        return cls(float(given))


@dataclass(frozen=True)
class Concentrations:
    """Those of the three levels: a of the corpus, b of the collections and gamma of the documents."""

    topic: Concentration
    collection: Concentration
    doc: Concentration

    @classmethod
    def make(cls, n_collections, *, topic_concentration, collection_concentration, doc_concentration):
        """From the parameters of `HDPLDA`.

        Raises
        ------
        ValueError
            If a concentration is out of range, or has no place in the model.
        """
        if n_collections == 1 and collection_concentration is not None:
            raise ValueError(
                "collection_concentration is that of the mixtures of several collections, and there is one collection. "
                "Leave it at None."
            )
        return cls(
            topic=Concentration.make(topic_concentration, "topic_concentration"),
            collection=Concentration.make(collection_concentration, "collection_concentration"),
            doc=Concentration.make(doc_concentration, "doc_concentration"),
        )


def draw_doc_concentration(rng, gamma, prior, n_tables, lengths, numbers):
    """gamma given the number of tables of all documents; `numbers` of them have each of the `lengths`."""

    def log_density(x):
        value = np.exp(x)
        return _log_gamma_density(x, prior) + n_tables * x - numbers @ log_gamma_ratio(value, lengths)

    return slice_on_log(rng, gamma, log_density, LEARNT_GAMMA)


def draw_collection_concentration(rng, b, prior, tables, base):
    """b given the tables of every collection (n_collections, n_components) and the mixture of the corpus."""
    j, k = tables.nonzero()
    counts, base, totals = tables[j, k], base[k], tables.sum(axis=1)

    def log_density(x):
        value = np.exp(x)
        rising = log_gamma_ratio(np.maximum(value * base, SMALLEST), counts).sum()
        return _log_gamma_density(x, prior) + rising - log_gamma_ratio(value, totals).sum()

    return slice_on_log(rng, b, log_density, DRAWN_ALPHA)


def draw_topic_concentration(rng, a, prior, tables):
    """a given the tables of the corpus, (n_components,)."""
    K, counts = len(tables), tables[tables > 0]

    def log_density(x):
        value = np.exp(x)
        rising = log_gamma_ratio(value / K, counts).sum()
        return _log_gamma_density(x, prior) + rising - log_gamma_ratio(value, tables.sum())

    return slice_on_log(rng, a, log_density, DRAWN_ALPHA)


def draw_upper_tables(rng, concentration, counts):
    """Tables of `counts` customers: customer i, from 0, opens one with probability c / (c + i).

    Parameters
    ----------
    rng : numpy.random.Generator
    concentration : ndarray
        c of every cell.
    counts : ndarray of the same shape, int64

    Returns
    -------
    ndarray of the same shape, int64
    """
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    before = np.arange(len(cells)) - np.repeat(np.cumsum(counts.ravel()) - counts.ravel(), counts.ravel())
    c = concentration.ravel()[cells]
    # The first customer always opens a table.
    opens = (before == 0) | (rng.random(len(cells)) * (c + before) < c)
    return np.bincount(cells[opens], minlength=counts.size).reshape(counts.shape)


def _log_gamma_density(x, prior):
    """Log density of x = log c, with c of the Gamma distribution (shape, rate), up to a constant."""
    shape, rate = prior
    return shape * x - rate * np.exp(x)
