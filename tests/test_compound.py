"""Chains of compound LDA against exact values, quadrature over pi, and Geweke's test; each with its mutation.

Alarms are set at 1e-5 for each test, after the number of statistics compared.
"""

import numpy as np
import pytest
from enumeration import DOCS, Enumeration, chi_square_p, make_corpus
from scipy.special import gammaln, logsumexp, roots_jacobi
from scipy.stats import kstest, norm

from sklda.inference import compound, random
from sklda.inference.compound import CompoundChain, LangevinPoint, Model
from sklda.inference.compound_priors import Tails, draw_alpha, newton_on_logs
from sklda.inference.corpus import Corpus
from sklda.inference.priors import Priors

ALARM = 1e-5
SAMPLERS = ["augmented", "langevin"]

# Two collections of documents; rational arithmetic over set partitions and Stirling polynomials:
# (collections, V, K), then for (alpha, gamma, eta): P(first and last token share a topic | w), E(sum_k pi_1k^2 | w),
# and log p(w).
SETTINGS = [(1, 1, 0.5), (0.5, 2, 0.25), (0.1, 5, 1)]
EXACT = [
    (
        [[[0, 0, 1], [0, 1]], [[2, 2], [2, 1, 2]]],
        3,
        2,
        [
            (0.125944874292682, 0.702143476019437, -11.46158121757205),
            (0.062384564690778, 0.803803992071503, -11.56783004942549),
            (0.104751905429561, 0.937891425742267, -10.77571860731935),
        ],
    ),
    (
        [[[0, 0]], [[1, 1]]],
        2,
        2,
        [
            (0.192118226600985, 0.674220032840723, -2.716878115225775),
            (0.114197530864198, 0.768518518518518, -2.639057329615258),
            (0.252602075361771, 0.924478305541121, -2.687383673896631),
        ],
    ),
    (
        [[[0, 1], [0]], [[2, 2], [1]]],
        3,
        3,
        [
            (0.309422634255878, 0.503702953237709, -7.187665928722129),
            (0.256223256990571, 0.598940086750986, -7.535703025791051),
            (0.207060060835812, 0.847016629005426, -7.026871281943878),
        ],
    ),
]
CASES = [
    (collections, V, K, setting, values)
    for collections, V, K, rows in EXACT
    for setting, values in zip(SETTINGS, rows, strict=True)
]


def corpus_of(collections, n_features):
    """A corpus, and the collection of every document."""
    corpus = make_corpus([doc for docs in collections for doc in docs], n_features)
    return corpus, np.repeat(np.arange(len(collections)), [len(docs) for docs in collections])


def make_chain(corpus, labels, K, setting, inference, seed=0, burn_in=0, n_collections=None, **options):
    alpha, gamma, eta = setting
    priors = Priors.make(1.0, eta, K, corpus.n_features)
    model = Model(labels, n_collections or int(labels.max()) + 1, inference, burn_in=burn_in, **options)
    return CompoundChain.start(corpus, priors, random.child(random.seed_sequence(seed)), model, alpha, gamma)


def scores(case, inference, n_chains=4, n_sweeps=1500):
    """How many standard errors the two posterior means lie from the exact ones; errors by batches of 50 sweeps."""
    collections, V, K, setting, values = case
    corpus, labels = corpus_of(collections, V)
    found = []
    for seed in range(n_chains):
        chain = make_chain(corpus, labels, K, setting, inference, seed, burn_in=200)
        for _ in range(200):
            chain.sweep()
        for _ in range(n_sweeps):
            chain.sweep()
            found.append((chain.topics[0] == chain.topics[-1], (chain.pi[0] ** 2).sum()))
    batches = np.reshape(found, (-1, 50, 2)).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    return (batches.mean(axis=0) - values[:2]) / error


def p_value(z, n):
    return 2 * norm.sf(np.abs(z)).min() * n


@pytest.mark.parametrize("inference", SAMPLERS)
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_posterior_means_are_exact(case, inference):
    assert p_value(scores(case, inference), 2 * 2 * len(CASES)) > ALARM
