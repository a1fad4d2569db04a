"""What parameters may be: the constraints of those that several estimators have."""

from inspect import signature
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklda._inference.priors import at_topics
from sklda._inference.sampling.point_estimates import METHODS
from sklda._inference.sampling.prior_learning import KINDS

POSITIVE = Interval(Integral, 1, None, closed="left")
_PRIOR = [None, Interval(Real, 0, None, closed="neither"), "array-like"]
_SHARED = {
    "n_components": [POSITIVE],
    "learn_priors": [StrOptions(set(KINDS)), "boolean"],
    "doc_topic_prior": [*_PRIOR, str, callable],
    "topic_word_prior": _PRIOR,
    "max_iter": [POSITIVE],
    "burn_in": [None, Interval(Integral, 0, None, closed="left")],
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
    """Estimators that state the constraints of their own parameters, and have the shared ones of the others."""

    _parameter_constraints: dict = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            names, known = signature(cls).parameters, _SHARED | cls._parameter_constraints
            cls._parameter_constraints = {name: known[name] for name in names if name in known}

    @property
    def _alpha(self):
        """`doc_topic_prior` for the present number of topics; None if it is not given."""
        return at_topics(self.doc_topic_prior, "doc_topic_prior", self.n_components)
