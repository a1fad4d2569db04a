"""Does a fit say that it is too short? Corpora of LDA with known topics, fitted with few and many sweeps.

    python benchmarks/bench_short_fits.py --corpora 4
    python benchmarks/bench_short_fits.py --corpora 4 --first 100 --constants

The log joint is that of a chain that begins at the true topics, less that of the fit, in nats: what the fit has not
reached. The last columns are the fits that warn that the log joint still rises, and how many sweeps they want.
``--constants`` has half and twice of the constants of the warning, on the same fits.
"""

import argparse

import numpy as np
from report import fitted, say, scaled, table

from sklda import GibbsLDA
from sklda._core import diagnostics
from sklda._models import results
from sklda.datasets import make_lda_corpus

# Topics, documents, words of a document, different words, the sum of alpha, eta.
SHAPES = {
    "5 topics": (5, 300, 60, 500, 1.0, 0.05),
    "20 topics": (20, 400, 70, 800, 1.0, 0.05),
    "20 topics, sum of alpha 10": (20, 400, 70, 800, 10.0, 0.05),
    "100 topics, sum of alpha 10": (100, 1000, 80, 1500, 10.0, 0.05),
    "150 topics, 8 words": (150, 8000, 8, 2000, 0.3, 0.05),
    "150 topics, 8 words, eta .1": (150, 8000, 8, 1500, 0.5, 0.1),
}
CONSTANTS = ("_BATCHES", "_FEWEST_SWEEPS", "_SMALLEST_BATCH", "_CLEAR", "_LEAST_REST", "_POWER")


def corpus_of(shape, seed):
    K, n_documents, length, n_words, total, eta = SHAPES[shape]
    priors = {"doc_topic_prior": total / K, "topic_word_prior": eta}
    return make_lda_corpus(n_documents, n_words, K, doc_length=length, random_state=seed, **priors)


def last_log_joint(lda):
    return lda.log_joint_trace_[0, lda.n_burn_in_ :].mean()


def alarms(fits):
    """The sweeps that each fit wants, of those that warn."""
    found = [(diagnostics.clear_rise(lda.log_joint_trace_[0], lda.n_burn_in_), lda._used_tokens_.sum()) for lda in fits]
    return [rise[1] for rise, n_tokens in found if rise is not None and rise[0] > results.LEAST_RISE * n_tokens]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the first random seed")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--sweeps", nargs="+", type=int, default=[100, 200, 500, 2000])
    parser.add_argument("--constants", action="store_true")
    args = parser.parse_args()

    kept, rows = {}, []
    for shape in args.shapes:
        corpora = [corpus_of(shape, args.first + i) for i in range(args.corpora)]
        K = SHAPES[shape][0]
        truth = [
            last_log_joint(fitted(GibbsLDA(K, init=c.topic_assignments, max_iter=300, random_state=0), c.data)[0])
            for c in corpora
        ]
        for n_sweeps in args.sweeps:
            fits = [fitted(GibbsLDA(K, max_iter=n_sweeps, random_state=i), c.data) for i, c in enumerate(corpora)]
            seconds, fits = np.mean([each[1] for each in fits]), [each[0] for each in fits]
            missing = [before - last_log_joint(lda) for before, lda in zip(truth, fits, strict=True)]
            sums = np.mean([np.sum(np.broadcast_to(lda.doc_topic_prior_, K)) for lda in fits])
            wanted = alarms(fits)
            kept[shape, n_sweeps] = fits
            rows.append(
                [
                    shape,
                    f"{n_sweeps}",
                    f"{seconds:.1f}",
                    f"{np.mean(missing):.0f}",
                    f"{sums / SHAPES[shape][4]:.2f}",
                    f"{len(wanted)} of {len(fits)}",
                    ", ".join(map(str, wanted)),
                ]
            )
            say(*rows[-1])
    table("Fits", ["shape", "sweeps", "CPU s", "nats missing", "alpha / true", "warn", "sweeps wanted"], rows)

    if args.constants:
        rows = []
        for module, name in [*((diagnostics, each) for each in CONSTANTS), (results, "LEAST_RISE")]:
            for factor in (0.5, 2):
                with scaled([module], module, name, factor):
                    found = [f"{len(alarms(fits))}" for fits in kept.values()]
                rows.append([f"{name} x {factor}", *found])
        table("Fits that warn", ["constant", *(f"{shape}, {n}" for shape, n in kept)], rows)


if __name__ == "__main__":
    main()
