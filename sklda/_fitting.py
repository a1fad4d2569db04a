"""What the fits of estimators have in common: all or nothing, and the attributes of learnt priors."""

from functools import wraps
from inspect import signature

import numpy as np

from sklda._inference.parallel import no_interrupt_lost
from sklda._inference.priors import SMALLEST
from sklda._inference.sampling.prior_learning import kind_of_learning
from sklda._inference.types import Method


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


def prior_attributes(estimator, priors):
    """alpha, a float if all topics have the same; eta as given, or a float if it was learnt."""
    alpha, eta = estimator.doc_topic_prior, estimator.topic_word_prior
    as_array = np.ndim(alpha) if alpha is not None else kind_of_learning(estimator.learn_priors) == "asymmetric"
    if len(priors.topic) and (eta is None or getattr(estimator, "seed_words", None)):
        # Rounding to single precision may have left the allowed range.
        eta = np.maximum(priors.topic_word(), SMALLEST, dtype=np.float64)
    else:
        eta = np.array(eta, dtype=np.float64) if np.ndim(eta) else float(priors.word[0])
    return {
        "doc_topic_prior_": priors.doc[0].copy() if as_array else float(priors.doc[0, 0]),
        "topic_word_prior_": eta,
    }
