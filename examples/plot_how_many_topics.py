"""
Four scores for the number of topics
====================================

Four scores of the same texts, for 5 to 160 topics: held-out likelihood,
evidence, coherence, and the stability of the topics between chains. The
first two, in :term:`nats <nat>`, rise with the number of topics. Coherence
on new documents and stability fall. :ref:`how_many_topics` says what
follows from this.
"""

# %%
# The topics are fitted to 1,300 docstrings. The other 338 are new
# documents.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklda import GibbsLDA, TopicCountLDA
from sklda.datasets import load_docstrings
from sklda.metrics import topic_coherence

X = load_docstrings().data
order = np.random.default_rng(0).permutation(X.shape[0])
train, test = X[order[:1300]], X[order[1300:]]

# %%
# Two chains show how stable the topics are. The chains end in different
# modes, so a warning is expected.

warnings.simplefilter("ignore", ConvergenceWarning)
counts = [5, 10, 20, 40, 80, 160]
fits = [
    GibbsLDA(K, n_chains=2, max_iter=100, random_state=0).fit(train)
    for K in counts
]
tokens = test.sum(axis=1)
scores = np.array([fit.score_samples(test) for fit in fits])
coherence = {
    "documents of the fit": [topic_coherence(fit, train) for fit in fits],
    "new documents": [topic_coherence(fit, test) for fit in fits],
}
stability = [np.nanmean(fit.topic_stability_) for fit in fits]

# %%
# :class:`sklda.TopicCountLDA` estimates the evidence. This fit has few
# sweeps, to save time: its errors are below 0.01 nats per token.

evidence = TopicCountLDA(5, 160, max_iter=8000, random_state=0).fit(train)
seen = np.isfinite(evidence.log_evidence_)
for T in evidence.topic_counts_[seen]:
    value = evidence.log_evidence_[T - evidence.topic_counts_[0]]
    print(f"{T} topics: {value / train.sum():.3f} nats per token")

# %%
# The error bars of the held-out score are standard errors over documents,
# of the difference from 40 topics.

mean = scores.sum(axis=1) / tokens.sum()
reference = scores - scores[counts.index(40)]
rest = reference - np.outer(reference.sum(axis=1) / tokens.sum(), tokens)
error = np.sqrt((rest**2).sum(axis=1)) / tokens.sum()

fig, axes = plt.subplots(
    2, 2, figsize=(9, 6.4), sharex=True, layout="constrained"
)
axes[0, 0].errorbar(counts, mean, yerr=2 * error, marker="o", capsize=3)
axes[0, 0].set(title="Held-out score", ylabel="nats per token")
axes[0, 1].plot(
    evidence.topic_counts_[seen],
    evidence.log_evidence_[seen] / train.sum(),
    "o-",
)
axes[0, 1].set(title="Log evidence", ylabel="nats per token")
for (name, values), style in zip(
    coherence.items(), ("s--", "o-"), strict=True
):
    axes[1, 0].plot(counts, values, style, label=name)
axes[1, 0].set(title="Coherence (NPMI)", ylabel="mean over topics")
axes[1, 0].legend(frameon=False)
axes[1, 1].plot(counts, stability, "o-")
axes[1, 1].set(
    title="Stability of the topics", ylabel="mean over topics", ylim=(0, 1)
)
for ax in axes.flat:
    ax.set(
        xscale="log",
        xticks=[5, 10, 20, 40, 80, 160],
        xticklabels=["5", "10", "20", "40", "80", "160"],
    )
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
for ax in axes[1]:
    ax.set_xlabel("number of topics")
plt.show()

# %%
# The sizes of the smallest and the largest topic, as a number of documents:
# with 160 topics, some consist of two or three documents.

for fit in (fits[0], fits[-1]):
    n, sizes = fit.n_components, fit.topic_share_ * train.shape[0]
    print(
        f"{n} topics: {sizes.min():.0f} to {sizes.max():.0f} documents each"
    )
