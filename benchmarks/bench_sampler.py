"""Speed, memory and quality of the collapsed sampler, tomotopy, lda and scikit-learn, in one run on one thread.

    python benchmarks/bench_sampler.py                       all parts, with the synthetic and the bundled corpus
    python benchmarks/bench_sampler.py --ldac corpus.ldac.gz --json figures.json
    python benchmarks/bench_sampler.py --parts rate --topics 100 500 --repeats 7
    python benchmarks/bench_sampler.py --parts joint --joint-topics 100 500 --seconds 60 --json curves.json
    python benchmarks/bench_sampler.py --parts joint --no-synthetic --ldac corpus.ldac.gz --same-seconds --seconds 3
    python benchmarks/bench_sampler.py --parts joint --mallet mallet.jar mallet-deps.jar

Samplers take turns within every repeat, so that other load on the machine affects all of them. Times are CPU seconds of
the process, and figures are medians over repeats. All samplers have alpha = 0.1 and eta = 0.01. The script needs the
extra `benchmark`. `bench_mixing.py` measures several threads, and how well samplers mix.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import distributions, version
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from joint_curves import joint_curves, show_joint
from peers import (
    PEERS,
    describe,
    gibbs,
    peak_memory,
    read_ldac,
    stopwatch,
    synthetic,
    variational,
)
from report import say, table
from scipy.special import psi
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda._core.corpus import Corpus
from sklda._likelihood.held_out.document_completion import split_tokens
from sklda._models.variational.fixed_topics import perplexity
from sklda.datasets import load_docstrings, make_lda_corpus

PARTS = ("rate", "fits", "joint", "memory", "transform", "scaling")
# Sweeps of a whole fit, and documents and words of its corpus of 900,000 tokens.
FIT_SWEEPS = {20: 200, 100: 150, 500: 60, 1000: 30}
FIT_CORPUS = 6_000, 12_000
MEMORY_SWEEPS = 3


# --- tokens per second ------------------------------------------------------------------------------------------------


def rate(X, n_topics, options):
    """Tokens per second of every library: some sweeps of burn-in, then `repeats` turns."""
    n_tokens = int(X.sum())
    slow = () if n_topics <= options.slow_topics else ("scikit-learn", "lda")
    names = [name for name in options.libraries if name not in slow]
    samplers, sweeps = {}, {}
    for name in names:
        if name == "topica":
            continue
        samplers[name] = sampler = PEERS[name](X, n_topics, options.seed)
        with stopwatch() as taken:
            sampler.sweep()
        sweeps[name] = max(1, round(options.turn / taken["cpu"]))
        # Early sweeps change more topics than later ones. The burn-in is limited to the time of 15 turns.
        if name != "scikit-learn":
            sampler.sweep(max(1, min(options.settle, round(options.turn * 15 / taken["cpu"]))))
    figures = {name: {"cpu": [], "wall": []} for name in [*names, *["GibbsLDA.fit"][options.no_fit :]]}
    if "topica" in names:
        settle, n = min(options.settle, 15 * sweeps["tomotopy"]), sweeps["tomotopy"]
        for cpu, wall in PEERS["topica"](X, n_topics, options.seed).turns(n, options.repeats, settle):
            figures["topica"]["cpu"].append(n_tokens * n / cpu)
            figures["topica"]["wall"].append(n_tokens * n / wall)
    for _ in range(options.repeats):
        for name, sampler in samplers.items():
            with stopwatch() as taken:
                sampler.sweep(sweeps[name])
            for clock, seconds in taken.items():
                figures[name][clock].append(n_tokens * sweeps[name] / seconds)
        if options.no_fit:
            continue
        # In addition to sweeps, fit computes the log joint of every sweep and the estimates at the end.
        n = max(10, sweeps["sklda"])
        with stopwatch() as taken:
            gibbs(n_topics, max_iter=n, random_state=options.seed).fit(X)
        for clock, seconds in taken.items():
            figures["GibbsLDA.fit"][clock].append(n_tokens * n / seconds)
    return figures


def ratio(ours, theirs):
    """Median over repeats of the ratio of `ours` to `theirs` in the same repeat."""
    return float(np.median(np.divide(ours, theirs)))


def show_rate(corpus, n_topics, figures):
    rows = []
    for name, clocks in figures.items():
        cpu, wall = np.array(clocks["cpu"]) / 1e6, np.array(clocks["wall"]) / 1e6
        rows.append(
            [
                name,
                f"{np.median(cpu):.2f}",
                f"{cpu.min():.2f}–{cpu.max():.2f}",
                f"{np.median(wall):.2f}",
                f"{ratio(figures['sklda']['cpu'], clocks['cpu']):.2f}",
            ]
        )
    header = ["library", "M tokens / CPU s", "range", "M tokens / s", "sklda : it"]
    table(f"{corpus}, K = {n_topics}: tokens per second, one thread", header, rows)


# --- whole fits -------------------------------------------------------------------------------------------------------


def whole_fits(X, n_topics, options):
    """CPU seconds of whole fits from random topics: sweeps, log joint of each of them, and estimates.

    The documents of tomotopy are added to its model before the clock starts.
    """
    import tomotopy  # noqa: F401  so that its import is not timed

    n, seconds = FIT_SWEEPS[n_topics], {"tomotopy": [], "one draw": [], "default averaging": [], "default fit": []}
    given = {"max_iter": n, "random_state": options.seed}
    settings = {
        "one draw": {"init": "random", "n_draws": 1},
        "default averaging": {"init": "random"},
        "default fit": {},
    }
    for _ in range(options.repeats):
        peer = PEERS["tomotopy"](X, n_topics, options.seed)
        with stopwatch() as taken:
            peer.sweep(n)
        seconds["tomotopy"].append(taken["cpu"])
        for name, setting in settings.items():
            with stopwatch() as taken:
                gibbs(n_topics, **given, **setting).fit(X)
            seconds[name].append(taken["cpu"])
    return seconds


def show_whole_fits(n_topics, seconds):
    rows = [
        [name, f"{np.median(taken):.2f}", f"{ratio(seconds['tomotopy'], taken):.2f}"] for name, taken in seconds.items()
    ]
    table(f"K = {n_topics}, {FIT_SWEEPS[n_topics]} sweeps: whole fits", ["fit", "CPU s", "tomotopy : it"], rows)


# --- memory -----------------------------------------------------------------------------------------------------------


def memory(X, n_topics, options):
    """Peak memory of each library in bytes, in addition to a process that holds the corpus; one process each."""
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "corpus.npz"
        sp.save_npz(file, X, compressed=False)
        for name in [*(each for each in options.libraries if each != "topica"), "GibbsLDA.fit"]:
            if name == "scikit-learn" and n_topics > options.slow_topics:
                continue
            command = [sys.executable, __file__, "--memory-of", name, str(file), str(n_topics)]
            figures[name] = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return figures


def memory_of(name, file, n_topics):
    """Print the additional peak memory; the subprocess of `memory` runs this."""
    X = sp.load_npz(file)
    if name == "tomotopy":
        import tomotopy  # noqa: F401  the baseline contains this import
    before = peak_memory()
    if name == "GibbsLDA.fit":
        gibbs(n_topics, max_iter=MEMORY_SWEEPS, random_state=0).fit(X)
    else:
        PEERS[name](X, n_topics, 0).sweep(1 if name == "scikit-learn" else MEMORY_SWEEPS)
    print(peak_memory() - before)


# --- scaling ----------------------------------------------------------------------------------------------------------


def scaling(options):
    """Nanoseconds per token of sklda, as one of topics, documents, their length and words changes."""
    base = {"topics": 100, "documents": 4000, "length": 100, "words": 5000}
    grid = {
        "topics": (20, 50, 100, 200, 500, 1000, 2000),
        "documents": (1000, 4000, 16_000),
        "length": (25, 100, 400),
        "words": (1250, 5000, 20_000),
    }
    figures = []
    for name, values in grid.items():
        for value in values:
            case = base | {name: value}
            X = make_lda_corpus(
                case["documents"],
                case["words"],
                100,
                doc_length=case["length"],
                topic_word_prior=0.05,
                zipf_exponent=0.8,
                random_state=0,
            ).data
            sampler = PEERS["sklda"](X, case["topics"], options.seed)
            sampler.sweep(options.settle)
            taken = []
            for _ in range(options.repeats):
                with stopwatch() as clock:
                    sampler.sweep(2)
                taken.append(clock["cpu"] / 2 / X.sum() * 1e9)
            figures.append({"changed": name, **case, "kernel": sampler.chain.sampler, "ns": float(np.median(taken))})
    return figures


def show_scaling(figures):
    rows = [
        [
            f["changed"],
            *(f"{f[name]:,}" for name in ("topics", "documents", "length", "words")),
            f["kernel"],
            f"{f['ns']:.1f}",
        ]
        for f in figures
    ]
    header = ["changed", "topics", "documents", "tokens each", "words", "kernel", "ns per token"]
    table("sklda: CPU time per token, one thread", header, rows)


# --- transform --------------------------------------------------------------------------------------------------------


def halves(X, seed):
    """Split the tokens of every document randomly into two matrices of counts."""
    return [part.to_counts() for part in split_tokens(Corpus.from_counts(X), seed)]


def transforms(X, n_topics, options):
    """Documents per second and document-completion perplexity on a held-out fifth of the documents."""
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(X.shape[0])
    test, train = X[order[: X.shape[0] // 5]], X[order[X.shape[0] // 5 :]]
    ours = gibbs(n_topics, max_iter=options.fit_iter, random_state=options.seed).fit(train)
    # scikit-learn's model with the topics of GibbsLDA, set as its own fit sets them.
    same = variational(n_topics, max_iter=1, random_state=options.seed).fit(train[:10])
    same.components_ = ours.components_
    same.exp_dirichlet_component_ = np.exp(psi(same.components_) - psi(same.components_.sum(axis=1, keepdims=True)))
    models = {"GibbsLDA": ours, "scikit-learn, the same topics": same}
    if n_topics <= options.slow_topics:
        own = variational(n_topics, max_iter=options.vb_iter, random_state=options.seed).fit(train)
        models["scikit-learn, its own topics"] = own
    figures = {name: {"documents_per_cpu_second": [], "perplexity": []} for name in models}
    test = test[: options.transform_documents]
    for _ in range(options.repeats):
        seen, hidden = halves(test, int(rng.integers(2**32)))
        for name, model in models.items():
            with stopwatch() as taken:
                model.transform(test)
            figures[name]["documents_per_cpu_second"].append(test.shape[0] / taken["cpu"])
            topic_word = model.components_ / model.components_.sum(axis=1, keepdims=True)
            figures[name]["perplexity"].append(
                perplexity(Corpus.from_counts(hidden), model.transform(seen), topic_word)
            )
    return figures


def show_transforms(corpus, n_topics, figures):
    rows, ours = [], figures["GibbsLDA"]
    for name, figure in figures.items():
        speed, quality = figure["documents_per_cpu_second"], figure["perplexity"]
        rows.append(
            [
                name,
                f"{np.median(speed):,.0f}",
                f"{ratio(ours['documents_per_cpu_second'], speed):.2f}",
                f"{np.median(quality):,.1f}",
                f"{ratio(ours['perplexity'], quality):.3f}",
            ]
        )
    header = ["transform by", "documents / CPU s", "GibbsLDA : it", "perplexity", "GibbsLDA : it"]
    table(f"{corpus}, K = {n_topics}: held-out documents; perplexity of their hidden halves", header, rows)


# --- command line -----------------------------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=PARTS, help="parts to run (default: all)")
    add("--topics", nargs="+", type=int, default=[20, 100, 500, 1000, 2000], help="K of the rates")
    add("--fit-topics", nargs="+", type=int, choices=list(FIT_SWEEPS), default=list(FIT_SWEEPS), help="K of whole fits")
    add("--joint-topics", nargs="+", type=int, default=[100], help="K of the curves (default: 100)")
    add("--same-seconds", action="store_true", help="same seconds for all corpora (default: by number of tokens)")
    add("--mallet", nargs="+", metavar="JAR", help="jars of MALLET, to include it in the curves")
    add("--ldac", nargs="+", type=Path, default=[], metavar="PATH", help="more corpora, .ldac or .ldac.gz")
    add("--no-synthetic", action="store_true", help="without the corpus of 3 million tokens")
    add(
        "--libraries",
        nargs="+",
        choices=list(PEERS),
        default=list(PEERS),
        help="libraries to compare; sklda is always included",
    )
    add("--repeats", type=int, default=5, help="turns of every library (default: 5)")
    add("--seconds", type=float, default=20, help="CPU seconds of the joint log-likelihood curves (default: 20)")
    add("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    add("--seed", type=int, default=0, help="seed of the first repeat (default: 0)")
    add("--turn", type=float, default=1.0, help="CPU seconds of one turn for rates (default: 1)")
    add("--settle", type=int, default=20, help="sweeps of every sampler before its rate is measured (default: 20)")
    add("--checkpoints", type=int, default=20, help="evaluations along a curve (default: 20)")
    add("--fit-iter", type=int, default=200, help="sweeps of GibbsLDA before transform is measured (default: 200)")
    add("--vb-iter", type=int, default=30, help="iterations of scikit-learn's fit for transform (default: 30)")
    add("--transform-documents", type=int, default=2000, help="largest number of held-out documents (default: 2000)")
    add("--slow-topics", type=int, default=100, help="largest K for scikit-learn and lda (default: 100)")
    add("--simulated", nargs="*", type=int, default=[], metavar="V", help="simulated corpora with so many words")
    add("--all-topics", action="store_true", help="rates for every K on every corpus, not only on the largest")
    add("--no-fit", action="store_true", help="no rates of GibbsLDA.fit")
    add("--memory-of", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.libraries = ["sklda", *(name for name in options.libraries if name != "sklda")]
    return options


def main():
    options = parse()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.memory_of:
        name, file, n_topics = options.memory_of
        return memory_of(name, file, int(n_topics))
    corpora = {} if options.no_synthetic else {"synthetic": synthetic()}
    corpora |= {f"simulated, V = {n_features:,}": synthetic(6_000, n_features) for n_features in options.simulated}
    corpora["docstrings"] = load_docstrings().data
    corpora |= {path.parent.name + "/" + path.name: read_ldac(path) for path in options.ldac}

    packages = ("sklda", "numpy", "scipy", "scikit-learn", "tomotopy", "lda")
    installed = {each.name for each in distributions()}
    record = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {package: version(package) for package in packages if package in installed},
        "corpora": {name: describe(X) for name, X in corpora.items()},
        **{part: {} for part in options.parts},
    }
    say(record["machine"] + ";", ", ".join(f"{package} {v}" for package, v in record["versions"].items()))
    for name, line in record["corpora"].items():
        say(f"{name}: {line}")

    if "fits" in options.parts:
        X = synthetic(*FIT_CORPUS)
        say(f"whole fits: {describe(X)}")
        for n_topics in options.fit_topics:
            record["fits"][f"K={n_topics}"] = seconds = whole_fits(X, n_topics, options)
            show_whole_fits(n_topics, seconds)

    n_largest = max(X.sum() for X in corpora.values())
    for corpus, X in corpora.items():
        large = X.sum() == n_largest
        if "rate" in options.parts:
            for n_topics in options.topics if large or options.all_topics else options.topics[:2]:
                figures = record["rate"][f"{corpus}, K={n_topics}"] = rate(X, n_topics, options)
                show_rate(corpus, n_topics, figures)
        if "joint" in options.parts:
            # Time proportional to the tokens gives about the same number of sweeps.
            seconds = options.seconds * (1 if options.same_seconds else float(X.sum() / n_largest))
            for n_topics in options.joint_topics:
                curves = joint_curves(X, n_topics, seconds, options)
                summary = show_joint(corpus, n_topics, seconds, curves)
                what = f"{corpus}, K={n_topics}"
                record["joint"][what] = {"seconds": seconds, "curves": curves, "summary": summary}
        if "memory" in options.parts and large:
            for n_topics in (100, 1000):
                figures = record["memory"][f"{corpus}, K={n_topics}"] = memory(X, n_topics, options)
                rows = [[name, f"{size / 2**20:,.0f}"] for name, size in figures.items()]
                table(f"{corpus}, K = {n_topics}: peak memory beyond the corpus", ["library", "MiB"], rows)
        # Perplexity on the simulated corpus does not carry over to texts.
        if "transform" in options.parts and corpus != "synthetic":
            for n_topics in (20, 100):
                figures = record["transform"][f"{corpus}, K={n_topics}"] = transforms(X, n_topics, options)
                show_transforms(corpus, n_topics, figures)
        if "scaling" in options.parts and large:
            record["scaling"] = scaling(options)
            show_scaling(record["scaling"])
        if options.json:
            options.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
