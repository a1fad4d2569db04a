"""Labelled LDA on corpora of a few tokens: every assignment of topics that the labels allow, and chains."""

import numpy as np
import scipy.sparse as sp
from enumeration import Enumeration

from sklda._models.labels.label_chain import LabelChain
from sklda._models.labels.open_topics import LabelPriors, OpenTopics
from sklda._models.labels.results import LabelSums
from sklda._sampling.chain import ChainState

# Documents with one label, with two and with all three.
DOCS, LABELS, V = [[0, 0], [2, 1, 2], [2, 3]], [[0], [0, 2], [0, 1, 2]], 4
PRIORS = {
    "symmetric": (0.4, 0.3),
    "alpha per topic": (lambda K: np.linspace(0.2, 0.9, K), 0.3),
    "eta per word": (0.4, np.array([0.1, 0.5, 0.9, 0.2])),
    "eta per topic and word": (0.4, lambda K: np.random.default_rng(0).gamma(1, size=(K, V)) + 0.05),
}


def priors_for(name, n_topics):
    return tuple(each(n_topics) if callable(each) else each for each in PRIORS[name])


def indicator(labels, n_labels):
    """Lists of labels as csr_array."""
    indptr = np.cumsum([0, *map(len, labels)])
    indices = np.array([k for row in labels for k in row], np.int32)
    return sp.csr_array((np.ones(len(indices), bool), indices, indptr), shape=(len(labels), n_labels))


class LabelEnumeration(Enumeration):
    """All states in which every token has an open topic of its document."""

    def __init__(self, docs, labels, n_labels, n_shared, n_features, alpha, eta):
        super().__init__(docs, n_features, n_labels + n_shared, alpha, eta)
        self.labels, self.n_shared = indicator(labels, n_labels), n_shared
        self.opened = OpenTopics.make(self.corpus, self.labels, n_shared)
        is_open = self.opened.document_matrix(np.ones(len(self.opened.topics))).toarray() > 0
        self.allowed = is_open[self.corpus.token_documents[None, :], self.states].all(axis=1)
        self.posterior = np.where(self.allowed, self.posterior, 0)
        self.posterior /= self.posterior.sum()

    def choices(self, topics):
        """The positions of topics among the open topics of their documents."""
        d = self.corpus.token_documents
        return [
            int(np.flatnonzero(self.opened.topics[self.opened.offsets[j] : self.opened.offsets[j + 1]] == t)[0])
            for j, t in zip(d, topics, strict=True)
        ]

    def transition(self, start):
        """Distribution of the state after one sweep from `start`, token by token."""
        joint = self.posterior.reshape((self.K,) * self.corpus.n_tokens)
        p = np.zeros(joint.shape)
        p[tuple(start)] = 1
        for i in range(joint.ndim):
            sums = joint.sum(axis=i, keepdims=True)
            p = p.sum(axis=i, keepdims=True) * np.divide(joint, sums, out=np.zeros_like(joint), where=sums > 0)
        return p.ravel()

    def chain(self, alpha, eta, topics, seed=0, method="cgs_p"):
        stream = np.random.SeedSequence(seed).generate_state(4, np.uint64)
        priors = LabelPriors.make(alpha, eta, self.opened)
        sums = LabelSums(10**9, 1, method)
        return LabelChain(self.corpus, priors, ChainState(self.choices(topics), stream, steps=(sums,)))


def make_case(name="symmetric", n_shared=0):
    """The enumeration of DOCS and LABELS, and alpha and eta."""
    alpha, eta = priors_for(name, 3 + n_shared)
    return LabelEnumeration(DOCS, LABELS, 3, n_shared, V, alpha, eta), alpha, eta
