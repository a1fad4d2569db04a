"""`log_evidence` with default parameters: errors and coverage where log p(w | K) is known exactly, or by long runs.

    python benchmarks/bench_evidence.py
    python benchmarks/bench_evidence.py --exact 48 --long 0 --seeds 3
    PYTHONPATH=other/version python benchmarks/bench_evidence.py

Small corpora have the sum over the counts of words in topics. Medium ones have a reference: log_evidence with ten times
the temperatures, by this version; `--save` writes the references to a file, and `--load` reads them.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from report import say, table
from scipy.special import gammaln, logsumexp
from threadpoolctl import threadpool_limits

from sklda.datasets import make_lda_corpus
from sklda.metrics import log_evidence

# Documents, words, tokens of a document, topics, alpha, eta.
SMALL = (
    (15, 4, 8, 2, 0.1, 0.1),
    (30, 3, 4, 2, 0.5, 0.4),
    (8, 4, 15, 2, 0.1, 0.3),
    (20, 4, 5, 2, 1.0, 1.0),
    (12, 2, 5, 3, 0.3, 0.5),
    (4, 3, 5, 3, 0.2, 0.5),
)
MEDIUM = (
    (100, 60, 30, 5, 0.1, 0.1),
    (60, 100, 80, 4, 0.2, 0.1),
    (150, 100, 50, 8, 0.1, 0.1),
    (200, 50, 15, 5, 0.5, 0.2),
)


def corpus_of(shapes, seed):
    """X, K and the priors of a corpus of one of the shapes."""
    n_documents, n_features, length, K, alpha, eta = shapes[seed % len(shapes)]
    priors = {"doc_topic_prior": alpha, "topic_word_prior": eta}
    X = make_lda_corpus(n_documents, n_features, K, doc_length=length, **priors, random_state=seed).data
    return X.toarray(), K, priors


def log_rising(prior, counts):
    return gammaln(prior + counts) - gammaln(prior)


def exact(X, K, alpha, eta):
    """log p(w | K): the sum over m_kv of all corpora, topics of all tokens, that have these counts.

    The number of ways to m_kv, weighted by p(z), is the product over documents of polynomials in m_kv for k < K.
    """
    shape, log_scale = [1] * (X.shape[1] * (K - 1)), 0.0
    total = np.ones(shape)
    for row in X:
        splits = [[j for j in product(range(n + 1), repeat=K - 1) if sum(j) <= n] for n in row]
        size = [n + 1 for n in row for _ in range(K - 1)]
        grown = np.zeros(np.add(total.shape, size) - 1)
        for chosen in product(*splits):
            counts = np.array([[*j, n - sum(j)] for j, n in zip(chosen, row, strict=True)])
            ways = gammaln(row + 1).sum() - gammaln(counts + 1).sum() + log_rising(alpha, counts.sum(axis=0)).sum()
            at = tuple(slice(i, i + n) for i, n in zip(np.ravel(chosen), total.shape, strict=True))
            grown[at] += np.exp(ways) * total
        log_scale += np.log(grown.max()) - log_rising(K * alpha, row.sum())
        total = grown / grown.max()
    m = np.stack(np.nonzero(total), axis=1).reshape(-1, X.shape[1], K - 1)
    m = np.concatenate([m, (X.sum(axis=0)[:, None] - m.sum(axis=2, keepdims=True))], axis=2)
    words = log_rising(eta, m).sum(axis=(1, 2)) - log_rising(X.shape[1] * eta, m.sum(axis=1)).sum(axis=1)
    return log_scale + logsumexp(np.log(total[np.nonzero(total)]) + words)


def summary(name, found):
    """A row: root mean square error, the same by stated errors, and the share within two of these."""
    error, std, seconds = np.array(found).T
    within = f"{(np.abs(error) <= 2 * std).mean():.3f}"
    rms = [f"{np.sqrt(np.mean(each**2)):.3f}" for each in (error, std)]
    return [name, str(len(found)), f"{error.mean():.3f}", *rms, within, f"{seconds.mean():.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exact", type=int, default=48, help="small corpora (default: 48)")
    parser.add_argument("--long", type=int, default=10, help="medium corpora (default: 10)")
    parser.add_argument("--seeds", type=int, default=1, help="estimates of each corpus (default: 1)")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--load", type=Path)
    options = parser.parse_args()
    references, rows = json.loads(options.load.read_text()) if options.load else {}, []
    for shapes, n_corpora in ((SMALL, options.exact), (MEDIUM, options.long)):
        by_shape = {}
        for i in range(n_corpora):
            X, K, priors = corpus_of(shapes, i)
            shape, key = shapes[i % len(shapes)], f"{len(shapes)}, {i}"
            if shapes is SMALL:
                references[key] = exact(X, K, *priors.values()), 0.0
            elif key not in references:
                references[key] = log_evidence(X, K, **priors, n_temperatures=3000, random_state=10_000 + i)
            truth, truth_std = references[key]
            for seed in range(options.seeds):
                begin = time.process_time()
                value, std = log_evidence(X, K, **priors, random_state=1000 * seed + i)
                seconds = time.process_time() - begin
                by_shape.setdefault(shape, []).append((value - truth, np.hypot(std, truth_std), seconds))
                say(f"  {shape}, {i}: {truth:.3f} +- {truth_std:.3f}, {value - truth:+.3f} +- {std:.3f}")
        rows += [summary(", ".join(map(str, shape)), found) for shape, found in by_shape.items()]
        if by_shape:
            rows.append(summary("all", [each for found in by_shape.values() for each in found]))
    if options.save:
        options.save.write_text(json.dumps(references))
    header = ("documents, words, tokens, K, alpha, eta", "fits", "mean error", "RMS", "stated", "within 2", "CPU s")
    table("log_evidence, nats", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
