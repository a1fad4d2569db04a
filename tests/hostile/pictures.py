"""Tables, plots and pages of fitted models, of arrays, and of what is neither."""

import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from hostile.corpora import draw_counts
from hostile.functions import Topics
from hostile.labels import indicators
from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
    inspection,
)


def fitted(draw, session):
    """A small fitted estimator of any class, its counts and its options; None where the fit refuses."""
    X = draw_counts(draw, odds=0)
    D, K = len(X.clean), draw.pick([1, 2, 3, 17])
    common = {"random_state": draw.whole(0, 9), "n_jobs": draw.pick([None, None, 2])}
    kind, options = draw.pick(
        [
            (GibbsLDA, {"n_components": K, "max_iter": draw.pick([1, 3, 60]), "n_chains": draw.pick([1, 2])}),
            (GibbsLDA, {"n_components": K, "max_iter": 2, "learn_priors": False, "point_estimate": "cgs"}),
            (CollapsedVariationalLDA, {"n_components": K, "max_iter": draw.pick([1, 12])}),
            (CompoundLDA, {"n_components": K, "max_iter": 3}),
            (HDPLDA, {"max_components": K + 20, "max_iter": 3}),
            (CovariateLDA, {"n_components": K, "max_iter": draw.pick([3, 12])}),
            (EmpiricalBayesLDA, {"n_components": min(K, 3), "max_iter": 8}),
            (TopicCountLDA, {"max_components": 2, "max_iter": 10}),
            (LabeledLDA, {"n_draws": 1, "max_iter": 2, "n_shared": draw.pick([0, 1])}),
        ]
    )
    arguments = {"collections": draw.rng.integers(0, 3, D)} if issubclass(kind, (CompoundLDA, HDPLDA)) else {}
    if kind is CovariateLDA:
        arguments = {"covariates": draw.rng.standard_normal((D, draw.pick([0, 1, 3])) or None)}
    if kind is LabeledLDA:
        arguments = {"y": indicators(draw, D)}
    estimator = session.call(kind(**options, **common).fit, X.given, refuse=X.refuse, **arguments)
    return estimator, X


def pictures(draw, session):
    """Every display, of a fitted estimator that may have nothing of it to show."""
    model, X = fitted(draw, session)
    if model is None or draw.wrong(0.15):
        wrong = [None, GibbsLDA(2), Topics(np.ones((2, 3)), 1.0), 3, GibbsLDA(2, max_iter=1).fit([[1, 2]])]
        model = draw.pick(wrong)
    D, V = X.clean.shape
    names = draw.mostly([None, [f"w{v}" for v in range(V)], ["$\\frac{$ <b>"] * V], [["w0"], "w0", [None] * V], 0.2)
    n, which = draw.mostly([1, 3, 10**6], [0, -1, 1.5, "x", None]), draw.mostly([0, 0, 1], [-1, 99, "x", None])
    level = draw.mostly([0.95, 0.5], [0, 1, np.nan, "x"])
    region = draw.mostly([None, None, ((0.1, 1), (0.1, 1))], [((1, 0.1), (1, 2)), "x", [[np.nan] * 2] * 2])
    common = {"n_words": n}
    calls = {
        "TopicEffectsDisplay": ((draw.pick([None, X.given]), _groups(draw, D)), common),
        "ConvergenceDisplay": ((), {"quantity": draw.mostly(["log_joint", "doc_topic_prior", "topic_share"], ["x"])}),
        "MarginalLikelihoodDisplay": (
            (),
            {
                "kind": draw.option("contour", "doc_topic_prior", "topic_word_prior"),
                "region": region,
                "level": level,
                "n_points": draw.mostly([2, 3, 5], [0, 1, -1, "x"]),
            },
        ),
        "DocumentTopicsDisplay": ((X.given,), {**common, "document": which, "n_topics": n}),
        "TopicCountDisplay": ((), {}),
        "TopicWordsDisplay": (
            (draw.pick([None, X.given]),),
            {
                **common,
                "rank_by": draw.option("probability", "relevance", "frex"),
                "topics": draw.mostly([None, [0]], [[99], 0]),
            },
        ),
    }
    own = {
        CompoundLDA: ["TopicEffectsDisplay"],
        EmpiricalBayesLDA: ["MarginalLikelihoodDisplay"],
        TopicCountLDA: ["TopicCountDisplay"],
    }
    others = {each for kind, names in own.items() if not isinstance(model, kind) for each in names}
    mine = [each for kind, names in own.items() if isinstance(model, kind) for each in names]
    if mine and draw.chance(0.5):
        name = draw.pick(mine)
    else:
        name = draw.pick([each for each in calls if not draw.careful or each not in others])
    args, options = calls[name]
    display = getattr(inspection, name)
    model = session.call(inspection.describe, model, vocabulary=names)
    show = display.from_groups if name == "TopicEffectsDisplay" else display.from_estimator
    found = session.call(show, model, *args, **options)
    if found is not None:
        session.call(found.plot)
    close()


def _groups(draw, D):
    return draw.pick([None, None, ["a"] * D, draw.labels(D)])


def close():
    import matplotlib.pyplot as plt

    plt.close("all")


def tables(draw, session):
    """Tables, tokens and pages of arrays."""
    X = draw_counts(draw)
    V, D, K = _features(X), len(X.clean) if X.clean is not None else 2, draw.pick([1, 2, 3, 17])
    arrays = draw.topics(K, V), draw.topics(D, K) if D else np.ones((0, K))
    if draw.wrong(0.05):
        arrays = draw.pick([GibbsLDA(2), None, arrays[:1], (arrays[0], arrays[0], 1), (arrays[0], [[np.nan] * K])])
    refuse = None if X.clean is not None and not X.clean.size else X.refuse
    _tables(draw, session, arrays, X, refuse, K)


def tables_of_fits(draw, session):
    """The same of fitted estimators."""
    model, X = fitted(draw, session)
    if model is None:
        return
    other = X if draw.chance(0.6) else draw_counts(draw, n_features=X.clean.shape[1])
    _tables(draw, session, model, other, other.refuse, len(model.components_))
    # Without ArviZ, the error says what to install.
    session.call(inspection.to_arviz, model, also=(ImportError,))


def _codings(draw, session, described, texts, length):
    """A task of any kind, its page, and results of answers that may all be right."""
    kind, n = draw.option("words", "topics", "documents", "coding"), draw.mostly([1, 1, 2, 50], [0, "x"], 0.2)
    options = {"kind": kind, "n_items": n, "passage_length": length, "random_state": draw.whole(0, 9)}
    if kind != "words" or draw.wrong(0.2):
        options["texts"] = texts
    task = session.call(inspection.CodingTask.from_estimator, described, **options)
    if task is None:
        return
    page = session.call(task.to_html, wording=draw.mostly([None, {"start": "</script>"}], [{"stop": ""}], 0.1))
    session.require(page is None or page.count("</script>") == 2, "texts are inside the data")
    right = [item["right"] if draw.chance(0.7) else 0 for item in task.items]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        rows = [f"{task.id},a,{i + 1},{place + 1},1" for i, place in enumerate(right)]
        path.write_text("\n".join(["task,coder,item,choice,seconds", *rows]), encoding="utf-8")
        found = session.call(task.results, path, level=draw.option(0.95, 0.5))
    if found is None:
        return
    session.require(isinstance(found, inspection.CodingResults), "answers have results")
    ends = [("right", "low", "high")] if "right" in found.table else [("recall", "recall_low", "recall_high")]
    for estimate, low, high in ends:
        own = found.table[[estimate, low, high]].dropna()
        session.require((own >= 0).all().all() and (own <= 1 + 1e-9).all().all(), "shares are shares")
        session.require((own[low] <= own[high]).all(), "intervals have a length")


def _tables(draw, session, model, X, refuse, K):
    V, D = _features(X), len(X.clean) if X.clean is not None else 2
    names = draw.pick([None, [f"w{v}" for v in range(V)], ["</script>"] * V])
    documents = draw.mostly([None, None, [f"d{d}" for d in range(D)]], [["d0"], "d", [None] * D], 0.2)
    rank_by, n = draw.option("probability", "relevance", "frex"), draw.mostly([1, 5, 50], [0, -1, "x"])
    given = draw.pick([X, X, SimpleNamespace(given=None)]).given
    model = session.call(inspection.describe, model, vocabulary=names)
    words = session.call(inspection.topic_table, model, given, n_words=n, rank_by=rank_by)
    if words is not None:
        session.require(len(words) == K and all(words["words"]), "every topic has its words")
    found = session.call(inspection.token_topics, model, X.given, refuse=refuse)
    if found is not None and X.clean is not None:
        session.require(len(found) == X.clean.sum(), "every token has a row")
    known = [None, None, [1800 + 7 * d for d in range(D)], [None, *[f"2001-{1 + d % 12:02}" for d in range(D - 1)]]]
    dates = draw.mostly(known, ["2001", ["May"] * D, [2001] * (D + 1), [np.inf] * D, [True] * D], 0.2)
    page = session.call(inspection.TopicExplorer.from_estimator, model, given, dates=dates)
    if page is not None:
        session.require(session.call(page.to_html).count("</script>") == 2, "names are inside the data")
    described = session.call(inspection.describe, model, given, document_names=documents)
    if described is not None:
        table = session.call(inspection.document_table, described)
        session.require(table is None or given is None or len(table) == D, "every document has a row")
        texts = draw.mostly([None, ["w0 w1, w2. " * d for d in range(D)]], [["w0"], "w0", [1] * D], 0.2)
        length = draw.mostly([1, 50], [0, 1.5])
        table = session.call(inspection.top_documents, described, texts=texts, n_documents=n, passage_length=length)
        session.require(table is None or ("passages" in table) == (texts is not None), "passages are those of texts")
        _codings(draw, session, described, texts, length)
    effects = {"n_draws": draw.pick([1, 3]), "topics": draw.pick([None, [0]])}
    covariates = draw.covariates(D)
    session.call(inspection.topic_effects, model, X.given, covariates, refuse=refuse, **effects)
    test = session.call(
        inspection.permutation_test, model, X.given, covariates, refuse=refuse, n_permutations=3, **effects
    )
    if test is not None:
        session.require(test["p_value"].dropna().between(0.25, 1), "p-values are not zero")
    outcome, kind = draw.rng.integers(0, 2, D), draw.pick(["linear", "logistic"])
    session.call(inspection.outcome_effects, model, X.given, outcome, refuse=refuse, family=kind)
    if draw.chance(0.3):
        show = inspection.TopicEffectsDisplay.from_estimator
        session.call(show, model, X.given, draw.covariates(D), refuse=refuse, **effects)
        close()
    periods = draw.mostly([None, None, "year", "week", 100], ["century", 0, 1.5], 0.1)
    by_period = session.call(
        inspection.topics_over_time, model, X.given, draw.dates(D), refuse=refuse, period=periods, **effects
    )
    names = draw.pick([["a", "b"], [1, 2], ["a"]])
    by_group = session.call(
        inspection.topics_by_group, model, X.given, [names[d % len(names)] for d in range(D)], refuse=refuse, **effects
    )
    for table in (by_period, by_group):
        if table is None:
            continue
        known = table.dropna(subset=["low", "high"])
        low, middle, high = (known[name] for name in ("low", "estimate", "high"))
        session.require(
            ((0 <= low) & (low <= middle) & (middle <= high) & (high <= 1)).all(), "shares lie in their intervals"
        )
    if draw.chance(0.3):
        show = inspection.TopicEffectsDisplay.from_dates
        session.call(show, model, X.given, draw.dates(D), refuse=refuse, **effects)
        close()
    labels = _groups(draw, D)
    common = {"n_words": n, "clusters": draw.pick([None, None, None, [d % 7 for d in range(D)], draw.labels(D)])}
    check = session.call(
        inspection.topic_check, model, X.given, groups=labels, n_draws=draw.pick([1, 3]), refuse=refuse, **common
    )
    session.require(check is None or len(check) == K, "every topic has a check")
    n_sweeps = draw.mostly([6, 9], [3])
    words = session.call(inspection.group_words, model, X.given, labels, n_sweeps=n_sweeps, refuse=refuse, **common)
    if words is not None:
        low, middle, high = (np.asarray(words[name], float) for name in ("low", "log_ratio", "high"))
        session.require(((low <= middle) & (middle <= high)).all(), "log ratios lie in their intervals")
    others = draw.mostly([0, K - 1], [99, "x"])
    session.call(inspection.contrast_topics, model, topic=0, other_topic=others, n_words=n)
    # Without tokens as rows, entries may be weights.
    refuse = None if refuse is not None and re.match(r"holds \d", refuse) else refuse
    found = session.call(inspection.to_pyldavis, model, X.given, refuse=refuse)
    if found is not None:
        for name in ("topic_term_dists", "doc_topic_dists"):
            session.distribution(found[name], np.shape(found[name]), name)


def _features(X):
    return X.clean.shape[1] if X.clean is not None else 3


CASES = {"pictures": pictures, "tables of arrays": tables, "tables of fits": tables_of_fits}
