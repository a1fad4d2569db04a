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
from scipy.stats import gaussian_kde

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import (
    DocumentTopicsDisplay,
    TopicContrastDisplay,
    TopicQualityDisplay,
    describe,
    group_words,
    topic_check,
)

docstrings = load_docstrings()
X, packages = docstrings.data, docstrings.collection
lda = GibbsLDA(12, random_state=0).fit(X)

options = {"feature_names": docstrings.feature_names}
check = topic_check(lda, X, groups=packages, random_state=0, **options)
check.round(2)

# %%
# The words
# ---------
#
# The topic with the largest deviation has other words in each package:

topic = check["topic"].iloc[0]
words = group_words(
    lda, X, packages, topics=[topic], n_words=5, random_state=0, **options
)
words.round(2)

# %%
# One package against the others. The numbers on the right are the ratios of
# the shares, with intervals of 95 %:

TopicContrastDisplay.from_estimator(
    lda,
    X,
    topic=topic,
    groups=packages,
    group="scipy",
    random_state=0,
    **options,
)
plt.show()

# %%
# Two topics
# ----------
#
# The same display compares two topics, here the two that have the largest
# shares:

first, second = lda.topic_share_.argsort()[::-1][:2]
TopicContrastDisplay.from_estimator(
    lda, topic=first, other_topic=second, **options
)
plt.show()

# %%
# Quality
# -------
#
# The words of a coherent topic occur in the same documents, and those of an
# exclusive one are rare in other topics:

TopicQualityDisplay.from_estimator(lda, X, **options)
plt.show()

# %%
# A passage
# ---------
#
# Words of the vocabulary have the colours of their topics:

names = docstrings.document_names
document = names.tolist().index("scipy.stats.gaussian_kde")
DocumentTopicsDisplay.from_estimator(
    describe(lda, X, document_names=names),
    document=document,
    text=gaussian_kde.__doc__,
    n_characters=900,
    **options,
)
plt.show()
