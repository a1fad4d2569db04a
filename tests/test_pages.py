"""The code in the pages of the documentation runs."""

import ast
import builtins
import doctest
import re
import symtable
import textwrap
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

import sklda

ROOT = Path(__file__).parents[1]
DOC = ROOT / "doc"
# Folders that Sphinx makes.
MADE = {"auto_examples", "generated", "_build", "_templates"}
# Blocks of pages on other libraries need these libraries, so only their code after >>> runs.
OTHER_LIBRARIES = {"recipes", "papers", "method"}
# Their blocks take long, or name files of the reader, so only their code after >>> runs, too.
OF_READERS = {
    *("compound_lda.rst", "distributed.rst", "effects.rst", "explorer.rst", "known_topics.rst"),
    *("plots.rst", "topics_over_time.rst", "features.rst", "texts_to_topics.rst"),
}
# A block of code, and the next block without a highlighter, which is what it prints or a part of it.
BLOCK = re.compile(r"^( *)\.\. code-block:: (python|text|none)\n((?:\1 .*\n| *\n)+)", re.MULTILINE)
README_BLOCK = re.compile(r"^```(python)\n((?:(?!```).*\n)*)```|^()((?:    .*\n|\n(?=    ))+)", re.MULTILINE)
PART = doctest.register_optionflag("PART")


def blocks(page, text, whatever_is_installed=False):
    """The blocks of code that begin without >>>, each as an example of doctest with what it prints."""
    if page.suffix == ".md":
        found = [(m.start(), m[1] or "text", m[2] or m[4]) for m in README_BLOCK.finditer(text)]
    else:
        found = [(m.start(), m[2], textwrap.dedent(m[3])) for m in BLOCK.finditer(text)]
    examples = []
    for i, (start, language, code) in enumerate(found):
        if language != "python" or not (whatever_is_installed or is_installed(code)):
            continue
        prints = found[i + 1][2] if i + 1 < len(found) and found[i + 1][1] != "python" else ""
        line = text.count("\n", 0, start)
        examples.append(doctest.Example(f"exec({code!r})", prints, lineno=line, options={PART: True}))
    return examples


def is_installed(code):
    """Whether the modules that the code imports are installed."""
    modules = re.findall(r"^(?:from|import) (\w+)", code, re.MULTILINE)
    return all(find_spec(module) is not None for module in modules)


def examples(page):
    """All code of a page, in its order."""
    text = page.read_text(encoding="utf-8")
    after_prompts = doctest.DocTestParser().get_examples(text, page.name)
    is_run = page.parent.name not in OTHER_LIBRARIES and page.name not in OF_READERS
    return sorted(after_prompts + (blocks(page, text) if is_run else []), key=lambda example: example.lineno)


FILES = [ROOT / "README.md", *sorted(DOC.rglob("*.rst"))]
PAGES = {
    page.relative_to(ROOT if page.suffix == ".md" else DOC).as_posix(): page
    for page in FILES
    if not MADE.intersection(page.parts) and examples(page)
}


# `.ci/run` runs the pages once, and not for every version of Python.
@pytest.mark.exhaustive
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    runner = doctest.DocTestRunner(Output(), optionflags=doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTest(examples(page), {"__name__": "__main__"}, page.name, str(page), 0, text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    # A reader finds the first words of each warning on the page.
    told = " ".join(text.split())
    beginnings = {re.match(r"(\d+ of \d+)?[^\d'(:.]+", str(warning.message))[0].strip() for warning in said}
    assert {each for each in beginnings if each not in told} == set()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_blocks_of_the_readme_run(tmp_path, monkeypatch, capsys):
    """Fits of a few sweeps to every tenth text: what they print is not that of the page, but has its form."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sklda._models.topic_count.count_modes._TEMPERATURES", 10)
    read = sklda.datasets.read_docstrings
    monkeypatch.setattr("sklda.datasets.read_docstrings", lambda: read().iloc[::10].reset_index(drop=True))
    for name in sklda.__all__:
        given = getattr(getattr(getattr(sklda, name), "__init__", None), "__kwdefaults__", None) or {}
        if "max_iter" in given:
            monkeypatch.setitem(given, "max_iter", 30)
    page, names = ROOT / "README.md", {"__name__": "__main__"}
    for example in blocks(page, page.read_text(encoding="utf-8")):
        exec(ast.literal_eval(example.source.strip()[5:-1]), names)
        printed = capsys.readouterr().out
        assert bool(printed) == bool(example.want)
        heading = example.want.split("\n")[0].split()
        assert printed.split("\n")[0].split() == heading or not {"topic", "name"} & set(heading)


@pytest.mark.parametrize("page", [path for path in FILES if not MADE.intersection(path.parts)], ids=lambda p: p.name)
def test_pages_can_be_pasted(page):
    """Blocks use only names that blocks above them define, and none of them is hidden."""
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"^\.\.\n( +.*\n|\n)* +>>>|^ +:hide:", text, re.MULTILINE)
    found = doctest.DocTestParser().get_examples(text) + blocks(page, text, whatever_is_installed=True)
    known = {*dir(builtins), "__name__"}
    for example in sorted(found, key=lambda each: each.lineno):
        source = ast.literal_eval(example.source[5:-2]) if PART in example.options else example.source
        tables = [symtable.symtable(source, page.name, "exec")]
        known |= {name.get_name() for name in tables[0].get_symbols() if name.is_assigned() or name.is_imported()}
        for table in tables:
            tables.extend(table.get_children())
            used = {name.get_name() for name in table.get_symbols() if name.is_global() and name.is_referenced()}
            assert used <= known, f"{page.name}, line {example.lineno + 1}: {used - known}"


class Output(doctest.OutputChecker):
    """Accepts a part of what a block prints."""

    def check_output(self, want, got, optionflags):
        if optionflags & PART:
            return " ".join(want.split()) in " ".join(got.split())
        return super().check_output(want, got, optionflags)


def test_the_diagram_has_every_estimator():
    classes = {name for name in sklda.__all__ if isinstance(getattr(sklda, name), type)}
    page = (DOC / "start" / "which_estimator.rst").read_text(encoding="utf-8")
    (alt,) = re.findall(r":alt: (Ten .*?)\n   :align:", page, re.DOTALL)
    drawn = re.findall(r'class="name"[^>]*>(\w+)<', (DOC / "_static" / "estimators.svg").read_text(encoding="utf-8"))
    assert sorted(drawn) == sorted({*classes, "BaseLDA"}) and all(name in alt for name in classes)
