"""
Choosing the number of topics by held-out likelihood
====================================================

A corpus drawn from ten topics, searched for their number with 3, 5 and 10 folds, and one model scored on 10 to 400
documents: held-out perplexity by guided annealing beside scikit-learn's own score.
"""

# %%
# 150 documents of 60 tokens over 300 words, from ten topics. Another 550 come from the same topics, for later.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import GridSearchCV

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.metrics import held_out_log_likelihood, neg_ais_perplexity_scorer

TRUTH = 10
priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
corpus = make_lda_corpus(700, 300, TRUTH, doc_length=60, **priors, random_state=0)
X, others = corpus.data[:150], corpus.data[150:]

# %%
# The number of topics
# --------------------
#
# The same grid and the same folds: :class:`~sklda.GibbsLDA` by ``neg_ais_perplexity_scorer``, and scikit-learn's
# estimator by its own ``score``, which is what a grid search takes when it is told nothing.

gibbs = GibbsLDA(TRUTH, **priors, max_iter=200, random_state=0)
variational = LatentDirichletAllocation(TRUTH, **priors, random_state=0)
grid = {"n_components": [2, 5, 8, 10, 12, 15, 20]}
folds = [3, 5, 10]
searches = {"guided annealing": {}, "scikit-learn": {}}
for cv in folds:
    searches["guided annealing"][cv] = GridSearchCV(gibbs, grid, scoring=neg_ais_perplexity_scorer, cv=cv).fit(X)
    searches["scikit-learn"][cv] = GridSearchCV(variational, grid, cv=cv).fit(X)
    picked = [f"{search[cv].best_params_['n_components']} by {name}" for name, search in searches.items()]
    print(f"{cv:2d} folds: K = {', '.join(picked)}")

# %%
# Chains must have converged: with 60 sweeps instead of 200, fits of ten topics are not yet at their best, more topics
# make up for it, and three folds pick 15.

# %%
# The number of documents
# -----------------------
#
# Two models of ten topics, fitted to the same documents, score groups of 10, 40, 100 and 400 others that they have not
# seen. No document is in two groups. The estimate of a perplexity has two errors: that of annealing, which
# ``held_out_log_likelihood`` returns, and that of having drawn these documents and not others, from how they differ.

gibbs.fit(X)
variational.fit(X)
sizes = [10, 40, 100, 400]
bounds = np.cumsum([0, *sizes])
rows, theirs = [], []
for first, last in pairwise(bounds):
    documents = others[first:last]
    log_likelihood, std = held_out_log_likelihood(documents, gibbs, n_runs=4, return_std=True, random_state=0)
    n_tokens = documents.sum()
    perplexity = np.exp(-log_likelihood.sum() / n_tokens)
    # All documents have the same length, so a mean over documents is a mean over tokens.
    annealing = perplexity * np.sqrt((std**2).sum()) / n_tokens
    drawing = perplexity * log_likelihood.std(ddof=1) * np.sqrt(last - first) / n_tokens
    rows.append([perplexity, annealing, drawing])
    theirs.append(variational.perplexity(documents))
    size = f"{last - first:3d} documents"
    print(f"{size}: {perplexity:.1f} ± {annealing:.2f} ± {drawing:.1f}; scikit-learn {theirs[-1]:,.1f}")
ours, annealing, drawing = np.transpose(rows)
error = np.hypot(annealing, drawing)
apart = (ours - ours[-1])[:-1] / np.hypot(error[:-1], error[-1])
print("from the largest group, in errors:", *apart.round(1))

# %%
# In the left and the middle panel large marks are the picks. In the right panel scikit-learn's value falls as documents
# are added: its bound has a term for the topics themselves, once, and divides it by however many tokens are scored.

colours = dict(zip(folds, ["steelblue", "darkorange", "seagreen"], strict=True))
fig, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, by_folds in zip(axes, searches.values(), strict=False):
    for cv, search in by_folds.items():
        scores = search.cv_results_["mean_test_score"]
        ax.plot(grid["n_components"], scores, "o-", markersize=4, color=colours[cv], label=f"{cv} folds")
        ax.plot(grid["n_components"][search.best_index_], scores.max(), "o", markersize=10, color=colours[cv])
    ax.axvline(TRUTH, color="grey", linestyle=":", zorder=0)
    ax.set(xlabel="topics", xticks=grid["n_components"])
axes[0].set(title="GibbsLDA, guided annealing", ylabel="− perplexity, mean over folds")
axes[1].set(title="scikit-learn's LDA, its score", ylabel="bound (nats), mean over folds")
axes[0].legend(frameon=False, loc="lower right")
axes[2].errorbar(sizes, ours, 2 * error, fmt="o-", capsize=3, color="black", label="guided annealing, ± 2 errors")
axes[2].plot(sizes, theirs, "s-", color="crimson", label="scikit-learn")
axes[2].set(xscale="log", yscale="log", xlabel="documents scored", ylabel="perplexity", title="One model, 10 topics")
axes[2].set_xticks(sizes, sizes)
axes[2].minorticks_off()
axes[2].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
