"""The pages about the papers: all numbers under "here" are those of the results, and every row has a result."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS, PAGES = ROOT / "benchmarks" / "papers", ROOT / "doc" / "papers"
# Numbers of figures and tables of each paper.
PAPERS = {
    "empirical_bayes": (9, 4),
    "topic_count": (4, 3),
    "held_out": (2, 2),
    "point_estimates": (21, 8),
    "compound": (20, 3),
}
VERDICT = re.compile(r"\*(agrees|refuted|cannot be repeated here)\*|as (Figure|Table) \d+")

each_paper = pytest.mark.parametrize("name", PAPERS)


def script(name, monkeypatch):
    """The script as a module, with the folders that it imports from."""
    monkeypatch.setattr(sys, "path", [str(SCRIPTS), str(SCRIPTS.parent), *sys.path])
    for own in ("_record", *(path.stem for path in SCRIPTS.parent.glob("*.py"))):
        monkeypatch.delitem(sys.modules, own, raising=False)
    specification = importlib.util.spec_from_file_location(f"papers_{name}", SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def results(name):
    return json.loads((SCRIPTS / "results" / f"{name}.json").read_text(encoding="utf-8"))


def rows(page):
    """Rows of the first table of a page, each a list of cells."""
    table = re.search(r"\.\. list-table::\n(?:   .*\n|\n)*", page).group()
    split = [re.split(r"^     -", row, flags=re.MULTILINE) for row in re.split(r"^   \* -", table, flags=re.MULTILINE)]
    return [[" ".join(cell.split()) for cell in row] for row in split[2:]]


@each_paper
def test_included_files_are_made_from_the_results(name, monkeypatch):
    module, record = script(name, monkeypatch), results(name)
    assert set(record) == set(module.PARTS)
    made = module._record.includes(name, module.PARTS, record)
    for file, text in made.items():
        assert (PAGES / "values" / file).read_text(encoding="utf-8") == text
    found = {path.name for path in (PAGES / "values").glob(f"{name}*")}
    assert found == set(made)


@each_paper
def test_pages_show_all_included_values(name):
    page = (PAGES / f"{name}.rst").read_text(encoding="utf-8")
    defined = re.findall(r"\|(.+?)\|", (PAGES / "values" / f"{name}.inc").read_text(encoding="utf-8"))
    assert set(re.findall(r"\|(\w[^|\n]*)\|", page)) <= set(defined)
    for table in (PAGES / "values").glob(f"{name}_*.csv"):
        assert f":file: values/{table.name}" in page


@each_paper
def test_every_table_and_figure_has_a_row_with_a_result(name):
    found = rows((PAGES / f"{name}.rst").read_text(encoding="utf-8"))
    named = set()
    for row in found:
        assert VERDICT.search(row[-1]), row
        for kind, first, last in re.findall(r"(Figure|Table)s? (\d+)(?:(?: to |, \d+ and | and )(\d+))?", row[0]):
            named |= {(kind, number) for number in range(int(first), int(last or first) + 1)}
    n_figures, n_tables = PAPERS[name]
    missing = {("Figure", n) for n in range(1, n_figures + 1)} | {("Table", n) for n in range(1, n_tables + 1)}
    assert missing - named == set()


@each_paper
def test_results_have_their_commands(name):
    for part, own in results(name).items():
        assert own["form"] in ("quick", "full") and own["cpu_seconds"] > 0
        assert own["command"].startswith(f"python benchmarks/papers/{name}.py") and part in own["command"]


def test_a_changed_result_is_found(monkeypatch):
    module, record = script("compound", monkeypatch), results("compound")
    record["priors"]["found"][0][0] += 1
    made = module._record.includes("compound", module.PARTS, record)
    assert (PAGES / "values" / "compound.inc").read_text(encoding="utf-8") != made["compound.inc"]
