"""Attenuation by few documents, and displays without their pictures."""

import pytest

from sklda import inspection


@pytest.fixture(autouse=True)
def few_simulated_documents(request, monkeypatch):
    """Simulated documents are most of the time of an effect, and only the attenuation depends on their number."""
    if "attenuat" not in request.node.name:
        monkeypatch.setattr("sklda.inspection._theta._SIMULATED", 50)


@pytest.fixture
def without_pictures(monkeypatch):
    """Values of displays are compared, which take less time than pictures."""
    for display in vars(inspection).values():
        if hasattr(display, "plot"):
            monkeypatch.setattr(display, "plot", lambda self, *args, **options: self)
