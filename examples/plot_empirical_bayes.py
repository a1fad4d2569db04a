"""
Priors by maximum marginal likelihood, with error bars
======================================================

The two priors of the model are usually guessed. This example estimates them from a corpus, with errors. Then it
compares them with usual values, and shows a posterior expectation as a function of the priors.
"""

# %%
# The corpus has a hundred documents of 80 tokens, 40 words and four topics. It is drawn with the priors
# :math:`\alpha = 0.08` and :math:`\eta = 1`.

import matplotlib.pyplot as plt
import numpy as np

from sklda import EmpiricalBayesLDA, GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import MarginalLikelihoodDisplay, PosteriorExpectationDisplay
from sklda.metrics import leave_one_out_score

TRUTH = {"doc_topic_prior": 0.08, "topic_word_prior": 1.0}
X = make_lda_corpus(100, 40, 4, doc_length=80, **TRUTH, random_state=0).data


# %%
# A functional is a function of the topic proportions and of the topics. This one is the distance between the first two
# documents.


def distance(doc_topic, topic_word):
    return np.linalg.norm(doc_topic[0] - doc_topic[1])


lda = EmpiricalBayesLDA(
    4, method="serial_tempering", max_iter=2000, functionals={"distance": distance}, random_state=0
).fit(X)

for kind in ("statistical", "monte_carlo"):
    alpha, eta = lda.confidence_region(0.95, kind).standard_errors
    print(f"alpha {lda.doc_topic_prior_:.3f} ± {alpha:.1%}, eta {lda.topic_word_prior_:.3f} ± {eta:.1%}: {kind}")

# %%
# There are two errors. The statistical error comes from a finite corpus; more sweeps do not change it. The Monte Carlo
# error comes from a finite number of draws, and should be much smaller. The star marks the true priors.

fig, axes = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
display = MarginalLikelihoodDisplay.from_estimator(lda, ax=axes[0])
display.plot(axes[1], kind="doc_topic_prior")
display.plot(axes[2], kind="topic_word_prior")
axes[0].plot(*TRUTH.values(), "*", color="k", ms=10)
plt.show()

# %%
# Comparison with usual priors
# ----------------------------
#
# :func:`~sklda.metrics.leave_one_out_score` is the mean log-likelihood of a document given all others, in nats. A
# difference of one is a factor of 2.7 for every document.

h = lda.doc_topic_prior_, lda.topic_word_prior_
for name, (alpha, eta) in {
    "estimated": h,
    "1/K, 1/K": (0.25, 0.25),
    "0.1, 0.1": (0.1, 0.1),
    "50/K, 0.1": (12.5, 0.1),
}.items():
    model = GibbsLDA(4, doc_topic_prior=alpha, topic_word_prior=eta, max_iter=300, random_state=0).fit(X)
    score = leave_one_out_score(X, model, n_draws=30, random_state=0)
    print(f"{name:>10}: {score.score:.2f} ± {score.std:.2f}")

# %%
# A posterior expectation for all priors
# --------------------------------------
#
# The same fit gives the posterior expectation of the distance between the two documents as a function of
# :math:`\alpha`, for three values of :math:`\eta`. The confidence bands hold for all priors simultaneously. Here the
# bands overlap: the expectation does not depend much on :math:`\eta`.

PosteriorExpectationDisplay.from_estimator(lda, "distance", fixed=[0.8, 1.1, 1.5])
plt.show()
