"""Topics that one book has for itself, with and without the function `subject_words` of the page on long texts.

The folder has a file for each book. The page has the figures of two collections, computationalstylistics'
A_Small_Collection_of_British_Fiction (twelve of its novels) and 100_english_novels (the first novel of each author).
The held-out score is that of 200 pieces of a quarter of the books, which the fits have not seen: of the words that the
function keeps, in nats per token.

    python benchmarks/bench_subject_words.py novels --seeds 0 1 2
"""

import argparse
import doctest
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

from sklda import GibbsLDA
from sklda.datasets import read_texts
from sklda.metrics import held_out_log_likelihood

PAGE = Path(__file__).parents[1] / "doc" / "start" / "long_texts.rst"
OPTIONS = {"stop_words": "english", "token_pattern": r"(?u)\b[^\W\d_]{3,}\b"}


def function_of_the_page():
    """The code that a reader copies."""
    found = doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))
    names = {"np": np, "pd": pd, "CountVectorizer": CountVectorizer}
    exec(next(each.source for each in found if each.source.startswith("def subject_words")), names)
    return names["subject_words"]


def vocabularies(table):
    """The words of pieces; of these, those that three books have; and those of the function."""
    vectorizer = CountVectorizer(min_df=5, max_df=0.3, **OPTIONS).fit(table["text"])
    every = vectorizer.get_feature_names_out()
    in_books = (pd.get_dummies(table["source"]).to_numpy(float).T @ vectorizer.transform(table["text"]) > 0).sum(axis=0)
    kept = function_of_the_page()(vectorizer, table["text"], table["source"])
    return {"all": list(every), "in three books": list(every[in_books >= 3]), "function": kept}


def fitted(table, words, seed, max_iter):
    X = CountVectorizer(vocabulary=words, **OPTIONS).transform(table["text"])
    return GibbsLDA(20, max_iter=max_iter, random_state=seed).fit(X), X


def parts_of_books(lda, X, source):
    """The largest part of each topic's tokens that is in one book."""
    tokens = pd.DataFrame(lda.doc_topic_ * X.sum(axis=1).A1[:, None]).groupby(np.asarray(source)).sum()
    return (tokens / tokens.sum()).max()


def held_out(table, seed, max_iter, n_pieces=200):
    rng = np.random.default_rng(100 + seed)
    books = np.unique(table["source"])
    is_new = table["source"].isin(rng.choice(books, len(books) // 4, replace=False))
    own = vocabularies(table[~is_new])
    new = table[is_new].sample(n_pieces, random_state=seed)
    X = CountVectorizer(vocabulary=own["function"], **OPTIONS).transform(new["text"])
    for name in ("all", "function"):
        lda, _ = fitted(table[~is_new], own[name], seed, max_iter)
        topics = lda.topic_word_[:, pd.Index(own[name]).get_indexer(own["function"])]
        topics = topics / topics.sum(axis=1, keepdims=True)
        score = held_out_log_likelihood((topics, lda.doc_topic_prior_), X, random_state=seed)
        print(f"seed {seed}, {name}: {score.sum() / X.sum():.3f} nats per token of new books", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--held-out", action="store_true", help="score new books, in place of counting topics")
    given = parser.parse_args()
    table = read_texts(given.folder, chunk=500)
    words = {} if given.held_out else vocabularies(table)
    for seed in given.seeds:
        if given.held_out:
            held_out(table, seed, given.max_iter)
        for name, own in words.items():
            start = time.process_time()
            lda, X = fitted(table, own, seed, given.max_iter)
            parts = parts_of_books(lda, X, table["source"])
            print(
                f"seed {seed}, {name}: {len(own):,} words, {X.sum():,} tokens; of 20 topics {(parts > 0.5).sum()} have "
                f"over 50 %, {(parts > 0.7).sum()} over 70 % in one book ({time.process_time() - start:.0f} s)",
                flush=True,
            )
            for row in lda.topic_word_:
                print("   ", *(own[v] for v in np.argsort(-row)[:10]))
