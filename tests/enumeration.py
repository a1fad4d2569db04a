"""Exact values by summing over every assignment of topics, for corpora of a few tokens."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2, poisson

from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain


def make_corpus(docs, n_features):
    """Corpus of documents given as lists of word ids."""
    words = np.array([w for doc in docs for w in sorted(doc)], np.int32)
    return Corpus(words, np.cumsum([0] + [len(doc) for doc in docs]).astype(np.int64), n_features)


class Copies(Corpus):
    """Documents with random streams of their own. Otherwise equal documents have equal draws given phi."""

    def document_keys(self, seed, copies=None):
        return np.random.default_rng(seed).integers(2**64, size=self.n_documents, dtype=np.uint64)


def make_copies(doc, n_copies, n_features):
    """A corpus of copies of a document. One call has as many independent results."""
    corpus = make_corpus([doc] * n_copies, n_features)
    return Copies(corpus.words, corpus.offsets, n_features)


def make_chain(corpus, priors, topics, seed=0, kind=GibbsChain):
    stream = np.random.SeedSequence(seed).generate_state(4, np.uint64)
    return kind(corpus, priors, ChainState(np.asarray(topics, np.int32), stream))


def restart(chain, topics):
    """Put a chain that has arrays of counts into another state z; its stream goes on."""
    chain.topics[:] = topics
    chain.recount()


# Corpora (documents, V) and, by alpha and eta, log p(w | K) for K = 1..4, exact by rational arithmetic.
_EXACT = {
    "mixed": ([[0, 0, 1], [1, 2, 2], [0, 2, 1, 1]], 3, {
        (0.1, 0.5): [-13.274193767439996, -12.853268854091748, -12.641628341295444, -12.481112195553871],
        (0.5, 0.25): [-14.194198058055633, -13.226838523881524, -12.753836741882168, -12.442879953131216],
        (1.0, 1.0): [-12.532494546297885, -11.976905499307536, -11.725223194025105, -11.576659287167727],
    }),
    "three words": ([[0, 0, 0], [1, 1, 1], [2, 2, 3]], 4, {
        (0.1, 0.5): [-14.828024507242493, -11.9530501488988, -10.943639342627158, -10.682839639661754],
        (0.5, 0.25): [-16.055713838185746, -12.885560601645276, -11.755225991458799, -11.519844285106995],
        (1.0, 1.0): [-13.918788907417776, -12.664081496487281, -12.392631763596656, -12.321611186193978],
    }),
    "two words": ([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], 2, {
        (0.1, 0.5): [-8.333514523687484, -3.84311627296609, -3.714007201788188, -3.739494258328253],
        (0.5, 0.25): [-8.821553505101825, -4.266057947647355, -4.4145479856367915, -4.627419171334521],
        (1.0, 1.0): [-7.927324360309794, -5.965275305560424, -6.053732402801524, -6.169624550102862],
    }),
}  # fmt: skip
EXACT = {
    f"{name}, {alpha:g}, {eta:g}": (docs, n_features, alpha, eta, log_p)
    for name, (docs, n_features, values) in _EXACT.items()
    for (alpha, eta), log_p in values.items()
}

# The suite takes each corpus once, and each pair of priors once; the other cases are exhaustive.
_SHORT = ("mixed, 0.1, 0.5", "three words, 1, 1", "two words, 0.5, 0.25")
CASES = [pytest.param(case, marks=() if case in _SHORT else pytest.mark.exhaustive) for case in EXACT]


class Enumeration:
    """All K ** N states of z, and log p(w, z | alpha, eta) of each by the closed form."""

    def __init__(self, docs, n_features, n_components, alpha, eta):
        self.K = K = n_components
        self.corpus = make_corpus(docs, n_features)
        D, V, N = len(docs), n_features, self.corpus.n_tokens
        self.priors = Priors.make(alpha, eta, K, V, D)
        self.alpha = np.broadcast_to(alpha, (D, K)).astype(float)
        self.eta = np.broadcast_to(eta, (K, V)).astype(float)
        self.states = np.array(list(itertools.product(range(K), repeat=N)))
        one_hot = self.states[:, :, None] == np.arange(K)
        doc_of = np.repeat(np.arange(D), self.corpus.lengths)
        self.n_dk = np.stack([one_hot[:, doc_of == d].sum(axis=1) for d in range(D)], axis=1)
        self.m_kv = np.stack([one_hot[:, self.corpus.words == v].sum(axis=1) for v in range(V)], axis=2)
        self.log_joint = rising(self.alpha, self.n_dk) + rising(self.eta, self.m_kv)
        self.posterior = np.exp(self.log_joint - logsumexp(self.log_joint))

    def index(self, topics):
        """Where a state stands in `states`."""
        return int(np.ravel_multi_index(tuple(topics), (self.K,) * len(topics)))

    def frequencies(self, draws):
        """How often each of `states` is among the draws (n_draws, n_tokens)."""
        places = np.ravel_multi_index(np.transpose(draws), (self.K,) * self.corpus.n_tokens)
        return np.bincount(places, minlength=len(self.states))

    def transition(self, start, order=None):
        """Distribution of the state after one sweep from `start`: token by token, in the order given."""
        shape = (self.K,) * self.corpus.n_tokens
        joint = self.posterior.reshape(shape)
        p = np.zeros(shape)
        p[tuple(start)] = 1
        for i in range(self.corpus.n_tokens) if order is None else order:
            p = p.sum(axis=i, keepdims=True) * joint / joint.sum(axis=i, keepdims=True)
        return p.ravel()


def rising(prior, counts):
    """Sum over rows of log of the Dirichlet-multinomial of ordered draws."""
    terms = (gammaln(prior + counts) - gammaln(prior)).sum(axis=(-2, -1))
    totals = prior.sum(axis=-1)
    return terms + (gammaln(totals) - gammaln(totals + counts.sum(axis=-1))).sum(axis=-1)


def chi_square_p(observed, probabilities):
    """p-value of independent draws, cells that expect fewer than 5 pooled."""
    expected = probabilities * observed.sum()
    small = expected < 5
    seen, expected = (
        np.append(observed[~small], observed[small].sum()),
        np.append(expected[~small], expected[small].sum()),
    )
    if expected[-1] == 0:
        if seen[-1]:
            return 0.0
        seen, expected = seen[:-1], expected[:-1]
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1)


def poisson_p(seen, mean):
    """One-sided p-value of a count, on the side where it lies."""
    return min(poisson.cdf(seen, mean), poisson.sf(seen - 1, mean))


DOCS, V, K = [[0, 0, 1], [2, 1], [2, 3]], 4, 2
PRIORS = {
    "symmetric": (0.4, 0.3),
    "alpha per topic": (np.array([0.2, 0.9]), 0.3),
    "eta per word": (0.4, np.array([0.1, 0.5, 0.9, 0.2])),
    "eta per topic and word": (0.4, np.array([[0.1, 0.5, 0.9, 0.2], [0.7, 0.2, 0.3, 1.1]])),
    "alpha per document": (np.array([[0.2, 0.9], [1.5, 0.3], [0.4, 0.4]]), 0.3),
}
