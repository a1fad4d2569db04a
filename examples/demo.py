"""Topics of the docstrings of NumPy, SciPy and scikit-learn: topics, packages, years, new texts, a classifier."""

import textwrap
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import (
    CountVectorizer,
    TfidfTransformer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import read_docstrings
from sklda.inspection import (
    TopicExplorer,
    document_table,
    top_documents,
    topic_effects,
    topic_table,
)

K, N_CHAINS, PAGE = 25, 4, "topics.html"
PACKAGES = {"numpy": "NumPy", "scipy": "SciPy", "sklearn": "scikit-learn"}

NEW_TEXTS = [
    "Fit a regression with an L1 penalty, so that many coefficients are zero.",
    "Remove frequencies above 50 Hz from a sampled signal with a digital filter.",
    "Test whether the medians of two samples differ, without a normal distribution.",
    "Find the shortest path between two nodes of a graph.",
]


def fit(texts):
    """A pipeline of a vectorizer and topics with default priors, and whether its chains found the same topics."""
    words = CountVectorizer(
        stop_words="english",
        min_df=5,
        max_df=0.2,
        token_pattern=r"(?u)\b[^\W\d_]{3,}\b",
    )
    lda = GibbsLDA(
        K, n_chains=N_CHAINS, max_iter=200, n_jobs=2, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = make_pipeline(words, lda).fit(texts)
    return model, not caught


def show_topics(model, agree, docstrings):
    """Print the topics, and write the page of topics, words and texts."""
    texts, lda = docstrings["text"], model[-1]
    words = topic_table(model, n_words=6)["words"]
    closest = top_documents(model, texts, n_documents=1)["documents"]
    print(
        "   share  agreement  words, and the beginning of the text with most of the topic"
    )
    for k in np.argsort(-lda.topic_share_):
        print(
            f"   {lda.topic_share_[k]:5.1%}     {lda.topic_stability_[k]:.2f}    {' '.join(words[k])}"
        )
        name = closest[k][0]
        passage = textwrap.shorten(texts[name], 66, placeholder=" ...")
        print(f"{'':21}“{passage}” ({name})")
    say(
        f"Agreement: {N_CHAINS} chains looked for topics independently. 1 means that all of them found this topic, 0 "
        "that only this chain did."
    )
    if not agree:
        say(
            "The chains found different sets of topics, which is usual. Rely on topics with high agreement. Regard "
            "the others as one of several ways to divide these documents."
        )
    explorer = TopicExplorer.from_estimator(
        model,
        texts,
        groups=docstrings["package"].map(PACKAGES),
        title="Topics of the docstrings of NumPy, SciPy and scikit-learn",
    )
    explorer.to_html(PAGE)
    say(f"All topics, words and texts, to open in a browser: {PAGE}")
    return words


def show_packages(model, words, docstrings):
    """Print the largest topics of each package, and the clearest difference between two packages."""
    proportions = document_table(model, docstrings["text"]).set_index(
        "document"
    )
    columns = [f"topic_{k}" for k in range(K)]
    means = (
        proportions[columns]
        .groupby(docstrings["package"], observed=True)
        .mean()
    )
    for package, row in means.iterrows():
        print(f"   {PACKAGES[package]}")
        for k in np.argsort(-row.to_numpy())[:3]:
            print(f"      {row.iloc[k]:4.0%}  {' '.join(words[k])}")
    effects = topic_effects(
        model,
        docstrings["text"],
        docstrings[["package"]],
        clusters=docstrings["module"],
        random_state=0,
    )
    effects = effects[effects["term"] != "intercept"]
    clearest = effects.loc[effects["p_value"].idxmin()]
    package = clearest["term"].removeprefix("package[").rstrip("]")
    say(
        f"The clearest difference from NumPy: {clearest['estimate']:+.0%} ± {clearest['standard_error']:.0%} in "
        f"{PACKAGES[package]} for “{' '.join(words[clearest['topic']][:3])}”. Functions of one module resemble each "
        "other, so the error is that between modules."
    )


def show_years(model, words, docstrings):
    """Print by how much topics change with the year in which functions were added."""
    dated = docstrings.dropna(subset=["year"])
    years = dated["year"]
    effects = topic_effects(
        model,
        dated["text"],
        years.to_frame(),
        clusters=dated["module"],
        random_state=0,
    )
    trends = effects[effects["term"] == "year"].sort_values("p_value")
    print(
        f"   {len(dated):,} docstrings say when their function was added, {years.min()} to {years.max()}. "
        "Change in ten years:\n"
    )
    for row in trends[:3].itertuples():
        print(
            f"   {10 * row.estimate:+4.0%} ± {10 * row.standard_error:.0%}  p = {row.p_value:.2f}  {' '.join(words[row.topic])}"
        )
    n_clear = int((trends["p_value"] < 0.05 / K).sum())
    say(
        f"These are the clearest of {K} trends. {n_clear or 'None'} of them would be clear among so many (p below "
        f"0.05 / {K})."
    )


def show_new_texts(model, words):
    """Print the two largest topics of texts that are not in the corpus."""
    for text, theta in zip(
        NEW_TEXTS, model.transform(NEW_TEXTS), strict=True
    ):
        print(f"   {text}")
        for k in np.argsort(-theta)[:2]:
            print(f"      {theta[k]:4.0%}  {' '.join(words[k])}")


def show_accuracy(X, packages):
    """Print the accuracy of a classifier for two kinds of features, which are fitted to the training documents."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    features = {
        "topics": GibbsLDA(K, max_iter=200, random_state=0),
        "words (tf-idf)": TfidfTransformer(sublinear_tf=True),
    }
    for name, step in features.items():
        pipeline = make_pipeline(
            step, LogisticRegression(C=10, max_iter=1000)
        )
        scores = cross_val_score(pipeline, X, packages, cv=folds)
        n_columns = K if name == "topics" else X.shape[1]
        print(
            f"   {name:<16} {n_columns:5,} columns   {scores.mean():.3f} ± {scores.std():.3f}"
        )
    largest = packages.value_counts(normalize=True).max()
    say(f"Always the largest package: {largest:.3f}.")


def say(text):
    """Print a paragraph."""
    print(
        "\n"
        + textwrap.fill(
            text, 90, initial_indent="   ", subsequent_indent="   "
        )
    )


def main():
    start, start_cpu = time.perf_counter(), time.process_time()
    docstrings = read_docstrings()
    model, agree = fit(docstrings["text"])
    X = model[0].transform(docstrings["text"])
    print(
        f"\n{len(docstrings):,} docstrings: {X.shape[1]:,} words, {X.sum():,} tokens; {K} topics"
    )
    print("\n1. Topics\n")
    words = show_topics(model, agree, docstrings)
    print("\n2. Packages: their largest topics\n")
    show_packages(model, words, docstrings)
    print("\n3. Years\n")
    show_years(model, words, docstrings)
    print("\n4. Topics of new texts\n")
    show_new_texts(model, words)
    print(
        "\n5. Topics as features: accuracy of a classifier of packages, 3 folds\n"
    )
    show_accuracy(X, docstrings["package"])
    print(
        f"\n{time.perf_counter() - start:.0f} s in total, {time.process_time() - start_cpu:.0f} CPU seconds\n"
    )


if __name__ == "__main__":
    main()
