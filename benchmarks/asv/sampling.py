"""Rates of the samplers, in million tokens per CPU second."""

import time

from sklda import GibbsLDA
from sklda.datasets import make_lda_corpus


def _corpus(n_documents=5000):
    return make_lda_corpus(n_documents, 10_000, 100, doc_length=150, zipf_exponent=0.8, random_state=0).data


class Rate:
    """Of whole fits with given priors; the time of the first and of the last steps is taken off."""

    params = ([20, 100, 500], ["collapsed", "partitioned", "grouped", "partially_collapsed"])
    param_names = ("n_components", "sampler")
    unit = "million tokens per CPU second"
    timeout = 900

    def setup_cache(self):
        return _corpus()

    def track_sweeps(self, X, n_components, sampler):
        def seconds(max_iter):
            lda = GibbsLDA(
                n_components,
                sampler=sampler,
                max_iter=max_iter,
                doc_topic_prior=0.1,
                topic_word_prior=0.01,
                n_draws=1,
                n_jobs=1,
                random_state=0,
            )
            began = time.process_time()
            lda.fit(X)
            return time.process_time() - began

        short, long = 20, 40
        return (long - short) * X.sum() / 1e6 / (seconds(long) - seconds(short))


class Memory:
    params = [100, 500]
    param_names = ("n_components",)

    def setup_cache(self):
        return _corpus(20_000)

    def peakmem_fit(self, X, n_components):
        GibbsLDA(n_components, max_iter=2, doc_topic_prior=0.1, topic_word_prior=0.01, random_state=0).fit(X)
