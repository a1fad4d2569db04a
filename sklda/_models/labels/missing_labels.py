"""Labels without any document, and labels that are missing in documents with their words.

With the topics of the fit, and all labels open, the words of a document say which labels it has. Where labels are
complete, hardly any other label gets more than a few words. Where a label is missing in documents, its words are there.
"""

import numpy as np

from sklda._input.names import listed
from sklda._input.warn import warn
from sklda._likelihood.held_out.fold_in import fold_in

# The smallest part of a document, and number of tokens, that count as words of a label.
_PART, _TOKENS = 0.15, 2
# Of documents with words of a label: the fewest that lack it, for each that has it and in all; and how much more
# frequent they must be among those that have it. In 48 simulated corpora, none of 859 complete labels is named. Of 63
# labels that half of their documents or more, and at least five, lack, 38 are named; 38 with half of the odds, 34 with
# twice, and 52 with half of the fewest.
_ODDS, _FEWEST, _TIMES = 1 / 3, 10, 2
# The most documents that are looked at, and pairs of these with a label; the sum of their alpha, and sweeps over them.
_MOST_DOCUMENTS, _MOST_PAIRS, _ALPHA, _SWEEPS = 2000, 2**21, 1.0, 6


def warn_of_labels_without_words(corpus, targets):
    """Warn of labels of no document, or only of documents without words."""
    empty = np.flatnonzero(targets.indicator.T.astype(np.int64) @ corpus.lengths == 0)
    if len(empty):
        warn(
            f"{len(empty)} of {len(targets.names)} labels have no document with words: "
            f"{listed(targets.names[empty].tolist(), 5)}. Nothing is learnt about them, and their topics are only the "
            "prior. Leave them out of y."
        )


def warn_of_missing_labels(corpus, targets, topics, shares, seed):
    """Warn of labels that many documents lack, although they have the words of the label.

    `topics` are `LabelTopics`, and `shares` those of the topics in the tokens. Documents with one label have no others
    by definition.
    """
    (lacking, having), (n_lacking, n_having) = documents_with_words(corpus, targets.indicator, topics, shares, seed)
    # Labels that say nothing about the words are as frequent in both.
    is_telling = having * n_lacking >= _TIMES * lacking * n_having
    few = np.flatnonzero(is_telling & (lacking >= _ODDS * having) & (lacking >= _FEWEST))
    if len(few):
        few = few[np.argsort(-lacking[few] / np.maximum(having[few], 1), kind="stable")]
        k = few[0]
        warn(
            f"{len(few)} of {len(targets.names)} labels may be missing in documents that have their words: "
            f"{listed(targets.names[few].tolist(), 5)}. Of the documents with at least {100 * _PART:.0f} % of words of "
            f"{str(targets.names[k])!r}, {having[k]} have this label and {lacking[k]} do not. In these documents, the "
            "words went to the other labels, whose topics are then mixtures. Complete y, or leave out documents whose "
            "labels are not known."
        )


def documents_with_words(corpus, indicator, topics, shares, seed):
    """Of the documents that lack each label, and of those that have it, two arrays (2, n_labels).

    The first is the number of these documents that have words of the label, the second the number of all of them.
    """
    n_labels = indicator.shape[1]
    documents = np.flatnonzero((np.diff(indicator.indptr) > 0) & (corpus.lengths > 0))
    most = min(_MOST_DOCUMENTS, _MOST_PAIRS // n_labels)
    if len(documents) > most:
        documents = np.sort(np.random.default_rng(seed).choice(documents, most, replace=False))
    part = corpus.take(documents)
    alpha = np.maximum(_ALPHA * shares, 1e-6)[None, :]
    tokens = fold_in(part, topics, alpha, n_sweeps=_SWEEPS, seed=seed)[:, :n_labels]
    many = tokens >= np.maximum(_PART * part.lengths, _TOKENS)[:, None]
    has = indicator[documents].toarray() > 0
    return np.stack([many & ~has, many & has]).sum(axis=1), np.stack([~has, has]).sum(axis=1)
