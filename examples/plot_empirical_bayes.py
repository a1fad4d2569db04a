"""
Priors by maximum marginal likelihood, with error bars
======================================================

The two priors of the model are usually guessed. This example estimates them
from a corpus, with errors. Then it compares them with usual values.
"""

# %%
# The corpus has a hundred documents of 80 tokens, 40 words and four topics.
# It is drawn with the priors :math:`\alpha = 0.08` and :math:`\eta = 1`.

import matplotlib.pyplot as plt

from sklda import EmpiricalBayesLDA, GibbsLDA
from sklda.datasets import make_lda_corpus
from sklda.inspection import MarginalLikelihoodDisplay
from sklda.papers.held_out import leave_one_out_score

TRUTH = {"doc_topic_prior": 0.08, "topic_word_prior": 1.0}
X = make_lda_corpus(100, 40, 4, doc_length=80, **TRUTH, random_state=0).data


lda = EmpiricalBayesLDA(4, random_state=0).fit(X)

estimates = lda.doc_topic_prior_, lda.topic_word_prior_
for kind in ("statistical", "monte_carlo"):
    errors = lda.confidence_region(0.95, kind).standard_errors
    for name, value, error in zip(
        ("alpha", "eta"), estimates, errors, strict=True
    ):
        print(f"{name:5} {value:.3f} ± {error:.1%} ({kind})")

# %%
# There are two errors. The statistical error comes from a finite corpus;
# more sweeps do not change it. The Monte Carlo error comes from a finite
# number of draws. It should be much smaller. The star marks the true
# priors.

display = MarginalLikelihoodDisplay.from_estimator(lda)
display.ax_.plot(*TRUTH.values(), "*", color="k", ms=12)
display.figure_.set_size_inches(7, 6)
plt.show()

# %%
# The same function along one prior, with the other prior at the maximum:

fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
display.plot(axes[0], kind="doc_topic_prior")
display.plot(axes[1], kind="topic_word_prior")
plt.show()

# %%
# Comparison with usual priors
# ----------------------------
#
# :func:`~sklda.papers.held_out.leave_one_out_score` is the mean
# log-likelihood of a document given all others, in :term:`nats <nat>`. A
# difference of one is a factor of 2.7 for every document.

settings = {
    "estimated": estimates,
    "1/K, 1/K": (0.25, 0.25),
    "0.1, 0.1": (0.1, 0.1),
    "50/K, 0.1": (12.5, 0.1),
}
for name, (alpha, eta) in settings.items():
    gibbs = GibbsLDA(
        4,
        doc_topic_prior=alpha,
        topic_word_prior=eta,
        max_iter=300,
        random_state=0,
    ).fit(X)
    score = leave_one_out_score(gibbs, X, n_draws=15, random_state=0)
    print(f"{name:>10}: {score.score:.2f} ± {score.std:.2f}")
