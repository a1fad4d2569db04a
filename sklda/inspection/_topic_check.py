"""A check of every topic: whether its words depend on documents, or on groups of documents."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import DataFrame

from sklda._core import random
from sklda._core.word_information import TopicDocuments, TopicTokens, deviations
from sklda._description.view import view
from sklda._input.arguments import check_int
from sklda._input.types import Data, Model, Seed, Values
from sklda.inspection._groups import groups_to_compare
from sklda.inspection._tokens import Tokens

# Replicates of all draws together. The error of their standard deviation is six per cent.
_REPLICATES = 150


def topic_check(
    estimator: Model,
    X: Data | None = None,
    *,
    groups: ArrayLike | None = None,
    clusters: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    topics: Values | None = None,
    n_draws: int = 15,
    n_words: int = 3,
    random_state: Seed = None,
) -> DataFrame:
    """Whether the words of every topic depend on the documents, or on groups of documents.

    In the model, the words of the tokens of a topic are independent of everything else. So their mutual information
    with documents or groups must be that of chance (Mimno & Blei 2011). The topics of tokens are posterior draws.

    Parameters
    ----------
    estimator : estimator, or pipeline or search that has one
        A fitted estimator of this package.
    X : array-like, sparse matrix, or whatever a pipeline takes
        Documents, as word counts. If they are those of the fit, topics of tokens are the last draws of its best chain.
        Otherwise they are drawn given the topics of the model.
    groups : sequence of n_documents hashable labels, default=None
        Of the documents. None: every document is a group.
    clusters : sequence of n_documents labels, default=None
        The source, author or book of every document, if documents of one are not independent; only with `groups`. None:
        documents are independent.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents that count and lack a value of an argument: an error that names them, or they are left
        out and a warning says so.
    topics : sequence of int or str, default=None
        Topics of the table, by number or name. None: all.
    n_draws : int, default=15
        Number of posterior draws. Fewer, if the fit kept fewer.
    n_words : int, default=3
        How many of a topic's most probable words are in its label, if it has no name.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the draws.

    Returns
    -------
    pandas.DataFrame
        A row for every topic, the worst first, with these columns:

        - ``topic``, and ``name``: the number with the name or the words
        - ``tokens``: mean number of tokens
        - ``information``: mutual information of words and groups, in bits for each token
        - ``excess``: how far this is above the mean of the replicates. It does not grow with the corpus.
        - ``z``: the same in standard deviations of replicates in which the words of the topic's tokens are permuted
        - ``z_std``: Monte Carlo error of z; NaN with one draw
        - ``excess_documents``, ``z_documents`` and ``z_documents_std``: the same against replicates in which documents
          (with `clusters`, all documents of a cluster together) keep their lengths and their repeated words, and groups
          do not differ; only with `groups`

        The order is that of ``z_documents`` with `groups`, and that of ``excess`` without. A z is NaN if all replicates
        are equal, as in a topic of a single group.

    Raises
    ------
    ValueError
        If X has no counts, `groups` or `clusters` has another length or fewer than two labels, there are clusters
        without groups, or an argument is out of range.
    TypeError
        If the model has no posterior draws of the topics of tokens.

    See Also
    --------
    group_words : The words by which groups differ.

    Notes
    -----
    **How to read it.** A ``z`` above 3 says that the words of a topic are not those of the model. In real documents a
    word that occurs once is likely to occur again, so with documents as groups nearly all topics deviate. The order by
    ``excess`` then says which topics are the least uniform, such as two subjects in one topic. With `groups`,
    ``z_documents`` does not count such repeats as a difference of groups, and ``z`` does.

    **How well it is calibrated.** In corpora drawn from the model, z is about standard normal. For a single draw this
    is exact. The mean over draws has a smaller variance: that of a single draw, less that between draws. The second is
    estimated from the topics of the table with a deviation below 3, so z is slightly conservative if there are few.

    **What the replicates of documents are.** Each document deviates from the words of the topic. In a replicate this
    deviation has a random sign (Liu 1988), so the groups may have documents of different lengths. In simulations with
    words that repeat, 15 words a document in one group and 150 in the other, ``z_documents`` has the mean 0 and the
    standard deviation 1. The information is a chi-square here, in bits. It is the mutual information if groups differ
    little.

    **Authors with words of their own** make groups of authors differ. With `clusters`, all documents of a cluster have
    the same sign, so a group must differ by more than its authors do. A cluster may have documents in several groups. A
    group of a single cluster has no large ``z_documents``, because nothing tells its words from those of its cluster.

    References
    ----------
    Liu (1988). Bootstrap procedures under some non-i.i.d. models. Annals of Statistics 16.

    Mimno & Blei (2011). Bayesian checking for topic models. EMNLP.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import topic_check
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = topic_check(lda, X, groups=np.arange(60) % 2, random_state=0)
    >>> bool((table["z"] < 4).all())
    True
    """
    n_draws = check_int(n_draws, "n_draws", 1)
    if groups is None and clusters is not None:
        raise ValueError("clusters are those of the documents of groups: give groups, too.")
    found = view(estimator, X, needs="counts", groups=groups, clusters=clusters, missing=missing)
    tokens, chosen = Tokens(found), found.chosen(topics)
    seed, documents = random.seed_sequence(random_state), found.corpus.token_documents
    group_of, unit_of = documents, documents
    if groups is not None:
        _, group_of_document, unit_of_document = groups_to_compare(found)
        group_of = group_of_document[documents]
        unit_of = documents if unit_of_document is None else unit_of_document[documents]
    draws = tokens.draws(n_draws, random.child(seed, 0))
    # The results of a topic do not depend on which others are asked for.
    rngs = [np.random.default_rng(random.child(seed, 1, int(k))) for k in chosen]
    n_tokens, of_tokens, of_documents = np.zeros((3, len(chosen), len(draws)))
    n_replicates = max(-(-_REPLICATES // len(draws)), 2)
    tokens_permuted, signs_drawn = np.zeros((2, len(chosen), len(draws), n_replicates))
    for i, z in enumerate(draws):
        order = np.argsort(z, kind="stable")
        ends = np.searchsorted(z[order], np.arange(found.n_topics + 1))
        for j, k in enumerate(chosen):
            at = order[ends[k] : ends[k + 1]]
            at = at[group_of[at] >= 0]
            own = TopicTokens(found.corpus.words[at], group_of[at])
            n_tokens[j, i], of_tokens[j, i] = own.n, own.information()
            tokens_permuted[j, i] = [own.with_words_permuted(rngs[j]) for _ in range(n_replicates)]
            if groups is not None and len(at):
                whole = TopicDocuments(found.corpus.words[at], unit_of[at], group_of[at])
                of_documents[j, i] = whole.information()
                signs_drawn[j, i] = [whole.with_random_signs(rngs[j]) for _ in range(n_replicates)]
    columns = {
        "topic": chosen,
        "name": np.array(found.labels(chosen, n_words), dtype=object),
        "tokens": n_tokens.mean(axis=1),
        "information": of_tokens.mean(axis=1),
    }
    columns |= zip(("excess", "z", "z_std"), deviations(of_tokens, tokens_permuted), strict=True)
    if groups is not None:
        keys = "excess_documents", "z_documents", "z_documents_std"
        columns |= zip(keys, deviations(of_documents, signs_drawn), strict=True)
    by = columns["excess" if groups is None else "z_documents"]
    worst = np.argsort(-np.nan_to_num(by, nan=-np.inf), kind="stable")
    return DataFrame({name: column[worst] for name, column in columns.items()})
