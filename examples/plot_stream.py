"""
Topics of a stream of documents
===============================

:class:`sklda.CollapsedVariationalLDA` takes documents in chunks, so a
corpus need not fit in memory. Here texts are read from a file, with a fixed
vocabulary and with hashed words. Then the stream changes, and the topics
follow it. In the middle the model is pickled, and the copy continues.
"""

# %%
# A file with one document a line
# -------------------------------
#
# The documents are docstrings: first those of NumPy, eight times, then
# those of scikit-learn, eight times. Each time they are in a new random
# order.

import pickle
import tempfile
from itertools import islice
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
)

from sklda import CollapsedVariationalLDA, GibbsLDA
from sklda.datasets import load_docstrings

docstrings = load_docstrings()
X, words = docstrings.data, docstrings.feature_names
rng = np.random.default_rng(0)
parts = [
    rng.permutation(np.flatnonzero(docstrings.collection == name))
    for name in ("numpy", "sklearn")
]
held_out = [X[part[:60]] for part in parts]

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "documents.txt"
with path.open("w") as file:
    for part in parts:
        for row in np.concatenate(
            [rng.permutation(part[60:]) for _ in range(8)]
        ):
            print(
                *np.repeat(words[X[[row]].indices], X[[row]].data),
                file=file,
            )


def chunks(size=200):
    """The lines of the file, in lists of `size`."""
    with path.open() as file:
        while chunk := list(islice(file, size)):
            yield chunk


# %%
# A fixed vocabulary
# ------------------
#
# The vectorizer needs no fit, because the vocabulary is given. The first
# call of ``partial_fit`` fixes the number of words. A small
# ``learning_decay`` lets the topics follow the stream.

vectorizer = CountVectorizer(vocabulary=words, token_pattern=r"\S+")
lda = CollapsedVariationalLDA(
    15, learning_decay=0.4, total_samples=2000, random_state=0
)
scores = []
for number, texts in enumerate(chunks()):
    lda.partial_fit(vectorizer.transform(texts))
    scores.append([lda.score(documents) for documents in held_out])
    if number == 5:
        # As if the program ended here and another one continued.
        lda = pickle.loads(pickle.dumps(lda))

fig, ax = plt.subplots(layout="constrained")
ax.plot(
    np.arange(1, len(scores) + 1), scores, label=["NumPy", "scikit-learn"]
)
ax.set(
    xlabel="chunk",
    ylabel="held-out log-likelihood per token, nats",
    title="The stream changes from NumPy to scikit-learn",
)
ax.legend()

# %%
# The likelihood of held-out documents of NumPy rises first. When the
# documents of scikit-learn come, their likelihood rises and that of NumPy
# falls.
#
# Hashed words
# ------------
#
# If the words are not known in advance, they can be hashed. Columns then
# have no names, and words can share a column.

hashed = HashingVectorizer(
    n_features=2**14, alternate_sign=False, norm=None, token_pattern=r"\S+"
)
stream = CollapsedVariationalLDA(15, total_samples=2000, random_state=0)
for texts in chunks():
    stream.partial_fit(hashed.transform(texts))
theta = stream.transform(
    hashed.transform(
        ["array shape dtype ndarray", "estimator fit classifier samples"]
    )
)
print(theta.argmax(axis=1), theta.max(axis=1).round(2))

# %%
# A start for Gibbs sampling
# --------------------------
#
# The topics of a stream can be the start of exact sampling on documents
# that fit in memory.

gibbs = GibbsLDA(15, init=lda, max_iter=100, random_state=0).fit(
    X[parts[1]]
)
for topic in gibbs.topic_share_.argsort()[::-1][:5]:
    print(
        f"{gibbs.topic_share_[topic]:.2f}",
        *words[gibbs.components_[topic].argsort()[::-1][:8]],
    )
folder.cleanup()
