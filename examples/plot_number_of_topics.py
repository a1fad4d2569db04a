"""
A posterior over the number of topics
=====================================

:class:`sklda.TopicCountLDA` computes the posterior p(T | w) of the number
of topics T. This example applies it to a corpus with six topics, and
compares it with held-out perplexity and coherence.
"""

# %%
# The corpus has 150 documents of 80 tokens and 60 words. Another 50
# documents are for the perplexity.

import matplotlib.pyplot as plt
import numpy as np

from sklda import GibbsLDA, TopicCountLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import TopicCountDisplay
from sklda.metrics import topic_coherence

TRUTH = 6
truth = {"doc_topic_prior": 0.1, "topic_word_prior": 0.3}
corpus = make_lda_corpus(
    200, 60, TRUTH, doc_length=80, **truth, random_state=0
)
X, others = corpus.data[:150], corpus.data[150:]

# %%
# The posterior
# -------------
#
# The bars are probabilities, and the shaded area is the interval of 95 %.

lda = TopicCountLDA(max_components=30, random_state=0).fit(X)
print(lda.summary())

TopicCountDisplay.from_estimator(lda)
plt.show()

# %%
# Few documents
# -------------
#
# Fifteen documents are not enough to distinguish five topics from seven.

few = TopicCountLDA(max_components=30, random_state=0).fit(X[:15])
print(few.summary())

TopicCountDisplay.from_estimator(few)
plt.show()

# %%
# Perplexity and coherence
# ------------------------
#
# Fits with 3 to 12 topics are scored on 50 new documents, and by the
# coherence of their topics. Perplexity has its minimum at the true number,
# but hardly rises after it, and it has no scale that shows which
# differences are large. Coherence has its maximum at another number.
# The curves of real texts are different, see
# :ref:`sphx_glr_auto_examples_plot_how_many_topics.py`.

counts = [3, 4, 5, 6, 7, 8, 10, 12]
fits = [
    GibbsLDA(T, **truth, init="prune", max_iter=60, random_state=0).fit(X)
    for T in counts
]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].plot(counts, [fit.perplexity(others) for fit in fits], "o-")
axes[1].plot(
    counts, [np.mean(topic_coherence(fit, X)) for fit in fits], "o-"
)
for ax, name in zip(
    axes, ["held-out perplexity", "coherence"], strict=True
):
    ax.axvline(TRUTH, color="grey", linestyle=":", zorder=0)
    ax.set(xlabel="number of topics T", ylabel=name)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
