"""
How many topics: a posterior, with its error
============================================

A corpus drawn from six topics. :class:`sklda.TopicCountLDA` estimates the evidence p(w | T) for every number of topics
T and gives the posterior p(T | w). Held-out perplexity and coherence of the same corpus, for comparison, are curves to
be read by eye.
"""

# %%
# 150 documents of about 80 tokens over 60 words.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import poisson
from sklearn.exceptions import ConvergenceWarning

from sklda import GibbsLDA, TopicCountLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import TopicCountDisplay
from sklda.metrics import topic_coherence

TRUTH = 6
priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.3}
corpus = make_lda_corpus(200, 60, TRUTH, doc_length=80, **priors, random_state=0)
X, others = corpus.data[:150], corpus.data[150:]

# %%
# The posterior
# -------------
#
# Bars are probabilities, the marks on them two Monte Carlo standard errors. The right panel is the log evidence behind
# them, in nats below the best: on a linear scale for the last ten, on a logarithmic one farther down.

lda = TopicCountLDA(2, 12, **priors, random_state=0).fit(X)
low, high = lda.topic_count_interval_
print(f"{lda.n_components_} topics at the mode; from {low} to {high} with probability 0.95")
for T, p, std in zip(lda.topic_counts_, lda.topic_count_posterior_, lda.topic_count_posterior_std_, strict=True):
    if p > 1e-3:
        print(f"p({T:2d} | w) = {p:.3f} ± {std:.3f}")

TopicCountDisplay.from_estimator(lda)
plt.show()

# %%
# Another opinion beforehand
# --------------------------
#
# The log of a prior over T is added to the log evidence, so another prior needs no new fit: here a Poisson distribution
# with mean 3. In a fit it is ``topic_count_prior=poisson(3)``.

log_evidence = lda.log_evidence_ + lda.log_evidence_downward_bias_
log_posterior = log_evidence + poisson(3).logpmf(lda.topic_counts_)
print("with a Poisson prior of mean 3:", lda.topic_counts_[log_posterior.argmax()], "topics")

# %%
# Few documents
# -------------
#
# Fifteen documents do not tell five topics from seven. The Monte Carlo error is large as well: the marks on the bars
# are long, and a warning advises to report the interval.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", ConvergenceWarning)
    few = TopicCountLDA(2, 12, **priors, n_temperatures=200, max_iter=10000, random_state=0).fit(X[:15])
for each in caught:
    print(each.message)

TopicCountDisplay.from_estimator(few)
plt.show()

# %%
# Perplexity and coherence
# ------------------------
#
# Fits with 3 to 12 topics, scored on 50 documents that they have not seen and by the coherence of their topics. Here
# perplexity has its minimum at the truth, but hardly rises after it, and no scale tells how much is enough; coherence
# has its maximum elsewhere.

counts = [3, 4, 5, 6, 7, 8, 10, 12]
fits = [GibbsLDA(T, **priors, init="prune", max_iter=60, random_state=0).fit(X) for T in counts]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].plot(counts, [fit.perplexity(others) for fit in fits], "o-")
axes[1].plot(counts, [np.mean(topic_coherence(X, fit)) for fit in fits], "o-")
for ax, name in zip(axes, ["held-out perplexity", "coherence"], strict=True):
    ax.axvline(TRUTH, color="grey", linestyle=":", zorder=0)
    ax.set(xlabel="number of topics T", ylabel=name)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
