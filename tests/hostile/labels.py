"""LabeledLDA: fitted with labels of any form, and asked."""

import pickle

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from hostile.corpora import draw_counts
from hostile.estimators import burn_in
from sklda import LabeledLDA


def labeled(draw, session):
    X = draw_counts(draw)
    D, V = X.clean.shape if X.clean is not None else (2, 3)
    y = _labels(draw, D)
    n_shared = draw.pick([0, 0, 1, 2])
    K = (np.shape(y)[1] if np.ndim(y) == 2 else 3) + n_shared
    options = {
        "n_shared": draw.option(n_shared),
        "doc_topic_prior": draw.pick([draw.prior([(K,)]), None]),
        "topic_word_prior": draw.prior([(V,), (K, V)]),
        "max_iter": draw.option(1, 2, 5),
        "n_draws": draw.option(1, 2),
        "draw_every": draw.option(1, 2),
        "n_chains": draw.option(1, 1, 2),
        "point_estimate": draw.option("cgs_p", "cgs"),
        "label_prior": draw.option("uniform", "frequency", "dependency"),
        "label_weight": draw.option(50.0, 0, draw.power(), draw.power(-2, 2)),
        "even_weight": draw.option(30.0, 0, draw.power(), draw.power(-2, 2)),
        "n_label_topics": draw.option(1, 2, 5, 20),
        "dependency_sampler": draw.option("fast", "gibbs"),
        "ranking_score": draw.option("proportions", "shares"),
        "label_count": draw.mostly(["meta", 1, 10**9, Ridge()], [Ridge]),
        "fold_in_iter": draw.option(1, 2, 3),
        "n_jobs": draw.jobs(),
        "random_state": draw.seed(),
    }
    options["burn_in"] = burn_in(draw, options["max_iter"])
    if options["topic_word_prior"] is None and not draw.wrong(0.1):
        options["topic_word_prior"] = 0.1
    estimator = session.call(LabeledLDA, **options)
    before = dict(vars(estimator))
    if session.call(estimator.fit, X.given, y, refuse=X.refuse) is None:
        after = vars(estimator)
        session.require(
            before.keys() == after.keys() and all(before[name] is after[name] for name in before),
            "a fit that fails changes nothing",
        )
        return
    _check_fit(session, estimator, X.clean)
    for _ in range(draw.pick([1, 2, 3])):
        _ask(draw, session, estimator, X, y)


def _labels(draw, D):
    """Labels of D documents, mostly an indicator matrix."""
    if draw.wrong(0.06):
        wrong = [None, "y", 3.0, [], np.zeros((D, 0)), np.full((D, 2), 2), np.full(D, np.nan), np.ones((D, 2, 2))]
        return draw.pick([*wrong, [["a"]] * D, np.ones((D + 1, 2)), np.linspace(0.1, 0.9, D), object()])
    Y = indicators(draw, D)
    makers = [
        np.asarray,
        np.asarray,
        sp.csr_matrix,
        sp.coo_array,
        np.ndarray.tolist,
        lambda Y: Y.astype(bool),
        lambda Y: Y.astype(float),
    ]
    singles = [
        lambda Y: draw.rng.integers(3, size=D),
        lambda Y: draw.rng.integers(3, size=D).astype(str),
        lambda Y: np.zeros(D, int),
    ]
    return draw.pick(makers if draw.chance(0.7) else singles)(Y)


def indicators(draw, D):
    """An indicator matrix."""
    return (draw.rng.random((D, draw.pick([1, 2, 3, 5, 40]))) < draw.pick([0.1, 0.5, 1.0])).astype(int)


def _check_fit(session, estimator, clean):
    (D, V), phi = clean.shape, estimator.topic_word_
    K = len(phi)
    session.distribution(phi, (K, V), "topic_word_")
    session.distribution(estimator.doc_topic_, (D, K), "doc_topic_")
    session.finite(estimator.doc_topic_prior_, "doc_topic_prior_")
    for name in ("doc_topic_std_", "topic_share_std_"):
        std = getattr(estimator, name)
        possible = (
            np.isnan(std) if name == "topic_share_std_" and estimator.n_draws_ < 4 else (std >= 0) & (std <= 0.5 + 1e-6)
        )
        session.require(possible, f"{name} is that of numbers in [0, 1]")
    topics = estimator.topic_assignments_
    session.require((topics >= -1) & (topics < K), "topics are in range")
    used = (topics >= 0).sum()
    eta = np.broadcast_to(estimator.topic_word_prior_, (K, V)).sum()
    session.require(np.isclose(estimator.components_.sum(), used + eta, rtol=1e-5), "topic-word counts add up")
    trace = estimator.log_joint_trace_
    session.log_probability(trace, trace.shape, "log_joint_trace_", tolerance=1e-6 + 1e-9 * clean.sum())


def _ask(draw, session, estimator, X, y):
    """One question to a fitted estimator."""
    V, K, L = X.clean.shape[1], len(estimator.components_), len(estimator.classes_)
    other = X if draw.chance(0.5) else draw_counts(draw, n_features=V)
    D = other.clean.shape[0] if other.clean is not None else None
    question = draw.pick(["transform", "decision_function", "predict", "score_samples", "score", "pickle"])
    if question == "score":
        value = session.call(estimator.score, X.given, y)
        session.require(value is None or 0 <= value <= 1, "accuracy is a share")
    elif question == "pickle":
        copy = session.call(pickle.loads, session.call(pickle.dumps, estimator))
        session.require(np.array_equal(copy.components_, estimator.components_), "a pickle brings back the fit")
    else:
        answer = session.call(getattr(estimator, question), other.given, refuse=other.refuse)
        if answer is None:
            return
        if question == "transform":
            session.distribution(answer, (D, K), "theta")
        elif question == "score_samples":
            session.finite(answer, "score_samples")
        elif question == "decision_function":
            session.finite(answer, "scores")
            session.require(answer.shape in ((D, L), (D,)), "a score for every label")
        else:
            session.require(answer.shape == ((D, L) if estimator.multilabel_ else (D,)), "labels of every document")


CASES = {"LabeledLDA": labeled}
