"""Names of topics: given in a call, set on a fitted estimator, or the labels of the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from sklda._core.arguments import check_int
from sklda._core.names import read_names
from sklda._core.types import Values


class TopicNamesMixin(ClassNamePrefixFeaturesOutMixin):
    """Estimators whose topics can have names, in `topic_names_`. Like all fitted attributes, `fit` deletes them."""

    def set_topic_names(self, names: Values | dict[int, str] | None) -> Self:
        """Give the topics names.

        All tables, plots and pages of `sklda.inspection` show them, and they are the names of the columns of
        `transform`. Pickles contain them. A new fit deletes them, because it has other topics.

        Parameters
        ----------
        names : sequence of n_components str, dict of {int: str}, or None
            Distinct, not empty, in the order of the topics. `sklda.inspection.name_topics` suggests some. A dict has
            names of some topics by their numbers: the others keep theirs, those of `get_feature_names_out`. None: no
            names.

        Returns
        -------
        self : estimator

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If there is not one name for each topic, there is no topic of a number, or a name is empty or occurs twice.
        TypeError
            If the names are not str, or not in a sequence or a dict.

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> lda = GibbsLDA(3, max_iter=10, random_state=0).fit([[2, 1, 0, 0], [0, 0, 1, 2]])
        >>> lda.set_topic_names({1: "fruit"}).get_feature_names_out().tolist()
        ['gibbslda0', 'fruit', 'gibbslda2']
        """
        check_is_fitted(self)
        if names is None:
            self.__dict__.pop("topic_names_", None)
        else:
            if isinstance(names, Mapping):
                names = _replaced(self.get_feature_names_out().tolist(), names)
            self.topic_names_ = np.array(checked(names, self._n_features_out, "names"), dtype=object)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: those of the topics, or the name of the class with numbers.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of shape (n_components,) of str objects
        """
        check_is_fitted(self, "_n_features_out")
        names = topic_names(self, self._n_features_out)
        return super().get_feature_names_out(input_features) if names is None else np.array(names, dtype=object)


def topic_names(model, n_topics, given=None):
    """The names of the topics of a model: those given, or else those that it has. None if there are none.

    Parameters
    ----------
    model : estimator, or None for arrays
    n_topics : int
    given : sequence of n_topics str, default=None

    Returns
    -------
    list of str, or None
    """
    known = getattr(model, "topic_names_", None)
    known = None if known is None else checked(known, n_topics, "topic_names_")
    if given is None:
        return known
    names = checked(given, n_topics, "topic_names")
    if known is not None:
        check_same_order(names, known)
    return names


def check_same_order(names, known):
    """Refuse names that are those of other topics of the model."""
    if names != known and set(names) == set(known):
        k = next(k for k in range(len(names)) if names[k] != known[k])
        raise ValueError(
            f"topic_names has the names of the model in another order: topic {k} is {known[k]!r}, and "
            f"topic_names[{k}] is {names[k]!r}. Leave topic_names out; model.set_topic_names gives topics other names."
        )


def _replaced(names, new):
    """The names with those of a dict by number."""
    for k, name in new.items():
        if check_int(k, "a topic in names", 0) >= len(names):
            raise ValueError(f"names has topic {k}; topics have the numbers 0 to {len(names) - 1}.")
        names[int(k)] = name
    return names


def checked(names, n_topics, what):
    """Names as a list of distinct str, one for each topic, or an error that says what is wrong with them."""
    places: dict[str, int] = {}
    for k, name in enumerate(read_names(names, what, n_topics, "topic")):
        if not name.strip():
            raise ValueError(f"{what}[{k}] is empty: give each topic a name.")
        if name in places:
            raise ValueError(f"{what}[{places[name]}] and {what}[{k}] are both {name!r}: names must differ.")
        places[str(name)] = k
    return list(places)


def distinct(names, taken=()):
    """The names, with a number after each one that is taken, or that occurs before."""
    found: list[str] = []
    used = set(taken)
    for name in names:
        name, copy = name if name.strip() else "(empty)", 1
        new = name
        while new in used:
            copy += 1
            new = f"{name} ({copy})"
        used.add(new)
        found.append(new)
    return found


def label_topics(label_names, n_shared):
    """Names of the topics of a `LabeledLDA`: its labels, then the shared topics."""
    return distinct([*map(str, label_names), *(f"shared {s}" for s in range(n_shared))])


def names_of_labels(targets, n_shared):
    """The names of topics after a fit to labels; None if the labels are only the numbers of the topics."""
    names = targets.names.tolist()
    if names == [str(j) for j in range(len(names))]:
        return None
    return np.array(label_topics(names, n_shared), dtype=object)
