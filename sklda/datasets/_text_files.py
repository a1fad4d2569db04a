"""Texts from the files of a folder, whole or in pieces, with their sources, dates and encodings."""

from __future__ import annotations

import codecs
import datetime
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from pandas import DataFrame, Series

from sklda._input.arguments import check_int, path_of
from sklda._input.names import listed
from sklda._input.warn import warn

# Bytes at the beginning of a file that say its encoding; the longer ones first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Digits that are a date of their own: 2004-05-12, 2004-5-2, 20040512, 2004_05, 1818. The numbers of Project Gutenberg,
# as in 1342-0, are no years.
_YEAR = r"(?P<year>1\d\d\d|20\d\d)"
_DATES = [
    re.compile(rf"(?<![^\W_]){date}(?!\d)")
    for date in (
        rf"{_YEAR}(?P<mark>[-_.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)",
        rf"{_YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])",
        rf"{_YEAR}[-_.](?P<month>0[1-9]|1[0-2])",
        rf"{_YEAR}(?!-\d(?!\d))",
    )
]
# Characters within words that are not seen: a soft hyphen, a space of no width, a word joiner, a byte order mark.
_UNSEEN = str.maketrans("", "", "\u00ad\u200b\u2060\ufeff")
# What `surrogateescape` makes of bytes that are not UTF-8.
_STRAY = re.compile("[\udc80-\udcff]")
_WORD = re.compile(r"\S+")
# Before a heading, a line may have spaces, or a form feed where a page begins.
_SPACE = re.compile(r"[^\S\n]*")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\n\s*")
# The space after the end of a sentence, and after quotation marks and brackets that close it.
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’»)\]])\s+")


def read_texts(
    folder: str | os.PathLike[str],
    *,
    chunk: int | None = None,
    split: str | None = None,
    pattern: str = "**/*.txt",
    encoding: str | None = None,
) -> DataFrame:
    """Read the texts of a folder, whole or in pieces, with a row for each.

    A topic model finds words that occur in the same documents. In a whole book all topics occur, so long texts are cut:
    ``chunk=1000`` makes pieces of about a thousand words, which end where paragraphs end. ``source`` says to which
    text a piece belongs. Pieces of one text are not independent of each other, so errors need it: as ``clusters`` in
    `sklda.inspection.topic_effects`, and as groups in cross-validation. A file of several letters or chapters is cut at
    their headings: ``split="CHAPTER "``.

    Parameters
    ----------
    folder : str or path-like
        The folder.
    chunk : int, default=None
        About how many words a piece has, separated by white space. A text is cut at those ends of paragraphs that are
        next to equal parts, so most pieces differ from `chunk` by half a paragraph. A paragraph of more than `chunk`
        words is cut at ends of sentences, and a sentence of more than `chunk` words between words. None: a text, or a
        part of `split`, is one row.
    split : str, default=None
        A regular expression for the beginnings of headings, such as ``"CHAPTER "`` or ``r"(?i)letter \\d+"``. A line
        that begins with it, or with spaces and then with it, is a heading and starts a part of the text; an expression
        that goes over several lines has these, too. Headings are left out of the text. So are parts without words, as
        in a table of contents. Words before the first heading are a part without heading. None: texts have no parts.
    pattern : str, optional
        Which files, as in `pathlib.Path.glob`. The default, ``"**/*.txt"``, has also those in folders of this folder,
        and ``"*.txt"`` only those in this one. Endings in capitals, such as ``"NOTES.TXT"``, fit too. Names that begin
        with a dot, such as ``".notes.txt"``, are left out.
    encoding : str, default=None
        The encoding of all files. None: that of the mark at the beginning of a file, or UTF-8, or Windows-1252 if most
        letters beyond ASCII are not UTF-8, with a warning. If a few are not, these alone are read as Windows-1252.

    Returns
    -------
    pandas.DataFrame
        A row for each text or piece; texts are in the order of their paths. The index, ``name``, is the path in the
        folder without its suffix, such as ``"austen/emma"``; with `chunk` or `split`, it also has the number of the
        piece, as in ``"austen/emma 007"``, and then its heading, as in ``"austen/emma 07 CHAPTER VII"``. Columns:

        - ``text``: line ends are ``"\\n"``
        - ``source``: the name of the text
        - ``piece``: the number of the piece in its text, from 1
        - ``part``, ``heading``: the number of the part in its text, from 1, and its heading. Chapters of several
          volumes share headings, but no numbers. Without a heading, 0 and an empty text
        - ``folder``: the folder of the file in this folder, such as ``"austen"``; of files that are in no other folder,
          the name of this one
        - ``date`` (datetime64) and ``year`` (Int64): those in the name of the file, or else of its folders; NaT and NA
          without any
        - ``length``: the number of words, separated by white space
        - ``encoding``: that of the file
        - ``path``: of the file

    Raises
    ------
    ValueError
        If there is no such folder, the pattern is an absolute path, no file fits it, a name is not UTF-8, a file is not
        a text in this encoding, `split` is not a regular expression, no line begins with it,
        or it leaves no words.
    TypeError
        If `chunk` is not an integer, or `split` not a str.

    Warns
    -----
    UserWarning
        If files are not UTF-8 and were read as Windows-1252, files are empty, or some have no heading of `split`.

    See Also
    --------
    sklda.inspection.describe : Names of documents; a model that is fitted to ``table["text"]`` has those of the index.

    Notes
    -----
    A date is a year from 1000 to 2099, which may be followed by month and day: ``2004-05-12``, ``2004-5-2``,
    ``20040512``, ``2004_05`` or ``1818``. No letter or digit may stand before it, and no digit behind it; ``1342-0``, a
    number of Project Gutenberg, is none. A month or a year becomes its first day. Of several dates, the most exact one
    is taken, and of these the first. In ``12-05-2004`` only the year is clear, so the date is the first of January.

    A file without an empty line has a paragraph in each line.

    A word has one spelling: texts and names are in Unicode's form NFKC, which has composed accents and no ligatures or
    letters of full width, without soft hyphens and characters of no width. Words that are divided at the ends of lines,
    page numbers, and the licence at the ends of texts of Project Gutenberg stay as they are. A heading may occur
    several times, as chapters of several volumes do: ``part`` tells them apart.

    Texts of languages that are written without spaces must be segmented into words before they are cut.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklda.datasets import read_texts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     emma = "Emma Woodhouse, handsome, clever, and rich.\\n\\nShe was the youngest of two."
    ...     _ = Path(folder, "1815_emma.txt").write_text(emma, encoding="utf-8")
    ...     table = read_texts(folder, chunk=6)
    >>> table[["text", "source", "year", "encoding"]].to_dict("records")[0]
    {'text': 'Emma Woodhouse, handsome, clever, and rich.', 'source': '1815_emma', 'year': 1815, 'encoding': 'utf-8'}
    >>> table.index.tolist()
    ['1815_emma 1', '1815_emma 2']

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     letters = "LETTER I. To Mrs. Saville\\nYou will rejoice.\\nLETTER II. To the same\\nHow slowly."
    ...     _ = Path(folder, "1818_frankenstein.txt").write_text(letters, encoding="utf-8")
    ...     table = read_texts(folder, split="LETTER ")
    >>> table["text"].to_dict()  # doctest: +NORMALIZE_WHITESPACE
    {'1818_frankenstein 1 LETTER I. To Mrs. Saville': 'You will rejoice.',
     '1818_frankenstein 2 LETTER II. To the same': 'How slowly.'}
    """
    if chunk is not None:
        chunk = check_int(chunk, "chunk", 1)
    beginning = None if split is None else _expression(split)
    if encoding is not None:
        _check_encoding(encoding)
    root = path_of(folder)
    paths = _files(root, pattern)
    rows: list[dict] = []
    without_heading: list[str] = []
    all_headings: list[str] = []
    for path, source in zip(paths, _sources(root, paths), strict=True):
        text, found = _read(path, encoding)
        inside = Path(_composed(str(path.relative_to(root))))
        date = _date(inside)
        headings, parts = ([], [("", text)]) if beginning is None else _parts(text, beginning)
        all_headings += headings
        if not headings:
            without_heading.append(source)
        pieces = [
            (number, heading, piece)
            for number, (heading, part) in enumerate(parts, int(parts[0][0] != ""))
            for piece in ([part] if chunk is None else _pieces(part, chunk))
        ]
        for i, (number, heading, piece) in enumerate(pieces):
            rows.append(
                {
                    "name": source,
                    "text": piece,
                    "source": source,
                    "piece": i + 1,
                    "part": number,
                    "heading": heading,
                    "folder": inside.parent.as_posix() if inside.parent.parts else _composed(root.resolve().name),
                    "date": date,
                    "year": None if date is None else date.year,
                    "length": len(_WORD.findall(piece)),
                    "encoding": found,
                    "path": str(path),
                }
            )
    _warn_of(rows, encoding)
    if all_headings and not any(row["length"] for row in rows):
        raise ValueError(
            f"split = {split!r} leaves no words, because all are in headings, such as {all_headings[0][:50]!r}: "
            "give an expression that fits only the headings."
        )
    if split is not None and without_heading:
        if len(without_heading) == len(paths):
            raise ValueError(
                f"no line of the texts begins with split = {split!r}: they have no such headings. Capitals count: "
                f"{'(?i)' + split!r} fits small letters and capitals."
            )
        warn(f"{len(without_heading)} texts have no heading that begins with {split!r}: {listed(without_heading, 3)}.")
    table = DataFrame(rows)
    if chunk is not None or split is not None:
        table["name"] = _numbered(table)
    table["date"] = Series(np.array(table["date"].to_list(), "datetime64[s]"))
    return table.astype({"year": "Int64"}).set_index("name")


def _expression(split: str) -> re.Pattern[str]:
    if not isinstance(split, str):
        raise TypeError(f"split must be a str with a regular expression, such as 'CHAPTER ', got {split!r}.")
    try:
        # Texts have composed letters.
        found = re.compile(_composed(split), re.MULTILINE)
    except re.error as error:
        raise ValueError(
            f"split = {split!r} is not a regular expression ({error}): put a backslash before each of ( ) [ ] * + ? . "
            "that stands for itself."
        ) from None
    if found.match(""):
        raise ValueError(f"split = {split!r} fits every line: give the words with which a heading begins.")
    return found


def _check_encoding(encoding: str) -> None:
    if not isinstance(encoding, str):
        raise TypeError(f"encoding must be a str such as 'utf-8' or 'cp1252', got {encoding!r}.")
    try:
        is_text = codecs.lookup(encoding)._is_text_encoding
    except LookupError:
        is_text = False
    if not is_text:
        raise ValueError(f"encoding = {encoding!r} is not one that Python has: give 'utf-8', 'cp1252' or 'utf-16'.")


def _files(folder: Path, pattern: str) -> list[Path]:
    """The files of the pattern, in the order of their paths; a ValueError without any."""
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ValueError(f"{folder} {what}: give the path of a folder with text files.")
    if os.path.isabs(pattern):
        raise ValueError(f"pattern = {pattern!r} is an absolute path: give a pattern within the folder, as in '*.txt'.")
    inside = [path.relative_to(folder) for path in folder.glob(_in_any_case(pattern)) if path.is_file()]
    shown = [path for path in inside if not any(part.startswith(".") for part in path.parts)]
    if not shown:
        endings = Counter(path.suffix for path in folder.rglob("*") if path.is_file())
        there = ", ".join(f"{n} files *{ending}" for ending, n in endings.most_common(5))
        raise ValueError(
            f"no file in {folder} fits the pattern {pattern!r}; it has {there or 'no files'}. Give another pattern, "
            "and files of plain text."
        )
    for path in shown:
        if not _is_unicode(str(path)):
            name = os.fsencode(path).decode("utf-8", "backslashreplace")
            raise ValueError(f"the name of the file {name} in {folder} is not UTF-8: rename it.")
    return [folder / path for path in sorted(shown, key=lambda path: path.parts)]


def _in_any_case(pattern: str) -> str:
    """The pattern whose ending fits in small letters and in capitals."""
    stem, dot, ending = pattern.rpartition(".")
    if not dot or not ending.isalpha():
        return pattern
    return f"{stem}.{''.join(f'[{letter.lower()}{letter.upper()}]' for letter in ending)}"


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _composed(text: str) -> str:
    """A text with one spelling of each word."""
    return unicodedata.normalize("NFKC", text).translate(_UNSEEN)


def _without_suffix(path: Path) -> Path:
    """A path without its suffix. Digits are none: they may be the day of a date."""
    return path if path.suffix[1:].isdigit() else path.with_suffix("")


def _sources(folder: Path, paths: Sequence[Path]) -> list[str]:
    """A name for each file: its path in the folder without the suffix, or with it where two files differ in that."""
    whole = [_composed(path.relative_to(folder).as_posix()) for path in paths]
    names = [_composed(_without_suffix(path.relative_to(folder)).as_posix()) for path in paths]
    twice = [name for name, n in Counter(whole).items() if n > 1]
    if twice:
        raise ValueError(
            f"{folder} has two files with the name {twice[0]!r}, by two spellings of an accent: rename one."
        )
    # A whole path may be another file's path without its suffix.
    while len(set(names)) < len(names):
        times = Counter(names)
        names = [name if times[name] == 1 else path for name, path in zip(names, whole, strict=True)]
    return names


def _read(path: Path, encoding: str | None) -> tuple[str, str]:
    """The text of a file and its encoding."""
    data = path.read_bytes()
    if encoding is None:
        encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    try:
        text, found = _decoded(data) if encoding is None else (data.decode(encoding), encoding)
    except UnicodeError as error:
        raise ValueError(
            f"{path} is not a text in {encoding or 'utf-8 or cp1252'} ({error}): take it out of the folder, or give "
            "another encoding, as in encoding='cp437'. Without one, single bytes that are not UTF-8 are read as "
            "Windows-1252."
        ) from None
    if "\0" in text:
        raise ValueError(
            f"{path} has zero characters, so it is not a text, or in another encoding: take it out of the folder, "
            "or give its encoding, such as encoding='utf-16'."
        )
    return _composed(text.replace("\r\n", "\n").replace("\r", "\n")), found


def _decoded(data: bytes) -> tuple[str, str]:
    """A text in UTF-8, in which a few bytes may be Windows-1252; or in Windows-1252."""
    text = data.decode("utf-8", "surrogateescape")
    stray = len(_STRAY.findall(text))
    if not stray:
        return text, "utf-8"
    beyond = sum(not c.isascii() for c in text)
    if 2 * stray > beyond:
        return data.decode("cp1252"), "cp1252"
    return _STRAY.sub(lambda c: c[0].encode("utf-8", "surrogateescape").decode("cp1252"), text), "utf-8 and cp1252"


def _warn_of(rows: list[dict], encoding: str | None) -> None:
    guessed = list(dict.fromkeys(row["source"] for row in rows if row["encoding"] == "cp1252"))
    if guessed and encoding is None:
        warn(
            f"{len(guessed)} texts are not UTF-8 and were read as Windows-1252: {listed(guessed, 3)}. Look at their "
            "accents, and give the encoding if they are wrong."
        )
    mixed = list(dict.fromkeys(row["source"] for row in rows if row["encoding"] == "utf-8 and cp1252"))
    if mixed:
        warn(f"{len(mixed)} texts in UTF-8 have single bytes that were read as Windows-1252: {listed(mixed, 3)}.")
    empty = list(dict.fromkeys(row["source"] for row in rows if not row["length"]))
    if empty:
        warn(f"{len(empty)} texts have no words: {listed(empty, 3)}.")


def _numbered(table: DataFrame) -> list[str]:
    """Names of pieces: their numbers have as many digits as the largest of their text, so that names have an order."""
    most = table.groupby("source")["piece"].transform("max")
    return [
        f"{source} {piece:0{len(str(largest))}} {heading}".rstrip()
        for source, piece, heading, largest in zip(table["source"], table["piece"], table["heading"], most, strict=True)
    ]


def _date(path: Path) -> datetime.date | None:
    """The first date in the name of a file, or in the nearest folder that has one."""
    for part in (_without_suffix(path).name, *reversed(path.parent.parts)):
        for pattern in _DATES:
            for found in pattern.finditer(part):
                given = found.groupdict()
                try:
                    return datetime.date(int(given["year"]), int(given.get("month", 1)), int(given.get("day", 1)))
                except ValueError:
                    # The 31st of a shorter month has no month or year that is more exact than it.
                    part = part.replace(found[0], " ")
    return None


def _parts(text: str, beginning: re.Pattern[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The headings, which are lines that fit the expression, and the parts that have words, each with its heading."""
    found, heading, start, line = [], "", 0, 0
    while line < len(text):
        space = _SPACE.match(text, line)
        fits = beginning.match(text, line) or (space and beginning.match(text, space.end()))
        end = text.find("\n", line if fits is None else max(fits.end() - 1, line))
        end = len(text) if end < 0 else end
        if fits is not None:
            found.append((heading, text[start:line].strip()))
            heading, start = " ".join(text[line:end].split()), end
        line = end + 1
    found.append((heading, text[start:].strip()))
    headings = [each for each, _ in found[1:]]
    return headings, [(own, part) for own, part in found if part] or [(heading, "")]


def _pieces(text: str, size: int) -> list[str]:
    """The parts of a text, each of about `size` words; its paragraphs, and their order, are kept."""
    ends = _ends_of_words(text, 0, len(text))
    n_pieces = max(round(len(ends) / size), 1)
    # Places where the text may be cut, and the number of words before each.
    places = np.array(_places(text, size))
    before = np.searchsorted(ends, places, side="right")
    targets = np.arange(1, n_pieces) * len(ends) / n_pieces
    cuts = [0, *np.unique(places[_nearest(before, targets)]).tolist(), len(text)]
    pieces = [text[start:end].strip() for start, end in pairwise(cuts)]
    return [piece for piece in pieces if piece] or [""]


def _nearest(values: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Where the values, in rising order, are nearest to the targets; of equal ones, the first."""
    if not len(values):
        return np.empty(0, dtype=int)
    above = np.minimum(np.searchsorted(values, targets), len(values) - 1)
    below = np.searchsorted(values, values[np.maximum(above - 1, 0)])
    return np.where(np.abs(values[below] - targets) <= np.abs(values[above] - targets), below, above)


def _places(text: str, size: int) -> list[int]:
    """Where a text may be cut: between paragraphs, and within those of more than `size` words."""
    breaks = _PARAGRAPH if _PARAGRAPH.search(text.strip()) else _LINE
    found = []
    for start, end in _spans(breaks, text, 0, len(text)):
        found.append(end)
        if len(_ends_of_words(text, start, end)) <= size:
            continue
        for first, last in _spans(_SENTENCE, text, start, end):
            found.append(last)
            own = _ends_of_words(text, first, last)
            if len(own) > size:
                found.extend(own)
    return sorted(set(found) - {len(text)})


def _spans(breaks: re.Pattern[str], text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of text[start:end] between breaks; a part ends with its break."""
    edges = [start, *(found.end() for found in breaks.finditer(text, start, end)), end]
    return [(a, b) for a, b in pairwise(edges) if a < b]


def _ends_of_words(text: str, start: int, end: int) -> list[int]:
    return [found.end() for found in _WORD.finditer(text, start, end)]
