"""CPU seconds of whole fits with default parameters, by two checkouts of the package in turn, and their ratio.

    python benchmarks/bench_fit_times.py path/to/before path/to/after
    python benchmarks/bench_fit_times.py path/to/before path/to/after --only GibbsLDA --corpora "10 x 10" --repeats 15

Each fit is in a process of its own, one thread, after a short fit of GibbsLDA. The two
checkouts alternate, so that other work on the computer slows both. Medians over repeats, with seeds 0, 1, ...
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
    "docstrings": "found = load_docstrings(); X, groups = found.data, np.asarray(found.collection)",
}
PROGRAM = """
import time, warnings
import numpy as np
import sklda
from sklda.datasets import load_docstrings
from threadpoolctl import threadpool_limits
warnings.simplefilter("ignore")
{corpus}
takes = {{}} if "{name}" in ("LabeledLDA", "TopicCountLDA") else {{"n_components": {topics}}}
with threadpool_limits(1):
    sklda.GibbsLDA(2, max_iter=10).fit(X[:10])
    begin = time.process_time()
    sklda.{name}(**takes, random_state={seed}).fit(X, {given})
    print(time.process_time() - begin)
"""


def seconds(checkout, name, corpus, seed):
    topics = 10 if corpus == "10 x 10" else 20
    parts = {"corpus": CORPORA[corpus], "name": name, "topics": topics, "seed": seed, "given": ESTIMATORS[name]}
    run = [sys.executable, "-c", PROGRAM.format(**parts)]
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(checkout)}
    return float(subprocess.run(run, cwd=checkout, env=environment, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--only", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for corpus in options.corpora:
        for name in options.only:
            taken = [
                [seconds(each, name, corpus, seed) for each in (options.before, options.after)]
                for seed in range(options.repeats)
            ]
            before, after = map(statistics.median, zip(*taken, strict=True))
            rows.append([corpus, name, f"{before:.3f}", f"{after:.3f}", f"{after / before:.3f}"])
            say("  ".join(rows[-1]))
    table("CPU seconds, medians", ("corpus", "estimator", "before", "after", "ratio"), rows)


if __name__ == "__main__":
    main()
