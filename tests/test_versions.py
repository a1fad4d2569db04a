"""The versions of Python and of the dependencies that pyproject.toml promises are those of all other files."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
# The names that pages use.
PROSE = {"numpy": "NumPy", "scipy": "SciPy"} | {
    name: name for name in ("scikit-learn", "joblib", "pandas", "formulaic")
}
# What users ask for, and what each extra brings.
EXTRAS = ["plot", "diagnostics", "progress", "cluster"]
GROUPS = PYPROJECT["dependency-groups"]
# Tools of the suite: nothing of the package depends on their versions.
TOOLS = {"pytest", "pytest-xdist", "hypothesis"}


def text_of(name):
    """The text of a file, with one space in place of every line break."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def bounds(*names):
    """The lowest version of each package that sklda needs, and of those of its extras or groups for developers."""
    requirements = [*PROJECT["dependencies"]]
    for name in names:
        requirements += (PROJECT["optional-dependencies"] | GROUPS)[name]
    found = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", each) for each in requirements if "sklda[" not in each]
    return {match[1]: match[2] for match in found}


def of_extras_only():
    """The same of the extras for users, under the names of conda."""
    found = {name: version for name, version in bounds(*EXTRAS).items() if name not in bounds()}
    # conda has matplotlib without the toolkits of windows under this name.
    return {"matplotlib-base" if name == "matplotlib" else name: version for name, version in found.items()}


def first_python():
    return PROJECT["requires-python"].removeprefix(">=")


@pytest.mark.parametrize("page", ["README.md", "doc/start/texts_to_topics.rst"])
def test_pages(page):
    *others, last = (f"{PROSE[name]} {version}" for name, version in bounds().items())
    assert f"Python {first_python()}, {', '.join(others)} and {last}, or later versions" in text_of(page)


def test_the_page_of_versions():
    text = text_of("doc/start/versions.rst")
    pythons = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert f"* - Python - {pythons[0]} to {pythons[-1]} " in text
    named = dict(re.findall(r"\* - ([\w-]+) - from ([\d.]+) ", text))
    assert named == {PROSE[name]: version for name, version in bounds().items()}


@pytest.mark.parametrize("page", ["README.md", "doc/start/versions.rst"])
def test_pages_name_the_extras(page):
    text = text_of(page)
    assert 'pip install "sklda[plot' in text
    assert all(re.search(rf"`{extra}`", text) for extra in [*EXTRAS, "all"])
    assert PROJECT["optional-dependencies"]["all"] == [f"sklda[{','.join(EXTRAS)}]"]


def test_messages_name_extras():
    """A message for a package that is missing names the command, with an extra that there is."""
    sources = [each.read_text(encoding="utf-8") for each in (ROOT / "sklda").rglob("*.py")]
    named = re.findall(r'pip install "sklda\[([\w,]+)\]"', "\n".join(sources))
    assert {"plot", "diagnostics", "cluster"} <= set(named) <= {*EXTRAS, "all"}


def test_the_recipe_of_conda():
    text = text_of("conda/recipe.yaml")
    run, _, optional = text.partition(" run: ")[2].partition(" tests: ")[0].partition(" run_constraints: ")
    for section, needed in ((run, {"python": first_python(), **bounds()}), (optional, of_extras_only())):
        assert section.removeprefix("- ").split(" - ") == [f"{name} >={version}" for name, version in needed.items()]
    tests = ", ".join(each.replace(">=", " >=") for each in GROUPS["wheel-test"])
    assert f"run: [{tests}]" in text


def test_the_oldest_versions_are_tested():
    needed = bounds(*EXTRAS, "test")
    pinned = re.findall(r'"([\w-]+)==([\d.]+)\.\*"', text_of("Makefile").partition("OLDEST := ")[2])
    assert dict(pinned) == {name: version for name, version in needed.items() if name not in TOOLS}
    assert f'{{system: ubuntu-latest, python: "{first_python()}", target: test-oldest}}' in text_of(
        ".github/workflows/tests.yml"
    )


def test_a_package_has_one_lowest_version():
    known = bounds(*EXTRAS, "test")
    for name in (*EXTRAS, *(each for each in GROUPS if each != "dev")):
        assert {each: known.get(each, version) for each, version in bounds(name).items()} == bounds(name), name


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


def test_links_of_the_readme():
    """A package index shows README.md, so its links and pictures are absolute; those to the project lead to files."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
    assert len(targets) > 10 and all(each.startswith("https://") for each in targets)
    pages = {
        r"https://sklda\.readthedocs\.io/en/stable/(\S+)\.html": "doc/{}.rst",
        r"https://raw\.githubusercontent\.com/sklda/sklda/main/(\S+)": "{}",
        r"https://github\.com/sklda/sklda/blob/main/(\S+)": "{}",
    }
    for target in targets:
        for pattern, name in pages.items():
            if match := re.fullmatch(pattern, target):
                assert (ROOT / name.format(match[1])).is_file(), target
