"""What the scores of topic models share: checks of their arguments, and the arrays of a fitted model."""

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklda._inference.held_out.methods import METHODS, SCHEDULES, combine
from sklda._inference.priors import check_prior

_PARTICLES = 20


def over_runs(method, runs):
    if method == "exact":
        return runs[0], np.zeros_like(runs[0])
    if method == "document_completion":
        value = runs.mean(axis=0)
        if len(runs) == 1:
            return value, np.full_like(value, np.nan)
        # What is -inf is so in all runs, without error.
        known = np.where(np.isfinite(value), runs, 0)
        return value, known.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return combine(runs)


def check_model(topic_word, doc_topic_prior, corpus):
    """phi (K, V) and alpha (1 or D, K) as float64 arrays."""
    try:
        topic_word = np.asarray(topic_word, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"topic_word must be an array of real numbers, got a {type(topic_word).__name__}.") from error
    if topic_word.ndim != 2 or topic_word.shape[1] != corpus.n_features:
        raise ValueError(
            f"topic_word has shape {topic_word.shape}; X has {corpus.n_features} features, so it must be "
            f"(n_components, {corpus.n_features})."
        )
    if not len(topic_word):
        raise ValueError("topic_word has no topic: it needs at least one row.")
    if not (np.isfinite(topic_word).all() and (topic_word >= 0).all()):
        raise ValueError(
            "topic_word holds negative, NaN or infinite values; its rows must be distributions over words."
        )
    sums = topic_word.sum(axis=1)
    if not np.allclose(sums, 1, rtol=1e-4):
        k = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(f"topic_word[{k}] sums to {sums[k]:g}, not 1: divide rows by their sums.")
    shapes = {"one per topic": (len(topic_word),), "documents, topics": (corpus.n_documents, len(topic_word))}
    alpha = np.asarray(check_prior(doc_topic_prior, "doc_topic_prior", shapes))
    wide = np.broadcast_to(alpha, (*alpha.shape[:-1], len(topic_word))).reshape(-1, len(topic_word))
    return topic_word, np.ascontiguousarray(wide)


def check_int(value, name, at_least=1):
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}.")


def check_options(method, n_temperatures, n_runs, n_particles, schedule, return_std):
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be one of {SCHEDULES}, got {schedule!r}.")
    if n_particles is not None and method != "particle_filter":
        raise ValueError(f"n_particles is for method='particle_filter', and method is {method!r}.")
    n_particles = _PARTICLES if n_particles is None else n_particles
    for name, value in (("n_temperatures", n_temperatures), ("n_runs", n_runs), ("n_particles", n_particles)):
        check_int(value, name)
    if return_std and n_runs < 2 and method != "exact":
        raise ValueError("a standard error is taken over runs: return_std=True needs n_runs=2 or more.")
    return {
        "method": method,
        "n_temperatures": int(n_temperatures),
        "n_runs": int(n_runs),
        "n_particles": int(n_particles),
        "schedule": schedule,
    }


def check_topic_model(model, attribute="components_", advice="give a fitted topic model"):
    """Whether `model` has an attribute that a fit leaves."""
    if hasattr(model, attribute):
        return
    if hasattr(model, "transform"):
        check_is_fitted(model)
    raise TypeError(f"{type(model).__name__} has no {attribute}: {advice}.")


def topics(model):
    """phi of a fitted model."""
    check_topic_model(model)
    components = np.asarray(model.components_, dtype=np.float64)
    sums = components.sum(axis=1, keepdims=True)
    bad = ~((sums > 0) & np.isfinite(sums))
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(f"components_[{k}] of the {type(model).__name__} sums to {sums[k, 0]:g}: it is no topic.")
    return components / sums


def prior(model, collections=None):
    check_topic_model(model)
    if collections is not None:
        if not hasattr(model, "document_prior"):
            raise TypeError(f"{type(model).__name__} knows no collections: score it without.")
        return model.document_prior(collections)
    if not hasattr(model, "doc_topic_prior_"):
        raise TypeError(f"{type(model).__name__} has no doc_topic_prior_, which a likelihood of documents needs.")
    return model.doc_topic_prior_
