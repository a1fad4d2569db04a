"""Leave-one-out scores: the probability of each document given all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from sklda._core import random
from sklda._core.arguments import check_int
from sklda._core.corpus import Corpus
from sklda._core.priors import Priors
from sklda._core.types import Counts, Model, Seed
from sklda._likelihood.held_out.leave_one_out import leave_one_out
from sklda._sampling.chain import ChainState
from sklda._sampling.collapsed import GibbsChain
from sklda._sampling.point_estimates import check_assignments
from sklda.metrics._models import Description, has_covariates, inner_model

_TRIPLE = "(topic_assignments, doc_topic_prior, topic_word_prior)"


def leave_one_out_score(
    estimator: Model,
    X: Counts,
    *,
    documents: ArrayLike | None = None,
    n_draws: int = 100,
    n_temperatures: int = 30,
    n_components: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Bunch:
    """Mean log probability of each training document given all others, to compare priors and numbers of topics.

    For document d, L_d = p(w_d | words of all other documents), with topics, proportions and assignments integrated
    out. The score is the mean of log L_d over documents, in nats per document; greater is better. It is the logarithm
    of the S(h) of George & Doss (Section 5.2) and of the S(T) of Chen & Doss (posterior predictive checking). It
    depends on the priors and on the number of topics, not on point estimates. So it compares models in which priors
    and numbers of topics differ.

    Parameters
    ----------
    estimator : estimator, pipeline, or triple (topic_assignments, doc_topic_prior, topic_word_prior)
        A fitted `GibbsLDA`, a pipeline or search that has one, or the topic of every token with alpha and eta. The
        chains begin at these topics. The topics should come from a chain that has converged, because the score is that
        of the posterior around their mode.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Word counts, those that the model was fitted to; with a pipeline, its input.
    documents : array-like of int, default=None
        Rows of the documents to leave out. None: all. A document takes about ``1.5 n_draws`` sweeps over the corpus for
        every 200 of its tokens. For a large corpus choose some documents at random, the same for all models.
    n_draws : int, default=100
        Draws of the chains, given all documents and given all but one. At least 10.
    n_temperatures : int, default=30
        Sweeps over a document in each annealing run.
    n_components : int, default=None
        Number of topics, only with a triple. None: one more than the largest topic given.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        An int gives the same result every time.
    n_jobs : int, default=None
        Documents that run at the same time, as in joblib; results do not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        - ``score``: mean over documents of ``log_likelihood``, nats.
        - ``std``: its Monte Carlo standard error, within the mode of the posterior in which the chains are.
        - ``log_likelihood`` (n_left_out,): log L_d, nats, without the multinomial coefficient; 0 for an empty document.
        - ``log_likelihood_std`` (n_left_out,): standard errors.
        - ``lower``, ``upper``: mean log-likelihoods from the chains without the document only, and from the chain with
          all documents only. They are on average too low and too high. A wide gap means that `n_draws` is too small.

    Raises
    ------
    ValueError
        If X is not a matrix of counts or not that of the fit or of the assignments, or an argument is out of range.
    TypeError
        If the model has labels, collections or covariates of documents, which this score does not know, or no topic
        assignments.

    Notes
    -----
    Given the topics of the other documents, the likelihood of a document is estimated without bias by annealing, with
    theta and phi integrated out. It goes forwards from chains without the document, and backwards from the chain of all
    documents. Both together give log L_d by Bennett's acceptance ratio. Documents of more than 200 tokens are left out
    piece by piece. The estimate is consistent; its bias is of the order of its squared error. The standard error is a
    jackknife over five batches of draws. It is too small if the draws of a chain are correlated over more than a fifth
    of it.

    References
    ----------
    George & Doss (2018). Principled selection of hyperparameters in the latent Dirichlet allocation model. JMLR 18.
    Equation 5.1.

    Chen & Doss. Inference for the number of topics in the latent Dirichlet allocation model via Bayesian mixture
    modelling. Equation 5.2.

    Bennett (1976). Efficient estimation of free energy differences from Monte Carlo data. J. Computational Physics 22.

    Examples
    --------
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.metrics import leave_one_out_score
    >>> X = make_lda_corpus(30, 20, 3, doc_length=30, random_state=0).data
    >>> good, bad = (GibbsLDA(3, doc_topic_prior=alpha, topic_word_prior=0.1, random_state=0) for alpha in (0.1, 10))
    >>> good, bad = (leave_one_out_score(lda.fit(X), X, n_draws=20, random_state=0) for lda in (good, bad))
    >>> bool(good.score > bad.score)
    True
    """
    for name, value, least in (("n_draws", n_draws, 10), ("n_temperatures", n_temperatures, 1)):
        check_int(value, name, least)
    fingerprint, estimator = None, Description.of(estimator).estimator
    if isinstance(estimator, tuple):
        if len(estimator) != 3:
            raise ValueError(f"model is a tuple of {len(estimator)}; arrays are given as a triple {_TRIPLE}.")
        topic_assignments, doc_topic_prior, topic_word_prior = estimator
    else:
        estimator, X = inner_model(estimator, X, "topic_assignments_", f"fit a GibbsLDA, or give a triple {_TRIPLE}")
        if n_components is not None:
            raise ValueError("n_components is for a triple of arrays; an estimator has its own.")
        topic_assignments, n_components = estimator.topic_assignments_, len(estimator.components_)
        doc_topic_prior, topic_word_prior = estimator.doc_topic_prior_, estimator.topic_word_prior_
        fingerprint = getattr(estimator, "_fingerprint_", None)
        own_priors = hasattr(estimator, "classes_"), hasattr(estimator, "collections_"), has_covariates(estimator)
        for has, what in zip(own_priors, ("labels", "collections", "covariates"), strict=True):
            if has:
                raise TypeError(
                    f"{type(estimator).__name__} has {what} of documents, which this score does not know. Give "
                    "a GibbsLDA, "
                    f"or a triple {_TRIPLE}."
                )
    corpus = Corpus.from_counts(X)
    if fingerprint not in (None, corpus.fingerprint):
        raise ValueError("X is different from the X of the fit, to which the topics of its tokens belong.")
    assignments, n_components = check_assignments(topic_assignments, corpus, n_components)
    priors = Priors.make(doc_topic_prior, topic_word_prior, n_components, corpus.n_features, corpus.n_documents)
    documents = _rows(documents, corpus)
    seed = random.seed_sequence(random_state)
    found = leave_one_out(
        GibbsChain(corpus, priors, ChainState(assignments, random.stream(random.child(seed, 0)))),
        documents,
        n_draws=n_draws,
        n_temperatures=n_temperatures,
        seed=random.child(seed, 1),
        n_jobs=n_jobs,
    )
    value, (lower, upper) = found.log_likelihood(), found.one_sided()
    replicates = found.jackknife()
    factor = np.sqrt(len(replicates) - 1)
    return Bunch(
        score=float(value.mean()),
        std=float(factor * replicates.mean(axis=1).std()),
        log_likelihood=value,
        log_likelihood_std=factor * replicates.std(axis=0),
        lower=float(lower.mean()),
        upper=float(upper.mean()),
    )


def _rows(documents, corpus):
    """Row numbers of documents, checked."""
    if documents is None:
        return np.arange(corpus.n_documents)
    rows = np.asarray(documents)
    if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
        raise ValueError(f"documents must be row numbers, got {documents!r}.")
    bad = (rows < 0) | (rows >= corpus.n_documents)
    if bad.any():
        raise ValueError(f"documents holds {rows[bad][0]}; X has rows 0 to {corpus.n_documents - 1}.")
    return rows
