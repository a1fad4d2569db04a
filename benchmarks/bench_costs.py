"""CPU seconds of the estimators with default parameters: the questions of users, on corpora from 100 tokens upwards.

    python benchmarks/bench_costs.py --limit 150
    python benchmarks/bench_costs.py --corpora docstrings "10^5 tokens" --limit 60
    python benchmarks/bench_costs.py --corpora "10 x 10" "noise, 300 x 200" --calls "TopicCountLDA()" --seeds 3
    python benchmarks/bench_costs.py --ldac 50:news16/corpus.ldac.gz --calls "EmpiricalBayesLDA(K)"

One process, one thread; medians over seeds. A fit that is expected to take more than `--limit` CPU seconds is not made.
Its seconds are then extrapolated from 25 sweeps, or are those that the estimator announces with ``verbose=1``. They
have an "about".
"""

import argparse
import contextlib
import io
import re
import statistics
import warnings
from pathlib import Path

import numpy as np
from peers import read_ldac
from report import say, table, timed
from threadpoolctl import threadpool_limits

from sklda import CollapsedVariationalLDA, CompoundLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda.datasets import load_docstrings, make_lda_corpus

SHORT, LONGER = 5, 25
DOCUMENTS = 1_000


# --- corpora: X, K, collections and labels ----------------------------------------------------------------------------


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


def noise(mean, *shape):
    X = np.random.default_rng(0).poisson(mean, shape)
    return lambda: (X, 10, np.arange(len(X)) % 2, np.arange(len(X)) % 3)


def read(path, K):
    X = read_ldac(path)
    return X, K, None, np.arange(X.shape[0]) % K


CORPORA = {
    "docstrings": docstrings,
    "10^5 tokens": simulated(1_000, 2_000, 20),
    "10^6 tokens": simulated(10_000, 9_000, 50),
    "10^7 tokens": simulated(100_000, 20_000, 100),
    "10 x 10": noise(1.2, 10, 10),
    "50 x 30": noise(1, 50, 30),
    "noise, 300 x 200": noise(1, 300, 200),
}
SMALL = list(CORPORA)[-3:]


# --- calls ------------------------------------------------------------------------------------------------------------


def gibbs(**parameters):
    def fit(corpus, seed, sweeps):
        return GibbsLDA(corpus[1], max_iter=sweeps or 500, **parameters, random_state=seed).fit(corpus[0])

    return fit


def variational(corpus, seed, sweeps):
    return CollapsedVariationalLDA(corpus[1], max_iter=sweeps or 50, random_state=seed).fit(corpus[0])


def compound(corpus, seed, sweeps):
    lda = CompoundLDA(corpus[1], max_iter=sweeps or 500, random_state=seed)
    return lda.fit(corpus[0], collections=corpus[2])


def labelled(corpus, seed, sweeps):
    short = {} if sweeps is None else {"max_iter": sweeps, "n_draws": 1, "draw_every": 1}
    return LabeledLDA(**short, random_state=seed).fit(corpus[0], corpus[3])


# By name: the sweeps of a fit with default parameters, and a function of corpus, seed and sweeps (None: default).
BY_SWEEPS = {
    "GibbsLDA(K)": (500, gibbs()),
    "GibbsLDA(K, n_chains=4)": (500, gibbs(n_chains=4)),
    "CollapsedVariationalLDA(K)": (50, variational),
    "CompoundLDA(K)": (500, compound),
    "LabeledLDA()": (100, labelled),
}
METHODS = "transform", "score"
SEARCH = "GibbsLDA(K, init='search')"
# Estimators that choose the number of their sweeps, and announce the seconds.
ANNOUNCED = {
    "TopicCountLDA()": lambda corpus, seed: TopicCountLDA(verbose=1, random_state=seed).fit(corpus[0]),
    "EmpiricalBayesLDA(K)": lambda corpus, seed: EmpiricalBayesLDA(corpus[1], verbose=1, random_state=seed).fit(
        corpus[0]
    ),
}
ANNOUNCEMENT = re.compile(r"(?:whole fit|expected).*, about (?:([\d,.e+]+) to )?([\d,.e+]+) (?:CPU seconds|s\b)")
CALLS = [*BY_SWEEPS, *METHODS, SEARCH, *ANNOUNCED]


class TooLong(Exception):
    """A fit announces more seconds than the limit; the argument is the announcement."""


class Announcement(io.TextIOBase):
    """A stream that raises TooLong when a line announces more seconds than a limit."""

    def __init__(self, limit):
        self.limit = limit

    def write(self, text):
        if found := ANNOUNCEMENT.search(text):
            seconds = [float(each.replace(",", "")) for each in found.groups() if each]
            if seconds[-1] > self.limit:
                raise TooLong(" to ".join(f"{each:,.0f}" for each in seconds))
        return len(text)


def seconds_of(function, *arguments):
    return timed(function, *arguments)[1]


def cost(name, corpus, seed, limit):
    """Seconds of a call; a text with "about" if it was not made."""
    if name in METHODS:
        return seconds_of(getattr(gibbs()(corpus, seed, LONGER), name), corpus[0][:DOCUMENTS])
    if name in ANNOUNCED:
        try:
            with contextlib.redirect_stdout(Announcement(limit)):
                return seconds_of(ANNOUNCED[name], corpus, seed)
        except TooLong as announced:
            return f"about {announced}"
    # The sweeps of a search are their largest number.
    searched = 500 + min(10_000, max(4_000, 1e9 / corpus[0].sum()))
    sweeps, fit = (searched, gibbs(init="search")) if name == SEARCH else BY_SWEEPS[name]
    probe = gibbs() if name == SEARCH else fit
    short, longer = (seconds_of(probe, corpus, seed, n) for n in (SHORT, LONGER))
    expected = longer + (sweeps - LONGER) * (longer - short) / (LONGER - SHORT)
    return f"about {expected:,.0f}" if expected > limit else seconds_of(fit, corpus, seed, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--corpora", nargs="+", choices=CORPORA, default=None, help=f"default: all but {', '.join(SMALL)}")
    add("--ldac", nargs="+", default=[], metavar="K:PATH", help="corpora, .ldac or .ldac.gz, instead of --corpora")
    add("--calls", nargs="+", choices=CALLS, default=CALLS, metavar="CALL", help=f"from {CALLS}")
    add("--limit", type=float, default=600, help="CPU seconds of a fit (default: 600)")
    add("--seeds", type=int, default=1, help="fits of each (default: 1)")
    options = parser.parse_args()
    names = options.corpora or ([] if options.ldac else [name for name in CORPORA if name not in SMALL])
    given = {name: CORPORA[name] for name in names}
    for each in options.ldac:
        K, _, path = each.partition(":")
        given[Path(path).parent.name] = lambda K=K, path=path: read(path, int(K))
    columns = {}
    for name, make in given.items():
        corpus = make()
        X, K = corpus[:2]
        say(f"{name}: {X.shape[0]:,} documents, {X.shape[1]:,} words, {X.sum():,} tokens, K = {K}")
        column = columns[f"{name}, K = {K}"] = {}
        for call in options.calls:
            found = [cost(call, corpus, seed, options.limit) for seed in range(options.seeds)]
            about = [each for each in found if isinstance(each, str)]
            column[call] = about[0] if about else f"{statistics.median(found):,.2f}"
            say(f"  {call}: {column[call]}")
    rows = [[call, *(column[call] for column in columns.values())] for call in options.calls]
    table(f"CPU seconds; transform and score of {DOCUMENTS:,} documents", ("call", *columns), rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
