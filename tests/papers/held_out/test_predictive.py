"""Perplexity of hidden words, with and without the collections of the documents."""

import numpy as np
import pytest

from sklda import CompoundLDA
from sklda._core.corpus import Corpus
from sklda._likelihood.held_out.document_completion import split_tokens
from sklda.datasets import make_compound_lda_corpus
from sklda.papers.held_out import predictive_perplexity

MIXTURES = [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]]


def test_perplexity_of_hidden_words():
    corpus = make_compound_lda_corpus(
        [40, 30, 20], 40, 3, doc_length=50, doc_concentration=3, topic_word_prior=0.05, collection_topic=MIXTURES,
        random_state=0,
    )  # fmt: skip
    labels = np.array(["arts", "laws", "news"])[corpus.collections]
    lda = CompoundLDA(3, topic_word_prior=0.1, max_iter=60, random_state=0).fit(corpus.data, collections=labels)
    seen, hidden = (part.to_counts() for part in split_tokens(Corpus.from_counts(corpus.data), 0))
    with_labels = predictive_perplexity(lda, seen, hidden, collections=labels, random_state=0)
    assert with_labels < predictive_perplexity(lda, seen, hidden, random_state=0) < 40
    nothing = np.zeros_like(corpus.data.toarray())
    prior = lda.document_prior(labels)
    p = (prior / prior.sum(axis=1, keepdims=True)) @ lda.topic_word_
    exact = np.exp(-(corpus.data.multiply(np.log(p))).sum() / corpus.data.sum())
    np.testing.assert_allclose(predictive_perplexity(lda, nothing, corpus.data, collections=labels), exact, rtol=1e-10)
    with pytest.raises(ValueError, match="parts of the same documents"):
        predictive_perplexity(lda, seen, hidden[:5])
    with pytest.raises(ValueError, match="no word to predict"):
        predictive_perplexity(lda, seen, nothing)
