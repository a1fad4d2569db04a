"""Effects of covariates on a topic in several fits, with other numbers of topics and other seeds: a table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pandas import NA, DataFrame, concat
from sklearn.base import clone

from sklda._core import random
from sklda._core.arguments import check_int
from sklda._core.consensus import SAME_TOPIC
from sklda._core.document_values import DocumentValues
from sklda._core.types import Data, Model, Seed, Values
from sklda._description.models import Description, inner_model
from sklda._models.merging import MergedTopics
from sklda.inspection._effects import Effects, TopicSums
from sklda.metrics._matching import match_topics
from sklda.metrics._topic_counts import checked_counts, name_of_the_count

# The key of the seeds of the fits, which no draw of theta has.
_STREAM = 2**20 + 1


def effects_over_fits(
    estimator: Model,
    X: Data | None = None,
    covariates: Any = None,
    *,
    n_components: Sequence[int] | None = None,
    n_fits: int = 3,
    params: dict[str, Any] | None = None,
    topics: Values | Mapping[str, Values] | None = None,
    formula: str | None = None,
    transformer: Any = None,
    clusters: Any = None,
    weights: ArrayLike | None = None,
    missing: Literal["raise", "drop"] = "raise",
    n_draws: int = 50,
    level: float = 0.95,
    n_words: int = 3,
    random_state: Seed = None,
) -> DataFrame:
    """Effects on topics in further fits, with other numbers of topics and other seeds: are they robust?

    The model is fitted again, `n_fits` times with each number of topics. In each fit, the topic that is nearest to one
    of the given model takes its place, and has the effects of `topic_effects`.

    Parameters
    ----------
    estimator : estimator or pipeline
        A fitted topic model of this package with a number of topics. Steps before it are not fitted again.
    X : array-like, sparse matrix, or whatever a pipeline takes
        The documents of the fit.
    covariates : array-like, sparse matrix or data frame with n_documents rows
        As for `topic_effects`.
    n_components : sequence of int, default=None
        Numbers of topics of the fits. None: that of the model.
    n_fits : int, default=3
        Number of fits with each number of topics. They differ by their seeds.
    params : dict, default=None
        What `fit` needs besides X, such as ``{"covariates": covariates}`` for a `CovariateLDA`.
    topics, formula, transformer, clusters, weights
        See `topic_effects`. For a sum of topics, the topics that are nearest to its topics are summed.
    missing : {"raise", "drop"}, default="raise"
        What happens to documents that count and lack a value of an argument: an error that names them, or they are left
        out and a warning says so.
    n_draws : int, default=50
        Number of draws of theta in each fit.
    level : float, default=0.95
        Probability of the intervals.
    n_words : int, default=3
        How many of a topic's most probable words are in its label, if it has no name.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Of the seeds of the fits, and of the draws.

    Returns
    -------
    pandas.DataFrame
        For every topic and term of `topic_effects` a row for the model itself, as fit 0, and one for each further fit,
        with the columns

        - ``topic``, ``name``, ``term`` and ``base``: those of the model;
        - ``fit``, ``n_components`` and ``seed``: the number of the fit, its number of topics, and its ``random_state``,
          which repeats it; NA if that is not an int;
        - ``matched`` and ``distance``: the nearest topic of the fit, and its Jensen-Shannon distance; for a sum of
          topics the tuple of these, and the largest distance;
        - ``found``: whether this distance is at most 0.5, which is the same topic;
        - ``estimate``, ``standard_error``, ``low``, ``high``, ``t``, ``p_value``, ``df`` and ``attenuation``: see
          `topic_effects`. NaN if the topic is not found.

    Raises
    ------
    ValueError
        If X is not the X of the fit, or as for `topic_effects`.
    TypeError
        If the model is not an estimator with a number of topics.

    Warns
    -----
    UserWarning
        As `topic_effects`, and as the fits.

    See Also
    --------
    effect_sentences : What the table says, in words.
    permutation_test : A test that needs no other fit.
    sklda.ConsensusTopics : Topics that most fits have, with effects whose errors contain the spread of the fits.

    Notes
    -----
    With more topics, a topic may be split: then a part of it takes its place, and the effect is that on the part.
    ``distance`` grows with it. Fits are not a sample of anything, so do not take the spread of their estimates for
    a standard error.

    **Cost.** That of the fits, one after the other; each takes the ``n_jobs`` of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklda import GibbsLDA
    >>> from sklda.datasets import make_lda_corpus
    >>> from sklda.inspection import effects_over_fits
    >>> X = make_lda_corpus(60, 30, 2, random_state=0).data
    >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
    >>> table = effects_over_fits(
    ...     lda, X, {"year": np.arange(60)}, n_components=[2, 3], n_fits=2, topics=[0], random_state=0
    ... )
    >>> table.loc[table["term"] == "year", "n_components"].tolist()
    [2, 2, 2, 3, 3]
    """
    n_fits = check_int(n_fits, "n_fits", 1)
    seed = random.seed_sequence(random_state)
    described = Description.of(estimator, X)
    values = DocumentValues.read(described.X, covariates=covariates, clusters=clusters, weights=weights)
    covariates = values["covariates"]
    options = {
        "formula": formula,
        "transformer": transformer,
        "clusters": values["clusters"],
        "weights": values["weights"],
        "missing": missing,
        "n_draws": n_draws,
        "level": level,
        # A generator would draw other numbers for each fit.
        "random_state": random_state if isinstance(random_state, Integral) else int(seed.generate_state(1)[0]),
    }
    effects = Effects.of(X, estimator, covariates, **options)
    _check_fit(effects.view)
    shown = TopicSums.of(effects.view, topics, n_words)
    model, documents = inner_model(described.estimator, described.X)
    counter = name_of_the_count(model)
    numbers = [model.get_params()[counter]] if n_components is None else checked_counts(n_components, "n_components")

    seeds = random.child(seed, _STREAM).generate_state(len(numbers) * n_fits).tolist()
    tables = [_table(effects, shown, shown.members, np.zeros(len(shown.members)), 0, model)]
    for fit, (number, own_seed) in enumerate(zip(np.repeat(numbers, n_fits).tolist(), seeds, strict=True), 1):
        again = clone(model).set_params(**{counter: number, "random_state": own_seed})
        again.fit(documents, **(params or {}))
        nearest = match_topics(model, again)
        matched = [np.unique(nearest.nearest_in_b[own]) for own in shown.members]
        distance = np.array([nearest.distance_in_b[own].max() for own in shown.members])
        with warnings.catch_warnings():
            # The effects of the given model have warned of the documents and covariates already.
            warnings.simplefilter("ignore")
            own_effects = Effects.of(documents, again, covariates, **options)
            tables.append(_table(own_effects, shown, matched, distance, fit, again))
    found = concat(tables).sort_index(kind="stable")
    found.attrs = tables[0].attrs
    return found.reset_index(drop=True)


def _check_fit(found):
    """Refuse a model that cannot be fitted again, and documents that are not those of its fit."""
    if isinstance(found.model, MergedTopics):
        raise TypeError(
            "merged topics cannot be fitted again: give the model that they were merged of, and sums of its topics, as "
            "in topics={'name': [0, 1]}."
        )
    if found.fingerprint_of_fit is None:
        raise TypeError("the model is fitted again: give an estimator of this package, after a call of its fit.")
    if not found.is_training:
        raise ValueError("X is not the X of the fit, so other fits to it would have other documents: give that X.")


def _table(effects, shown, members, distance, fit, model):
    """The rows of one fit; the index is the place of the topic and of the term."""
    terms, bases = effects.design.terms, effects.design.bases
    own = TopicSums(members, shown.labels, shown.numbers)
    columns = effects.columns(own)
    is_found = distance <= SAME_TOPIC
    seed = getattr(model, "random_state", None)
    is_sum = [isinstance(number, tuple) for number in shown.numbers]
    matched = [tuple(each.tolist()) if many else int(each[0]) for each, many in zip(members, is_sum, strict=True)]
    repeated = np.repeat(is_found, len(terms))
    table = DataFrame(
        {
            "topic": [number for number in shown.numbers for _ in terms],
            "name": np.repeat(shown.labels, len(terms)),
            "term": terms * len(members),
            "base": bases * len(members),
            "fit": fit,
            "n_components": len(model.components_),
            "seed": seed if isinstance(seed, Integral) else NA,
            "matched": [each for each in matched for _ in terms],
            "distance": np.repeat(distance, len(terms)),
            "found": repeated,
            **{name: np.where(repeated, values, np.nan) for name, values in columns.items()},
        }
    )
    table.attrs = effects.facts()
    return table.astype({"seed": "Int64"})
