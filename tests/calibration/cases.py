"""The table of posteriors that are calibrated: each draws the truth from its prior, a corpus from it, and fits.

A new posterior is one function and one entry of `CASES`. The function takes a random generator and what its mutation
changes, and returns a `Fit`.
"""

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.exceptions import ConvergenceWarning

from calibration.ranks import rank
from sklda import HDPLDA, CompoundLDA, CovariateLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda._core.corpus import tally
from sklda.inspection import token_topics
from sklda.papers.empirical_bayes import full_bayes

N_DRAWS = 19
K, V = 3, 12
# Words that tell topics apart, so that topics keep their names in a chain: eta.
ANCHORS = np.where(np.arange(V) % K == np.arange(K)[:, None], 1.0, 0.15)
# Sweeps of a chain, its burn-in with the annealed sweeps, and sweeps between its draws.
CHAIN = {"max_iter": 1000, "burn_in": 430, "n_draws": N_DRAWS, "draw_every": 30}


@dataclass
class Fit:
    """Quantities of one fit.

    Attributes
    ----------
    ranked : dict of {str: (float, array-like of shape (n_draws,))}
        By quantity, its true value and its draws. None of them depends on the names of topics that are not anchored.
    squares : dict of {str: (float, float)}
        By stated standard deviation, the squared distance of the posterior mean from the true value, and the square of
        the standard deviation, both summed. Their expectations are the same.
    """

    ranked: dict[str, tuple]
    squares: dict[str, tuple] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A posterior that is calibrated.

    Attributes
    ----------
    name : str
    fit : callable
        ``fit(rng, **broken)`` returns a `Fit`.
    broken : dict
        What the mutation changes.
    mutation : str
        The same in words.
    short : int
        Number of fits in the suite; 0 if it has none.
    """

    name: str
    fit: Callable[..., Fit]
    broken: dict[str, Any]
    mutation: str
    short: int = 0

    def run(self, seed, mutated=False):
        """Ranks by quantity, and squares by standard deviation, of one fit."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = self.fit(rng, **self.broken if mutated else {})
        return {name: rank(*pair, rng) for name, pair in found.ranked.items()}, found.squares


def seed_of(rng):
    return int(rng.integers(2**31))


def draw_words(rng, theta, phi, length):
    """Counts of words, (n_documents, n_features)."""
    mixed = theta @ phi
    return np.array([rng.multinomial(length, row / row.sum()) for row in mixed])


def draw_tokens(rng, theta, phi, length):
    """Topic counts of documents (n_documents, n_topics), and their counts of words given these."""
    tokens = np.array([rng.multinomial(length, row) for row in theta])
    return tokens, sum(np.array([rng.multinomial(n, phi[k]) for n in tokens[:, k]]) for k in range(len(phi)))


def draw_topics(rng, eta):
    """phi, a Dirichlet draw for each row of eta."""
    return np.array([rng.dirichlet(row) for row in eta])


def log_likelihood(X, theta, phi):
    return (X * np.log(np.maximum(theta @ phi, 1e-300))).sum()


def of_documents(X, truth, draws):
    """Quantities of (theta, phi) that do not depend on the names of topics."""
    pairs = [truth, *zip(*draws, strict=True)]
    functions = {
        "similarity of two documents": lambda theta, phi: theta[0] @ theta[1],
        "entropy of a document": lambda theta, phi: entr(theta[0]).sum(),
        "probability of a word": lambda theta, phi: theta[0] @ phi[:, 0],
        "log-likelihood": lambda theta, phi: log_likelihood(X, theta, phi),
    }
    found = {name: [function(*map(np.asarray, pair)) for pair in pairs] for name, function in functions.items()}
    return {name: (values[0], values[1:]) for name, values in found.items()}


def squares_of(true, mean, std):
    return float(np.sum((np.asarray(true) - mean) ** 2)), float(np.sum(np.square(std)))


def theta(rng, alpha=0.5, fitted_alpha=0.5, sampler="collapsed"):
    """theta, phi and shares of `GibbsLDA`."""
    phi, true = draw_topics(rng, ANCHORS), rng.dirichlet(np.full(K, alpha), 15)
    z, X = draw_tokens(rng, true, phi, 20)
    given = {"doc_topic_prior": fitted_alpha, "topic_word_prior": ANCHORS, "sampler": sampler}
    lda = GibbsLDA(K, **given, **CHAIN, random_state=seed_of(rng)).fit(X)
    drawn = lda.sample_posterior(N_DRAWS, seed_of(rng))
    share, tokens = z.sum(axis=0) / z.sum(), lda._results_.draws[0].topics
    shares = np.array([tally(each, K) for each in tokens]) / z.sum()
    ranked = of_documents(X, (true, phi), (drawn.doc_topic, drawn.topic_word))
    ranked["theta of a topic"] = true[0, 0], drawn.doc_topic[:, 0, 0]
    ranked["largest share"] = share.max(), shares.max(axis=1)
    ranked["share of a topic"] = share[0], shares[:, 0]
    squares = {
        "doc_topic_std_": squares_of(true, lda.doc_topic_, lda.doc_topic_std_),
        "topic_share_std_": squares_of(share, lda.topic_share_, lda.topic_share_std_),
    }
    return Fit(ranked, squares)


def new_documents(rng, fitted_alpha=0.5):
    """theta of new documents, given the topics: `transform`, and draws of the topics of their tokens."""
    phi, true = draw_topics(rng, ANCHORS), rng.dirichlet(np.full(K, 0.5), 2)
    X = draw_words(rng, true, phi, 20)
    lda = GibbsLDA(K, doc_topic_prior=fitted_alpha, topic_word_prior=ANCHORS, max_iter=1, random_state=0).fit(X[::-1])
    lda.components_, lda.fold_in_iter = phi, 40
    draws = []
    for _ in range(N_DRAWS):
        lda._fold_in_seed_ = seed_of(rng)
        tokens = token_topics(lda, X)
        counts = np.zeros((2, K))
        np.add.at(counts, (np.asarray(tokens["document"]), np.asarray(tokens["topic"])), 1)
        draws.append([rng.dirichlet(row + fitted_alpha) for row in counts])
    draws = np.array(draws)
    ranked = of_documents(X, (true, phi), (draws, np.repeat(phi[None], N_DRAWS, axis=0)))
    ranked["theta of a topic"] = true[0, 0], draws[:, 0, 0]
    return Fit(ranked)


# h is drawn from this grid.
ALPHAS, ETAS = np.geomspace(0.1, 2, 15), np.geomspace(0.1, 2, 15)
_REGION = tuple((h[0], h[-1]) for h in (ALPHAS, ETAS))


def priors(rng, paper=None, copies=1, **options):
    """h = (alpha, eta), uniform on a grid in log h, by the log m(h) of `EmpiricalBayesLDA` or of a function."""
    alpha, eta = rng.choice(ALPHAS), rng.choice(ETAS)
    phi, true = draw_topics(rng, np.full((2, V), eta)), rng.dirichlet(np.full(2, alpha), 12)
    X = draw_words(rng, true, phi, 15)
    options |= {"n_chains": 2, "max_iter": 600, "random_state": seed_of(rng)}
    found = paper(copies * X, 2, **options) if paper else EmpiricalBayesLDA(2, **options).fit(copies * X)
    log_m = found.log_marginal_likelihood(ALPHAS[:, None], ETAS).ravel()
    p = np.exp(log_m - log_m.max())
    i, j = np.unravel_index(rng.choice(len(p), N_DRAWS, p=p / p.sum()), (len(ALPHAS), len(ETAS)))
    ranked = {
        "alpha": (alpha, ALPHAS[i]),
        "eta": (eta, ETAS[j]),
        "alpha eta": (np.log(alpha * eta).round(9), np.log(ALPHAS[i] * ETAS[j]).round(9)),
    }
    return Fit(ranked)


def topic_count(rng, most=5, shape=(12, V, 12), h=0.3, **options):
    """T, uniform on 1, ..., most, and (z, theta, phi) of all T by an estimator; shape: documents, words, length.

    With ``h=None`` alpha and eta are unknown. Their logarithms are then uniform, while those of the fit are normal.
    """
    (n_documents, n_features, length), T = shape, int(rng.integers(1, most + 1))
    given = dict(options)
    if h is None:
        alpha, eta = np.exp(rng.uniform(*np.log([[0.05, 0.02], [0.5, 0.2]])))
    else:
        alpha = eta = given["doc_topic_prior"] = given["topic_word_prior"] = h
    phi, true = draw_topics(rng, np.full((T, n_features), eta)), rng.dirichlet(np.full(T, alpha), n_documents)
    X = draw_words(rng, true, phi, length)
    lda = TopicCountLDA(min_components=1, max_components=most, **given, random_state=seed_of(rng)).fit(X)
    drawn = lda.sample_posterior(N_DRAWS, seed_of(rng))
    counts = rng.choice(lda.topic_counts_, N_DRAWS, p=lda.topic_count_posterior_)
    return Fit({"T": (T, counts), **of_documents(X, (true, phi), (drawn.doc_topic, drawn.topic_word))})


def mixtures(rng, fitted_gamma=2.0):
    """pi and alpha of `CompoundLDA`, with a Gamma prior of alpha."""
    alpha = rng.gamma(2.0, 0.5)
    pi, phi = rng.dirichlet(np.full(K, alpha), 2), draw_topics(rng, ANCHORS)
    collections = np.arange(16) % 2
    true = np.array([rng.dirichlet(2.0 * pi[j] + 1e-12) for j in collections])
    X = draw_words(rng, true, phi, 20)
    given = {"doc_concentration": fitted_gamma, "collection_topic_prior": (2.0, 2.0), "topic_word_prior": ANCHORS}
    lda = CompoundLDA(K, **given, **CHAIN, random_state=seed_of(rng)).fit(X, collections=collections)
    drawn, chain = lda.sample_posterior(N_DRAWS, seed_of(rng)), lda.collection_topic_draws_[-N_DRAWS:]
    alphas = next(step.alphas for step in lda._results_.states[0].steps if hasattr(step, "alphas"))
    ranked = {
        "alpha": (alpha, alphas[-CHAIN["draw_every"] * N_DRAWS :: CHAIN["draw_every"]]),
        "similarity of two mixtures": (pi[0] @ pi[1], (chain[:, 0] * chain[:, 1]).sum(axis=1)),
        "largest part of a mixture": (pi[0].max(), chain[:, 0].max(axis=1)),
        "a part of a mixture": (pi[0, 0], chain[:, 0, 0]),
    }
    ranked |= of_documents(X, (true, phi), (drawn.doc_topic, drawn.topic_word))
    squares = {"doc_topic_std_": squares_of(true, lda.doc_topic_, lda.doc_topic_std_)}
    pi_std = squares_of(pi, lda.collection_topic_, lda.collection_topic_std_)
    return Fit(ranked, squares | {"collection_topic_std_": pi_std})


def hierarchical(rng, fitted_shape=2.0, n_topics=20):
    """Concentrations and numbers of topics of `HDPLDA`."""
    a, gamma = rng.gamma(2.0), rng.gamma(2.0)
    pi, phi = rng.dirichlet(np.full(n_topics, a / n_topics)), draw_topics(rng, np.full((n_topics, V), 0.3))
    theta = np.array([rng.dirichlet(np.maximum(gamma * pi, 1e-9)) for _ in range(12)])
    tokens, X = draw_tokens(rng, theta, phi, 20)
    given = {"topic_concentration": (fitted_shape, 1.0), "doc_concentration": (2.0, 1.0), "topic_word_prior": 0.3}
    lda = HDPLDA(max_components=n_topics, **given, **CHAIN, n_chains=1, random_state=seed_of(rng))
    lda.fit(X)
    every = CHAIN["draw_every"]
    last = slice(-1, -every * N_DRAWS - 1, -every)
    sizes = np.sort(tokens.sum(axis=0))[::-1]
    ranked = {
        "topics in use": (np.count_nonzero(sizes), lda.topic_count_draws_[last]),
        "topics with 99 % of the tokens": (
            np.searchsorted(sizes.cumsum(), 0.99 * sizes.sum()) + 1,
            lda.large_topic_count_draws_[last],
        ),
        "topic concentration": (a, lda.concentration_draws_["topic_concentration"][last]),
        "document concentration": (gamma, lda.concentration_draws_["doc_concentration"][last]),
    }
    return Fit(ranked)


def labels(rng, fitted_alpha=0.5):
    """theta and phi of `LabeledLDA`, given the labels."""
    y = (rng.random((15, K)) < 0.6).astype(int)
    y[:2] = 1
    y[np.arange(2, 15), rng.integers(K, size=13)] = 1
    phi = draw_topics(rng, np.full((K, V), 0.3))
    gammas = rng.gamma(0.5, size=(15, K)) * y
    true = gammas / gammas.sum(axis=1, keepdims=True)
    X = draw_words(rng, true, phi, 20)
    given = {"doc_topic_prior": fitted_alpha, "topic_word_prior": 0.3, "label_count": 1}
    chain = {"max_iter": 300, "n_draws": N_DRAWS, "draw_every": 7}
    lda = LabeledLDA(**given, **chain, n_chains=2, random_state=seed_of(rng)).fit(X, y)
    # Draws are five sweeps apart, so each fourth one.
    drawn = lda.sample_posterior(4 * N_DRAWS, seed_of(rng))
    drawn = drawn.doc_topic[3::4], drawn.topic_word[3::4]
    ranked = of_documents(X, (true, phi), drawn)
    ranked["theta of a label"] = true[0, 0], drawn[0][:, 0, 0]
    ranked["probability of a word in a label"] = phi[0, 0], drawn[1][:, 0, 0]
    several = (y == 1) & (y.sum(axis=1, keepdims=True) > 1)
    found = (each[several] for each in (true, lda.doc_topic_, lda.doc_topic_std_))
    return Fit(ranked, {"doc_topic_std_": squares_of(*found)})


def coefficients(rng, fitted_scale=0.8):
    """Coefficients of `CovariateLDA`."""
    x = np.linspace(-1, 1, 16)
    x /= x.std()
    intercepts, slopes = rng.normal(np.log(0.5), 2.0, K), rng.normal(0, 0.8, K)
    phi = draw_topics(rng, ANCHORS)
    true = np.array([rng.dirichlet(np.maximum(np.exp(intercepts + at * slopes), 1e-9)) for at in x])
    X = draw_words(rng, true, phi, 20)
    given = {"coef_scale": fitted_scale, "doc_topic_prior": 0.5, "topic_word_prior": ANCHORS}
    chain = {"max_iter": 500, "burn_in": 215}
    lda = CovariateLDA(K, **given, **chain, random_state=seed_of(rng)).fit(X, covariates=x[:, None])
    last = slice(-1, -15 * N_DRAWS - 1, -15)
    ranked = {
        "intercept": (intercepts[0], lda.intercept_draws_[last, 0]),
        "slope": (slopes[0], lda.coef_draws_[last, 0, 0]),
        "largest slope": (slopes.max(), lda.coef_draws_[last, :, 0].max(axis=1)),
    }
    return Fit(ranked, {"coef_std_": squares_of(slopes, lda.coef_[:, 0], lda.coef_std_[:, 0])})


def _of(function, **given):
    return lambda rng, **broken: function(rng, **given | broken)


_EQUAL = {"share_concentration": "equal", "n_draws": 100, "draw_every": 4}
# Corpora of 2,000 tokens in which words tell most of the topics apart.
_MANY = {"most": 30, "shape": (50, 50, 40), "h": 0.1, **_EQUAL}
_UNKNOWN = {"most": 12, "shape": (60, 100, 40), "h": None, **_EQUAL}
_TRIPLED = {"fitted_alpha": 1.5}, "alpha of the fit tripled"
_FOUR_TIMES = {"copies": 4}, "every word counted four times"
_FEW = {"topic_count_prior": 0.01 ** np.arange(5)}, "prior of each T a hundred times that of the next"
_FIXED = {"doc_topic_prior": "1/T", "topic_word_prior": "1/T"}, "both priors fixed at 1 / T"
CASES = [
    Case("GibbsLDA", theta, *_TRIPLED, short=35),
    Case("New documents", new_documents, *_TRIPLED),
    Case("LabeledLDA", labels, *_TRIPLED, short=35),
    Case("CompoundLDA", mixtures, {"fitted_gamma": 20.0}, "gamma of the fit times ten"),
    Case("HDPLDA", hierarchical, {"fitted_shape": 20.0}, "ten times the prior mean of a"),
    Case("EmpiricalBayesLDA", priors, *_FOUR_TIMES),
    Case("full_bayes", _of(priors, paper=full_bayes, n_tuning=100, region=_REGION), *_FOUR_TIMES),
    Case("TopicCountLDA", _of(topic_count, **_EQUAL), *_FEW),
    Case("TopicCountLDA, T to 30", _of(topic_count, **_MANY), {"topic_count_prior": 0.01 ** np.arange(30)}, _FEW[1]),
    Case("TopicCountLDA, unknown priors", _of(topic_count, **_UNKNOWN), *_FIXED),
    Case("CovariateLDA", coefficients, {"fitted_scale": 0.2}, "prior scale of the slopes divided by four"),
]
