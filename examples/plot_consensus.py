"""
Topics that several fits have in common
=======================================

Eight fits with different seeds have different topics. The topics that
six of them have, and fits to halves of the documents too, are found
again by other fits.
:ref:`reportable_topics` explains how.
"""

# %%
# Two sets of fits with different seeds, of 20 topics each.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist

from sklda import ConsensusTopics, GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import (
    describe,
    topic_table,
)

docstrings = load_docstrings()
lda = GibbsLDA(20, max_iter=100)
first, second = (
    ConsensusTopics(lda, random_state=seed).fit(docstrings.data)
    for seed in (0, 1)
)
named = describe(
    first,
    docstrings.data,
    vocabulary=docstrings.feature_names,
    document_names=docstrings.document_names,
)
table = topic_table(named, n_words=4)
for part, top in zip(first.topic_prevalence_, table["words"], strict=True):
    print(f"{8 * part:.0f} of 8:", *top)

# %%
# Match of a topic: one less the smallest Jensen-Shannon distance from a
# topic of the other set.


def match(a, b):
    distances = cdist(a, b, "jensenshannon") / np.sqrt(np.log(2))
    return 1 - distances.min(axis=1)


single = [
    match(a.topic_word_, b.topic_word_)
    for a, b in zip(first.estimators_, second.estimators_, strict=True)
]
single = np.concatenate(single)
together = match(first.topic_word_, second.topic_word_)
print(f"topics of one fit: {np.median(single):.2f}")
print(f"consensus topics:  {np.median(together):.2f}")

# %%
# Topics of single fits are seldom found again by another set of fits.
# Consensus topics are:

bins = np.linspace(0, 1, 21)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hist(single, bins, density=True, alpha=0.6, label="topics of one fit")
ax.hist(together, bins, density=True, alpha=0.6, label="consensus topics")
ax.set(xlabel="match in the other set", ylabel="density")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The topics that all fits have, with the posterior standard deviations of
# their shares:

columns = [
    "name",
    "share",
    "share_std",
    "prevalence",
    "coherence",
    "document",
]
report = topic_table(named, columns=columns, n_words=6)
report[report["prevalence"] == 1].round(3)
