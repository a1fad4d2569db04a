"""Imports go down only, and no module imports itself by way of others; imports inside functions count, too."""

import ast
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

# The sources: an installed package has no .pyx files.
ROOT = Path(__file__).parents[1] / "sklda"
GROUND, MIDDLE, TOP = "sklda._kernels", "sklda._inference", "sklda"
DATASETS, METRICS, INSPECTION, ESTIMATORS = "sklda.datasets", "sklda.metrics", "sklda.inspection", "estimators"
# The modules that a module may import from, by its floor. The package itself imports from all.
ALLOWED = {
    GROUND: {GROUND},
    MIDDLE: {MIDDLE, GROUND},
    DATASETS: {DATASETS, MIDDLE},
    METRICS: {METRICS, MIDDLE},
    ESTIMATORS: {ESTIMATORS, METRICS, MIDDLE},
    INSPECTION: {INSPECTION, ESTIMATORS, METRICS, MIDDLE},
    # A kernel tells the package whether it is compiled.
    TOP: {INSPECTION, ESTIMATORS, METRICS, DATASETS, MIDDLE, GROUND},
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
    if module == TOP:
        return TOP
    return next((each for each in ALLOWED if each != TOP and f"{module}.".startswith(f"{each}.")), ESTIMATORS)


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


def imports_of(module, path):
    source = path.read_text(encoding="utf-8")
    return list(python_imports(source, package(module, path)) if path.suffix == ".py" else cython_imports(source))


def loaded(module, name):
    """What an import loads: a module, and the packages around it but for those that the importing module is in."""
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


@pytest.mark.parametrize(("module", "path"), [pytest.param(*each, id=str(each[1].name)) for each in modules()])
def test_imports_go_down(module, path):
    check = violations if path.suffix == ".py" else kernel_violations
    assert not list(check(module, imports_of(module, path)))


def test_no_module_imports_itself_by_way_of_others():
    graph = {}
    for module, path in modules():
        reached = (loaded(module, name) for name in imports_of(module, path) if name.split(".")[0] == TOP)
        graph.setdefault(module, set()).update(*reached)
    assert not circles(graph)


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d"}}) == [["b", "c"]]
    assert loaded("sklda.metrics._models", "sklda.inspection._view") == {"sklda.inspection", "sklda.inspection._view"}
    assert loaded("sklda.metrics._models", "sklda.metrics._held_out") == {"sklda.metrics._held_out"}
    assert loaded("sklda.metrics._models", "sklda.metrics") == {"sklda.metrics"}


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
        ("sklda._base", "def to_arviz(self):\n    from sklda.inspection import to_arviz"),
        ("sklda._base", "if TYPE_CHECKING:\n    from sklda.inspection._view import View"),
        ("sklda._base", "from sklda import GibbsLDA"),
        ("sklda._base", "from sklda.datasets import make_lda_corpus"),
        ("sklda.metrics._topic_counts", "from sklda._base import BaseLDA"),
        ("sklda.metrics._topic_counts", "def rows():\n    from ..inspection._tables import topic_table"),
        ("sklda._inference.sampling.collapsed", "from sklda._inference.evidence import annealing"),
        ("sklda._inference.hyperparameters.maximum", "import sklda._inference.compound.mixtures"),
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
        ("sklda._consensus", "from sklda.metrics._models import topic_proportions"),
        ("sklda.inspection._effects", "from sklda._base import BaseLDA\nfrom sklda.metrics._models import unwrap"),
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
