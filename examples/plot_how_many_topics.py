"""
How many topics: what splits, and what stays
============================================

Fits with 5 to 40 topics to the same texts. Which topics stay, and which are
divided? What do new documents gain by more topics? Do other fits find them
again? :ref:`how_many_topics` says what follows from this.
"""

# %%
# Each number has a fit to all docstrings, and four fits to three quarters
# of them.

import matplotlib.pyplot as plt

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import compare_topic_counts, describe

docstrings = load_docstrings()
lda = describe(
    GibbsLDA(max_iter=100),
    docstrings.data,
    vocabulary=docstrings.feature_names,
)
found = compare_topic_counts(
    lda, n_components=[5, 10, 20, 40], random_state=0
)

# %%
# The picture
# -----------
#
# Each number of topics is a column, and the heights of its bars are the
# shares of the topics. A band has the tokens that two topics share. So a
# topic that splits has several bands, and a topic that stays has one.

found.plot()
plt.show()

# %%
# The numbers
# -----------
#
# The gain is that of the held-out score, in nats per token, over the row
# before. It has a smaller error than the score.

columns = ["n_components", "score", "gain", "gain_std", "found_share"]
found.counts[columns].round(3)

# %%
# How many topics stay, are a part of one, or are new:

found.counts[["n_components", "stays", "part", "joined", "new"]]

# %%
# The topics
# ----------
#
# One topic of ten, and the topics of twenty that have their tokens from it.
# ``of_parent`` is the part of its tokens that each of them has.

topics = found.topics.set_index(["n_components", "topic"])
largest = topics.loc[10]["share"].idxmax()
print(*topics.loc[(10, largest), "words"])
columns = ["words", "share", "change", "of_parent", "found_in"]
topics.loc[20][topics.loc[20]["parent"] == largest][columns].round(2)
