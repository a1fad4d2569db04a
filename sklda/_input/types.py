"""Types of the arguments and results that public functions share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import sparray, spmatrix

# A matrix of counts, or of labels.
Counts: TypeAlias = ArrayLike | spmatrix | sparray
# The input of the first step of a pipeline: counts, or texts.
Data: TypeAlias = Any
# An estimator, a pipeline or a search that has one, the arrays of a model, or one of these with names.
Model: TypeAlias = Any
# Numbers or names, as a list, a tuple or an array.
Values: TypeAlias = Sequence[Any] | np.ndarray
# The topic of every token, in one array or one for each document.
Topics: TypeAlias = ArrayLike | Sequence[ArrayLike]
# alpha: a number, one for each topic, a text such as "50/K", or a function of the number of topics.
TopicPrior: TypeAlias = ArrayLike | str | Callable[[int], ArrayLike]
# Words or columns of topics by their names or numbers, with strengths in a dict.
TopicWords: TypeAlias = Mapping[str, Any] | Mapping[int, Any]
Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
# A method, which a decorator returns with the same arguments and result.
Method = TypeVar("Method", bound=Callable[..., Any])
