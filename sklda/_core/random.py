"""Seeds and random streams: from ``random_state`` to one stream for each chain or document."""

import numpy as np
from sklearn.utils import check_random_state


def seed_sequence(random_state=None):
    """The `numpy.random.SeedSequence` from which all seeds of one fit are derived.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None: entropy of the operating system. An int: the int is the entropy. A generator: it draws 128 bits, so its
        state changes.

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
        entropy = None if random_state is None else np.random.randint(2**31)  # noqa: NPY002
        return np.random.SeedSequence(entropy)
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**31, size=4).tolist())
    check_random_state(random_state)
    return np.random.SeedSequence(int(random_state))


def child(seed, *key):
    """The seed derived from `seed` and the integers `key`. It does not depend on other derived seeds."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def numpy_generator(random_state):
    """The generator that is given, or one whose seed comes from `random_state`."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    seed = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seed)


def stream(seed):
    """The initial state of the random generator of the kernels, uint64 (4,)."""
    return seed.generate_state(4, np.uint64)


def key(seed):
    """A 64-bit number, from which the seeds of documents are derived."""
    return int(seed.generate_state(1, np.uint64)[0])


# The increment of the key of splitmix64 (Steele, Lea & Flood 2014).
GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def splitmix64(x):
    """The output function of the generator splitmix64, entry by entry of an array of uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(key, first, n):
    """Numbers from 0 to 1 of n tokens. They depend on `key` and on the numbers of the tokens, from `first` on."""
    numbers = np.arange(first, first + n).astype(np.uint64)
    bits = splitmix64(np.uint64(key) + numbers * np.uint64(GOLDEN_GAMMA))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def log_gamma(rng, shape):
    """Logarithms of Gamma(shape, 1) variates, as log G + log(U) / shape with G from Gamma(shape + 1, 1).

    The variates themselves could underflow.
    """
    return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def log_dirichlet(rng, parameter):
    """Logarithms of Dirichlet variates, one for each row of `parameter`. They are finite for small parameters too."""
    found = log_gamma(rng, parameter)
    # For a few numbers `scipy.special.log_softmax` takes several times as long.
    found -= found.max(axis=1, keepdims=True)
    return found - np.log(np.exp(found).sum(axis=1, keepdims=True))
