"""The results of chains of labelled LDA: sums over draws, means over draws and chains, draws of theta and phi."""

from dataclasses import dataclass, replace

import numpy as np

from sklda._core import random
from sklda._core.diagnostics import std_of_proportions
from sklda._core.parallel import NEVER_STOP
from sklda._models.labels.label_chain import LabelChain
from sklda._models.labels.label_topics import LabelTopics
from sklda._models.results import FitResults
from sklda._sampling.draws import empty_draws
from sklda._sampling.matching import match_distributions
from sklda._sampling.steps import Step

# --- Fits of labelled LDA: sums over draws, means over draws and chains, and draws of theta and phi -------------------


# Sweeps between two draws of theta and phi.
_SWEEPS_BETWEEN = 5


class LabelSums(Step):
    """Adds up the draws of a chain.

    Parameters
    ----------
    first, every : int
        The draws are those after the sweeps ``first + every``, ``first + 2 * every``, ...
    method : {"cgs_p", "cgs"}
        Whether expected counts or the counts of a draw are added.

    Attributes
    ----------
    n_draws : int
    doc, pair : ndarray of shape (n_open,) and (n_pairs,)
        Sums of n_dk and m_kv, or of their expectations.
    theta : ndarray of shape (2, n_open)
        Sums of the mean of theta given the topics, and of its square, for all open topics.
    shares : list of ndarray of shape (n_topics,)
        Share of the tokens with topics in each topic, in every draw.
    """

    def __init__(self, first, every, method):
        self.first, self.every, self.method, self.n_draws = first, every, method, 0
        self.doc = self.pair = self.theta = 0.0
        self.shares = []

    def after(self, chain, stop):
        after = chain.n_sweeps - self.first
        if after > 0 and after % self.every == 0:
            self.add(chain, stop)

    def add(self, chain, stop=NEVER_STOP):
        """Add the present draw."""
        counts, opened = chain.doc_counts(), chain.priors.opened
        theta, _ = chain.priors.proportions(counts)
        doc, pair = np.zeros(len(opened.topics)) + self.doc, np.zeros(len(opened.pairs)) + self.pair
        if self.method == "cgs":
            doc += counts
            pair += chain.pair_counts
        else:
            chain.add_expected_counts(doc, pair, stop)
        self.doc, self.pair, self.theta = doc, pair, np.add(self.theta, (theta, theta**2))
        self.n_draws += 1
        self.shares.append(chain.shares())


@dataclass(frozen=True, eq=False)
class LabelMeans:
    """Means over draws and chains.

    Topics are anchored to labels, so that chains can be averaged too. Nothing anchors shared topics; if there are
    several, those of each chain are matched to those of the first chain before the average.

    Attributes
    ----------
    doc_counts : ndarray of shape (n_open,)
        n_dk of the documents' open topics.
    pair_counts : ndarray of shape (n_pairs,)
        m_kv.
    theta_moments : ndarray of shape (2, n_open)
        The mean of theta given the topics of all tokens, and its square.
    shares : ndarray of shape (n_draws, n_topics)
        Share of the tokens with topics in each topic, in the draws of all chains.
    """

    doc_counts: np.ndarray
    pair_counts: np.ndarray
    theta_moments: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, chains, n_labels):
        """Means over the draws of chains, a list of LabelChain; of the present state of a chain without draws."""
        opened = chains[0].priors.opened
        n_shared = opened.n_topics - n_labels
        n_draws, totals, shares = 0, [0, 0, 0], []
        reference = None
        for chain in chains:
            sums = chain.step(LabelSums)
            if sums.n_draws == 0:
                # A callback ended the chain early, or sees it before its first draw: the present state, in a copy.
                sums = sums.state()
                sums.add(chain)
            own, own_shares = [sums.doc, sums.pair, sums.theta], np.array(sums.shares)
            if n_shared > 1:
                topics = _shared_topics(chain.priors, sums, n_labels)
                reference = topics if reference is None else reference
                order = match_distributions(reference, topics)[0]
                own = [
                    _reordered(values, of, n_labels, order)
                    for values, of in zip(own, (opened.topics, opened.pairs, opened.topics), strict=True)
                ]
                own_shares[:, n_labels:] = own_shares[:, n_labels:][:, order]
            n_draws += sums.n_draws
            totals = [a + b for a, b in zip(totals, own, strict=True)]
            shares.append(own_shares)
        return cls(*(values / n_draws for values in totals), np.concatenate(shares))

    def theta(self, priors):
        """Means of theta over the open topics of every document, csr_array of shape (n_documents, n_topics)."""
        return priors.opened.document_matrix(priors.proportions(self.doc_counts)[0])

    def theta_std(self, priors):
        """Posterior standard deviations of theta over the open topics, csr_array of shape (n_documents, n_topics).

        The root of the variance between draws of E(theta | z) plus the mean of Var(theta | z).
        """
        mean, square = self.theta_moments
        totals = priors.proportions(self.doc_counts)[1]
        n = len(self.shares)
        between, within = (square - mean**2) * n / max(n - 1, 1), (mean - square) / (totals + 1)
        return priors.opened.document_matrix(std_of_proportions(np.maximum(between, 0) + np.maximum(within, 0)))


def _shared_topics(priors, sums, n_labels):
    counts = priors.opened.pair_matrix(sums.pair / sums.n_draws)
    eta = priors.word[None, :] if len(priors.word) else 0.0
    # A word without pairs has only its eta; the same small number everywhere does not change the order.
    topics = counts[:, n_labels:].toarray().T + eta + np.finfo(float).tiny
    return topics / topics.sum(axis=1, keepdims=True)


def _reordered(values, topics, n_labels, order):
    """Values of shared topics in another order. Every word and document has all shared topics, in ascending order."""
    values, shared = values.copy(), topics >= n_labels
    own = values[..., shared]
    values[..., shared] = own.reshape(*own.shape[:-1], -1, len(order))[..., order].reshape(own.shape)
    return values


# --- The results of chains of labelled LDA: means over draws and chains -----------------------------------------------


class LabelResults(FitResults):
    """What a fit of labelled LDA keeps beside its attributes.

    Parameters
    ----------
    chain : LabelChain
        The chain that is kept.
    best : int
        Its index.
    doc_label_std : csr_array of shape (n_documents, n_topics)
        Posterior standard deviations of theta over the open topics.
    """

    def __init__(self, chain, best, doc_label_std):
        self.corpus, self.priors, self.best, self.doc_label_std = chain.corpus, chain.priors, best, doc_label_std
        self.state = replace(chain.state(), trace=(), label_free=(), steps=())

    def sample(self, eta, n_draws, seed):
        """Draws of theta, zero for topics that are not open, and of phi from their Dirichlet distributions."""
        chain = LabelChain(self.corpus, self.priors, self.state)
        opened, D = chain.priors.opened, chain.corpus.n_documents
        theta, phi = empty_draws(n_draws, (D, opened.n_topics), (opened.n_topics, chain.corpus.n_features))
        theta[:] = 0
        chain.restart_stream(random.child(seed, 0))
        rng = np.random.default_rng(random.child(seed, 1))
        documents = np.repeat(np.arange(D), opened.numbers)
        for i in range(n_draws):
            for _ in range(_SWEEPS_BETWEEN):
                chain.sweep()
            counts = LabelTopics(opened.pair_matrix(chain.pair_counts), eta).components()
            phi[i] = np.exp(random.log_dirichlet(rng, counts))
            logs = random.log_gamma(rng, chain.doc_counts() + chain.priors.doc[opened.topics])
            # From the largest down, so that small variates cannot underflow together.
            largest = np.full(D, -np.inf)
            np.maximum.at(largest, documents, logs)
            values = np.exp(logs - largest[documents])
            theta[i, documents, opened.topics] = values / np.bincount(documents, values, minlength=D)[documents]
        return theta, phi
