"""The marker `mutation` of a test, and its runner: the test must fail when what it tests is broken on purpose.

`@pytest.mark.mutation("sklda.module.name", replacement)` has the runner repeat the test with the name replaced, for all
of its parameters or for those whose id contains `cases`, and requires that an assertion fails. Where a mutation does
not replace anything, as with other priors, `@pytest.mark.mutation("test_of_the_same_file")` names the test that breaks
it, and `@pytest.mark.mutation` says that the test does both. `test_mutations.py` checks that no property lacks its
mutation. Tests of broken code have the marker `mutant`: ``-m "not mutant"`` leaves them out.
"""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Each test with a replacement is there a second time, with it."""
    breaking = {
        (item.path, mark.args[0]) for item in items for mark in item.iter_markers("mutation") if len(mark.args) == 1
    }
    for item in items:
        if (item.path, getattr(item, "originalname", None)) in breaking:
            item.add_marker("mutant")
    repeats = [
        (place, _repeat(item, mark))
        for place, item in enumerate(items)
        for mark in item.iter_markers("mutation")
        if len(mark.args) == 2 and mark.kwargs.get("cases", "") in item.name
    ]
    for place, item in reversed(repeats):
        items.insert(place + 1, item)


def _repeat(item, mark):
    mutant = pytest.Function.from_parent(
        item.parent,
        name=f"{item.name} without {mark.args[0].rpartition('.')[2]}",
        callspec=getattr(item, "callspec", None),
        callobj=item.obj,
        fixtureinfo=item._fixtureinfo,
        originalname=item.originalname,
    )
    mutant.replaced = mark.args
    mutant.add_marker("mutant")
    return mutant


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    replaced = getattr(pyfuncitem, "replaced", None)
    if replaced is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*replaced)
        try:
            yield
        except (AssertionError, pytest.fail.Exception):
            return True
    raise AssertionError(f"the test passes with another {replaced[0]}")
