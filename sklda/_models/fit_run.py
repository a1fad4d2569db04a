"""`FitRun`, the one object that goes through a fit; and what a warm start needs of the fit before."""

import copy
import reprlib
from functools import wraps
from inspect import Parameter, signature
from typing import cast

import numpy as np

from sklda._core import random
from sklda._input.types import Method
from sklda._models.capabilities import not_taken
from sklda._models.checkpoints import forget, resumed_seed, saver_of
from sklda._models.progress import fitted_attributes, progress_of
from sklda._sampling.run_chains import Run


def all_or_nothing(fit: Method) -> Method:
    """Decorator: if an error or Ctrl-C ends the fit, the estimator is as it was before.

    An argument that the model does not take is refused with the reason.
    """
    known = signature(fit).parameters
    takes_all = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())

    @wraps(fit)
    def guarded(self, *args, **kwargs):
        for name in kwargs:
            if name not in known and not takes_all:
                raise not_taken(type(self).__name__, name)
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            # A single assignment, because another interrupt may come at any function call.
            self.__dict__ = before
            raise

    return cast(Method, guarded)


class FitRun(Run):
    """A fit of an estimator: its seed, its progress, the results that it continues, and where it is saved.

    It is a context: its end closes the files.

    Parameters
    ----------
    estimator : BaseLDA
    corpus : Corpus or ClusterCorpus
    X, y : object
        As given. They are passed to callbacks.
    **metadata : object
        More arguments of `fit`, with which a saved fit can begin again.

    Attributes
    ----------
    former : ChainResults or None
        The results that a warm start continues.
    seed : numpy.random.SeedSequence or None
        None if there are former results.
    fold_in_seed : int
        From it, the seeds of documents in `transform` are derived.
    progress : Progress
        Silent before `begin`.
    saver : Saver or None
    """

    def __init__(self, estimator, corpus, X, y=None, **metadata):
        super().__init__()
        self.estimator = estimator
        self.corpus = corpus
        self.X, self.y = X, y
        self.metadata = metadata
        self.former = former_results(estimator, corpus)
        if self.former is None:
            self.seed = resumed_seed(estimator) or random.seed_sequence(estimator.random_state)
            self.fold_in_seed = fold_in_seed_of(self.seed)
        else:
            self.seed = None
            self.fold_in_seed = estimator._fold_in_seed_

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if self.saver is not None:
            self.saver.close(error)

    def chain_seeds(self, n_chains):
        """The seeds of new chains, a list."""
        return [random.child(self.seed, 0, c) for c in range(n_chains)]

    def begin(self, *, n_chains=None, n_sweeps=None, n_annealed=0):
        """All is checked, and the work begins: it is shown and saved from here on.

        The attributes of an earlier fit go, so that the fit can set its own. What a warm start and `transform` need of
        this one is set.

        Parameters
        ----------
        n_chains : int, default=None
            None: the fit has stages of which nobody knows the number.
        n_sweeps, n_annealed : int
            Sweeps of each chain, and how many of them are annealed.
        """
        self.saver = saver_of(self.estimator, self.corpus, self.seed, self.y, self.metadata)
        given = {"X": self.X, "y": self.y}
        self.progress = progress_of(self.estimator, given, n_chains, n_sweeps, n_annealed)
        forget(self.estimator)
        self.estimator._settings_ = settings_of(self.estimator)
        self.estimator._fold_in_seed_ = self.fold_in_seed

    def finish(self):
        """Save the fitted attributes, and return the estimator."""
        if self.saver is not None:
            self.saver.finish(fitted_attributes(self.estimator.__getstate__()))
        return self.estimator


def fold_in_seed_of(seed):
    """`FitRun.fold_in_seed` from the seed of a fit."""
    return random.key(random.child(seed, 1))


def former_results(estimator, corpus):
    """The results that a warm start continues, or None. Refuse other data and parameters."""
    own = vars(estimator)
    if not getattr(estimator, "warm_start", False) or "components_" not in own:
        return None
    if corpus.fingerprint != estimator._fingerprint_:
        raise ValueError(
            "warm_start=True continues the previous fit, but this X is different from the X of that fit. "
            "Fit with warm_start=False, or clone the estimator, to begin again."
        )
    check_same_parameters(settings_of(estimator), estimator._settings_)
    return estimator._results_


def settings_of(estimator):
    """A copy of the parameters that must not change before a warm start, because the draws depend on them."""
    return copy.deepcopy({name: estimator._setting(name) for name in estimator._continued})


def check_same_parameters(now, before, way="warm_start=True", instead="Fit with warm_start=False"):
    """Raise a ValueError if a parameter differs from its value before; both are dicts by name."""
    for name, value in before.items():
        if not np.array_equal(now[name], value):
            raise ValueError(
                f"{way} continues a fit with {name}={reprlib.repr(value)}, but {name} is now "
                f"{reprlib.repr(now[name])}. {instead} to begin again."
            )
