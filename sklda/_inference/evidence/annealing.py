"""log p(w | alpha, eta, K) of a corpus, theta, phi and z integrated out: the marginal likelihood of a topic model."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp

from sklda._inference import random
from sklda._inference.evidence.permanent import log_permanent
from sklda._inference.parallel import GO_ON, side_by_side
from sklda._inference.priors import Priors
from sklda._inference.rising import log_gamma_ratio
from sklda._inference.sampling.collapsed import ChainState, GibbsChain
from sklda._kernels import _independent as _independent_kernel
from sklda._kernels import _transition

METHODS = ("guided_ais", "ais", "cgs_transition", "chib", "harmonic_mean_z", "harmonic_mean_psi")
ANNEALED = METHODS[:2]
# exp of their estimates has p(w) as its mean.
UNBIASED = METHODS[:3]
# Up to this many tokens annealing from the prior is run beside the guided one, in so many times the temperatures.
SMALL, _LONGER = 5000, 10

# Strengths of the guide along the path: from the strongest down to the weakest, whose bounds these are.
_STRONGEST, _WEAKEST = 10.0, (1e-3, 0.1)
# Sweeps of the pilot over which the guide averages.
GUIDE_SWEEPS = 20


@dataclass(frozen=True, eq=False)
class Guide:
    """What a chain near the posterior expects of the counts.

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
    def along(cls, chain, n_sweeps=GUIDE_SWEEPS, stop=GO_ON):
        """Mean counts over the next `n_sweeps` sweeps of a chain."""
        priors = chain.priors
        doc = np.zeros((chain.corpus.n_documents, priors.n_components))
        word = np.zeros((chain.corpus.n_features, priors.n_components))
        for _ in range(n_sweeps):
            chain.sweep(stop)
            chain.add_doc_topic_counts(doc)
            word += chain.word_topic_counts[:, : priors.n_components]
        return cls(doc / n_sweeps + priors.doc, word / n_sweeps + priors.topic_word().T, priors)

    def tilted(self, strength):
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
        """The path without its ends, infinity and zero."""
        last = np.clip(1 / np.median(self.word.sum(axis=0)), *_WEAKEST)
        return np.geomspace(_STRONGEST, last, n_temperatures)


@dataclass(frozen=True, eq=False)
class Run:
    """One run of annealed importance sampling.

    Attributes
    ----------
    log_weight : float
        Its exponential is an unbiased estimate of p(w).
    state : ChainState
        Where it ended: with the weight, a draw from the posterior of z.
    left_out : float
        Bound on what `log_weight` is too large by, where permutations of the topics were not all summed.
    """

    log_weight: float
    state: ChainState
    left_out: float = 0.0


def guided_ais(corpus, guide, n_temperatures, seed, stop=GO_ON):
    """Annealing along theta_d ~ Dir(alpha + c a_d), phi_k ~ Dir(eta + c b_k), with c from infinity to 0.

    At c = infinity tokens are independent. One sweep for each of `n_temperatures` strengths c. The guide names the
    topics, and the posterior does not: before the last step the weight is set against the mean over all permutations of
    the guide's topics, without which a run would report the share of one labelling, 1 / K!.

    Parameters
    ----------
    corpus : Corpus
    guide : Guide
    n_temperatures : int
    seed : numpy.random.SeedSequence
    stop : callable, optional
        Called between sweeps; raises to end the run.

    Returns
    -------
    Run
    """
    stream, strengths = random.stream(random.child(seed, 1)), guide.strengths(n_temperatures)
    theta, phi = guide.doc / guide.doc.sum(axis=1, keepdims=True), guide.word / guide.word.sum(axis=0)
    topics, log_probability = _independent(corpus, theta, phi, stream)
    chain = GibbsChain(corpus, guide.tilted(strengths[0]), ChainState(topics, stream))
    log_weight = chain.log_joint() - log_probability
    for strength in strengths[1:]:
        chain.sweep(stop)
        log_weight += _move(chain, guide.tilted(strength))
    chain.sweep(stop)
    mean, left_out = _over_labels(chain, guide, np.random.default_rng(random.child(seed, 0)))
    log_weight += _move(chain, guide.priors) - mean
    # A last sweep under the target itself, which no weight depends on.
    chain.sweep(stop)
    return Run(log_weight, _end(chain), left_out)


def _end(chain):
    return chain.snapshot().small(chain.priors.n_components)


def _move(chain, priors):
    """Change of the log joint as the chain takes other priors."""
    before = chain.log_joint()
    chain.priors = priors
    return chain.log_joint() - before


def _independent(corpus, theta, phi, stream):
    """Draw every token from its own distribution, proportional to theta_dk phi_kv; and the log probability."""
    topics, K = np.empty(corpus.n_tokens, np.int32), theta.shape[1]
    log_probability = _independent_kernel.draw(corpus.words, corpus.offsets, theta, phi, topics, stream, np.empty(K))
    return topics, log_probability


def _over_labels(chain, guide, rng):
    """log of the mean over permutations of the guide's topics of the joint, less the joint; and what is left out.

    The joint is a product over topics k of a term that depends on the guide's topic alone, so the sum is a permanent.
    Only topics whose priors are equal change places.
    """
    K, tilted = chain.priors.n_components, chain.priors
    changes = np.zeros((K, K))
    for counts, prior in (
        (chain.doc_topic_counts(), tilted.doc),
        (chain.word_topic_counts[:, :K], tilted.topic[:, :K].astype(np.float64)),
    ):
        rows, topics = np.nonzero(counts)
        counts = counts[rows, topics]
        for j in range(K):
            given = prior[rows, j]
            changes[:, j] += np.bincount(topics, log_gamma_ratio(given, counts), minlength=K)
    changes -= log_gamma_ratio(tilted.totals, chain.topic_totals[:, None])
    kinds = _kinds(guide.priors)
    changes[kinds[:, None] != kinds] = -np.inf
    log_sum, left_out = log_permanent(changes, rng)
    return log_sum - np.trace(changes) - gammaln(np.bincount(kinds) + 1.0).sum(), left_out


def _kinds(priors):
    """Topics with equal priors have equal numbers."""
    if priors.exchangeable:
        return np.zeros(priors.n_components, int)
    columns = np.concatenate([priors.doc, priors.topic[:, : priors.n_components]])
    return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1)


def ais(corpus, priors, n_temperatures, seed, stop=GO_ON):
    """Annealing from the prior of z: eta falls from infinity, where words say nothing, to its value.

    Topics with an eta of their own get there by adding ever less of their mean: in proportion to itself each would
    still prefer its words at infinity, and the first step would be importance sampling.

    Good for a few thousand tokens; beyond them the path crosses a point at which the topics form all at once.

    Returns
    -------
    Run
    """
    rng, stream = np.random.default_rng(random.child(seed, 0)), random.stream(random.child(seed, 1))
    alpha = np.broadcast_to(priors.doc, (corpus.n_documents, priors.n_components))
    theta = np.exp(random.log_dirichlet(rng, alpha))
    topics, _ = _independent(corpus, theta, np.ones((corpus.n_features, priors.n_components)), stream)
    # From where no count can be told from the prior.
    first = max(10 * corpus.n_tokens / min(1.0, priors.topic_word().min()), 10.0)
    scales = np.geomspace(first, 1, n_temperatures + 1)
    chain = GibbsChain(corpus, _diluted(priors, scales[0]), ChainState(topics, stream))
    log_weight = chain.log_words()
    for scale in scales[1:]:
        chain.sweep(stop)
        log_weight += _move(chain, _diluted(priors, scale))
    chain.sweep(stop)
    return Run(log_weight, _end(chain))


def _diluted(priors, scale):
    """eta plus scale - 1 times its mean over topics."""
    if not len(priors.topic):
        return priors.scaled(1, scale)
    topic, K = priors.topic.copy(), priors.n_components
    topic[:, :K] += (scale - 1) * topic[:, :K].mean(axis=1, keepdims=True, dtype=np.float64)
    return replace(priors, topic=topic, totals=topic[:, :K].sum(axis=0, dtype=np.float64))


def transition(chain, before, stop=GO_ON):
    """log probability with which one sweep leads from the topics `before` to those of the chain."""
    corpus, priors = chain.corpus, chain.priors
    start = GibbsChain(corpus, priors, ChainState(before, chain.stream))
    width = priors.topic.shape[1]
    return _transition.log_transition(
        corpus.words,
        corpus.offsets,
        priors.doc,
        priors.word,
        priors.topic,
        priors.totals,
        start.topics,
        chain.topics,
        start.word_topic_counts,
        start.topic_totals,
        np.empty((2, width)),
        np.empty(width, np.int32),
        stop.flag,
    )


def cgs_transition(chain, n_inner, stop=GO_ON):
    """The estimates p(z_l, w) / g(z_(l - 1), z_l) of Chen & Doss (2018), equation 4.9, along the next sweeps.

    Each is unbiased for p(w); its logarithm falls short by the mutual information of successive sweeps.

    Returns
    -------
    ndarray of shape (n_inner,)
        Logarithms.
    """
    log_weights = np.empty(n_inner)
    for i in range(n_inner):
        before = chain.topics.copy()
        chain.sweep(stop)
        log_weights[i] = chain.log_joint() - transition(chain, before, stop)
    return log_weights


def chib(chain, n_inner, stop=GO_ON):
    """log p(z*, w) - log p(z* | w), the latter as the mean probability of a sweep from the posterior to z*.

    z* has each token in the topic where it was most often during the first third of the sweeps (Chen & Doss 2018,
    equation 5.1; phi, which cancels there, is integrated out).

    Returns
    -------
    ndarray of shape (n_inner - n_inner // 3,)
        Logarithms of the estimates that single sweeps give of 1 / p(w).
    """
    corpus, K = chain.corpus, chain.priors.n_components
    n_pilot = max(n_inner // 3, 1)
    votes = np.zeros((corpus.n_tokens, K), np.uint16)
    everyone = np.arange(corpus.n_tokens)
    for _ in range(n_pilot):
        chain.sweep(stop)
        votes[everyone, chain.topics] += 1
    high = GibbsChain(corpus, chain.priors, ChainState(votes.argmax(axis=1).astype(np.int32), chain.stream))
    log_joint, log_weights = high.log_joint(), []
    for _ in range(max(n_inner - n_pilot, 2)):
        chain.sweep(stop)
        log_weights.append(transition(high, chain.topics, stop) - log_joint)
    return np.array(log_weights)


def harmonic_mean(chain, n_inner, seed, over, stop=GO_ON):
    """Logarithms of 1 / p(w | z), or of 1 / p(w | theta, phi), along the next sweeps.

    Parameters
    ----------
    over : {"z", "psi"}
        What the likelihood is given: z, or theta and phi drawn from their conditionals (Chen & Doss 2018, section 5.1).

    Returns
    -------
    ndarray of shape (n_inner,)
    """
    rng = np.random.default_rng(seed)
    log_weights = np.empty(n_inner)
    for i in range(n_inner):
        chain.sweep(stop)
        log_weights[i] = -(chain.log_words() if over == "z" else _log_likelihood(chain, rng))
    return log_weights


def _log_likelihood(chain, rng):
    """log p(w | theta, phi) at a draw of theta and phi given z."""
    theta, phi = draw_parameters(chain, rng)
    corpus, total = chain.corpus, 0.0
    doc_of = corpus.token_documents
    for start in range(0, corpus.n_tokens, 2**16):
        part = slice(start, start + 2**16)
        total += np.log(np.einsum("ik,ki->i", theta[doc_of[part]], phi[:, corpus.words[part]])).sum()
    return total


def draw_parameters(chain, rng):
    """theta (D, K) and phi (K, V) from their Dirichlet conditionals given z."""
    K = chain.priors.n_components
    return tuple(
        np.exp(random.log_dirichlet(rng, parameter))
        for parameter in (
            chain.doc_topic_counts() + chain.priors.doc,
            chain.word_topic_counts[:, :K].T + chain.priors.topic_word(),
        )
    )


def sweeps_of(corpus, method, n_temperatures):
    """Sweeps of one run of `run_pilots`, with what is run beside it."""
    small = method == "guided_ais" and corpus.n_tokens <= SMALL
    return n_temperatures * (1 + _LONGER) if small else n_temperatures


def run_pilots(corpus, targets, *, method, temperatures, n_inner, beside=True, n_jobs=None):
    """Runs from the pilots of several targets, side by side.

    Parameters
    ----------
    corpus : Corpus
    targets : list of (Priors, list of ChainState, numpy.random.SeedSequence)
        What to estimate, where its pilots are, and its seed.
    method : str
        One of `METHODS`.
    temperatures : list of int
        Temperatures of each run of a pilot; for methods that do not anneal only their number counts.
    n_inner : int
        Sweeps a run of the methods that do not anneal.
    beside : bool, default=True
        Whether for up to 5,000 tokens annealing from the prior is run beside the guided one, in ten times as many
        temperatures, and the larger mean kept; without it estimates are exactly unbiased.
    n_jobs : int, default=None

    Returns
    -------
    list of (log_weights, ends, left_out, states)
        For each target: ndarray of shape (n_pilots, n_runs); the states where the runs ended, pilot by pilot; what is
        left out at most; the pilots' states now.
    """
    methods = {method: temperatures}
    if beside and sweeps_of(corpus, method, 1) > 1:
        methods["ais"] = [_LONGER * n for n in temperatures]
    tasks = [
        (corpus, priors, state, each, lengths, n_inner, random.child(seed, METHODS.index(each), p))
        for priors, states, seed in targets
        for each, lengths in methods.items()
        for p, state in enumerate(states)
    ]
    parts, results = iter(side_by_side(_from_pilot, tasks, n_jobs)), []
    for _, states, _ in targets:
        kinds = []
        for _ in methods:
            log_weights, ends, left_out, now = zip(*(next(parts) for _ in states), strict=True)
            kinds.append((np.array(log_weights), [end for each in ends for end in each], max(left_out), list(now)))
        # Each mean falls short in probability, never far above: the larger one is the nearer.
        best = max(kinds, key=lambda kind: logsumexp(kind[0]))
        results.append((*best[:3], kinds[0][3]))
    return results


def _from_pilot(corpus, priors, state, method, temperatures, n_inner, seed, stop):
    chain = GibbsChain(corpus, priors, state)
    if method in ANNEALED:
        source = Guide.along(chain, stop=stop) if method == "guided_ais" else priors
        anneal = guided_ais if method == "guided_ais" else ais
        runs = [anneal(corpus, source, n, random.child(seed, r), stop) for r, n in enumerate(temperatures)]
        log_weights, ends = [run.log_weight for run in runs], [run.state for run in runs]
        return log_weights, ends, max(run.left_out for run in runs), _end(chain)
    # The pilot's own stream would give the same estimate again.
    chain.stream = random.stream(seed)
    log_weights, ends = [], []
    for r in range(len(temperatures)):
        log_weights.append(_along_chain(chain, method, n_inner, random.child(seed, r), stop))
        ends.append(_end(chain))
    return log_weights, ends, 0.0, _end(chain)


def _along_chain(chain, method, n_inner, seed, stop):
    if method == "cgs_transition":
        return _log_mean(cgs_transition(chain, n_inner, stop))
    if method == "chib":
        return -_log_mean(chib(chain, n_inner, stop))
    return -_log_mean(harmonic_mean(chain, n_inner, seed, method.removeprefix("harmonic_mean_"), stop))


def _log_mean(log_values):
    return logsumexp(log_values) - np.log(len(log_values))
