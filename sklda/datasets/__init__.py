"""Corpora to learn and to test with: drawn from the model, or bundled."""

from sklda.datasets._docstrings import load_docstrings
from sklda.datasets._synthetic import make_compound_lda_corpus, make_lda_corpus

__all__ = ["load_docstrings", "make_compound_lda_corpus", "make_lda_corpus"]
