"""
Chains and their convergence
============================

A fit is a random walk through the assignments of topics to tokens. Traces of the log joint of several chains show how
long the way up takes, and that chains end on different levels.
"""

# %%
# Six chains run from random starts, each with a stream of its own. ``log_joint_trace_`` has log p(w, z) after every
# sweep, in nats, one row for each chain.

import matplotlib.pyplot as plt
import numpy as np

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

X = load_docstrings().data
lda = GibbsLDA(16, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=400, n_chains=6, n_jobs=2, random_state=0)
lda.fit(X)
trace = lda.log_joint_trace_
print(f"{trace.shape[0]} chains, {trace.shape[1]} sweeps; kept: chain {lda.best_chain_}")

# %%
# The topics are those of the chain with the highest mean over the last half of its sweeps: the orange one. Diamonds
# mark these means.

sweeps = np.arange(1, lda.n_iter_ + 1)
half = lda.n_iter_ // 2
level = trace[:, half:].mean(axis=1)

fig, (whole, late) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for chain, row in enumerate(trace):
    kept = chain == lda.best_chain_
    style = {"color": "darkorange" if kept else "slategrey", "linewidth": 1.6 if kept else 0.8, "zorder": 2 + kept}
    whole.plot(sweeps, row / 1000, label="the chain kept" if kept else "another chain", **style)
    late.plot(sweeps[half:], row[half:] / 1000, **style)
    late.plot(1.02 * sweeps[-1], level[chain] / 1000, "D", color=style["color"])
whole.set(xscale="log", xlabel="sweep (log scale)", ylabel="log joint (thousand nats)", title="The way up")
handles, labels = whole.get_legend_handles_labels()
unique = dict(zip(labels, handles, strict=True))
whole.legend(unique.values(), unique.keys(), loc="lower right", frameon=False)
late.set(xlabel="sweep", title="The last half")
for ax in (whole, late):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# How to read it
# --------------
#
# - Most of the way is made in the first fifty sweeps. The rest takes hundreds, sometimes in a step, as of the lowest
#   chain here.
# - Once up, each chain moves on a level of its own: the posterior of the assignments has many modes, and sweeps that
#   change one token at a time seldom cross from one to another. One flat trace is therefore no proof of convergence;
#   several chains that agree would be better evidence, and here they do not agree.
# - Chains are not averaged: their topics come in different orders and are not quite the same topics.

within = trace[:, half:].std(axis=1).mean()
print(f"spread within a chain: {within:.0f} nats; between the chains' levels: {level.std(ddof=1):.0f} nats")
