"""Estimates of theta and phi from single draws, for `papers/point_estimates.py` and `bench_point_estimates.py`."""

from collections import defaultdict

import numpy as np
from peers import ALPHA, ETA

from sklda._core.corpus import Corpus
from sklda._core.parallel import with_team
from sklda._core.priors import Priors
from sklda._likelihood.held_out.document_completion import split_tokens
from sklda._models.variational.batch import Batch
from sklda._models.variational.fixed_topics import infer, perplexity
from sklda._models.variational.passes import proportions, topics
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.point_estimates import add_estimates

BURN_IN, LAG = 50, 5
SAMPLES = (1, 2, 5, 10, 20)
CHAINS = (1, 5)


def normalised(weights):
    return weights / weights.sum(axis=1, keepdims=True)


def estimate_counts(corpus, priors, topics, method="cgs_p"):
    """Topic counts of documents and of words for the point estimates of one state."""
    doc_topic, topic_word = np.zeros((corpus.n_documents, priors.n_components)), np.zeros(priors.shape)
    add_estimates(corpus, priors, topics, doc_topic, topic_word, method)
    return doc_topic, topic_word


def estimates(chain, method):
    """theta and phi from the present z of a chain."""
    doc_topic, topic_word = estimate_counts(chain.corpus, chain.priors, chain.topics, method)
    return normalised(doc_topic + chain.priors.doc), normalised(topic_word + chain.priors.topic_word())


def gibbs(corpus, n_topics, n_sweeps, seed, eta=ETA):
    """A chain after some sweeps."""
    priors = Priors.make(ALPHA, eta, n_topics, corpus.n_features)
    chain = GibbsChain.initialise_randomly(corpus, priors, np.random.SeedSequence(seed))
    for _ in range(n_sweeps):
        chain.sweep()
    return chain


def cvb0(corpus, n_topics, n_passes, seed):
    """CVB0 after some passes."""
    model = Batch(corpus, Priors.make(ALPHA, ETA, n_topics, corpus.n_features), np.random.SeedSequence(seed))

    def work(team):
        model.initialise(team)
        for _ in range(n_passes):
            model.sweep(team)

    with_team(1, work)
    return model


def fixed_chain(seen, phi, n_sweeps, seed):
    """A chain over the seen tokens with phi fixed: eta is phi times a number that counts cannot change."""
    return gibbs(seen, len(phi), n_sweeps, seed, eta=np.maximum(1e10 * phi, 1e-12))


def halves(X, seed):
    """The training corpus, and the seen and hidden halves of the held-out documents."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    n_test = X.shape[0] // 5
    return Corpus.from_counts(X[order[n_test:]]), *split_tokens(Corpus.from_counts(X[order[:n_test]]), seed)


def samples(train, seen, hidden, n_topics, seed, n_sweeps):
    """Perplexity by number of chains, estimate of phi, estimate of theta, and number of samples."""
    chain, found = gibbs(train, n_topics, n_sweeps, seed), {}
    for phi_name, phi in {"φ": estimates(chain, "cgs")[1], "φ^p": estimates(chain, "cgs_p")[1]}.items():
        drawn = defaultdict(list)
        for c in range(max(CHAINS)):
            fixed = fixed_chain(seen, phi, BURN_IN, 1000 * seed + c)
            for _ in range(max(SAMPLES)):
                for name, method in (("θ", "cgs"), ("θ^p", "cgs_p")):
                    drawn[name, c].append(estimates(fixed, method)[0])
                for _ in range(LAG):
                    fixed.sweep()
        for n_chains in CHAINS:
            for name in ("θ", "θ^p"):
                for n in SAMPLES:
                    theta = np.mean([drawn[name, c][:n] for c in range(n_chains)], axis=(0, 1))
                    found[f"{n_chains}, {phi_name} + {name}, {n}"] = perplexity(hidden, theta, phi)
    return found


def by_topics(train, seen, hidden, n_topics, seed, n_sweeps):
    """Perplexity of CGS, CGS_p and CVB0 from one sample each."""
    chain, found = gibbs(train, n_topics, n_sweeps, seed), {}
    for name, method in (("CGS", "cgs"), ("CGS_p", "cgs_p")):
        phi = estimates(chain, method)[1]
        found[name] = perplexity(hidden, estimates(fixed_chain(seen, phi, n_sweeps, seed), method)[0], phi)
    phi = topics(cvb0(train, n_topics, n_sweeps, seed))
    theta = normalised(infer(seen, phi, np.full(n_topics, ALPHA), n_updates=n_sweeps, tolerance=1e-4) + ALPHA)
    return found | {"CVB0": perplexity(hidden, theta, phi)}


def iterations(train, n_topics, seed, moments):
    """log p per token of the training corpus given theta and phi, after sweeps or passes."""
    chain, found = gibbs(train, n_topics, 0, seed), defaultdict(list)
    model = Batch(train, Priors.make(ALPHA, ETA, n_topics, train.n_features), np.random.SeedSequence(seed))
    with_team(1, model.initialise)
    for before, n in zip((0, *moments), moments, strict=False):
        for _ in range(n - before):
            chain.sweep()
            with_team(1, model.sweep)
        for name, parts in {
            "CGS": estimates(chain, "cgs"),
            "CGS_p": estimates(chain, "cgs_p"),
            "CVB0": (proportions(model), topics(model)),
        }.items():
            found[name].append(-np.log(perplexity(train, *parts)))
    return found
