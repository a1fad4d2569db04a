"""Compound LDA by variational EM (George, Xia & Michailidis 2019, appendix E)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._input.arguments import check_int
from sklda._input.memory import check_memory_of_results
from sklda._input.types import Counts, Seed
from sklda._models.compound.collections import encode
from sklda._models.compound.model import CompoundModel
from sklda._sampling.prior_learning import DefaultPrior
from sklda._sampling.run_chains import best_chain, in_rows
from sklda.papers.compound._ascent import VariationalAscent, maximise_bounds


def variational_em(
    X: Counts,
    collections: ArrayLike,
    n_components: int = 10,
    *,
    collection_topic_prior: float = 1.0,
    doc_concentration: float | None = None,
    topic_word_prior: ArrayLike | None = None,
    learn_priors: bool = True,
    max_iter: int = 500,
    n_chains: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Compound LDA by ascent on a lower bound of log p(w).

    The approximation is a product: topics, mixtures and proportions are independent Dirichlet variables. It understates
    the spread of the posterior, which `sklda.CompoundLDA` draws from.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts.
    collections : sequence of n_documents labels
        The collection of every document.
    n_components : int, default=10
        Number of topics, K.
    collection_topic_prior : float, default=1.0
        alpha, the Dirichlet parameter per topic of a collection's mixture.
    doc_concentration, topic_word_prior : float, default=None
        gamma and eta, as in `sklda.CompoundLDA`; `topic_word_prior` may be an array.
    learn_priors : bool, default=True
        Whether gamma and eta are learnt in every iteration, as far as they are None.
    max_iter : int, default=500
        Largest number of iterations.
    n_chains : int, default=1
        Number of ascents from independent starts. The results are those of the ascent with the highest bound.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Ascents that run at the same time. Results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``collections`` (n_collections,): the labels, the rows of the mixtures.
        - ``collection_topic``, ``collection_topic_std`` (n_collections, n_components): means and standard deviations of
          the mixtures under the approximation.
        - ``topic_word`` (n_components, n_features), ``doc_topic`` (n_documents, n_components): means of topics and
          proportions.
        - ``doc_concentration``, ``topic_word_prior``: gamma and eta.
        - ``bound`` (n_chains, n_iter): the lower bound of log p(w) after every iteration, in nats. NaN after the last
          iteration of a shorter ascent.
        - ``prior_trace`` (n_chains, n_iter, 2): gamma and the mean of eta in every iteration. Only if priors are
          learnt.

    Raises
    ------
    ValueError, TypeError
        If X is not a matrix of counts, or an argument is out of range.

    References
    ----------
    George, Xia & Michailidis (2019). Analyses of multi-collection corpora via compound topic modeling.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda.datasets import make_compound_lda_corpus
    >>> from sklda.papers.compound import variational_em
    >>> corpus = make_compound_lda_corpus([30, 30], 40, 3, random_state=0)
    >>> found = variational_em(corpus.data, corpus.collections, 3, max_iter=20, random_state=0)
    >>> found.collection_topic.shape, bool((np.diff(found.bound[0]) > 0).all())
    ((2, 3), True)
    """
    for name, given in (("n_components", n_components), ("max_iter", max_iter), ("n_chains", n_chains)):
        check_int(given, name, 1)
    corpus = Corpus.from_counts(X)
    if corpus.n_tokens == 0:
        raise ValueError(f"X has {corpus.n_documents} documents and no token at all.")
    labels, collection_of = encode(collections, corpus.n_documents)
    default = DefaultPrior.of(learn_priors, corpus.n_tokens, n_components)
    learn_eta = default.is_learnt and topic_word_prior is None
    first_eta: Any = default.value if topic_word_prior is None else topic_word_prior
    model = CompoundModel.make(
        collection_of,
        len(labels),
        n_components,
        alpha=float(collection_topic_prior),
        gamma=doc_concentration,
        default=default,
        learn_eta=learn_eta,
    )
    priors = Priors.make(1.0, first_eta, n_components, corpus.n_features)
    # An ascent has the proportions, and an iteration three more arrays of their size.
    check_memory_of_results(corpus, n_components, n_chains, n_rows=(n_chains + 3) * corpus.n_documents)
    seed = random.child(random.seed_sequence(random_state), 0)
    eta = float(first_eta) if learn_eta else None
    ascents = [
        VariationalAscent(corpus, priors, random.child(seed, c), model, model.alpha, model.gamma, eta)
        for c in range(n_chains)
    ]
    ascents = maximise_bounds(ascents, max_iter, n_jobs=n_jobs)
    best = ascents[best_chain(ascents)]
    mean, std = best.mixtures()
    found = Bunch(
        collections=labels,
        collection_topic=mean,
        collection_topic_std=std,
        topic_word=best.topic_word_parameter / best.topic_word_parameter.sum(axis=1, keepdims=True),
        doc_topic=best.doc_topic / best.doc_topic.sum(axis=1, keepdims=True),
        doc_concentration=best.gamma,
        topic_word_prior=first_eta if best.eta is None else best.eta,
        bound=in_rows([each.trace for each in ascents]),
    )
    if best.prior_trace:
        found.prior_trace = in_rows([np.reshape(each.prior_trace, (-1, 2)) for each in ascents])
    return found
