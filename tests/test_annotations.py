"""Every public function, class and method has a type for every argument and for its result."""

import inspect
import typing

import pytest
from papers_modules import papers

import sklda
from sklda import datasets, inspection, metrics

MODULES = (sklda, datasets, inspection, metrics, *papers())
PUBLIC = {name: getattr(module, name) for module in MODULES for name in module.__all__}


def functions(thing):
    """The function itself, or the constructor and the public methods that the package defines."""
    if inspect.isfunction(thing):
        yield thing
    elif inspect.isclass(thing):
        for name, member in inspect.getmembers(thing):
            member = inspect.unwrap(getattr(member, "fget", member))
            member = getattr(member, "__func__", member)
            if inspect.isfunction(member) and (not name.startswith("_") or name == "__init__"):
                if member.__module__.startswith("sklda"):
                    yield member


def without_type(function):
    signature = inspect.signature(function)
    missing = [name for name, each in signature.parameters.items() if each.annotation is each.empty]
    missing += ["result"] if signature.return_annotation is signature.empty else []
    return [name for name in missing if name not in ("self", "cls")]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_all_arguments_and_results_have_types(name):
    missing = {each.__qualname__: without_type(each) for each in functions(PUBLIC[name])}
    assert not {key: names for key, names in missing.items() if names}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_types_are_those_of_the_module(name):
    for each in functions(PUBLIC[name]):
        assert typing.get_type_hints(each)["return"] is not None or each.__name__ == "__init__"


def test_a_missing_type_is_found():
    def half(x: int, y) -> int:
        return x

    assert without_type(half) == ["y"]
    assert len(list(functions(sklda.GibbsLDA))) >= 10
