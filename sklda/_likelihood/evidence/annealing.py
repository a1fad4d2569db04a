"""Annealed importance sampling of log p(w | K, alpha, eta) over a whole corpus (Neal 2001)."""

from dataclasses import dataclass

import numpy as np

from sklda._core import random
from sklda._core.parallel import NEVER_STOP, Aligned
from sklda._core.priors import Priors
from sklda._input.memory import check_memory_of_runs
from sklda._kernels import _independent
from sklda._likelihood.evidence.topic_labels import draw_labels, label_changes, log_mean_over_labels
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_path import PriorPath

# Guided path: the strength c, a factor of the guide's counts, falls from the first value to one over the tokens of the
# median topic, but not outside these bounds. Measured on simulated corpora of 2,400 to 600,000 tokens: with these ends
# the bias of the logarithm is 2 to 4.5 nats x K (D + V) / n_temperatures.
_FIRST_STRENGTH, _LAST_STRENGTH = 10.0, (1e-3, 0.1)
# Path from the prior: the first multiple of eta, in units of the tokens over the smallest eta, and its smallest value.
# At ten times the tokens, counts hardly change the probabilities.
_FIRST_SCALE, _LEAST_FIRST_SCALE = 10.0, 10.0
# Share of the topics of a document that the guide may have seen in it, on average, for word-major sweeps along the
# guided path. They were measured to be 1.1 to 1.4 times as fast as dense ones at shares of .31 to .39 (256 to 1,000
# topics), and .6 to .8 times at .66 to .81.
_MOST_SEEN = 0.5


@dataclass(frozen=True, eq=False)
class Guide(Aligned):
    """Expected counts near a mode of the posterior. The guided path adds multiples of them to the priors."""

    doc: np.ndarray  # expected n_dk plus alpha, (n_documents, n_components)
    word: np.ndarray  # expected m_kv plus eta, (n_features, n_components)
    priors: Priors  # alpha and eta

    @classmethod
    def from_chain(cls, chain, n_sweeps=20, stop=NEVER_STOP):
        """Mean counts over the next `n_sweeps` sweeps of a chain. See `check_memory_of_runs`."""
        priors = chain.priors
        check_memory_of_runs(chain.corpus, priors.n_components, "guided_ais")
        doc = np.zeros((chain.corpus.n_documents, priors.n_components))
        word = np.zeros((chain.corpus.n_features, priors.n_components))
        for _ in range(n_sweeps):
            chain.sweep(stop)
            chain.add_doc_topic_counts(doc)
            word += chain.word_topic_counts[:, : priors.n_components]
        doc /= n_sweeps
        return cls(priors.add_doc(doc), word / n_sweeps + priors.topic_word().T, priors)

    def path(self, strengths):
        """`PriorPath` with the priors alpha + c * doc and eta + c * word at the strengths c."""
        row_of = np.arange(len(self.doc), dtype=np.int32)
        return PriorPath(self.priors, self.doc, row_of, np.empty(0), self.word, strengths)

    def chain_class(self, corpus):
        """The class of chains that is the fastest along the path."""
        seen = np.count_nonzero(self.doc > self.doc.min(axis=0)) <= _MOST_SEEN * self.doc.size
        return chain_class("collapsed", corpus, self.priors) if seen else GibbsChain

    def proportions(self):
        """theta, (n_documents, n_components), and phi by word, (n_features, n_components), at infinite strength."""
        return self.doc / self.doc.sum(axis=1, keepdims=True), self.word / self.word.sum(axis=0)

    def strengths(self, n_temperatures):
        """Strengths along the path, descending, without its ends, infinity and zero; (n_temperatures,)."""
        last = np.clip(1 / np.median(self.word.sum(axis=0)), *_LAST_STRENGTH)
        return np.geomspace(_FIRST_STRENGTH, last, n_temperatures)


@dataclass(frozen=True, eq=False)
class AnnealedRun:
    """The result of one run of annealed importance sampling."""

    log_weight: float  # its exponential is an unbiased estimate of p(w)
    state: ChainState  # at the end of the run; with the weight, a draw from the posterior of z
    label_error: float = 0.0  # of the sum over topic labels, in nats; 0 if the sum is exact


def guided_run(corpus, guide, n_temperatures, seed, stop=NEVER_STOP):
    """Anneal along theta_d ~ Dir(alpha + c a_d), phi_k ~ Dir(eta + c b_k), with c from infinity to 0; an `AnnealedRun`.

    a and b are the counts of the guide. At c = infinity the tokens are independent. Each of the `n_temperatures`
    strengths c gets one sweep. The guide favours one labelling of the topics, but the posterior has all K! of them: the
    last step sets the weight against the mean over all permutations of the guide's topics. Otherwise a run would
    estimate the share of one labelling, p(w) / K!.
    """
    stream, strengths = random.stream(random.child(seed, 1)), guide.strengths(n_temperatures)
    topics, log_probability = _draw_independent(corpus, *guide.proportions(), stream)
    path = guide.path(strengths)
    chain = guide.chain_class(corpus)(corpus, path.priors_at(strengths[0]), ChainState(topics, stream))
    log_weight = chain.log_joint() - log_probability + chain.anneal(path, stop)
    chain.sweep(stop)
    rng = np.random.default_rng(random.child(seed, 0))
    log_mean, label_error = log_mean_over_labels(label_changes(chain, guide.priors), guide.priors, rng)
    log_weight += _change_priors(chain, guide.priors) - log_mean
    # A last sweep under the target itself, on which no weight depends.
    chain.sweep(stop)
    return AnnealedRun(log_weight, chain.state().compact(chain.priors.n_components), label_error)


def reverse_guided_run(corpus, guide, n_temperatures, state, seed, stop=NEVER_STOP):
    """Anneal from `state`, a draw of z, back along the path of `guided_run`, with c from 0 to infinity; a log weight.

    The labels of its topics are drawn given the guide, as the last step of `guided_run` backwards. From a draw of
    p(z | w), the exponential of minus the result is an unbiased estimate of 1 / p(w). So the result is not below
    log p(w) by much, except with small probability, while `guided_run` is not above it (Grosse, Ghahramani & Adams
    2015). Between the two lie twice the bias of either, and while the bias is small against the path, this is also
    their variance. From a draw of one mode, it is an estimate of the share of p(w) in this mode.
    """
    strengths, kind = guide.strengths(n_temperatures)[::-1], guide.chain_class(corpus)
    path, rng = guide.path(strengths), np.random.default_rng(random.child(seed, 0))
    state = ChainState(state.topics, random.stream(random.child(seed, 1)))
    chain = kind(corpus, guide.priors, state)
    log_weight = chain.log_joint()
    chain.priors = path.priors_at(strengths[0])
    changes = label_changes(chain, guide.priors)
    log_mean, _ = log_mean_over_labels(changes, guide.priors, rng)
    log_weight -= chain.log_joint() + log_mean
    labels = draw_labels(changes, rng)
    chain = kind(corpus, chain.priors, ChainState(labels[state.topics], state.stream))
    log_weight -= chain.anneal(path, stop)
    chain.sweep(stop)
    theta, phi = guide.proportions()
    given = np.empty(0, np.uint64), np.empty(theta.shape[1])
    log_probability = _independent.draw(corpus.words, corpus.offsets, theta, phi, chain.topics, *given)
    return log_weight + chain.log_joint() - log_probability


def prior_run(corpus, priors, n_temperatures, seed, stop=NEVER_STOP):
    """Anneal from the prior of z: eta falls to its own value from one so large that words hardly affect the topics.

    If each topic has an eta of its own, the path begins near their mean, see `_diluting_path`. The method is good
    for a few thousand tokens. With more, the path crosses a point at which all topics form at once.
    """
    rng, stream = np.random.default_rng(random.child(seed, 0)), random.stream(random.child(seed, 1))
    check_memory_of_runs(corpus, priors.n_components, "ais")
    alpha = np.broadcast_to(priors.doc_of(), (corpus.n_documents, priors.n_components))
    theta = random.log_dirichlet(rng, alpha)
    np.exp(theta, out=theta)
    topics, _ = _draw_independent(corpus, theta, np.ones((corpus.n_features, priors.n_components)), stream)
    path = _diluting_path(priors, _scales(corpus, priors, n_temperatures))
    kind = chain_class("collapsed", corpus, priors)
    chain = kind(corpus, path.priors_at(path.positions[0]), ChainState(topics, stream))
    log_weight = chain.log_words() + chain.anneal(path, stop)
    chain.sweep(stop)
    return AnnealedRun(log_weight, chain.state().compact(priors.n_components))


def reverse_prior_run(corpus, priors, n_temperatures, state, seed, stop=NEVER_STOP):
    """Anneal from `state`, a draw of z, back along the path of `prior_run`; a log weight as of `reverse_guided_run`."""
    path = _diluting_path(priors, _scales(corpus, priors, n_temperatures)[-2::-1])
    kind = chain_class("collapsed", corpus, priors)
    chain = kind(corpus, priors, ChainState(state.topics, random.stream(random.child(seed, 1))))
    log_weight = -_change_priors(chain, path.priors_at(path.positions[0])) - chain.anneal(path, stop)
    chain.sweep(stop)
    return log_weight + chain.log_words()


def _scales(corpus, priors, n_temperatures):
    """Multiples of eta along the path from the prior, descending to one; (n_temperatures + 1,)."""
    first = max(_FIRST_SCALE * corpus.n_tokens / min(1.0, priors.topic_word().min()), _LEAST_FIRST_SCALE)
    return np.geomspace(first, 1, n_temperatures + 1)


def _draw_independent(corpus, theta, phi, stream):
    """Topics of all tokens, drawn independently in proportion to theta_dk phi_vk; and their log probability."""
    topics, K = np.empty(corpus.n_tokens, np.int32), theta.shape[1]
    log_probability = _independent.draw(corpus.words, corpus.offsets, theta, phi, topics, stream, np.empty(K))
    return topics, log_probability


def _change_priors(chain, priors):
    """Give the chain other priors; return the change of its log joint."""
    before = chain.log_joint()
    chain.priors = priors
    return chain.log_joint() - before


def _diluting_path(priors, scales):
    """A common eta times each of `scales`; an eta per topic plus scale - 1 times its mean over topics.

    If an eta per topic were only multiplied, topics would keep their differences at every scale, and the first step of
    the path would be plain importance sampling.
    """
    K = priors.n_components
    slope = priors.word if len(priors.word) else priors.topic[:, :K].mean(axis=1, dtype=np.float64)
    return PriorPath(priors, np.zeros((1, K)), np.empty(0, np.int32), slope, np.empty((0, K)), scales - 1)
