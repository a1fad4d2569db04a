"""
Labels and their words
======================

:class:`sklda.LabeledLDA` finds the words of labels, also if documents have
several of them, and predicts the labels of new documents. Here the
documents are the bundled docstrings. Each has two labels: its subject group
and its library.
"""

# %%
# The labels
# ----------
#
# Labels are an indicator matrix with a column for each label. The column
# names become the names of labels. A part of the documents is held out.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MultiLabelBinarizer

from sklda import LabeledLDA
from sklda.datasets import load_docstrings
from sklda.inspection import DocumentTopicsDisplay, describe, topic_table

docstrings = load_docstrings()
X, words = docstrings.data, docstrings.feature_names
pairs = list(
    zip(
        docstrings.target_names[docstrings.target],
        docstrings.collection,
        strict=True,
    )
)
binarizer = MultiLabelBinarizer()
Y = pd.DataFrame(binarizer.fit_transform(pairs), columns=binarizer.classes_)
train, test = train_test_split(
    np.arange(len(Y)), test_size=0.3, random_state=0
)
print(f"{Y.shape[1]} labels: {', '.join(Y.columns)}")

# %%
# The words of labels
# -------------------
#
# A word of a document has one of the labels of the document as its topic.
# So words that all groups of a library have in common get the label of the
# library. ``n_shared=1`` adds a topic that is open to all documents, for
# words that belong to no label. A warning names groups whose words are in
# many documents of other groups, such as random numbers.

lda = LabeledLDA(
    n_shared=1,
    doc_topic_prior=0.5,
    topic_word_prior=0.05,
    label_count=2,
    random_state=0,
)
lda.fit(X[train], Y.iloc[train])
named = describe(lda, vocabulary=words)
for row in topic_table(named, rank_by="relevance", n_words=6).itertuples():
    print(f"{row.name:26}", ", ".join(row.words))

# %%
# Labels of new documents
# -----------------------
#
# Prior-LDA uses the frequencies of labels, Dependency-LDA also which labels
# occur together: here, which library has which groups. Both predict two
# labels for each document.

for label_prior in ("uniform", "frequency", "dependency"):
    lda.set_params(
        label_prior=label_prior, label_weight=20, even_weight=1
    ).fit(X[train], Y.iloc[train])
    for score in ("proportions", "shares"):
        predicted = lda.set_params(ranking_score=score).predict(X[test])
        f1 = f1_score(Y.iloc[test], predicted, average="micro")
        print(f"{label_prior:12}{score:14}micro-F1 {f1:.3f}")

# %%
# Which label a word points to
# ----------------------------
#
# The words of one held-out document have the colours of their labels: for
# each word, the one with the largest product of theta and phi.

document = int(np.argmax(X[test].sum(axis=1)))
names = docstrings.document_names[test]
named = describe(lda, X[test], vocabulary=words, document_names=names)
DocumentTopicsDisplay.from_estimator(named, document=document)
plt.show()
print(
    names[document],
    "has the labels",
    ", ".join(Y.columns[Y.iloc[test[document]] == 1]),
)
