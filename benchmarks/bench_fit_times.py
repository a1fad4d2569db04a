"""CPU seconds of whole fits with default parameters, by two checkouts of the package in turn, and their ratio.

    python benchmarks/bench_fit_times.py path/to/before path/to/after
    python benchmarks/bench_fit_times.py path/to/before path/to/after --only GibbsLDA --corpora "10 x 10" --repeats 15

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
# Reads lines of code, and answers with the CPU seconds of each.
PROGRAM = """
import sys, time, warnings
import numpy as np
import sklda
from sklda.datasets import load_docstrings, make_lda_corpus
from threadpoolctl import threadpool_limits
warnings.simplefilter("ignore")
with threadpool_limits(1):
    for line in sys.stdin:
        begin = time.process_time()
        exec(line)
        print(time.process_time() - begin, flush=True)
"""


def start(checkout):
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(checkout)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=checkout, env=environment, **pipes)


def seconds(process, code):
    process.stdin.write(code + "\n")
    return float(process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--only", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows, processes = [], [start(each) for each in (options.before, options.after)]
    for corpus in options.corpora:
        for process in processes:
            seconds(process, CORPORA[corpus])
        topics = 20 if corpus == "docstrings" else 10
        for name in options.only:
            takes = "" if name in ("LabeledLDA", "TopicCountLDA") else f"n_components={topics}, "
            taken = {process: [] for process in processes}
            for seed in range(-1, options.repeats):
                code = f"sklda.{name}({takes}random_state={abs(seed)}).fit(X, {ESTIMATORS[name]})"
                for process in processes[:: 1 - 2 * (seed % 2)]:
                    taken[process].append(seconds(process, code))
            before, after = (statistics.median(taken[process][1:]) for process in processes)
            rows.append([corpus, name, f"{before:.4f}", f"{after:.4f}", f"{after / before:.3f}"])
            say("  ".join(rows[-1]))
    for process in processes:
        process.stdin.close()
    table("CPU seconds, medians", ("corpus", "estimator", "before", "after", "ratio"), rows)


if __name__ == "__main__":
    main()
