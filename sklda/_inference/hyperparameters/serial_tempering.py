"""Chains on (h, z), h = (eta, alpha) on a grid: serial tempering (George & Doss 2018, section 2.3) and full Bayes.

Both have the target p(w, z | h_j) / zeta_j over grid points j. With zeta = 1 the prior of h is uniform on the grid:
full Bayes by griddy Gibbs (section 6). With zeta_j near m(h_j) all points are visited equally often: serial tempering.
"""

from dataclasses import replace

import numpy as np

from sklda._inference import random
from sklda._inference.count_histograms import CountHistograms, Histograms
from sklda._inference.hyperparameters.observations import DirichletDraws, Observations
from sklda._inference.parallel import NEVER_STOP
from sklda._inference.priors import Priors
from sklda._inference.rising import log_rising
from sklda._inference.sampling.collapsed import BLOCK_WEIGHTS, GibbsChain
from sklda._inference.sampling.word_major import WordMajorChain
from sklda._kernels import _tempered

# Largest number of entries of a table of rising factorials: 32 MB.
_LARGEST_TABLE = 2**22
# The same for totals of topics. A larger one would cost more than the few logarithms that it saves in every sweep.
_LARGEST_OF_TOTALS = 2**17
# The attributes of a `TemperedChain` that other chains do not have.
_OWN = {"grid", "rng", "index", "augmented", "functionals", "gain", "log_zeta", "at", "every", "prior_path"}
_OWN |= {"_by_axis", "_seen", "_passed", "_parts"}


class Grid:
    """Values of eta and alpha, log zeta at every pair, and tables for log p(w, z | h) at all pairs.

    Parameters
    ----------
    corpus : Corpus
    n_components : int
    etas, alphas : array-like of shape (n_etas,) and (n_alphas,)
        Ascending.

    Attributes
    ----------
    lengths : ndarray of shape (n_alphas,)
        The part of log p(z | alpha) that does not depend on z, with the other sign.
    doc_table, word_table, totals_table : ndarray of shape (largest count + 1, n_alphas or n_etas), or None
        Logs of the rising factorials of every alpha, of every eta, and of every eta times n_features. None: the table
        would be too large.
    """

    def __init__(self, corpus, n_components, etas, alphas):
        self.etas, self.alphas = np.asarray(etas, dtype=np.float64), np.asarray(alphas, dtype=np.float64)
        self.shape = len(self.etas), len(self.alphas)
        self.log_zeta = np.zeros(self.shape)
        self.n_features = corpus.n_features
        V, K = corpus.n_features, n_components
        self._by_eta = [Priors.make(1.0, eta, K, V) for eta in self.etas]
        self._by_alpha = [np.full((1, K), alpha) for alpha in self.alphas]
        lengths = corpus.length_histogram
        self.lengths = log_rising(self.alphas * K, np.arange(len(lengths))) @ lengths
        self.doc_table = _table(self.alphas, len(lengths))
        self.word_table = _table(self.etas, int(np.bincount(corpus.words).max(initial=0)) + 1)
        self.totals_table = _table(self.etas * V, corpus.n_tokens + 1, _LARGEST_OF_TOTALS)

    @classmethod
    def over(cls, corpus, n_components, region, shape):
        """Logarithmically spaced points over ((eta_low, eta_high), (alpha_low, alpha_high))."""
        return cls(corpus, n_components, *(np.geomspace(*ends, n) for ends, n in zip(region, shape, strict=True)))

    def with_log_zeta(self, log_zeta):
        other = object.__new__(Grid)
        vars(other).update(vars(self), log_zeta=log_zeta)
        return other

    @property
    def flat(self):
        """Whether zeta is the same everywhere: eta and alpha are then independent given z."""
        return not np.ptp(self.log_zeta)

    @property
    def region(self):
        return (self.etas[0], self.etas[-1]), (self.alphas[0], self.alphas[-1])

    @property
    def points(self):
        """(eta, alpha) of every grid point, in the order of ``log_zeta.ravel()``; (n_points, 2)."""
        return np.stack(np.meshgrid(self.etas, self.alphas, indexing="ij"), axis=2).reshape(-1, 2)

    def priors(self, at):
        """`Priors` of the grid point ``at`` = (index of eta, index of alpha)."""
        return replace(self._by_eta[at[0]], doc=self._by_alpha[at[1]])

    def parts(self, draw):
        """log p(w, z | h) of one draw: a part for every eta and a part for every alpha, to be added."""
        if isinstance(draw, DirichletDraws):
            return draw.word_part(self.etas)[0], draw.doc_part(self.alphas)[0]
        word = _rising(self.word_table, self.etas, draw.word)
        # Most of very many topics have no token, and change nothing.
        totals = draw.totals[0][draw.totals[0] > 0]
        word -= log_rising(self.etas * self.n_features, totals).sum(axis=1)
        return word, _rising(self.doc_table, self.alphas, draw.doc) - self.lengths

    def neighbours(self, at):
        """The points at most one step away in either direction, without the point itself."""
        return [
            (i, j)
            for i in range(max(at[0] - 1, 0), min(at[0] + 2, self.shape[0]))
            for j in range(max(at[1] - 1, 0), min(at[1] + 2, self.shape[1]))
            if (i, j) != at
        ]


def _table(priors, n_counts, most=_LARGEST_TABLE):
    if n_counts * len(priors) > most:
        return None
    table = np.zeros((n_counts, len(priors)))
    np.cumsum(np.log(priors + np.arange(n_counts - 1)[:, None]), axis=0, out=table[1:])
    return table


def _rising(table, priors, histogram):
    if table is None:
        return log_rising(priors, histogram.values) @ histogram.counts
    return histogram.counts @ table[histogram.values]


class TemperedChain(GibbsChain):
    """A `GibbsChain` that draws a grid point before every sweep and sweeps with its priors.

    It makes the sweeps of the chain that it continues: for a `WordMajorChain` it is a `WordMajorTemperedChain`.

    Parameters
    ----------
    chain : GibbsChain
        The chain that it continues.
    grid : Grid
    rng : numpy.random.Generator
    index : {"full_conditional", "neighbours"}
        How the grid point is drawn: from its full conditional, or by Metropolis-Hastings with uniform proposals among
        its neighbours (equation 2.8).
    augmented : bool
        Whether the grid point is drawn given (theta, beta), as in the paper, and not given z alone.
    functionals : tuple of callable
        Functions of (doc_topic, topic_word), evaluated after every sweep.
    gain : float, default=None
        If given, log zeta moves after every sweep: by stochastic approximation with gain 1 / (gain + sweeps).

    Attributes
    ----------
    at : tuple of int
        The grid point.
    observations : Observations
        One for each `every` sweeps.
    every : int
    prior_path : list of (float, float)
        eta and alpha in every sweep, those of a `TemperedChain` that it continues included.
    """

    def __new__(cls, chain, *args, **kwargs):
        return super().__new__(WordMajorTemperedChain if isinstance(chain, WordMajorChain) else cls)

    def __init__(self, chain, grid, rng, *, index="full_conditional", augmented=False, functionals=(), gain=None):
        super().__init__(chain.corpus, chain.priors, chain.state())
        self.grid, self.rng = grid, rng
        # Not the stream of `chain`, which another chain may continue as well.
        self.stream = rng.integers(2**64, size=4, dtype=np.uint64)
        self.index, self.augmented, self.functionals, self.gain = index, augmented, functionals, gain
        self.log_zeta = grid.log_zeta.copy()
        self._by_axis = grid.flat and gain is None
        self._seen, self.at, self.every, self._passed = [], None, 1, 0
        self.prior_path = list(getattr(chain, "prior_path", ()))
        first = self._observe()
        self._parts = grid.parts(first.parameters if augmented else first.counts)

    def __reduce__(self):
        own = {name: value for name, value in vars(self).items() if name in _OWN}
        return _again, (type(self), self.corpus, self.priors, self.state(), own)

    @property
    def observations(self):
        self._seen = [Observations.stack(self._seen)]
        return self._seen[0]

    @property
    def n_observations(self):
        return sum(map(len, self._seen))

    def keep(self, observations):
        """Keep a slice of the observations, drop the others."""
        if self._seen:
            self._seen = [self.observations[observations]]

    def thin(self, most):
        """Drop every second observation, later ones too, until there are at most `most`."""
        while self.n_observations > most:
            self.keep(slice(1, None, 2))
            self.every *= 2

    @property
    def _in_kernel(self):
        """Whether a kernel makes many sweeps in one call: not with options of the paper, or on large corpora."""
        tables = self.grid.doc_table is not None and self.grid.word_table is not None
        plain = self.index == "full_conditional" and not self.augmented and not self.functionals
        return plain and tables and len(self._blocks) == 1

    def sweep(self, stop=NEVER_STOP):
        """Draw a grid point, then every token with its priors; add to `observations`."""
        if self._in_kernel:
            self._sweeps_in_kernel(1, stop)
            return
        self.at = self._propose() if self.index == "neighbours" and self.at is not None else self._draw()
        self.priors = self.grid.priors(self.at)
        super().sweep(stop)
        seen = self._observe()
        self._passed += 1
        if self._passed % self.every == 0:
            self._seen.append(seen)
        self.prior_path.append((self.grid.etas[self.at[0]], self.grid.alphas[self.at[1]]))
        self._parts = self.grid.parts(seen.parameters if self.augmented else seen.counts)
        if self.gain is not None:
            self.log_zeta += (self.log_zeta.size * self.conditional() - 1) / (self.gain + self._passed)

    def sweeps(self, n_sweeps, stop=NEVER_STOP):
        """Make sweeps; return log p(w, z | h) after each of them."""
        if not self._in_kernel:
            return super().sweeps(n_sweeps, stop)
        V, width = self.rows.arrays[0].shape
        # As many as take about a tenth of a second, by the weights that they compute. A token and a log-gamma function
        # cost as much as some more weights.
        cost = (width + 32) * (self.corpus.n_tokens + V) + 32 * len(self.topic_totals) * sum(self.grid.shape)
        step, log_joints = max(BLOCK_WEIGHTS // cost, 1), []
        for first in range(0, n_sweeps, step):
            stop()
            log_joints += self._sweeps_in_kernel(min(step, n_sweeps - first), stop).tolist()
        return log_joints

    def _sweeps_in_kernel(self, n, stop):
        """Make n sweeps in one call; return the log joints."""
        grid, corpus, K = self.grid, self.corpus, len(self.topic_totals)
        (E, A), V, most = grid.shape, corpus.n_features, int((2 * corpus.n_tokens) ** 0.5) + 1
        most_docs, most_words = len(grid.doc_table), len(grid.word_table)
        at, log_joints, totals = np.empty((n, 2), np.int32), np.empty(n), np.empty((n, K), np.int64)
        # Distinct positive numbers whose sum is at most N are fewer than the root of 2 N.
        doc_lists, word_lists = (np.empty((2, n * min(most, largest)), np.int32) for largest in (most_docs, most_words))
        doc_ends, word_ends = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
        _tempered.sweeps(
            corpus.words,
            corpus.offsets,
            grid.etas,
            grid.alphas,
            grid.word_table,
            grid.doc_table,
            np.empty((0, 0)) if grid.totals_table is None else grid.totals_table,
            grid.lengths,
            self.log_zeta,
            0.0 if self.gain is None else self.gain,
            self._passed,
            self._by_axis,
            self.topics,
            *self.rows.arrays,
            self.topic_totals,
            self.stream,
            self._vectors,
            *self._parts,
            at,
            log_joints,
            totals,
            doc_lists,
            doc_ends,
            word_lists,
            word_ends,
            stop.flag,
            *self._scratch,
            np.empty(2 * K + V + E * A),
            np.zeros(most_docs + most_words, np.int32),
        )
        stop()
        self.n_sweeps += n
        self.at = tuple(at[-1].tolist())
        self.priors = grid.priors(self.at)
        doc, word = (
            Histograms(*lists[:, : ends[-1]].copy(), ends)
            for lists, ends in ((doc_lists, doc_ends), (word_lists, word_ends))
        )
        lengths = Histograms.from_dense(corpus.length_histogram)
        counts = CountHistograms(corpus.n_features, lengths, doc, word, totals)
        seen = Observations(at, counts, None, np.empty((n, 0)))
        kept = slice(self.every - 1 - self._passed % self.every, None, self.every)
        if seen := (seen if self.every == 1 else seen[kept]):
            self._seen.append(seen)
        self._passed += n
        self.prior_path += zip(grid.etas[at[:, 0]].tolist(), grid.alphas[at[:, 1]].tolist(), strict=True)
        return log_joints

    def log_joint(self):
        """log p(w, z | h) at the present h, in nats."""
        if self.augmented or self.at is None:
            return super().log_joint()
        return float(self._parts[0][self.at[0]] + self._parts[1][self.at[1]])

    def conditional(self):
        """Probabilities of the grid points given the rest, (n_etas, n_alphas)."""
        log_p = self._parts[0][:, None] + self._parts[1] - self.log_zeta
        p = np.exp(log_p - log_p.max())
        return p / p.sum()

    def _draw(self):
        if self._by_axis:
            return tuple(_drawn(np.exp(part - part.max()), self.rng) for part in self._parts)
        return divmod(_drawn(self.conditional().ravel(), self.rng), self.grid.shape[1])

    def _propose(self):
        around = self.grid.neighbours(self.at)
        if not around:
            return self.at
        new = around[self.rng.integers(len(around))]
        log_ratio = np.log(len(around)) - np.log(len(self.grid.neighbours(new)))
        for at, sign in ((new, 1), (self.at, -1)):
            log_ratio += sign * (self._parts[0][at[0]] + self._parts[1][at[1]] - self.log_zeta[at])
        return new if np.log1p(-self.rng.random()) < log_ratio else self.at

    def _observe(self):
        at, counts = np.array([self.at or (0, 0)], np.int32), CountHistograms.of(self)
        if not (self.augmented or self.functionals):
            return Observations(at, counts, None, np.empty((1, 0)))
        K = self.priors.n_components
        log_theta = random.log_dirichlet(self.rng, self.doc_topic_counts() + self.priors.doc)
        log_beta = random.log_dirichlet(self.rng, self.word_topic_counts[:, :K].T + self.priors.topic_word())
        sums = (np.array([part.sum()]) for part in (log_theta, log_beta))
        parameters = DirichletDraws(self.corpus.n_documents, K, self.corpus.n_features, *sums)
        theta, beta = np.exp(log_theta), np.exp(log_beta)
        return Observations(at, counts, parameters, np.array([[float(g(theta, beta)) for g in self.functionals]]))


class WordMajorTemperedChain(TemperedChain, WordMajorChain):
    """A `TemperedChain` with word-major sweeps, one in each call of a kernel."""

    _in_kernel = False


def _drawn(weights, rng):
    """An index with probability proportional to its weight."""
    running = np.cumsum(weights)
    return min(int(np.searchsorted(running, rng.random() * running[-1], side="right")), len(weights) - 1)


def _again(cls, corpus, priors, state, own):
    """A chain in another process. Received arrays may be read-only: counts are computed again, others are copied."""
    chain = object.__new__(cls)
    GibbsChain.__init__(chain, corpus, priors, state)
    parts = tuple(part.copy() for part in own["_parts"])
    vars(chain).update(own, log_zeta=own["log_zeta"].copy(), _parts=parts)
    return chain
