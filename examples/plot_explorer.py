"""
The explorer and tables of one fit
==================================

This example looks at the topics of a fit: as an interactive page, and as
tables.
"""

# %%
# The texts are docstrings of NumPy, SciPy and scikit-learn. The functions
# of this page also take matrices of counts, models of scikit-learn, and
# arrays.

# sphinx_gallery_thumbnail_path = '_static/explorer.png'
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import read_docstrings
from sklda.inspection import (
    TopicExplorer,
    describe,
    token_topics,
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
model = make_pipeline(vectorizer, GibbsLDA(20, random_state=0)).fit(texts)

# %%
# All functions take the description, which has the model and its documents.
# The vectorizer has the words, and the index of the texts their names.

named = describe(model, texts)

# %%
# The page
# --------
#
# ``explorer.to_html("topics.html")`` writes this page to a file. Choose a
# topic on the map or in the list, a word or a document; move the slider to
# change the order of the words; search for a word such as *eigenvalues*.

explorer = TopicExplorer.from_estimator(
    named,
    groups=docstrings["package"],
    title="Topics of docstrings",
)
explorer

# %%
# Words
# -----
#
# By relevance, words that are rare in other topics come first:

topic_table(named, n_words=6, rank_by="relevance")

# %%
# Documents
# ---------
#
# The documents of the largest topic:

largest = topic_table(named)["share"].idxmax()
top_documents(named).loc[largest]

# %%
# Tokens
# ------
#
# For one document, the table has the topic of every token in the last draw,
# and the probability of each topic given the topics of all other tokens:

butter = texts.index.get_loc("scipy.signal.butter")
token_topics(named, document=butter).round(2).iloc[:8, 1:]

# %%
# Similarity
# ----------
#
# The topic with the most similar words. The similarity of two topics is
# one minus the Jensen-Shannon distance of their words.

similar = topic_table(named, columns=["words", "nearest", "similarity"])
similar.sort_values("similarity", ascending=False)[:4].round(2)
