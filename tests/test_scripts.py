"""Imports and calls of the package in examples, benchmarks and the pictures of the pages: names and keywords exist."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = [
    *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "benchmarks").rglob("*.py")),
    ROOT / "doc" / "pictures.py",
]


def unknown_keywords(source):
    """The keywords of calls that the called class or function of sklda does not have, and their lines."""
    tree, known, found = ast.parse(source), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklda":
            module = import_module(node.module)
            for each in node.names:
                # A module below may not have been imported.
                found_below = None if hasattr(module, each.name) else import_module(f"{node.module}.{each.name}")
                known[each.asname or each.name] = found_below or getattr(module, each.name)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name):
            target = known.get(called.id)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            target = getattr(known.get(called.value.id), called.attr, None)
        else:
            target = None
        if not callable(target) or inspect.isbuiltin(target):
            continue
        parameters = inspect.signature(target).parameters
        if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
            continue
        found += [(node.lineno, each.arg) for each in node.keywords if each.arg and each.arg not in parameters]
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_keywords_exist(script):
    assert not unknown_keywords(script.read_text(encoding="utf-8"))


def test_an_unknown_keyword_is_found():
    source = "from sklda import GibbsLDA\nfrom sklda.inspection import TopicWordsDisplay as T\n"
    source += "GibbsLDA(5, max_iter=3, sweeps=3)\nT.from_estimator(lda, n=1)\n"
    assert unknown_keywords(source) == [(3, "sweeps"), (4, "n")]


def test_scripts_name_tests_that_exist():
    wheel = (ROOT / "tests" / "wheel.py").read_text()
    (fast,) = (node for node in ast.parse(wheel).body if isinstance(node, ast.Assign) and node.targets[0].id == "FAST")
    ci = (ROOT / ".ci" / "run").read_text().partition('checked="')[2].partition('"')[0].split()
    named = [*ast.literal_eval(fast.value), *ci]
    assert len(named) > 20
    assert [each for each in named if not (ROOT / "tests" / each).exists()] == []


def test_every_module_is_installed():
    """A module that meson.build does not name is in the source tree, but not in a wheel."""
    named = set(re.findall(r"'([\w/]+\.py)'", (ROOT / "sklda" / "meson.build").read_text()))
    modules = {path.relative_to(ROOT / "sklda").as_posix() for path in (ROOT / "sklda").rglob("*.py")}
    # The kernels have a file of their own.
    assert {each for each in modules - named if not each.startswith("_kernels/")} == set()
