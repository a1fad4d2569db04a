"""Held-out likelihood as users ask for it: standard errors, completion, edge cases, jobs, what is refused."""

import numpy as np
import pytest
from enumeration import make_corpus
from held_out_cases import EXACT, MIXED, PHI, THREE, counts

from sklda import GibbsLDA
from sklda._likelihood.held_out.document_completion import split_tokens
from sklda.datasets import make_lda_corpus
from sklda.metrics import held_out_log_likelihood


def test_the_standard_error_is_calibrated():
    """Of 200 estimates with 20 runs each, about as many as should lie within one and two of their errors."""
    words, alpha, log_p = EXACT["twenty, asymmetric"]
    corpus = make_corpus([words], 4)
    z = []
    for seed in range(200):
        value, std = held_out_log_likelihood(
            (PHI, alpha), corpus.to_counts(), n_runs=20, return_std=True, n_temperatures=50, random_state=seed
        )
        z.append((value[0] - log_p) / std[0])
    # Student with 19 degrees of freedom: .670 and .940; binomial bounds of 4.5 deviations
    inside = [np.mean(np.abs(z) < bound) for bound in (1, 2)]
    np.testing.assert_allclose(inside, [0.670, 0.940], atol=4.5 * np.sqrt(0.25 / 200))
    assert 0.87 < inside[1]


def test_completion_is_the_likelihood_of_the_second_half():
    corpus = make_corpus([MIXED, [0, 1, 2], [3], []], 4)
    first, second = split_tokens(corpus, 7)
    assert first.lengths.tolist() == [5, 2, 1, 0]
    assert second.lengths.tolist() == [5, 1, 0, 0]
    joined = first.to_counts() + second.to_counts()
    assert (joined != corpus.to_counts()).nnz == 0
    found = held_out_log_likelihood(
        (PHI, THREE), corpus.to_counts(), method="document_completion", n_runs=300, n_temperatures=300, random_state=0
    )
    # one word given two others, averaged over the three ways to hide one
    pairs = [((0, 1), 2), ((0, 2), 1), ((1, 2), 0)]
    *theta, whole = held_out_log_likelihood((PHI, THREE), counts([*(p for p, _ in pairs), [0, 1, 2]]), method="exact")
    assert abs(found[1] - np.mean([whole - t for t in theta])) < 0.02
    assert found[2] == found[3] == 0


@pytest.mark.parametrize("method", ["guided_ais", "document_completion", "exact"])
def test_empty_documents_and_impossible_words(method):
    phi = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.6, 0.4, 0.0]])
    X = np.array([[0, 0, 0, 0], [1, 2, 0, 0], [0, 1, 0, 2], [1, 0, 1, 0]])
    found = held_out_log_likelihood((phi, 0.3), X, method=method, n_temperatures=20, random_state=0)
    assert found[0] == 0
    assert np.isneginf(found[2])
    assert not np.isnan(found).any()
    if method in ("guided_ais", "exact"):
        assert np.isfinite(found[[1, 3]]).all()


@pytest.mark.parametrize("method", ["guided_ais", "document_completion"])
def test_order_batches_and_jobs_change_nothing(method):
    data = make_lda_corpus(150, 30, 3, doc_length=(0, 30), random_state=0)
    phi = data.topic_word
    options = {"method": method, "n_temperatures": 10, "random_state": 0}
    whole = held_out_log_likelihood((phi, 0.1), data.data, **options)
    np.testing.assert_array_equal(whole, held_out_log_likelihood((phi, 0.1), data.data, n_jobs=2, **options))
    order = np.random.default_rng(0).permutation(150)
    np.testing.assert_array_equal(whole[order], held_out_log_likelihood((phi, 0.1), data.data[order], **options))
    np.testing.assert_array_equal(
        whole[70:75], held_out_log_likelihood((phi, 0.1), data.data[70:75].toarray(), **options)
    )
    per_document = held_out_log_likelihood((phi, np.full((150, 3), 0.1)), data.data, **options)
    np.testing.assert_array_equal(whole, per_document)


def test_estimators_score():
    data = make_lda_corpus(120, 50, 4, doc_length=(0, 60), random_state=0).data
    model = GibbsLDA(4, doc_topic_prior=0.1, max_iter=50, random_state=0).fit(data[:80])
    X = data[80:]
    samples = model.score_samples(X)
    lengths = np.asarray(X.sum(axis=1)).ravel()
    assert model.score(X) == pytest.approx(samples.sum() / lengths.sum(), rel=1e-12)
    assert model.perplexity(X) == pytest.approx(np.exp(-model.score(X)), rel=1e-12)
    np.testing.assert_array_equal(samples[5:9], model.score_samples(X[5:9]))
    weight = np.r_[np.zeros(20), np.ones(20)]
    assert model.score(X, sample_weight=weight) == pytest.approx(model.score(X[20:]), rel=1e-12)
    value, std = held_out_log_likelihood(model, X, n_runs=20, return_std=True, random_state=1)
    spread = std * np.sqrt(20)
    assert (np.abs(samples - value) <= 6 * spread + 1e-6).all()
    with pytest.raises(ValueError, match="no token of positive weight"):
        model.score(np.zeros((2, 50), int))
    with pytest.raises(ValueError, match=r"sample_weight has 3 .* 40"):
        model.score(X, sample_weight=[1, 1, 1])


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"method": "harmonic"}, ValueError, "method must be one of"),
        ({"n_temperatures": 0}, ValueError, "n_temperatures must be at least 1, got 0"),
        ({"n_runs": 1.5}, TypeError, "n_runs must be an int"),
        ({"return_std": True}, ValueError, "needs n_runs=2"),
        ({"doc_topic_prior": 0.0}, ValueError, "doc_topic_prior = 0: a Dirichlet parameter"),
        ({"doc_topic_prior": [0.1, 0.2]}, ValueError, r"doc_topic_prior has shape \(2,\)"),
        ({"topic_word": PHI[:, :3]}, ValueError, "X has 4 features"),
        ({"topic_word": 2 * PHI}, ValueError, r"topic_word\[0\] sums to 2, not 1"),
        ({"topic_word": -PHI}, ValueError, "negative, NaN or infinite"),
        ({"X": np.full((1, 4), 0.5)}, ValueError, "not a whole number"),
        ({"X": np.full((1, 4), 500), "method": "exact"}, ValueError, "document 0 has 2000 tokens: method='exact'"),
    ],
)
def test_bad_input(options, error, message):
    options = {"X": counts([MIXED]), "topic_word": PHI, "doc_topic_prior": THREE} | options
    options["estimator"] = options.pop("topic_word"), options.pop("doc_topic_prior")
    with pytest.raises(error, match=message):
        held_out_log_likelihood(**options)
