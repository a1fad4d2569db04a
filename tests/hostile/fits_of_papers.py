"""The fits of papers, which are functions."""

import numpy as np

from hostile.corpora import draw_counts
from sklda.papers import compound, empirical_bayes, topic_count


def largest_share(doc_topic, topic_word):
    return doc_topic.max(axis=1).mean()


def no_number(doc_topic, topic_word):
    return np.nan


def priors(draw, session):
    """The priors on a grid and by EM."""
    X = draw_counts(draw)
    K = draw.pick([1, 2, 3])
    regions = [None, None, ((0.1, 1), (0.1, 1)), _region(draw)]
    options = {
        "max_iter": draw.option(1, 2, 5, 20),
        "region": draw.mostly(regions, [((1, 0.1), (1, 2)), ((0, 1), (0, 1))]),
        "n_chains": draw.option(1, 2, 4),
        "random_state": draw.seed(),
    }
    on_a_grid = draw.chance(0.5)
    if on_a_grid:
        function = draw.pick([empirical_bayes.serial_tempering, empirical_bayes.full_bayes])
        options["n_tuning"] = draw.option(1, 2, 3, 20)
        options["functionals"] = draw.mostly([None, {"share": largest_share}, {"nan": no_number}], [{"x": 3}])
        options["tempering"] = _tempering(draw)
    else:
        function = draw.pick([empirical_bayes.gibbs_em, empirical_bayes.variational_em])
        start = draw.prior([(K,)] if function is empirical_bayes.gibbs_em else []), draw.prior([])
        options["start"] = draw.pick([start, (None, None)])
    found = session.call(function, X.given, K, refuse=X.refuse, **options)
    if found is None or X.clean is None:
        return
    for name in ("doc_topic_prior", "topic_word_prior"):
        session.finite(found[name], name)
        session.require(np.asarray(found[name]) > 0, f"{name} is positive")
    session.distribution(found.model.doc_topic_, (len(X.clean), K), "doc_topic_")
    if on_a_grid:
        alpha, eta = draw.pick([1.0, draw.power(), draw.power(-12, 12, 3)]), draw.pick([1.0, draw.power()])
        value = session.call(found.log_marginal_likelihood, alpha, eta)
        if value is not None:
            session.require(~np.isnan(value), f"log m(h) is not NaN, got {value}")
        name = draw.pick(["share", "none of them"])
        bands = session.call(found.posterior_expectation, name, alpha, eta, level=draw.pick([0.95, 0.5, 0, "x"]))
        if bands is not None:
            session.require(~np.isnan(bands), f"posterior expectations are not NaN, got {bands}")


def _tempering(draw):
    """Options of serial tempering, mostly with a small grid."""
    shape = draw.mostly([(2, 2), (2, 3), (4, 3), [2, 2], np.array([3, 2])], [(1, 2), (2, 2, 2), (2.0, 2.0)], 0.1)
    own = draw.mostly([{}, {"estimator": "simple"}, {"index": "neighbours"}], [{"steps": 0}])
    return draw.pick(["paper", own | {"grid_shape": shape}, own | {"grid_shape": shape}])


def _region(draw):
    """Bounds of both priors, as powers of ten."""
    low = draw.rng.uniform(-12, 10, 2)
    return tuple((10.0**each, 10.0 ** draw.rng.uniform(each + 0.1, 12)) for each in low)


def mixtures(draw, session):
    """Compound LDA by Langevin steps and by variational EM."""
    X = draw_counts(draw)
    D = len(X.clean) if X.clean is not None else 2
    K = draw.pick([1, 2, 3])
    function = draw.pick([compound.langevin, compound.variational_em])
    options = {"max_iter": draw.option(2, 5), "n_chains": draw.option(1, 2), "random_state": draw.seed()}
    collections = draw.mostly([draw.rng.integers(0, 3, D)], [draw.rng.integers(0, 3, D + 1)])
    found = session.call(function, X.given, collections, K, refuse=X.refuse, **options)
    if found is not None and X.clean is not None:
        session.distribution(found.collection_topic, np.shape(found.collection_topic), "collection_topic")
        session.distribution(found.doc_topic, (D, K), "doc_topic")


def number_of_topics(draw, session):
    """Pseudo-marginal Metropolis-Hastings over the number of topics."""
    X = draw_counts(draw)
    least = draw.pick([1, 1, 2, 3])
    most = least + draw.pick([0, 1, 2, 3])
    alpha, eta = draw.prior([]), draw.prior([(X.clean.shape[1] if X.clean is not None else 3,)])
    options = {
        "topic_count_prior": draw.mostly([None, None, [1.0] * (most - least + 1)], [[-1, 2], [np.nan], [1.0] * 9]),
        "doc_topic_prior": "1/T" if alpha is None else alpha,
        "topic_word_prior": "1/T" if eta is None else eta,
        "evidence": draw.option("guided_ais", "ais", "cgs_transition"),
        "n_proposals": draw.option(1, 2, 5),
        "n_temperatures": draw.option(2, 2, 3, 5),
        "n_runs": draw.option(1, 2),
        "n_inner": draw.option(2, 2, 5),
        "random_state": draw.seed(),
    }
    most = draw.mostly([most], [least - 1])
    found = session.call(topic_count.pmmh, X.given, least, most, refuse=X.refuse, **options)
    if found is not None:
        session.distribution(found.posterior, np.shape(found.topic_counts), "posterior")


def fits_of_papers(draw, session):
    draw.pick([priors, priors, mixtures, number_of_topics])(draw, session)


CASES = {"fits of papers": fits_of_papers}
