"""Fitted estimators from topic assignments that other programs have drawn."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, Self

from sklda._core import random
from sklda._core.types import Counts, Topics
from sklda._models.fitting import described
from sklda._sampling.chain import ChainState
from sklda._sampling.choice import chain_class
from sklda._sampling.point_estimates import check_assignments
from sklda._sampling.prior_learning import kind_of_learning


class AssignmentsMixin:
    """Estimators that can be made from topic assignments."""

    @classmethod
    def from_assignments(
        cls, X: Counts, topic_assignments: Topics, *, n_components: int | None = None, **parameters: Any
    ) -> Self:
        """A fitted estimator from topic assignments, as any Gibbs sampler for LDA draws them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        topic_assignments : array-like of int, shape (n_tokens,), or sequence of n_documents such arrays
            The topic of every token, document by document. The tokens of a document are in ascending order of word ids;
            a word of count c has c tokens. Topics are numbered from 0. `sklda.datasets.read_mallet_state` and
            `sklda.datasets.count_tokens` return them in this order.
        n_components : int, default=None
            Number of topics. None: the largest topic in `topic_assignments` plus one.
        **parameters
            Other parameters of the estimator. With `learn_priors`, priors that are None have their most likely values
            given the topic assignments.

        Returns
        -------
        GibbsLDA
            As after `fit`, without a sweep. With ``warm_start=True``, `fit` continues from the topic assignments.

        Raises
        ------
        ValueError, TypeError
            As `fit` and `sklda.point_estimates`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklda import GibbsLDA
        >>> X = np.array([[2, 1, 0], [0, 1, 2]])
        >>> lda = GibbsLDA.from_assignments(X, [0, 0, 0, 1, 1, 1], doc_topic_prior=0.5, topic_word_prior=0.5)
        >>> print(lda.doc_topic_.round(2))
        [[0.77 0.23]
         [0.23 0.77]]
        """
        lda: Any = cls(1 if n_components is None else n_components, **parameters)  # type: ignore[call-arg]
        lda._validate_params()
        corpus = lda._corpus(X, reset=True)
        topics, lda.n_components = check_assignments(topic_assignments, corpus, n_components)
        priors, learning = lda._prior_settings(corpus)
        seed = random.seed_sequence(lda.random_state)
        state = ChainState(topics, random.stream(random.child(seed, 0)))
        chain = chain_class(lda.sampler, corpus, priors)(corpus, priors, state)
        if learning is not None:
            m_step = learning.m_step
            m_step.set(chain, m_step.maximum([m_step.statistics(chain)], m_step.present(chain)))
        chain.record()
        chain.keep_draw(1)
        kind = kind_of_learning(lda.learn_priors)
        known = {
            "_fold_in_seed_": random.key(random.child(seed, 1)),
            "_learning_": learning and astuple(learning),
            "_settings_": {"n_components": lda.n_components, "n_chains": 1, "learn_priors": kind},
        }
        lda.__dict__.update(described(lda, known, [chain]), n_iter_=0)
        return lda
