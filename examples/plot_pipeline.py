"""
Topics as features of a classifier
==================================

This example cross-validates a pipeline with topics as features and compares
it with the bag of words. Topics are better when few documents have labels;
words are better when many have.
"""

# %%
# Every document of the bundled corpus belongs to one of 16 subject groups.
# A classifier of these groups uses either the counts of all 2,533 words or
# the topic proportions.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_validate,
)
from sklearn.pipeline import make_pipeline, make_union

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

X, y = load_docstrings(return_X_y=True)


def topics(n_components):
    return GibbsLDA(n_components, max_iter=100, random_state=0)


def classifier(C):
    return LogisticRegression(C=C, max_iter=1000)


# %%
# Number of topics
# ----------------
#
# The whole pipeline is cross-validated: topics are fitted to the training
# documents of each split, and ``transform`` computes the proportions of the
# test documents. Proportions are small numbers and need a weaker penalty
# than counts.

cv = StratifiedKFold(3, shuffle=True, random_state=0)


def accuracy(model, X, cv=cv):
    scores = cross_validate(model, X, y, cv=cv)["test_score"]
    return scores.mean(), scores.std()


n_topics = [5, 10, 20, 40, 80]
by_topics = np.array(
    [
        accuracy(make_pipeline(topics(k), classifier(10)), X)
        for k in n_topics
    ]
)
words = accuracy(classifier(1), X)
both = accuracy(
    make_pipeline(make_union("passthrough", topics(20)), classifier(1)), X
)
print(f"words: {words[0]:.3f}; words and 20 topics: {both[0]:.3f}")
print(f"80 topics: {by_topics[-1, 0]:.3f}")

# %%
# Number of labels
# ----------------
#
# Topics need no labels, so they are fitted to all documents. The classifier
# is fitted to few of them. The fit of the topics uses the words of the test
# documents, but not their groups.

n_labels = [32, 64, 128, 256, 512, 1024]
proportions = topics(40).fit(X).doc_topic_
splits = [
    StratifiedShuffleSplit(3, train_size=n, test_size=500, random_state=0)
    for n in n_labels
]
few_topics = np.array(
    [accuracy(classifier(10), proportions, cv) for cv in splits]
)
few_words = np.array([accuracy(classifier(1), X, cv) for cv in splits])

# %%

fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4.2), sharey=True, layout="constrained"
)
blue, orange = "steelblue", "darkorange"


def curve(ax, x, scores, color, label):
    mean, spread = scores.T
    ax.plot(x, mean, "o-", color=color, label=label)
    ax.fill_between(
        x, mean - spread, mean + spread, color=color, alpha=0.2, linewidth=0
    )


curve(left, n_topics, by_topics, blue, "topics")
left.axhline(words[0], color=orange, label="bag of words (2,533 features)")
left.axhspan(
    words[0] - words[1],
    words[0] + words[1],
    color=orange,
    alpha=0.2,
    linewidth=0,
)
left.set(xlabel="number of topics", ylabel="accuracy ± standard deviation")
left.set_title("Three-fold cross-validation, all labels")

curve(right, n_labels, few_topics, blue, "40 topics of all documents")
curve(right, n_labels, few_words, orange, "bag of words")
right.set(xlabel="labelled documents")
right.set_title("Few labels, 3 random splits")

for ax, ticks in ((left, n_topics), (right, n_labels)):
    ax.set_xscale("log", base=2)
    ax.set_xticks(ticks, ticks)
    ax.minorticks_off()
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.yaxis.set_tick_params(labelleft=True)
    ax.grid(axis="y", color="0.92")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower right", frameon=False)
plt.show()

# %%
# Topics are a lossy summary. 80 numbers instead of 2,533 keep much, but not
# all, of the information about the groups. As additional features next to
# the words they hardly help. Topics contain which words occur together in
# all documents; this helps most when few documents have labels.
