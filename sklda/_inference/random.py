"""From ``random_state`` to one stream per unit of work: a chain, a document."""

import numpy as np
from scipy.special import log_softmax
from sklearn.utils import check_random_state


def seed_sequence(random_state=None):
    """The `numpy.random.SeedSequence` that everything random in one fit descends from.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None takes fresh entropy, an int is the entropy, a generator is asked for 128 bits (and moves on).

    Returns
    -------
    numpy.random.SeedSequence

    Raises
    ------
    ValueError
        If `random_state` is none of these.
    """
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4, dtype=np.uint64).tolist())
    if random_state is None or random_state is np.random:
        return np.random.SeedSequence(None if random_state is None else np.random.randint(2**31))  # noqa: NPY002
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**31, size=4).tolist())
    check_random_state(random_state)
    return np.random.SeedSequence(int(random_state))


def child(seed, *key):
    """The descendant of `seed` named by the integers `key`, whatever other descendants there are."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def stream(seed):
    """State of the kernels' generator, uint64 (4,)."""
    return seed.generate_state(4, np.uint64)


def key(seed):
    """A 64-bit number, from which documents' streams are seeded."""
    return int(seed.generate_state(1, np.uint64)[0])


def log_gamma(rng, shape):
    """Logarithms of Gamma(shape, 1) variates, which may themselves underflow: log G(a + 1) + log(U) / a."""
    return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def log_dirichlet(rng, parameter):
    """Logarithms of Dirichlet variates, one a row of `parameter`; finite for the smallest parameters."""
    return log_softmax(log_gamma(rng, parameter), axis=1)
