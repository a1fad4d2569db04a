"""Names, reports, correlations and merged topics of fitted models, and numbers of topics compared."""

import numpy as np

from hostile.corpora import draw_counts
from hostile.pictures import fitted
from sklda import ConsensusTopics, GibbsLDA, inspection, merge_topics, metrics


def reports(draw, session):
    """What a fitted model reports, with names that may be none."""
    model, X = _model(draw, session)
    if model is None:
        return
    K, V = len(model.components_), X.clean.shape[1]
    names = draw.mostly(
        [None, [f"topic {k}" for k in range(K)], [f"<b>{k}" for k in range(K)]],
        [["a"] * K, "x", ["a"], [None] * K, [""] * K, 3, {"a"}],
    )
    session.call(model.set_topic_names, names)
    other = X if draw.chance(0.6) else draw_counts(draw, n_features=V)
    given, n = draw.mostly([other.given, None], ["x"]), draw.mostly([1, 3, 50], [0, -1, "x", 1.5])
    words = draw.mostly([None, [f"w{v}" for v in range(V)]], [["w"]])
    described = session.call(inspection.describe, model, vocabulary=words, topic_names=names)
    columns = draw.mostly([None, "all", ["name", "nearest"]], ["x", 3])
    report = session.call(inspection.topic_table, described, given, columns=columns, n_words=n)
    if report is not None:
        session.require(len(report) == K and repr(report), "every topic has a row")
        session.require("name" not in report or report["name"].nunique() == K, "names are distinct")
        session.require(
            "effective_documents" not in report
            or (report["effective_documents"] <= len(other.clean) * (1 + 1e-6)).all(),
            "not more documents than there are",
        )
    found = session.call(inspection.topic_correlation, model, given, n_draws=draw.mostly([None, 20], [0]))
    if found is not None:
        values = found.correlation[~np.isnan(found.correlation)]
        session.require(np.abs(values) <= 1 + 1e-9, "correlations lie between -1 and 1")
        session.require(~(found.std < 0), "errors are not negative")
    exclusivity = session.call(metrics.topic_exclusivity, model, n_words=draw.mostly([1, 2], [0, 99, "x"]))
    session.require(exclusivity is None or 0 <= exclusivity <= 1 + 1e-9, "exclusivity is a part")


def merged(draw, session):
    """Groups of topics merged."""
    model, X = _model(draw, session)
    if model is None:
        return
    K = len(model.components_)
    pair = [int(k) for k in draw.rng.permutation(K)[:2]]
    wrong = [[], [[0]], [[0, 0]], [[0, 99]], "x", None, [0, 1]]
    groups = draw.mostly([[pair], {"both": pair}, [list(range(K))]], wrong)
    found = session.call(merge_topics, model, groups)
    if found is None:
        return
    theta = session.call(found.transform, X.clean)
    before = session.call(model.transform, X.clean)
    if before is None:
        return
    session.require(theta is None or (theta >= 0).all(), "proportions are not negative")
    # The topics of a consensus that are in some of the fits only have other proportions in `transform`.
    sums, expected = (each.sum(axis=1) for each in (found.doc_topic_, model.doc_topic_))
    session.require(theta is None or theta.shape == (len(before), len(found.components_)), "a column for every topic")
    session.require(np.abs(sums - expected) < 1e-4, "proportions are shared out again")
    session.call(inspection.topic_table, found, X.clean, columns="all")
    if not isinstance(found, ConsensusTopics):
        session.call(found.sample_posterior, 2)
        session.call(found.score, X.clean)


def counts_compared(draw, session):
    """Several numbers of topics."""
    X = draw_counts(draw)
    counts = draw.mostly([[1], [2, 3], (1, 2)], [[], 3, [0], [2, 2], "x", None, [1.5]])
    options = {
        "cv": draw.mostly([2, 3, 0], [1, 99, "x"]),
        "n_words": draw.mostly([2, 5], [0]),
        "interval": draw.mostly([None, (2, 3)], [3, (3, 2)]),
        "random_state": draw.seed(),
    }
    lda = GibbsLDA(max_iter=draw.pick([1, 3]))
    found = session.call(inspection.compare_topic_counts, lda, X.given, counts, **options)
    if found is not None:
        session.require(isinstance(found, inspection.TopicCountComparison), "it is a comparison")
        rows = found.counts
        session.require(len(rows) == len(counts) and repr(rows), "a row for every number")
        session.require(len(found.topics) == sum(counts), "a row for every topic")
        if "found_again" in rows:
            session.require(rows["found_again"].between(0, rows["n_components"]).all(), "not more than there are")
            session.require((rows["score"] <= 0).all(), "the score is that of a probability")
        session.call(found.plot)
        _close()


def _model(draw, session):
    """A fitted estimator of any class, and its counts."""
    if draw.chance(0.85):
        return fitted(draw, session)
    X = draw_counts(draw, odds=0)
    lda = GibbsLDA(draw.pick([1, 2, 4]), max_iter=2)
    model = ConsensusTopics(
        lda, n_fits=2, min_prevalence=0.5, resample=draw.pick([None, 0.5]), n_splits=0, random_state=0
    )
    return session.call(model.fit, X.given, refuse=X.refuse), X


def _close():
    import matplotlib.pyplot as plt

    plt.close("all")


CASES = {"reports of fits": reports, "merged topics": merged, "numbers of topics compared": counts_compared}
