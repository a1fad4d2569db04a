"""The model of compound LDA: its hyperparameters, the concentrations of the HDP, and the settings of a fit."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from scipy.special import gammaln

from sklda._core.parallel import Aligned
from sklda._core.priors import LARGEST, SMALLEST, check_prior
from sklda._core.rising import log_gamma_ratio
from sklda._core.slice_sampling import slice_on_log
from sklda._sampling.annealed_start import NOT_ANNEALED, Annealing
from sklda._sampling.prior_learning import LEAST_TOKENS, SMALL_CORPUS_PRIOR
from sklda._sampling.run_chains import burn_in_of, check_burn_in

# --- The hyperparameters of compound LDA: initial values, the statistics of an M-step, a slice step for alpha ---------


# gamma, a sum over topics, as given. At 1e-6 a document has one topic only. A smaller gamma would bring gamma pi to the
# smallest value that the kernels take, 1e-12, for mixtures that are not small.
SMALLEST_GAMMA, LARGEST_GAMMA = 1e-6, LARGEST
# gamma is learnt in this range. At 1e6 a document of less than a thousand words has the mixture of its collection.
LEARNT_GAMMA = (SMALLEST_GAMMA, 1e6)
# The Gamma prior of alpha is cut off at these values. The first alpha is the prior mean, cut off at the other two.
DRAWN_ALPHA = (1e-6, 1e6)
_FIRST_ALPHA = (1e-3, 1e3)


def first_hyperparameters(
    n_components,
    collection_topic_prior,
    doc_concentration,
    topic_word_prior,
    learn_priors,
    n_tokens,
):
    """The first alpha, gamma and eta of a fit, and which of them change: fields of `CompoundModel`, a dict.

    They come from the parameters of `CompoundLDA`: what is None has its default, and is learnt if `learn_priors`.

    Raises
    ------
    ValueError, TypeError
        If a value is out of range or not a number.
    """
    # alpha and eta of other estimators are 1 / K at first, and those of a small corpus stay at another value.
    first = 1.0 / n_components
    if learn_priors and n_tokens < LEAST_TOKENS:
        learn_priors, first = False, SMALL_CORPUS_PRIOR
    gamma = first * n_components
    if doc_concentration is not None:
        gamma = check_prior(doc_concentration, "doc_concentration", {})
    if not SMALLEST_GAMMA <= gamma <= LARGEST_GAMMA:
        raise ValueError(
            f"doc_concentration = {gamma:g}: it must lie between {SMALLEST_GAMMA:g} and {LARGEST_GAMMA:g}."
        )
    alpha, alpha_prior = _first_alpha(collection_topic_prior)
    return {
        "alpha": alpha,
        "gamma": gamma,
        "eta": first if topic_word_prior is None else topic_word_prior,
        "alpha_prior": alpha_prior,
        "learn_gamma": bool(learn_priors) and doc_concentration is None,
        "learn_eta": bool(learn_priors) and topic_word_prior is None,
    }


def _first_alpha(given):
    """The first alpha, and its Gamma prior or None."""
    if not isinstance(given, tuple):
        return check_prior(given, "collection_topic_prior", {}), None
    if len(given) != 2 or not all(isinstance(a, Real) and 0 < a < np.inf for a in given):
        raise ValueError(f"collection_topic_prior = {given!r}: a Gamma prior is a pair (shape, rate), both positive.")
    return float(np.clip(given[0] / given[1], *_FIRST_ALPHA)), given


def document_prior(gamma, pi):
    """The Dirichlet parameter of a document's proportions, gamma pi, no smaller than the kernels allow."""
    return np.maximum(gamma * pi, SMALLEST)


def draw_alpha(rng, alpha, log_pi, shape, rate):
    """alpha given pi under a Gamma(shape, rate) prior, cut off at `DRAWN_ALPHA`: one slice step on log alpha."""
    J, K = log_pi.shape
    total = log_pi.sum()

    def log_density(x):
        a = np.exp(x)
        return J * (gammaln(K * a) - K * gammaln(a)) + a * total + shape * x - rate * a

    return slice_on_log(rng, alpha, log_density, DRAWN_ALPHA)


# --- The concentrations of the hierarchical Dirichlet process: their priors, and slice steps given counts of tables ---


# Gamma priors (shape, rate): those of a and gamma in section 6.1 of Teh et al. (2006); b has that of a.
PRIORS = {
    "topic_concentration": (1.0, 0.1),
    "collection_concentration": (1.0, 0.1),
    "doc_concentration": (1.0, 1.0),
}
# eta is learnt above this value. Real texts repeat words within documents more often than the model does, and with a
# smaller eta each such repetition can be a topic: chains then disagree on which topics there are.
SMALLEST_HDP_ETA = 0.05
# A concentration begins at its prior mean, within these bounds.
_FIRST = (1e-3, 1e3)


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
            if len(given) != 2 or not all(isinstance(each, Real) and 0 < each < np.inf for each in given):
                raise ValueError(f"{name} = {given!r}: a Gamma prior is a pair (shape, rate), both positive.")
            shape, rate = map(float, given)
            return cls(float(np.clip(shape / rate, *_FIRST)), (shape, rate))
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


# --- The settings of a fit of compound LDA: collections, burn-in and which hyperparameters are learnt ------


# The share of the burn-in with merges. The last M-step for eta uses draws after them.
_MERGING = 0.4


def _earlier_burn_in(model, states, max_iter):
    """Annealed sweeps and burn-in of the fit that is continued."""
    check_burn_in(model.burn_in, max_iter + min(state.n_sweeps for state in states))
    return model.annealing, model.burn_in


@dataclass(frozen=True, eq=False)
class CompoundModel(Aligned):
    """The settings and first values of compound LDA, which do not change along a chain.

    Attributes
    ----------
    collections : ndarray of shape (n_documents,), int64
        The collection of every document.
    n_collections : int
    alpha, gamma, eta : float
        The first values. eta may be an array.
    alpha_prior : tuple of (shape, rate) or None
        Gamma prior of alpha; None: alpha is fixed.
    learn_gamma, learn_eta : bool
        Whether gamma and eta are learnt by Gibbs-EM in the burn-in.
    burn_in : int
        Sweeps before the averages begin. gamma and eta are learnt only in these sweeps.
    annealing : Annealing
        The first sweeps of the tokens, which have larger priors.
    concentrations : Concentrations or None
        Those of the hierarchical Dirichlet process; None: the mixtures have the prior alpha.
    merging : int
        The first sweeps of the burn-in, in which topics of the HDP are merged.
    """

    collections: np.ndarray
    n_collections: int
    alpha: float = 1.0
    gamma: float = 1.0
    eta: float | np.ndarray = 1.0
    alpha_prior: tuple | None = None
    learn_gamma: bool = False
    learn_eta: bool = False
    burn_in: int = 0
    annealing: Annealing = NOT_ANNEALED
    concentrations: Concentrations | None = None
    merging: int = 0

    @classmethod
    def make(
        cls,
        collections,
        n_collections,
        *,
        n_components,
        collection_topic_prior,
        doc_concentration,
        topic_word_prior,
        learn_priors,
        n_tokens,
        max_iter,
        burn_in,
        earlier=None,
    ):
        """From the parameters of `CompoundLDA`, for a new fit, or for one that is continued.

        `earlier` is the `CompoundModel` and the last states of the fit that is continued; its burn-in is kept.

        Raises
        ------
        ValueError, TypeError
            If a value is out of range, or the burn-in does not fit the number of sweeps.
        """
        hyperparameters = first_hyperparameters(
            n_components, collection_topic_prior, doc_concentration, topic_word_prior, learn_priors, n_tokens
        )
        if earlier is not None:
            annealing, burn_in = _earlier_burn_in(*earlier, max_iter)
        else:
            annealing = Annealing.within(max_iter, burn_in)
            burn_in = burn_in_of(burn_in, max_iter, annealing.n_sweeps)
        return cls(collections, n_collections, **hyperparameters, burn_in=burn_in, annealing=annealing)

    @classmethod
    def of_hdp(
        cls,
        collections,
        n_collections,
        concentrations,
        *,
        n_components,
        topic_word_prior,
        learn_priors,
        n_tokens,
        max_iter,
        burn_in,
        earlier=None,
    ):
        """From the parameters of `HDPLDA`, where alpha is a / `n_components`; `earlier` is as in `make`.

        Raises
        ------
        ValueError
            If topics cannot be exchanged, or the burn-in does not fit the number of sweeps.
        """
        if np.ndim(topic_word_prior) == 2:
            raise ValueError(
                "the HDP needs topics that can be exchanged: give topic_word_prior as a float or one value per word."
            )
        if earlier is not None:
            _, burn_in = _earlier_burn_in(*earlier, max_iter)
        else:
            # A chain begins with all topics. Annealing would keep the topics alike that are not needed.
            burn_in = burn_in_of(burn_in, max_iter)
        return cls(
            collections,
            n_collections,
            alpha=concentrations.topic.first / n_components,
            gamma=concentrations.doc.first,
            # The number of topics in use is not K, so eta does not begin at 1 / K.
            eta=SMALL_CORPUS_PRIOR if topic_word_prior is None else topic_word_prior,
            learn_eta=bool(learn_priors) and topic_word_prior is None and n_tokens >= LEAST_TOKENS,
            burn_in=burn_in,
            concentrations=concentrations,
            merging=int(_MERGING * burn_in),
        )

    @cached_property
    def row_of(self):
        """`collections` as `Priors` takes it. The documents of the only collection of an HDP share alpha."""
        shared = self.concentrations and self.n_collections == 1
        return np.empty(0, np.int32) if shared else self.collections.astype(np.int32)

    @property
    def learns(self):
        """Whether gamma or eta is learnt by Gibbs-EM."""
        return self.learn_gamma or self.learn_eta

    @property
    def changes_priors(self):
        """Whether gamma or eta changes in a fit."""
        return self.learns or bool(self.concentrations and self.concentrations.doc.prior)
