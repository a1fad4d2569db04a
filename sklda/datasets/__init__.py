"""Corpora for examples and tests: drawn from a model, or bundled with the package."""

from sklda.datasets._docstrings import load_docstrings
from sklda.datasets._synthetic import make_compound_lda_corpus, make_lda_corpus

__all__ = ["load_docstrings", "make_compound_lda_corpus", "make_lda_corpus"]
