"""
Topics across collections
=========================

Many corpora consist of collections, such as years, sources or packages.
:class:`sklda.CompoundLDA` finds topics that all collections share, and a
mixture of topics for each collection with posterior standard deviations. In
this example the collections are first the three packages of the bundled
docstrings, and then their subject groups.
"""

# %%
# Packages
# --------
#
# The mixtures are averages over the sweeps after the burn-in. Intervals
# have two posterior standard deviations in both directions. gamma and eta
# are learnt in the burn-in.

import csv
import gzip
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix

from sklda import CompoundLDA
from sklda.datasets import load_docstrings
from sklda.inspection import (
    TopicEffectsDisplay,
    TopicWordsDisplay,
    describe,
    topic_table,
)

docstrings = load_docstrings()
X, words = docstrings.data, docstrings.feature_names
lda = CompoundLDA(12, max_iter=400, random_state=0)
lda.fit(X, collections=docstrings.collection)
print(
    f"gamma {lda.doc_concentration_:.2f}, eta {lda.topic_word_prior_:.3f}"
)

named = describe(lda, vocabulary=words)
TopicEffectsDisplay.from_groups(named)
plt.show()

# %%
# The four topics whose shares differ most between the packages, with the
# probabilities of their words:

apart = np.argsort(-np.ptp(lda.collection_topic_, axis=0))[:4]
TopicWordsDisplay.from_estimator(named, topics=apart)
plt.show()

# %%
# New documents
# -------------
#
# The package of a document helps to predict its words. A document of
# unknown package has the mixture of the corpus.

with_packages = lda.perplexity(X, collections=docstrings.collection)
without = lda.perplexity(X)
print(
    f"perplexity {with_packages:.1f} with packages, {without:.1f} without"
)

# %%
# Subject groups
# --------------
#
# Now the sixteen subject groups are the collections. Each row of the plot
# is the mixture of one group. Most groups have few topics.

groups = docstrings.target_names[docstrings.target]
lda = CompoundLDA(
    16, topic_word_prior=0.05, max_iter=300, random_state=0
).fit(X, collections=groups)
order = np.argsort(lda.collection_topic_.argmax(axis=1), kind="stable")
table = topic_table(describe(lda, vocabulary=words), n_words=2)
names = [" ".join(top) for top in table["words"]]

fig, ax = plt.subplots(figsize=(9, 6), layout="constrained")
image = ax.imshow(
    lda.collection_topic_[order], cmap="Blues", vmin=0, aspect="auto"
)
ax.set_yticks(range(len(order)), lda.collections_[order])
ax.set_xticks(
    range(16), names, rotation=45, ha="right", rotation_mode="anchor"
)
ax.tick_params(length=0)
fig.colorbar(image, label="topic share", format="{x:.0%}")
plt.show()

# %%
# Other corpora
# -------------
#
# The environment variable ``SKLDA_CORPUS`` can name a folder with the files
# ``corpus.ldac.gz``, ``vocab.txt.gz`` and ``labels.csv.gz``, the last with
# a column ``collection``. The first plot is then also made for this corpus.

folder = os.environ.get("SKLDA_CORPUS")
if folder:
    with gzip.open(Path(folder, "corpus.ldac.gz"), "rt") as file:
        rows = [
            [pair.split(":") for pair in line.split()[1:]] for line in file
        ]
    with gzip.open(Path(folder, "vocab.txt.gz"), "rt") as file:
        words = np.array(file.read().split())
    with gzip.open(Path(folder, "labels.csv.gz"), "rt") as file:
        labels = [row["collection"] for row in csv.DictReader(file)]
    pairs = np.array([pair for row in rows for pair in row], dtype=int)
    X = csr_matrix(
        (pairs[:, 1], pairs[:, 0], np.cumsum([0, *map(len, rows)])),
        shape=(len(rows), len(words)),
    )
    lda = CompoundLDA(
        30, topic_word_prior=0.05, max_iter=300, random_state=0
    ).fit(X, collections=labels)
    TopicEffectsDisplay.from_groups(describe(lda, vocabulary=words))
    plt.show()
