"""Topics of the docstrings of NumPy, SciPy and scikit-learn: topics, new documents, priors, a classifier."""

import textwrap
import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import t
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import (
    CountVectorizer,
    TfidfTransformer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import (
    TopicExplorer,
    describe,
    top_documents,
    top_words,
)
from sklda.metrics import compare_topic_models, held_out_log_likelihood

K, N_CHAINS, N_FITS, PAGE = 25, 4, 3, "topics.html"
CLEAR = t.ppf(0.975, N_FITS - 1)

NEW_TEXTS = [
    "Fit a regression with an L1 penalty, so that many coefficients are zero.",
    "Remove frequencies above 50 Hz from a sampled signal with a digital filter.",
    "Test whether the medians of two samples differ, without a normal distribution.",
    "Find the shortest path between two nodes of a graph.",
]


def show_topics(corpus):
    """Fit topics with the defaults, print them, and write the page of all topics."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = GibbsLDA(
            K, n_chains=N_CHAINS, n_jobs=2, random_state=0
        ).fit(corpus.data)
    named = describe(
        model,
        corpus.data,
        feature_names=corpus.feature_names,
        document_names=corpus.document_names,
    )
    words = top_words(named, n_words=6)
    documents = top_documents(named, n_documents=1)
    print(
        "   share  agreement  words, and the document with the largest part of the topic"
    )
    for k in np.argsort(-model.topic_share_):
        print(
            f"   {model.topic_share_[k]:5.1%}     {model.topic_stability_[k]:.2f}    {' '.join(words['words'][k])}"
        )
        print(f"{'':21}({documents['documents'][k][0]})")
    say(
        f"Agreement: {N_CHAINS} chains looked for topics independently. 1 means that all of them found this topic, 0 "
        "that only this chain did."
    )
    if caught:
        say(
            "The chains found different sets of topics, which is usual. Rely on topics with high agreement. Regard "
            "the others as one of several ways to divide these documents."
        )
    explorer = TopicExplorer.from_estimator(
        named,
        groups=corpus.collection,
        title="Topics of the docstrings of NumPy, SciPy and scikit-learn",
    )
    explorer.to_html(PAGE)
    say(f"All topics, words and documents, to open in a browser: {PAGE}")
    return model, words


def show_new_documents(model, words, corpus):
    """Print the two largest topics of texts that are not in the corpus."""
    counts = CountVectorizer(vocabulary=corpus.feature_names).transform(
        NEW_TEXTS
    )
    for text, theta in zip(NEW_TEXTS, model.transform(counts), strict=True):
        print(f"   {text}")
        for k in np.argsort(-theta)[:2]:
            print(f"      {theta[k]:4.0%}  {' '.join(words['words'][k])}")


def show_priors(model, X):
    """Print differences of held-out log-likelihood between learnt priors and others."""
    train, test = train_test_split(X, test_size=0.2, random_state=0)
    usual = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}
    settings = {
        "learnt": {},
        "0.1, 0.01": usual,
        f"1/K = {1 / K}": {"learn_priors": False},
    }
    alpha = model.doc_topic_prior_
    print(
        f"   Learnt from the corpus: alpha {alpha.min():.3f} to {alpha.max():.3f}, eta {model.topic_word_prior_:.3f}."
    )
    models = {
        name: [
            GibbsLDA(K, **priors, random_state=seed)
            for seed in range(N_FITS)
        ]
        for name, priors in settings.items()
    }
    in_threads = Parallel(n_jobs=2, prefer="threads")
    fits = {
        name: in_threads(delayed(each.fit)(train) for each in unfitted)
        for name, unfitted in models.items()
    }
    level = (
        held_out_log_likelihood(
            fits["learnt"][0], test, random_state=0
        ).sum()
        / test.sum()
    )
    print(
        f"   With learnt priors: {level:.3f} nats per token of {test.shape[0]} new documents. Differences:\n"
    )
    for name in list(settings)[1:]:
        pairs = zip(fits["learnt"], fits[name], strict=True)
        ratios = np.array(
            [
                compare_topic_models(*pair, test, random_state=0).log_ratio
                for pair in pairs
            ]
        )
        mean, error = paired_difference(
            ratios, np.asarray(test.sum(axis=1)).ravel()
        )
        verdict = (
            "no clear difference"
            if abs(mean) < CLEAR * error
            else f"{'learnt' if mean > 0 else name} is better"
        )
        print(
            f"   learnt minus {name:<10}  {mean:+.3f} ± {error:.3f}   {verdict}"
        )
    say(
        f"Means of {N_FITS} fits of each, document by document, ± standard errors over documents and fits. Less than "
        f"{CLEAR:.1f} errors, by Student's t of so few fits, is no clear difference."
    )


def paired_difference(ratios, lengths):
    """Difference per token, and its standard error over documents (columns) and fits (rows)."""
    by_fit = ratios.sum(axis=1) / lengths.sum()
    residuals = ratios.mean(axis=0) - by_fit.mean() * lengths
    over_documents = np.sqrt((residuals**2).sum()) / lengths.sum()
    return by_fit.mean(), np.hypot(
        over_documents, by_fit.std(ddof=1) / np.sqrt(len(by_fit))
    )


def show_accuracy(corpus):
    """Print the accuracy of a classifier for several features; all are fitted to the training part of each fold."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    features = {
        "topics, sklda": GibbsLDA(K, random_state=0),
        "topics, scikit-learn": LatentDirichletAllocation(
            K, random_state=0
        ),
        "words (tf-idf)": TfidfTransformer(sublinear_tf=True),
    }
    accuracy = {}
    for name, step in features.items():
        pipeline = make_pipeline(
            step, LogisticRegression(C=10, max_iter=1000)
        )
        scores = cross_val_score(
            pipeline, corpus.data, corpus.target, cv=folds, n_jobs=2
        )
        accuracy[name] = scores.mean()
        n_columns = K if "topics" in name else corpus.data.shape[1]
        print(
            f"   {name:<20}  {n_columns:5,} columns   {scores.mean():.3f} ± {scores.std():.3f}"
        )
    largest = np.bincount(corpus.target).max() / len(corpus.target)
    part = accuracy["topics, sklda"] / accuracy["words (tf-idf)"]
    say(
        f"Always the largest group: {largest:.3f}. With {K} topics in place of {corpus.data.shape[1]:,} words, the "
        f"classifier has {part:.0%} of the accuracy."
    )


def say(text):
    """Print a paragraph."""
    print(
        "\n"
        + textwrap.fill(
            text, 90, initial_indent="   ", subsequent_indent="   "
        )
    )


def main():
    start = time.perf_counter()
    corpus = load_docstrings()
    D, V = corpus.data.shape
    print(
        f"\n{D:,} docstrings of NumPy, SciPy and scikit-learn, {V:,} words, {corpus.data.sum():,} tokens; {K} topics"
    )
    print("\n1. Topics\n")
    model, words = show_topics(corpus)
    print("\n2. Topics of new documents\n")
    show_new_documents(model, words, corpus)
    print(
        "\n3. Are learnt priors better? Held-out log-likelihood, greater is better\n"
    )
    show_priors(model, corpus.data)
    print(
        f"\n4. Topics as features: accuracy of a classifier of {len(corpus.target_names)} subject groups, 3 folds\n"
    )
    show_accuracy(corpus)
    print(f"\n{time.perf_counter() - start:.0f} s in total\n")


if __name__ == "__main__":
    main()
