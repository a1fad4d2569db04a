"""The first minutes of a notebook: imports, and every first call beside the same call again.

    python benchmarks/bench_first_minutes.py
    python benchmarks/bench_first_minutes.py --repeats 9

Each repeat is a new process, which imports scikit-learn and then sklda, and makes each call twice. The second call
shows what the first one costs beside its work: modules that it imports, and caches that it fills. Other libraries are
imported in processes of their own, after scikit-learn. CPU seconds, medians over the repeats. Python's compiled files
must be there: the first repeat writes them and is not counted. The script needs the extra `benchmark`, and matplotlib.
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
from report import table

PEERS = ("tomotopy", "topica", "gensim")
IMPORT = """
import time

def took(name, call):
    begin = time.process_time()
    result = call()
    print(name, time.process_time() - begin, sep="|")
    return result

took("import sklearn.decomposition", lambda: __import__("sklearn.decomposition"))
took("import {library}", lambda: __import__("{library}"))
"""
CALLS = """
import warnings
warnings.simplefilter("ignore")
import matplotlib
matplotlib.use("agg")
import sklda
from sklda import inspection
from sklda.datasets import load_docstrings

for turn in ("first", "again"):
    took(f"load_docstrings()|{turn}", load_docstrings)
corpus = load_docstrings()
X, groups = corpus.data, corpus.target
for turn in ("first", "again"):
    lda = took(f"GibbsLDA(20, max_iter=100).fit(X)|{turn}", lambda: sklda.GibbsLDA(20, max_iter=100).fit(X))
for name, call in {
    "transform(X)": lambda: lda.transform(X),
    "score(X[:300])": lambda: lda.score(X[:300]),
    "topic_table(...)": lambda: inspection.topic_table(lda, X),
    "topic_effects(...)": lambda: inspection.topic_effects(lda, X, {"source": groups}, formula="C(source)"),
    "TopicWordsDisplay": lambda: inspection.TopicWordsDisplay.from_estimator(lda).plot(),
    "TopicExplorer": lambda: inspection.TopicExplorer.from_estimator(lda, X).to_html(),
}.items():
    for turn in ("first", "again"):
        took(f"{name}|{turn}", call)
"""


def run(code):
    """The lines that a new process prints, as a dict of names and seconds."""
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    return {name: float(seconds) for name, seconds in (line.rsplit("|", 1) for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    found, code = {}, IMPORT.format(library="sklda") + CALLS
    for repeat in range(options.repeats + 1):
        peers = [run(IMPORT.format(library=peer)) for peer in PEERS if find_spec(peer)]
        for seconds in [run(code), *peers]:
            for name, each in seconds.items() if repeat else ():
                found.setdefault(name, []).append(each)
    median = {name: float(np.median(each)) for name, each in found.items()}
    rows = [[name, f"{seconds:.2f}", ""] for name, seconds in median.items() if name.startswith("import")]
    for name in (name.removesuffix("|first") for name in median if name.endswith("|first")):
        rows.append([name, f"{median[name + '|first']:.2f}", f"{median[name + '|again']:.2f}"])
    table("CPU seconds", ["call", "first", "again"], rows)


if __name__ == "__main__":
    main()
