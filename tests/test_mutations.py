"""Every property that is tested at a false-alarm level has a mutation that is found at the same level.

A statistical test states its level as one of `LEVELS`. Its marker (`mutations.py`) has a replacement, or names the test
that breaks it, which compares with the level the other way round. A test that is its own mutation does both.
"""

import ast
from pathlib import Path

import pytest

LEVELS = {"ALARM", "FALSE_ALARM", "LEVEL", "LIMIT"}
HERE = Path(__file__).parent


def properties(source):
    """By name of a test: how its assertions compare with a level, as "Gt" and "Lt"; and arguments of its markers."""
    found = {}
    for test in ast.parse(source).body:
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            ways = {
                type(node.ops[0]).__name__
                for statement in ast.walk(test)
                if isinstance(statement, ast.Assert)
                for node in ast.walk(statement.test)
                if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Name)
                if node.comparators[0].id in LEVELS
            }
            calls = [(getattr(each, "func", each), getattr(each, "args", [])) for each in test.decorator_list]
            marks = [arguments for function, arguments in calls if ast.unparse(function) == "pytest.mark.mutation"]
            found[test.name] = ways, marks
    return found


def complaints(tests):
    """Faults of the markers of one file."""
    named = {mark[0].value: name for name, (_, marks) in tests.items() for mark in marks if len(mark) == 1}
    yield from (f"{name} is no test of the file" for name in sorted(named.keys() - tests.keys()))
    for name, (ways, marks) in tests.items():
        if ways and not marks and name not in named:
            yield f"{name} has no mutation"
        if not all(marks) and len(ways) != 2:
            yield f"{name} does not break what it tests"
        for mark in marks:
            other = tests.get(mark[0].value, [set()])[0] if len(mark) == 1 else set()
            if other and ways == other:
                yield f"{mark[0].value} compares as {name} does"


def test_every_property_has_its_mutation():
    paths = sorted(HERE.rglob("test_*.py"))
    found = {path.name: list(complaints(properties(path.read_text(encoding="utf-8")))) for path in paths}
    assert not any(found.values()), found


TEST = "def test_a():\n    assert p() > ALARM\n"


BREAKS_IT = f'@pytest.mark.mutation("test_b")\n{TEST}'


@pytest.mark.parametrize(
    "source", [TEST, f"@pytest.mark.mutation\n{TEST}", BREAKS_IT, BREAKS_IT + TEST.replace("_a", "_b")]
)
def test_a_missing_mutation_is_found(source):
    assert list(complaints(properties(source)))


@pytest.mark.mutation("builtins.min", max)
def test_the_runner_replaces_a_name():
    """The repetition fails, as it must: the smallest of two numbers is the largest."""
    assert min(1, 2) == 1


def test_a_mutation_that_changes_nothing_is_found():
    from mutations import pytest_pyfunc_call

    class Item:
        replaced = ("builtins.min", min)

    call = pytest_pyfunc_call(Item())
    next(call)
    with pytest.raises(AssertionError, match=r"the test passes with another builtins\.min"):
        call.send(None)
