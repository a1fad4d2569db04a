"""Parameters that change between calls that continue: warm starts and streams, and questions in between."""

import numpy as np

from hostile.changes import ask
from hostile.corpora import Counts, draw_counts
from sklda import CollapsedVariationalLDA, CompoundLDA, GibbsLDA

_WORDS = 15


def continued(draw, session):
    """A fit, and some calls that continue it, each with other parameters."""
    X = _counts(draw)
    V, K = X.clean.shape[1], draw.pick([1, 2, 3, 17])
    kind, legal, method = draw.pick([_gibbs, _gibbs, _compound, _stream])(draw, K, V)
    model = session.call(kind, K, n_jobs=draw.pick([None, 2]), random_state=draw.whole(0, 9))
    names = list(legal)
    if kind is not CollapsedVariationalLDA:
        model.warm_start = True
    first, learnt = draw.pick(["fit", method]), False
    for call in [first, *[method] * draw.whole(1, 3)]:
        # Chosen by number, because an array of names and values would be made of text.
        for i in draw.rng.choice(len(names), draw.pick([0, 1, 1, 2, 3]), replace=False):
            session.call(model.set_params, **{names[i]: legal[names[i]]()})
        before = dict(vars(model))
        if session.call(getattr(model, call), X.given) is None:
            after = vars(model)
            session.require(
                before.keys() == after.keys() and all(before[name] is after[name] for name in before),
                "a call that is refused changes nothing",
            )
            draw.kinds.add("continued: refused")
            # As a reader of the message would do.
            model, learnt = kind(**model.get_params()), False
            continue
        draw.kinds.add(f"continued: {kind.__name__}")
        _check(session, model, X.clean)
        if isinstance(model, GibbsLDA):
            _check_learnt(session, model, before, learnt)
            learnt = model.doc_topic_prior is None
        if draw.chance(0.4):
            ask(draw, session, model, X)


def _counts(draw):
    """Enough tokens for priors to be learnt, or any counts."""
    if draw.chance(0.6):
        clean = draw.rng.poisson(2.0, (40, _WORDS))
        return Counts(clean, clean)
    return draw_counts(draw, odds=0)


def _gibbs(draw, K, V):
    seeds = [None, {}, {0: [0]}, {"a": {V - 1: 2.5, 0: 0}}, {k: list(range(V)) for k in range(K)}]
    legal = _priors(draw, K, V) | {
        "learn_priors": lambda: draw.pick([True, True, "symmetric", False]),
        "seed_words": lambda: draw.pick(seeds),
        "sampler": lambda: draw.pick(["collapsed", "partitioned", "grouped", "partially_collapsed"]),
        "max_iter": lambda: draw.pick([1, 3, 45]),
        "tol": lambda: draw.pick([None, 1e9]),
        "n_draws": lambda: draw.pick([1, 15]),
        "draw_every": lambda: draw.pick([1, 10]),
        "point_estimate": lambda: draw.pick(["cgs", "cgs_p"]),
        "n_chains": lambda: draw.pick([1, 1, 2]),
        "init": lambda: draw.pick(["random", "random", "sequential"]),
        "warm_start": lambda: draw.pick([True, True, False]),
    }
    return GibbsLDA, legal, "fit"


def _compound(draw, K, V):
    legal = {name: make for name, make in _priors(draw, K, V).items() if name == "topic_word_prior"} | {
        "n_components": lambda: draw.pick([K, K, K + 1]),
        "collection_topic_prior": lambda: draw.pick([1.0, 0.5, (1.0, 1.0), [1.0, 1.0]]),
        "doc_concentration": lambda: draw.pick([None, 1.0, 5.0]),
        "learn_priors": lambda: draw.pick([False, True]),
        "max_iter": lambda: draw.pick([1, 3, 8]),
        "burn_in": lambda: draw.pick([None, 0, 2]),
        "draw_every": lambda: draw.pick([None, 1, 2]),
        "point_estimate": lambda: draw.pick(["cgs", "cgs_p"]),
        "n_chains": lambda: draw.pick([1, 1, 2]),
    }
    return CompoundLDA, legal, "fit"


def _stream(draw, K, V):
    legal = _priors(draw, K, V) | {
        "learn_priors": lambda: draw.pick([True, True, "symmetric", False]),
        "learning_method": lambda: draw.pick(["batch", "online"]),
        "learning_decay": lambda: draw.pick([0.0, 0.7, 1.0]),
        "learning_offset": lambda: draw.pick([1.0, 10.0]),
        "max_iter": lambda: draw.pick([1, 12]),
        "batch_size": lambda: draw.pick([1, 3, 128]),
        "total_samples": lambda: draw.pick([1e6, 1e-3, 1e12]),
        "mean_change_tol": lambda: draw.pick([0.0, 1e-3, 1e9]),
        "max_doc_update_iter": lambda: draw.pick([1, 100]),
    }
    return CollapsedVariationalLDA, legal, "partial_fit"


def _priors(draw, K, V):
    """Both priors, the number of topics, and how to draw new values."""
    alphas = [None, None, 0.5, np.float32(0.5), [0.1] * K, draw.power(-2, 1, K)]
    etas = [None, None, 0.2, [0.2] * V, draw.power(-2, 1, V), np.full((K, V), 0.2), draw.power(-2, 1, (K, V))]
    return {
        "doc_topic_prior": lambda: draw.pick(alphas),
        "topic_word_prior": lambda: draw.pick(etas),
        "n_components": lambda: draw.pick([K, K, K, K + 1]),
    }


def _check(session, model, clean):
    """The priors of the fit are those that the parameters give, or stay as they were learnt."""
    K, V = model.components_.shape
    session.require(model.n_components == K, "there are as many topics as the parameter says")
    session.distribution(model.topic_word_, (K, V), "topic_word_")
    if isinstance(model, CompoundLDA):
        return
    seeds = getattr(model, "seed_words", None) or {}
    seeded = any(isinstance(words, dict) for words in seeds.values())
    for name in ("doc_topic_prior", "topic_word_prior"):
        given, found = getattr(model, name), getattr(model, f"{name}_")
        session.finite(found, f"{name}_")
        if name == "topic_word_prior" and seeded:
            session.require(np.shape(found) == (K, V), "seed words make eta a matrix")
        elif given is not None:
            session.require(np.shape(found) == np.shape(given), f"{name}_ has the shape of {name}")
            session.require(np.allclose(found, given, rtol=1e-6), f"{name}_ is the given one")
        elif model.learn_priors is False:
            session.require(np.allclose(found, 1 / K), f"{name}_ is 1 / n_components if it is not learnt")
    if model.learn_priors is not False and clean.sum() < 1000 and isinstance(model, GibbsLDA):
        for name in ("doc_topic_prior", "topic_word_prior"):
            if getattr(model, name) is None and not (seeded and name == "topic_word_prior"):
                session.require(np.allclose(getattr(model, f"{name}_"), 0.1), f"{name}_ is 0.1 for few tokens")


def _check_learnt(session, model, before, learnt):
    """A warm start leaves a learnt alpha as it is. With several chains, another one may be the best."""
    if learnt and model.warm_start and model.doc_topic_prior is None and model.n_chains == 1:
        session.require(np.array_equal(before["doc_topic_prior_"], model.doc_topic_prior_), "a learnt alpha stays")


CASES = {"continued": continued}
