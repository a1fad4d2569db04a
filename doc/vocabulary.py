"""The tables of parameters and attributes that several estimators share, from their signatures and docstrings."""

import inspect
import re
from pathlib import Path

import sklda

CLASSES = {name: getattr(sklda, name) for name in sklda.__all__ if isinstance(getattr(sklda, name), type)}
# Short names for the columns.
COLUMNS = {name: name.removesuffix("LDA") for name in CLASSES} | {"CollapsedVariationalLDA": "Variational"}


def parameters(cls):
    """The parameters of an estimator, with their defaults as text."""
    return {name: f"``{value.default!r}``" for name, value in inspect.signature(cls).parameters.items()}


def attributes(cls):
    """The attributes in the docstring of an estimator."""
    section = re.search(r"Attributes\n-+\n(.*?)\n\n\w+\n-+\n", inspect.getdoc(cls), re.DOTALL).group(1)
    heads = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, re.MULTILINE)
    return {name: "yes" for head in heads for name in head.split(", ")}


def table(title, of_class):
    """The names that at least two classes have, in alphabetical order, and what each class has."""
    own = [of_class(cls) for cls in CLASSES.values()]
    names = sorted({name for each in own for name in each if sum(name in other for other in own) > 1})
    rows = [f"   ``{name}``, {', '.join(each.get(name, '') for each in own)}".rstrip() for name in names]
    header = f".. csv-table::\n   :header: Name, {', '.join(COLUMNS.values())}"
    return "\n".join([f"{title}:\n\n{header}\n", *rows])


def write(path):
    """Write both tables to a file that a page includes."""
    path = Path(path)
    path.parent.mkdir(exist_ok=True)
    tables = table("Parameters and their defaults", parameters), table("Attributes", attributes)
    path.write_text("\n\n".join(tables) + "\n", encoding="utf-8")
