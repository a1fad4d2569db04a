"""The modules of `sklda.papers`."""

import importlib
import pkgutil

import sklda.papers


def papers():
    """All of them, a list."""
    return [
        importlib.import_module(f"sklda.papers.{each.name}") for each in pkgutil.iter_modules(sklda.papers.__path__)
    ]
