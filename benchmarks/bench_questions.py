"""CPU seconds that the estimators take to answer the questions of users, with default parameters.

    python benchmarks/bench_questions.py
    python benchmarks/bench_questions.py --corpora docstrings "10^5 tokens" --limit 60

One process, one thread. A fit that is expected to take more than `--limit` CPU seconds is not made. Its seconds are
then extrapolated from 25 sweeps, or are those that the estimator announces with ``verbose=1``. They have an "about".
"""

import argparse
import contextlib
import io
import re
import time
import warnings

import numpy as np
from report import say, table
from threadpoolctl import threadpool_limits

from sklda import CollapsedVariationalLDA, CompoundLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda.datasets import load_docstrings, make_lda_corpus

SHORT, LONGER = 5, 25
SEED = {"random_state": 0}


def docstrings():
    found = load_docstrings()
    return found.data, 20, found.collection, found.target


def simulated(n_documents, n_features, K):
    """A corpus with documents of 100 tokens; ten collections; the label of a document is its largest topic."""

    def make():
        priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05}
        corpus = make_lda_corpus(n_documents, n_features, K, doc_length=100, **priors, random_state=0)
        return corpus.data, K, np.arange(n_documents) % 10, corpus.doc_topic.argmax(axis=1)

    return make


CORPORA = {
    "docstrings": docstrings,
    "10^5 tokens": simulated(1_000, 2_000, 20),
    "10^6 tokens": simulated(10_000, 9_000, 50),
    "10^7 tokens": simulated(100_000, 20_000, 100),
}


def labelled(corpus, sweeps):
    X, _, _, y = corpus
    short = {} if sweeps is None else {"max_iter": sweeps, "n_draws": 1, "draw_every": 1}
    return LabeledLDA(**short, **SEED).fit(X, y)


def gibbs(**parameters):
    def fit(corpus, sweeps):
        return GibbsLDA(corpus[1], max_iter=sweeps or 500, **parameters, **SEED).fit(corpus[0])

    return fit


# By name: the sweeps of a fit with default parameters, and a function of the corpus and of the sweeps (None: default).
BY_SWEEPS = {
    "GibbsLDA(K)": (500, gibbs()),
    "CollapsedVariationalLDA(K)": (
        50,
        lambda corpus, sweeps: CollapsedVariationalLDA(corpus[1], max_iter=sweeps or 50, **SEED).fit(corpus[0]),
    ),
    "CompoundLDA(K)": (
        500,
        lambda corpus, sweeps: CompoundLDA(corpus[1], max_iter=sweeps or 500, **SEED).fit(
            corpus[0], collections=corpus[2]
        ),
    ),
    "LabeledLDA()": (100, labelled),
}
# Estimators that choose the number of their sweeps, and announce the seconds.
ANNOUNCED = {
    "GibbsLDA(K, init='search')": None,
    "TopicCountLDA()": lambda corpus: TopicCountLDA(verbose=1, **SEED).fit(corpus[0]),
    "EmpiricalBayesLDA(K)": lambda corpus: EmpiricalBayesLDA(corpus[1], verbose=1, **SEED).fit(corpus[0]),
}
ANNOUNCEMENT = re.compile(r"(?:whole fit|expected).*, about (?:([\d,.e+]+) to )?([\d,.e+]+) (?:CPU seconds|s\b)")
FOUR = "GibbsLDA(K, n_chains=4)"
DOCUMENTS = 1_000


class TooLong(Exception):
    """A fit announces more seconds than the limit; the argument is the announcement."""


class Announcement(io.TextIOBase):
    """A stream that raises TooLong when a line announces more seconds than a limit."""

    def __init__(self, limit):
        self.limit = limit

    def write(self, text):
        if found := re.search(
            r"(?:whole fit.*|expected.*), about (?:([\d,.e+]+) to )?([\d,.e+]+) (?:CPU seconds|s\b)", text
        ):
            seconds = [float(each.replace(",", "")) for each in found.groups() if each]
            if seconds[-1] > self.limit:
                raise TooLong(" to ".join(f"{each:,.0f}" for each in seconds))
        return len(text)


def seconds_of(function, *arguments):
    begin = time.process_time()
    found = function(*arguments)
    return time.process_time() - begin, found


def cost_by_sweeps(name, corpus, limit):
    """Seconds, as text and as a number, a fitted model, and the seconds of one sweep."""
    sweeps, fit = BY_SWEEPS[name]
    short, _ = seconds_of(fit, corpus, SHORT)
    longer, model = seconds_of(fit, corpus, LONGER)
    per_sweep = (longer - short) / (LONGER - SHORT)
    expected = longer + (sweeps - LONGER) * per_sweep
    if expected > limit:
        return f"about {expected:,.0f}", expected, model, per_sweep
    seconds, model = seconds_of(fit, corpus, None)
    return f"{seconds:,.1f}", seconds, model, per_sweep


def cost_of_chains(corpus, limit, seconds):
    """Of four chains; `seconds` are those of one."""
    if 4 * seconds > limit:
        return f"about {4 * seconds:,.0f}"
    return f"{seconds_of(gibbs(n_chains=4), corpus, None)[0]:,.1f}"


def cost_of_search(corpus, limit, per_sweep):
    """Of a chain that begins with a search between modes; the sweeps of the search are their largest number."""
    tokens = corpus[0].sum()
    largest = min(10_000, max(4_000, 1e9 / tokens))
    expected = (largest + 500) * per_sweep
    if expected > limit:
        return f"about {expected:,.0f}"
    return f"{seconds_of(gibbs(init='search'), corpus, None)[0]:,.1f}"


def cost_announced(name, corpus, limit):
    try:
        with contextlib.redirect_stdout(Announcement(limit)):
            return f"{seconds_of(ANNOUNCED[name], corpus)[0]:,.1f}"
    except TooLong as announced:
        return f"about {announced}"


def costs(corpus, limit):
    """Rows of (call, seconds)."""
    rows = {}
    for name in BY_SWEEPS:
        rows[name], seconds, model, per_sweep = cost_by_sweeps(name, corpus, limit)
        say(f"  {name}: {rows[name]}")
        if name == "GibbsLDA(K)":
            chain, sweep = model, per_sweep
            rows[FOUR] = cost_of_chains(corpus, limit, seconds)
            say(f"  {FOUR}: {rows[FOUR]}")
    few = corpus[0][:DOCUMENTS]
    for name, function in (("transform", chain.transform), ("score", chain.score)):
        rows[f"{name} of {DOCUMENTS:,} documents"] = f"{seconds_of(function, few)[0]:.2f}"
    for name in ANNOUNCED:
        search = ANNOUNCED[name] is None
        rows[name] = cost_of_search(corpus, limit, sweep) if search else cost_announced(name, corpus, limit)
        say(f"  {name}: {rows[name]}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--limit", type=float, default=600, help="CPU seconds of a fit (default: 600)")
    options = parser.parse_args()
    columns = {}
    for name in options.corpora:
        corpus = CORPORA[name]()
        X, K = corpus[:2]
        say(f"{name}: {X.shape[0]:,} documents, {X.shape[1]:,} words, {X.sum():,} tokens, K = {K}")
        columns[f"{name}, K = {K}"] = costs(corpus, options.limit)
    calls = list(next(iter(columns.values())))
    rows = [[call, *(column[call] for column in columns.values())] for call in calls]
    table("CPU seconds", ("call", *columns), rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
