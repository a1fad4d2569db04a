"""Texts and counts: read from files, bundled with the package, drawn from a model, or those of other samplers."""

from sklda.datasets._counts import load_counts, save_counts
from sklda.datasets._docstrings import load_docstrings, read_docstrings
from sklda.datasets._states import read_mallet_state
from sklda.datasets._survey import make_survey_answers
from sklda.datasets._synthetic import make_compound_lda_corpus, make_lda_corpus
from sklda.datasets._text_files import read_texts
from sklda.datasets._tokens import count_tokens

__all__ = [
    "count_tokens",
    "load_counts",
    "load_docstrings",
    "make_compound_lda_corpus",
    "make_lda_corpus",
    "make_survey_answers",
    "read_docstrings",
    "read_mallet_state",
    "read_texts",
    "save_counts",
]
