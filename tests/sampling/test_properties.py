"""Any small corpus, any legal priors: shapes, sums, signs, and one state that all results agree on."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sklda import GibbsLDA
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain

# Powers of ten from one legal end to the other.
positive = st.floats(-12, 12).map(lambda exponent: min(max(10.0**exponent, 1e-12), 1e12))
usual = st.floats(0.01, 5)


@st.composite
def cases(draw):
    """Counts with at least one token, and parameters."""
    shape = draw(array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6))
    X = draw(arrays(np.int64, shape, elements=st.integers(0, 5)))
    if not X.any():
        X[-1, -1] = 1
    K = draw(st.sampled_from([1, 2, 3, 5, 16, 17, 40]))
    value = draw(st.sampled_from([usual, positive]))
    eta_shape = draw(st.sampled_from([(shape[1],), (K, shape[1])]))
    parameters = {
        "n_components": K,
        "learn_priors": False,
        "n_draws": 1,
        "doc_topic_prior": draw(st.none() | value | arrays(np.float64, K, elements=value)),
        "topic_word_prior": draw(st.none() | value | arrays(np.float64, eta_shape, elements=value)),
        "max_iter": draw(st.integers(1, 4)),
        "point_estimate": draw(st.sampled_from(["cgs_p", "cgs"])),
        "n_chains": draw(st.integers(1, 2)),
        "fold_in_iter": draw(st.integers(1, 5)),
        "random_state": draw(st.integers(0, 2**32 - 1)),
    }
    return X, parameters


@settings(max_examples=60)
@given(cases())
def test_a_fit(case):
    X, parameters = case
    lda = GibbsLDA(**parameters).fit(X)
    (D, V), K = X.shape, lda.n_components
    alpha = np.broadcast_to(1 / K if lda.doc_topic_prior is None else lda.doc_topic_prior, K)
    eta = np.broadcast_to(1 / K if lda.topic_word_prior is None else lda.topic_word_prior, (K, V))

    assert lda.components_.shape == (K, V)
    # Every topic-word count is the prior and something more; a matrix of priors is held in single precision.
    assert (lda.components_ >= eta * (1 - 1e-6)).all()
    np.testing.assert_allclose(lda.components_.sum(), X.sum() + eta.sum(), rtol=1e-6)
    np.testing.assert_allclose(lda.components_.sum(axis=0), X.sum(axis=0) + eta.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(lda.topic_word_.sum(axis=1), 1, rtol=1e-9)

    assert lda.topic_assignments_.dtype == np.int32
    assert lda.topic_assignments_.shape == (X.sum(),)
    assert ((lda.topic_assignments_ >= 0) & (lda.topic_assignments_ < K)).all()

    assert lda.log_joint_trace_.shape == (lda.n_chains, lda.max_iter)
    assert np.isfinite(lda.log_joint_trace_).all()
    # The assignments are those that the last value of the trace is of.
    chain = GibbsChain(
        Corpus.from_counts(X),
        Priors.make(lda.doc_topic_prior_, lda.topic_word_prior_, K, V),
        ChainState(lda.topic_assignments_, np.ones(4, np.uint64)),
    )
    # The fit may have added up the same numbers in another order.
    np.testing.assert_allclose(chain.log_joint(), lda.log_joint_trace_[lda.best_chain_, -1], rtol=1e-12, atol=1e-12)
    assert chain.topic_totals.sum() == X.sum()

    for theta in (lda.doc_topic_, lda.transform(X)):
        assert theta.shape == (D, K)
        assert (theta > 0).all()
        # doc_topic_ is in single precision.
        rounding = 1e-6 if theta.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=rounding)
        for row in theta[X.sum(axis=1) == 0]:
            np.testing.assert_allclose(row, alpha / alpha.sum(), rtol=rounding)
    raw = lda.transform(X, normalize=False)
    np.testing.assert_allclose(raw.sum(axis=1), X.sum(axis=1) + alpha.sum(), rtol=1e-5)
    assert (raw >= alpha).all()

    if lda.point_estimate == "cgs":
        documents, words = (np.repeat(index, X[np.nonzero(X)]) for index in np.nonzero(X))
        doc_topic, topic_word = np.zeros((D, K)), np.zeros((K, V))
        np.add.at(doc_topic, (documents, lda.topic_assignments_), 1)
        np.add.at(topic_word, (lda.topic_assignments_, words), 1)
        np.testing.assert_allclose(lda.components_, topic_word + eta, rtol=1e-6)
        doc_topic += alpha
        np.testing.assert_allclose(lda.doc_topic_, doc_topic / doc_topic.sum(axis=1, keepdims=True), rtol=1e-6)


@given(cases())
def test_invariance(case):
    """The same fit again, from another form of X and in two parts; documents one by one."""
    X, parameters = case
    parameters["init"] = "random"
    lda = GibbsLDA(**parameters).fit(X)
    parts = GibbsLDA(**parameters | {"max_iter": 1, "warm_start": True, "n_jobs": 2})
    for _ in range(lda.max_iter):
        parts.fit(np.asfortranarray(X, dtype=np.float32))
    np.testing.assert_array_equal(parts.components_, lda.components_)
    np.testing.assert_array_equal(parts.log_joint_trace_, lda.log_joint_trace_)
    np.testing.assert_array_equal(np.vstack([lda.transform(row[None]) for row in X]), lda.transform(X))
