"""George, Xia & Michailidis (2019): topic models of several collections.

    python benchmarks/papers/compound.py --data FOLDER --quick
    python benchmarks/papers/compound.py --quick --parts recovery priors

Parts, by the tables and figures of the paper. The corpus is news16 with its four collections:

- ``recovery``: Table 1, Figures 3, 13 and 14, mixtures of collections by AGS, MGS and variational EM.
- ``priors``: Figure 4, gamma and eta by Gibbs-EM.
- ``cost``: Table 3, seconds of an iteration.
- ``perplexity``: Figures 5 and 6, cLDA and LDA by the number of topics.
- ``hierarchy``: Figures 7, 8, 15, 16 and 17, topics and documents of cLDA, LDA and HDP in hierarchical clusters.
- ``mixtures``: Figures 12 and 19, topics of the collections.
- ``alpha``: Figure 20, perplexity by alpha.

AGS is CompoundLDA; MGS and VEM are langevin and variational_em of sklda.papers.compound.
"""

import gzip
from types import SimpleNamespace

import _record
import numpy as np
from _compound import perplexity, priors, recovery, sweep
from _record import Part, column, corpus
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_samples

from sklda import CompoundLDA, GibbsLDA
from sklda._core.corpus import Corpus
from sklda._likelihood.held_out.document_completion import split_tokens
from sklda.metrics import topic_coherence
from sklda.papers.held_out import predictive_perplexity

METHODS = {"augmented": "AGS", "langevin": "MGS", "variational": "VEM"}


def news(options, share=1.0):
    """Counts and collections of news16; of a share of the documents in the quick form."""
    X, labels = corpus(options, "news16"), column(options, "news16", "collection")
    chosen = np.random.default_rng(options.seed).permutation(X.shape[0])[: int(share * X.shape[0])]
    X = X[np.sort(chosen)]
    return X[:, X.getnnz(axis=0) > 0], labels[np.sort(chosen)]


def share_of(options):
    return 0.1 if options.quick else 1.0


# --- Table 1, Figures 3, 4, 13 and 14 ---------------------------------------------------------------------------------


def measure_recovery(options):
    return recovery(SimpleNamespace(runs=3 if options.quick else 20))


def recovery_table(found):
    header = (
        "method",
        "distance of π₁ from the truth, median",
        "of π₂, median",
        "range of π₂",
        "sweeps for a draw of π₁₁",
    )
    header += ("of π₂₁",)
    rows = []
    for method, name in METHODS.items():
        own = [entry for entry in found if entry["method"] == method]
        distance = np.array([entry["distance"] for entry in own])
        times = np.array([entry["autocorrelation_time"] for entry in own if "autocorrelation_time" in entry])
        cells = [f"{np.median(distance[:, 0]):.3f}", f"{np.median(distance[:, 1]):.3f}"]
        cells.append(f"{distance[:, 1].min():.3f} to {distance[:, 1].max():.3f}")
        cells += [f"{np.median(t):.1f}" for t in times.T] if len(times) else ["", ""]
        rows.append([name, *cells])
    return header, rows


def recovery_values(found):
    texts = {}
    for method, name in METHODS.items():
        mixtures = next(entry["mixtures"] for entry in found if entry["method"] == method)
        texts[name] = "; ".join("(" + ", ".join(f"{p:.3f}" for p in pi) + ")" for pi in mixtures)
    times = {}
    for method in ("augmented", "langevin"):
        own = [entry["autocorrelation_time"] for entry in found if entry["method"] == method]
        times[method] = np.median(own)
    return texts | {"ratio": f"{times['langevin'] / times['augmented']:.2g}", "runs": f"{len(found) // 3}"}


def measure_priors(options):
    return priors(SimpleNamespace(runs=8 if options.quick else 20))


def priors_values(found):
    gamma, eta = np.transpose(found)
    return {
        "gamma": f"{gamma.min():.2f} to {gamma.max():.2f}, median {np.median(gamma):.2f}",
        "eta": f"{eta.min():.3f} to {eta.max():.3f}, median {np.median(eta):.3f}",
        "runs": f"{len(found)}",
    }


# --- Table 3 ----------------------------------------------------------------------------------------------------------


def measure_cost(options):
    X, labels = news(options)
    given = SimpleNamespace(topics=[64, 30], warm_up=20, repeats=5 if options.quick else 31)
    return sweep(X, labels, given)


def cost_values(found):
    seconds = found[0]["seconds"]
    texts = {name: f"{seconds[key]:.3f}" for key, name in (METHODS | {"plain": "CGS"}).items()}
    for key in ("augmented", "langevin", "variational"):
        texts[f"{METHODS[key]}_ratio"] = f"{seconds[key] / seconds['plain']:.2g}"
    return texts


# --- Figures 5 and 6 --------------------------------------------------------------------------------------------------


def measure_perplexity(options):
    given = SimpleNamespace(curve=[10, 30, 90] if options.quick else [10, 20, 30, 40, 60, 90], sweeps=1000)
    if options.quick:
        given.sweeps = 150
    X, labels = news(options, share_of(options))
    found = perplexity(X, labels, given)
    return {"D": X.shape[0], "curve": found, "topics": topics_of_fits(X, labels, given.sweeps, options.seed)}


def topics_of_fits(X, labels, n_sweeps, seed, K=30):
    """Sizes and coherences of the topics of cLDA and of LDA at K = 30."""
    common = {"max_iter": n_sweeps, "random_state": seed}
    alpha = {"fixed α": {"learn_priors": False}, "learnt α": {}}
    fits = {"cLDA": CompoundLDA(K, **common).fit(X, collections=labels)}
    fits |= {f"LDA, {name}": GibbsLDA(K, **common, **own).fit(X) for name, own in alpha.items()}
    return {name: summary(X, model) for name, model in fits.items()}


def summary(X, model):
    K = len(model.topic_word_)
    sizes = np.bincount(model.topic_assignments_, minlength=K)
    coherence = topic_coherence(model, X, method="umass", n_words=20, per_topic=True)
    return {"sizes": sizes, "coherence": coherence}


def perplexity_table(found):
    names = list(found["curve"][0]["perplexity"])
    rows = [[entry["K"], *(f"{entry['perplexity'][name]:.0f}" for name in names)] for entry in found["curve"]]
    return ["K", *(name.replace("alpha", "α") for name in names)], rows


def quartiles(values, digits=3):
    return " / ".join(f"{q:,.{digits}g}" for q in np.quantile(values, (0.25, 0.5, 0.75)))


def perplexity_values(found):
    texts = {"D": f"{found['D']:,}"}
    for key, name in (("clda", "cLDA"), ("fixed", "LDA, fixed α"), ("learnt", "LDA, learnt α")):
        own = found["topics"][name]
        texts[f"{key}_coherence"] = quartiles(own["coherence"])
        low, middle, high = np.quantile(own["sizes"], (0.25, 0.5, 0.75))
        texts[f"{key}_sizes"] = f"{low:,.0f} / {middle:,.0f} / {high:,.0f}"
        texts[f"{key}_spread"] = f"{np.std(own['sizes']) / np.mean(own['sizes']):.2f}"
    return texts


# --- Figures 7, 8, 15, 16 and 17 --------------------------------------------------------------------------------------


def silhouettes(rows, counts):
    """Quartiles of silhouette widths of clusters by complete linkage of Manhattan distances."""
    distances = pdist(rows, "cityblock")
    tree, square, found = linkage(distances, "complete"), squareform(distances), {}
    for n in counts:
        clusters = fcluster(tree, n, "maxclust")
        if 1 < len(np.unique(clusters)) < len(rows):
            widths = silhouette_samples(square, clusters, metric="precomputed")
            found[n] = np.quantile(widths, (0.25, 0.5, 0.75))
    return found


def measure_hierarchy(options):
    """One collection, as in the paper; the HDP is the weak limit, alpha = 1 / K with 200 topics, and tomotopy's."""
    X, _ = news(options, share_of(options))
    common = {"max_iter": 150 if options.quick else 1000, "random_state": options.seed}
    fits = {
        "cLDA": CompoundLDA(90, **common).fit(X),
        "LDA": GibbsLDA(90, learn_priors=False, doc_topic_prior=0.05, topic_word_prior=0.05, **common).fit(X),
        "LDA, learnt α": GibbsLDA(90, **common).fit(X),
        "HDP, weak limit": CompoundLDA(200, collection_topic_prior=1 / 200, **common).fit(X),
    }
    counts, found = (10, 20, 30, 50, 70), {}
    documents = np.random.default_rng(options.seed).permutation(X.shape[0])[:1000]
    for name, model in fits.items():
        own = found[name] = summary(X, model)
        used = np.asarray(own["sizes"]) > 0
        own["used"] = int(used.sum())
        own["topics"] = silhouettes(model.topic_word_[used], counts)
        own["documents"] = silhouettes(model.doc_topic_[documents][:, used], counts)
        # The height at which the tree of topics has half as many clusters, relative to the largest possible distance.
        own["height"] = float(linkage(pdist(model.topic_word_[used], "cityblock"), "complete")[used.sum() // 2, 2] / 2)
        own["coherence"] = np.asarray(own["coherence"])[used]
    found["HDP, tomotopy"] = hdp(X, options)
    return found


def hdp(X, options):
    """tomotopy's HDP with the same eta: topics in use and their sizes."""
    import tomotopy

    model = tomotopy.HDPModel(initial_k=20, eta=0.05, min_cf=0, min_df=0, rm_top=0, seed=options.seed + 1)
    for row in range(X.shape[0]):
        own = slice(X.indptr[row], X.indptr[row + 1])
        model.add_doc(np.repeat(X.indices[own], X.data[own]).astype(str).tolist())
    model.train(150 if options.quick else 1000, workers=1)
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    columns = np.array([int(word) for word in model.used_vocabs])
    phi = np.zeros((len(live), X.shape[1]))
    phi[:, columns] = [model.get_topic_word_dist(k) for k in live]
    sizes = np.asarray(model.get_count_by_topics())[live]
    coherence = topic_coherence(phi, X, method="umass", n_words=20, per_topic=True)
    own = {"sizes": sizes, "coherence": coherence, "used": len(live)}
    own["topics"] = silhouettes(phi, (10, 20, 30, 50, 70))
    own["height"] = float(linkage(pdist(phi, "cityblock"), "complete")[len(live) // 2, 2] / 2)
    return own


def hierarchy_table(found):
    header = ["", "topics in use", "with fewer than 100 tokens", "sizes: quartiles", "coherence: quartiles"]
    header += ["topics in 30 clusters: silhouettes", "documents in 50 clusters"]
    rows = []
    for name, own in found.items():
        sizes = np.array(own["sizes"])
        sizes = sizes[sizes > 0]
        cells = [own["used"], int((sizes < 100).sum())]
        cells.append(" / ".join(f"{q:,.0f}" for q in np.quantile(sizes, (0.25, 0.5, 0.75))))
        cells.append(quartiles(own["coherence"]))
        for key, n in (("topics", "30"), ("documents", "50")):
            widths = own.get(key, {}).get(n)
            cells.append(" / ".join(f"{w:.2f}" for w in widths) if widths else "")
        rows.append([name, *cells])
    return header, rows


def hierarchy_values(found):
    return {
        "clda": f"{found['cLDA']['topics']['30'][1]:.2f}",
        "lda": f"{found['LDA']['topics']['30'][1]:.2f}",
        "hdp": f"{found['HDP, weak limit']['topics']['30'][1]:.2f}",
        "used": f"{found['HDP, weak limit']['used']} and {found['HDP, tomotopy']['used']}",
        "heights": ", ".join(f"{own['height']:.2f} ({name})" for name, own in found.items()),
    }


# --- Figures 12 and 19 ------------------------------------------------------------------------------------------------


def measure_mixtures(options):
    X, labels = corpus(options, "news16"), column(options, "news16", "collection")
    with gzip.open(_record.path(options, "news16", "vocab.txt.gz"), "rt", encoding="utf-8") as file:
        words = np.array(file.read().split("\n")[: X.shape[1]])
    sweeps = 100 if options.quick else 1000
    model = CompoundLDA(30, max_iter=sweeps, random_state=options.seed).fit(X, collections=labels)
    found = {}
    for name, pi, std in zip(model.collections_, model.collection_topic_, model.collection_topic_std_, strict=True):
        others = np.delete(model.collection_topic_, list(model.collections_).index(name), axis=0).max(axis=0)
        k = int(np.argmax(pi - others))
        best = words[np.argsort(-model.topic_word_[k])[:6]].tolist()
        found[name] = {"k": k, "share": pi[k], "std": std[k], "others": others[k], "words": best, "all": pi}
    return found


def mixtures_table(found):
    header = "collection", "its topic", "share there", "largest share in another collection"
    rows = []
    for name, own in found.items():
        share = f"{own['share']:.3f} ± {own['std']:.3f}"
        rows.append([name, " ".join(own["words"]), share, f"{own['others']:.3f}"])
    return header, rows


# --- Figure 20 --------------------------------------------------------------------------------------------------------


def measure_alpha(options):
    X, labels = news(options, share_of(options))
    test = np.random.default_rng(options.seed).permutation(X.shape[0])[: X.shape[0] // 5]
    train, found = np.setdiff1d(np.arange(X.shape[0]), test), {}
    seen, hidden = (part.to_counts() for part in split_tokens(Corpus.from_counts(X[test]), 0))
    for alpha in (0.1, 0.5, 1, 2, 5):
        runs = []
        for seed in range(2 if options.quick else 5):
            common = {"max_iter": 100 if options.quick else 1000, "random_state": seed}
            priors = {"doc_concentration": 2.07, "topic_word_prior": 0.05, "collection_topic_prior": alpha}
            model = CompoundLDA(30, **common, **priors).fit(X[train], collections=labels[train])
            given = {"collections": labels[test], "random_state": 0}
            runs.append(predictive_perplexity(model, seen, hidden, **given))
        found[alpha] = runs
    return found


def alpha_values(found):
    return {
        "all": ", ".join(f"{np.mean(runs):.0f} (α = {alpha})" for alpha, runs in found.items()),
        "spread": f"{np.mean([np.ptp(runs) for runs in found.values()]):.0f}",
    }


PARTS = {
    "recovery": Part(measure_recovery, recovery_values, recovery_table),
    "priors": Part(measure_priors, priors_values),
    "cost": Part(measure_cost, cost_values),
    "perplexity": Part(measure_perplexity, perplexity_values, perplexity_table),
    "hierarchy": Part(measure_hierarchy, hierarchy_values, hierarchy_table),
    "mixtures": Part(measure_mixtures, None, mixtures_table),
    "alpha": Part(measure_alpha, alpha_values),
}

if __name__ == "__main__":
    _record.main(__file__, __doc__, PARTS)
