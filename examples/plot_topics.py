"""
The topics of a corpus
======================

This example shows the topics of the docstrings of NumPy, SciPy and scikit-learn: their words, their shares of the
corpus, and their shares in the subject groups of the documents.
"""

# %% The corpus that comes with the package has one document for each of 1,638 public functions and classes. The fit
# uses only word counts, and not the module of a function.

import matplotlib.pyplot as plt
import numpy as np

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

docstrings = load_docstrings()
lda = GibbsLDA(12, random_state=0).fit(docstrings.data)

# %%
# Words
# -----
#
# A row of ``topic_word_`` is a distribution over the vocabulary. The bars are the probabilities of its eight likeliest
# words. The share of a topic is its part of all tokens. The order of topics in a fit has no meaning, so they are
# ordered here by their share.

share = lda.topic_share_
order = np.argsort(-share)

fig, axes = plt.subplots(3, 4, figsize=(11, 7), sharex=True, layout="constrained")
for number, (ax, k) in enumerate(zip(axes.flat, order, strict=True), start=1):
    top = np.argsort(-lda.topic_word_[k])[:8]
    ax.barh(docstrings.feature_names[top], lda.topic_word_[k, top], color="steelblue")
    ax.invert_yaxis()
    ax.set_title(f"topic {number}: {share[k]:.0%} of tokens", fontsize=10, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_formatter("{x:.0%}")
fig.supxlabel("probability of the word in the topic", fontsize=10)
plt.show()

# %%
# Documents
# ---------
#
# The plot has the mean topic proportions of each subject group. Some topics belong to one group; others, such as the
# topic of algorithms, occur in many. Groups come from the modules of the packages, which the fit does not use.

groups = np.array([lda.doc_topic_[docstrings.target == g].mean(axis=0) for g in range(len(docstrings.target_names))])
groups = groups[:, order]
rows = np.argsort(groups.argmax(axis=1), kind="stable")

fig, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
image = ax.imshow(groups[rows], cmap="Blues", vmin=0, aspect="auto")
ax.set_yticks(range(len(rows)), docstrings.target_names[rows])
ax.set_xticks(range(len(order)), range(1, len(order) + 1))
ax.set_xlabel("topic")
ax.tick_params(length=0)
fig.colorbar(image, label="mean topic proportion", format="{x:.0%}")
plt.show()

# %%
# The documents with the largest proportions of the first four topics:

for number, k in enumerate(order[:4], start=1):
    closest = docstrings.document_names[np.argsort(-lda.doc_topic_[:, k])[:4]]
    print(f"topic {number}: {', '.join(closest)}")
