"""Held-out log-likelihood and CPU seconds of default fits: of other libraries, of all estimators, and by priors.

    python benchmarks/bench_defaults.py
    python benchmarks/bench_defaults.py --corpora news:folder/corpus.ldac.gz:50 --fit 9000 --json figures.json
    python benchmarks/bench_defaults.py --models estimators --corpora news16:folder/corpus.ldac.gz:50
    python benchmarks/bench_defaults.py --models priors --corpora docstrings::10 docstrings::20 --folds 5 --seeds 2
    python benchmarks/bench_defaults.py --cost --corpora news:folder/corpus.ldac.gz:100 --fit 9000

Every model has the defaults of its library; only the number of topics and the seed are given, and 500 sweeps for
tomotopy and topica. topica also runs with its default, 1,000 sweeps; the default of tomotopy is only ten. Documents are
permuted, and some are held out: a fifth, those that ``--fit`` leaves, or each of them once with ``--folds``. Words that
do not occur in the other documents are removed, because some libraries cannot know them. Models of other libraries are
scored by `sklda.metrics.held_out_log_likelihood`, with their topics and their alpha. CompoundLDA gets the packages of
the docstrings, or the labels beside a file (labels.csv.gz), as collections. Each fit has its own process on one core.
CPU seconds are those of the process in the fit, with all its threads. They contain everything after the corpus is in
the form that the library takes: a matrix, or lists of words or of counts.
"""

import argparse
import csv
import gzip
import json
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from peers import describe, in_columns, read_ldac, word_lists
from report import in_child, one_core, say, table
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

import sklda
from sklda import GibbsLDA
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.metrics import held_out_log_likelihood

SWEEPS = 500
DEFAULT = "GibbsLDA"
# Held-out documents: of a simulated corpus, and the most of other corpora.
HELD_OUT, MOST_HELD_OUT = 200, 2000


# --- models: a function that prepares the input, and one that returns an estimator, or topics and alpha ---------------


def gibbs(**parameters):
    """GibbsLDA; parameters may be functions of K."""

    def fit(X, n_topics, seed, collections):
        given = {name: each(n_topics) if callable(each) else each for name, each in parameters.items()}
        return GibbsLDA(n_topics, random_state=seed, **given).fit(X)

    return fit


def estimator(name):
    def fit(X, n_topics, seed, collections):
        given = {} if name == "TopicCountLDA" else {"n_components": n_topics}
        data = {"collections": collections} if name == "CompoundLDA" and collections is not None else {}
        return getattr(sklda, name)(**given, random_state=seed).fit(X, **data)

    return fit


def scikit_learn(max_iter):
    def fit(X, n_topics, seed, collections):
        lda = LatentDirichletAllocation(n_topics, max_iter=max_iter, random_state=seed).fit(X)
        return lda.components_ / lda.components_.sum(axis=1, keepdims=True), lda.doc_topic_prior_

    return fit


def tomotopy(documents, n_topics, seed, collections):
    from tomotopy import LDAModel

    lda = LDAModel(k=n_topics, seed=seed)
    for document in documents:
        lda.add_doc(document)
    lda.train(SWEEPS, workers=1)
    topics = np.array([lda.get_topic_word_dist(k) for k in range(n_topics)], np.float64)
    return in_columns(topics / topics.sum(axis=1, keepdims=True), lda.used_vocabs, len(lda.used_vocabs)), lda.alpha


def topica(**parameters):
    def fit(documents, n_topics, seed, collections):
        from topica import LDA

        lda = LDA(n_topics, seed=seed).fit(documents, **parameters)
        return in_columns(lda.topic_word, lda.vocabulary, len(lda.vocabulary)), lda.alpha

    return fit


def count_lists(X):
    rows = (slice(*X.indptr[row : row + 2]) for row in range(X.shape[0]))
    return [list(zip(X.indices[own].tolist(), X.data[own].tolist(), strict=True)) for own in rows]


def gensim(documents, n_topics, seed, collections):
    from gensim.models import LdaModel

    lda = LdaModel(documents, num_topics=n_topics, random_state=seed)
    topics = lda.get_topics().astype(np.float64)
    return topics / topics.sum(axis=1, keepdims=True), lda.alpha


def given(alpha, eta):
    return "sklda", None, gibbs(doc_topic_prior=alpha, topic_word_prior=eta)


# Name: (package, function that prepares X, function that fits).
MODELS = {
    DEFAULT: ("sklda", None, gibbs()),
    "GibbsLDA, symmetric": ("sklda", None, gibbs(learn_priors="symmetric")),
    "GibbsLDA, 1/K": ("sklda", None, gibbs(learn_priors=False)),
    "tomotopy": ("tomotopy", word_lists, tomotopy),
    "topica": ("topica", word_lists, topica(iters=SWEEPS)),
    "topica, 1000": ("topica", word_lists, topica()),
    "gensim": ("gensim", count_lists, gensim),
    "scikit-learn": ("sklearn", None, scikit_learn(10)),
    "scikit-learn, 20": ("sklearn", None, scikit_learn(20)),
    "0.1, 0.1": given(0.1, 0.1),
    "0.1, 0.01": given(0.1, 0.01),
    "50/K, 0.01": given(lambda K: 50 / K, 0.01),
}
ESTIMATORS = ("CollapsedVariationalLDA", "CompoundLDA", "EmpiricalBayesLDA", "TopicCountLDA")
MODELS |= {name: ("sklda", None, estimator(name)) for name in ESTIMATORS}
GROUPS = {
    "libraries": list(MODELS)[:9],
    "estimators": [DEFAULT, *ESTIMATORS],
    "priors": [DEFAULT, "GibbsLDA, symmetric", "GibbsLDA, 1/K", "0.1, 0.1", "0.1, 0.01", "50/K, 0.01"],
}


# --- one fit in its own process ---------------------------------------------------------------------------------------


def measure(name, train, test, n_topics, seed, collections):
    """CPU seconds of a fit, and the held-out log-likelihood of every document in nats."""
    _, prepare, fit = MODELS[name]
    one_core()
    data = train if prepare is None else prepare(train)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = time.process_time()
        model = fit(data, n_topics, seed, collections[0])
        cpu = time.process_time() - before
        if isinstance(model, tuple):
            values = held_out_log_likelihood((model[0], np.asarray(model[1], np.float64)), test, random_state=0)
        else:
            own = {"collections": collections[1]} if name == "CompoundLDA" and collections[1] is not None else {}
            values = model.score_samples(test, **own)
    return {"cpu": cpu, "log_likelihood": values.tolist()}


# --- corpora ----------------------------------------------------------------------------------------------------------


def simulated(n_documents, seed):
    """Documents of 100 tokens from ten topics, all with the same alpha; `HELD_OUT` more are held out."""
    n = n_documents + HELD_OUT
    corpus = make_lda_corpus(n, 500, 10, doc_length=100, doc_topic_prior=0.2, topic_word_prior=0.1, random_state=seed)
    return [known_words(corpus.data[:n_documents], corpus.data[n_documents:])]


def splits(X, collections, options, seed):
    """Training documents, held-out ones, the share of unknown words, and collections of both, of each fold."""
    if options.folds:
        pairs = list(KFold(options.folds, shuffle=True, random_state=seed).split(X))
    else:
        order = np.random.default_rng(0).permutation(X.shape[0])
        n_fit = options.fit or X.shape[0] - X.shape[0] // 5
        pairs = [(order[:n_fit], order[n_fit:][:MOST_HELD_OUT])]
    return [
        known_words(X[a], X[b], *([None] * 2 if collections is None else [collections[a], collections[b]]))
        for a, b in pairs
    ]


def known_words(train, test, *collections):
    known = train.getnnz(axis=0) > 0
    share = test[:, ~known].sum() / test.sum()
    return train[:, known].tocsr(), test[:, known].tocsr(), float(share), collections or (None, None)


def labels_beside(path, n_documents):
    """The first column of the labels of a corpus; None without a file, or where they are labels of single documents."""
    path = Path(path).parent / "labels.csv.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = np.array([row[-1] for row in csv.reader(file)][-n_documents:])
    return found if np.median(np.unique(found, return_counts=True)[1]) > 5 else None


def corpora(options):
    """Name, K and a function of the seed that returns the splits."""
    docstrings = load_docstrings()
    bundled = docstrings.data, np.asarray(docstrings.collection)
    for each in options.corpora or (
        [] if options.cost else ["docstrings::40", "simulated, 30::10", "simulated, 100::10"]
    ):
        name, rest = each.split(":", 1)
        path, n_topics = rest.rsplit(":", 1)
        if name.startswith("simulated, "):
            yield name, int(n_topics), lambda seed, name=name: simulated(int(name.split(", ")[1]), seed)
            continue
        X = read_ldac(path) if path else bundled[0]
        own = X, labels_beside(path, X.shape[0]) if path else bundled[1]
        say(f"{name}: {describe(X)}")
        yield name, int(n_topics), lambda seed, own=own: splits(*own, options, seed)


# --- table ------------------------------------------------------------------------------------------------------------


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
    rows = []
    for name, (values, cpu, _) in models.items():
        totals = values.sum(axis=1)
        spread = f"{totals.std(ddof=1):.4f}" if len(totals) > 1 else ""
        rows.append([name, str(len(totals)), f"{totals.mean():.4f}", spread, difference(models, name)])
        rows[-1] += [f"{np.mean(cpu):.2f}", f"{np.median(cpu):.2f}"]
    title += f": {first['n_tokens']:,} held-out tokens; {first['unknown']:.2%} more of unknown words left out"
    table(title, ["model", "seeds", "nats per token", "sd of seeds", "difference ± se", "CPU s", "median"], rows)


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


def costs(X, n_topics, seed, parameters):
    """CPU seconds of the parts of a fit."""
    from sklda._core.corpus import Corpus
    from sklda._core.priors import Priors
    from sklda._models.base import BaseLDA
    from sklda._models.results import ChainResults
    from sklda._sampling.choice import chain_class
    from sklda._sampling.prior_learning import Learner

    one_core()
    seconds = {}

    def watch(owner, name, part):
        method = getattr(owner, name)

        def timed(*arguments, **options):
            before = time.process_time()
            try:
                return method(*arguments, **options)
            finally:
                seconds[part] = seconds.get(part, 0.0) + time.process_time() - before

        setattr(owner, name, timed)

    kind = chain_class("collapsed", Corpus.from_counts(X), Priors.make(0.1, 0.1, n_topics, X.shape[1]))
    watch(kind, "sweep", "sweeps")
    watch(kind, "keep_draw", "keeping draws")
    watch(Learner, "after", "learning")
    watch(Learner, "finish", "learning")
    watch(ChainResults, "estimate", "estimates")
    watch(BaseLDA, "fit", "fit")
    with threadpool_limits(1):
        GibbsLDA(n_topics, random_state=seed, **parameters).fit(X)
    return seconds


def show_costs(name, X, n_topics, seeds):
    """The cost of learning relative to the sweeps, and of averaging relative to the rest of the fit."""
    kinds = {"default": {}, "n_draws=1": {"n_draws": 1}, "learn_priors=False": {"learn_priors": False}}
    parts = "fit", "sweeps", "learning", "keeping draws", "estimates"
    medians = {}
    for kind, parameters in kinds.items():
        found = [in_child(costs, X, n_topics, seed, parameters) for seed in range(seeds)]
        medians[kind] = {part: np.median([each.get(part, 0.0) for each in found]) for part in parts}
    title = f"{name}, K = {n_topics}: CPU seconds of the parts of a fit of {SWEEPS} sweeps, medians over {seeds} seeds"
    table(title, ["fit", *parts], [[k, *(f"{own[part]:.3f}" for part in parts)] for k, own in medians.items()])
    default, single = medians["default"], medians["n_draws=1"]
    extra = sum(default[part] - single[part] for part in ("keeping draws", "estimates"))
    say(f"learning: {default['learning'] / default['sweeps']:.2%} of the time of the sweeps")
    say(f"averaging: {extra / (default['fit'] - extra):.2%} of the time of the rest of the fit")


# --- command line -----------------------------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--corpora", nargs="+", metavar="NAME:PATH:K", help='.ldac or .ldac.gz; "docstrings::K", "simulated, 30::K"')
    add("--fit", type=int, metavar="N", help="documents to fit (default: four fifths)")
    add("--folds", type=int, help="hold every document out once, in so many folds")
    add("--models", nargs="+", choices=[*GROUPS, *MODELS], default=["libraries"], metavar="MODEL", help="or a group")
    add("--seeds", type=int, default=3, help="fits of each model (default: 3)")
    add("--cost", action="store_true", help="only the costs of learning and averaging, on the corpora given")
    add("--json", type=Path, metavar="FILE", help="save all figures in FILE; fits that it has are not repeated")
    return parser.parse_args()


def main():
    options = parse()
    record = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    names = dict.fromkeys(model for each in options.models for model in GROUPS.get(each, [each]))
    missing = {name for name in names if find_spec(MODELS[name][0]) is None}
    for name in missing:
        say(f"{name} is not installed and is left out")
    for corpus, n_topics, make in corpora(options):
        if options.cost:
            show_costs(corpus, make(0)[0][0], n_topics, options.seeds)
            continue
        title = f"{corpus}, K = {n_topics}"
        own = record.setdefault(title, {})
        for seed in range(options.seeds):
            folds = make(seed)
            for name in names:
                if name in missing or f"{name}, {seed}" in own:
                    continue
                fits = [
                    in_child(measure, name, train, test, n_topics, seed, labels) for train, test, _, labels in folds
                ]
                own[f"{name}, {seed}"] = {
                    "model": name,
                    "seed": seed,
                    "n_tokens": sum(int(test.sum()) for _, test, _, _ in folds),
                    "unknown": float(np.mean([unknown for *_, unknown, _ in folds])),
                    "cpu": float(np.mean([each["cpu"] for each in fits])),
                    "log_likelihood": [value for each in fits for value in each["log_likelihood"]],
                }
                if options.json:
                    options.json.write_text(json.dumps(record))
        show(title, own)


if __name__ == "__main__":
    main()
