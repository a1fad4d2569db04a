"""
Topics of docstrings over the years
===================================

Which topics became more frequent, and since when? Here the documents are
docstrings of NumPy, SciPy and scikit-learn, and their dates are the years
in which the functions were released. :ref:`topics_over_time` explains the
intervals.
"""

# %%
# All docstrings give the topics. Those that say in which version their
# function was added have a year.

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import read_docstrings
from sklda.inspection import TopicEffectsDisplay, topics_over_time

docstrings = read_docstrings()
vectorizer = CountVectorizer(
    stop_words="english",
    min_df=5,
    max_df=0.2,
    token_pattern=r"(?u)\b[^\W\d_]{3,}\b",
)
lda = GibbsLDA(12, max_iter=300, random_state=0)
model = make_pipeline(vectorizer, lda)
model.fit(docstrings["text"])

dated = docstrings.dropna(subset="year")
print(f"{len(dated)} of {len(docstrings)} docstrings have a year")

# %%
# A plot
# ------
#
# The points are the mean proportions of a topic in the documents of two
# years, with intervals of 95 %. They contain the uncertainty of the
# proportions, and the differences between the documents. Lines below the
# axis are the documents, the longer the more: few documents have wide
# intervals.

TopicEffectsDisplay.from_dates(
    model, dated["text"], dated["year"], period=2, random_state=0
)
plt.show()

# %%
# Documents of one source
# -----------------------
#
# Functions of a module are often added together, and have the same topics.
# So a year is rather a sample of modules than of functions. With modules as
# clusters, most of what looked like a change is within the intervals.

TopicEffectsDisplay.from_dates(
    model,
    dated["text"],
    dated["year"],
    period=2,
    clusters=dated["module"],
    random_state=0,
)
plt.show()

# %%
# The same as a table, for the topic with the largest change:

table = topics_over_time(
    model,
    dated["text"],
    dated["year"],
    period=5,
    clusters=dated["module"],
    random_state=0,
)
changes = table.groupby("topic")["estimate"].agg(
    lambda each: each.max() - each.min()
)
columns = ["name", "start", "documents", "estimate", "low", "high"]
table.loc[table["topic"] == changes.idxmax(), columns].round(3)
