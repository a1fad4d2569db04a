"""Dask arrays of counts, block by block. Dask is imported by the caller, or not at all."""

import sys

import numpy as np


def is_dask(X):
    """Whether X is a Dask array."""
    array = sys.modules.get("dask.array")
    return array is not None and isinstance(X, array.Array)


def blocks_of(X, optimize=True):
    """The blocks of documents of a Dask array, a list of Delayed; each has all columns.

    With `optimize`, Dask optimises the graph of X, which must then not become a part of another array.

    Raises
    ------
    ValueError
        If X is not a matrix, or its number of columns is not known.
    """
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got a Dask array of {X.ndim}.")
    if np.isnan(X.shape[1]):
        raise ValueError(
            "X is a Dask array with an unknown number of columns. Give this number when you make the array, as in "
            "dask.array.from_delayed(block, shape=(numpy.nan, n_features), dtype=int)."
        )
    X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    return list(X.to_delayed(optimize_graph=optimize)[:, 0])


def check_shape(number, found, expected):
    """Refuse a block whose shape is not that which Dask has of it; a NaN there is not known."""
    for what, own, known in zip(("rows", "columns"), found, expected, strict=True):
        if not np.isnan(known) and own != known:
            raise ValueError(f"block {number} of X has {own} {what}, and the Dask array says {known:.0f}.")


def by_block(function, model, X, n_columns):
    """A Dask array that has ``function(model, block)`` for the blocks of X. Nothing is computed.

    Parameters
    ----------
    function : callable
        Returns a row or a number for each document.
    model : object
        It is sent to each worker once.
    X : dask.array.Array
    n_columns : int or None
        None: `function` returns a number for each document.
    """
    import dask
    import dask.array as da

    model, columns = dask.delayed(model, traverse=False), () if n_columns is None else (n_columns,)
    function = dask.delayed(function)
    results = [
        da.from_delayed(function(model, block), (size, *columns), np.float64)
        for block, size in zip(blocks_of(X, optimize=False), X.chunks[0], strict=True)
    ]
    return da.concatenate(results)
