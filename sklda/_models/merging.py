"""Merge topics of a fitted model into one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklda._description.models import Description, unwrap
from sklda._input.arguments import is_whole
from sklda._input.dask_arrays import is_dask
from sklda._input.names import read_topic_names, topic_names
from sklda._input.types import Counts, Model
from sklda._models.base import BaseLDA
from sklda._models.chain_lda import ChainLDA
from sklda._models.consensus.estimator import ConsensusTopics
from sklda._models.results import ChainResults, shares_with_std
from sklda._sampling.draws import TopicGroups, doc_topic_std

# Fitted attributes of all models that do not depend on the topics.
_SAME = "n_features_in_", "feature_names_in_", "n_iter_", "_fold_in_seed_", "_fingerprint_", "_used_tokens_"
_ONE_FIT = "merged topics belong to one fit: fit the model, and merge its topics again."


def merge_topics(model: Model, topics: Any) -> Model:
    """A fitted model in which groups of topics are one topic each.

    A fit often splits a subject into several topics. The proportion of a merged topic in a document is the sum of the
    proportions of its parts. Its distribution over words is the mean of theirs, weighted by their shares.

    Parameters
    ----------
    model : estimator, pipeline or search that has one, or a description of these
        Any fitted estimator of sklda. It does not change.
    topics : list of groups, or dict of {str: group}
        Each group is a list of at least two topics, by number or by name. No topic is in two groups. The keys of a dict
        become names.

    Returns
    -------
    estimator, pipeline or description
        The merged topic has the place of the first topic of its group; the others move up. The result is for
        ``transform``, ``score``, ``doc_topic_posterior``, ``sample_posterior`` and all functions of
        `sklda.inspection` and `sklda.metrics`; it cannot be fitted. It has the model as it is now, ``model``, and sums
        of its ``components_``, ``doc_topic_``, ``doc_topic_prior_``, ``topic_word_prior_`` and ``topic_share_``, with
        their standard deviations. What else a fit has, such as chains, traces, mixtures of collections and
        coefficients, belongs to the topics of the model. `ConsensusTopics` stays one; it lacks ``doc_topic_std_`` and
        ``split_half_agreement_``.

        Names stay, and a merged topic without a name in `topics` has the names of its parts, such as "sport +
        football". Steps of a pipeline behind the topics, such as a classifier, are left out, because they were fitted
        to topics that are merged now.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If the model is not an estimator of sklda.
    ValueError
        If a topic is unknown or in two groups, a group has fewer than two topics, or a name occurs twice.

    Notes
    -----
    If theta has a Dirichlet distribution with parameters ``alpha_k + n_dk``, the sums over groups have a Dirichlet
    distribution with the sums of the parameters. So alpha and the counts of a merged topic are sums, and draws of theta
    are sums of the draws of the model.

    The same holds for topics. Let the parts of a merged topic have weights w with a Dirichlet distribution whose
    parameters are the sums of ``m_kv + eta_kv`` over words. Then the products ``w_k phi_kv`` together have a Dirichlet
    distribution with the parameters ``m_kv + eta_kv``, and ``sum_k w_k phi_kv`` has one with their sums over k. So
    ``components_`` and eta are sums too.

    Because the merged topic is one distribution over words, held-out likelihood falls when topics that differ are
    merged.

    Examples
    --------
    >>> from sklda import GibbsLDA, merge_topics
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(40, 30, 4, random_state=0).data
    >>> lda = GibbsLDA(4, max_iter=30, random_state=0).fit(X)
    >>> merged = merge_topics(lda, [[1, 3]])
    >>> merged.components_.shape, bool((merged.doc_topic_[:, 1] == lda.doc_topic_[:, [1, 3]].sum(axis=1)).all())
    ((3, 30), True)
    """
    described, is_described = Description.of(model), isinstance(model, Description)
    model, pipelines = unwrap(described)
    if not isinstance(model, (BaseLDA, ConsensusTopics)):
        raise TypeError(f"the topics of {type(model).__name__} cannot be merged: it is not an estimator of sklda.")
    check_is_fitted(model)
    _check_same_topics(model)
    place, names = _new_topics(model, topics, described.topic_names)
    if isinstance(model, ConsensusTopics):
        merged = model._merged(place)
    else:
        if isinstance(model, MergedTopics):
            # Topics that were merged before are sums of the topics of one model.
            model, place = model.model, place[model._place]
            topics = [own.tolist() for k in range(place.max() + 1) if len(own := np.flatnonzero(place == k)) > 1]
        merged = MergedTopics(_as_it_is(model), topics)
        merged._set_sums(place)
    if names is not None:
        merged.set_topic_names(names)
    for pipeline in reversed(pipelines):
        steps, merged = [*pipeline.steps[:-1], (pipeline.steps[-1][0], merged)], copy.copy(pipeline)
        merged.steps = steps
    return replace(described, estimator=merged, topic_names=None) if is_described else merged


class MergedTopics(BaseLDA):
    """A fitted model, some of whose topics are one; see `merge_topics`, which makes it."""

    _parameter_constraints = {"model": "no_validation", "topics": "no_validation"}
    # There is nothing to save while it runs.
    _samples = False

    def __init__(self, model: BaseLDA, topics: Any) -> None:
        self.model = model
        self.topics = topics

    def _set_sums(self, place):
        """Set the fitted attributes; `place` is the new number of every topic of the model."""
        model = self.model
        self._place = place
        self.n_jobs = model.n_jobs
        for name in _SAME:
            if name in vars(model):
                setattr(self, name, getattr(model, name))
        if isinstance(model, ChainLDA):
            vars(self).update(model._prior_of_documents_.facts())
        self.components_ = self._sums(np.asarray(model.components_).T).T
        self.doc_topic_prior_ = self._sums(np.broadcast_to(model.doc_topic_prior_, len(place)))
        eta = np.broadcast_to(np.asarray(model.topic_word_prior_, dtype=float), model.components_.shape)
        self.topic_word_prior_ = self._sums(eta.T).T
        for name in ("doc_topic_", "topic_share_"):
            if hasattr(model, name):
                setattr(self, name, self._sums(getattr(model, name)))
        if hasattr(model, "topic_assignments_"):
            # Tokens of documents without topics have the number -1.
            number, topics = np.append(place, -1).astype(np.int32), model.topic_assignments_
            # Blocks of a Dask array stay on their workers.
            is_lazy = is_dask(topics)
            self.topic_assignments_ = topics.map_blocks(number.take, dtype=np.int32) if is_lazy else number[topics]
        results = vars(model).get("_results_")
        if isinstance(results, ChainResults):
            pairs = zip(results.means, results.orders, strict=True)
            shares = [self._sums(means.topic_shares[:, order]) for means, order in pairs]
            self.topic_share_std_ = shares_with_std(shares[results.best], shares)[1]

    def _sums(self, values):
        """Sums over the topics of the model, which are the last dimension, for each topic."""
        sums = [values[..., self._place == k].sum(axis=-1) for k in range(self._place.max() + 1)]
        return np.stack(sums, axis=-1)

    @cached_property
    def doc_topic_std_(self) -> np.ndarray:
        """Posterior standard deviations of the proportions within the kept chain, (n_documents, n_topics)."""
        results: Any = vars(self.model).get("_results_")
        draws = None if results is None else results.kept_draws()
        if draws is None:
            raise AttributeError(f"{type(self.model).__name__} keeps no draws, so sums have no doc_topic_std_.")
        return doc_topic_std(results.corpus, draws, TopicGroups(self._place, len(self.components_)))

    def fit(self, X: Counts, y: Any = None) -> Any:
        """Not possible: groups of topics belong to one fit."""
        raise TypeError(_ONE_FIT)

    def _set_results(self, chains):
        raise TypeError(_ONE_FIT)

    def transform(self, X: Counts, **options: Any) -> np.ndarray:
        """Topic proportions of documents: sums of those of the model, whose `transform` has the options.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Word counts.
        **options : object
            ``normalize``, and ``collections`` or ``covariates`` of a model that has them.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
        """
        theta = self.model.transform(X, **options)
        return self._sums(theta.to_numpy() if hasattr(theta, "to_numpy") else theta)

    def document_prior(self, values: Any) -> np.ndarray:
        """The Dirichlet parameter of theta by covariates, (n_documents, n_topics): sums of that of the model."""
        return self._sums(self.model.document_prior(values))

    def _prior_of_training(self):
        return self._sums(self.model._prior_of_training())

    @property
    def _has_posterior(self):
        return self.model._has_posterior

    def _has_topics(self):
        # A chain that lacks a part has not the whole.
        lacks = ~self.model._has_topics()
        return self._sums(lacks) == 0

    def _known_groups(self):
        return self.model._known_groups()

    def _draw_doc_topic(self, n_draws, seed):
        return map(self._sums, self.model._draw_doc_topic(n_draws, seed))

    def _draw_topic_word(self, n_draws, seed):
        weights = np.asarray(self.model.components_).sum(axis=1, dtype=np.float64)
        for phi in self.model._draw_topic_word(n_draws, seed):
            yield self._mixtures(phi, weights)

    def _sample_posterior(self, n_draws, seed):
        theta, phi = self.model._sample_posterior(n_draws, seed)
        # Shares of the topics in the tokens, by each draw. Those of a tiny prior may all be zero, and count equally.
        shares = np.einsum("d,sdk->sk", self.model._used_tokens_, theta, dtype=np.float64)
        shares = np.maximum(shares, 1e-100)
        topics = [self._mixtures(own, weights) for own, weights in zip(phi, shares, strict=True)]
        return self._sums(theta), np.array(topics, dtype=phi.dtype)

    def _mixtures(self, phi, weights):
        """Means of topics as distributions over words, weighted."""
        return self._sums(phi.T * weights).T / self._sums(weights)[:, None]


def _as_it_is(model):
    """The model with its present attributes: another fit of the estimator does not change merged topics."""
    found = type(model).__new__(type(model))
    vars(found).update(vars(model))
    return found


def _check_same_topics(model):
    """Raise a ValueError if the topics of a fit were replaced by more or fewer."""
    K = model._n_features_out
    for name in ("doc_topic_", "topic_share_"):
        n = np.shape(getattr(model, name, np.zeros(K)))[-1]
        if n != K:
            raise ValueError(f"components_ has {K} topics, but {name} has {n} topics: fit again.")


def _new_topics(model, topics, given):
    """The new number of every topic, and the names of the new topics or None."""
    K = model._n_features_out
    known = topic_names(model, K, given)
    titles = list(topics) if isinstance(topics, Mapping) else None
    groups = _checked_groups(topics, K, known)
    first = np.arange(K)
    for group in groups:
        first[group] = min(group)
    kept, place = np.unique(first, return_inverse=True)
    if known is None and titles is None:
        return place, None
    old = [f"topic {k}" for k in range(K)] if known is None else known
    names = {k: old[k] for k in kept}
    for i, group in enumerate(groups):
        names[min(group)] = " + ".join(old[k] for k in group) if titles is None else titles[i]
    return place, read_topic_names(list(names.values()), len(kept), "names")


def _checked_groups(topics, K, names):
    """Lists of topic numbers."""
    groups = list(topics.values()) if isinstance(topics, Mapping) else topics
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__") or not len(groups):
        raise ValueError(f"topics must hold at least one group of topics, got {groups!r}.")
    found, taken = [], set()
    for i, group in enumerate(groups):
        if isinstance(group, (str, bytes)) or not hasattr(group, "__len__"):
            raise TypeError(f"topics[{i}] is {group!r}: a group is a list of topics, as in [[0, 3], [2, 5]].")
        numbers = []
        for topic in group:
            k = names.index(topic) if names is not None and isinstance(topic, str) and topic in names else topic
            if not is_whole(k) or not 0 <= k < K:
                known = "" if names is None else ", or their names"
                raise ValueError(f"topics[{i}] has {topic!r}: topics are numbers from 0 to {K - 1}{known}.")
            if k in taken:
                raise ValueError(f"topic {topic!r} is twice in topics: a topic belongs to one group.")
            taken.add(int(k))
            numbers.append(int(k))
        if len(numbers) < 2:
            raise ValueError(f"topics[{i}] has {len(numbers)} topics: a group has at least two.")
        found.append(sorted(numbers))
    return found
