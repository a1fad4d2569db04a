"""Are all topics found where their shares differ? Corpora of LDA with known topics, fitted with defaults.

    python benchmarks/bench_topics_found.py --corpora 100
    python benchmarks/bench_topics_found.py --corpora 100 --models default --more 2
    python benchmarks/bench_topics_found.py --part constants --corpora 30
    python benchmarks/bench_topics_found.py --part cost --ldac corpus.ldac.gz --topics 50
    python benchmarks/bench_topics_found.py --corpora 25 --models default tomotopy scikit-learn --figure found.svg

Corpora are drawn over a range: 4 to 100 topics, 250 to 5,000 documents with 5 to 300 words on average, 200 to 4,000
different words. eta is 0.02 to 0.3, the sum of alpha 0.1 to 2, and alpha differs between topics. A topic is found if
the cosine of its words and those of its counterpart, by the best assignment, is above 0.9. A corpus counts if a chain
that begins at the true topics of all tokens has all topics at its end; in the others, words do not tell the topics
apart. Part ``constants`` has half and twice each constant of the moves, and part ``cost`` the CPU seconds of the moves.
"""

import argparse
import time
import warnings

import numpy as np
import scipy.sparse as sp
from bench_defaults import MODELS, scikit_learn, tomotopy
from peers import in_columns, read_ldac, word_lists
from report import say, scaled, table
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from sklda import CollapsedVariationalLDA, GibbsLDA
from sklda._sampling import merge_and_split
from sklda.datasets import load_docstrings, make_lda_corpus

FOUND = 0.9
CONSTANTS = (
    *("_SPLIT_SWEEPS", "_CHECK_SWEEPS", "_POWER_STEPS", "_LEAST_GAIN", "_EVERY", "_WAIT"),
    *("_TRIALS", "_MERGES_EACH"),
)


def sklda_fit(estimator, **parameters):
    def fit(X, n_topics, seed):
        return estimator(n_topics, random_state=seed, **parameters).fit(X).topic_word_

    return fit


def peer_fit(prepare, fit):
    def fitted(X, n_topics, seed):
        return fit(X if prepare is None else prepare(X), n_topics, seed, None)[0]

    return fitted


FITS = {
    "default": sklda_fit(GibbsLDA),
    "without moves": None,
    "random start": sklda_fit(GibbsLDA, init="random"),
    "four chains": sklda_fit(GibbsLDA, n_chains=4),
    "CVB0": sklda_fit(CollapsedVariationalLDA),
    "tomotopy": peer_fit(word_lists, tomotopy),
    "scikit-learn": peer_fit(None, scikit_learn(10)),
    "scikit-learn, 100": peer_fit(None, scikit_learn(100)),
    "gensim": peer_fit(*MODELS["gensim"][1:]),
    "topica": peer_fit(*MODELS["topica, 1000"][1:]),
}
PEERS = "tomotopy", "scikit-learn", "gensim", "topica", "pyrmallet"


# --- Corpora of unequal topics ----------------------------------------------------------------------------------------


def shares(kind, n_topics, rng):
    """Relative sizes of topics."""
    if kind == "giant":
        return np.r_[1.2 * (n_topics - 1), np.ones(n_topics - 1)]
    if kind == "two giants":
        return np.r_[np.full(2, 0.7 * (n_topics - 2)), np.ones(n_topics - 2)]
    if kind == "geometric":
        smallest = rng.uniform(0.02, 0.1) if n_topics >= 12 else rng.uniform(0.55, 0.8) ** n_topics
        return smallest ** (np.arange(n_topics) / n_topics)
    if kind == "Zipf":
        return 1 / np.arange(1, n_topics + 1)
    return np.ones(n_topics)


KINDS = ("equal", "giant", "two giants", "geometric")


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def simulated(kind, seed, most_tokens):
    """A corpus with its truth, as of `make_lda_corpus`, without words that do not occur."""
    rng = np.random.default_rng([2026, KINDS.index(kind) if kind in KINDS else len(KINDS), seed])
    n_topics, n_features = int(log_uniform(rng, 4, 101)), int(log_uniform(rng, 200, 4000))
    n_documents = int(log_uniform(rng, 250, 5000))
    mean_length = min(log_uniform(rng, 5, 300), most_tokens / n_documents)
    spread = rng.uniform(0, 0.7)
    sizes = shares(kind, n_topics, rng)
    lengths = np.maximum(np.round(mean_length * np.exp(spread * rng.standard_normal(n_documents))), 2).astype(int)
    return make_lda_corpus(
        n_documents,
        n_features,
        n_topics,
        doc_length=lengths,
        doc_topic_prior=log_uniform(rng, 0.1, 2) * sizes / sizes.sum(),
        topic_word_prior=log_uniform(rng, 0.02, 0.3),
        random_state=int(rng.integers(2**31)),
    )


def n_found(topic_word, truth):
    """The number of true topics that have a counterpart."""
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (truth, topic_word)]
    cosines = unit[0] @ unit[1].T
    return int((cosines[linear_sum_assignment(-cosines)] > FOUND).sum())


def clear_corpora(kind, n_corpora, most_tokens):
    """Corpora with a chain that stays at the truth, and how many others there were."""
    seed = n_kept = 0
    while n_kept < n_corpora:
        corpus = simulated(kind, seed, most_tokens)
        K = len(corpus.topic_word)
        lda = GibbsLDA(K, init=corpus.topic_assignments, random_state=0).fit(corpus.data)
        if n_found(lda.topic_word_, corpus.topic_word) == K:
            n_kept += 1
            yield seed, corpus
        seed += 1


# --- Parts ------------------------------------------------------------------------------------------------------------


def pyrmallet(X, n_topics, seed):
    """MALLET's sampler in Rust, with the defaults of the package. It takes texts, and words of letters."""
    from pyrmallet import LatentDirichletAllocation

    letters = str.maketrans("0123456789", "abcdefghij")
    texts = [" ".join(f"word{word.translate(letters)}" for word in words) for words in word_lists(X)]
    lda = LatentDirichletAllocation(n_topics, random_state=seed).fit(texts)
    columns = {f"word{str(j).translate(letters)}": j for j in range(X.shape[1])}
    return in_columns(lda.components_, [columns[word] for word in lda.feature_names_in_], X.shape[1])


FITS["pyrmallet"] = pyrmallet


def without_moves(X, n_topics, seed):
    with scaled([merge_and_split], merge_and_split, "_LEAST_SWEEPS", 10**6):
        return FITS["default"](X, n_topics, seed)


FITS["without moves"] = without_moves


def counted(fit, corpora, more=0):
    """Corpora with all topics, topics missed, and CPU seconds of a fit."""
    n_all, n_missed, seconds = 0, 0, []
    for seed, corpus in corpora:
        K = len(corpus.topic_word)
        # Peers need the words that occur.
        X, topic_word = corpus.data, corpus.topic_word
        occur = np.asarray(X.sum(axis=0)).ravel() > 0
        begin = time.process_time()
        own = fit(X[:, occur], max(K + more, 1), seed)
        seconds.append(time.process_time() - begin)
        found = n_found(own, topic_word[:, occur])
        # With one topic too few, two true ones must share one, which is like neither.
        has_room = K + 2 * min(more, 0)
        n_all += found >= has_room
        n_missed += max(has_room - found, 0)
    return n_all, n_missed, float(np.mean(seconds))


def found_part(arguments):
    rows, counts = [], {}
    for kind in arguments.kinds:
        corpora = list(clear_corpora(kind, arguments.corpora, arguments.tokens))
        for name in arguments.models:
            n_all, n_missed, seconds = counted(FITS[name], corpora, arguments.more)
            counts[kind, name] = n_all
            rows.append([kind, name, f"{n_all} of {len(corpora)}", f"{n_missed}", f"{seconds:.2f}"])
            say("  ".join(rows[-1]))
    table("All topics found", ["shares", "fit", "corpora", "topics missed", "CPU s"], rows)
    if arguments.figure:
        draw(counts, arguments)


def constants_part(arguments):
    corpora = {kind: list(clear_corpora(kind, arguments.corpora, arguments.tokens)) for kind in arguments.kinds}
    rows = []
    for name, factor in [("", 1), *((name, factor) for name in CONSTANTS for factor in (0.5, 2))]:
        label = f"{name} x {factor:g}" if name else "default"
        total = np.zeros(3)
        for own in corpora.values():
            with scaled([merge_and_split], merge_and_split, name or CONSTANTS[0], factor):
                total += counted(FITS["default"], own)
        n = sum(map(len, corpora.values()))
        rows.append([label, f"{total[0]:.0f} of {n}", f"{total[1]:.0f}", f"{total[2] / len(corpora):.2f}"])
        say("  ".join(rows[-1]))
    table("Constants of the moves", ["constant", "all found", "topics missed", "CPU s"], rows)


def cost_part(arguments):
    """CPU seconds of fits with moves and of the rounds, and the held-out score of both, by turns."""
    spent = [0.0]
    original = merge_and_split.round_of_moves

    def timed(*each, **options):
        begin = time.process_time()
        found = original(*each, **options)
        spent[0] += time.process_time() - begin
        return found

    merge_and_split.round_of_moves = timed
    corpora = {"docstrings": load_docstrings().data}
    for path in arguments.ldac:
        corpora[path] = sp.load_npz(path) if path.endswith(".npz") else read_ldac(path)
    rows = []
    for name, X in corpora.items():
        X = sp.csr_matrix(X)
        test = np.random.default_rng(5).random(X.shape[0]) < 0.2
        for K in arguments.topics:
            scores, seconds, of_moves = {"default": [], "without moves": []}, [], []
            for seed in range(arguments.seeds):
                for kind in scores:
                    spent[0] = 0.0
                    factor = 1 if kind == "default" else 10**6
                    begin = time.process_time()
                    with scaled([merge_and_split], merge_and_split, "_LEAST_SWEEPS", factor):
                        lda = GibbsLDA(K, random_state=seed).fit(X[~test])
                    if kind == "default":
                        seconds.append(time.process_time() - begin)
                        of_moves.append(spent[0])
                    scores[kind].append(lda.score(X[test]))
            share = np.median(np.array(of_moves) / (np.array(seconds) - of_moves))
            means = [f"{np.mean(scores[kind]):.4f}" for kind in scores]
            rows.append([name, f"{K}", f"{np.median(seconds):.1f}", f"{share:.0%}", *means])
            say("  ".join(rows[-1]))
    table("Cost", ["corpus", "K", "CPU s", "moves", "score", "without moves"], rows)


def draw(counts, arguments):
    """Bars of the corpora in which all topics are found, by shares and fit."""
    import matplotlib.pyplot as plt

    names, kinds = arguments.models, arguments.kinds
    figure, axes = plt.subplots(figsize=(7, 0.32 * len(names) * len(kinds) / 2 + 1), layout="constrained")
    height = 0.8 / len(kinds)
    colours = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, len(kinds)))
    for i, kind in enumerate(kinds):
        values = [100 * counts[kind, name] / arguments.corpora for name in names]
        places = np.arange(len(names)) + (i - (len(kinds) - 1) / 2) * height
        bars = axes.barh(places, values, height, label=kind, color=colours[i])
        axes.bar_label(bars, fmt="%.0f", padding=2, fontsize=7)
    labels = [name if name.startswith(PEERS) else f"sklda, {name}" for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.invert_yaxis()
    axes.set(xlim=(0, 108), xlabel="corpora in which every topic is found, %")
    axes.legend(title="shares of topics", ncols=len(kinds), loc="lower center", bbox_to_anchor=(0.4, 1), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(arguments.figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["found", "constants", "cost"], default="found")
    parser.add_argument("--corpora", type=int, default=25)
    parser.add_argument("--tokens", type=int, default=60_000)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--models", nargs="+", default=list(FITS), choices=list(FITS))
    parser.add_argument("--more", type=int, default=0, help="topics of the fit beyond those of the corpus")
    parser.add_argument("--topics", type=int, nargs="+", default=[20])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ldac", nargs="*", default=[])
    parser.add_argument("--figure")
    arguments = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        {"found": found_part, "constants": constants_part, "cost": cost_part}[arguments.part](arguments)


if __name__ == "__main__":
    main()
