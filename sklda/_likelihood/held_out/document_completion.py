"""Document completion: the likelihood of a part of a document's tokens, given topic proportions from the other part."""

import numpy as np

from sklda._core.corpus import Corpus
from sklda._core.random import splitmix64
from sklda._likelihood.held_out.document_block import sum_by_document
from sklda._likelihood.held_out.fold_in import fold_in

# Tokens in a part of the computation of probabilities, to limit the memory for arrays of tokens x topics.
_PART_TOKENS = 2**16


def document_completion(corpus, topic_word, doc_topic_prior, *, n_sweeps, seed, n_jobs=None):
    """log p(second half | theta of the first half) of every document, (n_documents,).

    -inf if a word of either half has probability 0 in all topics.
    """
    first, second = split_tokens(corpus, seed)
    with np.errstate(divide="ignore"):
        impossible = sum_by_document(corpus, np.log(topic_word.max(axis=0) > 0)[corpus.words])
    found = predictive_log_likelihood(
        first, second, topic_word, doc_topic_prior, n_sweeps=n_sweeps, seed=seed, n_jobs=n_jobs
    )
    return found + impossible


def predictive_log_likelihood(seen, hidden, topic_word, doc_topic_prior, *, n_sweeps, seed, n_jobs=None):
    """log p of the hidden tokens of every document, given theta estimated from the seen tokens; (n_documents,)."""
    theta = fold_in(seen, topic_word, doc_topic_prior, n_sweeps=n_sweeps, seed=seed, n_jobs=n_jobs)
    theta += doc_topic_prior
    theta /= theta.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return sum_by_document(hidden, np.log(token_probabilities(hidden, theta, topic_word)))


def token_probabilities(corpus, theta, topic_word):
    """p(w_i | theta, phi) of every token, (n_tokens,)."""
    doc_of, p = corpus.token_documents, np.empty(corpus.n_tokens)
    for start in range(0, corpus.n_tokens, _PART_TOKENS):
        part = slice(start, start + _PART_TOKENS)
        p[part] = np.einsum("ik,ki->i", theta[doc_of[part]], topic_word[:, corpus.words[part]])
    return p


def split_tokens(corpus, seed):
    """The tokens of every document, split at random into two halves: two `Corpus`.

    The first half is larger if the length is odd. The split depends only on the seed and on the document's words.
    """
    doc_of = corpus.token_documents
    within = np.arange(corpus.n_tokens) - corpus.offsets[doc_of]
    keys = splitmix64(corpus.document_keys(seed)[doc_of] + within.astype(np.uint64))
    order = np.lexsort((keys, doc_of))
    rank = np.empty(corpus.n_tokens, np.int64)
    rank[order] = within
    is_first = rank < (corpus.lengths[doc_of] + 1) // 2
    parts = []
    for chosen in (is_first, ~is_first):
        lengths = np.bincount(doc_of[chosen], minlength=corpus.n_documents)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        parts.append(Corpus(corpus.words[chosen], offsets, corpus.n_features))
    return parts
