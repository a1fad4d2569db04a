"""The step of compound LDA: one topic mixture pi_j for each collection, and alpha.

George, Xia & Michailidis (2019), section 3.1. A sweep draws z given pi, with the prior gamma pi_j for the documents of
collection j. Then the step draws pi given z, by augmented Gibbs sampling, and alpha given pi.
"""

from dataclasses import dataclass, replace

import numpy as np

from sklda._core import random
from sklda._kernels import _compound
from sklda._models.compound.hyperparameters import document_prior, draw_alpha
from sklda._sampling.steps import Step
from sklda._sampling.tables import draw_document_tables

# --- Counts of topics by collection, in the form that the distribution of z given the mixtures depends on -------------


@dataclass(frozen=True, eq=False)
class TailCounts:
    """For each collection and topic: the number of documents with more than i tokens of the topic, i = 0, 1, ...

    p(z | pi, gamma) depends on z through these counts only. For collection j and topic k, with a = gamma pi_jk, the sum
    over documents of log Gamma(a + n_dk) - log Gamma(a) is the sum over i of ``documents * log(a + i)``.

    Attributes
    ----------
    cells : ndarray of shape (n_entries,), int64
        j * n_components + k, ascending.
    steps : ndarray of shape (n_entries,), int64
        i.
    documents : ndarray of shape (n_entries,), int64
    shape : tuple
        (n_collections, n_components).
    """

    cells: np.ndarray
    steps: np.ndarray
    documents: np.ndarray
    shape: tuple

    @classmethod
    def count(cls, corpus, topics, collections, shape, scratch_counts):
        largest = np.zeros(shape, np.int64)
        _compound.largest_counts(corpus.offsets, topics, collections, largest, scratch_counts)
        starts = (np.cumsum(largest.ravel()) - largest.ravel()).reshape(shape)
        documents = np.zeros(largest.sum(), np.int64)
        _compound.tail_counts(corpus.offsets, topics, collections, starts, documents, scratch_counts)
        cells = np.repeat(np.arange(largest.size), largest.ravel())
        return cls(cells, np.arange(len(cells)) - starts.ravel()[cells], documents, shape)

    def sums(self, terms):
        """Sums of ``documents * terms`` over the entries of every cell; float64 of `shape`."""
        return np.bincount(self.cells, self.documents * terms, minlength=np.prod(self.shape)).reshape(self.shape)


# --- Augmented Gibbs sampling of the mixtures given z (George, Xia & Michailidis 2019, section 3.1.1) -----------------


# --- The step of compound LDA: one topic mixture pi_j for each collection, and alpha ----------------------------------


class Mixtures(Step):
    """Draws the mixtures of the collections, so that a chain has the target p(z, pi | w, alpha, gamma, eta).

    alpha of a document is max(gamma pi, 1e-12), so that it stays in the range of the kernels. The target is the
    posterior of the model with this bound: the auxiliary counts use the bounded value too. A
    topic without tokens does not depend on it, and one with a token has so small a share with a probability of order
    1e-12^(1 + alpha) / alpha.

    Parameters
    ----------
    model : CompoundModel
    seed : numpy.random.SeedSequence
        Its child s seeds what is drawn after sweep s.
    n_components : int
    alpha, gamma : float
        The first values.

    Attributes
    ----------
    log_pi : ndarray of shape (n_collections, n_components)
        The same mixture for every collection at first.
    n_averaged : int
        Sweeps after the burn-in.
    moments : ndarray of shape (2, n_collections, n_components)
        Sums of pi and of its square over these sweeps.
    alphas : list of float
        alpha after every sweep, if it is drawn.
    prior_trace : list of (float, float)
        (gamma, mean of eta) in every sweep, if one of them is learnt.
    """

    def __init__(self, model, seed, n_components, alpha, gamma):
        J, K = model.n_collections, n_components
        self.model, self.seed = model, seed
        self.log_pi = np.full((J, K), -np.log(K))
        self.alpha, self.gamma = alpha, gamma
        self.n_averaged, self.moments = 0, np.zeros((2, J, K))
        self.alphas, self.prior_trace = [], []

    def begin(self, chain):
        self.set_alpha(chain)

    def after(self, chain, stop):
        """Draw the mixtures and, if it is drawn, alpha."""
        model, rng = self.model, np.random.default_rng(random.child(self.seed, chain.n_sweeps))
        for move in chain.moves:
            self.log_pi = move.of_logs(self.log_pi)
        self.move(chain, rng)
        if model.alpha_prior is not None:
            self.alpha = draw_alpha(rng, self.alpha, self.log_pi, *model.alpha_prior)
            self.alphas.append(self.alpha)
        if self.traces_priors:
            self.prior_trace.append((self.gamma, float(chain.priors.topic_word().mean())))
        self.set_alpha(chain)
        if chain.n_sweeps > chain.n_burn_in:
            self.n_averaged += 1
            self.moments = self.moments + np.array([self.pi, self.pi**2])

    def draw(self):
        return {"mixtures": self.pi, "gamma": self.gamma}

    def parameters(self):
        return {"mixtures": self.pi}

    def alpha_of(self, added):
        return document_prior(added["gamma"], added["mixtures"]), self.row_of

    @property
    def row_of(self):
        """The row of alpha of each document, as `Priors` takes it."""
        return self.model.collections.astype(np.int32)

    @property
    def traces_priors(self):
        """Whether gamma or eta changes."""
        return self.model.changes_priors

    @property
    def pi(self):
        return np.exp(self.log_pi)

    def kept_mixtures(self, chain):
        """The draws of the mixtures that a chain has kept, as results show them."""
        draws = np.reshape([draw.values["mixtures"] for draw in chain.parameters], (-1, *self.log_pi.shape))
        return self.shown_topics(draws)

    def mean_and_std(self, kept):
        """Those of pi over the sweeps after the burn-in, of the present draw before; `kept` are `kept_mixtures`."""
        if not self.n_averaged:
            return self.pi, np.zeros_like(self.log_pi)
        n = self.n_averaged
        mean, square = self.moments / n
        variance = np.maximum(square - mean**2, 0) * n / max(n - 1, 1)
        return mean / mean.sum(axis=1, keepdims=True), np.sqrt(variance)

    def alpha_mean(self):
        """Mean of alpha after the burn-in, if it is drawn; otherwise alpha."""
        return float(np.mean(self.alphas[-max(self.n_averaged, 1) :])) if self.alphas else self.alpha

    def move(self, chain, rng):
        """Draw the mixtures given z."""
        self.log_pi = random.log_dirichlet(rng, self.alpha + self.draw_tables(chain))

    def draw_tables(self, chain):
        """Auxiliary counts of the present draw, int64 (n_collections, n_components)."""
        prior = document_prior(self.gamma, self.pi)
        return draw_document_tables(chain.corpus, chain.topics, self.model.collections, prior, chain.stream)

    def tails(self, chain):
        """`TailCounts` of the present draw."""
        scratch = np.empty(self.log_pi.shape[1], np.int32)
        return TailCounts.count(chain.corpus, chain.topics, self.model.collections, self.log_pi.shape, scratch)

    def set_alpha(self, chain):
        """Give the documents of a chain their alpha."""
        doc = document_prior(self.gamma, self.pi)
        chain.priors = replace(chain.priors, doc=doc, row_of=self.row_of)
