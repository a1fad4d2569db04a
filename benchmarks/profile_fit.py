"""The way through the package: functions that one fit calls, their files, the depth of a sweep, and the lines of code.

    python benchmarks/profile_fit.py                              counts of every estimator, and lines
    python benchmarks/profile_fit.py --only GibbsLDA --list       also the functions and the frames

The corpus has 60 documents, 40 words and 4 topics. Estimators with a number of sweeps make 200. `sys.setprofile`
reports the calls of Python functions of the package. A function is a qualified name in a file. Frames are those of the
package from the call of `fit`, with the guards around it, to the deepest call of a `sweep`. One thread.

Lambdas, comprehensions and generator expressions are not places that a reader looks up. They are not counted, because
their number depends on the version of Python too; the columns "with inner" contain them.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from report import say, table

import sklda
from sklda.datasets import make_lda_corpus

ROOT = Path(sklda.__file__).parent
SWEEPS = 200
X = make_lda_corpus(60, 40, 4, doc_length=40, doc_topic_prior=0.3, topic_word_prior=0.2, random_state=0).data
GROUPS = np.arange(60) % 3
SEED = {"random_state": 0}
FITS = {
    "GibbsLDA": lambda: sklda.GibbsLDA(4, max_iter=SWEEPS, **SEED).fit(X),
    "CovariateLDA": lambda: sklda.CovariateLDA(4, max_iter=SWEEPS, **SEED).fit(X, covariates=GROUPS[:, None] / 2),
    "EmpiricalBayesLDA": lambda: sklda.EmpiricalBayesLDA(4, max_iter=SWEEPS, **SEED).fit(X),
    "CompoundLDA": lambda: sklda.CompoundLDA(4, max_iter=SWEEPS, **SEED).fit(X, collections=GROUPS),
    "LabeledLDA": lambda: sklda.LabeledLDA(max_iter=SWEEPS, **SEED).fit(X, GROUPS),
    "CollapsedVariationalLDA": lambda: sklda.CollapsedVariationalLDA(4, **SEED).fit(X),
    "TopicCountLDA": lambda: sklda.TopicCountLDA(**SEED).fit(X),
}
TARGETS = {"GibbsLDA": (180, 25, 11), "CovariateLDA": (215, 28, 13), "EmpiricalBayesLDA": (280, 36, 16)}
INNER = ("<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
SUFFIXES = {".py", ".pyx", ".pxd", ".h"}
LINES = {"sklda": 35_500, "tests": 27_000, "benchmarks": 6_600}


def profile(fit):
    """The functions of the package that a fit calls, as (file, name), and those of the frames of its deepest sweep."""
    functions, deepest = set(), []

    def listen(frame, event, _):
        nonlocal deepest
        if event != "call" or not own(frame.f_code):
            return
        functions.add(place(frame.f_code))
        if frame.f_code.co_name == "sweep":
            frames = []
            while frame is not None:
                frames.append(frame.f_code)
                frame = frame.f_back
            deepest = max(deepest, [place(code) for code in reversed(frames) if own(code)], key=len)

    sys.setprofile(listen)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return functions, deepest


def own(code):
    return code.co_filename.startswith(str(ROOT))


def place(code):
    return str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname


def with_target(found, target):
    return f"{found:,}" if target is None else f"{found:,} ({target:,})"


def lines():
    rows = []
    for name, target in LINES.items():
        files = [path for path in (ROOT.parent / name).rglob("*") if path.suffix in SUFFIXES]
        rows.append([name, with_target(sum(path.read_bytes().count(b"\n") for path in files), target)])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=FITS, default=list(FITS))
    parser.add_argument("--list", action="store_true", help="print the functions and the frames of the sweep")
    options = parser.parse_args()
    rows = []
    for name in options.only:
        functions, deepest = profile(FITS[name])
        named, frames = ([each for each in found if not each[1].endswith(INNER)] for found in (functions, deepest))
        found = len(named), len({file for file, _ in named}), len(frames)
        found = map(with_target, found, TARGETS.get(name, (None,) * 3))
        rows.append([name, *found, f"{len(functions):,}", str(len(deepest))])
        if options.list:
            for title, places in ("functions", sorted(functions)), ("frames", deepest):
                say(f"\n{name}: {title}", *(f"{file} {function}" for file, function in places), sep="\n  ")
    headings = "estimator", "functions", "files", "frames", "functions with inner", "frames with inner"
    table("One fit, with the target", headings, rows)
    table("Lines, with the target", ("folder", "lines"), lines())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
