"""
Groups within a topic
=====================

Do all documents use the same words for a topic? This example checks the
topics of docstrings, and shows the words by which the packages NumPy, SciPy
and scikit-learn differ within one topic. :ref:`topic_check` explains the
functions.
"""

# sphinx_gallery_thumbnail_number = 2

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

named = describe(
    lda,
    X,
    feature_names=docstrings.feature_names,
    document_names=docstrings.document_names,
)
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
# One package against the others. The numbers on the right are the ratios of
# the shares, with intervals of 95 %:

TopicContrastDisplay.from_estimator(
    named,
    topic=topic,
    groups=packages,
    group="scipy",
    random_state=0,
)
plt.show()

# %%
# Two topics
# ----------
#
# The same display compares two topics, here the two that have the largest
# shares:

first, second = lda.topic_share_.argsort()[::-1][:2]
TopicContrastDisplay.from_estimator(named, topic=first, other_topic=second)
plt.show()

# %%
# Quality
# -------
#
# The words of a coherent topic occur in the same documents, and those of an
# exclusive one are rare in other topics:

TopicQualityDisplay.from_estimator(named)
plt.show()

# %%
# A passage
# ---------
#
# Words of the vocabulary have the colours of their topics:

names = docstrings.document_names.tolist()
document = names.index("scipy.stats.gaussian_kde")
DocumentTopicsDisplay.from_estimator(
    named,
    document=document,
    text=gaussian_kde.__doc__,
    n_characters=900,
)
plt.show()
