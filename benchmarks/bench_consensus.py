"""Whether two disjoint sets of fits have the same consensus topics, for several ways to cluster topics.

    python benchmarks/bench_consensus.py
    python benchmarks/bench_consensus.py --resample bootstrap
    python benchmarks/bench_consensus.py --ldac 10:whales/corpus.ldac.gz 20:reuters395/corpus.ldac.gz
    python benchmarks/bench_consensus.py --study
    python benchmarks/bench_consensus.py --limits

The fits are those of GibbsLDA with default parameters. They are divided into two sets at random, several times. A
consensus topic has a match in the other set: one less the Jensen-Shannon distance of the nearest topic. `--study`
compares linkages, cuts, centres and prevalences. `--limits` says how often a topic of one fit is found again, by its
stability in three other fits. Fits are kept in the folder `--cache`.
"""

import argparse
import pickle
import time
from pathlib import Path

import numpy as np
from peers import read_ldac
from report import say, table
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda._inference.consensus import SAME_TOPIC, mixture
from sklda._inference.distances import jensen_shannon
from sklda.datasets import load_docstrings

EXPONENTS = {"roots": 0.5, "mean": 1.0}


def fits_of(name, X, K, options):
    """Topics, proportions of all documents, shares and CPU seconds of every fit."""
    path = Path(options.cache) / f"{name}-{K}-{options.resample or 'all'}.pickle"
    known = pickle.loads(path.read_bytes()) if path.exists() else []
    lengths = np.ravel(X.sum(axis=1))
    for seed in range(len(known), 2 * options.fits):
        rng = np.random.default_rng(seed)
        rows = np.arange(X.shape[0])
        if options.resample == "bootstrap":
            rows = rng.integers(X.shape[0], size=X.shape[0])
        elif options.resample:
            rows = rng.permutation(X.shape[0])[: round(float(options.resample) * X.shape[0])]
        begin = time.process_time()
        lda = GibbsLDA(K, random_state=1000 + seed).fit(X[rows])
        seconds = time.process_time() - begin
        theta = lda.transform(X)
        share = lengths @ theta / lengths.sum()
        known.append((lda.topic_word_.astype(np.float32), theta.astype(np.float32), share, seconds))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(known))
    return known[: 2 * options.fits]


def consensus(chosen, fits, pool, distance, method, cut, exponent, min_prevalence):
    """Topics, and their proportions in all documents, of a set of fits. `pool` has fit, topics and shares."""
    fit, topics, share = pool
    own = np.flatnonzero(np.isin(fit, chosen))
    clusters = fcluster(linkage(squareform(distance[np.ix_(own, own)], checks=False), method), cut, "distance")
    found, theta = [], []
    for c in range(1, clusters.max() + 1):
        members = own[clusters == c]
        having = np.unique(fit[members])
        if len(having) < min_prevalence * len(chosen):
            continue
        rows = [mixture(topics[members[fit[members] == f]], share[members[fit[members] == f]]) for f in having]
        centre = np.mean(np.power(rows, exponent), axis=0) ** (1 / exponent)
        found.append(centre / centre.sum())
        theta.append(sum(fits[f][1][:, k] for f, k in zip(fit[members], number(fit, members), strict=True)))
    return np.array(found), np.array(theta) / len(chosen)


def number(fit, members):
    """Numbers of the pooled topics in their own fits."""
    return members - np.searchsorted(fit, fit[members])


def compare(fits, splits=10, *, method="average", cut=SAME_TOPIC, centre="roots", min_prevalence=0.75):
    """Topics kept, mean match, parts at 0.8 and at 0.7, and the correlation of proportions; means over splits."""
    fit = np.repeat(np.arange(len(fits)), [len(each[0]) for each in fits])
    topics = np.concatenate([each[0] for each in fits]).astype(np.float64)
    topics /= topics.sum(axis=1, keepdims=True)
    pool = fit, topics, np.concatenate([each[2] for each in fits])
    distance = compare.known.setdefault(id(fits), jensen_shannon(topics, dtype=np.float32))
    rows, rng = [], np.random.default_rng(0)
    for _ in range(splits):
        order = rng.permutation(len(fits))
        halves = order[: len(fits) // 2], order[len(fits) // 2 :]
        (a, a_theta), (b, b_theta) = (
            consensus(half, fits, pool, distance, method, cut, EXPONENTS[centre], min_prevalence) for half in halves
        )
        if not len(a) or not len(b):
            rows.append([(len(a) + len(b)) / 2, 0, 0, 0, np.nan])
            continue
        match = 1 - jensen_shannon(a, b)
        best = np.concatenate([match.max(axis=0), match.max(axis=1)])
        pairs = [(i, j) for i, j in zip(*linear_sum_assignment(-match), strict=True) if match[i, j] >= 0.8]
        r = np.mean([np.corrcoef(a_theta[i], b_theta[j])[0, 1] for i, j in pairs]) if pairs else np.nan
        rows.append([(len(a) + len(b)) / 2, best.mean(), (best >= 0.8).mean(), (best >= 0.7).mean(), r])
    return np.nanmean(rows, axis=0)


compare.known = {}
HEADER = ("kept", "mean match", "at .8", "at .7", "correlation")


def study(title, fits):
    rows = []
    for method in ("average", "complete", "weighted", "single"):
        for cut in (0.4, 0.45, 0.5, 0.55):
            rows.append([f"{method}, cut {cut}", *shown(compare(fits, method=method, cut=cut))])
    rows.append(["arithmetic mean of members", *shown(compare(fits, centre="mean"))])
    for least in (0.5, 0.625, 0.875, 1):
        rows.append([f"average, cut {SAME_TOPIC}, prevalence {least}", *shown(compare(fits, min_prevalence=least))])
    table(title, ("clusters", *HEADER), rows)


def limits(title, fits):
    """By stability in three other fits: the part of the topics that an independent fit has at a match of 0.5."""
    stability, again = [], []
    for f in range(len(fits)):
        match = [1 - jensen_shannon(fits[f][0], other[0]).min(axis=1) for g, other in enumerate(fits) if g != f]
        for start in range(0, len(match) - 3, 4):
            stability.append(np.mean(match[start : start + 3], axis=0))
            again.append(match[start + 3] >= 0.5)
    stability, again = np.concatenate(stability), np.concatenate(again)
    rows = []
    for low, high in ((0.8, 1), (0.7, 0.8), (0.6, 0.7), (0.5, 0.6), (0.4, 0.5), (0, 0.4)):
        own = (stability >= low) & (stability < high)
        rows.append([f"{low} to {high}", str(own.sum()), f"{again[own].mean():.2f}" if own.any() else ""])
    table(title, ("stability", "topics", "found again"), rows)


def shown(values):
    return [f"{values[0]:.1f}", *(f"{value:.2f}" for value in values[1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ldac", nargs="+", default=[], metavar="K:PATH", help="corpora, .ldac or .ldac.gz, instead of docstrings")
    add("--resample", help="bootstrap, or a part of the documents")
    add("--fits", type=int, default=8, help="fits of a set (default: 8)")
    add("--cache", default="consensus-fits", help="folder (default: consensus-fits)")
    add("--study", action="store_true", help="compare ways to cluster")
    add("--limits", action="store_true", help="how often topics are found again, by stability")
    options = parser.parse_args()
    corpora = [] if options.ldac else [("docstrings", load_docstrings().data, 20)]
    for each in options.ldac:
        K, _, path = each.partition(":")
        corpora.append((Path(path).parent.name, read_ldac(path), int(K)))
    rows = []
    for name, X, K in corpora:
        fits = fits_of(name, X, K, options)
        title = f"{name}, K = {K}, {np.mean([each[3] for each in fits]):.1f} CPU s a fit"
        if options.study:
            study(title, fits)
        elif options.limits:
            limits(title, fits)
        else:
            rows.append([title, *shown(compare(fits, splits=20))])
            say("  ", *rows[-1])
    if rows:
        table(f"Two sets of {options.fits} fits", ("corpus", *HEADER), rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
