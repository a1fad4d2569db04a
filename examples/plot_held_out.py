"""
Held-out likelihood of new documents
====================================

The log-likelihood of documents that the model has not seen measures how
well the model predicts words. This example scores a model of real documents
by guided annealing, with errors, and compares it with scikit-learn's bound.
Then it chooses the number of topics of a simulated corpus by grid searches.
"""

# %%
# The score and the number of documents
# -------------------------------------
#
# Two models of 20 topics are fitted to the same docstrings. They score
# groups of 30, 100 and 300 other docstrings. No document is in two groups.
# An estimated perplexity has two errors: the error of annealing, which
# ``held_out_log_likelihood`` returns, and the error from a finite set of
# documents, which follows from their differences.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import GridSearchCV

from sklda import GibbsLDA
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.metrics import (
    held_out_log_likelihood,
    neg_ais_perplexity_scorer,
)

X = load_docstrings().data
X = X[np.random.default_rng(0).permutation(X.shape[0])]
train, others = X[:-430], X[-430:]
gibbs = GibbsLDA(20, max_iter=300, random_state=0).fit(train)
variational = LatentDirichletAllocation(20, random_state=0).fit(train)


def perplexity_with_errors(documents):
    log_likelihood, std = held_out_log_likelihood(
        gibbs, documents, n_runs=2, return_std=True, random_state=0
    )
    lengths = np.asarray(documents.sum(axis=1)).ravel()
    mean = log_likelihood.sum() / lengths.sum()
    # The standard error of a ratio of two means over documents.
    residuals = log_likelihood - mean * lengths
    errors = np.linalg.norm([std, residuals], axis=1) / lengths.sum()
    return np.exp(-mean) * np.array([1, *errors])


sizes = [30, 100, 300]
rows, bounds = [], []
for first, last in pairwise(np.cumsum([0, *sizes])):
    documents = others[first:last]
    rows.append(perplexity_with_errors(documents))
    bounds.append(variational.perplexity(documents))
    value, annealing, drawing = rows[-1]
    print(
        f"{last - first:3d} documents: {value:5.1f}",
        f"± {annealing:.1f} (annealing) ± {drawing:4.1f} (documents);",
        f"scikit-learn {bounds[-1]:7,.1f}",
    )

# %%
# scikit-learn's value falls with the number of documents, because its bound
# contains one term for the topics, which is divided by the number of
# tokens. So its scores of sets of different sizes cannot be compared.

values, *errors = np.transpose(rows)
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ours = {"color": "steelblue", "label": "guided annealing, ± 2 errors"}
ax.errorbar(
    sizes, values, 2 * np.hypot(*errors), fmt="o-", capsize=3, **ours
)
ax.plot(sizes, bounds, "s--", color="darkorange", label="scikit-learn")
ax.set(xlabel="documents scored", ylabel="perplexity")
ax.set(xscale="log", yscale="log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# The number of topics
# --------------------
#
# A simulated corpus has a known number of topics, here ten. Both searches
# have the same grid and the same folds. :class:`~sklda.GibbsLDA` is scored
# by ``neg_ais_perplexity_scorer``, and scikit-learn's estimator by its
# ``score``, the default of a grid search.

TRUTH = 10
priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
corpus = make_lda_corpus(
    150, 300, TRUTH, doc_length=60, **priors, random_state=0
)
gibbs = GibbsLDA(**priors, max_iter=200, random_state=0)
variational = LatentDirichletAllocation(**priors, random_state=0)
grid = {"n_components": [2, 5, 8, 10, 12, 15]}
options = {
    "GibbsLDA, guided annealing": (gibbs, neg_ais_perplexity_scorer),
    "scikit-learn's LDA, its score": (variational, None),
}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
for ax, (name, (model, scorer)) in zip(axes, options.items(), strict=True):
    for folds, color in ((3, "steelblue"), (5, "darkorange")):
        search = GridSearchCV(model, grid, scoring=scorer, cv=folds)
        search.fit(corpus.data)
        best = search.best_params_["n_components"]
        print(f"{name}, {folds} folds: {best} topics")
        scores = search.cv_results_["mean_test_score"]
        label = f"{folds} folds"
        ax.plot(
            grid["n_components"], scores, "o-", color=color, label=label
        )
        ax.plot(best, scores.max(), "o", markersize=12, color=color)
    ax.axvline(TRUTH, color="grey", linestyle=":", zorder=0)
    ax.set(title=name, xlabel="topics", xticks=grid["n_components"])
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("− perplexity, mean over folds")
axes[1].set_ylabel("bound (nats), mean over folds")
axes[0].legend(frameon=False, loc="lower right")
plt.show()

# %%
# Large marks show the chosen numbers of topics. Real text has no true
# number of topics. See :ref:`how_many_topics`.
