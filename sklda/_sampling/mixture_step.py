"""The step of models whose documents have the prior gamma pi_j, with a mixture pi_j of the topics for a collection."""

from dataclasses import replace

import numpy as np

from sklda._core.priors import LARGEST, SMALLEST
from sklda._sampling.chain import compact_topics
from sklda._sampling.steps import Step
from sklda._sampling.tables import draw_document_tables

# gamma, a sum over topics, as given. At 1e-6 a document has one topic only. A smaller gamma would bring gamma pi to the
# smallest value that the kernels take, 1e-12, for mixtures that are not small.
SMALLEST_GAMMA, LARGEST_GAMMA = 1e-6, LARGEST
# gamma is learnt in this range. At 1e6 a document of less than a thousand words has the mixture of its collection.
LEARNT_GAMMA = (SMALLEST_GAMMA, 1e6)


def document_prior(gamma, pi):
    """The Dirichlet parameter of a document's proportions, gamma pi, no smaller than the kernels allow."""
    return np.maximum(gamma * pi, SMALLEST)


def draws_of_topics(draws, topics, place=None):
    """`KeptDraws` with some topics, and their priors.

    Parameters
    ----------
    draws : KeptDraws
    topics : callable
        See `Shown.topics`.
    place : ndarray of shape (n_components,), default=None
        The new number of each topic. None: they keep their numbers.
    """
    mixtures, gamma = topics(draws.added("mixtures")), draws.draws[-1].added["gamma"]
    K = mixtures.shape[-1]
    shown = [
        draw._replace(
            topics=compact_topics(draw.topics if place is None else place[draw.topics], K),
            added=draw.added | {"mixtures": pi},
        )
        for draw, pi in zip(draws.draws, mixtures, strict=True)
    ]
    priors = replace(draws.priors.resized(K), doc=document_prior(gamma, mixtures[-1]))
    return replace(draws, priors=priors, draws=shown)


class MixtureStep(Step):
    """Base class of the steps that draw a mixture of the topics for each collection.

    alpha of a document is max(gamma pi, 1e-12), so that it stays in the range of the kernels. The target is the
    posterior of the model with this bound: the auxiliary counts use the bounded value too. A topic without tokens does
    not depend on it, and one with a token has so small a share with a probability of order 1e-12^(1 + alpha) / alpha.

    Parameters
    ----------
    collections : ndarray of shape (n_documents,), int64
        The collection of every document.
    n_collections : int
    seed : numpy.random.SeedSequence
        Its child s seeds what is drawn after sweep s.
    n_components : int
    gamma : float
        The first value.

    Attributes
    ----------
    log_pi : ndarray of shape (n_collections, n_components)
        The same mixture for every collection at first.
    traces_priors : bool
        Whether gamma or eta changes, and is recorded.
    prior_trace : list of (float, float)
        (gamma, mean of eta) in every sweep.
    """

    traces_priors = False

    def __init__(self, collections, n_collections, seed, n_components, gamma):
        self.collections, self.seed, self.gamma = collections, seed, gamma
        self.log_pi, self.prior_trace = np.full((n_collections, n_components), -np.log(n_components)), []

    def begin(self, chain):
        self.set_alpha(chain)

    def draw(self):
        return {"mixtures": self.pi, "gamma": self.gamma}

    def parameters(self):
        return {"mixtures": self.pi}

    def alpha_of(self, added):
        return document_prior(added["gamma"], added["mixtures"]), self.row_of

    @property
    def row_of(self):
        """The row of alpha of each document, as `Priors` takes it."""
        return self.collections.astype(np.int32)

    @property
    def pi(self):
        return np.exp(self.log_pi)

    def draw_tables(self, chain):
        """Auxiliary counts of the present draw, int64 (n_collections, n_components)."""
        prior = document_prior(self.gamma, self.pi)
        return draw_document_tables(chain.corpus, chain.topics, self.collections, prior, chain.stream)

    def trace_priors(self, chain):
        """Record gamma and eta of the present sweep, if one of them changes."""
        if self.traces_priors:
            self.prior_trace.append((self.gamma, float(chain.priors.topic_word().mean())))

    def set_alpha(self, chain):
        """Give the documents of a chain their alpha."""
        doc = document_prior(self.gamma, self.pi)
        chain.priors = replace(chain.priors, doc=doc, row_of=self.row_of)
