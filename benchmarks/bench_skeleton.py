"""EmpiricalBayesLDA: what half and twice the value of each constant of the skeleton does to the answer and to the cost.

    python benchmarks/bench_skeleton.py                                 simulated corpora, in minutes
    python benchmarks/bench_skeleton.py --ldac 3:c1.ldac.gz 2:c4.ldac.gz --seeds 2
    python benchmarks/bench_skeleton.py --only skeleton._STEPS
    python benchmarks/bench_skeleton.py --part seeds --seeds 8 --ldac 3:c1.ldac.gz
    python benchmarks/bench_skeleton.py --part coverage --corpora 30
    python benchmarks/bench_skeleton.py --part coverage --corpora 8 --more-topics 2
    python benchmarks/bench_skeleton.py --part large --corpora 20

Each row has means over seeds: alpha and eta, the stated errors of their logarithms, and CPU seconds on one thread. It
also has the largest distance of a seed from the mean of the defaults, in units of its own error. Part ``seeds``: one
row for each seed, and whether the spread over seeds agrees with the stated errors. Corpora are given as K:PATH. Part
``coverage``: whether the total region of 95 % contains the priors of simulated corpora of many sizes, with the true
number of topics or with more. Part ``large``: corpora of 62,000 to 100,000 tokens, where modes are not searched. A
second fit of `--longer` times the sweeps shows whether the Monte Carlo errors of the first one are true. Documents have
equal or unequal lengths; then the total region should contain the priors that made the corpus. Or topics have unequal
sizes, or words the frequencies of Zipf's law.
"""

import argparse
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from peers import read_ldac, stopwatch
from report import say, scaled, table
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sklda import EmpiricalBayesLDA
from sklda._mode_search import search
from sklda._models.empirical_bayes import (
    batch_means,
    chain_pool,
    marginal_likelihood,
    maximum,
    modes,
    settings,
    skeleton,
)
from sklda._models.empirical_bayes import (
    estimate as empirical_bayes,
)
from sklda.datasets import make_lda_corpus

MODULES = batch_means, chain_pool, empirical_bayes, marginal_likelihood, maximum, modes, search, settings, skeleton
CONSTANTS = [
    (skeleton, "_STEPS"),
    (skeleton, "_WIDEST"),
    (skeleton, "_FIRST_DRAWS"),
    (skeleton, "_LONGER"),
    (skeleton, "_MOST_MOVES"),
    (skeleton, "_EVERY"),
    (chain_pool, "LEARNING"),
    (settings, "MOST_SEARCHED"),
    (modes, "_MOST_CHANGED"),
    (modes, "_SEARCH_SWEEPS"),
    (modes, "_RUNS"),
    (modes, "_TEMPERATURES"),
    (search, "APART"),
    (modes, "_LEARNT_ERROR"),
    (modes, "_ERRORS"),
    (settings, "FINE_ENOUGH"),
    (settings, "_WITHOUT_SEARCH"),
    (settings, "_LAST_WITHOUT_SEARCH"),
    (marginal_likelihood, "FEWEST_EFFECTIVE"),
    (batch_means, "_BELOW_TRUE"),
]


def fits(X, K, options):
    """h, errors, seconds and warnings of every seed."""
    found = []
    for seed in range(options.seeds):
        with warnings.catch_warnings(record=True) as caught, stopwatch() as taken:
            warnings.simplefilter("always", ConvergenceWarning)
            model = EmpiricalBayesLDA(K, random_state=seed).fit(X)
        h = np.log([model.doc_topic_prior_, model.topic_word_prior_])
        found.append((h, model.confidence_region().standard_errors, taken["cpu"], len(caught)))
    h, errors, seconds, warned = (np.array(each) for each in zip(*found, strict=True))
    return h, errors, seconds, warned


def row(name, found, centre):
    h, errors, seconds, warned = found
    mean, error = np.exp(h.mean(axis=0)), errors.mean(axis=0)
    away = np.abs((h - centre) / errors).max(axis=0)
    cells = [f"{mean[0]:.4g}, {mean[1]:.4g}", f"{error[0]:.2g}, {error[1]:.2g}", f"{away[0]:.1f}, {away[1]:.1f}"]
    return [name, *cells, f"{seconds.mean():.1f}", str(warned.sum())]


def study(title, X, K, options):
    default = fits(X, K, options)
    centre = default[0].mean(axis=0)
    rows = [row("as they are", default, centre)]
    for module, name in CONSTANTS:
        full = f"{module.__name__.rsplit('.', 1)[-1]}.{name}"
        if options.only and full not in options.only:
            continue
        for factor, label in ((0.5, "half"), (2, "twice")):
            with scaled(MODULES, module, name, factor):
                rows.append(row(f"{full}, {label}", fits(X, K, options), centre))
            say("  " + "  ".join(rows[-1]))
    table(title, ("constant", "alpha, eta", "stated errors", "errors from the default", "CPU s", "warnings"), rows)


def seeds(title, X, K, options):
    """Estimates of several seeds; a chi-square compares their spread, weighted by precision, with the stated errors."""
    h, errors, seconds, warned = fits(X, K, options)
    away = (h - (h / errors**2).sum(axis=0) / (1 / errors**2).sum(axis=0)) / errors
    rows = []
    for i, own in enumerate(np.exp(h)):
        pairs = (f"{each[0]:.4g}, {each[1]:.4g}" for each in (own, errors[i], away[i]))
        rows.append([str(i), *pairs, f"{seconds[i]:.1f}", str(warned[i])])
    freedom = len(h) - 1
    spread = "; ".join(f"{q:.1f} on {freedom}, p = {chi2.sf(q, freedom):.2f}" for q in (away**2).sum(axis=0))
    header = ("seed", "alpha, eta", "stated errors", "errors from the mean", "CPU s", "warnings")
    table(f"{title}; chi-squares {spread}", header, rows)


def coverage(options):
    """Simulated corpora whose sizes and priors have many values: which regions contain the priors."""
    rows, inside, taken = [], 0, []
    for seed in range(options.corpora):
        rng = np.random.default_rng([55, seed])
        K, n_documents = int(rng.integers(2, 9)), int(rng.integers(60, 160))
        length, n_features = int(rng.integers(25, 90)), int(np.exp(rng.uniform(*np.log([100, 1500]))))
        alpha, eta = np.exp(rng.uniform(*np.log([[0.05, 0.02], [0.5, 0.3]]))).tolist()
        X = make_lda_corpus(
            n_documents,
            n_features,
            K,
            doc_length=length,
            doc_topic_prior=alpha,
            topic_word_prior=eta,
            random_state=seed,
        ).data
        with warnings.catch_warnings(record=True) as caught, stopwatch() as clock:
            warnings.simplefilter("always", ConvergenceWarning)
            model = EmpiricalBayesLDA(K + options.more_topics, random_state=seed).fit(X)
        region = model.confidence_region(0.95, "total")
        inside += region.contains(alpha, eta)
        taken.append(clock["cpu"])
        h, errors = region.center, region.standard_errors
        away = (np.log(h) - np.log([alpha, eta])) / errors
        pairs = (f"{each[0]:.3g}, {each[1]:.3g}" for each in ((alpha, eta), h, errors, away))
        sizes = f"{n_documents} x {length}, V {n_features}, K {K}"
        rows.append([sizes, *pairs, str(region.contains(alpha, eta)), f"{clock['cpu']:.1f}", str(len(caught))])
        say("  " + "  ".join(rows[-1]))
    title = f"fits with {options.more_topics} topics too many: {inside} of {options.corpora} regions of 95 % contain"
    header = ("corpus", "true alpha, eta", "found", "total errors", "errors away", "inside", "CPU s", "warnings")
    table(f"{title} the priors; median CPU s {np.median(taken):.1f}", header, rows)


KINDS = "equal lengths", "unequal lengths", "unequal topics", "Zipf words"


def large_corpus(seed):
    """The kind, X, the number of topics, and (alpha, eta), means over topics and words."""
    rng = np.random.default_rng([61, seed])
    kind = KINDS[seed % len(KINDS)]
    K, n_features = int(rng.integers(4, 26)), int(np.exp(rng.uniform(*np.log([800, 4000]))))
    alpha, eta = np.exp(rng.uniform(*np.log([[0.05, 0.02], [0.5, 0.2]]))).tolist()
    length = int(rng.integers(40, 150))
    n_documents = int(rng.uniform(62_000, 100_000) / length)
    unequal = np.maximum(rng.negative_binomial(1, 1 / (length + 1), n_documents), 1)
    X = make_lda_corpus(
        n_documents,
        n_features,
        K,
        doc_length=unequal if kind == "unequal lengths" else length,
        doc_topic_prior=alpha * K * rng.dirichlet(np.full(K, 2.0)) if kind == "unequal topics" else alpha,
        topic_word_prior=eta,
        zipf_exponent=0.8 if kind == "Zipf words" else None,
        random_state=seed,
    ).data
    return kind, X, K, (alpha, eta)


def fit_of(X, K, **parameters):
    """A fit, log h, its Monte Carlo errors, CPU seconds, and the number of warnings."""
    with warnings.catch_warnings(record=True) as caught, stopwatch() as clock:
        warnings.simplefilter("always", ConvergenceWarning)
        model = EmpiricalBayesLDA(K, **parameters).fit(X)
    return SimpleNamespace(
        model=model,
        log_h=np.log([model.doc_topic_prior_, model.topic_word_prior_]),
        errors=model.confidence_region().standard_errors,
        cpu=clock["cpu"],
        n_warnings=len(caught),
    )


def large(options):
    """Fits without a search: the truth and longer fits in units of the stated errors, and CPU seconds."""
    rows, inside, away, taken = [], [], [], []
    for seed in range(options.corpora):
        kind, X, K, truth = large_corpus(seed)
        _, max_iter, _ = settings.run_lengths(int(X.sum()))
        found = fit_of(X, K, random_state=seed)
        longer = fit_of(X, K, max_iter=options.longer * max_iter, random_state=options.corpora + seed)
        away.append((found.log_h - longer.log_h) / np.hypot(found.errors, longer.errors))
        taken.append(found.cpu)
        contains = ""
        if kind.endswith("lengths"):
            inside.append(found.model.confidence_region(0.95, "total").contains(*truth))
            contains = str(inside[-1])
        statistical = found.model.confidence_region(kind="statistical").standard_errors
        values = truth, np.exp(found.log_h), found.errors, statistical, away[-1]
        pairs = (f"{each[0]:.3g}, {each[1]:.3g}" for each in values)
        rows.append([f"{kind}, K {K}", *pairs, contains, f"{found.cpu:.1f}", str(found.n_warnings)])
        say("  " + "  ".join(rows[-1]))
    squares = np.square(away).sum(axis=0)
    title = (
        f"{sum(inside)} of {len(inside)} total regions of 95 % contain the priors; squared distances from longer fits "
        f"{squares[0]:.1f} and {squares[1]:.1f} for {len(away)}; median CPU s {np.median(taken):.1f}"
    )
    header = ("corpus", "true alpha, eta", "found", "Monte Carlo errors", "statistical", "errors from longer fits")
    table(title, (*header, "inside", "CPU s", "warnings"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ldac", nargs="+", default=[], metavar="K:PATH", help="corpora, .ldac or .ldac.gz")
    add("--only", nargs="+", default=[], metavar="MODULE.NAME", help="constants (default: all)")
    add("--seeds", type=int, default=2, help="seeds for each value (default: 2)")
    add("--part", choices=["study", "seeds", "coverage", "large"], default="study")
    add("--corpora", type=int, default=30, help="simulated corpora of the coverage (default: 30)")
    add("--more-topics", type=int, default=0, help="topics of these fits less the true number (default: 0)")
    add("--longer", type=int, default=6, help="sweeps of the second fits of large corpora by those of the first")
    options = parser.parse_args()
    if options.part in ("coverage", "large"):
        globals()[options.part](options)
        return
    run = globals()[options.part]
    for given in options.ldac:
        K, _, path = given.partition(":")
        run(Path(path).parent.name, read_ldac(path), int(K), options)
    if not options.ldac:
        X = make_lda_corpus(60, 60, 3, doc_length=50, doc_topic_prior=0.1, topic_word_prior=0.2, random_state=0).data
        run("60 documents of 50 words, V = 60, K = 3", X, 3, options)
        X = make_lda_corpus(40, 30, 2, doc_length=25, doc_topic_prior=0.3, topic_word_prior=0.3, random_state=0).data
        run("40 documents of 25 words, V = 30, K = 2", X, 2, options)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
