"""Topics of the docstrings of NumPy, SciPy and scikit-learn: priors, words, documents, a page, use as features."""

import time
import warnings

from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

from sklda import EmpiricalBayesLDA, GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import MarginalLikelihoodDisplay, TopicExplorer, top_documents, top_words

K, PLOT, PAGE = 25, "marginal_likelihood.png", "topics.html"
# Griffiths & Steyvers (2004), Asuncion et al. (2009), and the default of gensim and of scikit-learn; (alpha, eta).
AD_HOC = {"50/K, 0.1": (50 / K, 0.1), "0.1, 0.1": (0.1, 0.1), "1/K, 1/K": (1 / K, 1 / K)}


def fit(X):
    """Fit topics and the priors that maximise the marginal likelihood."""
    model = EmpiricalBayesLDA(
        K, method="full_bayes", n_tuning=60, max_iter=240, n_chains=4, n_jobs=2, verbose=0, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X)
    errors = [model.confidence_region(0.95, kind).standard_errors for kind in ("monte_carlo", "statistical")]
    for axis, name in enumerate(("doc_topic_prior", "topic_word_prior")):
        value = getattr(model, name + "_")
        print(
            f"  {name:<17} {value:.4f} ± {value * errors[0][axis]:.4f} Monte Carlo, "
            f"± {value * errors[1][axis]:.4f} statistical"
        )
    for each in caught:
        print(f"  Warning: {each.message}")
    MarginalLikelihoodDisplay.from_estimator(model, n_points=25).figure_.savefig(PLOT)
    print(f"  Plot of log m(h) with both confidence regions: {PLOT}")
    return model


def show_priors(X, h):
    """Print the held-out log-likelihood of a fifth of the documents for the estimated priors and for usual ones."""
    train, test = train_test_split(X, test_size=0.2, random_state=0)
    scores = {}
    for name, (alpha, eta) in {"estimated": h, **AD_HOC}.items():
        lda = GibbsLDA(K, doc_topic_prior=alpha, topic_word_prior=eta, max_iter=150, random_state=0).fit(train)
        scores[name] = lda.score(test)
        difference = scores[name] - scores["estimated"]
        print(f"  {name:<10} ({alpha:.3f}, {eta:.3f})   {scores[name]:.4f} nats per token ({difference:+.4f})")


def show_topics(model, corpus):
    """Print the words and documents of every topic, and write the page of all topics."""
    words = top_words(model, 8, X=corpus.data, feature_names=corpus.feature_names)
    documents = top_documents(model, corpus.data, 3, document_names=corpus.document_names)
    for row in sorted(words, key=lambda row: -row["share"]):
        print(f"  {row['share']:5.1%}  {' '.join(row['words'])}")
        print(f"         documents: {', '.join(documents[row['topic']]['documents'])}")
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


def show_accuracy(corpus, priors):
    """Print the accuracy of a classifier for several features; all are fitted to the training part of each fold."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    features = {
        "topics, sklda": GibbsLDA(K, max_iter=200, random_state=0, **priors),
        "topics, scikit-learn": LatentDirichletAllocation(K, max_iter=20, random_state=0, **priors),
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
    print("Priors with the largest marginal likelihood\n")
    model = fit(corpus.data)
    h = model.doc_topic_prior_, model.topic_word_prior_
    print("\nHeld-out log-likelihood of a fifth of the documents for several priors (alpha, eta)\n")
    show_priors(corpus.data, h)
    print("\nTopics, ordered by their share of the tokens\n")
    show_topics(model, corpus)
    print(f"\nAccuracy of a logistic regression of the {len(corpus.target_names)} subject groups, in 5 folds\n")
    show_accuracy(corpus, dict(zip(("doc_topic_prior", "topic_word_prior"), h, strict=True)))
    print("\n  Words are the better features; topics keep part of their information in a hundredth of the columns.")
    print(f"\n{time.perf_counter() - start:.0f} s in total\n")


if __name__ == "__main__":
    main()
