"""The versions of Python and of the dependencies that pyproject.toml promises are those of all other files."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
# The names that pages use.
PROSE = {"numpy": "NumPy", "scipy": "SciPy", "scikit-learn": "scikit-learn", "joblib": "joblib", "pandas": "pandas"}
# Tools of the suite: nothing of the package depends on their versions.
TOOLS = {"pytest", "pytest-xdist", "hypothesis"}


def text_of(name):
    """The text of a file, with one space in place of every line break."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def bounds(*extras):
    """The lowest version of each package that sklda needs, and of those of its extras."""
    requirements = [*PROJECT["dependencies"]]
    for extra in extras:
        requirements += PROJECT["optional-dependencies"][extra]
    found = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", each) for each in requirements if "sklda[" not in each]
    return {match[1]: match[2] for match in found}


def first_python():
    return PROJECT["requires-python"].removeprefix(">=")


@pytest.mark.parametrize("page", ["README.md", "doc/start/texts_to_topics.rst"])
def test_pages(page):
    *others, last = (f"{PROSE[name]} {version}" for name, version in bounds().items())
    assert f"Python {first_python()}, {', '.join(others)} and {last}, or later versions" in text_of(page)


def test_the_recipe_of_conda():
    text = text_of("conda/recipe.yaml")
    run = text.partition(" run: ")[2].partition(" tests: ")[0]
    assert run.removeprefix("- ").split(" - ") == [
        f"{name} >={version}" for name, version in {"python": first_python(), **bounds()}.items()
    ]
    tests = ", ".join(each.replace(">=", " >=") for each in PROJECT["optional-dependencies"]["wheel-test"])
    assert f"run: [{tests}]" in text


def test_the_oldest_versions_are_tested():
    needed = bounds("plot", "diagnostics", "callbacks", "test")
    pinned = re.findall(r'"([\w-]+)==([\d.]+)\.\*"', text_of("Makefile").partition("OLDEST := ")[2])
    assert dict(pinned) == {name: version for name, version in needed.items() if name not in TOOLS}
    assert f'{{system: ubuntu-latest, python: "{first_python()}", target: test-oldest}}' in text_of(
        ".github/workflows/tests.yml"
    )


def test_a_package_has_one_lowest_version():
    extras = PROJECT["optional-dependencies"]
    known = bounds("plot", "diagnostics", "callbacks", "test")
    for extra in extras:
        assert {name: known.get(name, version) for name, version in bounds(extra).items()} == bounds(extra), extra


def test_versions_of_python():
    *_, matrix = re.findall(r'python: \["([\d.", t]+)"\]', text_of(".github/workflows/tests.yml"))
    tested = matrix.split('", "')
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d+$", each)]
    assert named == [each for each in tested if not each.endswith("t")]
    assert named[0] == first_python()
    wheels = PYPROJECT["tool"]["cibuildwheel"]["build"]
    assert wheels == [f"cp{each.replace('.', '')}-*" for each in tested]
    assert PYPROJECT["tool"]["mypy"]["python_version"] == first_python()
    assert PYPROJECT["tool"]["ruff"]["target-version"] == f"py{first_python().replace('.', '')}"
    assert f"C compiler and Python {first_python()} or later" in text_of("CONTRIBUTING.md")
