"""
Words and documents of topics
=============================

This example shows the topics of the docstrings of NumPy, SciPy and
scikit-learn: their words, their shares of the corpus, and their shares in
the modules of the packages.
"""

# %%
# Each public function or class is a document. The fit uses only word
# counts, and not the module of a function.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import read_docstrings
from sklda.inspection import (
    TopicWordsDisplay,
    describe,
    document_table,
    top_documents,
    topic_table,
)

docstrings = read_docstrings()
texts = docstrings["text"]
vectorizer = CountVectorizer(
    stop_words="english",
    min_df=5,
    max_df=0.2,
    token_pattern=r"(?u)\b[^\W\d_]{3,}\b",
)
model = make_pipeline(vectorizer, GibbsLDA(12, random_state=0)).fit(texts)

# %%
# Words
# -----
#
# A row of ``topic_word_`` is a distribution over the vocabulary. The bars
# are the probabilities of its eight likeliest words. With the documents,
# the plot also marks the share of each word in the corpus. The order of
# topics in a fit has no meaning, so they are ordered here by their share of
# the tokens.

named = describe(model, texts)
TopicWordsDisplay.from_estimator(named, n_words=8)
plt.show()

# %%
# The same words as a table:

words = topic_table(named, n_words=8)
words

# %%
# Documents
# ---------
#
# The plot has the mean topic proportions of each module of 30 documents or
# more. Some topics belong to one module; others, such as the topic of
# algorithms, occur in many.

proportions = document_table(named).set_index("document")
columns = [f"topic_{k}" for k in range(12)]
modules = docstrings["module"]
sizes = modules.value_counts()
large = modules[modules.map(sizes) >= 30]
order = sorted(range(12), key=lambda k: -words["share"][k])
groups = proportions.loc[large.index, columns].groupby(large).mean()
groups = groups.iloc[:, order]
rows = np.argsort(groups.to_numpy().argmax(axis=1), kind="stable")

fig, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
image = ax.imshow(groups.iloc[rows], cmap="Blues", vmin=0, aspect="auto")
ax.set_yticks(range(len(rows)), groups.index[rows])
ax.set_xticks(range(len(order)), order)
ax.set_xlabel("topic")
ax.tick_params(length=0)
fig.colorbar(image, label="mean topic proportion", format="{x:.0%}")
plt.show()

# %%
# The documents with the largest proportions of each topic:

top_documents(named)
