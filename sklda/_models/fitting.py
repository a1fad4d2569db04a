"""What the fits of estimators have in common: all or nothing, the run of a plan, and what a warm start needs."""

import copy
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np

from sklda._core import random
from sklda._core.corpus import Corpus
from sklda._core.parallel import no_interrupt_lost
from sklda._core.priors import SMALLEST, at_topics
from sklda._core.types import Method
from sklda._models.progress import progress_of
from sklda._sampling.annealed_start import NOT_ANNEALED, Annealing
from sklda._sampling.prior_learning import kind_of_learning
from sklda._sampling.run_chains import Schedule, run_chains


def all_or_nothing(fit: Method) -> Method:
    """Decorator: if an error or Ctrl-C ends the fit, the estimator is as it was before."""

    arguments = signature(fit)

    @wraps(fit)
    def guarded(self, *args, **kwargs):
        try:
            arguments.bind(self, *args, **kwargs)
        except TypeError as error:
            # Python would name the base class that defines the method.
            raise TypeError(f"{type(self).__name__}.{fit.__name__}() {error}.") from None
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            # A single assignment, because another interrupt may come at any function call.
            self.__dict__ = before
            raise

    return no_interrupt_lost(guarded)


@dataclass(eq=False)
class Plan:
    """What an estimator makes of its parameters and data: a fit that `fit_chains` can do.

    Attributes
    ----------
    known : dict
        Fitted attributes that do not depend on the chains. `begin` and `run` may add some.
    n_jobs : int or None
    begin : callable
        Takes the seed of the fit, and returns the chains: new ones, or those of a warm start, for which it is None.
    schedule : Schedule or None
        The work between sweeps.
    n_chains : int or None
        None: `run` reports stages rather than sweeps.
    n_sweeps : int or None
        Of each chain.
    annealing : Annealing
        The first of these sweeps.
    reserve : callable
        Reserves the memory of the results. It is held while the chains run.
    sweep : callable
        `run_chains`, or a function with its arguments.
    run : callable or None
        Takes the plan, the seed and the `Progress`, and returns the chains, or another object for `_chain_results`.
        None: the chains of `begin` after their sweeps.
    warnings : tuple of callable
        They take the results before the means.
    """

    known: dict[str, Any]
    n_jobs: int | None
    begin: Callable[..., Any] | None = None
    schedule: Schedule | None = None
    n_chains: int | None = None
    n_sweeps: int | None = None
    annealing: Annealing = NOT_ANNEALED
    reserve: Callable[[], Any] = list
    sweep: Callable[..., Any] = run_chains
    run: Callable[..., Any] | None = None
    warnings: tuple[Callable[[Any], None], ...] = ()


def fit_chains(estimator, corpus, data, **metadata):
    """The fitted attributes of an estimator, a dict. After an error, nothing that the fit has begun goes on.

    ``estimator._plan(corpus, data, former, **metadata)`` returns a `Plan`; `former` are the results that a warm start
    continues, or None. ``estimator._chain_results(known, chains)`` returns the results of chains, and
    ``estimator._attributes(known, results)`` the fitted attributes that other estimators do not have.
    """
    with corpus.ended_by_errors():
        former = _former_results(estimator, corpus)
        plan = estimator._plan(corpus, data, former, **metadata)
        reserved = plan.reserve()
        known, seed = plan.known, None
        if former is None:
            seed = random.seed_sequence(estimator.random_state)
            known["_fold_in_seed_"] = random.key(random.child(seed, 1))
        else:
            known["_fold_in_seed_"] = estimator._fold_in_seed_
        if estimator._continued:
            known["_settings_"] = copy.deepcopy(_settings(estimator))
        sizes = plan.n_chains, plan.n_sweeps, plan.annealing.n_sweeps
        progress = progress_of(estimator, data, partial(described, estimator, known), *sizes)
        if plan.run is None:
            options = {"n_jobs": plan.n_jobs, "progress": progress, "schedule": plan.schedule}
            chains = plan.sweep(plan.begin(seed), plan.n_sweeps, **options)
        else:
            chains = plan.run(plan, seed, progress)
        del reserved
        progress.end(chains)
        results = estimator._chain_results(known, chains)
        del chains  # They have arrays for sweeps.
        for warn in plan.warnings:
            warn(results)
        return _with_means(estimator, known, results)


def described(estimator, known, chains):
    """Fitted attributes: the known ones, and those of the chains as they are now."""
    return _with_means(estimator, known, estimator._chain_results(known, chains))


def _with_means(estimator, known, results):
    results.estimate(getattr(estimator, "point_estimate", None), estimator.n_jobs)
    found = known | results.attributes()
    return found | estimator._attributes(found, results)


def _former_results(estimator, corpus):
    """The results that a warm start continues, or None. Refuse other data and parameters."""
    own = vars(estimator)
    if not getattr(estimator, "warm_start", False) or "components_" not in own:
        return None
    if not isinstance(corpus, Corpus):
        raise ValueError(
            "warm_start=True cannot continue a fit if X is a Dask array on a cluster, because the workers do not keep "
            "the chain. Fit with warm_start=False."
        )
    if "_results_" not in own:
        raise ValueError(
            "warm_start=True cannot continue the previous fit: it was on a Dask cluster, and the workers do not keep "
            "its chain. Fit with warm_start=False to begin again."
        )
    if corpus.fingerprint != estimator._fingerprint_:
        raise ValueError(
            "warm_start=True continues the previous fit, but this X is different from the X of that fit. "
            "Fit with warm_start=False, or clone the estimator, to begin again."
        )
    check_same_parameters(_settings(estimator), estimator._settings_)
    return estimator._results_


def _settings(estimator):
    """The parameters that must not change before a warm start, because the draws of a chain depend on them."""
    values = {name: getattr(estimator, name) for name in estimator._continued}
    if "doc_topic_prior" in values:
        # Its value at this number of topics: a copy of a function need not be equal to it.
        values["doc_topic_prior"] = estimator._alpha
    return values | {"learn_priors": kind_of_learning(estimator.learn_priors)}


def check_same_parameters(now, before, way="warm_start=True", instead="Fit with warm_start=False"):
    """Raise a ValueError if a parameter differs from its value before; both are dicts by name."""
    for name, value in before.items():
        if not np.array_equal(now[name], value):
            raise ValueError(
                f"{way} continues a fit with {name}={reprlib.repr(value)}, but {name} is now "
                f"{reprlib.repr(now[name])}. {instead} to begin again."
            )


def prior_attributes(estimator, priors, learnt="symmetric"):
    """alpha, a float if all topics have the same; eta as given, or a float if it was learnt.

    `learnt` is the kind of priors that the estimator has learnt, see `kind_of_learning`.
    """
    alpha = at_topics(estimator.doc_topic_prior, "doc_topic_prior", priors.n_components)
    eta = estimator.topic_word_prior
    as_array = np.ndim(alpha) if alpha is not None else learnt == "asymmetric"
    if len(priors.topic) and (eta is None or getattr(estimator, "seed_words", None)):
        # Rounding to single precision may have left the allowed range.
        eta = np.maximum(priors.topic_word(), SMALLEST, dtype=np.float64)
    else:
        eta = eta_attribute(eta, priors)
    return {
        "doc_topic_prior_": priors.doc[0].copy() if as_array else float(priors.doc[0, 0]),
        "topic_word_prior_": eta,
    }


def eta_attribute(eta, priors=None):
    """eta as a fitted attribute: a copy of an array that was given, or the number that chains with `priors` have."""
    if np.ndim(eta):
        return np.array(eta, dtype=np.float64)
    return float(eta if priors is None else priors.word[0])
