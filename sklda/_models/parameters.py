"""The constraints of the parameters that several estimators have."""

from __future__ import annotations

from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import __version__ as sklearn_version
from sklearn import get_config

from sklda._core.priors import at_topics
from sklda._description.models import Description
from sklda._models.known_topics import LEARN
from sklda._sampling.choice import SAMPLERS
from sklda._sampling.initialisation import INITS
from sklda._sampling.point_estimates import METHODS

# The only import of a private module of scikit-learn: all estimators take their constraints from here.
try:
    from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
except ImportError as error:
    raise ImportError(
        f"this version of sklda cannot check parameters with scikit-learn {sklearn_version}: install an earlier "
        "scikit-learn, or a later sklda."
    ) from error

__all__ = [
    "POSITIVE",
    "HasMethods",
    "Interval",
    "ParametersMixin",
    "StrOptions",
]

POSITIVE = Interval(Integral, 1, None, closed="left")
_PRIOR = [None, Interval(Real, 0, None, closed="neither"), "array-like"]
# Parameters that mean the same in all estimators that have them.
_SHARED = {
    "n_components": [POSITIVE],
    "learn_priors": ["boolean", StrOptions({"symmetric"})],
    "doc_topic_prior": [*_PRIOR, str, callable],
    "topic_word_prior": _PRIOR,
    "seed_words": [None, dict],
    "known_topics": [None, HasMethods("fit"), Description, "array-like"],
    "known_weight": [StrOptions({LEARN}), Interval(Real, 0, None, closed="right"), dict, "array-like"],
    "vocabulary": [None, dict, "array-like"],
    "sampler": [StrOptions(set(SAMPLERS))],
    "init": [StrOptions({*INITS, "search"}), HasMethods("transform"), "array-like"],
    "max_iter": [POSITIVE],
    "burn_in": [None, Interval(Integral, 0, None, closed="left")],
    "tol": [None, Interval(Real, 0, None, closed="left")],
    "n_draws": [POSITIVE],
    "draw_every": [POSITIVE],
    "point_estimate": [StrOptions(set(METHODS))],
    "n_chains": [POSITIVE],
    "fold_in_iter": [POSITIVE],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
    "random_state": ["random_state", np.random.Generator],
}


class ParametersMixin:
    """Estimators whose parameters are validated, and whose alpha may follow the number of topics."""

    # A class states those of its own parameters; those of `_SHARED` are added.
    _parameter_constraints: dict[str, Any] = {}
    doc_topic_prior: Any
    n_components: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        names = [name for name in signature(cls.__init__).parameters if name in _SHARED]
        cls._parameter_constraints = {name: _SHARED[name] for name in names} | cls._parameter_constraints

    def _validate_params(self):
        if not get_config()["skip_parameter_validation"]:
            super()._validate_params()  # type: ignore[misc]

    @property
    def _alpha(self):
        """`doc_topic_prior` for the present number of topics; None if it is not given."""
        return at_topics(self.doc_topic_prior, "doc_topic_prior", self.n_components)

    def _setting(self, name: str) -> Any:
        """What a parameter means in this fit: a copy of a function need not be equal to it."""
        return self._alpha if name == "doc_topic_prior" else getattr(self, name)
