"""The rule for scales that are zero apart from rounding errors: ranges, residuals, standard deviations."""

import numpy as np

# Rounding errors by the size of the values: sums of many of them in double precision, and values in single precision.
_OF_SUMS, _OF_VALUES = 1e-10, 16


def rounding(values, axis=None, **options):
    """The largest difference between `values` that may be a rounding error, along an axis.

    A scale that is not above it is zero: the values tell nothing of how they vary. A quotient by such a scale, and an
    error or p-value from it, is NaN, or its limit where there is one.
    """
    values = np.asarray(values)
    eps = np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0.0
    return max(_OF_SUMS, _OF_VALUES * eps) * np.abs(values).max(axis=axis, initial=0, **options)
