"""
Chains and their convergence
============================

Traces of the log joint show how many sweeps a chain needs until its level is constant. Traces of several chains show
that chains end at different levels.
"""

# %%
# Six independent chains begin at random states. ``log_joint_trace_`` has log p(w, z) after every sweep, in nats,
# with one row for each chain.

import matplotlib.pyplot as plt
import numpy as np

from sklda import GibbsLDA
from sklda.datasets import load_docstrings

X = load_docstrings().data
lda = GibbsLDA(16, doc_topic_prior=0.1, topic_word_prior=0.05, max_iter=400, n_chains=6, n_jobs=2, random_state=0)
lda.fit(X)
trace = lda.log_joint_trace_
print(f"{trace.shape[0]} chains, {trace.shape[1]} sweeps; best chain: {lda.best_chain_}")

# %%
# The topics come from the best chain, which has the highest mean over the last half of its sweeps (orange). Diamonds
# show these means.

sweeps = np.arange(1, lda.n_iter_ + 1)
half = lda.n_iter_ // 2
level = trace[:, half:].mean(axis=1)

fig, (whole, late) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for chain, row in enumerate(trace):
    kept = chain == lda.best_chain_
    style = {"color": "darkorange" if kept else "slategrey", "linewidth": 1.6 if kept else 0.8, "zorder": 2 + kept}
    whole.plot(sweeps, row / 1000, label="best chain" if kept else "other chains", **style)
    late.plot(sweeps[half:], row[half:] / 1000, **style)
    late.plot(1.02 * sweeps[-1], level[chain] / 1000, "D", color=style["color"])
whole.set(xscale="log", xlabel="sweep (log scale)", ylabel="log joint (thousand nats)", title="All sweeps")
handles, labels = whole.get_legend_handles_labels()
unique = dict(zip(labels, handles, strict=True))
whole.legend(unique.values(), unique.keys(), loc="lower right", frameon=False)
late.set(xlabel="sweep", title="Last half")
for ax in (whole, late):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Interpretation
# --------------
#
# - The log joint rises most in the first fifty sweeps. The rest takes hundreds of sweeps. Sometimes it rises in a step,
#   as in the lowest chain here.
# - After that each chain has a different level. The posterior of the assignments has many modes, and sweeps that change
#   one token after the other seldom leave a mode. So one constant trace does not prove convergence. Several chains with
#   the same level would be better evidence; here their levels differ.
# - Do not average over chains: their topics differ, and so does the order of the topics.

within = trace[:, half:].std(axis=1).mean()
print(f"standard deviation within a chain: {within:.0f} nats; between chains: {level.std(ddof=1):.0f} nats")
