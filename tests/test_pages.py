"""The pages of the documentation: their code runs, and their form is as CONTRIBUTING.md says."""

import doctest
import re
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Folders that Sphinx makes.
MADE = {"auto_examples", "generated", "_build", "_templates"}
PAGES = [
    page
    for page in sorted((ROOT / "doc").rglob("*.rst"))
    if not MADE.intersection(page.parts) and page.name != "sg_execution_times.rst"
]
SCRIPTS = sorted((ROOT / "examples").glob("plot_*.py"))
# Most of it is a table that `make calibrate` writes.
LONG = {"calibration.rst"}
# Their code takes more than two CPU seconds a page, with functions that have tests of their own.
SLOW = {
    "guide/compare_models.rst",
    "guide/compound_lda.rst",
    "guide/covariates.rst",
    "guide/gibbs_lda.rst",
    "guide/gibbs_lda_chains.rst",
    "guide/gibbs_lda_priors.rst",
    "guide/gibbs_lda_samplers.rst",
    "guide/held_out.rst",
    "guide/labeled_lda.rst",
    "papers/held_out_functions.rst",
    "recipes/index.rst",
    "recipes/scikit_learn.rst",
    "start/convergence.rst",
    "start/how_many_topics.rst",
    "start/long_texts.rst",
    "start/reportable_topics.rst",
    "start/texts_to_topics.rst",
    "start/words.rst",
}
MOST_WORDS, CODE_WIDTH, WIDTH = 1500, 76, 120

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "doc").as_posix())


def code_lines(text):
    """Number and text, without indentation, of lines in literal blocks and of doctests with their output."""
    block = comment = None  # Indentation of the line that begins a literal block, or a comment.
    example = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        indentation = len(line) - len(line.lstrip())
        if block is not None and stripped and indentation <= block:
            block = None
        if comment is not None and stripped and indentation <= comment:
            comment = None
        if comment is None and re.match(r"\.\.( (?!_|\[|.*::)|$)", stripped):
            comment = indentation
        if comment is not None:
            continue
        example = bool(stripped) and (example or stripped.startswith(">>>"))
        if example or (block is not None and not stripped.startswith(":")):
            yield number, stripped if example else line[block + 3 :]
        if block is None and re.search(r"^\.\. (code-block|code|literalinclude)::|(?<!\.)::$", stripped):
            directive = stripped.startswith("..")
            block = indentation if not directive or "code" in stripped else None


def headings(text):
    """Number, character and text of every heading."""
    lines = text.splitlines()
    for number, (title, line) in enumerate(pairwise(lines), 1):
        if title.strip() and re.fullmatch(r"([^\w\s])\1{2,}", line) and not re.fullmatch(r"([^\w\s])\1{2,}", title):
            if len(line) >= len(title) and not title.startswith(" "):
                yield number, line[0], title


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=pytest.mark.exhaustive if name in SLOW else ())
        for page, name in ((page, page.relative_to(ROOT / "doc").as_posix()) for page in PAGES)
        if ">>>" in page.read_text(encoding="utf-8")
    ],
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


@each_page
def test_length(page):
    text = re.sub(r"^\.\. index::.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    n_words = len(text.split())
    assert page.name in LONG or n_words <= MOST_WORDS


@each_page
def test_width(page):
    text = page.read_text(encoding="utf-8")
    assert [n for n, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH] == []
    # A line of one word cannot be broken.
    assert [n for n, line in code_lines(text) if len(line) > CODE_WIDTH and " " in line.strip()] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_width_of_scripts(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert [n for n, line in enumerate(lines, 1) if len(line) > CODE_WIDTH] == []


@each_page
def test_images_have_alternative_texts(page):
    text = page.read_text(encoding="utf-8")
    directives = re.findall(r"^( *)\.\. (?:image|figure):: .*\n((?:\1 +:.*\n)*)", text, re.MULTILINE)
    assert all(re.search(r":alt: \S", options) for _, options in directives)


@each_page
def test_headings_are_in_order(page):
    characters = [character for _, character, _ in headings(page.read_text(encoding="utf-8"))]
    levels = list(dict.fromkeys(characters))  # The first character is that of the title, the next that of sections.
    found = [levels.index(character) for character in characters]
    assert found[0] == 0 and 0 not in found[1:]
    assert all(after <= before + 1 for before, after in pairwise(found))


def test_checks_see_what_is_wrong():
    text = (
        "Title\n=====\n\nDeep\n~~~~\n\n::\n\n    "
        + 80 * "x"
        + "\n\n>>> 1\n"
        + 78 * "2"
        + "\n\n..\n   >>> "
        + 80 * "y"
        + "\n\n"
        + 79 * "text"
        + "\n"
    )
    assert [character for _, character, _ in headings(text)] == ["=", "~"]
    assert [n for n, line in code_lines(text) if len(line) > CODE_WIDTH] == [9, 12]


@pytest.mark.parametrize(
    ("search", "page"),
    [
        ("topics over time", "guide/topics_over_time.rst"),
        ("name topics", "guide/topic_names.rst"),
        ("plot", "guide/plots.rst"),
        ("save a model", "guide/persistence.rst"),
        ("stm", "recipes/r.rst"),
        ("how many topics", "start/how_many_topics.rst"),
    ],
)
def test_a_search_finds_the_right_page_first(search, page):
    # The search of the site puts main entries of the index first.
    found = [
        each.relative_to(ROOT / "doc").as_posix()
        for each in PAGES
        for entries in re.findall(r"^\.\. index:: (.*)$", each.read_text(encoding="utf-8"), re.MULTILINE)
        if f"! {search}" in entries.split(", ")
    ]
    assert found == [page]


def test_titles_of_pages_and_examples_differ():
    pages = [next(headings(page.read_text(encoding="utf-8")))[2] for page in PAGES]
    examples = [script.read_text(encoding="utf-8").splitlines()[1] for script in SCRIPTS]
    titles = [*pages, *examples]
    assert sorted(titles) == sorted(set(titles))
