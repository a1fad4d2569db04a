"""Frames whose columns have another order, other names, or names that are not names."""

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.pipeline import make_pipeline

from hostile.corpora import draw_counts, pd
from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    inspection,
    metrics,
)
from sklda.papers.held_out import held_out_curve, leave_one_out_score, predictive_perplexity


def column_names(draw, session):
    """Every function that takes X and a fitted model compares the names of the columns."""
    clean = draw_counts(draw, n_features=draw.pick([2, 3, 8]), odds=0).clean
    if pd is None or not clean.size or not clean.any():
        return
    names = [f"w{v}" for v in range(clean.shape[1])]
    frame = pd.DataFrame(clean.astype(draw.pick(["int64", "float64", "uint8"])), columns=names)
    model = _fitted(draw, session, frame)
    if model is None:
        return
    name, other, refuse = draw.pick([(name, *each) for name, each in _changed(draw, frame).items()])
    draw.kinds.add(f"columns: {name}")
    questions = _questions(draw, model, frame)
    for _ in range(draw.pick([1, 2, 3])):
        question = draw.pick([*questions])
        ask = questions[question]
        found = session.call(ask, other, refuse=f"{question}: {name}" if refuse else None)
        if name == "none" and found is not None:
            expected = session.call(ask, frame)
            session.require(_same(found, expected), f"{question}: names do not change an answer")
    if isinstance(model, LabeledLDA):
        _names_of_labels(draw, session, model, frame)


def _fitted(draw, session, frame):
    """An estimator of any class fitted to the frame."""
    K, D = draw.pick([1, 2, 3]), len(frame)
    makers = [
        lambda: GibbsLDA(K, max_iter=3, random_state=0),
        lambda: CollapsedVariationalLDA(K, max_iter=2, random_state=0),
        lambda: CompoundLDA(K, max_iter=2, random_state=0),
        lambda: CovariateLDA(K, max_iter=2, random_state=0),
        lambda: EmpiricalBayesLDA(K, max_iter=4, random_state=0),
        lambda: LabeledLDA(n_chains=1, burn_in=1, n_draws=1, n_shared=1, random_state=0),
        lambda: LatentDirichletAllocation(K, max_iter=2, random_state=0),
    ]
    model = draw.pick(makers)()
    y = pd.DataFrame((draw.rng.random((D, 3)) < 0.5).astype(int), columns=list("abc"))
    given = (frame, y) if isinstance(model, LabeledLDA) else (frame,)
    return session.call(model.fit, *given, **_known(model, D))


def _known(model, n_documents):
    """The covariates of the documents, if the model takes some."""
    return {"covariates": np.arange(n_documents) % 3} if isinstance(model, CovariateLDA) else {}


def _changed(draw, frame):
    """Other frames of the same documents, and whether they must be refused."""
    names, V = frame.columns.tolist(), frame.shape[1]
    order = np.roll(np.arange(V), draw.whole(1, V - 1))
    mixed = [*names[:-1], draw.pick([3, ("w", 1), None])]
    twice = [*names[:-1], names[0]]
    return {
        "the same": (frame, False),
        "none": (frame.to_numpy(), False),
        "integers": (frame.set_axis(range(V), axis=1), False),
        "another order": (frame.iloc[:, order], True),
        "the same counts under other names": (frame.set_axis([names[v] for v in order], axis=1), True),
        "missing": (frame.iloc[:, order[1:]], True),
        "more": (frame.assign(more=1), True),
        "not only strings": (frame.set_axis(pd.Index(mixed, dtype=object), axis=1), True),
        "twice": (frame.set_axis(twice, axis=1), True),
    }


def _questions(draw, model, frame):
    """Functions of X, by name."""
    wrapped = draw.pick([model, model, make_pipeline(model)])
    known = _known(model, len(frame))
    found = {
        "transform": lambda X: model.transform(X, **known),
        "coherence": lambda X: metrics.topic_coherence(wrapped, X, n_words=2),
        "coherence scorer": lambda X: metrics.make_coherence_scorer(n_words=2)(wrapped, X),
        "held out": lambda X: metrics.held_out_log_likelihood(wrapped, X, n_temperatures=2, random_state=0, **known),
        "scorer": lambda X: metrics.make_held_out_scorer(n_temperatures=2)(wrapped, X, **known),
        "seen": lambda X: predictive_perplexity(wrapped, X, frame, n_sweeps=2, random_state=0, **known),
        "hidden": lambda X: predictive_perplexity(wrapped, frame, X, n_sweeps=2, random_state=0, **known),
        "compare": lambda X: metrics.compare_topic_models(wrapped, model, X, n_temperatures=2, random_state=0).std,
        "table": lambda X: inspection.topic_table(wrapped, X=X),
        "documents": lambda X: inspection.document_table(wrapped, X=X),
        "top documents": lambda X: inspection.top_documents(wrapped, X=X),
        "tokens": lambda X: inspection.token_topics(wrapped, X),
        "page": lambda X: inspection.TopicExplorer.from_estimator(wrapped, X).to_html(),
        "pyLDAvis": lambda X: inspection.to_pyldavis(wrapped, X)["doc_lengths"],
    }
    if isinstance(model, GibbsLDA):
        options = {"n_temperatures": 2, "random_state": 0}
        found["curve"] = lambda X: held_out_curve([wrapped], X, **options).score
        found["left out"] = lambda X: leave_one_out_score(wrapped, X, n_draws=10, rows=[0], **options).score
        found["initial state"] = lambda X: (
            GibbsLDA(len(model.components_), init=model, max_iter=1, random_state=0).fit(X).components_
        )
    if hasattr(model, "predict"):
        found["predict"] = model.predict
    return found


def _names_of_labels(draw, session, model, frame):
    """The columns of y too."""
    y = pd.DataFrame((draw.rng.random((len(frame), 3)) < 0.5).astype(int), columns=list("abc"))
    score = session.call(model.score, frame, y)
    forms = [(y.to_numpy(), False), (y.set_axis(range(3), axis=1), False), (y[list("bca")], True)]
    other, wrong = draw.pick([*forms, (y.set_axis(list("xyz"), axis=1), True), (y[["a", "b"]], True)])
    found = session.call(model.score, frame, other, refuse="other labels" if wrong else None)
    session.require(wrong or found == score, "names of labels do not change a score")


def _same(a, b):
    if isinstance(a, str):
        # The page of the frame has the names of the words; both have one of them for each feature.
        return len(a) > 0 and len(b) > 0
    # As text, in which NaN is NaN.
    return repr(np.asarray(a, dtype=object).tolist()) == repr(np.asarray(b, dtype=object).tolist())


CASES = {"column names": column_names}
