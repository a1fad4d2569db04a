"""The bundled corpus."""

from importlib.resources import files
from typing import Literal, overload

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch


@overload
def load_docstrings(*, return_X_y: Literal[False] = ...) -> Bunch: ...
@overload
def load_docstrings(*, return_X_y: Literal[True]) -> tuple[csr_matrix, np.ndarray]: ...
def load_docstrings(*, return_X_y: bool = False) -> Bunch | tuple[csr_matrix, np.ndarray]:
    """Load the bag of words of the docstrings of NumPy, SciPy and scikit-learn.

    A document is the prose of the docstring of one public function or class, without code, types, parameter names,
    formulas, and sentences that many docstrings share. The corpus does not depend on the installed versions of the
    three packages.

    =================  =======
    documents            1,638
    words                2,533
    tokens             112,716
    subject groups          16
    collections              3
    =================  =======

    Parameters
    ----------
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    docstrings : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the following attributes.

        data : csr_matrix of shape (1638, 2533), dtype int64
            Number of occurrences of each word in each document; column indices are sorted.
        feature_names : ndarray of str of shape (2533,)
            The words, in alphabetical order.
        target : ndarray of int of shape (1638,)
            Subject group of each document, from 0 to 15.
        target_names : ndarray of str of shape (16,)
            Name of each subject group.
        collection : ndarray of str of shape (1638,)
            Package of each document: ``"numpy"``, ``"scipy"`` or ``"sklearn"``.
        document_names : ndarray of str of shape (1638,)
            Qualified name of the documented object, for instance ``"scipy.stats.norm"``.
        DESCR : str
            Description of the corpus, with the licences of the three packages.

    (data, target) : tuple
        ``data`` and ``target``, if ``return_X_y`` is True.

    See Also
    --------
    read_docstrings : The texts of the versions that are installed, with years.

    Notes
    -----
    Subject groups come from the modules of the three packages. They are only a rough classification by subject: topics
    distinguish most of the groups, but not all.

    Examples
    --------
    >>> from sklda.datasets import load_docstrings
    >>> docstrings = load_docstrings()
    >>> docstrings.data.shape
    (1638, 2533)
    >>> print(docstrings.target_names[docstrings.target[0]])
    polynomials
    >>> X, y = load_docstrings(return_X_y=True)
    """
    folder = files("sklda.datasets").joinpath("data")
    with folder.joinpath("docstrings.npz").open("rb") as file, np.load(file, allow_pickle=False) as archive:
        stored = dict(archive)

    indptr = np.concatenate(([0], np.cumsum(stored["n_words"], dtype=np.int32)), dtype=np.int32)
    counts = (stored["counts"].astype(np.int64), stored["words"].astype(np.int32), indptr)
    data = csr_matrix(counts, shape=(len(indptr) - 1, len(stored["feature_names"])))
    target = stored["target"].astype(np.int64)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        feature_names=stored["feature_names"],
        target=target,
        target_names=stored["target_names"],
        collection=np.array([name.partition(".")[0] for name in stored["document_names"]]),
        document_names=stored["document_names"],
        DESCR=folder.joinpath("docstrings.rst").read_text(encoding="utf-8"),
    )
