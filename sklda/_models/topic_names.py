"""Names of topics: given in a call, set on a fitted estimator, or the labels of the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from sklda._input.arguments import check_int
from sklda._input.names import read_topic_names, topic_names
from sklda._input.types import Values


class TopicNamesMixin(ClassNamePrefixFeaturesOutMixin):
    """Estimators whose topics can have names, in `topic_names_`. Like all fitted attributes, `fit` deletes them."""

    def set_topic_names(self, names: Values | dict[int, str] | None) -> Self:
        """Give the topics names.

        All tables, plots and pages of `sklda.inspection` show them, and they are the names of the columns of
        `transform`. Pickles contain them. A new fit deletes them, because it has other topics.

        Parameters
        ----------
        names : sequence of n_components str, dict of {int: str}, or None
            Distinct, not empty, in the order of the topics. `sklda.inspection.topic_table` suggests some. A dict has
            names of some topics by their numbers: the others keep theirs. Where they have none, tables and plots
            show their words, and `get_feature_names_out` has their numbers. None: no names.

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
            self.topic_names_: np.ndarray = np.array(
                read_topic_names(names, self._n_features_out, "names"), dtype=object
            )
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

        Examples
        --------
        >>> from sklda import GibbsLDA
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(40, 20, 2, random_state=0).data
        >>> lda = GibbsLDA(2, max_iter=50, random_state=0).fit(X)
        >>> lda.get_feature_names_out().tolist()
        ['gibbslda0', 'gibbslda1']
        >>> lda.set_topic_names(["fruit", "cars"]).get_feature_names_out().tolist()
        ['fruit', 'cars']
        """
        check_is_fitted(self, "_n_features_out")
        names = topic_names(self, self._n_features_out)
        return super().get_feature_names_out(input_features) if names is None else np.array(names, dtype=object)


def _replaced(names, new):
    """The names with those of a dict by number."""
    for k, name in new.items():
        if check_int(k, "a topic in names", 0) >= len(names):
            raise ValueError(f"names has topic {k}; topics have the numbers 0 to {len(names) - 1}.")
        names[int(k)] = name
    return names
