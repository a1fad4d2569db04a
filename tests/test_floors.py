"""Imports go down only, and no module imports itself by way of others; imports inside functions count, too."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

# The sources: an installed package has no .pyx files.
ROOT = Path(__file__).parents[1] / "sklda"
TOP, GROUND, CORE, INPUT = "sklda", "sklda._kernels", "sklda._core", "sklda._input"
MODELS, MERGING = "sklda._models", "sklda._models.merging"
# The folders of several models and of what looks at them, each with those that it may import from beside itself. The
# package itself imports from all of them: a kernel tells it whether it is compiled.
ALLOWED = {
    GROUND: set(),
    INPUT: set(),
    CORE: {GROUND, INPUT},
    "sklda._checkpoints": {CORE, INPUT},
    "sklda._sampling": {"sklda._checkpoints", CORE, INPUT, GROUND},
    "sklda._likelihood": {"sklda._sampling", CORE, INPUT, GROUND},
    "sklda._mode_search": {"sklda._likelihood", "sklda._sampling", CORE, INPUT},
    "sklda.datasets": {CORE, INPUT},
    "sklda._description": {CORE, INPUT},
    "sklda.metrics": {"sklda._description", "sklda._likelihood", "sklda._sampling", CORE, INPUT},
    "sklda.callbacks": {CORE, INPUT},
}
BELOW_MODELS = set(ALLOWED) - {"sklda.datasets", "sklda.metrics"}
# What all models share, a folder for each, and what knows all of them.
ALLOWED |= {
    MODELS: BELOW_MODELS,
    **{
        f"{MODELS}.{name}": BELOW_MODELS | {MODELS}
        for name in (
            *("variational", "empirical_bayes", "topic_count", "compound", "covariates", "dask", "labels", "consensus"),
        )
    },
}
ALLOWED[MERGING] = set(ALLOWED)
ALLOWED["sklda.inspection"] = set(ALLOWED) - {GROUND, "sklda.datasets"}
ALLOWED[TOP] = set(ALLOWED)
# The papers' own ways: they import the rest, and nothing imports them.
ALLOWED["sklda.papers"] = set(ALLOWED) - {TOP}
CIMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import\b|c?import[ \t]+([\w., \t]+))", re.MULTILINE)


def floor(module):
    """The folder that a module of the package is in, as `ALLOWED` has it: the longest name that fits."""
    fits = (each for each in ALLOWED if f"{module}.".startswith(f"{each}."))
    found = max(fits, key=len)
    return found if found != TOP or module == TOP else module


def python_imports(source, package):
    """Names of all modules that Python code imports, wherever in the file; relative ones made absolute."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield base
            # `from sklda import inference` imports a module, too.
            yield from (f"{base}.{alias.name}" for alias in node.names if is_module(f"{base}.{alias.name}"))


def is_module(name):
    path = ROOT.parent.joinpath(*name.split("."))
    return any(path.with_suffix(suffix).exists() for suffix in (".py", ".pyx")) or path.is_dir()


def cython_imports(source):
    """Names of all modules that Cython code imports or cimports."""
    source = re.sub(r'"""(?s:.*?)"""', "", source)
    for origin, names in CIMPORT.findall(source):
        yield from [origin] if origin else (name.split()[0] for name in names.split(","))


def violations(module, imports):
    """The imports that go up, or sideways into a module of the ground floor that is not Cython."""
    here = floor(module)
    for name in imports:
        if name.startswith("."):
            yield f"{module} imports {name}: imports of kernels are absolute"
        elif name == TOP and here != TOP:
            yield f"{module} imports the whole package"
        elif name.split(".")[0] == TOP and name != TOP and floor(name) not in {here, *ALLOWED.get(here, ())}:
            yield f"{module} imports {name}"


def kernel_violations(module, imports):
    """The imports of a kernel that are neither C libraries, nor NumPy, nor its neighbours."""
    yield from violations(module, imports)
    for name in imports:
        if name == GROUND or name.split(".")[0] not in ("libc", "cython", "numpy", "cpython", TOP):
            yield f"{module} imports {name}"


def modules():
    """Dotted name and path of every source file of the package."""
    for path in sorted(ROOT.rglob("*.p*")):
        if path.suffix in (".py", ".pyx", ".pxd"):
            parts = path.relative_to(ROOT.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def package(module, path):
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


@cache
def imports_of(module, path):
    source = path.read_text(encoding="utf-8")
    return list(python_imports(source, package(module, path)) if path.suffix == ".py" else cython_imports(source))


def loaded(module, name):
    """What an import loads: a module, and the packages around it except those that the importing module is in."""
    parts = name.split(".")
    around = {".".join(parts[:n]) for n in range(1, len(parts))}
    return {name} | {each for each in around if not f"{module}.".startswith(f"{each}.")}


def circles(graph):
    """The groups of modules that import each other, from the modules that each module loads."""
    names = sorted(graph)
    arrows = np.array([[other in graph[name] for other in names] for name in names])
    of_group = connected_components(arrows, connection="strong")[1]
    groups = [[name for name, each in zip(names, of_group, strict=True) if each == group] for group in set(of_group)]
    return [group for group in groups if len(group) > 1]


def test_imports_go_down():
    found = []
    for module, path in modules():
        check = violations if path.suffix == ".py" else kernel_violations
        found += check(module, imports_of(module, path))
    assert not found


def test_no_module_imports_itself_by_way_of_others():
    graph = {}
    for module, path in modules():
        reached = (loaded(module, name) for name in imports_of(module, path) if name.split(".")[0] == TOP)
        graph.setdefault(module, set()).update(*reached)
    assert not circles(graph)


def test_one_module_imports_private_modules_of_scikit_learn():
    found = {m for m, path in modules() for name in imports_of(m, path) if name.startswith("sklearn.") and "._" in name}
    assert found == {"sklda._models.parameters"}


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d"}}) == [["b", "c"]]
    assert loaded("sklda.metrics._matching", "sklda.inspection._tables") == {
        "sklda.inspection",
        "sklda.inspection._tables",
    }
    assert loaded("sklda.metrics._matching", "sklda.metrics._held_out") == {"sklda.metrics._held_out"}
    assert loaded("sklda.metrics._matching", "sklda.metrics") == {"sklda.metrics"}


def test_every_floor_is_looked_at():
    names = {name for name, _ in modules()}
    assert {
        "sklda",
        "sklda._models.base",
        "sklda._models.gibbs",
        "sklda._sampling.collapsed",
        "sklda.datasets._synthetic",
    } <= names
    assert {"sklda._kernels", "sklda._kernels._collapsed", "sklda._kernels._lanes"} <= names


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sklda._sampling.collapsed", "from sklda._models.gibbs import GibbsLDA"),
        ("sklda._sampling.collapsed", "import sklda"),
        ("sklda._sampling.collapsed", "from sklda import GibbsLDA"),
        ("sklda._sampling.collapsed", "from sklda.datasets import load_docstrings"),
        ("sklda._sampling.collapsed", "from .._models.gibbs import GibbsLDA"),
        ("sklda._sampling.collapsed", "def run():\n    from sklda import _models"),
        ("sklda.datasets._synthetic", "from .. import _models"),
        ("sklda._models.base", "if TYPE_CHECKING:\n    from sklda.inspection._tables import topic_table"),
        ("sklda.metrics._topic_counts", "from sklda._models.base import BaseLDA"),
        ("sklda.metrics._topic_counts", "def rows():\n    from ..inspection._topic_table import topic_table"),
        ("sklda._sampling.collapsed", "from sklda._likelihood.evidence import annealing"),
        ("sklda._models.empirical_bayes.maximum", "import sklda._models.compound.mixtures"),
        ("sklda._models.base", "from sklda._models.compound.hdp import HDPMixtures"),
        ("sklda._models.base", "from sklda.datasets import make_lda_corpus"),
        ("sklda._core.corpus", "from sklda._sampling.collapsed import GibbsChain"),
        ("sklda.metrics._held_out", "from sklda.papers.held_out import chib"),
        ("sklda._models.compound.estimator", "def fit():\n    from sklda.papers import compound"),
        ("sklda", "from sklda import papers"),
        ("sklda._kernels", "from sklda._core import corpus"),
        ("sklda._kernels", "import numpy, sklda._core.random"),
    ],
)
def test_a_python_import_that_goes_up_is_found(module, source):
    parent = module if module == GROUND else module.rpartition(".")[0]
    assert list(violations(module, list(python_imports(source, parent))))


@pytest.mark.parametrize(
    "source",
    [
        "from sklda._core.corpus cimport tokens",
        "from sklda._core import corpus",
        "import sklda",
        "import sklda._kernels",
        "cimport numpy, scipy.special.cython_special",
        "from sklearn.utils._typedefs cimport float64_t",
        "    import json",
        "from sklda._kernels import LANES",
        "from ._lanes cimport LANES",
    ],
)
def test_a_kernel_import_that_goes_up_is_found(source):
    assert list(kernel_violations("sklda._kernels._collapsed", list(cython_imports(source))))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sklda", "from sklda import datasets\nfrom sklda._models.gibbs import GibbsLDA"),
        ("sklda._models.gibbs", "from sklda._core import random\nfrom sklda._models.base import BaseLDA"),
        ("sklda._models.consensus.estimator", "from sklda._description.models import topic_proportions"),
        (
            "sklda.inspection._effects",
            "from sklda._models.base import BaseLDA\nfrom sklda._description.models import unwrap",
        ),
        ("sklda._sampling.collapsed", "from sklda._kernels import LANES, _collapsed\nfrom sklda._core import random"),
        ("sklda.datasets._synthetic", "import numpy\nfrom sklda._core.random import stream"),
        ("sklda.papers.held_out._leave_one_out", "from sklda._description.models import inner_model"),
    ],
)
def test_imports_that_go_down_are_let_through(module, source):
    parent = module if module == TOP else module.rpartition(".")[0]
    assert not list(violations(module, list(python_imports(source, parent))))


def test_kernel_imports_that_stay_down_are_let_through():
    source = '"""from sklda import x"""\nfrom libc.math cimport log\nfrom sklda._kernels._lanes cimport LANES, walk\n'
    assert list(cython_imports(source)) == ["libc.math", "sklda._kernels._lanes"]
    assert not list(kernel_violations("sklda._kernels._collapsed", list(cython_imports(source))))


def test_the_map_of_the_package_is_complete():
    """Every folder has a line in the docstring of the package, and every line a folder or a file."""
    text = (ROOT / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    listed = set(re.findall(r"^ {4}([\w/.]+?)/? {2,}", text, flags=re.MULTILINE))
    there = {str(path.parent.relative_to(ROOT)) for _, path in modules()} - {".", "_likelihood"}
    assert there <= listed
    assert all((ROOT / name).is_dir() or (ROOT / name).with_suffix(".py").is_file() for name in listed)
