"""
A posterior over the number of topics
=====================================

:class:`sklda.TopicCountLDA` estimates the evidence p(w | T) for numbers of
topics T and computes the posterior p(T | w), with errors. This example
applies it to a corpus with six topics, and compares it with held-out
perplexity and coherence.
"""

# %%
# The corpus has 150 documents of 80 tokens and 60 words. Another 50
# documents are for the perplexity.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import poisson

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
# The bars are probabilities with two Monte Carlo standard errors. The
# right panel has the log evidence, in :term:`nats <nat>` below the best.
# Its scale is linear for the upper ten nats and logarithmic below.

lda = TopicCountLDA(random_state=0).fit(X)
low, high = lda.topic_count_interval_
print(f"{lda.n_components_} topics at the mode")
print(f"{low} to {high} topics with probability 0.95")
for T, p, std in zip(
    lda.topic_counts_,
    lda.topic_count_posterior_,
    lda.topic_count_posterior_std_,
    strict=True,
):
    if p > 1e-3:
        print(f"p({T:2d} | w) = {p:.3f} ± {std:.3f}")

TopicCountDisplay.from_estimator(lda)
plt.show()

# %%
# Another prior over T
# --------------------
#
# The log posterior is the log prior plus the log evidence, up to a
# constant. So another prior needs no new fit. Here it is a Poisson
# distribution with mean 3; in a fit this is
# ``topic_count_prior=poisson(3)``. Numbers without runs have no evidence
# (NaN): they are unlikely.

log_evidence = lda.log_evidence_
log_posterior = log_evidence + poisson(3).logpmf(lda.topic_counts_)
most_likely = lda.topic_counts_[np.nanargmax(log_posterior)]
print("with a Poisson prior of mean 3:", most_likely, "topics")

# %%
# Few documents
# -------------
#
# Fifteen documents are not enough to distinguish five topics from seven.
# The Monte Carlo errors are also large, and a warning advises to report the
# interval.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    few = TopicCountLDA(max_iter=20_000, random_state=0).fit(X[:15])
for each in caught:
    print(each.message)

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
