"""CPU seconds of whole fits with default parameters, by two checkouts of the package in turn, and their ratio.

The same for what surrounds the sweeps of collapsed chains: the log joint, M-steps, averages of draws.

    python benchmarks/bench_fit_times.py path/to/before path/to/after
    python benchmarks/bench_fit_times.py path/to/before path/to/after --only GibbsLDA --corpora "10 x 10" --repeats 15
    python benchmarks/bench_fit_times.py path/to/before path/to/after --only GibbsLDA --ldac 100:news16/corpus.ldac.gz

Each checkout has a process, with one thread. The two fit in turn, so that other work on the computer slows both, and
which of them is first alternates. Medians over repeats, with seeds 0, 1, ..., after a first fit that does not count.
"""

import argparse
import os
import statistics
import subprocess
import sys

from report import say, table

ESTIMATORS = {
    "GibbsLDA": "",
    "CollapsedVariationalLDA": "",
    "CompoundLDA": "collections=groups",
    "CovariateLDA": "covariates=(groups == groups[0]).astype(float)[:, None]",
    "LabeledLDA": "y=groups",
    "EmpiricalBayesLDA": "",
    "TopicCountLDA": "",
}
CORPORA = {
    "10 x 10": "X, groups = np.random.default_rng(0).poisson(1.2, (10, 10)), np.arange(10) % 2",
    "60 x 40": "X, groups = make_lda_corpus(60, 40, 4, doc_length=40, random_state=0).data, np.arange(60) % 3",
    "docstrings": "found = load_docstrings(); X, groups = found.data, np.asarray(found.collection)",
}
# Reads lines of code, and answers with the CPU seconds of each, and with those of its sweeps.
PROGRAM = """
import sys, time, warnings
import numpy as np
import sklda
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.word_major import WordMajorChain
from sklda.datasets import load_docstrings, make_lda_corpus
from threadpoolctl import threadpool_limits
sys.path.insert(0, "benchmarks")
from peers import read_ldac

def timed(sweep):
    def work(*arguments):
        global swept
        begin = time.process_time()
        sweep(*arguments)
        swept += time.process_time() - begin
    return work

for kind in (GibbsChain, WordMajorChain):
    kind.sweep = timed(kind.sweep)
warnings.simplefilter("ignore")
with threadpool_limits(1):
    for line in sys.stdin:
        begin, swept = time.process_time(), 0.0
        exec(line)
        print(time.process_time() - begin, swept, flush=True)
"""


def start(checkout):
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(checkout)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=checkout, env=environment, **pipes)


def seconds(process, code):
    """CPU seconds of the code, and of all but its sweeps."""
    process.stdin.write(code + "\n")
    whole, swept = (float(each) for each in process.stdout.readline().split())
    return whole, whole - swept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--only", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--corpora", nargs="+", choices=CORPORA)
    parser.add_argument("--ldac", nargs="+", default=[], metavar="K:PATH", help="corpora, .ldac or .ldac.gz")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows, processes = [], [start(each) for each in (options.before, options.after)]
    names = options.corpora or ([] if options.ldac else CORPORA)
    given = {name: (CORPORA[name], 20 if name == "docstrings" else 10) for name in names}
    for each in options.ldac:
        topics, _, path = each.partition(":")
        code = f"X = read_ldac({os.path.abspath(path)!r}); groups = np.arange(X.shape[0]) % 3"
        given[f"{os.path.basename(os.path.dirname(path))}, K = {topics}"] = code, int(topics)
    for corpus, (code, topics) in given.items():
        for process in processes:
            seconds(process, code)
        for name in options.only:
            takes = "" if name in ("LabeledLDA", "TopicCountLDA") else f"n_components={topics}, "
            taken = {process: [] for process in processes}
            for seed in range(-1, options.repeats):
                code = f"sklda.{name}({takes}random_state={abs(seed)}).fit(X, {ESTIMATORS[name]})"
                for process in processes[:: 1 - 2 * (seed % 2)]:
                    taken[process].append(seconds(process, code))
            row = [corpus, name]
            for part in range(2):
                before, after = (statistics.median(each[part] for each in taken[process][1:]) for process in processes)
                row += [f"{before:.4f}", f"{after:.4f}", f"{after / before:.3f}"]
            rows.append(row)
            say("  ".join(row))
    for process in processes:
        process.stdin.close()
    header = "corpus", "estimator", "before", "after", "ratio", "around sweeps: before", "after", "ratio"
    table("CPU seconds, medians", header, rows)


if __name__ == "__main__":
    main()
