"""Rubin's rules on draws of topic shares: coverage of an effect in a mixed model of statsmodels.

    python benchmarks/bench_own_regression.py --corpora 50 --words 10 40

There are 20 villages of ten documents, a covariate within villages, and random effects of villages on the shares of
three topics. The model of topics does not know the villages.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from report import say
from scipy.stats import t

from sklda import CovariateLDA, GibbsLDA

N_WORDS, K, N_VILLAGES, N_DOCUMENTS, N_DRAWS = 60, 3, 20, 10, 20


def shares(x, village):
    """Mean shares at values of the covariate and effects of villages."""
    weights = np.exp(np.column_stack([0.5 + x, 0 * x, 0 * x]) + village)
    return weights / weights.sum(axis=1, keepdims=True)


def corpus(seed, n_words):
    """Counts, covariates, and the true effect on the share of the first topic."""
    rng = np.random.default_rng([99, seed])
    phi = np.full((K, N_WORDS), 0.002)
    for k in range(K):
        phi[k, 20 * k : 20 * k + 20] = rng.gamma(1, size=20) + 0.05
    phi /= phi.sum(axis=1, keepdims=True)
    village = np.repeat(np.arange(N_VILLAGES), N_DOCUMENTS)
    x = np.tile([0.0, 1.0], len(village) // 2)
    theta = [rng.dirichlet(4 * each) for each in shares(x, rng.normal(0, 0.5, (N_VILLAGES, K))[village])]
    others = rng.normal(0, 0.5, (200_000, K))
    effect = (shares(np.ones(len(others)), others) - shares(np.zeros(len(others)), others)).mean(axis=0)[0]
    X = np.array([rng.multinomial(n_words, each @ phi) for each in theta])
    return X, pd.DataFrame({"x": x, "village": village}), effect


def pooled(estimates, errors, df):
    """Estimate and half of the 95 % interval, by the degrees of freedom of Barnard & Rubin (1999)."""
    m = len(estimates)
    between = (1 + 1 / m) * np.var(estimates, ddof=1)
    total = np.mean(np.square(errors)) + between
    part = between / total
    df = 1 / (part**2 / (m - 1) + 1 / ((1 - part) * (df + 1) / (df + 3) * df))
    return np.mean(estimates), t.isf(0.025, df) * np.sqrt(total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=int, default=50)
    parser.add_argument("--first", type=int, default=100, help="the first random seed")
    parser.add_argument("--words", type=int, nargs="+", default=[10, 40], help="of a document")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for n_words in args.words:
        inside = {}
        ratios = {}
        for seed in range(args.first, args.first + args.corpora):
            X, frame, effect = corpus(seed, n_words)
            for cls in (CovariateLDA, GibbsLDA):
                lda = cls(K, max_iter=300, random_state=0)
                lda = lda.fit(X, covariates=frame[["x"]]) if cls is CovariateLDA else lda.fit(X)
                topic = lda.topic_word_[:, :20].sum(axis=1).argmax()
                draws = lda.sample_posterior(N_DRAWS, random_state=0).doc_topic[:, :, topic]
                fits = [
                    smf.mixedlm("y ~ x", frame.assign(y=y), groups="village").fit()
                    for y in (lda.doc_topic_[:, topic], *draws)
                ]
                estimates = np.array([fit.params["x"] for fit in fits])
                errors = np.array([fit.bse["x"] for fit in fits])
                centre, half = pooled(estimates[1:], errors[1:], len(frame) - N_VILLAGES - 1)
                for way, value, width in (
                    ("estimates", estimates[0], 1.96 * errors[0]),
                    ("draws", centre, half),
                ):
                    inside.setdefault((cls.__name__, way), []).append(abs(value - effect) < width)
                    ratios.setdefault((cls.__name__, way), []).append(value / effect)
        for key, found in inside.items():
            say(f"{n_words} words", *key, f"{sum(found)} of {len(found)}", f"{np.mean(ratios[key]):.2f}")


if __name__ == "__main__":
    main()
