"""CPU seconds of whole fits to the held-out quality of other libraries: GibbsLDA with its defaults and fewer sweeps.

    python benchmarks/bench_quality.py
    python benchmarks/bench_quality.py --topics 20 100 300 --corpora news:folder/corpus.ldac.gz --json figures.json
    python benchmarks/bench_quality.py --topics 100 --seeds 2 --models GibbsLDA schedules

The peers have their usual settings. tomotopy learns alpha and makes 500 sweeps. topica has its defaults, which are
those of MALLET's class: 1,000 sweeps, an alpha learnt every 50 sweeps after 200; and means of five draws. scikit-learn
makes 10 iterations, its default, or 20. GibbsLDA has its defaults, 500 sweeps, and the same with fewer: its whole
schedule shrinks with ``max_iter``. Held-out documents and the score are those of `bench_defaults.py`: a fifth of the
documents, and log p(w_d) by the same function for all. The seconds are those of a fit with the time to load the
documents.
GibbsLDA is as good as a peer with the fewest sweeps whose score, and that of all longer fits, is at least as high.

The models "schedules" are other ways to spend at most 300 sweeps, or to end 500 early.
"""

import argparse
import json
from itertools import takewhile
from pathlib import Path

import numpy as np
from bench_defaults import DEFAULT, MODELS, by_model, difference, gibbs, measure, splits
from peers import describe, read_ldac
from report import in_child, say, table
from sklearn.frozen import FrozenEstimator

from sklda import CollapsedVariationalLDA, GibbsLDA
from sklda.datasets import load_docstrings

PEERS = "tomotopy", "topica, 1000", "scikit-learn", "scikit-learn, 20"
# Half and a quarter of the default, and fewer for the peers that those exceed.
SWEEPS = 15, 30, 45, 60, 90, 110, 125, 150, 180, 250
OURS = {f"{DEFAULT}, {n}": n for n in SWEEPS} | {DEFAULT: 500}
MODELS |= {name: ("sklda", None, gibbs(max_iter=n)) for name, n in OURS.items() if name != DEFAULT}


# --- other schedules --------------------------------------------------------------------------------------------------


def after_cvb0(X, n_topics, seed, collections):
    """280 sweeps from 20 passes of CVB0."""
    first = CollapsedVariationalLDA(n_topics, max_iter=20, random_state=seed).fit(X)
    return GibbsLDA(n_topics, init=FrozenEstimator(first), max_iter=280, random_state=seed).fit(X)


def after_a_part(X, n_topics, seed, collections):
    """250 sweeps from 200 sweeps over a quarter of the documents."""
    rows = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[: X.shape[0] // 4])
    first = GibbsLDA(n_topics, max_iter=200, n_draws=1, random_state=seed).fit(X[rows])
    return GibbsLDA(n_topics, init=FrozenEstimator(first), max_iter=250, random_state=seed).fit(X)


SCHEDULES = {
    "300": gibbs(max_iter=300),
    "300, draws every 6": gibbs(max_iter=300, draw_every=6),
    "CVB0, then 280": after_cvb0,
    "a quarter, then 250": after_a_part,
    "tol=0.001": gibbs(tol=1e-3),
    "five draws": gibbs(n_draws=5, draw_every=30),
}
MODELS |= {name: ("sklda", None, fit) for name, fit in SCHEDULES.items()}


# --- table ------------------------------------------------------------------------------------------------------------


def show(title, own):
    """A line for each model, and for each peer the first fit of GibbsLDA that is as good."""
    models = by_model(own)
    score = {name: values.sum(axis=1).mean() for name, (values, *_) in models.items()}
    cpu = {name: np.mean(seconds) for name, (_, seconds, _) in models.items()}
    rows, ours = [], [each for each in OURS if each in models]
    for name in models:
        rows.append([name, f"{score[name]:.4f}", difference(models, name), f"{cpu[name]:.2f}", "", "", ""])
        # A lucky short fit does not count.
        good = list(takewhile(lambda each, least=score[name]: score[each] >= least, ours[::-1]))
        first = good[-1] if good else None
        if name in PEERS and first is not None:
            rows[-1][4:] = str(OURS[first]), f"{cpu[first]:.2f}", f"{cpu[name] / cpu[first]:.1f}"
    header = ["model", "nats per token", "difference ± se", "CPU s", "as good: sweeps", "CPU s", "times faster"]
    table(title, header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--corpora", nargs="*", default=[], metavar="NAME:PATH", help=".ldac or .ldac.gz, beside the bundled corpus")
    add("--topics", nargs="+", type=int, default=[20, 100, 300])
    names = [*OURS, *PEERS]
    add("--models", nargs="+", choices=[*names, *SCHEDULES, "schedules"], default=names, metavar="MODEL")
    add("--seeds", type=int, default=1)
    add("--json", type=Path, metavar="FILE", help="save all figures in FILE; fits that it has are not repeated")
    options = parser.parse_args()
    options.folds, options.fit = None, None
    names = [name for each in options.models for name in (SCHEDULES if each == "schedules" else [each])]
    record = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    corpora = {"docstrings": load_docstrings().data}
    corpora |= {name: read_ldac(path) for name, path in (each.split(":", 1) for each in options.corpora)}
    for corpus, X in corpora.items():
        say(f"{corpus}: {describe(X)}")
        [(train, test, unknown, _)] = splits(X, None, options, 0)
        for n_topics in options.topics:
            title = f"{corpus}, K = {n_topics}"
            own = record.setdefault(title, {})
            for name in names:
                for seed in range(options.seeds):
                    if f"{name}, {seed}" in own:
                        continue
                    fit = in_child(measure, name, train, test, n_topics, seed, (None, None))
                    known = {"model": name, "seed": seed, "n_tokens": int(test.sum()), "unknown": unknown}
                    own[f"{name}, {seed}"] = known | fit
                    if options.json:
                        options.json.write_text(json.dumps(record))
            show(f"{title}: {train.sum():,} tokens in the fit, {test.sum():,} held out", own)


if __name__ == "__main__":
    main()
