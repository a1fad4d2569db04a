"""Draws of the topic proportions of documents, and their linear models on covariates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy.sparse import csr_array

from sklda._core import random
from sklda._core.arguments import check_int, check_level
from sklda._core.composition import SMALLEST_P_VALUE, LinearModels
from sklda._core.corpus import Corpus
from sklda._core.covariates import covariate_frame, warn_of_sources, with_value
from sklda._core.design import design_of, needed_covariates
from sklda._core.document_values import DocumentValues
from sklda._core.least_squares import checked_columns, spans
from sklda._core.names import grouped
from sklda._core.priors import SMALLEST
from sklda._core.rounding import rounding
from sklda._core.warn import warn
from sklda._description.models import Description, corpus_and_model, inner_model
from sklda._description.view import view
from sklda._likelihood.held_out.token_topics import draw_topics
from sklda._models.base import BaseLDA
from sklda._models.consensus.estimator import ConsensusTopics

# Draws of theta for errors.
N_DRAWS = 50
# Sweeps over a document for each draw of theta, for documents that the model was not fitted to.
_FOLD_IN_SWEEPS = 30
# Documents of each model that are simulated for the attenuation, which then has an error of about .02.
_SIMULATED = 2000
# For a term that is a combination of others.
ADVICE = (
    "Leave it out; the intercept is there already, so give cr(x, df=4, constraints='center'), "
    "SplineTransformer(include_bias=False) and OneHotEncoder(drop='first')."
)


@dataclass
class ProportionDraws:
    """Draws of theta."""

    view: Any
    used: np.ndarray  # rows of the documents that take part, in X
    # Iterator of (n_used, n_topics), of the documents that take part; NaN in the columns of topics that a fit does not
    # have.
    theta: Any
    tokens_count: float  # mean of n_d / (n_d + alpha_0), with n_d tokens and alpha_0 the sum of alpha
    has_topics: np.ndarray  # which topics every chain or fit has, (n_chains, n_topics)
    # Pairs of proportions (n_documents, n_topics) less their prior means: drawn ones, and those of documents that are
    # simulated from these.
    simulated: Iterator[tuple[np.ndarray, np.ndarray]]
    groups: Any = None  # (n_used, n_groups): the columns that the prior of theta knows


def proportion_draws(X, model, n_draws, seed, values, used=None):
    """`ProportionDraws` of the documents that take part: they have words, a positive weight, and no value is missing.

    For the documents of a fit by this package, they are posterior draws of all chains in turn; a chain that does not
    have a topic has none of it. For other documents and models, the topics of all tokens are drawn given phi and alpha
    of the model, and theta given these. The draws of `ConsensusTopics` are those of its fits in turn.
    """
    described = Description.of(model, X)
    if described.X is None:
        raise ValueError("topic_effects needs the documents to which the covariates belong: give X.")
    if isinstance(described.estimator, tuple):
        corpus, phi, alpha = corpus_and_model(X, model)
        topics = phi, np.ones((corpus.n_documents, len(phi)))
        found = view(replace(described, estimator=topics))
        return _of_view(found, None, phi, alpha, n_draws, seed, values, used)
    found = view(described, covariates=values["covariates"])
    inner, X = inner_model(described.estimator, described.X)
    if isinstance(inner, ConsensusTopics):
        return _of_fits(X, inner, found, n_draws, seed, values, used)
    if isinstance(inner, BaseLDA) and (found.is_training or found.own_alpha is not None):
        fitted = inner if found.is_training else None
        return _of_view(found, fitted, found.topic_word, found.alpha, n_draws, seed, values, used)
    _, phi, alpha = corpus_and_model(X, inner, described.collections)
    return _of_view(found, None, phi, alpha, n_draws, seed, values, used)


def share_draws(found, used, seed, n_draws=N_DRAWS):
    """Draws of theta of the documents `used` of a `View`, an iterator of (n_used, n_topics).

    A model that has no prior of theta has one: the proportions themselves.
    """
    model = found.model
    if isinstance(model, ConsensusTopics) and found.has_counts:
        return proportion_draws(_with_names(found.counts, model), model, n_draws, seed, found.values, used).theta
    if isinstance(model, BaseLDA) and found.is_of_fit:
        theta = model._draw_doc_topic(max(n_draws, len(model._has_topics())), seed)
        return (each[used] for each in theta)
    if found.has_counts and hasattr(model, "doc_topic_prior_"):
        of_other = not isinstance(model, BaseLDA)
        prior = corpus_and_model(_with_names(found.counts, model), model)[2] if of_other else found.alpha
        alpha = np.maximum(prior[used] if len(prior) > 1 else prior, SMALLEST)
        return _folded_in(found.corpus.take(used), found.topic_word, alpha, n_draws, seed)
    return iter([np.asarray(found.doc_topic[used], dtype=np.float64)])


def _with_names(counts, model):
    """Counts with the names of the columns of the fit, if it had a data frame: models warn of matrices without them."""
    if not hasattr(model, "feature_names_in_"):
        return counts
    return DataFrame.sparse.from_spmatrix(counts, columns=model.feature_names_in_)


def used_documents(found, values):
    """The rows of the documents of a view that have words, and all of the `DocumentValues`; an error without any."""
    if not len(found.used):
        raise ValueError(f"{found.left_out} There is nothing to estimate effects from.")
    used = values.used(found.used, found.n_documents)
    if not len(used):
        raise ValueError("all weights of documents with words are 0: there is nothing to estimate effects from.")
    return used


def _of_view(found, fitted, phi, alpha, n_draws, seed, values, used):
    """The draws of the documents that take part. `fitted` is the model if they are those of its fit."""
    used = used_documents(found, values) if used is None else used
    weights = np.ones(len(used)) if values["weights"] is None else values["weights"][used]
    corpus, alpha = found.corpus.take(used), alpha[used] if len(alpha) > 1 else alpha
    tokens_count = float(np.average(corpus.lengths / (corpus.lengths + alpha.sum(axis=1)), weights=weights))
    simulated = _simulated(corpus, phi, alpha, _SIMULATED, seed, weights)
    if fitted is None:
        theta = _folded_in(corpus, phi, alpha, n_draws, seed)
        return ProportionDraws(found, used, theta, tokens_count, np.ones((1, len(phi)), bool), simulated)
    has_topics, groups = fitted._has_topics(), fitted._known_groups()
    # One of each chain at least, because a topic may be in few of them.
    theta = (each[used] for each in fitted._draw_doc_topic(max(n_draws, len(has_topics)), seed))
    groups = None if groups is None else groups[used]
    return ProportionDraws(found, used, theta, tokens_count, has_topics, simulated, groups)


def _folded_in(corpus, phi, alpha, n_draws, seed):
    documents, rng = corpus.token_documents, np.random.default_rng(random.child(seed, 0))
    # Equal documents have draws of their own: the errors of a common one would be larger in sums of them.
    copies = corpus.copies()
    for i in range(n_draws):
        key = random.key(random.child(seed, 1, i))
        topics = draw_topics(corpus, phi, alpha, n_sweeps=_FOLD_IN_SWEEPS, seed=key, copies=copies)
        counts = np.zeros((corpus.n_documents, len(phi)))
        known = topics >= 0
        np.add.at(counts, (documents[known], topics[known]), 1)
        yield np.exp(random.log_dirichlet(rng, counts + alpha))


def _simulated(corpus, phi, alpha, n_documents, seed, weights):
    """One pair: theta of documents chosen at random, and of documents whose words are drawn from it, less its mean."""
    rng = np.random.default_rng(random.child(seed, 2))
    if (weights == weights[0]).all():
        rows = np.sort(rng.choice(corpus.n_documents, n_documents, replace=corpus.n_documents < n_documents))
    else:
        rows = np.sort(rng.choice(corpus.n_documents, n_documents, p=weights / weights.sum()))
    # It is zero for labels that a document does not have.
    alpha = np.maximum(np.broadcast_to(alpha, (corpus.n_documents, len(phi)))[rows], SMALLEST)
    theta = next(_folded_in(corpus.take(rows), phi, alpha, 1, random.child(seed, 3)))
    theta /= theta.sum(axis=1, keepdims=True)
    by_topic = rng.multinomial(corpus.lengths[rows], theta)
    # Topic by topic.
    documents = np.concatenate([np.repeat(np.arange(n_documents), each) for each in by_topic.T])
    sizes = by_topic.sum(axis=0)
    words = np.concatenate([rng.choice(len(row), n, p=row / row.sum()) for row, n in zip(phi, sizes, strict=True)])
    counts = csr_array((np.ones(len(words), int), (documents, words)), (n_documents, phi.shape[1]))
    # The means of the prior are not shrunk.
    mean = alpha / alpha.sum(axis=1, keepdims=True)
    yield theta - mean, next(_folded_in(Corpus.from_counts(counts), phi, alpha, 1, random.child(seed, 4))) - mean


def _of_fits(X, consensus, found, n_draws, seed, values, used):
    n_fits = len(consensus.estimators_)
    used = used_documents(found, values) if used is None else used
    # One of each fit at least, because a topic may be in few of them.
    n_draws = max(n_draws, n_fits)
    parts = [
        proportion_draws(X, each, n_draws // n_fits + (f < n_draws % n_fits), random.child(seed, f), values, used)
        for f, each in enumerate(consensus.estimators_)
    ]

    def summed(f, own):
        """Proportions of the consensus topics from those of fit f."""
        sums = np.full((len(own), consensus.n_components_), np.nan)
        for c, pairs in enumerate(consensus.members_):
            members = pairs[pairs[:, 0] == f, 1]
            if len(members):
                sums[:, c] = own[:, members].sum(axis=1)
        return sums

    theta = (summed(i % n_fits, next(parts[i % n_fits].theta)) for i in range(n_draws))
    simulated = ((summed(f, a), summed(f, b)) for f, part in enumerate(parts) for a, b in part.simulated)
    tokens_count = float(np.mean([each.tokens_count for each in parts]))
    has_topics = np.zeros((n_fits, consensus.n_components_), bool)
    for c, pairs in enumerate(consensus.members_):
        has_topics[pairs[:, 0], c] = True
    # The fits have the same documents, and so the same columns.
    first = parts[0]
    return ProportionDraws(found, first.used, theta, tokens_count, has_topics, simulated, first.groups)


@dataclass
class TopicSums:
    """The topics of a table or a plot: each row is one, or a sum of several."""

    members: list[np.ndarray]  # numbers of the topics of each row
    labels: list[str]
    numbers: list[Any]  # as the table shows them: an int, or a tuple for a sum

    @classmethod
    def of(cls, view, topics, n_words):
        """Those that were asked for: a dict has a name and the topics of each sum; for others see `View.chosen`."""
        if not isinstance(topics, Mapping):
            shown = view.chosen(topics)
            return cls([np.array([k]) for k in shown], view.labels(shown, n_words), shown.tolist())
        if not topics:
            raise ValueError("topics is an empty dict: give a name and the topics of each sum.")
        members = []
        for name, each in topics.items():
            if not isinstance(name, str):
                raise TypeError(f"topics has the key {name!r}: the keys of a dict are names of sums of topics.")
            if each is None:
                raise ValueError(f"topics[{name!r}] is None: give the topics of the sum.")
            own = view.chosen(each)
            if len(np.unique(own)) < len(own):
                raise ValueError(f"topics[{name!r}] has a topic twice: {each!r}.")
            members.append(own)
        return cls(members, list(topics), [tuple(own.tolist()) for own in members])

    def sums(self, values):
        """Sums over the topics of each row, (n, n_rows) of (n, n_topics)."""
        return np.column_stack([values[:, own].sum(axis=1) for own in self.members])

    def found_in(self, has_topics):
        """The number of chains or fits that have all topics of a row, (n_rows,)."""
        return np.array([has_topics[:, own].all(axis=1).sum() for own in self.members])


@dataclass
class Effects:
    """Linear models of topic proportions on covariates, before they are fitted."""

    draws: ProportionDraws
    design: Any  # makes the columns from covariates
    frame: DataFrame  # covariates of the documents that take part, as `matrix` and `clusters`
    matrix: np.ndarray
    clusters: np.ndarray | None
    weights: np.ndarray | None
    is_known: bool  # whether the prior of theta has the covariates
    level: float

    @classmethod
    def of(
        cls,
        X,
        model,
        covariates,
        formula=None,
        transformer=None,
        clusters=None,
        weights=None,
        missing="raise",
        n_draws=N_DRAWS,
        level=0.95,
        random_state=None,
    ) -> Effects:
        n_draws = check_int(n_draws, "n_draws", 1)
        level = check_level(level)
        seed = random.seed_sequence(random_state)
        if covariates is None:
            raise ValueError("covariates is None: give what the proportions depend on.")
        values = DocumentValues.read(
            Description.of(model, X).X,
            missing=missing,
            needed=needed_covariates(formula, transformer, missing),
            covariates=covariates,
            clusters=clusters,
            weights=weights,
        )
        draws = proportion_draws(X, model, n_draws, seed, values)
        if draws.view.n_topics == 0:
            raise ValueError("the model has no topics: there are no effects to estimate.")
        clusters = cluster_numbers(values["clusters"], draws.used)
        weights = None if weights is None else values["weights"][draws.used]
        draws.view.say_what_is_left_out()
        covariates = values.covariates_of(draws.used)
        n_documents = len(draws.used)
        design = design_of(covariates, n_documents, formula, transformer)
        matrix = checked_columns(design.matrix(covariates, n_documents), design.terms, ADVICE)
        frame = covariate_frame(covariates, n_documents)
        if clusters is None:
            warn_of_sources(frame, design.variables)
        known = draws.groups is not None and spans(draws.groups, matrix)
        return cls(draws, design, frame, matrix, clusters, weights, known, level)

    @property
    def view(self):
        return self.draws.view

    def row(self, values):
        """The means of the terms if all documents had these values of some covariates, (n_terms,)."""
        frame = self.frame
        for name, value in values.items():
            frame = with_value(frame, name, value)
        return np.average(self.design.matrix(frame), axis=0, weights=self.weights)

    def is_share(self):
        """Which coefficients are the mean proportions of documents: of those that have this term alone, (n_terms,)."""
        alone = (self.matrix != 0).sum(axis=1) == 1
        return np.array([(self.matrix[alone, j] == 1).any() for j in range(self.matrix.shape[1])])

    def summary(self, combinations, topics, shares):
        """The effects of combinations of terms (n_combinations, n_terms) on `TopicSums`: a dict of arrays.

        They have the shape (n_combinations, n_rows). `shares` says which are mean proportions, and no differences of
        them. The draws can be used only once.
        """
        sums = map(topics.sums, self.draws.theta)
        models = LinearModels.fit(self.matrix, sums, combinations, self.clusters, self.weights)
        warn_of_undetermined(models.determined, "cluster" if self.clusters is not None else "document")
        names = "estimate", "standard_error", "low", "high", "p_value", "df"
        of_shares, of_differences = models.shares(self.level), models.summary(self.level)
        of_differences = *of_differences, np.broadcast_to(models.freedom[:, None], of_differences[0].shape)
        found = {
            name: np.where(np.broadcast_to(shares, len(combinations))[:, None], share, difference)
            for name, share, difference in zip(names, of_shares, of_differences, strict=True)
        }
        found["p_value"] = np.maximum(found["p_value"], SMALLEST_P_VALUE)
        shrunk = np.ones(1) if self.is_known else attenuation(self.draws, topics)
        found["attenuation"] = np.broadcast_to(shrunk, found["estimate"].shape)
        return found

    def columns(self, topics):
        """Columns of a table that has a row for each term of each of `TopicSums`. The draws can be used only once."""
        found = self.summary(np.eye(len(self.design.terms)), topics, self.is_share())
        found["t"] = found["estimate"] / found["standard_error"]
        names = "estimate", "standard_error", "low", "high", "t", "p_value", "df", "attenuation"
        return {name: found[name].T.ravel() for name in names}


# What `GroupMeans` has for each group and topic.
_OF_GROUPS = "estimate", "standard_error", "low", "high", "df"


@dataclass
class GroupMeans:
    """Mean proportions of topics in groups of documents, with intervals.

    Arrays have the shape (n_groups, n_topics), and NaN for groups without documents.
    """

    estimate: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    df: np.ndarray
    found_in: np.ndarray  # the number of chains or fits that have each topic, (n_topics,)
    attenuation: np.ndarray  # (n_topics,)

    @classmethod
    def of(cls, draws, index, values, level):
        """Those of `ProportionDraws`. `index` is the group of each document that takes part, and no group is empty."""
        if draws.view.n_topics == 0:
            raise ValueError("the model has no topics: there is nothing to show.")
        clusters = cluster_numbers(values["clusters"], draws.used)
        weights = None if values["weights"] is None else values["weights"][draws.used]
        models = LinearModels.means(index, draws.theta, clusters, weights)
        estimate, error, low, high, _, freedom = models.shares(level)
        shrunk = attenuation(draws)
        if draws.groups is not None and spans(draws.groups, index[:, None] == np.arange(len(estimate))):
            shrunk = np.ones(draws.view.n_topics)
        return cls(estimate, error, low, high, freedom, draws.has_topics.sum(axis=0), shrunk)

    def among(self, place, n_groups):
        """These groups at their places among others, which have no documents."""
        every = {name: np.full((n_groups, self.estimate.shape[1]), np.nan) for name in _OF_GROUPS}
        for name, values in every.items():
            values[place] = getattr(self, name)
        return replace(self, **every)

    def columns(self, topics):
        """Columns of a table that has a row for each group of each of these topics."""
        n_groups = len(self.estimate)
        columns = {name: getattr(self, name)[:, topics].T.ravel() for name in _OF_GROUPS}
        columns["found_in"] = np.repeat(self.found_in[topics], n_groups)
        columns["attenuation"] = np.repeat(self.attenuation[topics], n_groups)
        return columns


def attenuation(draws, topics=None):
    """Slopes of the proportions of simulated documents on those that they are simulated from, (n_rows,).

    The rows are those of `TopicSums`, or all topics.

    They contain what the prior takes from an effect, and what is lost because words do not tell topics apart. The
    proportions of a topic that all documents have alike have no slope: it is that of documents whose topics are known.
    """
    n_topics = draws.has_topics.shape[1]
    if topics is None:
        topics = TopicSums([np.array([k]) for k in range(n_topics)], [""] * n_topics, list(range(n_topics)))
    products, squares = np.zeros((2, len(topics.members)))
    for pair in draws.simulated:
        before, after = map(topics.sums, pair)
        deviation = before - before.mean(axis=0)
        products += np.nan_to_num(deviation * after).sum(axis=0)
        squares += np.nan_to_num(deviation**2).sum(axis=0)
    known = squares > rounding(1.0)
    return np.where(known, np.clip(products / np.where(known, squares, 1), 0, 1), draws.tokens_count)


def cluster_numbers(labels, used):
    """The clusters of the documents that take part, as numbers from zero; None without clusters."""
    if labels is None:
        return None
    distinct, index = grouped([labels[d] for d in used])
    if len(distinct) < 2:
        raise ValueError("clusters has one label for all documents: there must be at least two clusters.")
    return index


def warn_of_undetermined(determined, unit):
    """Warn if single documents or clusters determine a coefficient."""
    n_bad = int((determined < 0.5).sum())
    if n_bad:
        warn(
            f"{n_bad} of {len(determined)} effects depend on one {unit} alone, such as a category that only one "
            f"{unit} has. Its own spread is unknown, so their errors take that of the others, and are NaN without "
            "others."
        )
