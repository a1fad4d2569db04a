"""
Choosing the number of topics by held-out likelihood
====================================================

This example chooses the number of topics of a corpus with ten topics by grid searches with 3, 5 and 10 folds. Then it
scores one model on 10 to 400 documents. It compares held-out perplexity by guided annealing with scikit-learn's score.
"""

# %%
# The corpus has 150 documents of 60 tokens, 300 words and ten topics. Another 550 documents come from the same topics.

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
# Both searches have the same grid and the same folds. :class:`~sklda.GibbsLDA` is scored by
# ``neg_ais_perplexity_scorer``, and scikit-learn's estimator by its ``score``, the default of a grid search.

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
# Chains must have converged. With 60 sweeps instead of 200, fits of ten topics have not converged, and the search with
# three folds chooses 15 topics.

# %%
# The number of documents
# -----------------------
#
# Two models of ten topics are fitted to the same documents. They score groups of 10, 40, 100 and 400 new documents. No
# document is in two groups. An estimated perplexity has two errors: the error of annealing, which
# ``held_out_log_likelihood`` returns, and the error from a finite set of documents, which follows from their
# differences.

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
# In the left and the middle panel, large marks show the chosen numbers of topics. In the right panel, scikit-learn's
# value falls with the number of documents: its bound contains one term for the topics, divided by the number of tokens.

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
