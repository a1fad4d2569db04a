"""
Words and documents of topics
=============================

This example shows the topics of the docstrings of NumPy, SciPy and
scikit-learn: their words, their shares of the corpus, and their shares in
the subject groups of the documents.
"""

# %%
# The corpus that comes with the package has one document for each of 1,638
# public functions and classes. The fit uses only word counts, and not the
# module of a function.

import matplotlib.pyplot as plt
import numpy as np

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import (
    TopicWordsDisplay,
    describe,
    top_documents,
    top_words,
)

docstrings = load_docstrings()
lda = GibbsLDA(12, random_state=0).fit(docstrings.data)

# %%
# Words
# -----
#
# A row of ``topic_word_`` is a distribution over the vocabulary. The bars
# are the probabilities of its eight likeliest words. With the documents,
# the plot also marks the share of each word in the corpus. The order of
# topics in a fit has no meaning, so they are ordered here by their share of
# the tokens.

named = describe(
    lda,
    docstrings.data,
    feature_names=docstrings.feature_names,
    document_names=docstrings.document_names,
)
TopicWordsDisplay.from_estimator(named, n_words=8)
plt.show()

# %%
# The same words as a table:

words = top_words(named, n_words=8)
words

# %%
# Documents
# ---------
#
# The plot has the mean topic proportions of each subject group. Some topics
# belong to one group; others, such as the topic of algorithms, occur in
# many. Groups come from the modules of the packages, which the fit does not
# use.

groups = np.array(
    [
        lda.doc_topic_[docstrings.target == g].mean(axis=0)
        for g in range(len(docstrings.target_names))
    ]
)
order = sorted(range(12), key=lambda k: -words["share"][k])
groups = groups[:, order]
rows = np.argsort(groups.argmax(axis=1), kind="stable")

fig, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
image = ax.imshow(groups[rows], cmap="Blues", vmin=0, aspect="auto")
ax.set_yticks(range(len(rows)), docstrings.target_names[rows])
ax.set_xticks(range(len(order)), order)
ax.set_xlabel("topic")
ax.tick_params(length=0)
fig.colorbar(image, label="mean topic proportion", format="{x:.0%}")
plt.show()

# %%
# The documents with the largest proportions of each topic:

top_documents(named)
