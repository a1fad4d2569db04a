"""The tables of the tutorial for social scientists, from data of stm.

    python doc/tutorials/survey_experiment.py gadarian.csv

R writes the file, as the page says. Without it there is nothing to do. A
folder with the counts of the answers (corpus.ldac.gz, vocab.txt.gz,
rows.csv.gz) gives the same tables. The picture of the page is written to
doc/_static.
"""

import gzip
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning


def from_answers(path):
    """Counts, words and respondents, from the answers."""
    # [counts]
    from sklearn.feature_extraction.text import CountVectorizer

    frame = pd.read_csv(path)
    vectorizer = CountVectorizer(
        stop_words="english",
        min_df=3,
        max_df=0.5,
        token_pattern=r"(?u)\b[^\W\d_]{3,}\b",
    )
    answers = frame["open.ended.response"].fillna("")
    X = vectorizer.fit_transform(answers)
    words = vectorizer.get_feature_names_out()
    # [end of counts]
    return X, words, frame


def from_counts(folder):
    """The same, from counts with `id:count` for each word of an answer."""
    frame = pd.read_csv(folder / "rows.csv.gz")
    with gzip.open(folder / "vocab.txt.gz", "rt", encoding="utf-8") as file:
        words = file.read().split()
    rows, columns, counts = [], [], []
    with gzip.open(
        folder / "corpus.ldac.gz", "rt", encoding="utf-8"
    ) as file:
        for d, line in enumerate(file):
            for entry in line.split()[1:]:
                word, count = entry.split(":")
                rows.append(d)
                columns.append(int(word))
                counts.append(int(count))
    shape = len(frame), len(words)
    return csr_matrix((counts, (rows, columns)), shape=shape), words, frame


def fit(X, words, frame):
    """The topics of the experiment."""
    # [fit]
    from sklda import CovariateLDA
    from sklda.inspection import describe, top_words, topic_effects

    covariates = frame[["treatment", "pid_rep"]]
    lda = CovariateLDA(3, n_chains=4, random_state=0)
    lda.fit(X, covariates=covariates)
    named = describe(lda, X, feature_names=words)
    for row in top_words(named, n_words=8).itertuples():
        print(row.topic, f"{row.share:.2f}", *row.words)
    # [end of fit]
    # [effects]
    effects = topic_effects(named, covariates=covariates, random_state=0)
    columns = ["topic", "term", "estimate", "low", "high", "found_in"]
    print(effects[columns].round(2).to_string(index=False))
    # [end of effects]
    return named, effects


def interaction(X, words, covariates):
    """Whether the treatment acts on Republicans more than on Democrats."""
    from sklda import CovariateLDA
    from sklda.inspection import describe, topic_effects

    # [interaction]
    formula = "treatment * pid_rep"
    lda = CovariateLDA(3, formula=formula, n_chains=4, random_state=0)
    lda.fit(X, covariates=covariates)
    table = topic_effects(
        describe(lda, X, feature_names=words),
        covariates=covariates,
        formula=formula,
        random_state=0,
    )
    rows = table[table["term"] == "treatment:pid_rep"]
    columns = ["name", "estimate", "low", "high", "p_value"]
    print(rows[columns].round(2).to_string(index=False))
    # [end of interaction]


def picture(named, covariates):
    """The mean proportions of topics in both groups, as a picture."""
    from sklda.inspection import TopicEffectsDisplay

    # [picture]
    groups = covariates.replace({"treatment": {0: "thought", 1: "worried"}})
    display = TopicEffectsDisplay.from_estimator(
        named, covariates=groups, covariate="treatment", random_state=0
    )
    # [end of picture]
    path = Path(__file__).parents[1] / "_static" / "survey_effects.png"
    display.figure_.savefig(path, dpi=110)


def without_covariates(X, words, covariates):
    """The effect when the model does not know the treatment."""
    from sklda import GibbsLDA
    from sklda.inspection import describe, top_words, topic_effects

    # [without]
    lda = GibbsLDA(3, random_state=0).fit(X)
    plain = describe(lda, X, feature_names=words)
    effects = topic_effects(plain, covariates=covariates, random_state=0)
    rows = effects[effects["term"] == "treatment"]
    columns = ["topic", "estimate", "standard_error", "attenuation"]
    print(top_words(plain, n_words=4)["words"].map(" ".join).to_string())
    print(rows[columns].round(2).to_string(index=False))
    # [end of without]


def permuted(X, words, covariates):
    """The largest effects of treatments that are permuted."""
    from sklda import CovariateLDA
    from sklda.inspection import describe, topic_effects

    # [permuted]
    def largest_effect(covariates, seed):
        lda = CovariateLDA(3, random_state=seed)
        lda.fit(X, covariates=covariates)
        each = describe(lda, X, feature_names=words)
        table = topic_effects(each, covariates=covariates, random_state=0)
        rows = table[table["term"] == "treatment"]
        return rows["estimate"].abs().max()

    rng = np.random.default_rng(0)
    placebo = covariates.copy()
    largest = []
    for seed in range(50):
        placebo["treatment"] = rng.permutation(covariates["treatment"])
        largest.append(largest_effect(placebo, seed))
    observed = [largest_effect(covariates, seed) for seed in range(5)]
    print("permuted:", np.quantile(largest, [0.5, 0.95, 1]).round(2))
    print("observed:", np.round(observed, 2))
    # [end of permuted]


def numbers_of_topics(X, words, covariates):
    """The effect on the topic of jobs with other numbers of topics."""
    from sklda import CovariateLDA
    from sklda.inspection import describe, top_words, topic_effects

    # [numbers]
    for n_components in (2, 3, 4, 5, 8):
        lda = CovariateLDA(n_components, random_state=0)
        lda.fit(X, covariates=covariates)
        each = describe(lda, X, feature_names=words)
        k = lda.topic_word_[:, list(words).index("jobs")].argmax()
        table = topic_effects(
            each, covariates=covariates, topics=[k], random_state=0
        )
        row = table.set_index("term").loc["treatment"]
        top = " ".join(top_words(each, n_words=4)["words"][k])
        value = f"{row['estimate']:+.2f} ± {row['standard_error']:.2f}"
        print(n_components, value, top)
    # [end of numbers]


def main(path):
    # Six answers have no word that is left; chains of short texts disagree.
    warnings.filterwarnings("ignore", ".*have no words", UserWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    read = from_counts if path.is_dir() else from_answers
    X, words, frame = read(path)
    print(X.shape, X.sum())
    covariates = frame[["treatment", "pid_rep"]]
    named, _ = fit(X, words, frame)
    interaction(X, words, covariates)
    without_covariates(X, words, covariates)
    permuted(X, words, covariates)
    numbers_of_topics(X, words, covariates)
    picture(named, covariates)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).exists():
        raise SystemExit(
            "Skipped: give the path of gadarian.csv, see the page."
        )
    main(Path(sys.argv[1]))
