"""Whether two disjoint sets of fits have the same topics, by several rules that choose topics of many fits.

    python benchmarks/bench_consensus.py
    python benchmarks/bench_consensus.py --resample bootstrap
    python benchmarks/bench_consensus.py --ldac 20:whales/corpus.ldac.gz 50:reuters395/corpus.ldac.gz
    python benchmarks/bench_consensus.py --several 15 20 30
    python benchmarks/bench_consensus.py --limits
    python benchmarks/bench_consensus.py --stability
    python benchmarks/bench_consensus.py --simulated
    python benchmarks/bench_consensus.py --known

The fits are those of GibbsLDA with default parameters. They are divided into two sets at random, several times. A topic
of one set is found again if a topic of the other set is at a similarity of 0.8, one less the Jensen-Shannon distance.
Fits are kept in the folder `--cache`. The rules:

- tree: that of ConsensusTopics, with n_splits=0
- one cut: clusters of the tree at a distance of 0.5, in which 0.75 of the fits have a topic
- lowest nodes: from the leaves upwards, a node replaces the topics below it if they cover less than 0.8 of it, 0.75 of
  the fits have it, and it has a similarity of 0.65
- walks: average linkage of distances between walks of three steps from topic to similar topic (diffusion maps). The cut
  is in the largest gap with half to twice as many clusters as a fit has topics. The limits are 0.75 of the fits, and a
  similarity of 0.6.
- medoid: all topics of the fit that is most alike to the others, the idea of ldaPrototype (Rieger et al. 2020). Here
  the likeness of two fits is the mean over topics of the similarity of the nearest topic.
- EnsembleLda: the stable topics of gensim (Brigl 2019), with its defaults, if gensim is installed
- k-means: medians of K clusters of normalised topics, without those that are far from their neighbours, as in cNMF
  (Kotliar et al. 2019)

`--limits` halves and doubles the slack of each limit of the tree. `--several` compares fits with one number of topics
and with several. `--stability` says how often a topic of one fit is found again, by its stability in three other fits.
`--simulated` compares with 20 known topics. `--known` fits corpora with known topics, some of them with bursts of
words, by ConsensusTopics: without halves of the documents, with them, and with bootstrap samples. It also says how
often the standard deviations contain the true proportions.
"""

import argparse
import logging
import pickle
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
from peers import read_ldac
from report import fitted, say, table
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from sklda import ConsensusTopics, GibbsLDA
from sklda._core.distances import jensen_shannon
from sklda._core.random import log_dirichlet
from sklda._core.same_topics import SAME_TOPIC
from sklda._models.consensus import agreement as rule
from sklda._models.consensus.agreement import consensus_of, find_consensus
from sklda._models.consensus.fits import topics_of
from sklda._models.consensus.topic_tree import Pool, TopicTree
from sklda.datasets import load_docstrings, make_lda_corpus

LEAST = 0.75


def fits_of(name, X, K, options, n=None):
    """Topics, shares and CPU seconds of every fit."""
    path = Path(options.cache) / f"{name}-{K}-{options.resample or 'all'}.pickle"
    known = pickle.loads(path.read_bytes()) if path.exists() else []
    lengths, n = np.ravel(X.sum(axis=1)), n or 2 * options.fits
    for seed in range(len(known), n):
        rng = np.random.default_rng(seed)
        rows = np.arange(X.shape[0])
        if options.resample == "bootstrap":
            rows = rng.integers(X.shape[0], size=X.shape[0])
        elif options.resample:
            rows = rng.permutation(X.shape[0])[: round(float(options.resample) * X.shape[0])]
        begin = time.process_time()
        lda = GibbsLDA(K, random_state=1000 + seed).fit(X[rows])
        seconds = time.process_time() - begin
        theta = lda.transform(X) if options.resample else lda.doc_topic_
        known.append((topics_of(lda).astype(np.float32), lengths @ theta / lengths.sum(), seconds))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(known))
    return known[:n]


def by_tree(topics, shares):
    found = find_consensus(topics, shares, LEAST)
    return found.topic_word, found.share


def _of_nodes(tree, nodes):
    pairs = [np.stack([tree.pool.fit[m], tree.pool.number[m]], axis=1) for m in (tree.members[i] for i in nodes)]
    topics = np.split(tree.pool.topics, np.flatnonzero(np.diff(tree.pool.fit)) + 1)
    shares = np.split(tree.pool.weight, np.flatnonzero(np.diff(tree.pool.fit)) + 1)
    found = consensus_of(topics, shares, pairs)
    return found.topic_word, found.share


def by_one_cut(topics, shares):
    tree = TopicTree(Pool(topics, shares))
    clusters = fcluster(tree.linkage, SAME_TOPIC, "distance")
    sets = {tuple(np.flatnonzero(clusters == c)) for c in np.unique(clusters)}
    good = (tree.prevalence >= LEAST - 1e-9) & (tree.beyond_chance >= rule._BEYOND_CHANCE) & tree.possible
    return _of_nodes(tree, [i for i in np.flatnonzero(good) if tuple(tree.members[i]) in sets])


def by_lowest_nodes(topics, shares, likeness=0.65, part=0.8):
    tree = TopicTree(Pool(topics, shares))
    good = (tree.prevalence >= LEAST - 1e-9) & (tree.beyond_chance >= rule._BEYOND_CHANCE) & tree.possible
    good &= tree.similarity >= likeness
    n, kept = len(tree.pool.topics), []
    for node in range(len(good)):
        below = [each for child in (tree.children[node - n] if node >= n else []) for each in kept[child]]
        kept.append([node] if good[node] and tree.share[below].sum() < part * tree.share[node] else below)
    return _of_nodes(tree, kept[-1])


def by_walks(topics, shares):
    pool = Pool(topics, shares)
    known = pool.topics.any(axis=1)
    similar = np.exp(-0.5 * (pool.distance / 0.3) ** 2) * np.outer(known, known)
    np.fill_diagonal(similar, 1)
    root = np.sqrt(similar.sum(axis=1))
    walks = np.linalg.matrix_power(similar / np.outer(root, root), 6)
    root = np.sqrt(walks.diagonal())
    distance = np.sqrt(np.clip(1 - walks / np.outer(root, root), 0, 1))
    merges = linkage(squareform(distance, checks=False), "average")
    # Topics without words are merged last.
    n, size = known.sum(), known.sum() / len(topics)
    heights = np.concatenate([[0], merges[: n - 1, 2], [1]])
    counts = np.arange(max(int(np.ceil(size / 2)), 2), min(int(2 * size), n) + 1)
    count = counts[np.argmax(heights[n - counts + 1] - heights[n - counts])] + (~known).sum()
    labels = fcluster(merges, count, "maxclust")
    clusters = [m for m in (np.flatnonzero(labels == c) for c in np.unique(labels)) if known[m].all()]
    clusters = [m for m in clusters if pool.prevalence(m) >= LEAST - 1e-9]
    alike = [pool.likeness(pool.of_fits(m)) for m in clusters]
    good = [m for m, (a, c) in zip(clusters, alike, strict=True) if a >= 0.6 and c >= rule._BEYOND_CHANCE]
    found = consensus_of(topics, shares, [np.stack([pool.fit[m], pool.number[m]], axis=1) for m in good])
    return found.topic_word, found.share


def by_medoid(topics, shares):
    with_words = [each[each.any(axis=1)] for each in topics]
    alike = np.array([[nearest(a, b).mean() for b in with_words] for a in with_words])
    best = int((alike + alike.T).sum(axis=0).argmax())
    return with_words[best], shares[best][topics[best].any(axis=1)]


def by_k_means(topics, shares):
    pool, K = np.concatenate(topics), int(np.median([len(each) for each in topics]))
    weight, n_fits = np.concatenate(shares), len(topics)
    known = pool.any(axis=1)
    spectra = pool[known] / np.linalg.norm(pool[known], axis=1, keepdims=True)
    distance = np.sqrt(np.maximum(2 - 2 * spectra @ spectra.T, 0))
    # The published limit of the mean distance from as many neighbours as 30 % of the fits.
    n_near = max(int(0.3 * n_fits), 1)
    dense = np.sort(distance, axis=1)[:, 1 : n_near + 1].mean(axis=1) < 0.5
    spectra, weight = spectra[dense], weight[known][dense]
    labels = KMeans(min(K, len(spectra)), n_init=10, random_state=1).fit_predict(spectra)
    centres = np.array([np.median(spectra[labels == c], axis=0) for c in np.unique(labels)])
    share = np.array([weight[labels == c].sum() / n_fits for c in np.unique(labels)])
    words = centres.sum(axis=1) > 0
    return centres[words] / centres[words].sum(axis=1, keepdims=True), share[words]


def by_gensim(topics, shares):
    from gensim.models import EnsembleLda

    pool, weight = np.concatenate(topics), np.concatenate(shares)
    known = pool.any(axis=1)
    model = EnsembleLda(id2word={v: str(v) for v in range(pool.shape[1])}, num_models=len(topics))
    model.ttda = pool[known].astype(np.float32)
    model._generate_asymmetric_distance_matrix()
    model._generate_topic_clusters(eps=0.1, min_samples=None)
    model._generate_stable_topics(min_cores=None)
    stable = np.asarray(model.stable_topics, dtype=np.float64).reshape(-1, pool.shape[1])
    # Of each stable topic: all topics of its cluster.
    found = model.cluster_model.results
    kept = {topic.label for topic in found if topic.is_core and topic.valid_neighboring_labels == {topic.label}}
    share = sum(w for w, topic in zip(weight[known], found, strict=True) if topic.label in kept) / len(topics)
    return stable / stable.sum(axis=1, keepdims=True), np.full(len(stable), share / max(len(stable), 1))


RULES = {
    "tree": by_tree,
    "one cut": by_one_cut,
    "lowest nodes": by_lowest_nodes,
    "walks": by_walks,
    "medoid": by_medoid,
    "EnsembleLda": by_gensim,
    "k-means": by_k_means,
}


def nearest(a, b):
    """Similarities of the topics of a with the nearest one of b."""
    if not len(a) or not len(b):
        return np.zeros(len(a))
    return 1 - jensen_shannon(a, b, dtype=np.float32).min(axis=1)


def halves(n, splits):
    rng = np.random.default_rng(0)
    for _ in range(splits):
        order = rng.permutation(n)
        yield order[: n // 2], order[n // 2 :]


def compare(fits, choose, splits, pick=None):
    """Topics, their share of the tokens, and parts found again at .8 and .7: one row for each pair of sets.

    `pick` divides the fits; None: at random.
    """
    topics = [each[0].astype(np.float64) for each in fits]
    topics = [each / np.maximum(each.sum(axis=1, keepdims=True), 1e-300) for each in topics]
    shares, rows = [each[1] for each in fits], []
    for sets in pick or halves(len(fits), splits):
        (a, a_share), (b, b_share) = (choose([topics[f] for f in own], [shares[f] for f in own]) for own in sets)
        found = np.concatenate([nearest(a, b), nearest(b, a)])
        again = [(found >= limit).mean() if len(found) else 0.0 for limit in (0.8, 0.7)]
        rows.append([(len(a) + len(b)) / 2, (a_share.sum() + b_share.sum()) / 2, *again])
    return np.array(rows)


HEADER = ("topics", "share", "least share", "at .8", "least at .8", "at .7")


def shown(rows):
    n, share, again, wide = rows.mean(axis=0)
    worst = rows.min(axis=0)
    return [f"{n:.1f}", f"{share:.2f}", f"{worst[1]:.2f}", f"{again:.2f}", f"{worst[2]:.2f}", f"{wide:.2f}"]


def limits(title, fits, splits):
    """The tree with half and twice the slack of each limit; with another least prevalence, the parameter."""
    rows = [["as it is", *shown(compare(fits, by_tree, splits))]]
    for name in ("SAME_TOPIC", "ALIKE", "_BEYOND_CHANCE"):
        for factor in (0.5, 2):
            value = 1 - (1 - getattr(rule, name)) * factor
            with patch.object(rule, name, value):
                rows.append([f"{name} {value:.3g}", *shown(compare(fits, by_tree, splits))])
    for least in (0.5, 0.875):
        rows.append(
            [f"min_prevalence {least}", *shown(compare(fits, lambda t, s: find_shares(t, s, least), splits))]  # noqa: B023
        )
    table(title, ("limit", *HEADER), rows)


def find_shares(topics, shares, least):
    found = find_consensus(topics, shares, least)
    return found.topic_word, found.share


def several(name, X, counts, options):
    """Sets of nine fits with one number of topics, and with three of each of several."""
    pools = [fits_of(name, X, K, options, 18) for K in counts]
    rows = []
    for K, fits in zip(counts, pools, strict=True):
        rows.append([f"{K} topics", *shown(compare(fits, by_tree, options.splits))])
    n = 18 // len(counts)
    mixed = [each for fits in pools for each in fits[:n]]
    rng, pick = np.random.default_rng(0), []
    for _ in range(options.splits):
        orders = [i * n + rng.permutation(n) for i in range(len(counts))]
        pick.append(
            [np.concatenate([each[: n // 2] for each in orders]), np.concatenate([o[n // 2 :] for o in orders])]
        )
    rows.append(["all of these", *shown(compare(mixed, by_tree, options.splits, pick))])
    table(f"{name}: two sets of {9 // len(counts) * len(counts)} fits", ("fits", *HEADER), rows)


def simulated(options):
    """Reported topics that are true topics or unions of true ones, at a similarity of .8."""
    rows = []
    for kind, alpha, eta in (("easy", 0.05, 0.02), ("hard", 0.3, 0.1)):
        corpus = make_lda_corpus(
            1000, 1000, 20, doc_length=100, doc_topic_prior=alpha, topic_word_prior=eta, random_state=0
        )
        for K in (15, 20, 30):
            fits = fits_of(f"simulated-{kind}", corpus.data, K, options, 8)
            topics, share = by_tree([each[0].astype(np.float64) for each in fits], [each[1] for each in fits])
            true = [best_union(row, corpus.topic_word) for row in topics]
            single = nearest(topics, corpus.topic_word)
            known = nearest(corpus.topic_word, topics) >= 0.8
            rows.append([
                f"{kind}, K = {K}", str(len(topics)), f"{share.sum():.2f}", f"{(single >= 0.8).mean():.2f}",
                f"{(np.array(true) >= 0.8).mean():.2f}", str(known.sum()),
            ])  # fmt: skip
    one = np.random.default_rng(0).dirichlet(np.full(1000, 0.1))
    X = np.random.default_rng(1).multinomial(100, one, 1000)
    fits = fits_of("simulated-one", X, 20, options, 8)
    topics, share = by_tree([each[0].astype(np.float64) for each in fits], [each[1] for each in fits])
    rows.append(["one topic, K = 20", str(len(topics)), f"{share.sum():.2f}", "", "", ""])
    header = ("corpus", "topics", "share", "true", "true or union", "of 20 true")
    table("20 true topics, eight fits", header, rows)


# Number of topics, alpha, eta, the concentration of a document's own topics around the topics (None: there are no
# bursts), and topics of a fit. One topic has the words of a Zipf distribution.
KNOWN = {
    "one distribution": (1, 1.0, None, None, 10),
    "one distribution, bursts": (1, 1.0, None, 50, 10),
    "one distribution, strong bursts": (1, 1.0, None, 10, 14),
    "bursts": (8, 0.2, 0.1, 50, 14),
    "different": (8, 0.1, 0.05, None, 14),
    "overlapping": (8, 0.3, 0.15, None, 8),
    "one topic a document": (6, 1e-3, 0.1, None, 10),
}


def draw_corpus(seed, n_topics, alpha, eta, burst, n_documents=250, n_features=300, length=60):
    """Counts, proportions and topics; with bursts, a document has topics of its own around the topics."""
    rng = np.random.default_rng(seed)
    theta = np.exp(log_dirichlet(rng, np.full((n_documents, n_topics), alpha)))
    if eta is None:
        phi = np.tile(1 / np.arange(1.0, n_features + 1), (n_topics, 1))
        phi /= phi.sum(axis=1, keepdims=True)
    else:
        phi = rng.dirichlet(np.full(n_features, eta), n_topics)
    X = np.zeros((n_documents, n_features), int)
    for d in range(n_documents):
        for k, n in enumerate(rng.multinomial(length, theta[d])):
            own = phi[k] if burst is None else np.exp(log_dirichlet(rng, burst * phi[[k]] + 1e-12))[0]
            X[d] += rng.multinomial(n, own)
    return X, theta, phi


def known(options):
    """False topics, true ones that are found, and the coverage of proportions by 1.96 standard deviations."""
    ways = {
        "n_splits=0": {"n_splits": 0},
        "default": {},
        "bootstrap": {"resample": "bootstrap", "n_splits": 0},
    }
    rows = []
    for name, (n_topics, alpha, eta, burst, K) in KNOWN.items():
        corpora = [draw_corpus(seed, n_topics, alpha, eta, burst) for seed in range(options.corpora)]
        for way, parameters in ways.items():
            false, true, inside, seconds = 0, 0, [], 0.0
            for seed, (X, theta, phi) in enumerate(corpora):
                model, spent = fitted(ConsensusTopics(GibbsLDA(K), random_state=seed, **parameters), X)
                seconds += spent
                false += sum(n_topics == 1 or best_union(row, phi) < 0.6 for row in model.topic_word_)
                if n_topics > 1 and model.n_components_:
                    alike = 1 - jensen_shannon(phi, model.topic_word_)
                    near, has = alike.argmax(axis=1), alike.max(axis=1) >= 0.6
                    true += has.sum()
                    error = model.doc_topic_[:, near] - theta
                    inside.append((np.abs(error) <= 1.96 * model.doc_topic_std_[:, near])[:, has].mean())
            found = "" if n_topics == 1 else f"{true} of {n_topics * options.corpora}"
            covered = f"{np.mean(inside):.2f}" if inside else ""
            rows.append([name, way, str(false), found, covered, f"{seconds / options.corpora:.1f}"])
            say("  ", *rows[-1])
    table("known topics", ("corpora", "", "false", "true found", "coverage", "CPU s"), rows)


def best_union(row, truth):
    """The similarity of a topic with the best mixture of true ones, one added after the other."""
    distances = jensen_shannon(row[None], truth)[0]
    return 1 - rule.parts_of(row, truth, np.ones(len(truth)), distances)[1]


def stability(title, fits):
    """By stability in three other fits: the part of the topics that an independent fit has at a match of 0.5."""
    values, again = [], []
    for f in range(len(fits)):
        match = [nearest(fits[f][0], other[0]) for g, other in enumerate(fits) if g != f]
        for start in range(0, len(match) - 3, 4):
            values.append(np.mean(match[start : start + 3], axis=0))
            again.append(match[start + 3] >= 0.5)
    values, again = np.concatenate(values), np.concatenate(again)
    rows = []
    for low, high in ((0.8, 1), (0.7, 0.8), (0.6, 0.7), (0.5, 0.6), (0.4, 0.5), (0, 0.4)):
        own = (values >= low) & (values < high)
        rows.append([f"{low} to {high}", str(own.sum()), f"{again[own].mean():.2f}" if own.any() else ""])
    table(title, ("stability", "topics", "found again"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ldac", nargs="+", default=[], metavar="K:PATH", help="corpora, .ldac or .ldac.gz, instead of docstrings")
    add("--topics", type=int, default=20, help="topics of a fit to the docstrings (default: 20)")
    add("--resample", help="bootstrap, or a part of the documents")
    add("--fits", type=int, default=8, help="fits of a set (default: 8)")
    add("--splits", type=int, default=6, help="pairs of sets (default: 6)")
    add("--rules", nargs="+", default=list(RULES), choices=list(RULES))
    add("--cache", default="consensus-fits", help="folder (default: consensus-fits)")
    add("--several", type=int, nargs="+", metavar="K", help="fits with several numbers of topics")
    add("--limits", action="store_true", help="half and twice the slack of limits")
    add("--stability", action="store_true", help="how often topics are found again, by stability")
    add("--simulated", action="store_true", help="20 known topics")
    add("--known", action="store_true", help="corpora with bursts, and others with known topics")
    add("--corpora", type=int, default=3, help="corpora of each kind with --known (default: 3)")
    options = parser.parse_args()
    logging.getLogger("gensim").setLevel(logging.ERROR)
    if options.simulated or options.known:
        (simulated if options.simulated else known)(options)
        return
    corpora = [] if options.ldac else [("docstrings", load_docstrings().data, options.topics)]
    for each in options.ldac:
        K, _, path = each.partition(":")
        corpora.append((Path(path).parent.name, read_ldac(path), int(K)))
    for name, X, K in corpora:
        if options.several:
            several(name, X, options.several, options)
            continue
        fits = fits_of(name, X, K, options)
        title = f"{name}, K = {K}, {np.mean([each[2] for each in fits]):.1f} CPU s a fit"
        if options.limits:
            limits(title, fits, options.splits)
        elif options.stability:
            stability(title, fits)
        else:
            rows = []
            for each in options.rules:
                begin = time.process_time()
                values = shown(compare(fits, RULES[each], options.splits))
                seconds = (time.process_time() - begin) / (2 * options.splits)
                rows.append([each, *values, f"{seconds:.2f}"])
                say("  ", *rows[-1])
            table(title, ("rule", *HEADER, "CPU s a set"), rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
