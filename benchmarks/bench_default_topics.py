"""Held-out log-likelihood and CPU seconds of default fits of GibbsLDA and of other libraries.

    python benchmarks/bench_default_topics.py
    python benchmarks/bench_default_topics.py --corpora news:folder/corpus.ldac.gz:50 --fit 9000 --json figures.json
    python benchmarks/bench_default_topics.py --cost --corpora news:folder/corpus.ldac.gz:100 --fit 9000

Every model has the defaults of its library; only the number of topics and the seed are given, and 500 sweeps for
tomotopy and topica. topica also runs with its default, 1,000 sweeps; the default of tomotopy is only ten. Documents are
permuted, and some are held out. Words that do not occur in the other documents are removed, because some libraries
cannot know them. All models are scored by `sklda.metrics.held_out_log_likelihood`, with their topics and their alpha.
Each fit has its own process on one core. CPU seconds are those of the process in the fit, with all its threads. They
contain everything after the corpus is in the form that the library takes: a matrix, or lists of words or of counts.
"""

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from peers import describe, read_ldac
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from sklda import GibbsLDA
from sklda._base import BaseLDA
from sklda._chain_results import ChainResults
from sklda._inference.sampling.prior_learning import Learner
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.metrics import held_out_log_likelihood

SWEEPS = 500
DEFAULT = "GibbsLDA"
# Held-out documents of a simulated corpus.
HELD_OUT = 200


# --- models: a function that prepares the input, and one that returns topics and alpha --------------------------------


def word_lists(X):
    """The documents as lists of words; the words are the column numbers."""
    rows = (slice(*X.indptr[row : row + 2]) for row in range(X.shape[0]))
    return [np.repeat(X.indices[own], X.data[own]).astype(str).tolist() for own in rows]


def in_columns(topic_word, words, n_features):
    """Topics with their words in the order of the columns; every column must be among the words."""
    columns = np.array(words, np.int64)
    assert np.array_equal(np.sort(columns), np.arange(n_features))
    ordered = np.empty((len(topic_word), n_features))
    ordered[:, columns] = topic_word
    return ordered


def gibbs(learn_priors):
    def fit(X, n_topics, seed):
        lda = GibbsLDA(n_topics, learn_priors=learn_priors, random_state=seed).fit(X)
        return lda.topic_word_, lda.doc_topic_prior_

    return fit


def scikit_learn(max_iter):
    def fit(X, n_topics, seed):
        lda = LatentDirichletAllocation(n_topics, max_iter=max_iter, random_state=seed).fit(X)
        return lda.components_ / lda.components_.sum(axis=1, keepdims=True), lda.doc_topic_prior_

    return fit


def tomotopy(documents, n_topics, seed):
    from tomotopy import LDAModel

    lda = LDAModel(k=n_topics, seed=seed)
    for document in documents:
        lda.add_doc(document)
    lda.train(SWEEPS, workers=1)
    topics = np.array([lda.get_topic_word_dist(k) for k in range(n_topics)], np.float64)
    return in_columns(topics / topics.sum(axis=1, keepdims=True), lda.used_vocabs, len(lda.used_vocabs)), lda.alpha


def topica(**parameters):
    def fit(documents, n_topics, seed):
        from topica import LDA

        lda = LDA(n_topics, seed=seed).fit(documents, **parameters)
        return in_columns(lda.topic_word, lda.vocabulary, len(lda.vocabulary)), lda.alpha

    return fit


def count_lists(X):
    rows = (slice(*X.indptr[row : row + 2]) for row in range(X.shape[0]))
    return [list(zip(X.indices[own].tolist(), X.data[own].tolist(), strict=True)) for own in rows]


def gensim(documents, n_topics, seed):
    from gensim.models import LdaModel

    lda = LdaModel(documents, num_topics=n_topics, random_state=seed)
    topics = lda.get_topics().astype(np.float64)
    return topics / topics.sum(axis=1, keepdims=True), lda.alpha


# Name: (package, function that prepares X, function that fits).
MODELS = {
    DEFAULT: ("sklda", None, gibbs("asymmetric")),
    "GibbsLDA, symmetric": ("sklda", None, gibbs("symmetric")),
    "GibbsLDA, 1/K": ("sklda", None, gibbs(False)),
    "tomotopy": ("tomotopy", word_lists, tomotopy),
    "topica": ("topica", word_lists, topica(iters=SWEEPS)),
    "topica, 1000": ("topica", word_lists, topica()),
    "gensim": ("gensim", count_lists, gensim),
    "scikit-learn": ("sklearn", None, scikit_learn(10)),
    "scikit-learn, 20": ("sklearn", None, scikit_learn(20)),
}


# --- one fit in its own process ---------------------------------------------------------------------------------------


def measure(name, train, test, n_topics, seed):
    """CPU seconds of a fit, and the held-out log-likelihood of every document in nats."""
    _, prepare, fit = MODELS[name]
    one_core()
    data = train if prepare is None else prepare(train)
    with threadpool_limits(1):
        before = time.process_time()
        topic_word, alpha = fit(data, n_topics, seed)
        cpu = time.process_time() - before
        alpha = np.asarray(alpha, np.float64)
        values = held_out_log_likelihood(test, (topic_word, alpha), random_state=0)
    return {"cpu": cpu, "log_likelihood": values.tolist(), "alpha": [float(alpha.min()), float(alpha.max())]}


def one_core():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def in_child(function, *arguments):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "tomotopy", "topica", "gensim"])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


# --- corpora ----------------------------------------------------------------------------------------------------------


def simulated(n_documents, seed):
    """Documents of 100 tokens from ten topics, all with the same alpha; `HELD_OUT` more are held out."""
    n = n_documents + HELD_OUT
    corpus = make_lda_corpus(n, 500, 10, doc_length=100, doc_topic_prior=0.2, topic_word_prior=0.1, random_state=seed)
    return known_words(corpus.data[:n_documents], corpus.data[n_documents:])


def split(X, n_fit):
    """Training documents and held-out documents; by default four fifths are training documents."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    n_fit = n_fit or int(0.8 * X.shape[0])
    return known_words(X[order[:n_fit]], X[order[n_fit:]])


def known_words(train, test):
    known = train.getnnz(axis=0) > 0
    share = test[:, ~known].sum() / test.sum()
    return train[:, known].tocsr(), test[:, known].tocsr(), float(share)


def corpora(options):
    """Name, K and a function of the seed that returns training and held-out documents."""
    if not options.only:
        bundled = split(load_docstrings().data, None)
        yield "docstrings", 40, lambda seed: bundled
        for n in (30, 100):
            yield f"simulated, {n}", 10, lambda seed, n=n: simulated(n, seed)
    for given in options.corpora:
        name, path = given.split(":", 1)
        path, n_topics = path.rsplit(":", 1)
        X = read_ldac(path)
        say(f"{name}: {describe(X)}")
        parts = split(X, options.fit)
        yield name, int(n_topics), lambda seed, parts=parts: parts


# --- table ------------------------------------------------------------------------------------------------------------


def say(*words):
    print(*words, flush=True)


def rst(header, rows):
    """Print a simple table of reStructuredText."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    say("\n".join(["", rule, lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:]), rule, ""]))


def by_model(own):
    """Of each model: log-likelihoods per token of held-out documents, one row for each seed; CPU seconds; the seeds."""
    found = {}
    for name in MODELS:
        fits = {f["seed"]: f for f in own.values() if f["model"] == name}
        if fits:
            values = np.array([np.divide(f["log_likelihood"], f["n_tokens"]) for f in fits.values()])
            found[name] = values, [f["cpu"] for f in fits.values()], list(fits)
    return found


def show(title, own):
    """The fits of one corpus and K: means over seeds, and paired differences from the default over documents."""
    first, models = next(iter(own.values())), by_model(own)
    say(f"\n{title}: {first['n_tokens']:,} held-out tokens; {first['unknown']:.2%} more of unknown words left out")
    rows = []
    for name, (values, cpu, _) in models.items():
        totals = values.sum(axis=1)
        spread = f"{totals.std(ddof=1):.4f}" if len(totals) > 1 else ""
        rows.append([name, str(len(totals)), f"{totals.mean():.4f}", spread, difference(models, name)])
        rows[-1].append(f"{np.mean(cpu):.2f}")
    rst(["model", "seeds", "nats per token", "sd of seeds", "difference ± se", "CPU s"], rows)


def show_all(record):
    """All corpora: log-likelihoods, their differences from the default, and CPU seconds; means over seeds."""
    cells = {
        "Nats per held-out token": lambda models, name: f"{models[name][0].sum(axis=1).mean():.4f}",
        f"Difference from {DEFAULT} ± standard error over documents": difference,
        "CPU seconds": lambda models, name: f"{np.mean(models[name][1]):.2f}",
    }
    for title, cell in cells.items():
        say(f"\n{title}")
        rows = []
        for corpus, own in record.items():
            models = by_model(own)
            rows.append([corpus, *(cell(models, name) if name in models else "" for name in MODELS)])
        rst(["corpus", *MODELS], rows)


def difference(models, name):
    """Mean difference from the default, and its standard error over documents, of the seeds that both have."""
    if name == DEFAULT or DEFAULT not in models:
        return ""
    (ours, _, our_seeds), (theirs, _, seeds) = models[DEFAULT], models[name]
    both = [seed for seed in seeds if seed in our_seeds]
    if not both:
        return ""
    per_document = np.mean([theirs[seeds.index(s)] - ours[our_seeds.index(s)] for s in both], axis=0)
    error = per_document.std(ddof=1) * np.sqrt(len(per_document))
    return f"{per_document.sum():+.4f} ± {error:.4f}"


# --- cost of learning and averaging -----------------------------------------------------------------------------------


class Timer:
    """Adds up the CPU seconds of the calls of methods."""

    def __init__(self):
        self.seconds = {}

    def watch(self, owner, name, part):
        method = getattr(owner, name)

        def timed(*arguments, **options):
            before = time.process_time()
            try:
                return method(*arguments, **options)
            finally:
                self.seconds[part] = self.seconds.get(part, 0.0) + time.process_time() - before

        setattr(owner, name, timed)


def costs(X, n_topics, seed, parameters):
    """CPU seconds of the parts of a fit."""
    from sklda._inference.corpus import Corpus
    from sklda._inference.priors import Priors
    from sklda._inference.sampling.choice import chain_class

    one_core()
    timer = Timer()
    kind = chain_class("collapsed", Corpus.from_counts(X), Priors.make(0.1, 0.1, n_topics, X.shape[1]))
    timer.watch(kind, "sweep", "sweeps")
    timer.watch(kind, "keep_draw", "keeping draws")
    timer.watch(Learner, "after_sweep", "learning")
    timer.watch(Learner, "end", "learning")
    timer.watch(ChainResults, "estimate", "estimates")
    timer.watch(BaseLDA, "fit", "fit")
    with threadpool_limits(1):
        GibbsLDA(n_topics, random_state=seed, **parameters).fit(X)
    return timer.seconds


def show_costs(name, X, n_topics, seeds):
    """The cost of learning relative to the sweeps, and of averaging relative to the rest of the fit."""
    kinds = {"default": {}, "n_draws=1": {"n_draws": 1}, "learn_priors=False": {"learn_priors": False}}
    parts = "fit", "sweeps", "learning", "keeping draws", "estimates"
    found = {kind: [] for kind in kinds}
    for seed in range(seeds):
        for kind, parameters in kinds.items():
            found[kind].append(in_child(costs, X, n_topics, seed, parameters))
    medians = {k: {part: np.median([f.get(part, 0.0) for f in own]) for part in parts} for k, own in found.items()}
    say(f"\n{name}, K = {n_topics}: CPU seconds of the parts of a fit of {SWEEPS} sweeps, medians over {seeds} seeds")
    rst(["fit", *parts], [[kind, *(f"{own[part]:.3f}" for part in parts)] for kind, own in medians.items()])
    default, single = medians["default"], medians["n_draws=1"]
    extra = sum(default[part] - single[part] for part in ("keeping draws", "estimates"))
    say(f"learning: {default['learning'] / default['sweeps']:.2%} of the time of the sweeps")
    say(f"averaging: {extra / (default['fit'] - extra):.2%} of the time of the rest of the fit")


# --- command line -----------------------------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--corpora", nargs="+", default=[], metavar="NAME:PATH:K", help="more corpora, .ldac or .ldac.gz")
    add("--only", action="store_true", help="without the bundled corpus and the simulated ones")
    add("--fit", type=int, metavar="N", help="documents to fit (default: four fifths)")
    add("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL", help=f"from {list(MODELS)}")
    add("--seeds", type=int, default=3, help="fits of each model (default: 3)")
    add("--cost", action="store_true", help="only the costs of learning and averaging, on the corpora given")
    add("--json", type=Path, metavar="FILE", help="save all figures in FILE; fits that it has are not repeated")
    return parser.parse_args()


def main():
    options = parse()
    record = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    missing = {name for name in options.models if find_spec(MODELS[name][0]) is None}
    for name in missing:
        say(f"{name} is not installed and is left out")
    options.only = options.only or options.cost
    for corpus, n_topics, make in corpora(options):
        title = f"{corpus}, K = {n_topics}"
        if options.cost:
            show_costs(corpus, make(0)[0], n_topics, options.seeds)
            continue
        own = record.setdefault(title, {})
        for seed in range(options.seeds):
            train, test, unknown = make(seed)
            for name in options.models:
                if name in missing or f"{name}, {seed}" in own:
                    continue
                found = {"model": name, "seed": seed, "n_tokens": int(test.sum()), "unknown": unknown}
                own[f"{name}, {seed}"] = found | in_child(measure, name, train, test, n_topics, seed)
                if options.json:
                    options.json.write_text(json.dumps(record))
        show(title, own)
    if not options.cost:
        show_all(record)


if __name__ == "__main__":
    main()
