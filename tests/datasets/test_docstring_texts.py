"""read_docstrings: real texts of what is installed, with years, whatever the modules do when they are imported."""

import sys
import types
import warnings

import numpy as np
import pytest
from pandas.api.types import is_integer_dtype
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import _docstring_texts, load_docstrings, read_docstrings
from sklda.inspection import document_table


@pytest.fixture(scope="module")
def docstrings():
    return read_docstrings()


def test_rows_are_functions_and_classes(docstrings):
    assert docstrings.index.name == "name"
    assert docstrings.index.is_unique
    assert set(docstrings["package"]) == {"numpy", "scipy", "sklearn"}
    assert set(docstrings["kind"]) == {"function", "class", "object"}
    expected = {
        "numpy.sin": ("numpy", "numpy", "function"),
        "scipy.stats.gaussian_kde": ("scipy", "scipy.stats", "class"),
        "scipy.special.gamma": ("scipy", "scipy.special", "function"),
        "sklearn.decomposition.NMF": ("sklearn", "sklearn.decomposition", "class"),
    }
    for name, values in expected.items():
        assert tuple(docstrings.loc[name, ["package", "module", "kind"]]) == values
    # Most of the bundled documents, which are those of one version, are there.
    assert np.isin(load_docstrings().document_names, docstrings.index).mean() > 0.6


def test_texts_are_prose(docstrings):
    texts = docstrings["text"]
    assert (docstrings["length"] >= 20).all()
    assert texts.is_unique
    for mark in (">>>", ":math:", ".. versionadded", "Parameters\n---", "``"):
        assert texts.str.contains(mark, regex=False).sum() == 0
    sine = texts["numpy.sin"]
    assert sine.startswith("Trigonometric sine, element-wise.\n\n")
    assert "axis, makes an angle at the origin" in sine


def test_years_are_those_of_the_release_that_added_a_function(docstrings):
    assert is_integer_dtype(docstrings["year"].dtype)
    known = docstrings["year"].dropna()
    assert len(known) > 200
    assert known.between(2006, 2026).all()
    assert docstrings.loc["scipy.signal.sosfilt", "year"] == 2015
    assert docstrings["year"].isna()["numpy.sin"]
    # Parameters and options that were added later have directives too.
    assert docstrings.loc["scipy.optimize.linprog", "year"] == 2015


def test_the_same_rows_in_the_same_order(monkeypatch):
    monkeypatch.setattr(_docstring_texts, "_MODULES", ("scipy.optimize", "scipy.signal"))
    first = read_docstrings()
    assert len(first) > 50 and read_docstrings().equals(first)


def test_warnings_and_failures_of_modules_do_no_harm(monkeypatch):
    module = types.ModuleType("scipy_of_the_future")
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"

    def documented():
        pass

    documented.__doc__ = f"Summary of letters. {words}"

    def __getattr__(name):
        warnings.warn(f"{name} is deprecated", DeprecationWarning, stacklevel=2)
        if name == "experimental":
            raise ImportError("enable me first")
        return documented

    module.__all__ = ["experimental", "old"]
    module.__getattr__ = __getattr__
    monkeypatch.setitem(sys.modules, "scipy.of_the_future", module)
    module.__name__ = "scipy.of_the_future"
    monkeypatch.setattr(_docstring_texts, "_MODULES", ("scipy.is_gone", "scipy.of_the_future"))
    assert read_docstrings().index.tolist() == ["scipy.of_the_future.old"]


def test_prose_of_a_docstring():
    text = """
f(x, *, out=None)

Sum of ``x`` and :func:`~numpy.cos` [1]_ of *all* values, :math:`a^2`.

.. versionadded:: 1.3.0
   Not prose.

Parameters
----------
x : array-like
    A *number*::

        x = 1

    or a `list <https://example.org>`_.

    .. versionadded:: 1.5

Notes
-----
.. note:: Keep this.

===  ===
a    b
===  ===

- First item
- Second item

References
----------
.. [1] Left out.

Examples
--------
Between examples.

>>> f(1)
2
""".strip()
    found = [[sentence.text for sentence in paragraph] for paragraph in _docstring_texts._sentences(text, "numpy.f")]
    assert [each for paragraph in found for each in paragraph] == [
        "Sum of x and cos of all values, ….",
        "A number:",
        "or a list.",
        "Keep this.",
        "First item",
        "Second item",
        "Between examples.",
    ]
    assert _docstring_texts._year(text, "scipy") == 2019


def test_texts_go_into_a_pipeline_with_their_names(docstrings):
    few = docstrings["text"][:60]
    words = CountVectorizer(stop_words="english", min_df=3)
    model = make_pipeline(words, GibbsLDA(3, max_iter=10, random_state=0)).fit(few)
    assert document_table(model, few)["document"].tolist() == few.index.tolist()


def test_without_docstrings_there_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "flags", types.SimpleNamespace(optimize=2))
    with pytest.raises(RuntimeError, match="Python runs with -OO"):
        read_docstrings()
