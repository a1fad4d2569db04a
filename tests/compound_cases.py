"""Exact values for small collections of documents."""

from dataclasses import replace

import numpy as np
from enumeration import make_corpus

from sklda._core import random
from sklda._core.gibbs_em import BOUNDS, MStep
from sklda._models.compound.gamma import GammaMStep
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.mixtures import Mixtures
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.prior_learning import Learner
from sklda._sampling.some_topics import SomeTopicsChain
from sklda.datasets import make_compound_lda_corpus

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


# 90 documents of three collections, each of which has a topic of its own.
TOLD_APART = make_compound_lda_corpus(
    [40, 30, 20], 40, 3, doc_length=50, doc_concentration=3, topic_word_prior=0.05, random_state=0,
    collection_topic=[[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]],
)  # fmt: skip


def corpus_of(collections, n_features):
    """A corpus, and the collection of every document."""
    corpus = make_corpus([doc for docs in collections for doc in docs], n_features)
    return corpus, np.repeat(np.arange(len(collections)), [len(docs) for docs in collections])


def chain_with_mixtures(
    corpus, priors, seed, model, alpha=None, gamma=None, mixtures=Mixtures, kind=GibbsChain, concentrations=None
):
    """A chain with random topics, and the steps that draw its mixtures and learn priors. Of `priors`, eta is used."""
    K, own = priors.n_components, random.child(seed, 1)
    kind = SomeTopicsChain if concentrations else kind
    chain = kind.initialise_randomly(corpus, priors, random.child(seed, 0))
    if concentrations:
        chain.steps = [HDPMixtures(model, concentrations, own, K)]
    else:
        chain.steps = [mixtures(replace(model, alpha=alpha, gamma=gamma), own, K)]
    if model.learn_gamma:
        chain.steps.append(Learner(GammaMStep()))
    if model.learn_eta:
        chain.steps.append(Learner(MStep((None, BOUNDS))))
    chain.steps[0].begin(chain)
    return chain
