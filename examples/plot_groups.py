"""
Groups within a topic
=====================

Do all documents use the same words for a topic? This example checks the
topics of docstrings, and shows the words by which the packages NumPy, SciPy
and scikit-learn differ within one topic. :ref:`topic_check` explains the
functions.
"""

# %%
# The check
# ---------
#
# The words of a topic should not depend on the package. ``z_documents``
# says how far they do, and ``excess`` how much, in bits for each token.

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import read_docstrings
from sklda.inspection import (
    DocumentTopicsDisplay,
    contrast_topics,
    describe,
    group_words,
    topic_check,
    topic_table,
)

docstrings = read_docstrings()
texts, packages = docstrings["text"], docstrings["package"]
vectorizer = CountVectorizer(
    stop_words="english",
    min_df=5,
    max_df=0.2,
    token_pattern=r"(?u)\b[^\W\d_]{3,}\b",
)
lda = GibbsLDA(12, random_state=0)
model = make_pipeline(vectorizer, lda).fit(texts)

named = describe(model, texts)
check = topic_check(named, groups=packages, random_state=0)
check.round(2)

# %%
# The words
# ---------
#
# The topic with the largest deviation has other words in each package:

topic = check["topic"].iloc[0]
words = group_words(
    named, groups=packages, topics=[topic], n_words=5, random_state=0
)
words.round(2)

# %%
# Two topics
# ----------
#
# The words by which two topics differ, here the two that have the largest
# shares:

first, second = lda.topic_share_.argsort()[::-1][:2]
contrast_topics(named, topic=first, other_topic=second, n_words=5).round(3)

# %%
# Quality
# -------
#
# The words of a coherent topic occur in the same documents, and those of an
# exclusive one are rare in other topics:

columns = ["words", "coherence", "exclusivity"]
topic_table(named, columns=columns).round(2)

# %%
# A passage
# ---------
#
# Words of the vocabulary have the colours of their topics:

DocumentTopicsDisplay.from_estimator(
    named,
    document=texts.index.get_loc("scipy.stats.gaussian_kde"),
    n_characters=900,
)
plt.show()
