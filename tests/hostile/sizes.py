"""Long documents and many topics: a fit takes memory for its tokens and its results, and for nothing larger."""

import tracemalloc

import numpy as np

from hostile.corpora import CONTAINERS, Counts, draw_counts
from hostile.estimators import SAMPLERS, check_fit
from sklda import CollapsedVariationalLDA, GibbsLDA

# Bytes that a fit may take for every token, for every topic, for every number of its results, and beside them: about
# twice what the fits of 100 inputs took.
_PER_TOKEN, _PER_TOPIC, _PER_RESULT, _BESIDE = 300, 500, 120, 20e6


def long_documents(draw, session):
    """One document has nearly all tokens."""
    D, V, K = draw.pick([1, 2, 5]), draw.pick([1, 3, 20, 300]), draw.pick([1, 2, 17, 64, 300])
    X = draw.rng.poisson(0.5, (D, V))
    X[draw.whole(0, D - 1)] = draw.rng.multinomial(
        int(10 ** draw.rng.uniform(4, 5)), draw.rng.dirichlet(np.full(V, draw.pick([0.02, 1.0, 100.0])))
    )
    # So many sweeps, or passes, that priors are learnt.
    X = Counts(draw.pick(CONTAINERS)(draw, X), X)
    if draw.chance(0.4):
        _fit(draw, session, CollapsedVariationalLDA, X, n_components=K, max_iter=draw.pick([1, 6]))
    else:
        options = {"max_iter": draw.pick([2, 21, 22] if K < 100 else [2, 3]), "n_chains": draw.pick([1, 1, 2])}
        _fit(draw, session, GibbsLDA, X, n_components=K, **options, **_gibbs(draw))


def many_topics(draw, session):
    """Thousands of topics, and few tokens: successive draws have hardly a topic in common."""
    K, X = int(10 ** draw.rng.uniform(3, np.log10(70_000))), draw_counts(draw, odds=0)
    options = {"max_iter": draw.pick([2, 4, 6]), "n_chains": draw.pick([1, 2]) if K < 2000 else 1}
    _fit(draw, session, GibbsLDA, X, n_components=K, **options, **_gibbs(draw))


def _gibbs(draw):
    return {
        "sampler": draw.pick(SAMPLERS),
        "learn_priors": draw.pick([True, True, "symmetric", False]),
        "doc_topic_prior": draw.pick([None, None, draw.power(-6, 2)]),
        "topic_word_prior": draw.pick([None, None, draw.power(-6, 2)]),
        "init": draw.pick(["random", "random", "sequential"]),
        "n_draws": draw.pick([1, 2, 3, 3]),
        "draw_every": 1,
        "point_estimate": draw.pick(["cgs_p", "cgs"]),
    }


def _fit(draw, session, kind, X, **options):
    """Fit within the memory, and transform."""
    estimator = session.call(kind, **options, random_state=draw.seed(), n_jobs=draw.pick([None, None, 2]))
    tracemalloc.start()
    try:
        fitted = session.call(estimator.fit, X.given, refuse=X.refuse)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if fitted is None:
        return
    (D, V), K, chains = X.clean.shape, options["n_components"], options.get("n_chains", 1)
    # The topics of several chains are matched, and so may be those of draws.
    matched = K if chains > 1 else min(K, int(X.clean.sum()), 4096)
    results = (D + V) * K * chains + matched**2
    most = _PER_TOKEN * X.clean.sum() + _PER_TOPIC * K + _PER_RESULT * results + _BESIDE
    session.require(peak <= most, f"the fit takes at most {most / 1e6:.0f} MB, took {peak / 1e6:.0f}")
    if kind is GibbsLDA:
        check_fit(session, estimator, X.clean)
    if draw.chance(0.3):
        theta = session.call(estimator.transform, X.given)
        session.distribution(theta, (D, K), "theta")


CASES = {"long documents": long_documents, "many topics": many_topics}
