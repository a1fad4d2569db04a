"""Labels and names as users give them: one reader for each, which all functions of the package use.

A *label* says to which group something belongs: collections, groups and clusters of documents, categories of
covariates, classes. It has any hashable type. A *name* is what a topic, a word or a document is called. Both come in
any kind of column: sequences, iterators (which are read once), arrays, and series or frames of any library.
"""

from collections.abc import Iterator, Mapping, Set
from decimal import Decimal
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import pairwise
from numbers import Real

import numpy as np
import pandas as pd
import scipy.sparse as sp

from sklda._input.arguments import check_no_mask, is_whole

# Types of which nothing is to be looked at.
_PLAIN = str, int, float, bool
# Unknown words for which a message has others that are like them, and how many of these.
_MOST_UNKNOWN, _MOST_ALIKE = 20, 3


# --- Columns of any kind -------------------------------------------------------------------------------------------


def computed(values):
    """Values of Dask in memory; others as they are."""
    return values.compute() if hasattr(values, "__dask_graph__") else values


def in_memory(values):
    """Values of Dask computed, and tables of pyarrow, xarray and NumPy (with fields) as data frames of pandas."""
    values = computed(values)
    names = getattr(getattr(values, "dtype", None), "names", None)
    if names:
        # pandas reads the columns of masked ones, and not these as a whole.
        return pd.DataFrame({name: values[name] for name in names})
    is_table = hasattr(values, "column_names") or len(getattr(values, "dims", ())) == 2
    return values.to_pandas() if is_table and hasattr(values, "to_pandas") else values


def read_column(values, name, holds):
    """The values of one column as a list of Python objects, in their order.

    Parameters
    ----------
    values : object
    name : str
        Of the argument, for messages.
    holds : str
        What it must hold, such as "one label for each document".
    """
    values = computed(values)
    if isinstance(values, (Mapping, Set)):
        why = "whose keys are in no order of these" if isinstance(values, Mapping) else "which has no order"
        raise TypeError(f"{name} must hold {holds}, got a {type(values).__name__}, {why}: give a list in their order.")
    check_no_mask(values, name)
    if sp.issparse(values):
        values = values.toarray()
    shape = getattr(values, "shape", ())
    if isinstance(shape, tuple) and len(shape) == 2:
        if shape[1] != 1:
            raise TypeError(
                f"{name} must hold {holds}, got a {type(values).__name__} with {shape[1]} columns: give one of "
                "them, or a list of tuples."
            )
        values = np.asarray(values)[:, 0]
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufUS":
        return values.tolist()
    try:
        given = None if isinstance(values, (str, bytes, bytearray)) else iter(values)
    except TypeError:
        given = None
    if given is None:
        raise TypeError(f"{name} must hold {holds}, got {_shown(values)}.")
    return [value if type(value) in _PLAIN else python_value(value) for value in given]


def read_numbers(values, name, advice=None):
    """The real numbers of documents, (n_documents,) float64, NaN where they are missing; a TypeError if one is not.

    `advice(values)` is the end of its message.
    """
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    found = read_column(values, name, "one number for each document")
    found = [None if is_missing(value) else value for value in found]
    for d, value in enumerate(found):
        if not (value is None or isinstance(value, (Real, Decimal))):
            more = "" if advice is None else advice(found)
            raise TypeError(f"{name}[{d}] = {value!r} is not a number: {name} must hold real numbers.{more}")
    return np.array([np.nan if value is None else float(value) for value in found])


def read_once(values):
    """Values that can be read several times: a list in place of an iterator."""
    return list(values) if isinstance(values, Iterator) else values


def python_value(value):
    """A scalar of NumPy, pandas, polars or pyarrow as that of Python, so that equal ones are equal; also in tuples."""
    if hasattr(value, "as_py"):
        # pyarrow
        value = value.as_py()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        value = _of_numpy(value)
    elif getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        # A tensor
        value = value.item()
    elif hasattr(value, "to_pydatetime") and value.nanosecond == 0:
        # pandas; that of NaT is NaN.
        value = value.to_pydatetime()
    elif hasattr(value, "to_pytimedelta") and value.nanoseconds == 0:
        value = value.to_pytimedelta()
    if isinstance(value, tuple):
        return tuple(map(python_value, value))
    return frozenset(map(python_value, value)) if isinstance(value, frozenset) else value


def _of_numpy(value):
    kind, found = value.dtype.kind, value.item()
    if kind not in "mM":
        return found
    if isinstance(found, int) and np.datetime_data(value.dtype)[0] == "ns":
        shorter = value.astype(f"{kind}8[us]")
        found = shorter.item() if shorter == value else value
    # Units and years that Python's dates do not have are integers.
    return value if found is None or isinstance(found, int) else found


def _shown(value):
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:100]} ..."


def is_missing(value):
    """Whether a value is None, NaN, NaT or the NA of pandas, or a tuple or a set with one of these."""
    if isinstance(value, (tuple, frozenset)):
        return any(map(is_missing, value))
    if value is None:
        return True
    same = value == value
    # A comparison with NA is NA, which is neither true nor false.
    return not isinstance(same, (bool, np.bool_)) or not same


def index_of(values):
    """The index of a series or frame of pandas; None for others. Lists have a method of this name."""
    index = None if hasattr(values, "__dask_graph__") else getattr(values, "index", None)
    return index if hasattr(index, "equals") else None


def check_order_of_labels(values, name, labels):
    """Refuse a series or frame whose labels, of its columns if it has some, are these in another order.

    The values are read by position: a parameter of words or topics would be that of others.
    """
    own = getattr(values, "columns", index_of(values))
    if own is None:
        return
    own, labels = list(map(python_value, own)), list(labels)
    if own != labels and len(own) == len(labels) and set(own) == set(labels):
        i = next(i for i, (a, b) in enumerate(zip(own, labels, strict=True)) if a != b)
        raise ValueError(
            f"{name} has the labels of the columns of X or of the topics in another order: {own[i]!r} is in place {i}, "
            f"where {labels[i]!r} belongs. Sort it, or give it without labels, as in {name}.to_numpy()."
        )


def check_order_of_words(X, words):
    """Refuse documents whose columns have these words as names, in another order: they would be counts of others."""
    names = list(getattr(X, "column_names", getattr(X, "columns", ())))
    if words is None or names == words or len(names) != len(words) or set(names) != set(words):
        return
    j = next(j for j, word in enumerate(words) if names[j] != word)
    raise ValueError(
        f"X has the words of the model in other columns: column {j} is {names[j]!r}, and {words[j]!r} in the model. "
        "Give the columns in the order of the model's words."
    )


# --- Labels --------------------------------------------------------------------------------------------------------


class Labels(list):
    """Labels, and the order of the categories of a column that has one; None if they are sorted."""

    def __init__(self, labels, order=None):
        super().__init__(labels)
        self.order = order

    def take(self, rows):
        return Labels((self[d] for d in rows), self.order)


def order_of(values):
    """The categories of a column of pandas or polars in their order; None without any."""
    categories = getattr(getattr(values, "dtype", None), "categories", None)
    # Those of a Categorical of polars are in no order, and have no length.
    return [python_value(each) for each in categories] if hasattr(categories, "__len__") else None


def read_labels(labels, name, n=None, *, kind="label", may_be_missing=False):
    """Labels as `Labels`, hashable Python objects; missing ones, if they may be, are None.

    Parameters
    ----------
    labels : object
        See `read_column`.
    name : str
        Of the argument, for messages.
    n : int, default=None
        Their number. None: any.
    kind : str
        What they are, for messages.
    may_be_missing : bool, default=False
        Otherwise a missing label is a ValueError.
    """
    found = Labels(read_column(labels, name, f"one {kind} for each document"), order_of(labels))
    if n is not None and len(found) != n:
        raise ValueError(f"{name} has {len(found)} {kind}s; there are {n} documents.")
    for i, label in enumerate(found):
        if not is_hashable(label):
            raise TypeError(
                f"{name}[{i}] = {_shown(label)} is not hashable, as a {kind} must be: give a string or a number."
            )
        if type(label) in (str, int) or not is_missing(label):
            continue
        if not may_be_missing:
            raise ValueError(f"{name}[{i}] is missing ({label!r}): each document needs a {kind}.")
        found[i] = None
    return found


def is_hashable(value):
    """Whether a value can be looked up. Tuples of lists have a method for it, and cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def in_order(labels):
    """The distinct labels as a list: sorted, if all of them have an order; otherwise by type, and each type by itself.

    Those of a type without an order are sorted by their text.
    """
    distinct = set(labels)
    try:
        found = sorted(distinct)
        # Sets can be compared, but most are neither smaller nor greater.
        if all(a < b for a, b in pairwise(found)):
            return found
    except TypeError:
        pass
    types = sorted({type(label).__name__ for label in distinct})
    if len(types) == 1:
        return sorted(distinct, key=_text)
    return [each for kind in types for each in in_order(x for x in distinct if type(x).__name__ == kind)]


def _text(label):
    """A text of a label that does not depend on the hashes of the members of sets."""
    if isinstance(label, (tuple, frozenset)):
        parts = list(map(_text, label))
        return f"{type(label).__name__}({', '.join(parts if isinstance(label, tuple) else sorted(parts))})"
    return repr(label)


def grouped(labels):
    """The distinct labels in order, that of their categories if they have some, and the number of each, (n,) int64."""
    order = getattr(labels, "order", None)
    used = set(labels)
    distinct = in_order(labels) if order is None else [each for each in order if each in used]
    place = {label: j for j, label in enumerate(distinct)}
    return distinct, np.array([place[label] for label in labels], np.int64)


def label_array(labels):
    """Labels as an array that keeps each of them as it is."""
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], (str, int, float)):
        found = np.array(labels)
        # An array of strings would lose zero characters at the end, one of floats the precision of large integers.
        if found.tolist() == labels:
            return found
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def listed(labels, most=10):
    """The first labels of a list, for a message."""
    shown = ", ".join(map(repr, labels[:most]))
    return shown + _and_others(len(labels) - most)


def _and_others(n):
    return f" and {n} other{'s' * (n > 1)}" if n > 0 else ""


# --- Names ---------------------------------------------------------------------------------------------------------


def read_names(names, name, n, of, kind="name"):
    """Names as a list of n str.

    Parameters
    ----------
    names : object
        See `read_column`.
    name : str
        Of the argument, for messages.
    n : int
        Their number.
    of, kind : str
        What has the names, such as "topic", and what they are, for messages.
    """
    found = read_column(names, name, f"one {kind} for each {of}")
    if len(found) != n:
        raise ValueError(f"{name} has {len(found)} {kind}s; there are {n} {of}s.")
    for i, each in enumerate(found):
        if not isinstance(each, str):
            raise TypeError(f"{name}[{i}] is {_shown(each)}: a {kind} of a {of} is a str.")
    return found


def topic_names(model, n_topics, given=None):
    """The names of the topics of a model: those given, or else those that it has. None if there are none.

    Parameters
    ----------
    model : estimator, or None for arrays
    n_topics : int
    given : sequence of n_topics str, default=None

    Returns
    -------
    list of str, or None
    """
    known = getattr(model, "topic_names_", None)
    known = None if known is None else read_topic_names(known, n_topics, "topic_names_")
    if given is None:
        return known
    names = read_topic_names(given, n_topics, "topic_names")
    if known is not None:
        check_order_of_topics(names, known)
    return names


def check_order_of_topics(names, known):
    """Refuse names that are those of other topics of the model."""
    if names != known and set(names) == set(known):
        k = next(k for k in range(len(names)) if names[k] != known[k])
        raise ValueError(
            f"topic_names has the names of the model in another order: topic {k} is {known[k]!r}, and "
            f"topic_names[{k}] is {names[k]!r}. Leave topic_names out; model.set_topic_names gives topics other names."
        )


def read_topic_names(names, n_topics, what):
    """Names as a list of distinct str, one for each topic, or an error that says what is wrong with them."""
    places: dict[str, int] = {}
    for k, name in enumerate(read_names(names, what, n_topics, "topic")):
        if not name.strip():
            raise ValueError(f"{what}[{k}] is empty: give each topic a name.")
        if name in places:
            raise ValueError(f"{what}[{places[name]}] and {what}[{k}] are both {name!r}: names must differ.")
        places[str(name)] = k
    return list(places)


def distinct(names, taken=()):
    """The names, with a number after each one that is taken, or that occurs before."""
    found: list[str] = []
    used = set(taken)
    for name in names:
        name, copy = name if name.strip() else "(empty)", 1
        new = name
        while new in used:
            copy += 1
            new = f"{name} ({copy})"
        used.add(new)
        found.append(new)
    return found


def read_document_names(names, name, n, X=None):
    """Names of documents as a list of n str. They may be labels, such as numbers and dates.

    If X has an index of str, they must not be these in another order.
    """
    found = read_labels(names, name, n, kind="name")
    index = index_of(X)
    known = [] if index is None else list(index)
    if len(known) == n and all(isinstance(each, str) for each in known) and found != known and set(found) == set(known):
        i = next(i for i in range(n) if found[i] != known[i])
        raise ValueError(
            f"{name} has the index of X in another order: {name}[{i}] is {found[i]!r}, and row {i} of X has "
            f"{known[i]!r}."
        )
    for i, each in enumerate(found):
        if isinstance(each, bytes):
            raise TypeError(f"{name}[{i}] is {each!r}: decode bytes, as in {name}[{i}].decode().")
    return list(map(str, found))


def names_of_rows(X, n):
    """Names of n documents: the index of X, numbers as they are and others as str; row numbers without one."""
    index = index_of(X)
    known = [] if index is None else list(map(python_value, index))
    if len(known) != n or any(map(is_missing, known)):
        return list(range(n))
    return [each if is_whole(each) else str(each) for each in known]


def read_words(words, name, n, known=None):
    """The words of n columns as a list of str.

    Parameters
    ----------
    words : object
        See `read_column`; also a mapping from words to columns, such as ``vectorizer.vocabulary_``, or from columns to
        words.
    name : str
        Of the argument, for messages.
    n : int
    known : sequence of n str, default=None
        The words that the model has for its columns. They must not be given in another order.
    """
    if isinstance(words, Mapping):
        columns = _columns_of_mapping(words, name, n)
        places = {j: word for word, j in columns.items()}
        for word, j in columns.items():
            if places[j] != word:
                raise ValueError(f"{name} has column {j} for {word!r} and for {places[j]!r}.")
        missing = next((j for j in range(n) if j not in places), None)
        if missing is not None:
            raise ValueError(f"{name} has {len(columns)} words and none for column {missing}; there are {n} columns.")
        found = [places[j] for j in range(n)]
    else:
        found = read_names(words, name, n, "column", "word")
    if known is not None:
        _check_places(enumerate(found), name, known, found)
    return found


def read_vocabulary(words, name, n, known=None):
    """The column of every word, as a dict, to look words up. See `read_words`; a mapping may have some words only."""
    if isinstance(words, Mapping):
        columns = _columns_of_mapping(words, name, n)
    else:
        found = read_names(words, name, n, "column", "word")
        columns = {word: j for j, word in enumerate(found)}
        if len(columns) < n:
            twice = next(word for j, word in enumerate(found) if columns[word] != j)
            raise ValueError(f"{name} has {twice!r} twice, so that it does not say which column is meant.")
    if known is not None:
        _check_places(((j, word) for word, j in columns.items()), name, known, ())
    return columns


def _columns_of_mapping(words, name, n):
    """The dict from words to columns of a mapping in one of the two directions. Several words may have one column."""
    pairs = [(python_value(key), python_value(value)) for key, value in words.items()]
    if pairs and all(is_whole(key) for key, _ in pairs):
        pairs = [(value, key) for key, value in pairs]
    columns: dict[str, int] = {}
    for word, column in pairs:
        if not isinstance(word, str) or not is_whole(column):
            raise TypeError(
                f"{name} has {column!r} for {word!r}: give the words in the order of the columns, or a dict from "
                "words to numbers of columns."
            )
        if not 0 <= column < n:
            raise ValueError(f"{name} has column {column} for {word!r}; there are {n} columns.")
        if columns.setdefault(word, column) != column:
            raise ValueError(f"{name} has {word!r} for columns {columns[word]} and {column}.")
    return columns


def _check_places(words, name, known, all_words):
    """Refuse words that are the known names of other columns.

    A list that is shown may have some of them, such as stems that are completed: it is refused if it has the same
    words, or if most of those in common have other columns.
    """
    place = {word: j for j, word in enumerate(known)}
    in_common = [(j, word) for j, word in words if word in place]
    moved = [(j, word) for j, word in in_common if known[j] != word]
    if not moved or (all_words and 2 * len(moved) <= len(in_common) and set(all_words) != set(known)):
        return
    j, word = min(moved, key=lambda pair: place[pair[1]])
    raise ValueError(
        f"{name} has column {j} for {word!r}, but column {place[word]} of X has this name. Give the words in the order "
        "of the columns."
    )


def find_words(words, columns, name):
    """The columns of words, a list. Words that are not in the vocabulary are named together, with those like them.

    Parameters
    ----------
    words : list of str
    columns : dict of {str: int}
    name : str
        The argument that has the words, for messages.
    """
    unknown = list(dict.fromkeys(word for word in words if word not in columns))
    if unknown:
        raise ValueError(
            f"{name} has {len(unknown)} of its words not in the vocabulary: {listed_unknown(unknown, columns)}. Leave "
            "these out, or write them as the vocabulary does."
        )
    return [int(columns[word]) for word in words]


def listed_unknown(words, columns):
    """The first of some words that are not in the vocabulary, with those like them, for a message."""
    shown = []
    for word in words[:_MOST_UNKNOWN]:
        alike = _words_like(word, columns)
        shown.append(f"{word!r} (there is {', '.join(map(repr, alike))})" if alike else repr(word))
    return f"{', '.join(shown)}{_and_others(len(words) - len(shown))}"


def _words_like(word, columns):
    """Words that differ in case, fit a wildcard, or are spelt alike."""
    lower = word.casefold()
    if any(each in word for each in "*?"):
        found = [each for each in columns if fnmatchcase(each.casefold(), lower)]
    else:
        found = [each for each in columns if each.casefold() == lower]
    if not found and lower:
        # Comparisons are slow: only words that begin alike and are about as long.
        near = [each for each in columns if each[:1].casefold() == lower[0] and abs(len(each) - len(word)) <= 2]
        found = get_close_matches(lower, near, cutoff=0.75)
    return found[:_MOST_ALIKE]


def plain_texts(names):
    """Names of topics as matplotlib shows them."""
    return [plain_text(name, 60) for name in names]


def plain_text(name, most=40):
    """A name as matplotlib shows it without formulas, at most `most` characters long."""
    text = "".join(c if c.isprintable() else "?" for c in str(name))
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("$", r"\$")
