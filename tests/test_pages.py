"""The code in the pages of the documentation runs."""

import doctest
import re
from importlib.metadata import version
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "doc"
# Folders that Sphinx makes.
MADE = {"auto_examples", "generated", "_build", "_templates"}
PAGES = {
    page.relative_to(DOC).as_posix(): page
    for page in sorted(DOC.rglob("*.rst"))
    if not MADE.intersection(page.parts) and ">>>" in page.read_text(encoding="utf-8")
}
# Their code takes more than two CPU seconds a page, with functions that have tests of their own.
SLOW = {
    "guide/compound_lda.rst",
    "guide/covariates.rst",
    "guide/effects.rst",
    "guide/gibbs_lda.rst",
    "guide/hdp.rst",
    "guide/held_out.rst",
    "guide/labeled_lda.rst",
    "recipes/index.rst",
    "recipes/scikit_learn.rst",
    "start/convergence.rst",
    "start/features.rst",
    "start/how_many_topics.rst",
    "start/long_texts.rst",
    "start/reportable_topics.rst",
    "start/texts_to_topics.rst",
    "start/words.rst",
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=name, marks=pytest.mark.exhaustive if name in SLOW else ()) for name, page in PAGES.items()],
)
@pytest.mark.filterwarnings("error:.*words are column numbers:UserWarning")
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    checker = None if has_installed_versions(text) else AnyOutput()
    runner = doctest.DocTestRunner(checker, optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page.name, str(page), 0))
    assert runner.summarize(verbose=False).failed == 0


class AnyOutput(doctest.OutputChecker):
    """Accepts all outputs; exceptions still fail."""

    def check_output(self, want, got, optionflags):
        return True


def has_installed_versions(text):
    """Whether the page reads no docstrings of installed packages, or those of the versions that it names."""
    if not re.search(r">>> .*read_docstrings\(", text):
        return True
    names = {"NumPy": "numpy", "SciPy": "scipy", "scikit-learn": "scikit-learn"}
    found = {names[title]: number for title, number in re.findall(r"(NumPy|SciPy|scikit-learn)\s(\d+\.\d+\.\d+)", text)}
    assert set(found) == set(names.values()), "a page with read_docstrings() names the versions of its outputs"
    return all(version(name) == number for name, number in found.items())
