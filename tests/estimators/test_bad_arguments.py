"""Functions refuse bad arguments with a message of their own, not with one from inside NumPy or joblib."""

import re

import numpy as np
import pytest

from sklda import CompoundLDA, GibbsLDA, point_estimates
from sklda.datasets import make_compound_lda_corpus, make_lda_corpus
from sklda.metrics import compare_topic_models, held_out_curve, held_out_log_likelihood, predictive_perplexity

X, PHI = np.array([[1, 2], [3, 0]]), np.array([[0.5, 0.5]])


class Flat:
    components_, doc_topic_prior_ = np.ones(3), 1.0


REFUSED = [
    (
        lambda: GibbsLDA(2).fit(X).score(X, sample_weight="x"),
        TypeError,
        "sample_weight must hold real numbers, got 'x'",
    ),
    *(
        (lambda call=call: call(np.ma.masked_array), ValueError, f"{name} has masked entries, which would be used")
        for name, call in (
            ("sample_weight", lambda masked: GibbsLDA(2).fit(X).score(X, sample_weight=masked([1, 2], [0, 1]))),
            ("doc_topic_prior", lambda masked: GibbsLDA(2, doc_topic_prior=masked([1, 2], [0, 1])).fit(X)),
            ("topic_word_prior", lambda masked: GibbsLDA(2, topic_word_prior=masked([1, 2], [0, 1])).fit(X)),
            ("collections", lambda masked: CompoundLDA(2).fit(X, collections=masked(["a", "b"], [0, 1]))),
            ("topic_assignments", lambda masked: point_estimates(X, masked([0, 1, 1, 0, 0, 1], [0, 0, 0, 0, 0, 1]))),
            ("topic_word", lambda masked: held_out_log_likelihood(X, (masked(PHI, [[0, 1]]), 0.1))),
        )
    ),
    (lambda: GibbsLDA(2**62).fit(X), ValueError, "n_components=4611686018427387904 is more than"),
    (lambda: compare_topic_models(X, (PHI, 1), (PHI, 1), path=PHI), ValueError, "path must be one of ('auto', 'conv"),
    (lambda: held_out_log_likelihood(X, (PHI, 0.1), n_jobs=1.5), TypeError, "n_jobs must be an int or None, got 1.5"),
    (lambda: held_out_log_likelihood(X, (PHI, 0.1), n_jobs="2"), TypeError, "n_jobs must be an int or None, got '2'"),
    (lambda: held_out_curve(X, (None, 0.1)), TypeError, "the snapshots must be a sequence of matrices"),
    (
        lambda: predictive_perplexity(X, X, Flat()),
        ValueError,
        "components_ of the Flat has shape (3,): it is",
    ),
    *((lambda a=a: point_estimates(X, a), TypeError, "must hold a topic for every token, got") for a in (None, 3, "x")),
    (lambda: GibbsLDA(2).fit([[1, 2], [3]]), ValueError, "X is not a matrix: its rows differ in length"),
    (lambda: GibbsLDA(2, doc_topic_prior=10**400).fit(X), TypeError, "doc_topic_prior must hold real numbers"),
    (lambda: make_lda_corpus(2, 3, 2, doc_topic_prior=10**400), TypeError, "doc_topic_prior must hold real numbers"),
    (lambda: make_compound_lda_corpus([2], 3, 2, collection_topic="x"), TypeError, "collection_topic must hold real"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
