"""Each estimator with its default parameters on the bundled corpus; new documents, and their likelihood."""

import warnings

import numpy as np

from sklda import CollapsedVariationalLDA, CompoundLDA, EmpiricalBayesLDA, GibbsLDA, LabeledLDA, TopicCountLDA
from sklda.datasets import load_docstrings
from sklda.papers.held_out import left_to_right

SEED = {"random_state": 0}


class Defaults:
    number = repeat = 1
    warmup_time = 0
    timeout = 3600

    def setup(self):
        warnings.simplefilter("ignore")
        self.X, self.groups = load_docstrings(return_X_y=True)

    def time_gibbs(self):
        GibbsLDA(**SEED).fit(self.X)

    def time_collapsed_variational(self):
        CollapsedVariationalLDA(**SEED).fit(self.X)

    def time_compound(self):
        CompoundLDA(**SEED).fit(self.X, collections=self.groups)

    def time_labeled(self):
        LabeledLDA(**SEED).fit(self.X, np.eye(self.groups.max() + 1, dtype=int)[self.groups])

    def time_empirical_bayes(self):
        EmpiricalBayesLDA(**SEED).fit(self.X)

    def time_topic_count(self):
        TopicCountLDA(**SEED).fit(self.X)


class NewDocuments:
    params = [20, 100]
    param_names = ("n_components",)
    timeout = 600

    def setup(self, n_components):
        X = load_docstrings().data
        self.X = X[::5]
        self.lda = GibbsLDA(n_components, max_iter=50, n_draws=1, **SEED).fit(X[np.arange(X.shape[0]) % 5 > 0])

    def time_transform(self, n_components):
        self.lda.transform(self.X)

    def time_score(self, n_components):
        self.lda.score(self.X)

    def time_left_to_right(self, n_components):
        left_to_right(self.lda, self.X, **SEED)
