"""The texts that docstrings of this package share: parameters, results, errors and attributes."""

import inspect
import re

from sklda._core.types import Method

_MODEL = """estimator, pipeline, or pair (topic_word, doc_topic)
    A fitted topic model with ``components_``, a pipeline or search that has one, or arrays of shapes
    (n_components, n_features) and (n_documents, n_components). `describe` adds names of words, topics and documents.
"""
_COMMON = f"""
estimator : {_MODEL}
X : array-like, sparse matrix, or whatever a pipeline takes, default=None
    Documents. None: those of `describe`, or of the fit, if the model has ``doc_topic_``, or the rows of ``doc_topic``.
by : {{"probability", "relevance", "frex"}}, default="probability"
    Order of the words; see `topic_table`.
weight : float in [0, 1], default=None
    See `topic_table`.
missing : {{"raise", "drop"}}, default="raise"
    What happens to documents that count and lack a value of an argument: an error that names them, or they are left
    out and a warning says so.
n_words : int, default=3
    How many of a topic's most probable words are in its label, if it has no name.
random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
    Of the draws.
ax : matplotlib Axes, default=None
    None: those of a new figure.
"""
_RAISES = """ValueError, TypeError
    If the model is not one that this function takes, or an argument does not fit it.
"""
# Sections of numpydoc, in their order; the first is the text before them.
_ORDER = ("", "Parameters", "Returns", "Raises", "Warns", "Attributes", "See Also", "Notes", "References", "Examples")


def described(function: Method) -> Method:
    """Complete a docstring of numpydoc.

    Parameters without a text get that of this module; all are in the order of the signature. Without these sections,
    the result is the class of a method, and the errors are those of all functions that read a model.
    """
    # With `python -OO` there is none.
    if function.__doc__:
        sections = {"Returns": function.__qualname__.partition(".")[0], "Raises": _RAISES}
        sections |= _sections(function.__doc__)
        texts = _entries(_COMMON) | _entries(sections.get("Parameters", ""))
        names = [name for name in inspect.signature(function).parameters if name != "cls"]
        sections["Parameters"] = "\n".join(dict.fromkeys(texts[name] for name in names))
        function.__doc__ = _joined(sections)
    return function


def with_attributes(docstring, attributes):
    """The docstring of a class with more attributes at the start of their section."""
    if not docstring:
        return docstring
    sections = _sections(docstring)
    return _joined(sections | {"Attributes": attributes + sections.get("Attributes", "")})


def _sections(docstring):
    """The sections of a docstring, a dict by title."""
    parts = re.split(r"^(\w[\w ]*)\n---+\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))


def _joined(sections):
    titles = sorted(sections, key=_ORDER.index)
    texts = (f"{title}\n{'-' * len(title)}\n{sections[title].strip()}" for title in titles[1:])
    return "\n\n".join([sections[""].strip(), *texts]) + "\n"


def _entries(section):
    """The entries of a section of parameters, by name."""
    entries = [entry.rstrip() for entry in re.split(r"\n(?=\w)", section.strip()) if entry]
    return {name: entry for entry in entries for name in entry.splitlines()[0].partition(" : ")[0].split(", ")}
