"""Topics of the docstrings of NumPy, SciPy and scikit-learn: what they are, and what they are good for."""

import sys
import time

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

K, PRIORS = 25, {"doc_topic_prior": 0.1, "topic_word_prior": 0.05}


def fit_with_progress(X, n_sweeps=400, step=20):
    """Fit in warm starts of a few sweeps, so that every step can be shown."""
    model = GibbsLDA(K, max_iter=step, warm_start=True, random_state=0, **PRIORS)
    live = sys.stdout.isatty()
    for done in range(step, n_sweeps + 1, step):
        model.fit(X)
        bar = "█" * (30 * done // n_sweeps)
        line = f"  {bar:<30} sweep {done:3d} of {n_sweeps}   {model.log_joint_trace_[0, -1] / X.sum():.4f} nats a token"
        if live or done % (n_sweeps // 4) == 0:
            print("\r" + line if live else line, end="" if live and done < n_sweeps else "\n", flush=True)
    return model


def show_topics(model, corpus):
    share = np.bincount(model.topic_assignments_, minlength=K) / len(model.topic_assignments_)
    for k in np.argsort(-share):
        words = corpus.feature_names[np.argsort(-model.topic_word_[k])[:8]]
        closest = corpus.document_names[np.argsort(-model.doc_topic_[:, k])[:3]]
        print(f"  {share[k]:5.1%}  {' '.join(words)}")
        print(f"         closest: {', '.join(closest)}")


def show_accuracy(corpus):
    """The same classifier and folds for all; topic models are fitted on the training part of each fold alone."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    features = {
        "topics, sklda": GibbsLDA(K, max_iter=200, random_state=0, **PRIORS),
        "topics, scikit-learn": LatentDirichletAllocation(K, max_iter=20, random_state=0, **PRIORS),
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
    model = fit_with_progress(corpus.data)
    print("\nTopics by their share of the tokens\n")
    show_topics(model, corpus)
    print(f"\nWhich of {len(corpus.target_names)} subject groups? Accuracy of a logistic regression in 5 folds\n")
    show_accuracy(corpus)
    print("\n  Words say more than topics; topics say much of it in a hundredth of the columns.")
    print(f"\n{time.perf_counter() - start:.0f} s in all\n")


if __name__ == "__main__":
    main()
