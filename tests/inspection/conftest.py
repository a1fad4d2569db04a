"""Attenuation by few documents."""

import pytest


@pytest.fixture(autouse=True)
def few_simulated_documents(request, monkeypatch):
    """Simulated documents are most of the time of an effect, and only the attenuation depends on their number."""
    if "attenuat" not in request.node.name:
        monkeypatch.setattr("sklda.inspection._theta._SIMULATED", 50)
