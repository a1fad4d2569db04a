"""Estimates of theta and phi: from counts, from expected counts (CGS_p), and CVB0, as in Papanikolaou et al. 2017.

    python benchmarks/bench_point_estimates.py
    python benchmarks/bench_point_estimates.py --ldac reuters:folder/corpus.ldac.gz --parts samples topics
    python benchmarks/bench_point_estimates.py --parts association --norms cues_and_associates.csv

Parts, by the figures of the paper:

- ``samples`` (1 and 2): perplexity against the number of samples of theta that are averaged, for one and five chains.
- ``association`` (3): ranks of associates under phi and phi^p. Norms are lines ``cue,associate``, best associate first.
  Without norms, the associates of a word are the five words that co-occur with it most in held-out documents.
- ``topics`` (4): perplexity against the number of topics.
- ``iterations`` (5): log-likelihood of the training corpus against iterations.

alpha = 0.1 and eta = 0.01. A fifth of the documents is held out. theta is estimated from one half of the tokens of each
of these, and the perplexity is that of the other half.
"""

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from peers import ALPHA, ETA, describe, read_ldac
from report import say, table
from threadpoolctl import threadpool_limits

from sklda._inference.corpus import Corpus
from sklda._inference.held_out.document_completion import split_tokens
from sklda._inference.parallel import with_team
from sklda._inference.priors import Priors
from sklda._inference.sampling.collapsed import GibbsChain
from sklda._inference.sampling.point_estimates import estimate_counts
from sklda._inference.variational.batch import Batch
from sklda._inference.variational.fixed_topics import infer, perplexity
from sklda._inference.variational.passes import proportions, topics
from sklda.datasets import load_docstrings
from sklda.metrics import word_association

PARTS = ("samples", "association", "topics", "iterations")
BURN_IN, LAG = 50, 5
SAMPLES = (1, 2, 5, 10, 20)
CHAINS = (1, 5)
MOMENTS = (1, 2, 5, 10, 20, 50, 100, 200, 400)
# Groups of cues by their frequency, in equal numbers.
N_GROUPS = 5


# --- estimates --------------------------------------------------------------------------------------------------------


def normalised(weights):
    return weights / weights.sum(axis=1, keepdims=True)


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


# --- parts ------------------------------------------------------------------------------------------------------------


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


def iterations(train, n_topics, seed, moments=MOMENTS):
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


def associates(X, names, norms, n_best=5):
    """Cues and their associates, as columns."""
    if norms is not None:
        columns, found = {word: v for v, word in enumerate(names)}, defaultdict(list)
        with open(norms, newline="") as file:
            for cue, associate, *_ in csv.reader(file):
                if cue in columns and associate in columns and len(found[columns[cue]]) < n_best:
                    found[columns[cue]].append(columns[associate])
        return {cue: words for cue, words in found.items() if words}
    occurs = (X > 0).astype(np.int64)
    frequency = np.asarray(occurs.sum(axis=0)).ravel()
    found = {}
    for cue in np.flatnonzero(frequency >= 3):
        together = np.asarray(occurs[:, [cue]].T @ occurs.todense()).ravel().astype(float)
        together[[cue, *np.flatnonzero(together < 3)]] = 0
        # Pointwise mutual information would prefer the rarest words; times the joint frequency it does not.
        lift = together * np.log(np.maximum(together * X.shape[0], 1) / np.maximum(frequency * frequency[cue], 1))
        best = [v for v in np.argsort(-lift, kind="stable")[:n_best] if lift[v] > 0]
        if best:
            found[int(cue)] = best
    return found


def association(train, cues, n_topics, seed, n_sweeps):
    """Median over cues of the rank under phi less the rank under phi^p, by frequency of the cue in the corpus."""
    chain = gibbs(train, n_topics, n_sweeps, seed)
    known = list(cues)
    ranks = {}
    for method in ("cgs", "cgs_p"):
        p = word_association(estimates(chain, method)[1], known)
        p[np.arange(len(known)), known] = -1
        order = np.argsort(np.argsort(-p, axis=1, kind="stable"), axis=1)
        ranks[method] = [order[i, cues[cue]] for i, cue in enumerate(known)]
    frequency = np.bincount(train.words, minlength=train.n_features)[known]
    edges = np.quantile(frequency, np.linspace(0, 1, N_GROUPS + 1)[1:-1])
    groups, found = np.searchsorted(edges, frequency), {}
    for g in np.unique(groups):
        own = np.flatnonzero(groups == g)
        pairs = [np.concatenate([ranks[method][i] for i in own]) for method in ("cgs", "cgs_p")]
        label = f"{frequency[own].min()} to {frequency[own].max()}"
        medians = (float(np.median(each)) for each in pairs)
        found[label] = [float(np.median(pairs[0] - pairs[1])), *medians, float(np.mean(pairs[1] < pairs[0]))]
    return found


# --- corpora and output -----------------------------------------------------------------------------------------------


def halves(X, seed):
    """The training corpus, and the seen and hidden halves of the held-out documents."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    n_test = X.shape[0] // 5
    return Corpus.from_counts(X[order[n_test:]]), *split_tokens(Corpus.from_counts(X[order[:n_test]]), seed)


def mean_of(runs):
    """Means of dictionaries of numbers."""
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def show_samples(name, K, found):
    for n_chains in CHAINS:
        rows = [
            [pair, *(f"{found[f'{n_chains}, {pair}, {n}']:.1f}" for n in SAMPLES)]
            for pair in ("φ + θ", "φ^p + θ", "φ + θ^p", "φ^p + θ^p")
        ]
        table(f"{name}, K = {K}, {n_chains} chains: perplexity by samples", ["", *map(str, SAMPLES)], rows)


def run(name, X, names, options, figures):
    for K in options.topics:
        seeds = range(options.seed, options.seed + options.repeats)
        if "samples" in options.parts and K in options.sample_topics:
            found = mean_of([samples(*halves(X, s), K, s, options.sweeps) for s in seeds])
            show_samples(name, K, found)
            figures[f"{name}, {K}, samples"] = found
        if "topics" in options.parts:
            found = mean_of([by_topics(*halves(X, s), K, s, options.sweeps) for s in seeds])
            say(f"{name}, K = {K}: perplexity " + ", ".join(f"{k} {v:.1f}" for k, v in found.items()))
            figures[f"{name}, {K}, topics"] = found
        if "iterations" in options.parts:
            found = iterations(halves(X, options.seed)[0], K, options.seed)
            rows = [[method, *(f"{value:.4f}" for value in values)] for method, values in found.items()]
            table(f"{name}, K = {K}: log p per token by iterations", ["", *map(str, MOMENTS)], rows)
            figures[f"{name}, {K}, iterations"] = found
        if "association" in options.parts and names is not None:
            order = np.random.default_rng(options.seed).permutation(X.shape[0])
            test, train = X[order[: X.shape[0] // 2]], X[order[X.shape[0] // 2 :]]
            known = train.getnnz(axis=0) > 0
            cues = associates(test[:, known], names[known], options.norms)
            found = association(Corpus.from_counts(train[:, known]), cues, K, options.seed, options.sweeps)
            rows = [[g, *(f"{v:.1f}" for v in values[:3]), f"{values[3]:.2f}"] for g, values in found.items()]
            header = ["tokens of the cue", "φ less φ^p", "rank by φ", "rank by φ^p", "share better by φ^p"]
            table(f"{name}, K = {K}: median ranks of {len(cues)} cues' associates", header, rows)
            figures[f"{name}, {K}, association"] = found
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--ldac", nargs="+", default=[], metavar="NAME:PATH")
    parser.add_argument("--only", nargs="+", help="names of corpora")
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 50, 100, 200, 500])
    parser.add_argument("--sample-topics", nargs="+", type=int, default=[100], help="K of the part samples")
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--norms", type=Path, help="lines cue,associate; the words are those of the bundled corpus")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    docstrings, figures = load_docstrings(), {}
    corpora = {"bundled": (docstrings.data, docstrings.feature_names)}
    for given in options.ldac:
        name, path = given.split(":", 1)
        corpora[name] = (read_ldac(path), None)
    with threadpool_limits(1):
        for name, (X, names) in corpora.items():
            if not options.only or name in options.only:
                say(f"\n{name}: {describe(X)}")
                run(name, X, names, options, figures)


if __name__ == "__main__":
    main()
