"""The hierarchical Dirichlet process: time of a sweep, and other ways to a number of topics.

    python benchmarks/bench_hdp.py                           with the bundled corpus
    python benchmarks/bench_hdp.py --ldac corpus.ldac.gz --json figures.json
    python benchmarks/bench_hdp.py --parts sweep
    python benchmarks/bench_hdp.py --parts settings --setting "eta at least 0.1" "half of the topics"

`settings` fits with other bounds of eta and other truncations: corpora of the model, corpora with a fixed number of
topics, and a real corpus. `bench_truth.py` has more corpora of the first two kinds.

Costs are CPU seconds of the process, with one thread. `compare` needs tomotopy. All scores of held-out documents are by
`sklda.metrics.held_out_log_likelihood`; for tomotopy with its topics and the expected shares of its tables.
"""

import argparse
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from peers import describe, read_ldac, stopwatch
from report import fitted, say, table
from scipy.special import digamma
from threadpoolctl import threadpool_limits
from truth_hdp import common_share, hdp, hdp_of_others

from sklda import HDPLDA, TopicCountLDA
from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._models.compound import hdp_estimator
from sklda._models.compound.concentrations import Concentration, Concentrations
from sklda._models.compound.hdp import HDPMixtures
from sklda._models.compound.model import CompoundModel
from sklda._sampling.choice import chain_class
from sklda._sampling.some_topics import SomeTopicsChain
from sklda._sampling.steps import advance
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.metrics import held_out_log_likelihood

PARTS = ("sweep", "compare", "settings")


# --- seconds per sweep ------------------------------------------------------------------------------------------------


def sweep(X, options):
    """Sweeps of a corpus of 30 topics, at truncations of which all but about 30 topics are empty."""
    made = make_lda_corpus(
        options.documents, 5000, 30, doc_length=150, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0
    )
    corpus, rows, found = Corpus.from_counts(made.data), [], []
    for K in options.topics:
        seed = random.seed_sequence(0)
        priors = Priors.make(0.1, 0.05, K, corpus.n_features)
        kind = chain_class("collapsed", corpus, priors)
        given = Concentrations(Concentration(3.0), Concentration(3.0), Concentration(3.0))
        model = CompoundModel(np.zeros(corpus.n_documents, np.int64), 1)
        chains = {"LDA": kind.initialise_randomly(corpus, priors, seed)}
        chains["HDP"] = SomeTopicsChain.initialise_randomly(corpus, priors, random.child(seed, 0))
        chains["HDP"].steps = [HDPMixtures(model, given, random.child(seed, 1), K)]
        chains["HDP"].steps[0].begin(chains["HDP"])
        for chain in chains.values():
            for _ in range(options.warm_up):
                advance(chain, chain.steps)
        seconds = {name: [] for name in chains}
        for _ in range(options.repeats):
            for name, chain in chains.items():
                with stopwatch() as taken:
                    advance(chain, chain.steps)
                    chain.log_joint()
                seconds[name].append(taken["cpu"])
        medians = {name: float(np.median(each)) for name, each in seconds.items()}
        hdp = chains["HDP"]
        entry = {"K": K, "in_use": int((hdp.topic_totals > 0).sum()), "swept": len(hdp.swept), "sampler": kind.sampler}
        found.append(entry | {"seconds": medians})
        rows.append([str(K), str(entry["in_use"]), str(entry["swept"]), kind.sampler,
                     *(f"{medians[name]:.4f}" for name in ("LDA", "HDP"))])  # fmt: skip
    table(
        f"CPU seconds per sweep, {corpus.n_tokens:,} tokens",
        ["K", "in use", "swept", "sampler of LDA", "LDA", "HDP"],
        rows,
    )
    return found


# --- other ways to a number -------------------------------------------------------------------------------------------


def expected_shares(n, gamma, a, n_iter=50):
    """Shares of the topics, and of a new one, from the expected tables given the counts n (n_documents, K)."""
    shares = np.full(n.shape[1], 1 / n.shape[1])
    for _ in range(n_iter):
        c = gamma * np.maximum(shares, 1e-12)
        tables = (c * (digamma(c + n) - digamma(c))).sum(axis=0)
        shares = tables / (tables.sum() + a)
    return np.append(shares, 1 - shares.sum())


def tomotopy_hdp(train, test, eta, options):
    import tomotopy

    model = tomotopy.HDPModel(
        tw=tomotopy.TermWeight.ONE, min_cf=0, min_df=0, rm_top=0, initial_k=2, alpha=1.0, gamma=1.0, eta=eta, seed=1
    )
    for row in range(train.shape[0]):
        own = slice(train.indptr[row], train.indptr[row + 1])
        words = np.repeat(train.indices[own], train.data[own]).astype(str).tolist()
        if words:
            model.add_doc(words)
    with stopwatch() as taken:
        model.train(options.sweeps, workers=1)
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    vocabulary = np.array(model.used_vocabs).astype(int)
    phi = np.full((len(live) + 1, train.shape[1]), 1e-10)
    phi[-1] = 1
    n = np.zeros((len(model.docs), model.k))
    for d, document in enumerate(model.docs):
        np.add.at(n[d], document.topics, 1)
    for i, k in enumerate(live):
        phi[i, vocabulary] = model.get_topic_word_dist(k)
    phi /= phi.sum(axis=1, keepdims=True)
    alpha = model.alpha * expected_shares(n[:, live], model.alpha, model.gamma)
    sizes = np.cumsum(np.sort(n.sum(axis=0))[::-1])
    score = held_out_log_likelihood((phi, np.maximum(alpha, 1e-12)), test, random_state=0).sum() / test.sum()
    large = int(np.searchsorted(sizes, 0.99 * sizes[-1])) + 1
    return {"seconds": taken["cpu"], "topics": len(live), "large": large, "score": float(score)}


def compare(X, options):
    rng = np.random.default_rng(0)
    order = rng.permutation(X.shape[0])
    test, train = X[order[: X.shape[0] // 5]], X[order[X.shape[0] // 5 :]]
    train.sort_indices()
    rows, found = [], {}

    def add(name, entry):
        found[name] = entry
        rows.append([name, f"{entry['seconds']:.1f}", *(str(entry[key]) for key in ("topics", "large")),
                     f"{entry['score']:.3f}"])  # fmt: skip
        say(*rows[-1])

    warnings.simplefilter("ignore")
    for eta in options.eta:
        for K in options.truncations:
            lda = HDPLDA(max_components=K, topic_word_prior=eta, max_iter=options.sweeps, random_state=0)
            with stopwatch() as taken:
                lda.fit(train)
            entry = {"seconds": taken["cpu"], "topics": lda.topic_count_interval_}
            entry |= {"large": lda.large_topic_count_interval_}
            score = held_out_log_likelihood(lda, test, random_state=0).sum() / test.sum()
            add(f"HDP, eta {eta}, K = {K}", entry | {"score": float(score)})
        add(f"tomotopy, eta {eta}", tomotopy_hdp(train, test, eta, options))
        if options.topic_count:
            lda = TopicCountLDA(topic_word_prior=eta, random_state=0)
            with stopwatch() as taken:
                lda.fit(train)
            entry = {"seconds": taken["cpu"], "topics": lda.topic_count_interval_, "large": "-"}
            score = held_out_log_likelihood(lda, test, random_state=0).sum() / test.sum()
            add(f"TopicCountLDA, eta {eta}", entry | {"score": float(score)})
    table("number of topics, and nats per held-out token", ["model", "CPU s", "topics", "99 %", "score"], rows)
    return found


# --- other settings than the defaults ---------------------------------------------------------------------------------

# The smallest eta that is learnt, and the truncation.
SETTINGS = {
    "default": (0.05, 500),
    "eta at least 1e-5": (1e-5, 500),
    "eta at least 0.025": (0.025, 500),
    "eta at least 0.1": (0.1, 500),
    "eta at least 0.2": (0.2, 500),
    "half of the topics": (0.05, 250),
    "twice the topics": (0.05, 1000),
}


def settings(X, options):
    """What the bound of eta and the truncation change."""
    found, rows = {}, []
    for name in options.setting:
        smallest, n_components = SETTINGS[name]
        given = SimpleNamespace(parameters={"n_components": n_components})
        with patch.object(hdp_estimator, "SMALLEST_HDP_ETA", smallest):
            model = [hdp(seed, given) for seed in range(options.corpora)]
            others = [hdp_of_others(seed, given) for seed in range(options.corpora)]
            lda, seconds = fitted(HDPLDA(max_components=n_components, random_state=0), X)
        real = {
            "seconds": seconds,
            "eta": float(lda.topic_word_prior_),
            "topics": lda.topic_count_interval_,
            "large": lda.large_topic_count_interval_,
            "chains": [float(each.mean()) for each in np.split(lda.large_topic_count_draws_, lda.n_chains)],
            "common": common_share(lda),
        }
        found[name] = {"model": model, "others": others, "real": real}
        inside = [sum(low <= each["true"] <= high for each in model for low, high in [each["interval"]])]
        inside += [sum(low <= each["large"] <= high for each in own for low, high in [each["large_interval"]])
                   for own in (model, others)]  # fmt: skip
        rows.append([name, *map(str, inside),
                     f"{np.median([each['seconds'] for each in model + others]):.1f}",
                     f"{seconds:.1f}", f"{real['eta']:.3f}",
                     *("{}-{}".format(*real[key]) for key in ("topics", "large")),
                     "{:.0f}-{:.0f}".format(min(real["chains"]), max(real["chains"])),
                     f"{real['common']:.2f}"])  # fmt: skip
        say(*rows[-1])
        say([(each["shape"][:12], each["large"], each["large_interval"]) for each in others])
    table(
        f"{options.corpora} corpora of the model, {options.corpora} with a fixed number, and the real corpus",
        [
            "setting",
            "inside",
            "99 %",
            "99 %, fixed",
            "CPU s",
            "real: CPU s",
            "eta",
            "topics",
            "99 %",
            "chains",
            "common",
        ],
        rows,
    )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ldac", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--topics", nargs="+", type=int, default=[48, 100, 200, 500])
    parser.add_argument("--truncations", nargs="+", type=int, default=[500])
    parser.add_argument("--eta", nargs="+", type=float, default=[0.5, 0.1])
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--sweeps", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--warm-up", type=int, default=200)
    parser.add_argument("--setting", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--corpora", type=int, default=10, help="of each kind, in the part settings")
    parser.add_argument("--topic-count", action="store_true", help="also fit TopicCountLDA, which takes minutes")
    options = parser.parse_args()
    X = load_docstrings().data if options.ldac is None else read_ldac(options.ldac)
    found = {"corpus": describe(X)}
    say(found["corpus"])
    with threadpool_limits(1):
        for part in options.parts:
            found[part] = globals()[part](X, options)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
