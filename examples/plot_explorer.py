"""
Look at topics
==============

This example looks at the topics of a fit: as tables, as plots, and as an
interactive page.
"""

# %%
# The model is fitted to the docstrings of NumPy, SciPy and scikit-learn.
# The functions of this page also take pipelines, models of scikit-learn,
# and arrays.

import matplotlib.pyplot as plt

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import (
    TopicDocumentsDisplay,
    TopicExplorer,
    TopicHierarchyDisplay,
    TopicSharesDisplay,
    TopicSimilarityDisplay,
    describe,
    token_topics,
    top_words,
)

docstrings = load_docstrings()
X, names = docstrings.data, docstrings.document_names
lda = GibbsLDA(20, random_state=0).fit(X)

# %%
# The matrix of counts has no names of words and documents. All functions
# take the description, which has them, in place of the model.

named = describe(
    lda, X, feature_names=docstrings.feature_names, document_names=names
)

# %%
# The page
# --------
#
# ``explorer.to_html("topics.html")`` writes this page to a file. Choose a
# topic on the map or in the list, a word or a document; move the slider to
# change the order of the words; search for a word such as *eigenvalues*.

explorer = TopicExplorer.from_estimator(
    named,
    groups=docstrings.collection,
    title="Topics of docstrings",
)
explorer

# %%
# Words
# -----
#
# By relevance, words that are rare in other topics come first:

top_words(named, n_words=6, by="relevance")

# %%
# Shares and documents
# --------------------

TopicSharesDisplay.from_estimator(named)
plt.show()

# %%

largest = top_words(named)["share"].idxmax()
TopicDocumentsDisplay.from_estimator(named, topic=largest)
plt.show()

# %%
# Tokens
# ------
#
# For one document, the table has the topic of every token in the last draw,
# and the probability of each topic given the topics of all other tokens:

butter = names.tolist().index("scipy.signal.butter")
token_topics(named, document=butter).round(2).iloc[:8, 1:]

# %%
# Similarity
# ----------
#
# The similarity of two topics is one minus the Jensen-Shannon distance of
# their words. The dendrogram clusters topics by this distance. Silhouette
# widths are small here: the topics of a fit differ, and clusters of them
# are loose.

TopicSimilarityDisplay.from_estimator(named)
plt.show()

# %%

TopicHierarchyDisplay.from_estimator(named)
plt.show()
