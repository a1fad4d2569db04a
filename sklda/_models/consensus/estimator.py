"""ConsensusTopics: the topics that several fits of a topic model have in common."""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils import Bunch, check_scalar, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from sklda._core import random
from sklda._core.diagnostics import std_of_proportions
from sklda._description.models import topic_proportions
from sklda._input.counts import LARGEST_COUNT, check_matrix
from sklda._input.document_values import DocumentValues
from sklda._input.types import Counts, Model, Seed
from sklda._likelihood.held_out.averages import mean_per_token
from sklda._models.checkpoints import forget
from sklda._models.consensus.agreement import consensus_of, find_consensus
from sklda._models.consensus.fits import (
    check_memory_of_fits,
    draws_from_fits,
    fits_of,
    hash_of_counts,
    mean_and_variance,
    read_metadata,
    share_std,
    sums_of_members,
    tasks_of,
    tasks_of_halves,
    topic_draws,
    topic_word_std,
    topics_of,
    topics_of_halves,
    training_proportions,
    warn_of_poor_fits,
    with_shared_memory,
)
from sklda._models.fit_run import all_or_nothing
from sklda._models.gibbs import GibbsLDA
from sklda._models.parameters import HasMethods, Interval, ParametersMixin, StrOptions
from sklda._models.persistence import SavedMixin
from sklda._models.topic_names import TopicNamesMixin


class ConsensusTopics(
    ParametersMixin, SavedMixin, TopicNamesMixin, TransformerMixin, MetaEstimatorMixin, BaseEstimator
):
    """The topics that several fits of a topic model have in common, and how often each is found.

    A topic model ends in another mode of its posterior at every seed. So this estimator fits clones with seeds of their
    own and makes a tree of all their topics. Its topics are the nodes of the tree on which most fits agree. Those that
    a corpus without topics would have too are left out, and so are those that come from single documents: fits to both
    halves of the documents must have a topic.

    Parameters
    ----------
    estimator : estimator, default=None
        A topic model with ``fit``, ``transform`` and ``components_``, for example `GibbsLDA`, or scikit-learn's
        `LatentDirichletAllocation` or `NMF`. It is not fitted itself. None: ``GibbsLDA()``.
    n_fits : int, default=8
        Number of fits, at least 2.
    min_prevalence : float, default=0.75
        The smallest part of the fits that must have a topic, between 0 and 1.
    resample : {"bootstrap"} or float, default=None
        The documents of each fit. None: all documents. ``"bootstrap"``: as many, drawn with replacement. A float
        between 0 and 1: this part of them, drawn without replacement. Documents without words are not drawn. Fits to
        the same documents agree more than fits to others; those that share their start agree because of that alone.
    n_splits : int, default=2
        Number of times that the documents are divided into two halves at random. Each half has a fit of its own, and a
        topic must be found in both. 0: no halves. Topics can then come from single documents, because all fits to the
        same documents see the same repeated words.
    n_jobs : int, default=None
        Number of fits at a time, as in joblib. Results do not depend on it.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        The seeds of the fits and the samples of documents are derived from it. With an int, results are reproducible.

    Attributes
    ----------
    components_, topic_word_ : ndarray of shape (n_topics, n_features)
        The consensus topics as distributions over words, by falling prevalence, then by falling share.
    topic_word_std_ : ndarray of shape (n_topics, n_features)
        Posterior standard deviations of `topic_word_`: within the fits that have the topic, and between them.
    n_components_ : int
        Number of topics. It is 0 if no topic is found again beyond chance, with a warning.
    topic_prevalence_ : ndarray of shape (n_topics,)
        Parts of the fits that have the topic.
    topic_stability_ : ndarray of shape (n_topics,)
        How alike the topic is in different fits: means over pairs of fits of one less the Jensen-Shannon distance.
    split_half_agreement_ : ndarray of shape (n_topics,)
        What two halves of the documents have in common of the topic, beyond the frequencies of words, a mean over
        splits: at least 0.4, and at most 1. Only with `n_splits` and two documents.
    members_ : list of n_topics ndarray of shape (n_members, 2)
        For each topic pairs of a fit and the number of its topic. A fit that divides the topic has several members.
    doc_topic_ : ndarray of shape (n_documents, n_topics)
        Proportions of the consensus topics in the documents of the fit. Rows sum to at most one. With `resample`, they
        are those of ``transform(X)`` without metadata.
    doc_topic_std_ : ndarray of shape (n_documents, n_topics)
        Posterior standard deviations of the proportions: the root of the mean variance within fits plus the variance
        between fits. A fit without a topic has the proportion 0 for it. Within a fit, the variance is that of its
        draws. A fit with a sample of the documents, or with a prior of the proportions but no draws, has that of topics
        of the tokens, drawn given its topics. NMF has neither: its deviations are those between fits only.
    unassigned_ : ndarray of shape (n_documents,)
        The rest of each document, which belongs to topics that are not found again.
    topic_share_, topic_share_std_ : ndarray of shape (n_topics,)
        Shares of the topics in the tokens, and their posterior standard deviations, within and between fits, too.
    estimators_ : list of n_fits estimators
        The fitted clones. They share the memory of the corpus; ``topic_assignments_`` are small integers.
    n_features_in_ : int
        Number of columns of X.
    topic_names_ : ndarray of shape (n_topics,)
        Names of the topics. Only after `set_topic_names`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words. Only if X has column names that are all strings.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If no topic is found again, or only by chance, or if all fits are equal because the estimator does not depend on
        a seed.

    See Also
    --------
    sklda.metrics.match_topics : The topics of two fits.

    Notes
    -----
    The tree is that of average linkage. A fit may have several topics in a node; their mixture then stands for the fit.
    A node can be a topic if `min_prevalence` of the fits have it, and either the mean distance of its two parts is at
    most 0.5 or its similarity at least 0.6. Topics are those with the largest sum of share times prevalence times
    persistence, none of which contains another. The persistence of a node is the distance at which it merges with
    another node, less that of its own parts. So topics are as fine as the fits agree, and coarser where fits divide the
    same words at different places. The node of all topics is never a topic.

    The distribution of a topic is proportional to the square of the mean of the square roots of its distributions in
    the fits. Another set of fits finds this centre more often than the arithmetic mean. :ref:`reportable_topics` has
    measurements.

    Topics of a fit without words of their own are left out, see ``topic_stability_`` of `GibbsLDA`, and so are nodes
    that chance can make. In a corpus without topics, topics depend on a word by its frequency, and the rest is noise.
    So each topic is compared with one in which every 16 words of similar frequency share their mass as in the corpus.
    Fits must have at least 0.65 of their squared distances from there in common.

    Fits to the same documents have the noise of these documents in common, too. Where a word that occurred once in a
    document occurs there again, this noise is large, and makes topics at a prevalence up to 1. So each topic is looked
    for in the fits to both halves of the documents: as the mixture of topics of this fit that is closest to it. These
    mixtures must resemble the topic (a mean similarity of 0.6), and two halves must have 0.4 of their squared distances
    in common: each half has twice the noise of all documents. The fits to halves have no other part in the results.

    References
    ----------
    Campello, Moulavi & Sander (2013). Density-based clustering based on hierarchical density estimates. PAKDD. It
    chooses the clusters of a tree that persist most.

    Hoyle, Goel, Sarkar & Resnik (2022). Are neural topic models broken? Findings of EMNLP.

    Kotliar et al. (2019). Identifying gene expression programs of cell-type identity and cellular activity with
    single-cell RNA-Seq. eLife 8. It clusters the components of many NMF fits.

    Examples
    --------
    >>> from sklda import ConsensusTopics, GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(200, 100, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
    >>> found = ConsensusTopics(GibbsLDA(4, max_iter=50), n_fits=4, random_state=0).fit(X)
    >>> found.n_components_, found.topic_prevalence_.tolist()
    (4, [1.0, 1.0, 1.0, 1.0])
    """

    _parameter_constraints = {
        "estimator": [None, HasMethods(["fit", "transform"])],
        "n_fits": [Interval(Integral, 2, None, closed="left")],
        "min_prevalence": [Interval(Real, 0, 1, closed="right")],
        "resample": [None, StrOptions({"bootstrap"}), Interval(Real, 0, 1, closed="neither")],
        "n_splits": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Model | None = None,
        n_fits: int = 8,
        *,
        min_prevalence: float = 0.75,
        resample: Literal["bootstrap"] | float | None = None,
        n_splits: int = 2,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.n_fits = n_fits
        self.min_prevalence = min_prevalence
        self.resample = resample
        self.n_splits = n_splits
        self.n_jobs = n_jobs
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Counts, y: Any = None, **metadata: Any) -> Self:
        """Fit the clones, and find the topics that they have in common.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            What `estimator` takes: word counts, or for NMF also weights such as tf-idf.
        y : None
            Not used.
        **metadata : dict
            More arguments of ``estimator.fit``, such as the collections of `CompoundLDA`. An argument with an entry for
            each document is drawn with the documents. With scikit-learn's metadata routing: those that `estimator`
            requests.

        Returns
        -------
        self : ConsensusTopics
            If an error or Ctrl-C ends the fit, the estimator is as it was before.

        Raises
        ------
        ValueError
            If a parameter is out of range, X has no word, or the estimator refuses X or finds no distributions.
        TypeError
            If a parameter has the wrong type, or the estimator is not a topic model.
        """
        self._validate_params()
        if isinstance(self.estimator, type):
            raise TypeError(f"estimator is {self.estimator!r}: give a topic model, or a pipeline that ends in one.")
        if self.estimator is not None and get_tags(self.estimator).target_tags.required:
            raise TypeError(f"{type(self.estimator).__name__} needs labels, so it has no topics to find again.")
        counts = self._counts(X, reset=True)
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        if not lengths.any():
            raise ValueError(f"X has {len(lengths)} documents and no word at all: there is nothing to fit.")
        data = X if hasattr(X, "iloc") else counts
        estimator = GibbsLDA() if self.estimator is None else self.estimator
        metadata = self._routed("fit", X, metadata).fit
        seed = random.seed_sequence(self.random_state)
        rows = np.flatnonzero(lengths)
        n_tokens = lengths.sum() * (self.resample if isinstance(self.resample, Real) else 1)
        if lengths.max() <= LARGEST_COUNT:  # Fits refuse what is larger.
            check_memory_of_fits(estimator, self.n_fits, n_tokens, len(lengths), self.resample)

        # Fits to all documents or samples of them, and to halves.
        tasks = tasks_of(estimator, data, rows, metadata, self.n_fits, self.resample, seed)
        # A single document has no halves.
        n_splits = self.n_splits if len(rows) > 1 else 0
        tasks_for_halves = tasks_of_halves(estimator, data, rows, metadata, n_splits, random.child(seed, 0, 0))
        estimators = with_shared_memory(fits_of(tasks, self.n_fits, self.n_jobs))
        topics = [topics_of(each) for each in estimators]
        theta = [training_proportions(each, data, metadata, self.resample is None) for each in estimators]
        shares = [lengths @ np.asarray(each, dtype=np.float64) / lengths.sum() for each in theta]
        halves = topics_of_halves(tasks_for_halves, self.n_jobs)

        # Topics that most fits have, and both halves.
        found = find_consensus(topics, shares, self.min_prevalence, halves)
        warn_of_poor_fits(topics, found, self.min_prevalence)

        # Their proportions and shares, with the variance within fits and between them.
        documents_hash = hash_of_counts(counts)
        draws: list[Any] = [None] * self.n_fits
        if documents_hash is not None:
            for f, each in enumerate(estimators):
                seed_of_fit = random.child(seed, 1, f)
                draws[f] = topic_draws(each, data, metadata, self.resample is None, seed_of_fit)

        def proportions(f):
            return sums_of_members(np.asarray(theta[f], float), found.members, f)

        mean, between = mean_and_variance(proportions, self.n_fits)
        within = sum(each.variance(found.members, f) for f, each in enumerate(draws) if each is not None) / self.n_fits
        share_draws = [own[None] if each is None else each.shares() for own, each in zip(shares, draws, strict=True)]

        forget(self)
        self.estimators_: list[Any] = estimators
        self._set_topics(found)
        if halves:
            self.split_half_agreement_: np.ndarray | None = found.split_half_agreement
        self.doc_topic_: np.ndarray = mean
        self.doc_topic_std_: np.ndarray = std_of_proportions(within + between)
        self.topic_share_: np.ndarray = found.share
        self.topic_share_std_: np.ndarray = share_std(share_draws, found.members)
        self._topic_shares_ = shares
        self._share_draws_ = share_draws
        self._resampled_ = self.resample
        self._fingerprint_ = documents_hash
        self._used_tokens_ = lengths
        return self

    def _set_topics(self, found):
        """Set the attributes that say which topics of the fits belong together, from a `Consensus`."""
        self.components_: np.ndarray = found.topic_word
        self.topic_word_: np.ndarray = found.topic_word
        self.topic_word_std_: np.ndarray = topic_word_std(found, self.estimators_)
        self.topic_prevalence_: np.ndarray = found.prevalence
        self.topic_stability_: np.ndarray = found.similarity
        self.members_: np.ndarray = found.members
        self.n_components_: int = len(found.topic_word)

    def _merged(self, place):
        """A copy whose topics have other numbers, `place`; topics with the same number are one."""
        members = [
            np.concatenate([self.members_[k] for k in np.flatnonzero(place == c)]) for c in range(place.max() + 1)
        ]
        merged = copy.copy(self)
        forget(merged)
        merged.estimators_ = self.estimators_
        found = consensus_of([topics_of(each) for each in self.estimators_], self._topic_shares_, members)
        merged._set_topics(found)
        merged.doc_topic_ = np.stack([self.doc_topic_[:, place == c].sum(axis=1) for c in range(len(members))], axis=1)
        merged.topic_share_ = found.share
        merged.topic_share_std_ = share_std(self._share_draws_, members)
        merged._topic_shares_ = self._topic_shares_
        merged._share_draws_ = self._share_draws_
        merged._resampled_ = self._resampled_
        merged._fingerprint_ = self._fingerprint_
        merged._used_tokens_ = self._used_tokens_
        return merged

    def transform(self, X: Counts, **metadata: Any) -> np.ndarray:
        """Proportions of the consensus topics in documents.

        A proportion is the mean over fits of the summed proportions of the members of a topic.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            What `estimator` takes.
        **metadata : dict
            More arguments of ``estimator.transform``, as in `fit`.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            Rows sum to at most one. The rest belongs to topics that are not found again.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X does not have the features of the fit, or the estimator refuses X.

        Examples
        --------
        >>> from sklda import ConsensusTopics, GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(100, 50, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
        >>> found = ConsensusTopics(GibbsLDA(4, max_iter=20), n_fits=3, random_state=0).fit(X)
        >>> theta = found.transform(X[:5])
        >>> theta.shape, bool((theta.sum(axis=1) <= 1 + 1e-9).all())
        ((5, 4), True)
        """
        check_is_fitted(self)
        return self._transform(X, self._routed("transform", X, metadata).transform)

    def _transform(self, X, metadata):
        counts = self._counts(X, reset=False)
        data = X if hasattr(X, "iloc") else counts
        theta = (topic_proportions(each, data, **metadata) for each in self.estimators_)
        return sum(sums_of_members(each, self.members_, f) for f, each in enumerate(theta)) / len(self.estimators_)

    def score(self, X: Counts, y: Any = None, sample_weight: ArrayLike | None = None, **metadata: Any) -> float:
        """The number of topics that are found again, times the part of documents that they make up.

        Greater is better. With more topics in a fit, more are found again, but they make up a smaller part.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            What `estimator` takes.
        y : None
            Not used.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.
        **metadata : dict
            More arguments of ``estimator.transform``, as in `fit`.

        Returns
        -------
        float
            `n_components_`, times the mean over the tokens of X of the assigned part of their document.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X does not have the features of the fit or no word, the estimator refuses X, or a weight is not valid.

        Examples
        --------
        >>> from sklda import ConsensusTopics, GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(200, 100, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
        >>> found = ConsensusTopics(GibbsLDA(4, max_iter=20), n_fits=3, random_state=0).fit(X)
        >>> round(found.score(X), 1), found.n_components_
        (4.0, 4)
        """
        check_is_fitted(self)
        sample_weight = DocumentValues.read(X, sample_weight=sample_weight)["sample_weight"]
        assigned = self._transform(X, self._routed("score", X, metadata).transform).sum(axis=1)
        lengths = np.asarray(self._counts(X, reset=False).sum(axis=1), dtype=np.float64).ravel()
        return self.n_components_ * mean_per_token(assigned * lengths, lengths, sample_weight)

    def sample_posterior(self, n_draws: int = 1, random_state: Seed = None) -> Bunch:
        """Draws of the proportions of the consensus topics in the documents of the fit, and of the topics.

        Each draw comes from the posterior of one fit, and all fits have their turn, so draws contain the differences
        between fits. The proportion of a topic that the fit does not have is 0.

        Parameters
        ----------
        n_draws : int, default=1
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None

        Returns
        -------
        sklearn.utils.Bunch
            ``doc_topic`` (n_draws, n_documents, n_topics); ``topic_word`` (n_draws, n_topics, n_features),
            with NaN for a topic that the fit does not have; ``fit`` (n_draws,): the fits of the draws.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n_draws` is not a positive int. If the fits have samples of the documents (`resample`), or the
            estimator has no posterior.

        Examples
        --------
        >>> from sklda import ConsensusTopics, GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(200, 100, 4, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=0).data
        >>> found = ConsensusTopics(GibbsLDA(4, max_iter=20), n_fits=3, random_state=0).fit(X)
        >>> draws = found.sample_posterior(3, random_state=0)
        >>> draws.doc_topic.shape, draws.topic_word.shape, sorted(draws.fit.tolist())
        ((3, 200, 4), (3, 4, 100), [0, 1, 2])
        """
        check_is_fitted(self)
        n_draws = check_scalar(n_draws, "n_draws", Integral, min_val=1)
        theta, phi, fits = self._draws(n_draws, random.seed_sequence(random_state))
        return Bunch(doc_topic=theta, topic_word=phi, fit=fits)

    def _sample_posterior(self, n_draws, seed):
        return self._draws(n_draws, seed)[:2]

    @property
    def _has_posterior(self):
        """Whether all fits have draws of the proportions of all documents."""
        return self._resampled_ is None and hasattr(self.estimators_[0], "_sample_posterior")

    def _draws(self, n_draws, seed):
        if self._resampled_ is not None:
            raise ValueError("each fit has a sample of the documents: draws of all documents need resample=None.")
        return draws_from_fits(self.estimators_, self.members_, self._topic_shares_, n_draws, seed)

    @property
    def unassigned_(self) -> np.ndarray:
        """The rest of each document of the fit: ndarray of shape (n_documents,)."""
        return np.maximum(1 - self.doc_topic_.sum(axis=1), 0)

    def _counts(self, X, *, reset):
        """X as an array or CSR matrix of numbers that are not negative; its features are stored or compared."""

        def validate(X, **options):
            return validate_data(self, X, reset=reset, **options)

        return check_matrix(X, validate, ensure_non_negative=True)

    def _routed(self, method, X, metadata):
        """The arguments of methods of the estimator, a Bunch of dict, from those of a method of this class."""
        metadata = read_metadata(X, metadata)
        if metadata and _routing_enabled():
            return process_routing(self, method, **metadata).estimator
        return Bunch(fit=metadata, transform=metadata)

    def get_metadata_routing(self) -> MetadataRouter:
        """The requests of this class and of `estimator`, as scikit-learn's `MetadataRouter`."""
        mapping = MethodMapping()
        for caller, callee in (("fit", "fit"), ("transform", "transform"), ("score", "transform")):
            mapping.add(caller=caller, callee=callee)
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=GibbsLDA() if self.estimator is None else self.estimator, method_mapping=mapping)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(GibbsLDA() if self.estimator is None else self.estimator).input_tags
        return tags
