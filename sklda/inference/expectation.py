"""EM for the priors h = (eta, alpha): with draws of z in the E-step (Gibbs-EM), and with a variational posterior.

Both maximise E log p_h(z, w, ...) over h, one by one in log eta and log alpha, since it is a sum of a function of each.
Neither has a theory that ensures the maximum of m(h) (George & Doss 2018, section 5.1): Gibbs-EM follows the mode of z
that its chain is in and keeps the noise of its draws, and variational EM maximises a lower bound of m(h) instead.
"""

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, logsumexp

from sklda.inference import random
from sklda.inference.chain import GibbsChain
from sklda.inference.parallel import GO_ON, side_by_side
from sklda.inference.priors import CountHistograms, Priors, dirichlet_part, doc_histogram, log_rising

M_STEPS = ("newton", "fixed_point")

# Newton's method: the longest step in the logarithm of a prior, the step at which it ends, and steps at most.
_LONGEST, _SHORTEST, _STEPS = 2.0, 1e-8, 100
# Gibbs-EM: draws behind an M-step, and sweeps before them.
_DRAWS, _BURN_IN = 20, 5
# Pairs of document and word times topics that are worked on at a time.
_AT_A_TIME = 2**22


def newton(function, start, low, high):
    """Maximise a smooth function over a box by Newton's method, with steps that never lead down.

    Parameters
    ----------
    function : callable
        Of x (n,): the value, the gradient (n,) and the second derivatives (n, n).
    start, low, high : array-like of shape (n,)

    Returns
    -------
    x : ndarray of shape (n,)
        A local maximum, perhaps at an edge of the box.
    n_steps : int
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    x = np.clip(start, low, high)
    value, gradient, curvature = function(x)
    for n_steps in range(1, _STEPS + 1):
        free = ~((x <= low) & (gradient < 0) | (x >= high) & (gradient > 0))
        # Where the function bends upwards, the step is as long as if it bent downwards as much.
        bends, axes = np.linalg.eigh(-curvature[np.ix_(free, free)])
        bends = np.maximum(np.abs(bends), 1e-12 + 1e-10 * np.abs(bends).max(initial=0))
        step = np.zeros_like(x)
        step[free] = axes @ ((axes.T @ gradient[free]) / bends)
        step *= min(1, _LONGEST / max(np.abs(step).max(initial=0), _LONGEST))
        while np.abs(step).max(initial=0) > _SHORTEST:
            new = np.clip(x + step, low, high)
            found = function(new)
            if found[0] >= value - 1e-12 * abs(value):
                break
            step /= 4
        else:
            return x, n_steps
        moved = np.abs(new - x).max()
        x, (value, gradient, curvature) = new, found
        if moved <= _SHORTEST:
            return x, n_steps
    return x, _STEPS


def newton_step(parts, log_h, region):
    """log (eta, alpha) that maximises a function of eta plus a function of alpha.

    Parameters
    ----------
    parts : pair of callable
        Of (prior (1,), order): the function of that prior, or its derivative with respect to the prior's logarithm, as
        an array whose mean is meant; such as ``word_part`` and ``doc_part`` of `CountHistograms`.
    log_h : array-like of shape (2,)
        Where to start.
    region : pair of pairs of float
        ((eta_low, eta_high), (alpha_low, alpha_high)).

    Returns
    -------
    ndarray of shape (2,)
    """
    return np.array(
        [
            newton(_mean_of(part), [start], *np.log(edges)[:, None])[0][0]
            for part, start, edges in zip(parts, log_h, region, strict=True)
        ]
    )


def fixed_point_step(draws, log_h, region, n_iter=1000, tol=1e-6):
    """The same for `CountHistograms` by Minka's fixed point, as in Wallach's Gibbs-EM; it may take hundreds of steps.

    With f the sum of log rising factorials, the numerator is its derivative by the counts of topics, the denominator
    that by the totals: a <- a * f_counts'(log a) / f_totals'(log a) (Minka 2003; Wallach 2006).
    """
    result = []
    size = draws.totals.shape[1]
    for counts, totals, start, edges in (
        (draws.word, lambda x: log_rising(x * draws.n_features, draws.totals.ravel(), 1).sum(), log_h[0], region[0]),
        (draws.doc, lambda x: len(draws) * draws.lengths.rising(x * size, 1).sum(), log_h[1], region[1]),
    ):
        x = start
        for _ in range(n_iter):
            prior = np.exp([x])
            new = np.clip(x + np.log(counts.rising(prior, 1).sum() / totals(prior)), *np.log(edges))
            x, moved = new, abs(new - x)
            if moved < tol:
                break
        result.append(x)
    return np.array(result)


def _mean_of(part):
    """A function of (log a,) for `newton`, from a part of log p with its derivatives."""

    def function(x):
        value, first, second = (float(np.mean(part(np.exp(x), order=order))) for order in range(3))
        return value, np.array([first]), np.array([[second]])

    return function


def topic_alphas(histogram, lengths, start, edges):
    """log alpha, one per topic, that maximises the mean of log p(z | alpha).

    Parameters
    ----------
    histogram : ndarray of shape (n_components, n_counts)
        ``histogram[k, n]`` is how often n_dk = n, on average over draws.
    lengths : ndarray of shape (n_counts,)
        How often n_d = n.
    start : ndarray of shape (n_components,)
        log alpha.
    edges : pair of float
        Of alpha.

    Returns
    -------
    ndarray of shape (n_components,)
    """
    occurs = np.flatnonzero(histogram.any(axis=0))
    histogram, n_d = histogram[:, occurs], np.flatnonzero(lengths)

    def function(x):
        alpha = np.exp(x)
        share = alpha / alpha.sum()
        value, first, second = ((histogram * log_rising(alpha, occurs, order)).sum(axis=1) for order in range(3))
        totals = [(lengths[n_d] * log_rising(alpha.sum(keepdims=True), n_d, order)).sum() for order in range(3)]
        curvature = np.diag(second - share * totals[1]) - np.outer(share, share) * (totals[2] - totals[1])
        return value.sum() - totals[0], first - share * totals[1], curvature

    low, high = (np.full(len(start), edge) for edge in np.log(edges))
    return newton(function, start, low, high)[0]


class EMChain(GibbsChain):
    """A `GibbsChain` whose priors are set anew, by maximising the mean of log p(w, z | h), after every so many sweeps.

    Parameters
    ----------
    chain : GibbsChain
        Where it goes on from; its priors are the first h. Symmetric eta; alpha symmetric or one per topic.
    region : pair of pairs of float
        ((eta_low, eta_high), (alpha_low, alpha_high)); h stays there.
    n_draws : int
        Draws of z, one a sweep, that an M-step rests on.
    n_burn_in : int
        Sweeps before them that are thrown away.
    per_topic : bool
        Whether every topic has an alpha of its own.
    m_step : {"newton", "fixed_point"}
        Newton's method on log h; or Minka's fixed point, for symmetric priors.

    Attributes
    ----------
    path : list of ndarray of shape (2,) or (1 + n_components,)
        log (eta, alpha), at the start and after every M-step.
    """

    def __init__(self, chain, region, *, n_draws, n_burn_in, per_topic=False, m_step="newton"):
        super().__init__(chain.corpus, chain.priors, chain.snapshot())
        if per_topic and m_step != "newton":
            raise ValueError("m_step='fixed_point' is for a symmetric alpha; with per_topic=True use 'newton'.")
        self._options = {"region": region, "n_draws": n_draws, "n_burn_in": n_burn_in}
        self._options |= {"per_topic": per_topic, "m_step": m_step}
        alpha = self.priors.doc[0] if per_topic else self.priors.doc[0, :1]
        h = np.concatenate([self.priors.word[:1], alpha])
        bounds = np.array([region[0], *[region[1]] * (len(h) - 1)])
        self.path, self._draws, self._histogram, self._phase = [], [], 0, 0
        self._move(np.log(np.clip(h, *bounds.T)))

    def __reduce__(self):
        plain = GibbsChain(self.corpus, self.priors, self.snapshot())
        own = {name: getattr(self, name) for name in ("path", "_draws", "_histogram", "_phase")}
        return _again, (plain, self._options, own)

    def sweep(self, stop=GO_ON):
        """Draw every token; where an E-step ends, take the M-step."""
        super().sweep(stop)
        options = self._options
        self._phase += 1
        if self._phase > options["n_burn_in"]:
            self._draws.append(CountHistograms.of(self))
            if options["per_topic"]:
                self._histogram = self._histogram + doc_histogram(self, by_topic=True)
        if len(self._draws) == options["n_draws"]:
            self._move(self._maximum())
            self._draws, self._histogram, self._phase = [], 0, 0

    def log_h(self):
        """Mean of log (eta, alpha) over the last half of the M-steps, whose draws' noise averages out."""
        return np.mean(self.path[len(self.path) // 2 :], axis=0)

    def _maximum(self):
        draws, region, present = CountHistograms.stack(self._draws), self._options["region"], self.path[-1]
        if self._options["m_step"] == "fixed_point":
            return fixed_point_step(draws, present, region)
        if not self._options["per_topic"]:
            return newton_step((draws.word_part, draws.doc_part), present, region)
        eta = newton(_mean_of(draws.word_part), present[:1], *np.log(region[0])[:, None])[0]
        histogram, lengths = self._histogram / len(draws), np.bincount(self.corpus.lengths)
        return np.concatenate([eta, topic_alphas(histogram, lengths, present[1:], region[1])])

    def _move(self, log_h):
        self.path.append(log_h)
        eta, alpha = np.exp(log_h[0]), np.exp(log_h[1:])
        self.priors = Priors.make(
            alpha if len(alpha) > 1 else float(alpha[0]), float(eta), self.priors.n_components, self.corpus.n_features
        )


def _again(chain, options, own):
    chain = EMChain(chain, **options)
    vars(chain).update(own)
    return chain


@dataclass(frozen=True, eq=False)
class VariationalFit:
    """A variational posterior and the h that it led to.

    Attributes
    ----------
    path : ndarray of shape (n_iter + 1, 2)
        log (eta, alpha), at the start and after every M-step.
    bound : ndarray of shape (n_iter,)
        The lower bound of log m(h) at the end of every E-step, nats.
    doc_topic : ndarray of shape (n_documents, n_components)
        Dirichlet parameters of theta.
    topic_word : ndarray of shape (n_components, n_features)
        Dirichlet parameters of phi.
    """

    path: np.ndarray
    bound: np.ndarray
    doc_topic: np.ndarray
    topic_word: np.ndarray

    def log_h(self):
        """log (eta, alpha) after the last M-step."""
        return self.path[-1]


def variational_em(chain, region, *, n_iter=100, n_inner=100, tol=1e-7, stop=GO_ON):
    """EM with independent posteriors of theta, phi and z: for the model with a prior on phi.

    The E-step is coordinate ascent on the lower bound of log m(h): tokens given Dirichlets, then Dirichlets given
    tokens. The M-step is `newton_step`. Blei et al. (2003) have a fixed phi in place of its prior; what George & Doss
    (2018) call VI-EM is this.

    Parameters
    ----------
    chain : GibbsChain
        Its counts and symmetric priors are where the ascent starts.
    region : pair of pairs of float
        ((eta_low, eta_high), (alpha_low, alpha_high)); h stays there.
    n_iter : int, default=100
        M-steps at most.
    n_inner : int, default=100
        Passes over the corpus in each E-step at most.
    tol : float, default=1e-7
        An E-step ends when a pass adds less than this part of the bound, and the ascent when h moves by less than the
        square root of it, in logs.
    stop : callable
        Called within every pass; raises to end the ascent.

    Returns
    -------
    VariationalFit
    """
    corpus, K = chain.corpus, chain.priors.n_components
    X = csr_array(corpus.to_counts())
    log_h = np.clip(np.log([chain.priors.word[0], chain.priors.doc[0, 0]]), *np.log(region).T)
    doc_counts, word_counts = chain.doc_topic_counts(), chain.word_topic_counts[:, :K].T.astype(np.float64)
    path, bounds = [log_h], []
    # A document without words says nothing about alpha.
    says = corpus.lengths > 0
    for _ in range(n_iter):
        eta, alpha = np.exp(log_h)
        bound = -np.inf
        for _inner in range(n_inner):
            gamma, lambda_ = doc_counts + alpha, word_counts + eta
            log_theta, log_phi = expected_log(gamma), expected_log(lambda_)
            doc_counts, word_counts, log_words = _expected_counts(X, log_theta, log_phi, stop)
            before = bound
            bound = log_words - divergence(gamma[says], alpha).sum() - divergence(lambda_, eta).sum()
            if bound - before < tol * abs(bound):
                break
        bounds.append(bound)
        parts = (
            partial(dirichlet_part, n=K, size=corpus.n_features, log_sums=[log_phi.sum()]),
            partial(dirichlet_part, n=int(says.sum()), size=K, log_sums=[log_theta[says].sum()]),
        )
        log_h = newton_step(parts, log_h, region)
        path.append(log_h)
        if np.abs(log_h - path[-2]).max() < np.sqrt(tol):
            break
    return VariationalFit(np.array(path), np.array(bounds), gamma, lambda_)


def expectation_maximisation(plan, method, per_topic):
    """The priors by EM from random starts, as the paper compares them.

    Parameters
    ----------
    plan : Plan
    method : {"gibbs_em", "variational_em"}
    per_topic : bool
        Whether every topic has an alpha of its own; Gibbs-EM alone.

    Returns
    -------
    list of GibbsChain
        At the priors found, after `n_tuning` sweeps there.
    """
    chains = [GibbsChain.start(plan.corpus, plan.priors, random.child(plan.seed, 3, c)) for c in range(plan.n_chains)]
    if method == "gibbs_em":
        n_draws = max(min(_DRAWS, plan.max_iter - _BURN_IN), 1)
        options = {"n_draws": n_draws, "n_burn_in": _BURN_IN, "per_topic": per_topic}
        chains = plan.sweep([EMChain(chain, plan.region, **options) for chain in chains], plan.max_iter)
        found = [chain.log_h() for chain in chains]
        # Topics have no order, so each chain keeps the alphas of its own topics.
        found = found if per_topic else [np.mean(found, axis=0)] * len(found)
    else:
        chains = plan.sweep(chains, plan.n_tuning)
        tasks = [(chain, plan.region, plan.max_iter) for chain in chains]
        fits = side_by_side(_ascend, tasks, plan.n_jobs)
        found = [max(fits, key=lambda fit: fit.bound[-1]).log_h()] * len(chains)
    K, V = plan.priors.n_components, plan.corpus.n_features
    for c, log_h in enumerate(found):
        h = np.exp(log_h)
        priors = Priors.make(h[1:] if per_topic else float(h[1]), float(h[0]), K, V)
        chains[c] = GibbsChain(plan.corpus, priors, chains[c].snapshot())
    return plan.sweep(chains, plan.n_tuning)


def _ascend(chain, region, n_iter, stop):
    return variational_em(chain, region, n_iter=n_iter, stop=stop)


def expected_log(parameters):
    """E log of the entries of Dirichlet vectors, one a row."""
    return digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True))


def divergence(parameters, prior):
    """Kullback-Leibler divergence of Dirichlet distributions, one a row, from the symmetric one; nats."""
    total, size = parameters.sum(axis=1), parameters.shape[1]
    return (
        gammaln(total)
        - gammaln(parameters).sum(axis=1)
        - gammaln(size * prior)
        + size * gammaln(prior)
        + ((parameters - prior) * expected_log(parameters)).sum(axis=1)
    )


def _expected_counts(X, log_theta, log_phi, stop):
    """Counts of topics by document and by word, and the sum over tokens of log sum_k exp(log theta + log phi)."""
    K = log_theta.shape[1]
    doc_counts, word_counts, log_words = np.zeros_like(log_theta), np.zeros((X.shape[1], K)), 0.0
    pairs = max(_AT_A_TIME // K, 1)
    edges = np.unique(np.searchsorted(X.indptr, np.arange(0, X.nnz + pairs, pairs), side="right") - 1)
    for first, last in itertools.pairwise(edges):
        stop()
        own = slice(X.indptr[first], X.indptr[last])
        words, counts, n = X.indices[own], X.data[own], X.indptr[last] - X.indptr[first]
        rows = np.repeat(np.arange(first, last), np.diff(X.indptr[first : last + 1]))
        log_p = log_theta[rows] + log_phi[:, words].T
        log_total = logsumexp(log_p, axis=1, keepdims=True)
        share = np.exp(log_p - log_total)
        doc_counts[first:last] = csr_array((counts, np.arange(n), X.indptr[first : last + 1] - own.start)) @ share
        word_counts += csr_array((counts, (words, np.arange(n))), shape=(X.shape[1], n)) @ share
        log_words += counts @ log_total[:, 0]
    return doc_counts, word_counts.T, float(log_words)
