"""Linear models of topic proportions on covariates, and their means in groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from sklda._core import random
from sklda._core.least_squares import checked_columns
from sklda._core.linear_models import SMALLEST_P_VALUE, LinearModels
from sklda._description.view import view
from sklda._input.arguments import check_int, check_level
from sklda._input.covariates import covariate_frame, warn_of_sources, with_value
from sklda._input.design import design_of, needed_covariates
from sklda._input.names import grouped
from sklda._input.warn import warn
from sklda.inspection._theta import N_DRAWS, ThetaDraws, attenuations, prior_knows, theta_draws

# For a term that is a combination of others.
ADVICE = (
    "Leave it out; the intercept is there already, so give cr(x, df=4, constraints='center'), "
    "SplineTransformer(include_bias=False) and OneHotEncoder(drop='first')."
)
# Rows of a design that are computed together.
_AT_ONCE = 100_000


@dataclass
class Effects:
    """Linear models of topic proportions on covariates, before they are fitted."""

    draws: ThetaDraws
    design: Any  # makes the columns from covariates
    frame: DataFrame  # covariates of the documents that take part, as `matrix` and `clusters`
    matrix: np.ndarray
    clusters: np.ndarray | None
    weights: np.ndarray | None
    level: float
    seed: Any

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
        needed = needed_covariates(formula, transformer, missing)
        given = {"covariates": covariates, "clusters": clusters, "weights": weights}
        found = view(model, X, needs="prior", missing=missing, needed=needed, **given)
        draws = theta_draws(found, used_documents(found), seed, n_draws)
        if found.n_topics == 0:
            raise ValueError("the model has no topics: there are no effects to estimate.")
        clusters, weights = clusters_and_weights(found, draws.used)
        found.say_what_is_left_out()
        covariates = found.values.covariates_of(draws.used)
        design = design_of(covariates, formula, transformer)
        matrix = checked_columns(design.matrix(covariates), design.terms, ADVICE)
        frame = covariate_frame(covariates)
        if clusters is None:
            warn_of_sources(frame, design.variables)
        return cls(draws, design, frame, matrix, clusters, weights, level, seed)

    @property
    def view(self):
        return self.draws.view

    def rows(self, given, name, values):
        """The means of the terms if all documents had given values, and one of `values`, (n_values, n_terms)."""
        frame = self.frame
        for key, value in given.items():
            frame = with_value(frame, key, value)
        found, n_at_once = [], max(1, _AT_ONCE // len(frame))
        for start in range(0, len(values), n_at_once):
            frames = [with_value(frame, name, value) for value in values[start : start + n_at_once]]
            matrix = self.design.matrix(pd.concat(frames)).reshape(len(frames), len(frame), -1)
            found.append(np.average(matrix, axis=1, weights=self.weights))
        return np.concatenate(found)

    def is_share(self):
        """Which coefficients are the mean proportions of documents: of those that have this term alone, (n_terms,)."""
        alone = (self.matrix != 0).sum(axis=1) == 1
        return np.array([(self.matrix[alone, j] == 1).any() for j in range(self.matrix.shape[1])])

    def summary(self, combinations, topics, shares):
        """The effects of combinations of terms (n_combinations, n_terms) on some topics: a dict of arrays.

        They have the shape (n_combinations, n_topics). `shares` says which are mean proportions, and no differences of
        them. The draws can be used only once.
        """
        shown = (theta[:, topics] for theta in self.draws.theta)
        models = LinearModels.fit(self.matrix, shown, combinations, self.clusters, self.weights)
        warn_of_undetermined(models.determined, "cluster" if self.clusters is not None else "document")
        names = "estimate", "standard_error", "low", "high", "p_value", "df"
        found = dict(zip(names, models.summary(self.level, shares), strict=True))
        found["p_value"] = np.maximum(found["p_value"], SMALLEST_P_VALUE)
        shrunk = np.ones(1)
        if not prior_knows(self.view, self.draws.used, self.matrix).all():
            shrunk = attenuations(self.view, self.draws.used, self.weights, self.seed, topics)
        found["attenuation"] = np.broadcast_to(shrunk, found["estimate"].shape)
        return found

    def columns(self, topics):
        """Columns of a table that has a row for each term of each of these topics. The draws can be used only once."""
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
    documents: np.ndarray  # their numbers, (n_groups,)
    found_in: np.ndarray  # the number of chains or fits that have each topic, (n_topics,)
    attenuation: np.ndarray  # (n_topics,)

    @classmethod
    def of(cls, view, used, group, n_groups, *, n_draws=N_DRAWS, level=0.95, seed, shrinks=True):
        """Those of the documents `used`, whose groups are numbers. The attenuation is 1 without `shrinks`."""
        if view.n_topics == 0:
            raise ValueError("the model has no topics: there is nothing to show.")
        draws = theta_draws(view, used, seed, n_draws)
        clusters, weights = clusters_and_weights(view, used)
        place, index = np.unique(group, return_inverse=True)
        models = LinearModels.means(index, draws.theta, clusters, weights)
        estimate, error, low, high, _, freedom = models.summary(level, is_share=True)
        # Other groups have no documents.
        every = {name: np.full((n_groups, view.n_topics), np.nan) for name in _OF_GROUPS}
        for name, values in zip(_OF_GROUPS, (estimate, error, low, high, freedom), strict=True):
            every[name][place] = values
        shrunk = np.ones(view.n_topics)
        if shrinks and not prior_knows(view, used, (index[:, None] == np.arange(len(place))).astype(float)).all():
            shrunk = attenuations(view, used, weights, seed, np.arange(view.n_topics))
        documents = np.bincount(group, minlength=n_groups)
        return cls(**every, documents=documents, found_in=draws.has_topics.sum(axis=0), attenuation=shrunk)

    def table(self, view, topics, n_words, groups):
        """The table that has a row for each group of each of these topics; `groups` are columns that name groups."""
        topics, n = view.chosen(topics), len(self.estimate)
        of_topics = {"topic": topics, "name": view.labels(topics, n_words)}
        columns = {name: np.repeat(values, n) for name, values in of_topics.items()}
        for name, values in groups.items():
            # Labels of a list may have any type.
            columns[name] = values * len(topics) if isinstance(values, list) else np.tile(values, len(topics))
        columns["documents"] = np.tile(self.documents, len(topics))
        columns |= {name: getattr(self, name)[:, topics].T.ravel() for name in _OF_GROUPS}
        columns |= {name: np.repeat(getattr(self, name)[topics], n) for name in ("found_in", "attenuation")}
        return DataFrame(columns)


def used_documents(found):
    """The rows of the documents of a view that have words, and all of their values; an error without any."""
    if not len(found.used):
        raise ValueError(f"{found.left_out} There is nothing to estimate effects from.")
    used = found.counted()
    if not len(used):
        raise ValueError("all weights of documents with words are 0: there is nothing to estimate effects from.")
    return used


def clusters_and_weights(view, used):
    """The clusters of some documents as numbers from zero, and their weights; each None without any."""
    weights = view.values["weights"]
    return cluster_numbers(view.values["clusters"], used), None if weights is None else weights[used]


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
