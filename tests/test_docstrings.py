"""The examples in the docstrings run, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest
from papers_modules import papers

import sklda

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

MODULES = [sklda.__name__] + [
    m.name for m in pkgutil.walk_packages(sklda.__path__, "sklda.") if "_kernels." not in m.name
]
PUBLIC = [
    getattr(module, name)
    for module in (sklda, sklda.callbacks, sklda.metrics, sklda.inspection, sklda.datasets, *papers())
    for name in module.__all__
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("thing", [t for t in PUBLIC if inspect.isfunction(t) or inspect.isclass(t)])
def test_public_names_have_an_example(thing):
    doc = inspect.getdoc(thing)
    assert "Parameters\n" in doc or not inspect.signature(thing).parameters
    assert ">>> " in doc


# Methods that scikit-learn calls.
CALLED = {"get_metadata_routing", "setup", "teardown", "on_fit_task_begin", "on_fit_task_end"}


@pytest.mark.parametrize("thing", [t for t in PUBLIC if inspect.isclass(t)])
def test_public_methods_have_an_example(thing):
    """In their docstring, or in that of their class, which calls them."""
    methods = inspect.getmembers(thing, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
    ours = {name: method for name, method in methods if method.__module__.startswith("sklda") and name[0] != "_"}
    shown = inspect.getdoc(thing)
    missing = [
        name for name, method in ours.items() if ">>> " not in inspect.getdoc(method) and f".{name}(" not in shown
    ]
    assert set(missing) <= CALLED
