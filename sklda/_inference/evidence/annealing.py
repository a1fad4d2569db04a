"""Annealed importance sampling of log p(w | K, alpha, eta) over a whole corpus (Neal 2001)."""

from dataclasses import dataclass, replace

import numpy as np

from sklda._inference import random
from sklda._inference.evidence.topic_labels import log_mean_over_labels
from sklda._inference.parallel import NEVER_STOP, Aligned
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._kernels import _independent

# The guide: the mean counts of so many sweeps.
GUIDE_SWEEPS = 20
# Guided path: the strength c, a factor of the guide's counts, falls from the first value to one over the tokens of the
# median topic, but not outside these bounds. Measured on simulated corpora of 2,400 to 600,000 tokens: with these ends
# the bias of the logarithm is 2 to 4.5 nats x K (D + V) / n_temperatures.
_FIRST_STRENGTH, _LAST_STRENGTH = 10.0, (1e-3, 0.1)
# Path from the prior: the first multiple of eta, in units of the tokens over the smallest eta, and its smallest value.
# At ten times the tokens, counts hardly change the probabilities.
_FIRST_SCALE, _LEAST_FIRST_SCALE = 10.0, 10.0


@dataclass(frozen=True, eq=False)
class Guide(Aligned):
    """Expected counts near a mode of the posterior. The guided path adds multiples of them to the priors.

    Attributes
    ----------
    doc : ndarray of shape (n_documents, n_components)
        Expected n_dk plus alpha.
    word : ndarray of shape (n_features, n_components)
        Expected m_kv plus eta.
    priors : Priors
        alpha and eta.
    """

    doc: np.ndarray
    word: np.ndarray
    priors: Priors

    @classmethod
    def from_chain(cls, chain, n_sweeps=GUIDE_SWEEPS, stop=NEVER_STOP):
        """Mean counts over the next `n_sweeps` sweeps of a chain."""
        priors = chain.priors
        doc = np.zeros((chain.corpus.n_documents, priors.n_components))
        word = np.zeros((chain.corpus.n_features, priors.n_components))
        for _ in range(n_sweeps):
            chain.sweep(stop)
            chain.add_doc_topic_counts(doc)
            word += chain.word_topic_counts[:, : priors.n_components]
        return cls(doc / n_sweeps + priors.doc, word / n_sweeps + priors.topic_word().T, priors)

    def priors_at(self, strength):
        """Priors alpha + strength * doc and eta + strength * word."""
        K, width = self.priors.n_components, self.priors.topic.shape[1]
        topic = np.zeros((len(self.word), width), np.float32)
        topic[:, :K] = self.priors.topic_word().T + strength * self.word
        return Priors(
            np.ascontiguousarray(self.priors.doc + strength * self.doc),
            np.empty(0),
            topic,
            topic[:, :K].sum(axis=0, dtype=np.float64),
        )

    def strengths(self, n_temperatures):
        """Strengths along the path, descending, without its ends, infinity and zero; (n_temperatures,)."""
        last = np.clip(1 / np.median(self.word.sum(axis=0)), *_LAST_STRENGTH)
        return np.geomspace(_FIRST_STRENGTH, last, n_temperatures)


@dataclass(frozen=True, eq=False)
class AnnealedRun:
    """The result of one run of annealed importance sampling.

    Attributes
    ----------
    log_weight : float
        Its exponential is an unbiased estimate of p(w).
    state : ChainState
        The state at the end of the run; with the weight, a draw from the posterior of z.
    label_error : float
        Error of the sum over topic labels, in nats: 0 if the sum is exact.
    """

    log_weight: float
    state: ChainState
    label_error: float = 0.0


def guided_ais(corpus, guide, n_temperatures, seed, stop=NEVER_STOP):
    """Anneal along theta_d ~ Dir(alpha + c a_d), phi_k ~ Dir(eta + c b_k), with c from infinity to 0.

    a and b are the counts of the guide. At c = infinity the tokens are independent. Each of the `n_temperatures`
    strengths c gets one sweep. The guide favours one labelling of the topics, but the posterior has all K! of them: the
    last step sets the weight against the mean over all permutations of the guide's topics. Otherwise a run would
    estimate the share of one labelling, p(w) / K!.

    Parameters
    ----------
    corpus : Corpus
    guide : Guide
    n_temperatures : int
    seed : numpy.random.SeedSequence
    stop : Stop, optional
        Ends the run when its flag is up.

    Returns
    -------
    AnnealedRun
    """
    stream, strengths = random.stream(random.child(seed, 1)), guide.strengths(n_temperatures)
    theta, phi = guide.doc / guide.doc.sum(axis=1, keepdims=True), guide.word / guide.word.sum(axis=0)
    topics, log_probability = _draw_independent(corpus, theta, phi, stream)
    chain = GibbsChain(corpus, guide.priors_at(strengths[0]), ChainState(topics, stream))
    path = (guide.priors_at(strength) for strength in strengths[1:])
    log_weight = _anneal(chain, path, chain.log_joint() - log_probability, stop)
    log_mean, label_error = log_mean_over_labels(chain, guide.priors, np.random.default_rng(random.child(seed, 0)))
    log_weight += _change_priors(chain, guide.priors) - log_mean
    # A last sweep under the target itself, on which no weight depends.
    chain.sweep(stop)
    return AnnealedRun(log_weight, chain.state().compact(chain.priors.n_components), label_error)


def prior_ais(corpus, priors, n_temperatures, seed, stop=NEVER_STOP):
    """Anneal from the prior of z: eta falls to its own value from one so large that words hardly affect the topics.

    If each topic has an eta of its own, the path begins near their mean, see `_diluted`. The method is good
    for a few thousand tokens. With more, the path crosses a point at which all topics form at once.

    Parameters
    ----------
    corpus, n_temperatures, seed, stop
        See `guided_ais`.
    priors : Priors

    Returns
    -------
    AnnealedRun
    """
    rng, stream = np.random.default_rng(random.child(seed, 0)), random.stream(random.child(seed, 1))
    alpha = np.broadcast_to(priors.doc, (corpus.n_documents, priors.n_components))
    theta = np.exp(random.log_dirichlet(rng, alpha))
    topics, _ = _draw_independent(corpus, theta, np.ones((corpus.n_features, priors.n_components)), stream)
    first = max(_FIRST_SCALE * corpus.n_tokens / min(1.0, priors.topic_word().min()), _LEAST_FIRST_SCALE)
    scales = np.geomspace(first, 1, n_temperatures + 1)
    chain = GibbsChain(corpus, _diluted(priors, scales[0]), ChainState(topics, stream))
    path = (_diluted(priors, scale) for scale in scales[1:])
    log_weight = _anneal(chain, path, chain.log_words(), stop)
    return AnnealedRun(log_weight, chain.state().compact(priors.n_components))


def _draw_independent(corpus, theta, phi, stream):
    """Topics of all tokens, drawn independently in proportion to theta_dk phi_vk; and their log probability."""
    topics, K = np.empty(corpus.n_tokens, np.int32), theta.shape[1]
    log_probability = _independent.draw(corpus.words, corpus.offsets, theta, phi, topics, stream, np.empty(K))
    return topics, log_probability


def _anneal(chain, path, log_weight, stop):
    """Sweep a chain before each change of its priors along a path and after the last; return the log weight."""
    for priors in path:
        chain.sweep(stop)
        log_weight += _change_priors(chain, priors)
    chain.sweep(stop)
    return log_weight


def _change_priors(chain, priors):
    """Give the chain other priors; return the change of its log joint."""
    before = chain.log_joint()
    chain.priors = priors
    return chain.log_joint() - before


def _diluted(priors, scale):
    """A common eta times `scale`; an eta per topic plus scale - 1 times its mean over topics.

    If an eta per topic were only multiplied, topics would keep their differences at every scale, and the first step of
    the path would be plain importance sampling.
    """
    if not len(priors.topic):
        return priors.scaled(1, scale)
    topic, K = priors.topic.copy(), priors.n_components
    topic[:, :K] += (scale - 1) * topic[:, :K].mean(axis=1, keepdims=True, dtype=np.float64)
    return replace(priors, topic=topic, totals=topic[:, :K].sum(axis=0, dtype=np.float64))
