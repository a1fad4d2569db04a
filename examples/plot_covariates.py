"""
How topics depend on covariates
===============================

Does a topic become more frequent over the years, in one source or in long
documents? :func:`sklda.inspection.topic_effects` answers this for any
fitted model, as ``estimateEffect`` of the R package stm does.
:class:`sklda.CovariateLDA` has the covariates in the prior of the topic
proportions, so it does not shrink their effects. Here the covariates of
the bundled docstrings are their package, a category, and their length, a
number.
"""

# %%
# Fit
# ---
#
# Covariates are an array, a data frame or a dict of columns. Texts become
# categories, whose levels vary around the intercept.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import SplineTransformer

from sklda import ConsensusTopics, CovariateLDA
from sklda.datasets import load_docstrings
from sklda.inspection import TopicEffectsDisplay, describe, topic_effects

docstrings = load_docstrings()
X, words = docstrings.data, docstrings.feature_names
log_length = np.log2(np.asarray(X.sum(axis=1)).ravel())
covariates = {"package": docstrings.collection, "log2 length": log_length}

lda = CovariateLDA(10, max_iter=400, random_state=0)
lda.fit(X, covariates=covariates)

# %%
# Coefficients
# ------------
#
# The Dirichlet parameter of topic k is exp(intercept + x · coefficients).
# A coefficient is a change of its logarithm.

for name, own, std in zip(
    lda.covariate_names_, lda.coef_.T, lda.coef_std_.T, strict=True
):
    k = np.abs(own / std).argmax()
    top = [words[v] for v in lda.topic_word_[k].argsort()[:-4:-1]]
    print(f"{name}, topic {k} ({' '.join(top)}):")
    print(f"    {own[k]:.2f} ± {std[k]:.2f}")

# %%
# Effects on proportions
# ----------------------
#
# Another fit ends in another mode, with other topics and other effects. So
# here are the topics that five fits have in common. A linear model of the
# proportion of each topic has the uncertainty of the proportions, and the
# differences between the fits. Functions of one module resemble each other,
# so they are not independent cases of a package: the modules are clusters.
# ``df`` is about their number, and ``found_in`` the number of fits that
# have the topic. For categories, the display has points with intervals of
# 95 %, in a panel for each topic.

fits = ConsensusTopics(
    CovariateLDA(10, max_iter=200), n_fits=5, random_state=0
)
fits.fit(X, covariates=covariates)

names = docstrings.document_names
modules = [".".join(name.split(".")[:2]) for name in names]
named = describe(fits, X, vocabulary=words)
table = topic_effects(
    named,
    covariates=covariates,
    clusters=modules,
    topics=[0],
    random_state=0,
)
columns = ["term", "estimate", "low", "high", "p_value", "df", "found_in"]
effects = table[table["term"] != "intercept"]
print(effects[columns].round(3))

TopicEffectsDisplay.from_estimator(
    named,
    covariates=covariates,
    clusters=modules,
    random_state=0,
)
plt.show()

# %%
# A number has a curve with its band. The lines below the axis are the
# documents. Splines need no formula: the columns of scikit-learn's
# ``SplineTransformer`` are the terms of the linear model.

TopicEffectsDisplay.from_estimator(
    named,
    covariates={"log2 length": log_length},
    clusters=modules,
    transformer=SplineTransformer(4, knots="quantile", include_bias=False),
    random_state=0,
)
plt.show()

# %%
# New documents
# -------------
#
# The covariates of a new document give its prior. They help to predict its
# words; without them, a document has the mean covariates.

print(f"with {lda.score(X, covariates=covariates):.4f} nats a token")
print(f"without {lda.score(X):.4f}")
