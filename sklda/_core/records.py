"""Tables: a list of records that prints itself, and data frames if pandas is installed."""

import csv
import html
import io
import math
from numbers import Integral, Real
from pathlib import Path

# Characters of a cell, and rows of a table, that are printed.
_WIDEST, _MOST_ROWS = 100, 60
# What a formula of a spreadsheet begins with; the last two are the same characters in full width.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff20")


class Table(list):
    """A list of dicts with equal keys. It is printed as a table in a terminal and in a notebook."""

    def __repr__(self):
        if not self:
            return "Table([])"
        names = list(self[0])
        rows = [[_shown(row[name]) for name in names] for row in self[:_MOST_ROWS]]
        right = [all(_is_number(row[name]) for row in self) for name in names]
        cells = [[clean(name) for name in names], *rows]
        widths = [max(len(row[j]) for row in cells) for j in range(len(names))]
        lines = [
            "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in cells
        ]
        return "\n".join(lines + self._left_out())

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return type(self)(found) if isinstance(index, slice) else found

    def to_csv(self, path=None):
        """Write the table as comma-separated values in UTF-8, with a line of names. Lists become texts with commas.

        Spreadsheets run texts that begin with ``=``, ``+``, ``-`` or ``@`` as formulas, so these get an apostrophe
        before them, unless they are numbers.

        Parameters
        ----------
        path : str or os.PathLike, default=None
            None: nothing is written.

        Returns
        -------
        str
            The text.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(_cell, self[0]) if self else [])
        writer.writerows(map(_cell, row.values()) for row in self)
        # Lone surrogates are not in UTF-8.
        found = text.getvalue().encode("utf-8", "replace").decode("utf-8")
        if path is not None:
            Path(path).write_text(found, encoding="utf-8", newline="\n")
        return found

    def _left_out(self):
        left = len(self) - _MOST_ROWS
        return [f"... and {left} more rows"] if left > 0 else []

    def _repr_html_(self):
        if not self:
            return "<p>an empty table</p>"
        head = "".join(f'<th style="text-align:left">{html.escape(str(name))}</th>' for name in self[0])
        rows = "".join(
            "<tr>"
            + "".join(f'<td style="text-align:left">{html.escape(_shown(value))}</td>' for value in row.values())
            + "</tr>"
            for row in self[:_MOST_ROWS]
        )
        more = "".join(f"<p>{line}</p>" for line in self._left_out())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


class TableOfErrors(Table):
    """A `Table` that prints each entry with its standard error, the entry of the same name with the ending ``_std``.

    All numbers of such a column have the same decimals, at most six: the largest error has two digits.
    """

    def __repr__(self):
        return repr(self._with_errors()) if self else "TableOfErrors([])"

    def _repr_html_(self):
        return self._with_errors()._repr_html_()

    def _with_errors(self):
        names = [name for name in self[0] if not name.endswith("_std")] if self else []
        shown = {name: self._column(name) for name in names}
        return Table({name: shown[name][i] for name in names} for i in range(len(self)))

    def _column(self, name):
        """Entries, with their errors as texts if they have some. One that is not known is empty."""
        values = [row[name] for row in self]
        if f"{name}_std" not in self[0]:
            return values
        errors = [row[f"{name}_std"] for row in self]
        largest = max((error for error in errors if 0 < error < math.inf), default=0.01)
        decimals = min(max(1 - math.floor(math.log10(largest)), 0), 6)
        return [
            "" if value != value else f"{value:.{decimals}f}" + (f" ± {error:.{decimals}f}" if error == error else "")
            for value, error in zip(values, errors, strict=True)
        ]


def frame(columns):
    """A data frame of columns (dict by name) if pandas is installed, a `Table` otherwise."""
    try:
        from pandas import DataFrame
    except ImportError:
        return records(columns)
    return DataFrame(columns)


def records(columns):
    """A `Table` of columns (dict by name)."""
    values = [column.tolist() if hasattr(column, "tolist") else list(column) for column in columns.values()]
    return Table(dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True))


def _cell(value):
    """A value as a cell of a file that no spreadsheet runs as a formula."""
    if _is_number(value):
        return value
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    if not text.lstrip().startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value):
    if isinstance(value, (list, tuple)):
        return clean(", ".join(map(_shown, value)))
    if _is_number(value) and not isinstance(value, Integral):
        return f"{float(value):.3f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{float(value):.3g}"
    return clean(value)


def clean(value, widest=_WIDEST):
    """A text for one line of a terminal: control characters and changes of direction are escaped, long texts cut."""
    text = str(value)
    text = text if len(text) <= widest else text[: widest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
