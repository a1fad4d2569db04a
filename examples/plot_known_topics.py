"""
Topics of earlier texts, and new ones
=====================================

Which topics of last year are in the texts of this year, how far have they
moved, and what is new? :class:`sklda.GibbsLDA` takes known topics, holds
each of them by a weight that it learns, and finds new topics beside them.
Here "last year" is one half of the bundled docstrings, without those of
signal processing. "This year" is the other half, with them.
"""

# %%
# Last year
# ---------

import matplotlib.pyplot as plt
import numpy as np

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import topic_drift, topic_table

docstrings = load_docstrings()
X, words = docstrings.data, docstrings.feature_names
is_signal = docstrings.target_names[docstrings.target] == "signal"
is_first = np.random.default_rng(0).random(X.shape[0]) < 0.5

before = GibbsLDA(12, vocabulary=words, max_iter=200, random_state=0)
before.fit(X[is_first & ~is_signal])
names = [" ".join(row) for row in topic_table(before, n_words=2)["words"]]
before.set_topic_names(names)
print(*names, sep=", ")

# %%
# This year
# ---------
#
# Two topics more than last year. The known topics keep their names.

lda = GibbsLDA(
    14, known_topics=before, vocabulary=words, max_iter=200, random_state=0
)
lda.fit(X[~is_first | is_signal])
for row in topic_table(lda, n_words=6)[12:].itertuples():
    print(row.name, f"({row.share:.0%}):", *row.words)

# %%
# How far the known topics have moved
# -----------------------------------
#
# A weight is in words: a topic with a weight of 1,000 is held as firmly as
# by 1,000 words of last year. The left panel has the weights, the right one
# the distance of each topic from last year, from 0 to 1, and the words that
# have gained and lost the most. Intervals are those of 95 %.

table = topic_drift(lda, random_state=0).sort_values("weight")[::-1]
y = np.arange(len(table))
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.5), sharey=True, layout="constrained"
)
for axes, name in ((left, "weight"), (right, "moved")):
    errors = [
        table[name] - table[f"{name}_low"],
        table[f"{name}_high"] - table[name],
    ]
    axes.errorbar(table[name], y, xerr=errors, fmt="o", capsize=3)
left.set(xlabel="weight (words)", xlim=(0, None))
left.set_yticks(y, table["name"])
# Distances are at most 1; the words need the rest.
right.set(xlabel="distance from last year", xlim=(0, 1.6))
right.set_xticks(np.arange(0, 1.1, 0.2))
for place, row in zip(y, table.itertuples(), strict=True):
    changes = f"+ {' '.join(row.gained[:2])}   − {' '.join(row.lost[:2])}"
    right.annotate(
        changes,
        (row.moved_high, place),
        (8, -3),
        textcoords="offset points",
        size=8,
    )
figure.suptitle("Known topics, the most drifted first")
plt.show()
