"""The step of a mixture of an unknown, finite number of topics T: shares, concentrations, and T itself.

    T ~ p(T),  pi | T ~ Dir(g, ..., g),  theta_d ~ Dir(gamma pi),  phi_k ~ Dir(eta)

This is a mixture of finite mixtures (Miller & Harrison 2018; Frühwirth-Schnatter, Malsiner-Walli & Grün 2021) above the
documents. Given the tables t_k of the n topics with tokens, M of them in all, pi can be integrated out:

    p(z, t) = V(n) prod_k G(g + t_k) / G(g),   V(n) = sum_T p(T) T! / (T - n)! G(g T) / G(g T + M),

without the factors that depend on the tables of documents only; G is the gamma function. So T given n, M and g has the
probability of its term, and g and gamma are drawn given the tables. Then pi is drawn given all of these, and a sweep
draws z given pi.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from sklda._core import random
from sklda._core.corpus import tally
from sklda._core.count_histograms import Histograms
from sklda._core.gibbs_em import BOUNDS
from sklda._core.rising import log_gamma_ratio, sum_of_log_gamma_ratios
from sklda._core.slice_sampling import slice_on_log
from sklda._models.compound.count_modes import Sample, are_worse, mode_of
from sklda._models.compound.hdp import HDPMixtures, topic_counts
from sklda._models.compound.hyperparameters import LEARNT_GAMMA, document_prior
from sklda._models.compound.split_merge import remove_topics, split_or_merge
from sklda._sampling.chain import compact_topics

# The logarithms of gamma and eta are normal around those of the first numbers, with the second number as standard
# deviation. So 95 % of eta lie between .002 and 5, and of gamma between .02 and 50.
GAMMA_PRIOR, ETA_PRIOR = (1.0, 2.0), (0.1, 2.0)
# That of g likewise; it is cut off at the bounds. With a g near 0, topics without tokens cost nothing, and T has no
# upper end.
G_PRIOR, G_BOUNDS = (1.0, 1.5), (0.5, 1e6)
# Shares are equal with this g, up to a part of 1e-3.
EQUAL = 1e6
# eta keeps its first value for this number of sweeps, in which the topics are still alike.
_ETA_WAITS = 10
# Sweeps between two draws of eta.
_ETA_EVERY = 2
# Sweeps between two attempts to split a topic or to merge two, and the number of tokens below which each sweep has one.
_MOVE_EVERY, _SMALL = 5, 500
# From `_SMALL` up to this number of tokens, the burn-in goes from many topics to one, and the evidence of the modes on
# the way decides. With more tokens, topics are merged while this raises the log posterior.
_WEIGHED = 60_000
# The part of the sweeps with merges after which the first topics are merged on this way.
_FORMING = 1 / 4
# Modes on the way with fewer tokens for each topic get no evidence: it takes long, and it was never high.
_TOKENS_EACH = 50
# After the merges every so many-th sweep is a sample of the present mode; and the number of samples.
_SAMPLE_EVERY, _SAMPLES = 5, 20
# Of the chains in turn: a topic is removed in the burn-in if this gains so many nats. With less, a topic that is needed
# is removed now and then, and with more, halves of topics are left over.
_LEAST_GAINS = 3.0, 8.0
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


@dataclass(frozen=True, eq=False)
class FinitePrior:
    """What is known before of T, g, gamma and eta.

    Attributes
    ----------
    counts : ndarray of shape (n_counts,), int
        Numbers of topics of positive probability, ascending.
    log_p : ndarray of shape (n_counts,)
        log p(T), up to a constant.
    g : float or None
        None: unknown.
    gammas : ndarray of shape (n_counts,) or None
        gamma at each number of topics. None: unknown.
    etas : ndarray of shape (n_counts,) or None
        eta at each number of topics, if it depends on it.
    draws_eta : bool
    """

    counts: np.ndarray
    log_p: np.ndarray
    g: float | None = None
    gammas: np.ndarray | None = None
    etas: np.ndarray | None = None
    draws_eta: bool = True

    def log_terms(self, n, n_tables, g, others=0.0):
        """log of the terms of V(n), (n_counts,), minus infinity below n; `others` are added."""
        log_factorials, left = self._log_factorials, self.counts - n
        chosen = np.where(left < 0, -np.inf, log_factorials[self.counts] - log_factorials[left])
        return self.log_p + chosen - log_gamma_ratio(g * self.counts, n_tables) + others

    @cached_property
    def _log_factorials(self):
        return gammaln(np.arange(self.counts[-1] + 1) + 1.0)

    @cached_property
    def place(self):
        """The position of each number of topics among `counts`, a dict."""
        return {int(T): i for i, T in enumerate(self.counts)}


class FiniteMixtures(HDPMixtures):
    """Draws T, g, pi, gamma and eta, and adds and removes topics.

    Parameters
    ----------
    model : CompoundModel
    seed : numpy.random.SeedSequence
    n_components : int
        The most topics.
    prior : FinitePrior
    number : int
        That of the chain.

    Attributes
    ----------
    n_topics : int
        T. Topics that are none of these have a share of zero.
    g : float
    posterior : ndarray of shape (n_counts,)
        Sums of p(T | tables, g, ...) over the sweeps after the burn-in.
    modes : list of CountMode
        Those on the way from many topics to one, in a small corpus.
    samples : list of Sample
        Of the last sweeps.
    shown_labels : ndarray of int or None
        The topics that are shown in results, in their order. None: all.
    """

    # In the rest of the burn-in they are removed.
    merging_share = 0.6

    def __init__(self, model, seed, n_components, prior, number):
        super().__init__(model, seed, n_components)
        self.prior, self.n_topics = prior, n_components
        self.least_gain = _LEAST_GAINS[number % len(_LEAST_GAINS)]
        self.g = G_PRIOR[0] if prior.g is None else prior.g
        self.gamma = GAMMA_PRIOR[0]
        self.posterior = np.zeros(len(prior.counts))
        self.eta = ETA_PRIOR[0] if prior.draws_eta else None
        self.shown_labels, self.shown_draws = None, []
        self.modes, self.samples = [], []
        self._best, self._n_first, self._is_pruned = None, None, False

    def begin(self, chain):
        place = self.prior.place[self.n_topics]
        if self.prior.gammas is not None:
            self.gamma = float(self.prior.gammas[place])
        if self.prior.etas is not None:
            self.eta = float(self.prior.etas[place])
        if self.eta is not None:
            chain.priors = chain.priors.with_eta(self.eta)
        super().begin(chain)

    # --- One sweep ---

    def move(self, chain, rng):
        prior = self.prior
        t = self._moved(chain, rng, self.draw_tables(chain)[0])
        n, M = np.count_nonzero(t), int(t.sum())
        if prior.gammas is None:
            self.gamma = slice_on_log(rng, self.gamma, self._gamma_density(chain.corpus, M), LEARNT_GAMMA)
        terms = self._other_terms(chain, M)
        if prior.g is None:
            self.g = slice_on_log(rng, self.g, self._g_density(t[t > 0], terms), G_BOUNDS)
        log_p = prior.log_terms(n, M, self.g, terms)
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        self.n_topics = int(prior.counts[np.searchsorted(np.cumsum(p), rng.random() * (1 - 1e-9), side="right")])
        if prior.gammas is not None:
            self.gamma = float(prior.gammas[prior.place[self.n_topics]])
        if prior.etas is not None:
            self.eta = float(prior.etas[prior.place[self.n_topics]])
            chain.priors = chain.priors.with_eta(self.eta)
        elif prior.draws_eta and chain.n_sweeps > _ETA_WAITS and chain.n_sweeps % _ETA_EVERY == 0:
            density = self._eta_density(chain.corpus, *self._word_histograms(chain))
            self.eta = slice_on_log(rng, float(chain.priors.word[0]), density, BOUNDS)
            chain.priors = chain.priors.with_eta(self.eta)
        if chain.n_sweeps > chain.n_burn_in:
            self.posterior = self.posterior + p
        self._draw_shares(rng, t)
        if self._weighs(chain) and (chain.n_sweeps <= self.n_merging or chain.n_sweeps % _SAMPLE_EVERY == 0):
            logs = {"g": np.log(self.g), "gamma": np.log(self.gamma)}
            if prior.draws_eta:
                logs["eta"] = np.log(self.eta)
            sample = Sample(t, *self._word_histograms(chain), np.exp(self.log_base), logs, p)
            self.samples = [*self.samples[1 - _SAMPLES :], sample]
        few = self.n_topics - np.count_nonzero(chain.topic_totals >= FEW_TOKENS)
        self.records.append((self.n_topics, *topic_counts(chain), few, self.g, self.gamma))

    def _moved(self, chain, rng, tables):
        """Tables after moves between numbers of topics: greedy ones in the burn-in, exact ones after it."""
        seed = random.child(self.seed, chain.n_sweeps, 1)
        if self.prior.etas is not None:
            return tables
        if chain.n_sweeps > chain.n_burn_in:
            due = chain.corpus.n_tokens < _SMALL or chain.n_sweeps % _MOVE_EVERY == 0
            return split_or_merge(self, chain, rng, tables, seed) if due else tables
        if chain.n_sweeps > self.n_merging and chain.n_sweeps % _REMOVE_EVERY == 0:
            return remove_topics(self, chain, rng, tables, seed)
        return tables

    # --- From many topics to one, in small corpora ---

    def merge(self, chain, stop, most=None):
        """Merge topics; in a small corpus so many that one is left at last, and the chain goes on in the best mode."""
        if not self._weighs(chain):
            super().merge(chain, stop)
            return
        n_passes = self.n_merging // self.merge_every
        first = int(_FORMING * n_passes)
        done, last = chain.n_sweeps // self.merge_every - first, n_passes - first
        if done < 1 or self._is_pruned:
            return
        n = np.count_nonzero(chain.topic_totals)
        self._n_first = self._n_first or n
        self._weigh(chain, n, stop)
        self.samples = []
        if done == last or are_worse(self.modes):
            self._is_pruned = True
            if self._best is not None:
                chain.topics, chain.priors, self.log_pi, self.log_base, self.g, self.gamma = self._best
                self._best = None
                chain.recount()
            return
        wanted = max(round(self._n_first ** (1 - done / (last - 1))), int(self.prior.counts[0]))
        if n > wanted:
            super().merge(chain, stop, n - wanted)

    def _weighs(self, chain):
        return self.prior.etas is None and len(self.prior.counts) > 1 and _SMALL <= chain.corpus.n_tokens <= _WEIGHED

    def _weigh(self, chain, n, stop):
        """Append the present mode to `modes`, and keep the state of the best one."""
        if n * _TOKENS_EACH > chain.corpus.n_tokens or (self.modes and self.modes[-1].n_topics == n):
            return
        mode = self.mode(chain, random.child(self.seed, chain.n_sweeps, 2), stop)
        if mode is not None:
            if mode.log_evidence > max((each.log_evidence for each in self.modes), default=-np.inf):
                self._best = chain.topics.copy(), chain.priors, self.log_pi, self.log_base, self.g, self.gamma
            self.modes.append(mode)

    def mode(self, chain, seed, stop):
        """The `CountMode` of the last samples, or None."""
        return mode_of(self, chain, self.samples, seed, stop) if self.samples else None

    def log_prior(self, n_topics, logs):
        """log p of a number of topics and of those of g, gamma and eta that are unknown, up to a constant."""
        value = self.prior.log_p[self.prior.place[n_topics]]
        if self.prior.g is None:
            value += _log_normal(logs["g"], G_PRIOR)
        if self.prior.gammas is None:
            value += _log_normal(logs["gamma"], GAMMA_PRIOR)
        if self.prior.draws_eta:
            value += _log_normal(logs["eta"], ETA_PRIOR)
        return value

    def log_p_given_tables(self, corpus, tables, g):
        """log p(T | tables, g), (n_counts,)."""
        n, n_tables = np.count_nonzero(tables), int(tables.sum())
        log_p = self.prior.log_terms(n, n_tables, g, self._gamma_terms(corpus, n_tables))
        return log_p - np.logaddexp.reduce(log_p)

    def densities(self, corpus, tables, words, totals):
        """Log densities of log g, log gamma and log eta given z and the tables, of those that are unknown; a dict."""
        densities, n_tables = {}, int(tables.sum())
        if self.prior.g is None:
            densities["g"] = self._g_density(tables[tables > 0], self._gamma_terms(corpus, n_tables))
        if self.prior.gammas is None:
            densities["gamma"] = self._gamma_density(corpus, n_tables)
        if self.prior.draws_eta:
            densities["eta"] = self._eta_density(corpus, words, totals)
        return densities

    def traces(self):
        values = np.reshape(self.records, (-1, len(RECORDED)))
        return {name: values[:, i] for i, name in enumerate(RECORDED)}

    def draw(self):
        return super().draw() | {"n_topics": self.n_topics, "eta": self.eta}

    def show(self, draws, n_topics):
        """Have the chain show those of its `KeptDraws` that have a number of topics, or else the nearest one.

        Of these, they are the draws that have the same topics with tokens as most of them. The topics are sorted by
        size, and the last ones may be without tokens.
        """
        counts = np.array([draw.added["n_topics"] for draw in draws.draws])
        chosen = np.flatnonzero(np.abs(counts - n_topics) == np.abs(counts - n_topics).min())
        tokens = {i: tally(draws.topics[i], draws.priors.n_components) for i in chosen.tolist()}
        kinds = {i: (each > 0).tobytes() for i, each in tokens.items()}
        # Later draws come first.
        most = max(reversed(kinds.values()), key=list(kinds.values()).count)
        self.shown_draws = [i for i, kind in kinds.items() if kind == most]
        sizes = sum(tokens[i] for i in self.shown_draws)
        shares = draws.draws[self.shown_draws[-1]].added["mixtures"][0]
        self.shown_labels = np.lexsort((-shares, -sizes))[: max(n_topics, np.count_nonzero(sizes))]

    def shown(self, draws):
        if self.shown_labels is None:
            return draws
        labels, K = self.shown_labels, len(self.shown_labels)
        place = np.zeros(draws.priors.n_components, np.int32)
        place[labels] = np.arange(K)
        shown = [
            draw._replace(
                topics=compact_topics(place[draw.topics], K),
                added=draw.added | {"mixtures": draw.added["mixtures"][:, labels]},
            )
            for draw in (draws.draws[i] for i in self.shown_draws)
        ]
        last = shown[-1].added
        priors = replace(draws.priors.resized(K), doc=document_prior(last["gamma"], last["mixtures"]))
        if last["eta"] is not None:
            priors = priors.with_eta(float(np.mean([draw.added["eta"] for draw in shown])))
        return replace(draws, priors=priors, draws=shown)

    def shown_topics(self, values):
        return values if self.shown_labels is None else values[..., self.shown_labels]

    # Log densities of the logarithms of gamma, g and eta given the rest, as functions.

    def _gamma_density(self, corpus, n_tables):
        lengths, numbers = corpus.distinct_lengths

        def log_density(x):
            return _log_normal(x, GAMMA_PRIOR) + n_tables * x - sum_of_log_gamma_ratios(np.exp(x), lengths, numbers)

        return log_density

    def _g_density(self, tables, terms):
        n, M, once = len(tables), int(tables.sum()), np.ones(len(tables))
        terms, counts = self.prior.log_terms(n, 0, 1.0, terms), self.prior.counts

        def log_density(x):
            g = np.exp(x)
            rising = sum_of_log_gamma_ratios(g, tables, once)
            return _log_normal(x, G_PRIOR) + rising + np.logaddexp.reduce(terms - log_gamma_ratio(g * counts, M))

        return log_density

    def _eta_density(self, corpus, words, totals):
        V, once = corpus.n_features, np.ones(len(totals))

        def log_density(x):
            eta = np.exp(x)
            return _log_normal(x, ETA_PRIOR) + words.sum_at(eta) - sum_of_log_gamma_ratios(eta * V, totals, once)

        return log_density

    @staticmethod
    def _word_histograms(chain):
        return Histograms.from_dense(chain.word_histogram()), chain.topic_totals[chain.topic_totals > 0]

    def log_v(self, corpus, n, n_tables):
        """log V(n), and the factors of gamma."""
        return np.logaddexp.reduce(self.prior.log_terms(n, n_tables, self.g, self._gamma_terms(corpus, n_tables)))

    def gamma_beside(self, n_others):
        """gamma, or if it depends on T, that of a number of topics near that of `n_others` and one or two more."""
        if self.prior.gammas is None:
            return self.gamma
        return float(
            self.prior.gammas[min(np.searchsorted(self.prior.counts, n_others + 1), len(self.prior.counts) - 1)]
        )

    def _gamma_terms(self, corpus, n_tables):
        if self.prior.gammas is None:
            return n_tables * np.log(self.gamma)
        return n_tables * np.log(self.prior.gammas) - self._log_lengths(corpus)

    def _other_terms(self, chain, n_tables):
        """What p(w, z, t | T) has beside V, because gamma or eta depends on T; (n_counts,)."""
        terms = np.zeros(len(self.prior.counts)) + self._gamma_terms(chain.corpus, n_tables)
        if self.prior.etas is not None:
            words, totals = self._word_histograms(chain)
            etas, V = self.prior.etas, chain.corpus.n_features
            terms += words.sum_of_log_rising(etas)[0] - log_gamma_ratio(etas[:, None] * V, totals).sum(axis=1)
        return terms

    def _log_lengths(self, corpus):
        """The sum over documents of log G(gamma + n_d) - log G(gamma) at each number of topics."""
        if not hasattr(self, "_of_lengths"):
            lengths, numbers = corpus.distinct_lengths
            self._of_lengths = log_gamma_ratio(self.prior.gammas[:, None], lengths) @ numbers
        return self._of_lengths

    def _draw_shares(self, rng, tables):
        """pi given the tables: of the topics with tables, and of as many of the others as belong to T."""
        self.log_base = self._shares(rng, tables, self._members(tables))
        self.log_pi = self.log_base[None].copy()

    def _members(self, tables):
        """The T topics, a mask: those with tables, and the first ones without."""
        members = tables > 0
        members[np.flatnonzero(~members)[: self.n_topics - np.count_nonzero(members)]] = True
        return members

    def _shares(self, rng, tables, members):
        log_shares = np.full(len(tables), -np.inf)
        log_shares[members] = random.log_dirichlet(rng, (self.g + tables[members])[None])[0]
        return log_shares

    # --- Merges in the burn-in ---

    def gains_of_shares(self, first, second, n_used, base_tables):
        """Changes of log p(z, t) by the shares if pairs of topics are merged, (n_pairs,)."""
        g, M, log_shares = self.g, int(base_tables.sum()), self.log_base
        log_sum, together = (
            np.logaddexp(log_shares[first], log_shares[second]),
            base_tables[first] + base_tables[second],
        )
        gains = log_gamma_ratio(g, together)
        for k in (first, second):
            gains += base_tables[k] * (log_shares[k] - log_sum) - log_gamma_ratio(g, base_tables[k])
        before, after = (np.logaddexp.reduce(self.prior.log_terms(n, M, g)) for n in (n_used, n_used - 1))
        return gains + after - before


def _log_normal(x, prior):
    """log density of x, up to a constant."""
    centre, spread = prior
    return -(((x - np.log(centre)) / spread) ** 2) / 2
