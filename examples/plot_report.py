"""
A report of all topics
======================

Which topics does a model have, how sure are they, and which belong
together? This example makes the report of a fit, gives names to topics,
merges two, and plots the results. :ref:`inspection` explains the functions.
"""

# %%
# The coherence in the report is more honest with documents that were not
# in the fit. So a quarter of the documents is left out. With four chains
# the report says how many of them have each topic.

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda import GibbsLDA, merge_topics
from sklda.datasets import load_docstrings
from sklda.inspection import (
    describe,
    topic_correlation,
    topic_table,
)

# Chains always end in different modes here.
warnings.simplefilter("ignore", ConvergenceWarning)
docstrings = load_docstrings()
order = np.random.default_rng(0).permutation(docstrings.data.shape[0])
train, test = order[:1200], order[1200:]
X, words = docstrings.data, docstrings.feature_names
lda = GibbsLDA(12, n_chains=4, max_iter=200, random_state=0).fit(X[train])

# %%
# Names
# -----
#
# The suggested names are the words that distinguish a topic most. They
# become names of the estimator, and all tables and plots show them.

names = docstrings.document_names[test]
named = describe(lda, X[test], vocabulary=words, document_names=names)
suggested = topic_table(describe(lda, vocabulary=words), columns="name")
lda.set_topic_names(suggested["name"])
lda.topic_names_

# %%
# The report
# ----------

report = topic_table(named, columns="all", n_words=8)
report.round(3)

# %%
# It is a data frame. Here are the topics that most chains have and whose
# words occur together in new documents.

columns = ["name", "share", "stability", "found_in", "coherence"]
good = report[(report["prevalence"] >= 0.75) & (report["coherence"] > 0.1)]
good[columns].sort_values("share", ascending=False).round(3)

# %%
# Topics that occur together
# --------------------------
#
# Most correlations are negative, because proportions sum to one. So they
# are compared with those of topics that do not depend on each other. These
# are the two topics whose correlation is farthest above that, in standard
# errors:

found = topic_correlation(lda, random_state=0)
rows, columns = np.triu_indices(12, 1)
gap = (found.correlation - found.neutral)[rows, columns]
best = (gap / found.std[rows, columns]).argmax()
pair = [int(rows[best]), int(columns[best])]
print([str(lda.topic_names_[k]) for k in pair])

# %%
# Merge topics
# ------------
#
# In the merged model, the proportion of the new topic is the sum of the
# two. The score falls a little: one topic describes the words less well
# than two.

merged = merge_topics(lda, [pair])
print(merged.topic_names_[pair[0]])
for model in (lda, merged):
    print(f"{len(model.topic_names_)} topics: {model.score(X[test]):.3f}")
