"""read_docstrings: real texts, with years."""

import numpy as np
import pytest
from pandas.api.types import is_integer_dtype
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import GibbsLDA
from sklda.datasets import load_docstrings, read_docstrings
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
    # Most documents of the word counts are there.
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


def test_texts_go_into_a_pipeline_with_their_names(docstrings):
    few = docstrings["text"][:60]
    words = CountVectorizer(stop_words="english", min_df=3)
    model = make_pipeline(words, GibbsLDA(3, max_iter=10, random_state=0)).fit(few)
    assert document_table(model, few)["document"].tolist() == few.index.tolist()
