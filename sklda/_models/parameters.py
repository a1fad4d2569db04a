"""Parameters of estimators: their constraints, and errors that say which one, or which attribute, was meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklda._core.priors import at_topics
from sklda._sampling.point_estimates import METHODS
from sklda._sampling.prior_learning import KINDS

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
            names, known = inspect.signature(cls).parameters, _SHARED | cls._parameter_constraints
            cls._parameter_constraints = {name: known[name] for name in names if name in known}

    @property
    def _alpha(self):
        """`doc_topic_prior` for the present number of topics; None if it is not given."""
        return at_topics(self.doc_topic_prior, "doc_topic_prior", self.n_components)


# Names in other libraries, by the parameters that they may mean here: the first one that an estimator has.
_MEANT = {
    ("n_components", "max_components", "n_shared"): (
        "k t topics n_topics ntopics nr_topics num_topics numtopics number_of_topics num_components n_component "
        "n_clusters max_topics initial_k"
    ),
    ("min_components",): "min_topics",
    ("doc_topic_prior", "collection_topic_prior"): "alpha doc_topic_alpha theta_prior prior_theta",
    ("topic_word_prior",): "beta eta topic_word_beta word_topic_prior phi_prior prior_phi",
    ("doc_concentration",): "gamma",
    ("max_iter", "max_sweeps"): (
        "iter iters iterations epochs passes sweeps n_iter n_iters n_iterations n_passes n_epochs n_sweeps "
        "num_iter num_iters num_iterations num_passes num_epochs num_sweeps max_iters "
        "max_iterations max_em_iter max_em_its max_epochs iteration"
    ),
    ("burn_in",): "burn burnin n_burn n_burnin n_burn_in num_burn_in warmup warm_up n_warmup num_warmup tune",
    ("n_draws",): "draws num_draws samples n_samples num_samples n_posterior_samples",
    ("draw_every",): "thin thinning sample_every sample_interval lag sample_lag",
    ("n_chains", "n_fits"): "chains nchains num_chains nstart n_start n_init num_init n_restarts",
    ("learn_priors",): (
        "optimize_interval optim_interval optimize_alpha optimize_beta optimize_priors optimize_hyperparameters "
        "learn_alpha learn_eta learn_beta estimate_alpha estimate_eta hyper_optimization"
    ),
    ("n_jobs",): "workers n_workers num_workers threads n_threads num_threads n_cores cores n_processes",
    ("random_state",): "seed random_seed rng",
    ("seed_words",): "seeds seed_topics seeded_words seed_topic_list guided_words",
    ("batch_size",): "chunksize chunk_size minibatch_size",
    ("verbose",): "verbosity progress progress_bar",
}


def _parameter(name, known):
    """The parameter of an estimator that a wrong name means, or None."""
    lower = name.lower().replace(".", "_")
    for candidates, others in _MEANT.items():
        if lower in candidates or lower in others.split():
            if found := next((each for each in candidates if each in known), None):
                return found
    close = difflib.get_close_matches(lower, known, n=1, cutoff=0.8)
    return close[0] if close else None


def _of_inner_estimator(name):
    """The parameter that a wrong name means in the estimator that `ConsensusTopics` fits, or None."""
    return next((c[0] for c, others in _MEANT.items() if name.lower() in (*c, *others.split())), None)


def _advice(name, known):
    if found := _parameter(name, known):
        return f"give {found}"
    if "estimator" in known and (found := _of_inner_estimator(name)):
        return f"{found} is a parameter of its estimator, as in GibbsLDA({found}=...)"
    return f"its parameters are {', '.join(known)}"


def _with_hints(init):
    """A constructor that names the right parameter where it gets a wrong one. Its signature stays."""
    parameters = [each for name, each in inspect.signature(init).parameters.items() if name != "self"]
    if any(each.kind == each.VAR_KEYWORD for each in parameters):
        return init
    known = [each.name for each in parameters if each.kind != each.VAR_POSITIONAL]
    n_unnamed = sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters)
    starred = any(each.kind == each.VAR_POSITIONAL for each in parameters)

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        for name in kwargs:
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}: {_advice(name, known)}.")
        if len(args) > n_unnamed and not starred:
            raise TypeError(
                f"{type(self).__name__} got {len(args)} values without names and takes at most {n_unnamed}: give the "
                f"others by name, as in {known[min(n_unnamed, len(known) - 1)]}=..."
            )
        init(self, *args, **kwargs)

    return __init__


class HintsMixin:
    """Estimators whose errors say what was meant."""

    # Fitted attributes that some fits do not have, and what they need.
    _needed: dict[str, str] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _with_hints(cls.__init__)  # type: ignore[method-assign]

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Values by name; ``estimator__name`` is a parameter of an estimator inside.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If the estimator has no such parameter. The message names the right one.
        """
        known = list(self.get_params(deep=False))
        for name in params:
            if name.partition("__")[0] not in known:
                # scikit-learn raises a ValueError too.
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}: {_advice(name, known)}.")
        return super().set_params(**params)  # type: ignore[misc, no-any-return]

    def __getattr__(self, name: str) -> Any:
        """Raise an AttributeError that says what a missing attribute needs."""
        own = vars(self)
        needed = {"topic_names_": "needs set_topic_names", **self._needed, **own.get("_dropped_", {})}
        reasons = [f"it {needed[name]}"] if name in needed else []
        is_fitted = any(each.endswith("_") and not each.startswith("__") for each in own)
        if name.endswith("_") and not name.endswith("__") and not is_fitted:
            reasons.insert(0, "call fit first")
        reason = f": {'; '.join(reasons)}" if reasons else ""
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{reason}.", name=name, obj=self)
