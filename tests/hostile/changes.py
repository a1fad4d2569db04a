"""Changes of a fitted estimator between two calls: other parameters, attributes, copies, and other threads."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from make_pickles import through_joblib, through_pickle
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hostile.corpora import draw_counts
from hostile.pictures import fitted
from hostile.session import ESTIMATED
from sklda import CollapsedVariationalLDA, GibbsLDA

QUESTIONS = ("transform", "score_samples", "score", "perplexity", "sample_posterior", "get_feature_names_out")
# Parameters whose change affects the next fit, and not the next question.
OTHERS = {
    "n_components": [1, 2, 5, 300, 0, "x", None],
    "doc_topic_prior": [None, 0.1, 1e12, -1, "x", [1.0]],
    "fold_in_iter": [1, 3, 0, 1.5, "x", None],
    "n_jobs": [None, 2, 0, 1.5, "x"],
    "random_state": [None, 3, "x", np.random.default_rng(0)],
    "max_iter": [1, 2, 0, "x"],
    "point_estimate": ["cgs", "cgs_p", "x", None],
    "max_doc_update_iter": [1, 3, 0, "x"],
    "label_prior": ["uniform", "frequency", "dependency", "x"],
    "ranking_score": ["proportions", "shares", "x"],
    "label_count": ["meta", 1, 0, "x"],
    "warm_start": [True, False, "x"],
}


def changed(draw, session):
    """Questions to an estimator, a change, and the questions again."""
    model, X = fitted(draw, session)
    if model is None:
        return
    for _ in range(draw.pick([1, 2])):
        draw.pick([_parameters, _attributes, _attributes, _answers, _counts, _copies])(draw, session, model, X)
        for _ in range(2):
            ask(draw, session, model, X)
    if draw.chance(0.3):
        arguments = {"y": np.ones((len(X.clean), 2), int)} if hasattr(model, "classes_") else {}
        arguments |= {"collections": ["a"] * len(X.clean)} if hasattr(model, "collections_") else {}
        names = ["fit", "fit_transform", *["partial_fit"] * isinstance(model, CollapsedVariationalLDA)]
        if session.call(getattr(model, draw.pick(names)), X.given, **arguments) is not None:
            session.distribution(model.topic_word_, model.components_.shape, "topic_word_")


def ask(draw, session, model, X):
    """One question, whose answer is of any size."""
    name = draw.pick(QUESTIONS)
    arguments = {"transform": (X.given,), "score_samples": (X.given,), "score": (X.given,), "perplexity": (X.given,)}
    if name == "score" and hasattr(model, "classes_"):
        name, arguments = "predict", {"predict": (X.given,)}
    found = session.call(getattr(model, name), *arguments.get(name, ()))
    if found is None:
        return
    if name == "transform":
        session.distribution(found, found.shape, "theta")
    elif name in ("score_samples", "score", "perplexity"):
        # A change may have left a word without any topic.
        possible = X.clean @ (model.topic_word_ == 0).all(axis=0) == 0
        if name == "score_samples":
            session.log_probability(found, found.shape, name, possible=possible, tolerance=ESTIMATED)
        elif possible.all():
            session.finite(found, name)
    elif name == "sample_posterior":
        for each in found.topic_word:
            session.distribution(each, np.shape(each), "a draw of phi")


def _parameters(draw, session, model, X):
    draw.kinds.add("changed: parameters")
    known = [name for name in OTHERS if name in model.get_params()]
    for name in draw.rng.choice(known, 2, replace=False):
        session.call(model.set_params, **{name: draw.pick(OTHERS[name])})


def _attributes(draw, session, model, X):
    draw.kinds.add("changed: attributes")
    phi = model.components_
    if np.ndim(phi) != 2 or not np.size(phi):
        # An earlier change.
        return
    phi = np.asarray(phi, float)
    other = phi.copy()
    other.flat[draw.whole(0, other.size - 1)] = draw.pick([np.nan, np.inf, -1.0, 0.0, 1e300])
    shapes = [phi[1:], phi[:, 1:], np.vstack([phi, phi]), np.hstack([phi, phi]), phi[0], phi[None], phi[:0]]
    forms = [phi * 2, phi.astype(np.float32), np.asfortranarray(phi), draw.mapped(phi), phi.tolist(), phi[::-1]]
    components = draw.pick([draw.pick(shapes), draw.pick(forms), draw.pick(forms), other, other, None, "x", phi * 0])
    K = len(phi)
    prior = draw.pick([0.1, 1e12, 0, -1, np.nan, None, "x", [1.0], np.ones(K), np.ones(K + 1), np.ones((K, K)), []])
    changes = {"components_": components, "doc_topic_prior_": prior}
    if not hasattr(type(model), "components_"):
        setattr(model, *draw.pick([*changes.items()]))
    else:
        # Those of LabeledLDA are computed.
        model.doc_topic_prior_ = prior


def _answers(draw, session, model, X):
    """A caller may change an answer without changing the next one."""
    draw.kinds.add("changed: answers")
    first = session.call(model.transform, X.given)
    if first is None:
        return
    kept = first.copy()
    first[...] = np.nan
    second = session.call(model.transform, X.given)
    session.require(np.array_equal(kept, second), "an answer is the caller's own")


def _counts(draw, session, model, X):
    """The counts of the fit are the caller's own too."""
    draw.kinds.add("changed: X after the fit")
    given = np.array(X.clean)
    own = GibbsLDA(2, max_iter=2, random_state=0)
    if session.call(own.fit, given) is None:
        return
    before = session.call(own.transform, X.clean)
    given[...] = -1
    session.call(own.sample_posterior)
    session.require(np.array_equal(before, session.call(own.transform, X.clean)), "X is not kept by reference")


def _copies(draw, session, model, X):
    how = draw.pick(["pickle", "joblib", "deep copy", "clone"])
    draw.kinds.add(f"changed: {how}")
    if how == "clone":
        session.call(clone(model).transform, X.given, refuse="a clone is not fitted")
        return
    other = session.call({"pickle": through_pickle, "joblib": through_joblib, "deep copy": copy.deepcopy}[how], model)
    answers = [session.call(each.transform, X.given) for each in (model, other)]
    session.require(_same(*answers), f"a {how} answers as the estimator does")


def _same(a, b):
    return a is b is None or (a is not None and b is not None and np.array_equal(a, b))


def threads(draw, session):
    """The same questions in several threads, while another changes the estimator or fits it again."""
    draw.kinds.add("threads")
    model, X = fitted(draw, session)
    if model is None:
        return
    corpora = [X.given, *(draw_counts(draw, n_features=X.clean.shape[1], odds=0).given for _ in range(3))]
    expected = [session.call(model.transform, each) for each in corpora]
    found = session.call(_in_threads, lambda X: _or_refusal(lambda: model.transform(X)), corpora * 2)
    session.require(all(map(_same, found, expected * 2)), "threads change no answer")
    if isinstance(model, GibbsLDA):
        draw.kinds.add("threads: fits")
        fits = session.call(
            _in_threads, lambda seed: clone(model).set_params(random_state=seed).fit(X.given), [1, 1, 2]
        )
        session.require(np.array_equal(fits[0].components_, fits[1].components_), "fits in threads are those alone")
        draw.kinds.add("threads: a fit during questions")
        other = draw_counts(draw, odds=0)
        tasks = [lambda: model.fit(other.given), *[lambda: model.transform(X.given)] * 4]
        for theta in session.call(_in_threads, _or_refusal, tasks):
            if isinstance(theta, np.ndarray):
                session.distribution(theta, theta.shape, "theta during a fit")


def _or_refusal(task):
    try:
        return task()
    except (ValueError, TypeError, NotFittedError):
        return None


def _in_threads(function, arguments):
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(function, arguments))


CASES = {"changed states": changed, "threads": threads}
