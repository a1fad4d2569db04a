"""Seed words: in how many simulated corpora the topic of seeds is about them, beside tomotopy's word prior.

    python benchmarks/bench_seed_words.py                                 all shapes, 16 corpora each
    python benchmarks/bench_seed_words.py --shapes "K" "K + 5" --first 100 --constants

Corpora of 300 documents of 50 words are drawn from LDA with 5 to 15 topics over 500 words. The seeds of a topic are
frequent words that have more than six tenths of their tokens in it. A topic is right if the cosine of its words without
seeds is largest with the true topic, and above .8. ``--constants`` has half and twice of the constants of the start.
"""

import argparse
import warnings
from time import process_time

import numpy as np
from report import say

import sklda._sampling.seeded_state as start
from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus

N_TOPICS = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 5, 8, 10, 12, 15]
SHAPES = {
    "K": {},
    "K, four words": {"n_words": 4},
    "K + 2": {"more": 2},
    "K + 5": {"more": 5},
    "K, skewed": {"skewed": True},
    "K + 5, skewed": {"more": 5, "skewed": True},
    "four topics": {"n_seeded": 4},
    "one bad of four": {"n_words": 4, "n_bad": 1},
    "one bad of four, K + 5": {"n_words": 4, "n_bad": 1, "more": 5},
    "12 words a document, K + 5": {"more": 5, "n_documents": 1200, "length": 12},
    "eta .2": {"eta": 0.2},
}


def seeds_of(corpus, topic, n_words, n_bad):
    """Frequent words of a topic that are mostly its own; the last ones are those of the next topic."""
    share = corpus.doc_topic.mean(axis=0)
    own = corpus.topic_word * share[:, None] > 0.6 * (share @ corpus.topic_word)
    order = np.argsort(-corpus.topic_word * own, axis=1)
    return [*order[topic, : n_words - n_bad].tolist(), *order[(topic + 1) % len(order), :n_bad].tolist()]


def is_right(row, corpus, topic, seeds):
    """Whether the words of a topic, without seeds, are those of the true one."""
    row, true = row.copy(), corpus.topic_word.copy()
    row[seeds], true[:, seeds] = 0, 0
    cosines = true @ row / np.linalg.norm(true, axis=1) / max(np.linalg.norm(row), 1e-300)
    return cosines.argmax() == topic and cosines[topic] > 0.8


def of_sklda(X, n_components, seeds, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GibbsLDA(n_components, seed_words=seeds, random_state=seed).fit(X).topic_word_


def of_tomotopy(X, n_components, seeds, seed):
    import tomotopy

    lda = tomotopy.LDAModel(k=n_components, seed=seed)
    for row in X.toarray():
        lda.add_doc([str(v) for v in np.repeat(np.arange(len(row)), row)])
    for topic, words in seeds.items():
        for word in words:
            lda.set_word_prior(str(word), [1.0 if k == topic else 0.1 for k in range(n_components)])
    lda.train(300, workers=1)
    found = np.zeros((n_components, X.shape[1]))
    columns = [int(word) for word in lda.used_vocabs]
    found[:, columns] = [lda.get_topic_word_dist(k) for k in range(n_components)]
    return found


def measure(fit, first, n_corpora, *, n_words=2, more=0, skewed=False, n_seeded=1, n_bad=0, **shape):
    """Corpora whose seeded topics are all right, and CPU seconds."""
    n_right, began = 0, process_time()
    for i in range(n_corpora):
        K = 10 if n_seeded > 1 else N_TOPICS[i % len(N_TOPICS)]
        weights = 1 / np.arange(1, K + 1) if skewed else np.ones(K)
        corpus = make_lda_corpus(
            shape.get("n_documents", 300),
            500,
            K,
            doc_length=shape.get("length", 50),
            doc_topic_prior=weights / weights.sum(),
            topic_word_prior=shape.get("eta", 0.05),
            random_state=first + i,
        )
        topics = np.random.default_rng(first + i).choice(K, n_seeded, replace=False)
        seeds = {k: seeds_of(corpus, topic, n_words, n_bad) for k, topic in enumerate(topics)}
        every = sorted({word for words in seeds.values() for word in words})
        found = fit(corpus.data, K + more, seeds, first + i)
        n_right += all(is_right(found[k], corpus, topic, every) for k, topic in enumerate(topics))
    return n_right, process_time() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--corpora", type=int, default=16)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first corpus")
    parser.add_argument("--tomotopy", action="store_true")
    parser.add_argument("--constants", action="store_true")
    options = parser.parse_args()
    variants = [(start._MULTIPLE, start._MOST)]
    if options.constants:
        variants += [(1.5, 0.9), (6.0, 0.9), (3.0, 0.45), (3.0, 1.0)]
    for shape in options.shapes:
        for start._MULTIPLE, start._MOST in variants:
            n_right, seconds = measure(of_sklda, options.first, options.corpora, **SHAPES[shape])
            say(f"{shape}: {n_right} of {options.corpora} right, {seconds:.0f} s ({start._MULTIPLE}, {start._MOST})")
        if options.tomotopy:
            n_right, seconds = measure(of_tomotopy, options.first, options.corpora, **SHAPES[shape])
            say(f"{shape}, tomotopy: {n_right} of {options.corpora} right, {seconds:.0f} s")
