"""The bundled corpus: docstrings, as word counts and as texts."""

from importlib.resources import files
from typing import Literal, overload

import numpy as np
from pandas import DataFrame, read_csv
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
    read_docstrings : The texts, with years.

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


def read_docstrings() -> DataFrame:
    """Read the docstrings of NumPy, SciPy and scikit-learn, with their texts, packages and years.

    A document is the prose of the docstring of one public function or class: the summary, the descriptions of
    parameters and results, the notes, and the text between examples. Code, headings, types, formulas, references, and
    sentences that more than six docstrings share are left out. So are docstrings of fewer than 20 words, and those that
    repeat more than three quarters of earlier ones. The texts come with sklda, so they do not depend on the installed
    versions of the three packages.

    Returns
    -------
    pandas.DataFrame of shape (2574, 6)
        A row for each docstring, in the order of modules and names. The index, ``name``, is the name of the function or
        class, such as ``"scipy.stats.gaussian_kde"``. Columns:

        - ``text``: the prose, with an empty line between paragraphs
        - ``package``: ``"numpy"``, ``"scipy"`` or ``"sklearn"``
        - ``module``: such as ``"scipy.stats"``
        - ``kind``: ``"function"``, ``"class"`` or ``"object"``, such as a distribution of ``scipy.stats``
        - ``length``: the number of words
        - ``year``: that of the release that added the function or class, if the docstring says it (Int64); else NA

    See Also
    --------
    load_docstrings : Word counts of these docstrings, with their subjects.
    read_texts : Read your own texts.

    Examples
    --------
    >>> from sklda.datasets import read_docstrings
    >>> docstrings = read_docstrings()
    >>> docstrings.columns.tolist()
    ['text', 'package', 'module', 'kind', 'length', 'year']
    >>> butter = docstrings.loc["scipy.signal.butter"]
    >>> butter["text"].partition("\\n")[0], butter["package"], butter["kind"]
    ('Butterworth digital and analog filter design.', 'scipy', 'function')
    >>> int(docstrings.loc["scipy.signal.sosfilt", "year"])
    2015
    """
    # Only a year can be missing.
    with files("sklda.datasets").joinpath("data", "docstring_texts.csv.xz").open("rb") as file:
        return read_csv(
            file,
            compression="xz",
            index_col="name",
            dtype={"year": "Int64"},
            keep_default_na=False,
            na_values={"year": ""},
        )
