"""Labels and names in every form that users have: those with an order mean the same, those without one are refused."""

import numpy as np

from hostile.corpora import draw_counts, pd
from hostile.pictures import close
from sklda import CompoundLDA, CovariateLDA, GibbsLDA, LabeledLDA, inspection, metrics

# Forms that hold several columns of y, or several covariates.
_COLUMNS = "a frame of two columns", "lists", "a mapping"


def labels_and_names(draw, session):
    """A function that takes labels or names, with a plain list and with another form of it."""
    X = draw_counts(draw, n_features=draw.pick([2, 3, 8]), odds=0).clean
    if not X.size or not X.any():
        return
    D, V = X.shape
    K = draw.pick([1, 2, 3])
    lda = session.call(GibbsLDA(K, max_iter=2, random_state=0).fit, X)
    if lda is None:
        return
    argument, ask = draw.pick([*_questions(lda, X, K).items()])
    what = argument.split(" ")[0]
    plain = _plain(draw, what, D, V, K)
    # Tuples are rows of several covariates, and only a categorical of numbers says that they are categories.
    of_covariates = argument in ("labels of covariates", "labels of terms")
    if of_covariates and not isinstance(plain[0], str):
        plain = [draw.pick(["b", "a"]) for _ in range(D)]
    expected = session.call(ask, plain)
    if draw.chance(0.5):
        name, form = draw.pick([*_ordered(draw, plain, what).items()])
        draw.kinds.add(f"{what}: {name}")
        found = session.call(ask, form)
        session.require((found is None) == (expected is None), f"{argument} as {name}: accepted as the list is")
        session.require(found is None or _text(found) == _text(expected), f"{argument} as {name}: the same answer")
    else:
        name, form = draw.pick([*_unordered(draw, plain, what).items()])
        draw.kinds.add(f"{what}: {name}")
        # Columns of y and of covariates: several of them mean something else.
        columns = argument in ("labels of y", "labels of covariates") and name in _COLUMNS
        session.call(ask, form, refuse=None if columns else f"{argument} as {name}")
    close()


def _questions(lda, X, K):
    """Functions of one argument, by its name and their own."""
    D, once = len(X), {"n_draws": 2, "random_state": 0}
    x = np.arange(D) % 5 - 2.0

    def compound(values):
        return CompoundLDA(K, max_iter=2, random_state=0).fit(X, collections=values).collections_

    def covariates(values):
        return CovariateLDA(K, max_iter=2, random_state=0).fit(X, covariates=values).coef_

    def labeled(values):
        return LabeledLDA(max_iter=2, n_draws=1, random_state=0).fit(X, values).components_

    return {
        "labels of collections": compound,
        "labels of covariates": covariates,
        "labels of y": labeled,
        "labels of groups": lambda each: inspection.group_words(lda, X, each, least_tokens=1, random_state=0),
        "labels of shares": lambda each: (
            inspection.TopicEffectsDisplay.from_groups(lda, X, each, random_state=0).estimate
        ),
        "labels of a check": lambda each: inspection.topic_check(lda, X, groups=each, **once),
        "labels of clusters of words": lambda each: inspection.group_words(
            lda, X, x > 0, clusters=each, least_tokens=1, random_state=0
        ),
        "labels of clusters of a check": lambda each: inspection.topic_check(
            lda, X, groups=x > 0, clusters=each, **once
        ),
        "labels of clusters": lambda each: inspection.topic_effects(lda, X, x, clusters=each, **once),
        "labels of terms": lambda each: inspection.topic_effects(lda, X, {"a": each}, **once),
        "documents of a table": lambda each: inspection.document_table(
            inspection.describe(lda, X, document_names=each)
        ),
        "documents of a list": lambda each: inspection.top_documents(
            inspection.describe(lda, X, document_names=each), n_documents=3
        ),
        "topics of a model": lambda each: lda.set_topic_names(each).topic_names_,
        "topics of a list": lambda each: inspection.topic_table(inspection.describe(lda, topic_names=each), X=X),
        "words of a list": lambda each: inspection.topic_table(inspection.describe(lda, vocabulary=each), n_words=3),
        "words of a table": lambda each: inspection.topic_table(inspection.describe(lda, vocabulary=each), X=X),
        "words of a cue": lambda each: metrics.word_association(inspection.describe(lda, vocabulary=each), "w0"),
        "words of tokens": lambda each: inspection.token_topics(inspection.describe(lda, vocabulary=each), X),
    }


def _plain(draw, what, D, V, K):
    """A list of labels, or of names without two that are equal."""
    if what == "labels":
        kinds = [["b", "a", "c"], [3, 1], [2.5, -1.0], [True, False], [("x", 1), ("a", 2)], ["a"]]
        values = draw.pick(kinds)
        return [values[i] for i in draw.rng.integers(0, len(values), D)]
    n, letter = {"documents": (D, "d"), "topics": (K, "t"), "words": (V, "w")}[what]
    return [f"{letter}{i}" for i in draw.rng.permutation(n)]


def _ordered(draw, plain, what):
    """Forms with an order, by name."""
    array = np.empty(len(plain), dtype=object)
    array[:] = plain
    found = {
        "a tuple": tuple(plain),
        "an iterator": iter(plain),
        "a generator": (each for each in plain),
        "an array of objects": array,
        "a column of an array": array[:, None],
        "keys of a list": [*plain],
    }
    if not isinstance(plain[0], tuple):
        found["an array"] = np.array(plain)
        found["scalars of NumPy"] = list(np.array(plain))
    if what == "words":
        columns = {word: draw.pick([int, np.int32, np.int64])(v) for v, word in enumerate(plain)}
        found["a vocabulary"] = dict(sorted(columns.items()))
        found["words of columns"] = {v: word for word, v in sorted(columns.items())}
    if pd is not None:
        odd = pd.Index(draw.rng.permutation(len(plain)) + 7)
        found["a series"] = pd.Series(plain, index=odd)
        found["a frame of one column"] = pd.DataFrame({"a": pd.Series(plain, index=odd)})
        if not isinstance(plain[0], tuple):
            found["an index"] = pd.Index(plain)
            found["a categorical"] = pd.Categorical(plain)
    return found


def _unordered(draw, plain, what):
    """Forms from which the place of a value cannot be known, by name, and others that hold no such values."""
    mapping = {f"key {i}": value for i, value in enumerate(plain)}
    found = {
        "a set": set(plain),
        "a frozenset": frozenset(plain),
        "keys of a dict": dict.fromkeys(plain).keys(),
        "a mapping": mapping,
        "a text": "abc",
        "a number": 3,
        "lists": [[each] for each in plain],
        "too many": [*plain, *plain, plain[0]],
    }
    if what != "words" and what != "topics":
        found["numbered"] = dict(enumerate(plain))
    if what != "labels":
        found["numbers"] = draw.pick([[None] * len(plain), [b"a"] * len(plain)])
    if pd is not None and len(plain):
        found["a frame of two columns"] = pd.DataFrame({"a": [str(x) for x in plain], "b": [str(x) for x in plain]})
    return found


def _text(value):
    if pd is not None and isinstance(value, pd.DataFrame):
        value = [list(value.columns), value.to_numpy().tolist()]
    return repr(value.tolist() if hasattr(value, "tolist") else value)


CASES = {"labels and names": labels_and_names}
