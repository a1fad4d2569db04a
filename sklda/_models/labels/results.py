"""The results of chains of labelled LDA: means over draws and chains."""

import copy
from dataclasses import replace

import numpy as np

from sklda._models.labels.chain import LabelChain
from sklda._models.labels.fitting import LabelMeans, sample_parameters
from sklda._models.results import RunResults, share_attributes


class LabelResults(RunResults):
    """The results of `LabelChain`s, in the form of `ChainResults`.

    Parameters
    ----------
    chains : list of LabelChain
    n_labels : int
    """

    continues = False

    def __init__(self, chains, n_labels):
        super().__init__(chains, chains[0].n_burn_in)
        self.chains, self.n_labels = chains, n_labels

    def attributes(self):
        """The fitted attributes, a dict."""
        chain, means = self.chains[self.best], LabelMeans.of(self.chains, self.n_labels)
        counts, opened = chain.priors.opened.pair_matrix(means.pair_counts), chain.priors.opened
        totals = np.asarray(counts.sum(axis=0)).ravel()
        return {
            **super().attributes(),
            **share_attributes(means.shares, [means.shares]),
            # The mean of expected counts has less noise than that of the shares of draws.
            "topic_share_": totals / totals.sum(),
            "doc_label_": means.theta(chain.priors),
            "n_draws_": len(means.shares),
            "topic_assignments_": chain.token_topics(),
            "_word_topic_counts_": counts,
            "_fingerprint_": chain.corpus.fingerprint,
            # Documents without open topics are left out.
            "_used_tokens_": np.where(opened.numbers > 0, chain.corpus.lengths, 0),
            "_results_": self._stored(chain, means.theta_std(chain.priors)),
        }

    def _stored(self, chain, doc_label_std):
        """A copy without what the fitted estimator has anyway, and without chains."""
        stored = copy.copy(self)
        for name in ("chains", "traces", "diagnostics"):
            vars(stored).pop(name, None)
        stored.corpus, stored.priors, stored.doc_label_std = chain.corpus, chain.priors, doc_label_std
        stored.state = replace(chain.state(), trace=(), label_free=(), steps=())
        return stored

    def sample(self, eta, n_samples, seed):
        """theta and phi of `n_samples` draws."""
        return sample_parameters(LabelChain(self.corpus, self.priors, self.state), eta, n_samples, seed)
