"""Estimators: constructed, fitted, asked, refitted, in any order."""

import numpy as np

from hostile.corpora import draw_counts
from hostile.questions import ask, next_chunk
from hostile.session import show
from sklda import HDPLDA, CollapsedVariationalLDA, CompoundLDA, CovariateLDA, EmpiricalBayesLDA, GibbsLDA, TopicCountLDA

SAMPLERS = ("collapsed", "collapsed", "partitioned", "grouped", "partially_collapsed")
INITS = ("random", "random", "random", "sequential", "anneal", "prune", "search")
_NO_CONCENTRATIONS = (np.nan, 0, -1, np.inf, (1,), (1, -1), ("a", 1), (1, np.nan), [1, 1], 1e13, (), "dp")
# More than any memory holds: to run out of it is right.
HUGE = (10**15, 2**62, 10**30)


def gibbs(draw, session):
    X = draw_counts(draw, long=True)
    V, K = _features(X), draw.n_components()
    options = {
        "n_components": draw.option(K),
        "doc_topic_prior": draw.prior([(K,)]),
        "topic_word_prior": draw.prior([(V,), (K, V)]),
        "sampler": draw.option(*SAMPLERS),
        "learn_priors": draw.option(True, True, "symmetric", False),
        "seed_words": None,
        "vocabulary": draw.mostly(
            [None, [f"w{v}" for v in range(V)], {"w0": 0}], [{"w0": V}, ["w0"], {"w0": "x"}, "w0", 3], 0.1
        ),
        "init": _initial_state(draw, X, K),
        "max_iter": draw.option(*([1, 1, 2, 3, np.int64(2), 21] + ([21, 45, 130] if K <= 17 else []))),
        "tol": draw.option(None, None, None, 0.0, 1e-3, 1e9),
        "n_draws": draw.option(15, 1, 2, 10**9),
        "draw_every": draw.option(10, 1, 2, 10**9),
        "point_estimate": draw.option("cgs_p", "cgs"),
        "n_chains": draw.option(1, 1, 2, 3),
        "warm_start": draw.option(False, False, True),
    }
    options["burn_in"] = burn_in(draw, options["max_iter"])
    if str(options["init"]) in ("prune", "search") and not draw.wrong(0.1):
        # Groups of topics are exchanged, so that all have the same priors.
        options |= {"doc_topic_prior": draw.prior([]), "topic_word_prior": draw.prior([])}
    elif np.ndim(options["topic_word_prior"]) < 2:
        # Strengths of seed words are the other way to give every topic its own eta.
        options["seed_words"] = draw.seed_words(K, V)
        if options["seed_words"] and not draw.wrong(0.1):
            options["init"] = draw.option("anneal", "random")
    if draw.chance(0.01):
        options["n_components"] = draw.pick(HUGE)
    _live(draw, session, GibbsLDA, X, options)


def _initial_state(draw, X, K):
    """The init of `GibbsLDA`: a name, topics of all tokens, or a fitted model."""
    if X.clean is None or X.refuse or draw.chance(0.6):
        # The others would take minutes.
        quick = K > 17 or (X.clean is not None and X.clean.sum() > 10_000)
        return draw.option(*(INITS[:4] if quick else INITS))
    lengths = X.clean.sum(axis=1).astype(int)
    topics = draw.rng.integers(K + draw.wrong(0.05), size=lengths.sum() + draw.wrong(0.05))
    documents = np.split(topics, np.cumsum(lengths)[:-1])
    model = _Model(draw.rng.gamma(0.3, size=(K, _features(X))), draw.rng.gamma(0.3, size=(len(lengths), K)))
    return draw.mostly(
        [topics, topics.astype(np.uint16), topics.tolist(), documents, model, model], [topics - 1, [], _Model], 0.1
    )


def burn_in(draw, max_iter):
    """The burn_in of a fit: fewer sweeps than `max_iter`."""
    most = max_iter - 1 if isinstance(max_iter, int) else 0
    return draw.option(None, None, None, 0, max(most, 0)) if not draw.wrong(0.03) else draw.pick([most + 1, 10**9])


class _Model:
    """A fitted model with any topics and topic proportions."""

    def __init__(self, components, theta):
        self.components_, self.theta = components, theta

    def transform(self, X):
        return self.theta


def compound(draw, session):
    X = draw_counts(draw)
    V, K = _features(X), min(draw.n_components(), 272)
    options = {
        "n_components": draw.option(K),
        "doc_concentration": draw.mostly([None, 1.0, draw.power(-6, 12), draw.power(-2, 2)], _NO_CONCENTRATIONS),
        "topic_word_prior": draw.prior([(V,), (K, V)] if draw.chance(0.3) else []),
        "learn_priors": draw.mostly([True, False], ["symmetric"]),
        "max_iter": draw.option(1, 2, 3, 8),
        "point_estimate": draw.option("cgs_p", "cgs"),
        "n_chains": draw.option(1, 1, 2),
        "n_draws": draw.option(15, 1, 3),
        "draw_every": draw.option(10, 1, 2, 10**9),
        "warm_start": draw.option(False, False, True),
    }
    kind, own = draw.pick([(HDPLDA, _hdp), (CompoundLDA, _mixtures), (CompoundLDA, _mixtures)])
    options |= own(draw, options)
    _live(draw, session, kind, X, options | {"burn_in": burn_in(draw, options["max_iter"])}, "collections")


def _hdp(draw, options):
    """Parameters of the hierarchical Dirichlet process; a pair is a Gamma prior."""

    def concentration():
        legal = [None, None, 1.0, (1.0, 0.1), draw.power(-3, 3), (draw.power(-3, 3), draw.power(-3, 3))]
        return draw.mostly(legal, _NO_CONCENTRATIONS)

    eta, several = options["topic_word_prior"], draw.wrong(0.1)
    return {
        "max_components": options.pop("n_components"),
        "doc_concentration": concentration() if draw.chance(0.3) else options["doc_concentration"],
        "topic_concentration": concentration(),
        "collection_concentration": concentration() if draw.chance(0.3) or several else None,
        # Topics can be exchanged, unless the input is to be refused.
        "topic_word_prior": eta if np.ndim(eta) < 2 or several else None,
    }


def _mixtures(draw, options):
    """Parameters of collections whose mixtures have a Dirichlet prior; a pair is a Gamma prior of its parameter."""
    alpha = [1.0, draw.power(), draw.power(-2, 1), (1.0, 1.0), (draw.power(), 1.0)]
    return {"collection_topic_prior": draw.mostly(alpha, _NO_CONCENTRATIONS)}


def covariate(draw, session):
    X = draw_counts(draw)
    V, K = _features(X), min(draw.n_components(), 272)
    options = {
        "n_components": draw.option(K),
        "coef_scale": draw.mostly([None, 1.0, draw.power(-3, 2), draw.power(-6, 3)], [1e-7, 1e4]),
        "doc_topic_prior": draw.pick([draw.prior([(K,)]), None]),
        "topic_word_prior": draw.prior([(V,), (K, V)] if draw.chance(0.3) else []),
        "learn_priors": draw.mostly([True, False], ["symmetric"]),
        "max_iter": draw.option(1, 2, 3, 8),
        "point_estimate": draw.option("cgs_p", "cgs"),
        "n_chains": draw.option(1, 1, 2),
        "n_draws": draw.option(15, 1, 3),
        "draw_every": draw.option(10, 1, 2, 10**9),
        "warm_start": draw.option(False, False, True),
    }
    _live(draw, session, CovariateLDA, X, options | {"burn_in": burn_in(draw, options["max_iter"])}, "covariates")


def collapsed_variational(draw, session):
    X = draw_counts(draw)
    V, K = _features(X), min(draw.n_components(), 272)
    options = {
        "n_components": draw.option(K),
        "learn_priors": draw.option(True, "symmetric", False),
        "doc_topic_prior": draw.pick([draw.prior([(K,)]), None]),
        "topic_word_prior": draw.pick([draw.prior([(V,), (K, V)] if draw.chance(0.3) else []), None]),
        "learning_method": draw.option("batch", "online"),
        "learning_decay": draw.option(0.7, 0.0, 1.0, 0.5),
        "learning_offset": draw.option(10.0, 1.0, 1e6),
        "max_iter": draw.option(1, 2, 12),
        "batch_size": draw.option(128, 1, 2, 10**9),
        "evaluate_every": draw.option(-1, 0, 1, 2),
        "total_samples": draw.option(1e6, 1, 1e-3, 1e12),
        "perp_tol": draw.option(0.1, 0.0, 1e9),
        "mean_change_tol": draw.option(1e-3, 0.0, 1e9),
        "max_doc_update_iter": draw.option(1, 2, 100),
    }
    if draw.chance(0.2):
        estimator = session.call(CollapsedVariationalLDA, **options, random_state=draw.seed(), n_jobs=draw.jobs())
        for _ in range(3):
            next_chunk(draw, session, estimator, X, None)
            X = draw_counts(draw, n_features=V)
        return
    _live(draw, session, CollapsedVariationalLDA, X, options)


def empirical_bayes(draw, session):
    X = draw_counts(draw)
    K = draw.pick([1, 2, 3, 5, 17])
    options = {
        "n_components": draw.option(K),
        "max_iter": draw.option(1, 2, 5, 20),
        "n_chains": draw.option(1, 2, 4),
        "point_estimate": draw.option("cgs_p", "cgs"),
    }
    options["error_ratio"] = draw.option(0.1, 0.0, 1e9, draw.power())
    _live(draw, session, EmpiricalBayesLDA, X, options)


def topic_count(draw, session):
    X = draw_counts(draw)
    least = draw.pick([1, 1, 2, 3])
    most = least + draw.pick([0, 1, 2, 3])
    n_counts = most - least + 1
    options = {
        "min_components": draw.mostly([least], [most + 1, 0]),
        "max_components": draw.mostly([most], [most + 1, None]),
        "topic_count_prior": draw.mostly(
            [None, None, [1.0] * n_counts, draw.rng.random(n_counts)],
            [np.zeros(n_counts), [-1, 2], [np.nan], [1.0] * 9],
        ),
        "point_estimate": draw.option("cgs_p", "cgs"),
    }
    alpha, eta = draw.prior([]), draw.prior([(_features(X),)])
    options |= {"doc_topic_prior": draw.pick([alpha, None]), "topic_word_prior": draw.pick([eta, None])}
    options |= {"n_chains": draw.option(1, 2, 3), "max_iter": draw.mostly([1, 2, 10, 30], [0])}
    options |= {"share_concentration": draw.mostly([None, "equal", 1.0, 1e-3], ["even", -1.0])}
    _live(draw, session, TopicCountLDA, X, options)


CASES = {
    "GibbsLDA": gibbs,
    "CollapsedVariationalLDA": collapsed_variational,
    "CompoundLDA": compound,
    "CovariateLDA": covariate,
    "EmpiricalBayesLDA": empirical_bayes,
    "TopicCountLDA": topic_count,
}


def _features(X):
    return X.clean.shape[1] if X.clean is not None else 3


def _live(draw, session, kind, X, options, metadata=None):
    """Construct, perhaps ask too early, fit, ask, fit again."""
    options |= {"n_jobs": draw.jobs(), "random_state": draw.seed()}
    if kind is not CollapsedVariationalLDA:
        options["fold_in_iter"] = draw.option(1, 2, 3)
    K = options.get("n_components")
    huge = (MemoryError,) if isinstance(K, int) and K in HUGE else ()
    estimator = session.call(kind, **options)
    if draw.chance(0.04):
        # Before the fit: nothing is there.
        session.call(
            getattr(estimator, draw.pick(["transform", "score", "perplexity", "score_samples"])),
            X.given,
            refuse="unfitted",
        )
    fits = draw.pick([1, 1, 1, 2])
    for fit in range(fits):
        if fit and draw.chance(0.5):
            X = draw_counts(draw)
        if fit and draw.chance(0.3):
            estimator.set_params(random_state=draw.seed(), warm_start=True) if hasattr(
                estimator, "warm_start"
            ) else None
        make = {"collections": draw.labels, "covariates": draw.covariates}.get(metadata)
        labels = {metadata: make(len(X.clean) if X.clean is not None else 2)} if make else {}
        before = dict(vars(estimator))
        fitted = session.call(estimator.fit, X.given, refuse=X.refuse, also=huge, **labels)
        if fitted is None:
            after = vars(estimator)
            session.require(
                before.keys() == after.keys() and all(before[name] is after[name] for name in before),
                "a fit that fails changes nothing",
            )
            continue
        check_fit(session, estimator, X.clean)
        for _ in range(draw.pick([0, 1, 2])):
            ask(draw, session, estimator, X, labels)


def check_fit(session, estimator, clean):
    """Invariants of every fit."""
    (D, V), phi = clean.shape, estimator.topic_word_
    K = len(phi)
    session.finite(estimator.components_, "components_")
    session.require(estimator.components_ >= 0, "components_ is not negative")
    session.distribution(phi, (K, V), "topic_word_")
    session.distribution(estimator.doc_topic_, (D, K), "doc_topic_")
    if isinstance(estimator, CollapsedVariationalLDA):
        eta = np.broadcast_to(estimator.topic_word_prior_, (K, V))
        session.require(
            np.isclose(estimator.components_.sum(), clean.sum() + eta.sum(), rtol=1e-4)
            or estimator.learning_method == "online",
            "topic-word counts add up",
        )
        session.require(estimator.bound_ >= 1 - 1e-6, "bound_ is a perplexity")
        for name in ("doc_topic_prior_", "topic_word_prior_", "bound_", "perplexity_trace_"):
            session.finite(getattr(estimator, name), name)
        return
    trace = estimator.log_joint_trace_
    if getattr(estimator, "tol", None) is not None and type(estimator) is GibbsLDA:
        # Chains that end early leave NaN behind them.
        trace = trace[~np.isnan(trace)]
    topics = estimator.topic_assignments_
    session.require(topics.shape == (clean.sum(),) and topics.dtype == np.int32, "a topic for every token")
    session.require((topics >= 0) & (topics < K), "topics are in range")
    session.log_probability(trace, trace.shape, "log_joint_trace_", tolerance=1e-6 + 1e-9 * clean.sum())
    if type(estimator) is GibbsLDA:
        eta = np.broadcast_to(estimator.topic_word_prior_, (K, V))
        session.require(
            np.isclose(estimator.components_.sum(), clean.sum() + eta.sum(), rtol=1e-5), "topic-word counts add up"
        )
        _check_results(session, estimator, K)
    for name in ("doc_topic_std_", "topic_share_std_", "collection_topic_std_"):
        if hasattr(estimator, name):
            std = getattr(estimator, name)
            alone = name == "topic_share_std_" and estimator.n_draws_ < 4
            possible = np.isnan(std) if alone and np.isnan(std).any() else (std >= 0) & (std <= 0.5 + 1e-6)
            session.require(possible, f"{name} is that of numbers in [0, 1], got {show(std)}")
    if isinstance(estimator, EmpiricalBayesLDA):
        session.require(estimator.n_iter_ <= estimator.max_iter, "no more sweeps than the parameters say")
    for name in ("collection_topic_", "topic_count_posterior_"):
        if hasattr(estimator, name):
            rows = getattr(estimator, name)
            session.distribution(rows, np.shape(rows), name)
    for name in ("doc_topic_prior_", "topic_word_prior_", "doc_concentration_", "collection_topic_std_"):
        if hasattr(estimator, name):
            session.finite(getattr(estimator, name), name)
    if hasattr(estimator, "prior_trace_"):
        # NaN follows the end of a chain.
        ended = np.isnan(estimator.prior_trace_).any(axis=2)
        session.require(
            (np.diff(ended.astype(int), axis=1) >= 0).all() and not ended[:, 0].any(), "prior_trace_ ends once"
        )


def _check_results(session, estimator, K):
    """What `GibbsLDA` reports of its draws and chains."""
    std, n_chains = estimator.doc_topic_std_, len(estimator.chains_)
    session.require(std.shape == estimator.doc_topic_.shape and std.dtype == np.float32, "a std for every proportion")
    session.require((std >= 0) & (std <= 0.5 + 1e-6), "doc_topic_std_ is that of a number in [0, 1]")
    session.distribution(estimator.topic_share_, (K,), "topic_share_")
    if estimator.n_draws_ >= 4:
        session.finite(estimator.topic_share_std_, "topic_share_std_")
    session.require(1 <= estimator.n_draws_ <= estimator.n_draws, "n_draws_ is at most n_draws")
    session.require(0 <= estimator.n_burn_in_ < estimator.n_iter_, "the burn-in is a part of the sweeps")
    for name, trace in estimator.traces_.items():
        session.require(trace.shape == (n_chains, estimator.n_iter_), f"{name} has a value for every sweep")
    for chain in estimator.chains_:
        session.require(np.sort(chain.matched) == np.arange(K), "every topic is matched once")
        session.require(np.abs(chain.topic_word.sum(axis=1) - 1) < 1e-4, "topics of chains are distributions")
    if n_chains > 1:
        stability = estimator.topic_stability_
        known = np.isnan(stability) | (stability >= 0) & (stability <= 1)
        session.require(known, "topic_stability_ lies in [0, 1] where it is known")
