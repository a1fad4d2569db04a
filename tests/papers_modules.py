"""The modules of `sklda.papers`."""

import importlib
import pkgutil

import sklda.papers


def papers():
    """The public ones, a list."""
    names = [each.name for each in pkgutil.iter_modules(sklda.papers.__path__) if each.name[0] != "_"]
    return [importlib.import_module(f"sklda.papers.{name}") for name in names]
