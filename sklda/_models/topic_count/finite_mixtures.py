"""The step of a mixture of an unknown, finite number of topics: it draws T, shares, concentrations and eta.

Given the tables of the topics, T, g and gamma are drawn with the shares integrated out; see `FinitePrior`. Then the
shares pi are drawn given all of these, and a sweep draws z given pi.
"""

from typing import NamedTuple

import numpy as np

from sklda._core import random
from sklda._core.gibbs_em import BOUNDS
from sklda._core.parallel import NEVER_STOP
from sklda._core.priors import Priors
from sklda._core.rising import log_gamma_ratio
from sklda._core.slice_sampling import slice_on_log
from sklda._models.topic_count.count_modes import Sample, are_worse, mode_of
from sklda._models.topic_count.finite_prior import ETA_PRIOR, G_BOUNDS, G_PRIOR, GAMMA_PRIOR
from sklda._models.topic_count.topic_moves import add_or_remove, remove_topics
from sklda._models.topic_count.word_prior import WordCounts, WordPrior, draw_levels, softmax
from sklda._sampling.mixture_step import LEARNT_GAMMA
from sklda._sampling.topics_in_use import TopicsInUse, topic_counts

# eta keeps its first value for this number of sweeps, in which the topics are still alike.
_ETA_WAITS = 10
# Sweeps between two draws of eta.
_ETA_EVERY = 4
# Below this number of tokens, topics are added and removed by exact moves only; with more, too few of them are
# accepted. There are so many sweeps between two of them. A chain begins with at most one topic for each so many tokens.
_SMALL, _MOVE_EVERY, _TOKENS_AT_FIRST = 500, 2, 25
# From `_SMALL` up to this number of tokens, the burn-in goes from many topics to one, and the evidence of the modes on
# the way decides. With more tokens, topics are merged while this raises the log posterior.
_WEIGHED = 60_000
# The part of the sweeps with merges after which the first topics are merged on this way.
_FORMING = 1 / 4
# Modes on the way with fewer tokens for each topic get no evidence: it takes long, and it was never high.
_TOKENS_EACH = 50
# After the merges every so many-th sweep is a sample of the present mode; and the number of samples.
_SAMPLE_EVERY, _SAMPLES = 5, 20
# Sweeps of the burn-in between two rounds in which topics are removed.
_REMOVE_EVERY = 20
# What a chain records after every sweep, by the names in `traces_`.
RECORDED = (
    "topic_count",
    "used_topic_count",
    "large_topic_count",
    "few_tokens_count",
    "share_concentration",
    "doc_concentration",
)
# Topics with fewer tokens are few for a reader.
FEW_TOKENS = 50


class _State(NamedTuple):
    """A chain and what its step has drawn in a mode."""

    topics: np.ndarray
    priors: Priors
    log_pi: np.ndarray
    log_base: np.ndarray
    g: float
    gamma: float
    eta: WordPrior | None
    samples: list[Sample]


class FiniteMixtures(TopicsInUse):
    """Draws T, g, pi, gamma and eta, and adds and removes topics.

    Parameters
    ----------
    n_documents : int
    seed : numpy.random.SeedSequence
    n_components : int
        The most topics.
    prior : FinitePrior

    Attributes
    ----------
    n_topics : int
        T. Topics that are none of these have a share of zero.
    g : float
    eta : WordPrior or None
        None: eta is given.
    posterior : ndarray of shape (n_counts,)
        Sums of p(T | tables, g, ...) over the sweeps after the burn-in.
    modes : list of CountMode
        Those on the way from many topics to one, in a small corpus.
    last_mode : CountMode or None
        That in which the chain ends.
    samples : list of Sample
        Of the last sweeps.
    """

    # In the rest of the burn-in they are removed.
    merging_share = 0.6

    def __init__(self, n_documents, seed, n_components, prior):
        super().__init__(np.zeros(n_documents, np.int64), 1, seed, n_components, GAMMA_PRIOR[0])
        self.prior, self.n_topics = prior, n_components
        self.g = G_PRIOR[0] if prior.g is None else prior.g
        is_given = not prior.draws_eta and prior.etas is None
        self.eta = None if is_given else WordPrior.equal(ETA_PRIOR[0], prior.n_features)
        self.posterior = np.zeros(len(prior.counts))
        self.modes, self.last_mode, self.samples = [], None, []
        self._states, self._n_first = {}, None

    def begin(self, chain):
        self.last_mode = None
        if chain.n_sweeps == 0 and self.is_exact(chain):
            self._begin_with_any_number(chain)
        if self.prior.draws_eta:
            self._set_eta(chain, self.eta)
        self._set_what_depends_on_count(chain)
        super().begin(chain)

    def is_exact(self, chain):
        """Whether all moves between numbers of topics keep the posterior, in the burn-in too."""
        return chain.corpus.n_tokens < _SMALL and self.prior.etas is None

    def _begin_with_any_number(self, chain):
        """Draw the first number of topics: from the largest one, the way down is longer than the burn-in."""
        rng, counts = np.random.default_rng(random.child(self.seed, 0)), self.prior.counts
        most = int(np.clip(chain.corpus.n_tokens // _TOKENS_AT_FIRST, counts[0], counts[-1]))
        self.n_topics = int(rng.choice(counts[counts <= most]))
        chain.topics %= self.n_topics
        chain.recount()
        self._set_shares(np.where(np.arange(len(self.log_base)) < self.n_topics, -np.log(self.n_topics), -np.inf))

    def _set_shares(self, log_base):
        self.log_base, self.log_pi = log_base, log_base[None].copy()

    def _set_what_depends_on_count(self, chain):
        """gamma and eta that are given for each number of topics."""
        self.gamma = self.prior.gamma_at(self.n_topics, self.gamma)
        if self.prior.etas is not None:
            self._set_eta(chain, self.eta._replace(eta=float(self.prior.etas[self.prior.place[self.n_topics]])))

    def _set_eta(self, chain, eta):
        self.eta = eta
        chain.priors = chain.priors.with_eta(eta.of_words())

    # --- One sweep ---

    def after(self, chain, stop):
        """Move between numbers of topics, and draw T, g, gamma, eta and the shares."""
        self._renumber(chain, self._used_before)
        if self.merges_after(chain) and not self.is_exact(chain):
            if self._weighs(chain):
                self._merge_on_the_way_to_one(chain, stop)
            else:
                tables = self.draw_tables(chain)
                self.merge(chain, tables, tables[0], stop)
        rng = np.random.default_rng(random.child(self.seed, chain.n_sweeps))
        # The seed of moves is made only where they are: it takes a part of the time of a small sweep.
        if self.is_exact(chain) and chain.n_sweeps % _MOVE_EVERY == 0:
            log_base = add_or_remove(self, chain, rng, random.child(self.seed, chain.n_sweeps, 1))
            if log_base is not None:
                self._set_shares(log_base)
                self.n_topics = np.count_nonzero(np.isfinite(log_base))
                self._set_what_depends_on_count(chain)
        tables = self.draw_tables(chain)[0]
        if self._removes_after(chain):
            tables = remove_topics(self, chain, rng, tables, random.child(self.seed, chain.n_sweeps, 1))
        posterior = self._draw_count_and_priors(chain, rng, tables)
        self._set_shares(self._drawn_shares(rng, tables))
        self.set_alpha(chain)
        if chain.n_sweeps > chain.n_burn_in:
            self.posterior = self.posterior + posterior
        if self._weighs(chain) and (chain.n_sweeps <= self.n_merging or chain.n_sweeps % _SAMPLE_EVERY == 0):
            self._keep_sample(chain, tables, posterior)
        few = self.n_topics - np.count_nonzero(chain.topic_totals >= FEW_TOKENS)
        self.records.append((self.n_topics, *topic_counts(chain), few, self.g, self.gamma))

    def _removes_after(self, chain):
        """Whether topics are removed after this sweep."""
        is_time = self.n_merging < chain.n_sweeps <= chain.n_burn_in and chain.n_sweeps % _REMOVE_EVERY == 0
        return is_time and not self.is_exact(chain) and self.prior.etas is None

    def _draw_count_and_priors(self, chain, rng, tables):
        """Draw those of gamma, g, T and eta that are unknown, given the tables. Returns p(T | tables, g)."""
        prior, M = self.prior, int(tables.sum())
        if prior.gammas is None:
            self.gamma = slice_on_log(rng, self.gamma, prior.gamma_density(M), LEARNT_GAMMA)
        terms = prior.gamma_terms(M, self.gamma)
        if prior.etas is not None:
            terms = terms + prior.eta_terms(WordCounts.of(chain))
        if prior.g is None:
            self.g = slice_on_log(rng, self.g, prior.g_density(tables[tables > 0], terms), G_BOUNDS)
        log_p = prior.log_terms(np.count_nonzero(tables), M, self.g, terms)
        p = softmax(log_p)
        self.n_topics = int(prior.counts[np.searchsorted(np.cumsum(p), rng.random() * (1 - 1e-9), side="right")])
        self._set_what_depends_on_count(chain)
        if prior.draws_eta and chain.n_sweeps > _ETA_WAITS and chain.n_sweeps % _ETA_EVERY == 0:
            counts = WordCounts.of(chain)
            eta = slice_on_log(rng, self.eta.eta, prior.eta_density(counts, self.eta.levels), BOUNDS)
            self._set_eta(chain, draw_levels(rng, self.eta._replace(eta=eta), counts))
        return p

    def _drawn_shares(self, rng, tables):
        """log pi given the tables: of the topics with tables, and of as many of the others as belong to T."""
        members = tables > 0
        members[np.flatnonzero(~members)[: self.n_topics - np.count_nonzero(members)]] = True
        log_shares = np.full(len(tables), -np.inf)
        log_shares[members] = random.log_dirichlet(rng, (self.g + tables[members])[None])[0]
        return log_shares

    # --- From many topics to one, in small corpora ---

    def _weighs(self, chain):
        is_weighed = not self.is_exact(chain) and chain.corpus.n_tokens <= _WEIGHED
        return is_weighed and self.prior.etas is None and len(self.prior.counts) > 1

    def _merge_on_the_way_to_one(self, chain, stop):
        """Merge so many topics that one is left at last, and then go on in one of the modes on the way."""
        n_passes = self.n_merging // self.merge_every
        first = int(_FORMING * n_passes)
        done, last = chain.n_sweeps // self.merge_every - first, n_passes - first
        if done < 1:
            return
        n = np.count_nonzero(chain.topic_totals)
        self._n_first = self._n_first or n
        if n * _TOKENS_EACH <= chain.corpus.n_tokens:
            self._states[n] = _State(
                topics=chain.topics.copy(),
                priors=chain.priors,
                log_pi=self.log_pi,
                log_base=self.log_base,
                g=self.g,
                gamma=self.gamma,
                eta=self.eta,
                samples=self.samples,
            )
        self.samples = []
        if done == last:
            self._go_on_in_a_likely_mode(chain, stop)
            return
        wanted = max(round(self._n_first ** (1 - done / (last - 1))), int(self.prior.counts[0]))
        if n > wanted:
            tables = self.draw_tables(chain)
            self.merge(chain, tables, tables[0], stop, n - wanted)

    def _go_on_in_a_likely_mode(self, chain, stop):
        """Weigh the modes on the way, from its middle in both directions until they are clearly worse; and choose one.

        Of those between which annealing does not decide, the chain goes on in that with the most topics: in the rest of
        the burn-in topics are removed, while new ones hardly form.
        """
        states, self._states, weighed = self._states, {}, {}
        numbers = sorted(states)
        middle = len(numbers) // 2
        for direction in (numbers[middle:], numbers[:middle][::-1]):
            own = []
            for n in direction:
                self._restore(chain, states[n])
                mode = self._mode(chain, random.child(self.seed, chain.n_sweeps, 2, n), stop)
                if mode is not None:
                    weighed[n] = mode
                    own.append(mode)
                if are_worse(own[-2:], weighed.values()):
                    break
        self.modes = list(weighed.values())
        if weighed:
            best = max(mode.log_evidence for mode in self.modes)
            likely = max(n for n, mode in weighed.items() if mode.log_evidence + mode.annealing_std >= best)
            self._restore(chain, states[likely])
        self.samples = []

    def _restore(self, chain, state):
        chain.topics, chain.priors = state.topics.copy(), state.priors
        chain.recount()
        self.log_pi, self.log_base = state.log_pi, state.log_base
        self.g, self.gamma, self.eta = state.g, state.gamma, state.eta
        self.samples = state.samples

    def _keep_sample(self, chain, tables, posterior):
        logs = {"g": np.log(self.g), "gamma": np.log(self.gamma)}
        words = WordCounts.of(chain) if self.prior.draws_eta else None
        sample = Sample(tables, words, self.eta, shares=np.exp(self.log_base), logs=logs, posterior=posterior)
        self.samples = [*self.samples[1 - _SAMPLES :], sample]

    def _mode(self, chain, seed, stop):
        """The `CountMode` of the last samples, or None."""
        return mode_of(self.prior, chain, self.samples, seed, stop) if self.samples else None

    def end(self, chain):
        """Weigh the mode in which the chain ends, with p(T) over all sweeps after the burn-in."""
        mode = self._mode(chain, random.child(self.seed, 0), NEVER_STOP) if self.posterior.any() else None
        self.last_mode = None if mode is None else mode._replace(posterior=self.posterior / self.posterior.sum())

    # --- Results ---

    def traces(self):
        values = np.reshape(self.records, (-1, len(RECORDED)))
        return {name: values[:, i] for i, name in enumerate(RECORDED)}

    def draw(self):
        return super().draw() | {"n_topics": self.n_topics, "eta": self.eta and self.eta.of_words()}

    # --- Merges in the burn-in ---

    def gains_of_shares(self, first, second, n_used, base_tables):
        g, M, log_shares = self.g, int(base_tables.sum()), self.log_base
        log_sum = np.logaddexp(log_shares[first], log_shares[second])
        together = base_tables[first] + base_tables[second]
        gains = log_gamma_ratio(g, together)
        for k in (first, second):
            gains += base_tables[k] * (log_shares[k] - log_sum) - log_gamma_ratio(g, base_tables[k])
        before, after = (self.prior.log_v(n, M, g, self.gamma) for n in (n_used, n_used - 1))
        return gains + after - before
