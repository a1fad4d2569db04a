"""Arguments: numbers, priors, options, labels; mostly legal, some at their limits, some wrong."""

import tempfile

import numpy as np
import pandas as pd
import scipy.sparse as sp

DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 longdouble object".split()
# The kernels' rows have a width of lanes of 16, and their layout changes at 256 and 512.
TOPIC_COUNTS = [1, 2, 3, 5, 8, 15, 16, 17, 32, 33, 64, 65, 100]
MANY_TOPICS = [*range(255, 273), *range(511, 529)]


class Draw:
    """The random choices of one input.

    Attributes
    ----------
    rng : Generator
    careful : bool
        Whether all arguments are to be legal. An estimator has twenty parameters, and one that is wrong hides what the
        others do.
    kinds : set of str
        What the input has had so far, such as "memory-mapped" or "dtype int8".
    """

    def __init__(self, seed, number):
        self.rng = np.random.default_rng([seed, number])
        self.careful = self.chance(0.7)
        self.kinds = {"careful"} if self.careful else set()

    def chance(self, p):
        return bool(self.rng.random() < p)

    def wrong(self, p):
        """With probability p, whether an argument is to be wrong; never in a careful input."""
        return not self.careful and self.chance(p)

    def pick(self, values):
        return values[self.rng.integers(len(values))]

    def whole(self, low, high):
        """Uniform on low, ..., high."""
        return int(self.rng.integers(low, high, endpoint=True))

    def power(self, low=-12, high=12, shape=None):
        """A power of ten with an exponent from `low` to `high`; the limits themselves now and then."""
        exponents = self.rng.uniform(low, high, shape)
        if self.chance(0.3):
            exponents = np.where(self.rng.random(shape) < 0.5, low, high) * np.ones_like(exponents)
        powers = np.clip(10.0 ** np.asarray(exponents), 10.0**low, 10.0**high)
        return powers if shape is not None else float(powers)

    def n_components(self):
        return self.pick(MANY_TOPICS if self.chance(0.12) else TOPIC_COUNTS)

    def seed(self):
        """A random_state of any kind; its stream is drawn here too."""
        number = self.whole(0, 2**32 - 1)
        makers = [int, int, int, np.int64, np.uint32, np.random.RandomState, np.random.default_rng]
        return (_global_state if self.wrong(0.03) else self.pick(makers))(number)

    def odd(self):
        """A value that few options take."""
        numbers = [0, -1, 1.5, True, np.nan, np.inf, 1j, np.int64(2), np.float64(3.0), np.True_, -(2**31), -0.0]
        return self.pick([*numbers, "x", "", b"x", None, [], [1], (1, 2), {}, object, np.array(2), np.array([1, 2])])

    def option(self, *legal, odds=0.01):
        """One of the legal values, rarely something odd."""
        if self.wrong(odds):
            self.kinds.add("option: odd")
            return self.odd()
        value = self.pick(legal)
        if isinstance(value, float | int) and not 1e-6 < value < 1e6:
            self.kinds.add("option: at its limits")
        return value

    def mostly(self, legal, wrong, odds=0.05):
        """One of `legal`, rarely one of `wrong`."""
        if self.wrong(odds):
            self.kinds.add("option: odd")
            return self.pick(wrong)
        return self.pick(legal)

    def jobs(self):
        """An n_jobs."""
        return self.pick(
            [0, 10**5, -(10**5), 1.5, "2", True] if self.wrong(0.02) else [None] * 5 + [1, 2, 2, -1, np.int64(2)]
        )

    def prior(self, shapes):
        """A Dirichlet parameter: a number, or an array of one of the shapes."""
        if self.wrong(0.03):
            self.kinds.add("prior: wrong")
            numbers = [0, -1.0, 1e-13, 1e13, np.nan, np.inf, -np.inf, 1j, True, np.float16(1e-8), 10**400]
            arrays = [[], [[]], [1.0], [None], ["a"], np.ones((2, 2, 2)), np.zeros(3), np.array([1], object)]
            return self.pick([*numbers, *arrays, "1", b"1", {}, object()])
        if self.chance(0.35):
            return None
        if not shapes or self.chance(0.45):
            kinds = [float, np.float32, np.array, lambda x: int(max(x, 1)), np.longdouble]
            value = self.pick([self.power(), self.power(-2, 1), 1.0, 1 / 3])
            self._mark_prior(value)
            if value in (1e-12, 1e12):
                # A single is not a double: it becomes a little less or more.
                kinds = [float, np.array]
            return self.pick([float, float, float, *kinds])(value)
        shape = self.pick(list(shapes))
        values = self.power(shape=shape) if self.chance(0.6) else self.power(-2, 1, shape)
        if values.size and self.chance(0.25):
            # One topic has nearly everything.
            values[...] = self.power(-12, -6)
            values.flat[self.whole(0, values.size - 1)] = self.power(6, 12)
        if values.size and self.wrong(0.03):
            self.kinds.add("prior: wrong")
            values.flat[self.whole(0, values.size - 1)] = self.pick([0, -1, np.nan, np.inf, 1e-13, 1e13])
        else:
            self.kinds.add("prior: array")
            self._mark_prior(values)
        return self.layout(values)

    def _mark_prior(self, values):
        exponents = np.log10(np.asarray(values, float))
        self.kinds |= {f"prior: 1e{each:+03d}" for each in (4 * np.floor(exponents / 4).astype(int)).flat}

    def layout(self, array):
        """The same values in another form in memory."""
        forms = ["list", "Fortran", "strided", "reversed", "read-only", "mapped", "object", "longdouble"]
        kind = self.pick(["plain", "plain", *forms])
        if kind in ("Fortran", "strided", "reversed"):
            self.kinds.add("not contiguous")
        elif kind == "read-only":
            self.kinds.add(kind)
        if kind == "mapped":
            return self.mapped(array)
        if kind == "list":
            return array.tolist()
        if kind == "Fortran":
            return np.asfortranarray(array)
        if kind == "strided" and array.ndim:
            wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
            wide[..., ::2] = array
            return wide[..., ::2]
        if kind == "reversed" and array.ndim:
            return array[::-1].copy()[::-1]
        if kind == "read-only":
            array = array.copy()
            array.flags.writeable = False
            return array
        return array.astype(kind) if kind in ("object", "longdouble") else array

    def mapped(self, array):
        """The same array in a file, perhaps read-only as those that joblib passes to other processes."""
        if array.dtype.hasobject or not array.size:
            return array
        self.kinds.add("memory-mapped")
        with tempfile.TemporaryFile() as file:
            array.tofile(file)
            return np.memmap(file, array.dtype, self.pick(["r", "r", "r+", "c"]), shape=array.shape)

    def topics(self, n_components, n_features, *, zeros=True):
        """phi of shape (n_components, n_features), rarely not a matrix of distributions."""
        phi = self.rng.dirichlet(np.full(max(n_features, 1), self.pick([0.05, 1.0, 50.0])), n_components)[
            :, :n_features
        ]
        if zeros and self.chance(0.3):
            phi[self.rng.random(phi.shape) < 0.4] = 0
            if phi.size and self.chance(0.5):
                phi[:, self.whole(0, n_features - 1)] = 0
        with np.errstate(invalid="ignore"):
            phi = phi / phi.sum(axis=1, keepdims=True)
        phi[~np.isfinite(phi).all(axis=1)] = 1 / max(n_features, 1)
        if phi.size and self.wrong(0.03):
            phi.flat[self.whole(0, phi.size - 1)] = self.pick([np.nan, np.inf, -0.1, 2.0, 1e300])
        if self.wrong(0.02):
            return self.pick([None, "x", [], [[]], phi[0] if len(phi) else phi, phi[None], phi * 2, phi.T, 1.0, {}])
        return self.layout(phi)

    def seed_words(self, n_components, n_features):
        """Seed words of topics, mostly none."""
        if self.chance(0.7):
            return None
        if self.wrong(0.15):
            return self.pick(
                [{0: "w0"}, {0: 3}, {"a": [0], 0: [0]}, {-1: [0]}, {0: [n_features]}, {0: [None]}, [[0]], {None: []}]
            )
        size = self.whole(0, min(n_components, 3))
        topics = self.rng.choice(n_components, size=size, replace=False).tolist()
        words = ["w0", *range(n_features)] if self.wrong(0.3) else list(range(n_features))
        found = {k: [self.pick(words) for _ in range(self.whole(0, 4))] for k in topics if words}
        return {k: dict.fromkeys(own, self.power(-2, 3)) for k, own in found.items()} if self.chance(0.4) else found

    def labels(self, n_documents):
        """A collection for every document."""
        kinds = [
            lambda: self.rng.integers(0, 3, n_documents),
            lambda: self.rng.integers(0, 3, n_documents).astype(str),
            lambda: self.rng.integers(0, 3, n_documents).tolist(),
            lambda: [self.pick(["a", "b\0", "", "ä"]) for _ in range(n_documents)],
            lambda: [self.pick([1, "a", (1, 2), 2.5, -1, 2**63 + 1, True]) for _ in range(n_documents)],
            lambda: self.rng.random(n_documents) < 0.5,
            lambda: tuple(range(n_documents)),
            lambda: None,
        ]
        wrong = [
            lambda: "abc",
            lambda: 3,
            lambda: [[1]] * n_documents,
            lambda: [None] * n_documents,
            lambda: [np.nan] * n_documents,
            lambda: [1] * (n_documents + 1),
            lambda: np.zeros((n_documents, 2), int),
            lambda: {},
        ]
        return self.pick(wrong if self.wrong(0.1) else kinds)()

    def dates(self, n_documents):
        """Dates of every document, some of them missing."""
        D = n_documents
        kinds = [
            lambda: self.rng.integers(1, 10000, D),
            lambda: self.rng.integers(1980, 1983, D).astype(str),
            lambda: [self.pick([None, "1984", "1984-05", "1984-05-31T10:00Z", 1999.0]) for _ in range(D)],
            lambda: np.datetime64("1969-12-01") + self.rng.integers(0, 60, D).astype("timedelta64[D]"),
            lambda: pd.Series(pd.date_range("2024-01-01", periods=D, tz="UTC")),
        ]
        wrong = [
            lambda: None,
            lambda: "1984",
            lambda: [2024] * (D + 1),
            lambda: ["31.5.1984"] * D,
            lambda: [np.inf] * D,
            lambda: [True] * D,
            lambda: ["1984-02-31"] * D,
        ]
        return self.mostly(kinds, wrong)()

    def covariates(self, n_documents):
        """Covariates of every document."""
        D = n_documents
        kinds = [
            lambda: self.rng.standard_normal(D),
            lambda: self.rng.standard_normal((D, self.pick([1, 2, 3]))),
            lambda: self.rng.integers(0, 3, (D, 2)),
            lambda: self.rng.integers(0, 3, D).astype(str),
            lambda: {
                "a": self.rng.standard_normal(D).tolist(),
                "b": [self.pick(["x", "y\0", "", 3]) for _ in range(D)],
            },
            lambda: pd.DataFrame({"a": np.arange(D), 2: pd.Categorical([self.pick("xy") for _ in range(D)])}),
            lambda: sp.csr_array(self.rng.integers(0, 2, (D, 2)).astype(float)),
            lambda: self.rng.random((D, 2)) < 0.5,
            lambda: np.full(D, 10.0 ** self.rng.integers(-300, 300)),
            lambda: np.arange(D) * 10.0 ** self.rng.integers(-300, 300),
            lambda: np.column_stack([np.arange(D), np.arange(D)]),
        ]
        wrong = [
            lambda: "abc",
            lambda: 3,
            lambda: [[{}]] * D,
            lambda: [None] * D,
            lambda: [np.nan] * D,
            lambda: [1] * (D + 1),
            lambda: np.zeros((D, 0)),
            lambda: np.zeros((D, 2, 2)),
            lambda: {},
            lambda: {"a": 3},
            lambda: np.full(D, 1j),
            lambda: np.full(D, np.datetime64("2020-01-01")),
        ]
        return self.pick(wrong if self.wrong(0.15) else kinds)()


def _global_state(number):
    np.random.seed(number)  # noqa: NPY002
    return np.random
