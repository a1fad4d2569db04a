"""Questions to fitted estimators."""

import pickle

import numpy as np
from sklearn.base import clone

from hostile.corpora import draw_counts
from hostile.session import ESTIMATED
from sklda import CollapsedVariationalLDA, CompoundLDA, EmpiricalBayesLDA, TopicCountLDA

OTHER_FEATURES = "other features than the fit"


def ask(draw, session, estimator, X, labels):
    """One question to a fitted estimator."""
    V, K = X.clean.shape[1], len(estimator.components_)
    same = not draw.wrong(0.15)
    other = X if draw.chance(0.4) else draw_counts(draw, n_features=V if same else None)
    refuse = other.refuse
    if refuse is None and other.clean is not None and other.clean.shape[1] != V:
        refuse = OTHER_FEATURES
    if labels and other is not X:
        size = len(other.clean) if other.clean is not None else 2
        labels = {name: _metadata(draw, estimator, name, size) for name in labels}
    D, lengths = (other.clean.shape[0], other.clean.sum(axis=1)) if other.clean is not None else (None, None)
    question = draw.pick([_transform, _score, _score_samples, _pickle, _own, _own])
    question(draw, session, estimator, other, refuse, labels, (D, K, lengths))


def _metadata(draw, estimator, name, size):
    """Collections or covariates of new documents."""
    if name == "covariates":
        return draw.pick([None, draw.covariates(size)])
    known = [None, *estimator.collections_.tolist()]
    return draw.pick([None, [draw.pick(known) for _ in range(size)], draw.labels(size)])


def _transform(draw, session, estimator, X, refuse, labels, sizes):
    (D, K, lengths), normalize = sizes, draw.pick([True, True, False])
    theta = session.call(estimator.transform, X.given, normalize=normalize, refuse=refuse, **labels)
    if theta is not None and normalize:
        session.distribution(theta, (D, K), "theta")
    elif theta is not None:
        session.finite(theta, "theta")
        session.require(theta.sum(axis=1) >= lengths * (1 - 1e-6), "expected counts add up")


def _score(draw, session, estimator, X, refuse, labels, sizes):
    D = sizes[0] or 1
    weights = draw.pick([None, np.ones(D), draw.rng.random(D), np.zeros(D), [1] * D])
    if draw.wrong(0.2):
        weights = draw.pick(
            [-np.ones(D), np.full(D, np.inf), np.full(D, np.nan), np.ones(D + 1), "x", 3.0, np.ones((D, 1))]
        )
    name = draw.pick(["score", "score", "perplexity"])
    extra = {"sample_weight": weights} if name == "score" else {}
    value = session.call(getattr(estimator, name), X.given, refuse=refuse, **extra, **labels)
    if value is not None:
        session.require(np.ndim(value) == 0, f"{name} is a number")
        session.finite(value, name)
        value = value if name == "score" else -np.log(value)
        session.require(value <= ESTIMATED, f"{name} is that of a probability, got {value}")


def _score_samples(draw, session, estimator, X, refuse, labels, sizes):
    value = session.call(estimator.score_samples, X.given, refuse=refuse, **labels)
    if value is not None:
        session.log_probability(value, sizes[:1], "score_samples", tolerance=ESTIMATED)
        session.require(value[sizes[2] == 0] == 0, "a document without words has probability one")


def _pickle(draw, session, estimator, X, refuse, labels, sizes):
    if estimator.get_params().get("functionals"):
        return
    copy = session.call(pickle.loads, session.call(pickle.dumps, estimator))
    session.require(np.array_equal(copy.components_, estimator.components_), "a pickle brings back the fit")
    session.require(not hasattr(clone(estimator), "components_"), "a clone is not fitted")
    names = session.call(estimator.get_feature_names_out)
    session.require(len(names) == sizes[1], "a name for every topic")


def next_chunk(draw, session, estimator, X, refuse):
    """A chunk of a stream."""
    # Unlike the X of a fit, a chunk may be empty.
    found = session.call(estimator.partial_fit, X.given, refuse=refuse if refuse == OTHER_FEATURES else None)
    if found is not None:
        session.finite(found.components_, "components_")
        session.distribution(found.topic_word_, found.components_.shape, "topic_word_")
        for name in ("doc_topic_prior_", "topic_word_prior_"):
            session.finite(getattr(found, name), name)


def _own(draw, session, estimator, X, refuse, labels, sizes):
    """Questions that only this estimator answers."""
    if isinstance(estimator, CollapsedVariationalLDA):
        return next_chunk(draw, session, estimator, X, refuse)
    if isinstance(estimator, EmpiricalBayesLDA):
        _around_the_maximum(draw, session, estimator)
    elif isinstance(estimator, TopicCountLDA):
        found = session.call(estimator.sample_posterior, draw.option(1, 2, 3), random_state=draw.seed())
        if found is not None:
            for theta, phi in zip(found.doc_topic, found.topic_word, strict=True):
                session.distribution(theta, theta.shape, "a draw of theta")
                session.distribution(phi, phi.shape, "a draw of phi")
    elif isinstance(estimator, CompoundLDA):
        size = draw.whole(0, 4)
        known = [None, *estimator.collections_.tolist()]
        given = [draw.pick(known) for _ in range(size)] if draw.chance(0.7) else draw.labels(size)
        prior = session.call(estimator.document_prior, given)
        if prior is not None:
            session.finite(prior, "document_prior")
            session.require(prior > 0, "document_prior is positive")
    else:
        found = session.call(estimator.sample_posterior, draw.option(1, 2, 3), random_state=draw.seed())
        if found is not None:
            n = len(found.doc_topic)
            session.distribution(found.doc_topic, (n, *estimator.doc_topic_.shape), "draws of theta")
            session.distribution(found.topic_word, (n, *estimator.components_.shape), "draws of phi")


def _around_the_maximum(draw, session, estimator):
    """m(h) and its region, at priors anywhere."""
    eta = draw.pick([1.0, draw.power(), draw.power(-12, 12, 3), 1e13, -1, np.nan, "x", [], None])
    alpha = draw.pick([1.0, draw.power(), draw.power(-12, 12, (2, 1)), estimator.doc_topic_prior_])
    level = draw.pick([0.95, 0.5, 1e-9, 1 - 1e-12, 0, 1, np.nan, -1, "x", None])
    kind = draw.pick(["monte_carlo", "statistical", "total", "x", None])
    value = session.call(estimator.log_marginal_likelihood, alpha, eta, return_std=draw.chance(0.5))
    if value is not None:
        session.require(~np.isnan(value), f"log m(h) is not NaN, got {value}")
    session.call(estimator.confidence_region, level, kind)
