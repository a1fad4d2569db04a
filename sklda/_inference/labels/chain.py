"""The collapsed Gibbs sampler of labelled LDA, with means of counts over its draws."""

from dataclasses import dataclass

import numpy as np

from sklda._inference import random
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.sampling import log_joint
from sklda._inference.sampling.collapsed import BLOCK_WEIGHTS
from sklda._kernels import _label_counts, _labeled, _log_joint


@dataclass(frozen=True)
class Plan:
    """Which draws of a chain are used, and how.

    Attributes
    ----------
    burn_in : int
        Number of sweeps before the first draw that can be used.
    draw_every : int
        Number of sweeps between two draws.
    method : {"cgs_p", "cgs"}
        Whether expected counts or the counts of a draw are averaged.
    """

    burn_in: int
    draw_every: int
    method: str


@dataclass(frozen=True, eq=False)
class LabelState:
    """The state of a chain: which open topic every token has, the generator, and the records; see `LabelChain`."""

    choices: np.ndarray
    stream: np.ndarray
    n_sweeps: int = 0
    trace: tuple = ()
    n_draws: int = 0
    doc_sums: np.ndarray | None = None
    pair_sums: np.ndarray | None = None
    theta_sums: np.ndarray | None = None
    shares: tuple = ()
    label_free: tuple = ()


class LabelChain:
    """A Markov chain of topic assignments, in which a document has only its open topics.

    Parameters
    ----------
    corpus : Corpus
    open_topics : OpenTopics
    priors : LabelPriors
    plan : Plan
    state : LabelState
        The initial state. Its arrays are copied.

    Attributes
    ----------
    choices : ndarray of shape (n_tokens,), int32
        Which of the open topics of its document every token has.
    pair_counts : ndarray of shape (n_pairs,), int32
        m_kv.
    topic_totals : ndarray of shape (n_topics,), int64
        m_k.
    doc_sums, pair_sums : ndarray
        Sums over draws of n_dk and m_kv, or of their expectations.
    theta_sums : ndarray of shape (2, n_open)
        Sums over draws of the mean of theta given the topics, and of its square, for all open topics.
    shares : list of ndarray of shape (n_topics,)
        Share of the tokens with topics in each topic, in every draw.
    label_free : list of (float, float)
        log p(z | alpha), and the sum of the squared shares of the topics, after every sweep.
    """

    def __init__(self, corpus, open_topics, priors, plan, state):
        self.corpus, self.open_topics, self.priors, self.plan = corpus, open_topics, priors, plan
        self.stream = np.array(state.stream, np.uint64)
        self.n_sweeps, self.trace, self.n_draws = state.n_sweeps, list(state.trace), state.n_draws
        self.doc_sums, self.pair_sums = (
            np.zeros(n) if sums is None else np.array(sums)
            for n, sums in ((len(open_topics.topics), state.doc_sums), (len(open_topics.pairs), state.pair_sums))
        )
        n_open = len(open_topics.topics)
        self.theta_sums = np.zeros((2, n_open)) if state.theta_sums is None else np.array(state.theta_sums)
        self.shares, self.label_free, self.steps = list(state.shares), list(state.label_free), []
        most = int(open_topics.numbers.max(initial=1))
        self._scratch = np.empty(open_topics.n_topics + most), np.empty(most, np.int32)
        weights = max(len(open_topics.places) // max(corpus.n_tokens, 1), 1)
        self._blocks = corpus.blocks(n_tokens=BLOCK_WEIGHTS // (8 * weights))
        self.set_choices(state.choices)

    @classmethod
    def initialise(cls, corpus, open_topics, priors, plan, seed):
        """A chain whose tokens have random open topics."""
        numbers = np.repeat(open_topics.numbers, corpus.lengths)
        choices = np.random.default_rng(random.child(seed, 0)).integers(np.maximum(numbers, 1), dtype=np.int32)
        return cls(corpus, open_topics, priors, plan, LabelState(choices, random.stream(random.child(seed, 1))))

    def __reduce__(self):
        # The arrays are made again from the state, because joblib makes large arrays read-only in other processes.
        state = LabelState(
            self.choices.copy(),
            self.stream.copy(),
            self.n_sweeps,
            tuple(self.trace),
            self.n_draws,
            self.doc_sums.copy(),
            self.pair_sums.copy(),
            self.theta_sums.copy(),
            tuple(self.shares),
            tuple(self.label_free),
        )
        return type(self), (self.corpus, self.open_topics, self.priors, self.plan, state)

    def copy(self):
        """A chain that continues with the same draws and shares no array that changes."""
        kind, arguments = self.__reduce__()
        return kind(*arguments)

    def set_choices(self, choices):
        """Set the topics of all tokens, and count them."""
        self.choices = np.array(choices, np.int32)
        self.pair_counts = np.zeros(len(self.open_topics.pairs), np.int32)
        self.topic_totals = np.zeros(self.open_topics.n_topics, np.int64)
        _label_counts.count(*self._structure(), self.choices, self.pair_counts, self.topic_totals)

    def with_workers(self, n_jobs, work):
        """Return ``work(stop)``, as the other chains; a chain has one worker."""
        return work(NEVER_STOP)

    def sweep(self, stop=NEVER_STOP):
        """Draw every token once from its full conditional; add the draw to the sums if the plan says so."""
        for first, last in self._blocks:
            stop()
            _labeled.sweep(
                *self._structure(),
                *self._priors(),
                first,
                last,
                self.choices,
                self.pair_counts,
                self.topic_totals,
                self.stream,
                *self._scratch,
            )
        self.n_sweeps += 1
        after = self.n_sweeps - self.plan.burn_in
        if after > 0 and after % self.plan.draw_every == 0:
            self.add_draw(stop)

    def add_draw(self, stop=NEVER_STOP):
        """Add the counts of the present draw, or their expectations, to the sums."""
        self.n_draws += 1
        theta, _ = self.proportions(self.doc_counts())
        self.theta_sums += theta, theta**2
        self.shares.append(self._shares())
        if self.plan.method == "cgs":
            self.pair_sums += self.pair_counts
            self.doc_sums += self.doc_counts()
            return
        for first, last in self._blocks:
            stop()
            _labeled.expected_counts(
                *self._structure(),
                *self._priors(),
                first,
                last,
                self.choices,
                self.pair_counts,
                self.topic_totals,
                self.doc_sums,
                self.pair_sums,
                *self._scratch,
            )

    def proportions(self, counts):
        """theta of the open topics from counts of tokens, and the Dirichlet parameter's sum of their documents."""
        opened = self.open_topics
        weights = counts + self.priors.doc[opened.topics]
        starts = opened.offsets[:-1]
        sums = np.add.reduceat(np.append(weights, 0), starts) if len(starts) else np.zeros(0)
        totals = np.repeat(sums, opened.numbers)
        return weights / totals, totals

    def record(self):
        """Append the log joint of the present draw to `trace`, and two more numbers to `label_free`."""
        log_topics = self.log_topics()
        self.trace.append(log_topics + self.log_words())
        self.label_free.append((log_topics, float((self._shares() ** 2).sum())))

    def log_joint(self):
        """log p(w, z | alpha, eta) with theta and phi integrated out, in nats, of documents with open topics."""
        return self.log_topics() + self.log_words()

    def log_topics(self):
        """log p(z | alpha)."""
        opened = self.open_topics
        # A document without open topics has tokens, too: with one topic of any prior they add nothing.
        prior = np.append(self.priors.doc[opened.topics], 1.0)
        totals = np.add.reduceat(prior, opened.offsets)[:-1]
        cells = *log_joint.flat(prior), opened.offsets[:-1], 1, np.empty((0, 0))
        return _log_joint.tokens(
            self.corpus.offsets, self.choices, len(self._scratch[1]), *cells, self._scratch[1]
        ) - _log_joint.totals(totals, self.corpus.lengths, log_joint.ONE_EACH)

    def log_words(self):
        """log p(w | z, eta)."""
        offsets, priors = self.open_topics.pair_offsets, self.priors
        if len(priors.pair):
            cells = *log_joint.flat(priors.pair), offsets[:-1], 1, np.empty((0, 0))
        else:
            cells = log_joint.cell_priors(priors.word[:, None], self.corpus.n_tokens)
        return log_joint.word_totals(self.topic_totals, priors) + _log_joint.rows(offsets, self.pair_counts, *cells)

    def _shares(self):
        """Share of the tokens with topics in each topic."""
        return self.topic_totals / max(self.topic_totals.sum(), 1)

    def doc_counts(self):
        """n_dk of every document and open topic, int64."""
        places, has_topics = self._open_places()
        return np.bincount(places[has_topics], minlength=len(self.open_topics.topics))

    def topics(self):
        """The topic of every token, int32 (n_tokens,); -1 in documents without open topics."""
        places, has_topics = self._open_places()
        topics = np.full(self.corpus.n_tokens, -1, np.int32)
        topics[has_topics] = self.open_topics.topics[places[has_topics]]
        return topics

    def _open_places(self):
        """Positions of the tokens' topics among the open topics of all documents, and whether a token has a topic."""
        opened, lengths = self.open_topics, self.corpus.lengths
        return np.repeat(opened.offsets[:-1], lengths) + self.choices, np.repeat(opened.numbers, lengths) > 0

    def _structure(self):
        """The first arguments of the kernels."""
        opened = self.open_topics
        return (
            self.corpus.words,
            self.corpus.offsets,
            opened.offsets,
            opened.topics,
            opened.place_offsets,
            opened.places,
        )

    def _priors(self):
        return self.priors.doc, self.priors.word, self.priors.pair, self.priors.totals
