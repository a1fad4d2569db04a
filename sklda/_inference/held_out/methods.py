"""log p(w_d | phi, alpha) of documents, topics given: estimates whose exponentials are unbiased, and exact values."""

from functools import partial, reduce
from math import fsum

import numpy as np
from scipy.special import logsumexp

from sklda._inference.corpus import Corpus
from sklda._inference.held_out.fold_in import BLOCK_DOCUMENTS, fold_in, word_rows
from sklda._inference.parallel import side_by_side
from sklda._inference.rising import log_gamma_ratio
from sklda._kernels import LANES, _annealing, _chib, _sequential

METHODS = ("guided_ais", "ais", "left_to_right", "particle_filter", "chib", "document_completion", "exact")
SCHEDULES = ("linear", "quadratic")

# CVB0 iterations behind the guide, its first strength, and the range of its last.
_GUIDE_ITERATIONS, _STRONGEST, _WEAKEST = 10, 10.0, (1e-5, 0.01)
_CHIB_BURN_IN = 20
# Sums of products that exact dynamic programming may take.
_EXACT_OPERATIONS = 2e8


def log_likelihoods(
    corpus,
    topic_word,
    doc_topic_prior,
    *,
    seed,
    method="guided_ais",
    n_temperatures=100,
    n_runs=1,
    n_particles=20,
    schedule="linear",
    n_jobs=None,
):
    """Estimates of log p(w_d | phi, alpha), one a run, in nats; without the multinomial coefficient.

    Parameters
    ----------
    corpus : Corpus
    topic_word : ndarray of shape (n_components, n_features)
        phi.
    doc_topic_prior : ndarray of shape (1 or n_documents, n_components)
        alpha.
    seed : numpy.random.SeedSequence
    method, n_temperatures, n_runs, n_particles, schedule
        As in `sklda.metrics.held_out_log_likelihood`.
    n_jobs : int, default=None

    Returns
    -------
    ndarray of shape (n_runs, n_documents); (1, n_documents) for ``"exact"``
        An empty document has 0; one with a word that no topic has, -inf.
    """
    # One 64-bit seed a run; a document's stream depends on it and on its own words.
    run_seeds = [int(s) for s in seed.generate_state(n_runs, np.uint64)]
    if method == "document_completion":
        return np.array([_complete(corpus, topic_word, doc_topic_prior, n_temperatures, s, n_jobs) for s in run_seeds])
    if method == "exact":
        return np.array([[_exact(*document) for document in _documents(corpus, topic_word, doc_topic_prior)]])
    rows, word_topic, taken_out = possible_rows(corpus, topic_word)
    # A word that weighs the same in all topics says nothing of them: its tokens would only add noise.
    kept = (word_topic[:, : len(topic_word)] != word_topic[:, :1]).any(axis=1)[rows]
    rows, offsets = rows[kept], np.concatenate([[0], np.cumsum(kept)])[corpus.offsets]
    blocks = corpus.blocks(n_documents=BLOCK_DOCUMENTS)
    keys = [corpus.document_keys(s) for s in run_seeds]
    run = {
        "guided_ais": _guided,
        "ais": _ais,
        "left_to_right": _left_to_right,
        "particle_filter": _particle_filter,
        "chib": _chib_style,
    }[method]
    options = {"n_temperatures": n_temperatures, "n_particles": n_particles, "schedule": schedule}
    tasks = ((Block(rows, offsets, k, block, word_topic, doc_topic_prior),) for k in keys for block in blocks)
    parts = side_by_side(partial(run, **options), tasks, n_jobs)
    return np.concatenate(parts).reshape(n_runs, corpus.n_documents) + taken_out


def possible_rows(corpus, topic_word):
    """`word_rows` in which every word has a topic, as kernels need it, and what that takes out of log-likelihoods.

    Returns
    -------
    rows, word_topic
    taken_out : ndarray of shape (n_documents,)
        To be added; -inf for a document with a word that no topic has.
    """
    rows, word_topic, largest = word_rows(corpus, topic_word)
    word_topic[largest == 0, : topic_word.shape[0]] = 1
    with np.errstate(divide="ignore"):
        return rows, word_topic, per_document(corpus, np.log(largest)[rows])


def per_document(corpus, values):
    """Sums over the tokens of every document."""
    return np.bincount(corpus.token_documents, weights=values, minlength=corpus.n_documents)


def per_token(log_likelihood, lengths, sample_weight=None):
    """Weighted sum of documents' log-likelihoods over the weighted number of their tokens, in nats."""
    weight = np.ones(len(lengths)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (len(lengths),):
        raise ValueError(f"sample_weight has shape {weight.shape}; X has {len(lengths)} documents.")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        d = int(np.argmax(bad))
        raise ValueError(f"sample_weight[{d}] = {weight[d]:g}: a weight must be finite and not negative.")
    # Rounded once, so that the order of the documents changes nothing.
    n_tokens = fsum(weight * lengths)
    if not n_tokens > 0:
        raise ValueError("X has no token of positive weight: there is no likelihood per token.")
    # 0 times -inf is left out, not NaN
    return fsum(np.where(weight == 0, 0, log_likelihood) * weight) / n_tokens


def combine(log_weights):
    """Log of the mean over runs of ``exp(log_weights)``, and its standard error by the delta method.

    Parameters
    ----------
    log_weights : ndarray of shape (n_runs, ...)

    Returns
    -------
    value, std : ndarray of shape (...)
        Where all runs are -inf the error is 0; with one run it is NaN.
    """
    n_runs = len(log_weights)
    value = logsumexp(log_weights, axis=0) - np.log(n_runs)
    if n_runs == 1:
        return value, np.full_like(value, np.nan)
    relative = np.exp(log_weights - np.where(np.isfinite(value), value, 0))
    return value, relative.std(axis=0, ddof=1) / np.sqrt(n_runs)


class Block:
    """A run of documents as the kernels take them, with scratch space."""

    def __init__(self, rows, offsets, keys, block, word_topic, doc_topic_prior):
        first, last = block
        self.words = rows[offsets[first] : offsets[last]]
        self.offsets = offsets[first : last + 1] - offsets[first]
        self.keys = None if keys is None else keys[first:last]
        self.word_topic = word_topic
        self.prior = doc_topic_prior[first:last] if len(doc_topic_prior) > 1 else doc_topic_prior
        self.n_documents, self.width = last - first, word_topic.shape[1]
        self.longest = max(int(np.diff(self.offsets).max()), 1)

    @property
    def common(self):
        return self.words, self.offsets, self.keys, self.word_topic, self.prior

    @property
    def most_distinct(self):
        new = np.ones(len(self.words), bool)
        new[1:] = self.words[1:] != self.words[:-1]
        new[self.offsets[:-1][self.offsets[:-1] < len(self.words)]] = True
        running = np.concatenate([[0], np.cumsum(new)])
        return max(int(np.diff(running[self.offsets]).max()), 1)

    def floats(self, n):
        return np.empty((n, self.width), np.float32)

    def doubles(self, n):
        return np.empty((n, self.width))

    def counts(self):
        return np.empty(self.width, np.int32)

    def result(self):
        return np.zeros(self.n_documents)


def _guided(block, stop, *, n_temperatures, **_):
    return guided_start(block, n_temperatures, stop)[0]


def strengths(doc_topic_prior, n_temperatures):
    """Those of the guide, (1 or n_documents, n_temperatures): where alpha is small, they go on until the guide is."""
    last = np.clip(doc_topic_prior.mean(axis=1) / 10, *_WEAKEST)
    return np.ascontiguousarray(np.geomspace(_STRONGEST, last, n_temperatures, axis=1))


def guided_start(block, n_temperatures, stop):
    """Log weights, and the topics and streams at the end of the guided path."""
    log_weights = block.result()
    topics, streams = np.full(len(block.words), -1, np.int32), np.zeros((block.n_documents, 4), np.uint64)
    if len(block.words):
        _annealing.guided(
            *block.common,
            strengths(block.prior, n_temperatures),
            _GUIDE_ITERATIONS,
            topics,
            streams,
            log_weights,
            block.floats(block.most_distinct),
            block.floats(3),
            block.counts(),
            block.doubles(3),
            stop.flag,
        )
    return log_weights, topics, streams


def anneal_between(block, first, last, last_prior, positions, state, stop, *, geometric=False, n_burn_in=1):
    """Add to the log weights of ``state`` = (log_weights, topics, streams) along a path from one model to another."""
    log_weights, topics, streams = state
    if len(block.words):
        distinct = block.most_distinct
        _annealing.between(
            block.words,
            block.offsets,
            first,
            last,
            block.prior,
            last_prior,
            positions,
            geometric,
            n_burn_in,
            topics,
            streams,
            log_weights,
            block.floats(distinct),
            np.empty((3, distinct if geometric else 0, block.width)),
            block.floats(1),
            np.empty(block.longest, np.int32),
            block.counts(),
            block.doubles(2),
            stop.flag,
        )
    return state


def fresh_state(block):
    """No topics yet, and streams seeded by the documents' keys."""
    steps = np.arange(4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return block.result(), np.full(len(block.words), -1, np.int32), _mix(block.keys[:, None] + steps)


def _ais(block, stop, *, n_temperatures, schedule, **_):
    # At the start all words weigh the same in all topics: z is drawn from its prior.
    flat = np.zeros_like(block.word_topic)
    flat[:, : block.prior.shape[1]] = 1
    return anneal_between(
        block,
        flat,
        block.word_topic,
        block.prior,
        np.linspace(0, 1, n_temperatures + 1)[1:] ** (1 + SCHEDULES.index(schedule)),
        fresh_state(block),
        stop,
        geometric=True,
    )[0]


def _left_to_right(block, stop, **_):
    log_weights = block.result()
    if len(block.words):
        _sequential.left_to_right(
            *block.common,
            log_weights,
            np.empty((2, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty(block.width // LANES),
            stop.flag,
        )
    return log_weights


def _particle_filter(block, stop, *, n_particles, **_):
    log_weights = block.result()
    if len(block.words):
        _sequential.particle_filter(
            *block.common,
            log_weights,
            np.empty(block.longest, np.int32),
            np.empty((2, n_particles, block.longest), np.int32),
            block.floats(n_particles),
            np.empty((n_particles, block.width), np.int32),
            np.empty(block.width // LANES),
            np.empty(n_particles),
            stop.flag,
        )
    return log_weights


def _chib_style(block, stop, *, n_temperatures, **_):
    log_weights = block.result()
    if len(block.words):
        _chib.chib(
            *block.common,
            n_temperatures,
            _CHIB_BURN_IN,
            log_weights,
            np.empty((4, block.longest), np.int32),
            block.floats(1),
            block.counts(),
            np.empty((2, max(block.width // LANES, n_temperatures))),
            stop.flag,
        )
    return log_weights


def _complete(corpus, topic_word, doc_topic_prior, n_sweeps, seed, n_jobs):
    """log p(second half | theta of the first half)."""
    first, second = split_tokens(corpus, seed)
    with np.errstate(divide="ignore"):
        impossible = per_document(corpus, np.log(topic_word.max(axis=0) > 0)[corpus.words])
    return (
        predictive(first, second, topic_word, doc_topic_prior, n_sweeps=n_sweeps, seed=seed, n_jobs=n_jobs) + impossible
    )


def predictive(seen, hidden, topic_word, doc_topic_prior, *, n_sweeps, seed, n_jobs=None):
    """log p of the hidden tokens of every document given theta from the tokens seen, (n_documents,)."""
    expected = fold_in(seen, topic_word, doc_topic_prior, n_sweeps=n_sweeps, seed=seed, n_jobs=n_jobs)
    theta = expected + doc_topic_prior
    theta /= theta.sum(axis=1, keepdims=True)
    doc_of = hidden.token_documents
    p = np.empty(hidden.n_tokens)
    # in slices, so that no tokens x topics array is formed
    for start in range(0, hidden.n_tokens, 2**16):
        part = slice(start, start + 2**16)
        p[part] = np.einsum("ik,ki->i", theta[doc_of[part]], topic_word[:, hidden.words[part]])
    with np.errstate(divide="ignore"):
        return per_document(hidden, np.log(p))


def split_tokens(corpus, seed):
    """Two corpora: a random half of every document's tokens (the larger where the length is odd), and the rest.

    The cut depends on the seed and on the document's words alone.
    """
    doc_of = corpus.token_documents
    within = np.arange(corpus.n_tokens) - corpus.offsets[doc_of]
    keys = _mix(corpus.document_keys(seed)[doc_of] + within.astype(np.uint64))
    order = np.lexsort((keys, doc_of))
    rank = np.empty(corpus.n_tokens, np.int64)
    rank[order] = within
    is_first = rank < (corpus.lengths[doc_of] + 1) // 2
    parts = []
    for chosen in (is_first, ~is_first):
        lengths = np.bincount(doc_of[chosen], minlength=corpus.n_documents)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        parts.append(Corpus(corpus.words[chosen], offsets, corpus.n_features))
    return parts


def _mix(x):
    """The finaliser of splitmix64 on an array."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _documents(corpus, topic_word, doc_topic_prior):
    for d in range(corpus.n_documents):
        words, counts = np.unique(corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]], return_counts=True)
        yield d, topic_word[:, words].T, counts, doc_topic_prior[d if len(doc_topic_prior) > 1 else 0]


def _exact(d, weights, counts, alpha):
    """Sum over topic counts: coefficients of prod_i (sum_k phi_kw x_k), times their Dirichlet-multinomial moments."""
    n, K = int(counts.sum()), len(alpha)
    if K * n * float(n + 1) ** (K - 1) > _EXACT_OPERATIONS:
        raise ValueError(
            f"document {d} has {n} tokens: method='exact' would sum over about {float(n + 1) ** (K - 1):.2g} counts "
            f"of its {K} topics. Use method='guided_ais', or fewer topics or shorter documents."
        )
    coefficients, log_scale = np.ones((1,) * (K - 1)), 0.0
    for phi in np.repeat(weights, counts, axis=0):
        size = coefficients.shape[0] + 1 if K > 1 else 1
        grown = np.zeros((size,) * (K - 1))
        inner = tuple(slice(0, size - 1) for _ in range(K - 1))
        grown[inner] += phi[K - 1] * coefficients
        for k in range(K - 1):
            grown[tuple(slice(1, size) if j == k else s for j, s in enumerate(inner))] += phi[k] * coefficients
        largest = grown.max()
        if largest == 0:
            return -np.inf
        coefficients, log_scale = grown / largest, log_scale + np.log(largest)
    axes = np.indices(coefficients.shape) if K > 1 else np.zeros((0,), int)
    last = n - (axes.sum(axis=0) if K > 1 else 0)
    possible = last >= 0
    log_moment = log_gamma_ratio(alpha[-1], np.maximum(last, 0)) - log_gamma_ratio(alpha.sum(), n)
    log_moment = reduce(lambda total, k: total + log_gamma_ratio(alpha[k], axes[k]), range(K - 1), log_moment)
    with np.errstate(divide="ignore"):
        terms = np.where(possible, np.log(coefficients) + log_moment, -np.inf)
    return logsumexp(terms) + log_scale
