"""Topics of the docstrings of NumPy, SciPy and scikit-learn: words, uncertainty, a page, held-out scores, features."""

import time
import warnings

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import ConvergenceDisplay, TopicExplorer, top_documents, top_words
from sklda.metrics import held_out_log_likelihood

K, PLOT, PAGE = 25, "convergence.png", "topics.html"


def fit(X):
    """Fit topics with the defaults, in four chains, and print the learnt priors and the diagnostics."""
    model = GibbsLDA(K, n_chains=4, n_jobs=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X)
    alpha = model.doc_topic_prior_
    print(f"  alpha    from {alpha.min():.3f} to {alpha.max():.3f}, learnt for each topic")
    print(f"  eta      {model.topic_word_prior_:.3f}, learnt")
    print(f"  topics   means over {model.n_draws_} draws of the best of {len(model.chains_)} chains")
    for name, found in model.diagnostics_.items():
        print(f"  R-hat    {found.r_hat:.2f} of {name}")
    for each in caught:
        print(f"  Warning: {each.message}")
    ConvergenceDisplay.from_estimator(model).figure_.savefig(PLOT)
    print(f"  Plot of the chains: {PLOT}")
    return model


def show_topics(model, corpus):
    """Print the words and documents of every topic, and write the page of all topics."""
    words = top_words(model, 8, feature_names=corpus.feature_names)
    documents = top_documents(model, corpus.data, 2, document_names=corpus.document_names)
    for k in np.argsort(-model.topic_share_):
        share, error = model.topic_share_[k], model.topic_share_std_[k]
        print(f"  {share:5.1%} ± {error:4.1%}   {model.topic_stability_[k]:.2f}   {' '.join(words[k]['words'])}")
        print(f"                        documents: {', '.join(documents[k]['documents'])}")
    explorer = TopicExplorer.from_estimator(
        model,
        corpus.data,
        feature_names=corpus.feature_names,
        document_names=corpus.document_names,
        groups=corpus.collection,
        title="Topics of the docstrings of NumPy, SciPy and scikit-learn",
    )
    explorer.to_html(PAGE)
    print(f"\n  All topics, words and documents, to open in a browser: {PAGE}")


def show_scores(X):
    """Print the held-out log-likelihood of a fifth of the documents."""
    train, test = train_test_split(X, test_size=0.2, random_state=0)
    usual = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}
    models = {
        "sklda, defaults": GibbsLDA(K, random_state=0),
        "alpha 0.1, eta 0.01": GibbsLDA(K, **usual, random_state=0),
        "the same, one draw": GibbsLDA(K, **usual, n_draws=1, random_state=0),
        "scikit-learn, defaults": LatentDirichletAllocation(K, random_state=0),
    }
    for name, model in models.items():
        start = time.process_time()
        model.fit(train)
        seconds = time.process_time() - start
        score = held_out_log_likelihood(test, model, random_state=0).sum() / test.sum()
        print(f"  {name:<22} {score:.3f} nats per token   {seconds:4.1f} CPU s")


def show_accuracy(corpus):
    """Print the accuracy of a classifier for several features; all are fitted to the training part of each fold."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    features = {
        "topics, sklda": GibbsLDA(K, random_state=0),
        "topics, scikit-learn": LatentDirichletAllocation(K, random_state=0),
        "bag of words (tf-idf)": TfidfTransformer(sublinear_tf=True),
    }
    for name, step in features.items():
        start = time.perf_counter()
        pipeline = make_pipeline(step, LogisticRegression(C=10, max_iter=1000))
        scores = cross_val_score(pipeline, corpus.data, corpus.target, cv=folds, n_jobs=2)
        columns = corpus.data.shape[1] if "bag" in name else K
        print(
            f"  {name:<22} {scores.mean():.3f} ± {scores.std():.3f}   {columns:5,} columns   "
            f"{time.perf_counter() - start:4.1f} s"
        )


def main():
    start = time.perf_counter()
    corpus = load_docstrings()
    D, V = corpus.data.shape
    print(
        f"\n{D:,} docstrings of NumPy, SciPy and scikit-learn, {V:,} words, {corpus.data.sum():,} tokens; {K} topics\n"
    )
    print("A fit with the defaults and four chains\n")
    model = fit(corpus.data)
    print("\nShare of the tokens ± standard deviation, stability from 0 to 1 (1: all chains have the topic), words\n")
    show_topics(model, corpus)
    print("\nHeld-out log-likelihood of a fifth of the documents: greater is better\n")
    show_scores(corpus.data)
    print(f"\nAccuracy of a logistic regression of the {len(corpus.target_names)} subject groups, in 5 folds\n")
    show_accuracy(corpus)
    print("\n  Words are the better features; topics keep part of their information in a hundredth of the columns.")
    print(f"\n{time.perf_counter() - start:.0f} s in total\n")


if __name__ == "__main__":
    main()
