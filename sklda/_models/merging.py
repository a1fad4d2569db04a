"""Merge topics of a fitted model into one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklda._core.consensus import consensus_of
from sklda._core.diagnostics import std_of_proportions
from sklda._core.priors import Priors
from sklda._core.types import Model
from sklda._models.compound.estimator import CompoundLDA
from sklda._models.compound.hdp_estimator import HDPLDA
from sklda._models.consensus.estimator import ConsensusTopics
from sklda._models.consensus.fits import share_std, topics_of
from sklda._models.covariates.estimator import CovariateLDA
from sklda._models.empirical_bayes.estimator import EmpiricalBayesLDA
from sklda._models.gibbs import GibbsLDA
from sklda._models.labels.estimator import LabeledLDA
from sklda._models.results import ChainResults
from sklda._models.topic_count.estimator import TopicCountLDA
from sklda._models.topic_names import checked, topic_names
from sklda._models.variational.estimator import CollapsedVariationalLDA
from sklda._sampling.chain import ChainState, compact_topics
from sklda._sampling.draws import variance_of_draws
from sklda._sampling.matching import nearest_distances
from sklda.metrics._models import up_to_topics


def merge_topics(model: Model, groups: Any) -> Model:
    """A fitted estimator in which groups of topics are one topic each.

    A fit often splits a subject into several topics. The proportion of a merged topic in a document is the sum of the
    proportions of its parts. Its distribution over words is the mean of theirs, weighted by their shares.

    Parameters
    ----------
    model : estimator, or pipeline or search that has one
        Fitted: `GibbsLDA`, `EmpiricalBayesLDA`, `TopicCountLDA`, `CompoundLDA`, `CollapsedVariationalLDA` or
        `ConsensusTopics`. It does not change.
    groups : list of groups, or dict of {str: group}
        Each group is a list of at least two topics, by number or by name. No topic is in two groups. The keys of a dict
        become names.

    Returns
    -------
    estimator or pipeline
        The merged topic has the place of the first topic of its group; the others move up. An estimator keeps its
        class, but `EmpiricalBayesLDA` and `TopicCountLDA` become a `GibbsLDA` with their priors, and with its defaults
        of `max_iter` and `tol`. Names stay, and a merged topic without a name in `groups` has the names of its parts,
        such as "sport + football". Steps of a pipeline behind the topics, such as a classifier, are left out, because
        they were fitted to topics that are merged now.

        A fitted attribute that has no meaning for merged topics is absent, and its error says so: posteriors of the
        priors and of the number of topics, traces and diagnostics of the chains. From `ConsensusTopics`,
        `doc_topic_std_` and `split_half_agreement_` are absent.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If topics of this model cannot be merged. For `LabeledLDA`, merge the labels and fit again. For `CovariateLDA`,
        a sum of alphas does not have the form exp(x . lambda).
    ValueError
        If a topic is unknown or in two groups, a group has fewer than two topics, or a name occurs twice.

    Notes
    -----
    If theta has a Dirichlet distribution with parameters ``alpha_k + n_dk``, the sums over groups have a Dirichlet
    distribution with the sums of the parameters. So alpha and the counts of a merged topic are sums, and ``transform``,
    ``sample_posterior`` and ``doc_topic_std_`` of the result are those of the model with these priors.

    The same holds for topics. Let the parts of a merged topic have weights w with a Dirichlet distribution whose
    parameters are the sums of ``m_kv + eta_kv`` over words. Then the products ``w_k phi_kv`` together have a Dirichlet
    distribution with the parameters ``m_kv + eta_kv``, and ``sum_k w_k phi_kv`` has one with their sums over k. So
    ``components_`` and eta are sums too. phi is the mean of the parts, weighted by their shares of the tokens with the
    prior included: the sums of rows of ``components_``. For `ConsensusTopics` it is the centre of the fits, in each of
    which the parts are weighted by their shares.

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
    if isinstance(model, FrozenEstimator):
        return merge_topics(model.estimator, groups)
    if hasattr(model, "best_estimator_"):
        return merge_topics(model.best_estimator_, groups)
    if isinstance(model, Pipeline):
        merged = copy.copy(up_to_topics(model))
        name, topics = merged.steps[-1]
        merged.steps = [*merged.steps[:-1], (name, merge_topics(topics, groups))]
        return merged
    merge = next((own for kind, own in _WAYS.items() if isinstance(model, kind)), None)
    if merge is None:
        advice = next((own for kind, own in _ADVICE.items() if isinstance(model, kind)), "")
        raise TypeError(f"the topics of {type(model).__name__} cannot be merged.{advice}")
    check_is_fitted(model)
    _check_same_topics(model)
    place, names = _new_topics(model, groups)
    _check_not_fixed(model, place)
    merged = merge(model, _Sums(place))
    if names is not None:
        merged.set_topic_names(names)
    return merged


def _check_same_topics(model):
    """Raise a ValueError if the topics of a fit were replaced by more or fewer."""
    K = model._n_features_out
    known = {name: np.shape(vars(model)[name])[-1:] for name in ("doc_topic_", "topic_share_") if name in vars(model)}
    results = vars(model).get("_results_")
    if isinstance(results, ChainResults):
        known["topic_assignments_"] = (results.draws[results.best].priors.n_components,)
    for name, n in known.items():
        if n != (K,):
            raise ValueError(f"components_ has {K} topics, but {name} has {n[0] if n else 'no'} topics: fit again.")


def _check_not_fixed(model, place):
    """Raise a ValueError if a group has a known topic that is fixed: its prior outweighs any number of tokens."""
    fixed = np.flatnonzero(np.isinf(getattr(model, "known_weight_", ())))
    for k in fixed:
        if np.count_nonzero(place == place[k]) > 1:
            raise ValueError(
                f"topic {k} is a known topic with an infinite weight, which cannot be merged with others: add its "
                "columns of doc_topic_ to theirs, or fit with a finite known_weight."
            )


class _Sums:
    """Sums over groups of topics.

    Attributes
    ----------
    place : ndarray of shape (n_components,)
        The new number of every topic.
    n_merged : int
    """

    def __init__(self, place):
        self.place, self.n_merged = place, int(place.max()) + 1
        self._sums = np.zeros((len(place), self.n_merged))
        self._sums[np.arange(len(place)), place] = 1

    def columns(self, values):
        """Sums over topics as the last dimension."""
        return (values @ self._sums).astype(np.asarray(values).dtype, copy=False)

    def rows(self, values):
        """Sums over topics as the first dimension."""
        return (self._sums.T @ values).astype(np.asarray(values).dtype, copy=False)

    def alpha(self, alpha):
        """alpha, a float or one for each topic."""
        return np.broadcast_to(alpha, len(self.place)) @ self._sums

    def eta(self, eta, n_features):
        """eta, a float, or an array over words or over topics and words, (n_merged, n_features)."""
        if np.ndim(eta) == 2:
            return self._sums.T @ eta
        return self._sums.sum(axis=0)[:, None] * np.broadcast_to(eta, n_features)

    def priors(self, priors):
        """`Priors` of a chain."""
        V = priors.shape[1]
        eta = self.eta(priors.topic_word() if len(priors.topic) else priors.word, V)
        return Priors.make(self.alpha(priors.doc[0]), eta, self.n_merged, V)

    def topics(self, z):
        """Assignments, in the smallest type."""
        return compact_topics(self.place[z], self.n_merged)

    def draws(self, draws):
        """`KeptDraws` of a chain."""
        merged = [draw._replace(topics=self.topics(draw.topics), added=self._added(draw.added)) for draw in draws.draws]
        return replace(draws, priors=self.priors(draws.priors), draws=merged)

    def _added(self, added):
        """What steps have added to a draw."""
        return added | ({"mixtures": self.columns(added["mixtures"])} if "mixtures" in added else {})

    def record(self, record, n_features):
        """What a chain has for itself, as far as it has a meaning for merged topics."""
        merged = {name: record[name] for name in ("doc_concentration_",) if name in record}
        if "doc_topic_prior_" in record:
            merged["doc_topic_prior_"] = self.alpha(record["doc_topic_prior_"])
        return merged | {"topic_word_prior_": self.eta(np.asarray(record["topic_word_prior_"]), n_features)}

    def means(self, means):
        """`PosteriorMeans` of a chain."""
        return type(means)(self.rows(means.components), self.columns(means.doc_topic), self.columns(means.topic_shares))


def _new_topics(model, groups):
    """The new number of every topic, and the names of the new topics or None."""
    K = model._n_features_out
    known = topic_names(model, K)
    titles = list(groups) if isinstance(groups, Mapping) else None
    groups = _checked_groups(groups, K, known)
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
    return place, checked(list(names.values()), len(kept), "names")


def _checked_groups(groups, K, names):
    """Lists of topic numbers."""
    groups = list(groups.values()) if isinstance(groups, Mapping) else groups
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__") or not len(groups):
        raise ValueError(f"groups must hold at least one group of topics, got {groups!r}.")
    found, taken = [], set()
    for i, group in enumerate(groups):
        if isinstance(group, (str, bytes)) or not hasattr(group, "__len__"):
            raise TypeError(f"groups[{i}] is {group!r}: a group is a list of topics, as in [[0, 3], [2, 5]].")
        numbers = []
        for topic in group:
            k = names.index(topic) if names is not None and isinstance(topic, str) and topic in names else topic
            if isinstance(k, bool) or not isinstance(k, Integral) or not 0 <= k < K:
                known = "" if names is None else ", or their names"
                raise ValueError(f"groups[{i}] has {topic!r}: topics are numbers from 0 to {K - 1}{known}.")
            if k in taken:
                raise ValueError(f"topic {topic!r} is twice in groups: a topic belongs to one group.")
            taken.add(int(k))
            numbers.append(int(k))
        if len(numbers) < 2:
            raise ValueError(f"groups[{i}] has {len(numbers)} topics: a group has at least two.")
        found.append(sorted(numbers))
    return found


def _merged_gibbs(model, sums):
    """A `GibbsLDA` with all chains of a model whose priors are the same in all documents."""
    V = model.n_features_in_
    alpha = sums.alpha(model.doc_topic_prior_)
    eta = sums.eta(np.asarray(model.topic_word_prior_), V)
    own = signature(GibbsLDA).parameters
    # Seed words and known topics are in eta, and a first state that was given has other topics.
    left_out = {"seed_words", "known_topics", "known_weight"}
    if not isinstance(model, GibbsLDA):
        # They have another meaning there.
        left_out |= {"max_iter", "tol"}
    given = {k: v for k, v in model.get_params(deep=False).items() if k in own and k not in left_out}
    given["init"] = given["init"] if isinstance(given.get("init"), str) else "anneal"
    merged = GibbsLDA(
        **given
        | {
            "n_components": sums.n_merged,
            "n_chains": len(model._results_.states),
            "learn_priors": False,
            "doc_topic_prior": alpha,
            "topic_word_prior": eta,
            "warm_start": False,
        }
    )
    settings = {name: getattr(merged, name) for name in GibbsLDA._continued}
    vars(merged).update(_of_input(model), _learning_=None, _settings_=settings)
    _set_chains(merged, model, sums)
    merged.__dict__ |= {"doc_topic_prior_": alpha.copy(), "topic_word_prior_": eta.copy()}
    return merged


def _of_input(model):
    """Attributes that do not depend on the topics."""
    names = (
        "n_features_in_",
        "feature_names_in_",
        "_fold_in_seed_",
        "_fingerprint_",
        "_used_tokens_",
        "n_iter_",
        "n_burn_in_",
        "best_chain_",
    )
    return {name: vars(model)[name] for name in names if name in vars(model)}


def _set_chains(estimator, model, sums):
    """Set the attributes of merged topics in all chains of a model."""
    merged = copy.copy(model._results_)
    merged.means = list(merged.means)
    merged.means[merged.best] = replace(
        merged.means[merged.best], components=model.components_, doc_topic=model.doc_topic_
    )
    chains = zip(merged.orders, merged.states, merged.draws, merged.records, merged.means, strict=True)
    own = [_of_chain(sums, model.n_features_in_, *each) for each in chains]
    merged.states, merged.draws, merged.records, merged.means = map(list, zip(*own, strict=True))
    # Merged topics have the order of the kept chain.
    same = np.arange(sums.n_merged)
    merged.compare(lambda kept, other, has_words: (same, nearest_distances(kept, other, has_words)))
    merged.traces = {}
    estimator._set_chain_results(merged)


def _of_chain(sums, n_features, order, state, draws, record, means):
    """The same of one chain, whose topics have the numbers `order`."""
    place = np.empty_like(sums.place)
    place[order] = sums.place
    own = _Sums(place)
    return (
        ChainState(own.topics(state.topics), state.stream),
        own.draws(draws),
        own.record(record, n_features),
        own.means(means),
    )


def _copied(model, names):
    """A copy with its parameters and those of the attributes that do not depend on the topics."""
    merged = copy.copy(model)
    merged.__dict__ = {name: value for name, value in vars(model).items() if not name.endswith("_") or name in names}
    merged.__dict__.update(_of_input(model))
    return merged


def _merged_compound(model, sums):
    names = "collections_", "doc_concentration_", "_model_", "_settings_"
    merged = _copied(model, names).set_params(n_components=sums.n_merged)
    eta = sums.eta(np.asarray(model.topic_word_prior_), model.n_features_in_)
    found = {"topic_word_prior_": eta}
    # That of the HDP has no prior of its own.
    if hasattr(model, "collection_topic_prior_"):
        found["collection_topic_prior_"] = sums.alpha(model.collection_topic_prior_)
    if np.ndim(model.topic_word_prior) == 2:
        merged.topic_word_prior = eta.copy()
    for name in ("doc_topic_prior_", "collection_topic_", "corpus_topic_", "collection_topic_draws_"):
        if hasattr(model, name):
            found[name] = sums.columns(getattr(model, name))
    _set_chains(merged, model, sums)
    if len(found["collection_topic_draws_"]) > 1:
        found["collection_topic_std_"] = std_of_proportions(variance_of_draws(found["collection_topic_draws_"]))
    merged.__dict__.update(found)
    return merged


def _merged_variational(model, sums):
    names = "n_batch_iter_", "_position_", "_documents_"
    merged = _copied(model, names).set_params(n_components=sums.n_merged)
    alpha = sums.alpha(model.doc_topic_prior_)
    eta = sums.eta(np.asarray(model.topic_word_prior_), model.n_features_in_)
    merged.set_params(doc_topic_prior=alpha, topic_word_prior=eta, learn_priors=False)
    given = {"doc_topic_prior": alpha, "topic_word_prior": eta, "learn_priors": False}
    found = {"doc_topic_prior_": alpha.copy(), "topic_word_prior_": eta.copy(), "_given_": copy.deepcopy(given)}
    found["components_"] = sums.rows(model.components_)
    for name in ("doc_topic_", "topic_share_"):
        if hasattr(model, name):
            found[name] = sums.columns(getattr(model, name))
    merged.__dict__.update(found)
    return merged


def _merged_consensus(model, sums):
    merged = _copied(model, ("estimators_", "_topic_shares_", "_share_draws_", "_resampled_"))
    members = [
        np.concatenate([model.members_[k] for k in np.flatnonzero(sums.place == c)]) for c in range(sums.n_merged)
    ]
    found = consensus_of([topics_of(each) for each in model.estimators_], model._topic_shares_, members)
    merged._set_topics(found)
    merged.__dict__ |= {
        "doc_topic_": sums.columns(model.doc_topic_),
        "topic_share_": found.share,
        "topic_share_std_": share_std(model._share_draws_, found.members),
    }
    return merged


_WAYS = {
    ConsensusTopics: _merged_consensus,
    CollapsedVariationalLDA: _merged_variational,
    CompoundLDA: _merged_compound,
    HDPLDA: _merged_compound,
    GibbsLDA: _merged_gibbs,
    EmpiricalBayesLDA: _merged_gibbs,
    TopicCountLDA: _merged_gibbs,
}

_ADVICE = {
    LabeledLDA: " Merge the labels in y, and fit again.",
    CovariateLDA: " A sum of alphas does not have the form exp(x . lambda): fit again with fewer topics.",
}
