"""
Traces and topics of several chains
===================================

Traces of several chains show how many sweeps a chain needs, and that chains
end in different modes. Topics that all chains have are more reliable than
others.
"""

# %%
# Four independent chains begin at random states. ``traces_`` has three
# quantities after every sweep. They do not depend on the order of the
# topics, so chains can be compared.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t
from sklearn.exceptions import ConvergenceWarning

from sklda import GibbsLDA
from sklda.datasets import load_docstrings
from sklda.inspection import ConvergenceDisplay

docstrings = load_docstrings()
lda = GibbsLDA(16, n_chains=4, n_jobs=2, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", ConvergenceWarning
    )  # the chains disagree, as the plots show
    lda.fit(docstrings.data)

# %%
# Traces
# ------
#
# The left plot has the log joint, in :term:`nats <nat>` per token; the
# right one the sum of the squared shares of the topics, which is high if a
# few topics have most tokens. Draws come from the sweeps after the dashed
# line. Priors are learnt before it.

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, quantity in zip(axes, ("log_joint", "squared_shares"), strict=True):
    ConvergenceDisplay.from_estimator(lda, quantity=quantity, ax=ax)
plt.show()

# %%
# R-hat compares the halves of all chains. It is near 1 if they agree.
# ``r_hat_by_chain`` compares the two halves of each chain.

for name, found in lda.diagnostics_.items():
    by_chain = ", ".join(f"{r:.2f}" for r in found.r_hat_by_chain)
    print(f"{name:<14}  R-hat {found.r_hat:.2f}; of each chain: {by_chain}")

# %%
# - Each chain has its own level. The posterior of the assignments has many
#   modes. Sweeps that change one token after the other seldom leave a mode.
#   So one constant trace does not prove convergence.
# - Some chains still move after hundreds of sweeps.
#
# Stable topics
# -------------
#
# The topics of the other chains are matched to those of the best chain.
# ``topic_stability_`` is near 1 for topics that all chains have. The right
# plot has the share of each topic in every chain, as a dot. Four chains are
# few, so intervals of 95 % have the 3.2 standard deviations of Student's t
# with three degrees of freedom.

order = np.argsort(-lda.topic_stability_)
shares = np.array(
    [
        np.bincount(c.topic_assignments, minlength=16)[c.matched]
        for c in lda.chains_
    ]
)
shares = shares / lda.topic_assignments_.size

fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 5.5), sharey=True, layout="constrained"
)
words = [
    " ".join(docstrings.feature_names[np.argsort(-lda.topic_word_[k])[:4]])
    for k in order
]
left.barh(words, lda.topic_stability_[order], color="steelblue")
left.invert_yaxis()
left.set(xlabel="stability", xlim=(0, 1))
for row in shares:
    right.plot(row[order], words, "o", color="slategrey", alpha=0.6)
right.errorbar(
    lda.topic_share_[order],
    words,
    xerr=t.ppf(0.975, 3) * lda.topic_share_std_[order],
    fmt="none",
    ecolor="darkorange",
    zorder=1,
)
right.set(xlabel="share of the tokens in four chains, with intervals")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
plt.show()

# %%
# The intervals contain the differences between the matched topics of the
# chains. They are centred at the best chain. Intervals from one chain would
# be far too narrow. A mean of topics over chains would mix topics that do
# not correspond, so ``topic_word_`` comes from one chain.
