"""Fits of CompoundLDA for `compound.py`: seconds of a sweep, recovery of mixtures and of priors, and perplexity."""

import numpy as np
from peers import stopwatch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.utils import Bunch

from sklda import CompoundLDA, GibbsLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._likelihood.held_out.document_completion import split_tokens
from sklda._models.compound.mixtures import Mixtures
from sklda._models.compound.model import CompoundModel
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.steps import advance
from sklda.datasets import make_compound_lda_corpus
from sklda.metrics import topic_coherence
from sklda.papers.compound import langevin, variational_em
from sklda.papers.compound._ascent import VariationalAscent
from sklda.papers.compound._langevin import LangevinMixtures
from sklda.papers.held_out import predictive_perplexity


def _sweep(chain):
    """One sweep of a chain with its steps, or of an ascent."""
    if isinstance(chain, VariationalAscent):
        chain.sweep()
    else:
        advance(chain, chain.steps)


def sweep(X, labels, options):
    corpus = Corpus.from_counts(X)
    names, collections = np.unique(labels, return_inverse=True)
    found = []
    for K in options.topics:
        seed = random.seed_sequence(0)
        plain = GibbsChain.initialise_randomly(corpus, Priors.make(1 / K, 0.05, K, corpus.n_features), seed)
        priors = Priors.make(1.0, 0.05, K, corpus.n_features)
        chains = {"plain": plain}
        model = CompoundModel(collections, len(names))
        for method, mixtures in (("augmented", Mixtures), ("langevin", LangevinMixtures)):
            chains[method] = GibbsChain.initialise_randomly(corpus, priors, random.child(seed, 0))
            chains[method].steps = [mixtures(model, random.child(seed, 1), K)]
            chains[method].steps[0].begin(chains[method])
            chains[method].n_burn_in = 10**9
        chains["variational"] = VariationalAscent(corpus, priors, seed, model, 1.0, 1.0)
        for name, chain in chains.items():
            for _ in range(1 if name == "variational" else options.warm_up):
                _sweep(chain)
        seconds = {name: [] for name in chains}
        for repeat in range(options.repeats):
            for name, chain in chains.items():
                if name == "variational" and repeat >= 3:
                    continue
                with stopwatch() as taken:
                    _sweep(chain)
                seconds[name].append(taken["cpu"])
        medians = {name: float(np.median(values)) for name, values in seconds.items()}
        ratio = float(np.median(np.array(seconds["augmented"]) / np.array(seconds["plain"])))
        rate = corpus.n_tokens / medians["plain"]
        found.append({"K": K, "seconds": medians, "augmented_to_plain": ratio, "plain_tokens_per_second": rate})
    return found


TRUTH = np.array([[0.0025, 0.0005, 0.997], [0.584, 0.386, 0.030]])


def recovery(options):
    """Mixtures of the paper's corpus, with L1 distances from the true ones after topics are matched."""
    found = []
    for seed in range(options.runs):
        corpus = make_compound_lda_corpus(
            [100, 100], 40, 3, doc_length=200, topic_word_prior=0.25, collection_topic=TRUTH, random_state=seed
        )
        given = {"collection_topic_prior": 0.1, "topic_word_prior": 0.25, "max_iter": 2000, "random_state": seed}
        X, labels = corpus.data, corpus.collections
        lda = CompoundLDA(3, burn_in=500, draw_every=1, **given).fit(X, collections=labels)
        names = "topic_word", "collection_topic", "collection_topic_draws"
        for method, fit in {
            "augmented": Bunch(**{name: getattr(lda, f"{name}_") for name in names}),
            "langevin": langevin(X, labels, 3, burn_in=500, draw_every=1, **given),
            "variational": variational_em(X, labels, 3, **given),
        }.items():
            order = match(fit.topic_word, corpus.topic_word)
            mixtures = fit.collection_topic[:, order]
            entry = {"seed": seed, "method": method, "mixtures": mixtures.tolist()}
            entry["distance"] = np.abs(mixtures - TRUTH).sum(axis=1).tolist()
            if method != "variational":
                draws = fit.collection_topic_draws[:, :, order]
                entry["autocorrelation_time"] = [autocorrelation_time(draws[:, j, 0]) for j in range(2)]
            found.append(entry)
    return found


def match(topic_word, truth):
    return linear_sum_assignment(cdist(truth, topic_word, "cityblock"))[1]


def autocorrelation_time(x):
    """Number of sweeps that are worth one independent draw, by Geyer's initial positive sequence."""
    x = x - x.mean()
    n = len(x)
    power = np.abs(np.fft.rfft(x, 2 * n)) ** 2
    rho = np.fft.irfft(power)[:n]
    rho /= rho[0]
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = np.argmax(pairs < 0) if (pairs < 0).any() else len(pairs)
    return float(2 * pairs[:stop].sum() - 1)


def priors(options):
    """Gibbs-EM on the corpus of Figure 4: gamma = 0.8, eta = 0.5, from the initial values 1 and 1 / 3."""
    found = []
    for seed in range(options.runs):
        corpus = make_compound_lda_corpus(
            [100, 100], 40, 3, doc_length=200, doc_concentration=0.8, topic_word_prior=0.5, random_state=seed
        )
        lda = CompoundLDA(3, max_iter=1000, burn_in=900, random_state=seed)
        lda.fit(corpus.data, collections=corpus.collections)
        found.append((lda.doc_concentration_, lda.topic_word_prior_))
    return found


def perplexity(X, labels, options):
    """Perplexity on a fifth of the documents, which is held out: half of their tokens are seen, half are predicted."""
    rng = np.random.default_rng(0)
    test = rng.permutation(X.shape[0])[: X.shape[0] // 5]
    train = np.setdiff1d(np.arange(X.shape[0]), test)
    seen, hidden = (part.to_counts() for part in split_tokens(Corpus.from_counts(X[test]), 0))
    labels = np.asarray(labels)
    found = []
    for K in options.curve:
        common = {"max_iter": options.sweeps, "random_state": 0}
        models = {
            "collections": CompoundLDA(K, topic_word_prior=0.05, **common).fit(X[train], collections=labels[train]),
            "one collection": CompoundLDA(K, topic_word_prior=0.05, **common).fit(X[train]),
            "LDA, learnt alpha": GibbsLDA(K, topic_word_prior=0.05, **common).fit(X[train]),
            "LDA, alpha = 1 / K": GibbsLDA(K, doc_topic_prior=1 / K, topic_word_prior=0.05, **common).fit(X[train]),
            "LDA, alpha = 1": GibbsLDA(K, doc_topic_prior=1.0, topic_word_prior=0.05, **common).fit(X[train]),
        }
        entry = {"K": K, "perplexity": {}, "coherence": {}, "topic_sizes": {}}
        for name, model in models.items():
            given = labels[test] if name == "collections" else None
            entry["perplexity"][name] = predictive_perplexity(model, seen, hidden, collections=given, random_state=0)
            entry["coherence"][name] = float(topic_coherence(model, X[train], method="umass"))
            entry["topic_sizes"][name] = np.bincount(model.topic_assignments_, minlength=K).tolist()
        found.append(entry)
    return found
