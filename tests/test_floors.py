"""Imports go down only: estimators, inference, kernels."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

# The sources: an installed package has no .pyx files.
ROOT = Path(__file__).parents[1] / "sklda"
GROUND, MIDDLE, DATASETS, TOP = "sklda._kernels", "sklda._inference", "sklda.datasets", "sklda"
# The modules that a module may import from, by its floor.
ALLOWED = {
    GROUND: {GROUND},
    MIDDLE: {MIDDLE, GROUND},
    DATASETS: {DATASETS, MIDDLE},
    TOP: {TOP, DATASETS, MIDDLE, GROUND},
}
# The rooms of the middle floor; a room imports from itself, from those before it, and from what all rooms share.
ROOMS = (
    "sampling",
    "cluster",
    "variational",
    "held_out",
    "evidence",
    "modes",
    "hyperparameters",
    "topic_count",
    "compound",
    "covariates",
    "labels",
)
CIMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import\b|c?import[ \t]+([\w., \t]+))", re.MULTILINE)


def floor(module):
    """The floor that a module of the package is on."""
    return next(each for each in (GROUND, MIDDLE, DATASETS, TOP) if f"{module}.".startswith(f"{each}."))


def room(module):
    """The place of a module's room in the order of the rooms; -1 for what all rooms share."""
    parts = module.split(".")
    inside = module.startswith(f"{MIDDLE}.") and parts[2] in ROOMS
    return ROOMS.index(parts[2]) if inside else -1


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
        elif name.split(".")[0] == TOP and name != TOP and floor(name) not in ALLOWED[here]:
            yield f"{module} imports {name}"
        elif here == MIDDLE and room(name) > room(module):
            yield f"{module} imports {name}, of a later room"


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


@pytest.mark.parametrize(("module", "path"), [pytest.param(*each, id=str(each[1].name)) for each in modules()])
def test_imports_go_down(module, path):
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = violations(module, list(python_imports(source, package(module, path))))
    else:
        found = kernel_violations(module, list(cython_imports(source)))
    assert not list(found)


def test_every_floor_is_looked_at():
    names = {name for name, _ in modules()}
    assert {
        "sklda",
        "sklda._base",
        "sklda._gibbs",
        "sklda._inference.sampling.collapsed",
        "sklda.datasets._synthetic",
    } <= names
    assert {"sklda._kernels", "sklda._kernels._collapsed", "sklda._kernels._lanes"} <= names


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("sklda._inference.sampling.collapsed", "from sklda._gibbs import GibbsLDA"),
        ("sklda._inference.sampling.collapsed", "import sklda._base"),
        ("sklda._inference.sampling.collapsed", "import sklda"),
        ("sklda._inference.sampling.collapsed", "from sklda import GibbsLDA"),
        ("sklda._inference.sampling.collapsed", "from sklda import datasets"),
        ("sklda._inference.sampling.collapsed", "from sklda.datasets import load_docstrings"),
        ("sklda._inference.sampling.collapsed", "from ..._gibbs import GibbsLDA"),
        ("sklda._inference.sampling.collapsed", "def run():\n    from sklda import _callbacks"),
        ("sklda.datasets._synthetic", "from sklda._gibbs import GibbsLDA"),
        ("sklda.datasets._synthetic", "from .. import _base"),
        ("sklda._inference.sampling.collapsed", "from sklda._inference.evidence import annealing"),
        ("sklda._inference.hyperparameters.maximum", "import sklda._inference.compound.chain"),
        ("sklda._inference.corpus", "from sklda._inference.sampling.collapsed import GibbsChain"),
        ("sklda._kernels", "from sklda._inference import corpus"),
        ("sklda._kernels", "import numpy, sklda._inference.random"),
    ],
)
def test_a_python_import_that_goes_up_is_found(module, source):
    parent = module if module == GROUND else module.rpartition(".")[0]
    assert list(violations(module, list(python_imports(source, parent))))


@pytest.mark.parametrize(
    "source",
    [
        "from sklda._inference.corpus cimport tokens",
        "from sklda._inference import corpus",
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
        ("sklda", "from sklda import datasets\nfrom sklda._gibbs import GibbsLDA"),
        ("sklda._gibbs", "from sklda._inference import random\nfrom sklda._base import BaseLDA"),
        (
            "sklda._inference.sampling.collapsed",
            "from sklda._kernels import LANES, _collapsed\nfrom sklda._inference import random",
        ),
        ("sklda.datasets._synthetic", "import numpy\nfrom sklda._inference.random import stream"),
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
    """Every Python module has its name in the docstring of the package, under its folder."""
    text = (ROOT / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    folder, listed = "", {}
    for line in text.splitlines():
        found = re.match(r" {4,8}(sklda|\w+) {2,}", line)
        folder = found.group(1) if found else folder
        listed.setdefault(folder, set()).update(re.findall(r"\w+", line))
    for module, path in modules():
        if path.suffix == ".py" and path.name != "__init__.py":
            *_, parent, name = module.split(".")
            assert name in listed.get(parent, ()), f"{module} is not on the map in sklda/__init__.py"
