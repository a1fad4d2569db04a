"""Make docstring_texts.csv.xz, the texts that sklda.datasets.read_docstrings returns.

Usage: python make_docstring_texts.py OUTPUT.csv.xz

It needs NumPy, SciPy and scikit-learn in the versions that sklda/datasets/data/docstrings.rst names. The result
depends only on their docstrings. Modules that cannot be imported are left out.
"""

import argparse
import importlib
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from pandas import DataFrame

# Public modules. An object that several of them have belongs to the first. Modules that repeat another one under other
# names are left out: five of the six families of polynomials, numpy.char, scipy.fftpack.
_MODULES = """
    numpy.polynomial numpy.polynomial.polynomial numpy.polynomial.polyutils numpy.random numpy.linalg numpy.fft
    numpy.strings numpy.rec numpy.lib.recfunctions numpy.lib.format numpy.lib.stride_tricks numpy.lib.scimath
    numpy.ctypeslib numpy numpy.ma numpy.testing
    scipy.cluster.hierarchy scipy.cluster.vq scipy.constants scipy.datasets scipy.differentiate scipy.fft
    scipy.integrate scipy.interpolate scipy.io scipy.io.arff scipy.io.wavfile scipy.linalg
    scipy.linalg.interpolative scipy.ndimage scipy.odr scipy.optimize scipy.optimize.elementwise scipy.signal
    scipy.signal.windows scipy.sparse scipy.sparse.csgraph scipy.sparse.linalg scipy.spatial
    scipy.spatial.distance scipy.spatial.transform scipy.special scipy.stats scipy.stats.contingency
    scipy.stats.mstats scipy.stats.qmc scipy.stats.sampling
    sklearn.base sklearn.calibration sklearn.cluster sklearn.compose sklearn.covariance
    sklearn.cross_decomposition sklearn.datasets sklearn.decomposition sklearn.discriminant_analysis
    sklearn.dummy sklearn.ensemble sklearn.exceptions sklearn.feature_extraction
    sklearn.feature_extraction.image sklearn.feature_extraction.text sklearn.feature_selection
    sklearn.gaussian_process sklearn.gaussian_process.kernels sklearn.impute sklearn.inspection sklearn.isotonic
    sklearn.kernel_approximation sklearn.kernel_ridge sklearn.linear_model sklearn.manifold sklearn.metrics
    sklearn.metrics.cluster sklearn.metrics.pairwise sklearn.mixture sklearn.model_selection sklearn.multiclass
    sklearn.multioutput sklearn.naive_bayes sklearn.neighbors sklearn.neural_network sklearn.pipeline
    sklearn.preprocessing sklearn.random_projection sklearn.semi_supervised sklearn.svm sklearn.tree
    sklearn.utils.extmath sklearn.utils.sparsefuncs
""".split()

# The minor versions that were released in a year.
_RELEASES = {
    "numpy": {
        2006: "1.0",
        2008: "1.1 1.2",
        2009: "1.3 1.4",
        2010: "1.5",
        2011: "1.6",
        2013: "1.7 1.8",
        2014: "1.9",
        2015: "1.10",
        2016: "1.11",
        2017: "1.12 1.13",
        2018: "1.14 1.15",
        2019: "1.16 1.17 1.18",
        2020: "1.19",
        2021: "1.20 1.21 1.22",
        2022: "1.23 1.24",
        2023: "1.25 1.26",
        2024: "2.0 2.1 2.2",
        2025: "2.3 2.4",
    },
    "scipy": {
        2009: "0.7",
        2010: "0.8",
        2011: "0.9 0.10",
        2012: "0.11",
        2013: "0.12 0.13",
        2014: "0.14",
        2015: "0.15 0.16",
        2016: "0.17 0.18",
        2017: "0.19 1.0",
        2018: "1.1 1.2",
        2019: "1.3 1.4",
        2020: "1.5 1.6",
        2021: "1.7",
        2022: "1.8 1.9",
        2023: "1.10 1.11",
        2024: "1.12 1.13 1.14",
        2025: "1.15 1.16",
        2026: "1.17",
    },
    "sklearn": {
        2010: "0.5 0.6",
        2011: "0.7 0.8 0.9",
        2012: "0.10 0.11 0.12",
        2013: "0.13 0.14",
        2014: "0.15",
        2015: "0.16 0.17",
        2016: "0.18",
        2017: "0.19",
        2018: "0.20",
        2019: "0.21 0.22",
        2020: "0.23 0.24",
        2021: "1.0",
        2022: "1.1 1.2",
        2023: "1.3",
        2024: "1.4 1.5 1.6",
        2025: "1.7 1.8",
        2026: "1.9",
    },
}
_YEARS = {
    (package, version): year
    for package, years in _RELEASES.items()
    for year, versions in years.items()
    for version in versions.split()
}

# A sentence in more docstrings than this says nothing about any of them.
_MOST_REPEATS = 6
_FEWEST_WORDS = 20
# A docstring of which earlier ones have a larger part, in words of equal sentences, is a copy.
_LARGEST_COPY = 0.75

# Sections whose entries are names with types, below which stand indented descriptions; and those without prose.
_LISTS = (
    "Parameters",
    "Other Parameters",
    "Attributes",
    "Keywords",
    "Returns",
    "Yields",
    "Receives",
    "Raises",
    "Warns",
)
_LEFT_OUT = ("See Also", "References", "Methods", "Routine Listings", "Index")
# Directives whose contents are prose.
_ADMONITION = re.compile(r"\.\. (note|warning|tip|important|caution|admonition|seealso)::")
# Markup inside a line, with what takes its place.
_MARKUP = (
    (re.compile(r":(?:math|sup|sub):(?:`[^`]*`)?|\$[^$]*\$"), "…"),
    (re.compile(r"(?<![\w*`'\"])\*{1,2}([^*\s`](?:[^*`]*[^*\s`])?)\*{1,2}(?![\w*`'\"])"), r"\1"),
    (re.compile(r"``(.*?)``"), r"\1"),
    (re.compile(r"(?::[\w:+.-]+:)?`~?(?:[\w.]+\.)?([^`<]*?)(?: *<[^`>]*>)?`_{0,2}"), r"\1"),
    (re.compile(r" ?\[[\w ,#*]+\]_"), ""),
    (re.compile(r"\\ |\|(?=\w[^|]*\|)"), ""),
)
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
_WORD = re.compile(r"[^\W\d_]{2,}")


def main(path: str) -> None:
    """Write a row for each docstring."""
    rows = list(_documented_objects())
    documents = [_sentences(row["text"], row["name"]) for row in rows]
    repeats = Counter(key for document in documents for key in {s.key for paragraph in document for s in paragraph})
    seen: set[str] = set()
    kept = []
    for row, document in zip(rows, documents, strict=True):
        paragraphs = [[s for s in paragraph if repeats[s.key] <= _MOST_REPEATS] for paragraph in document]
        own = [sentence for paragraph in paragraphs for sentence in paragraph]
        length = sum(sentence.n_words for sentence in own)
        n_seen = sum(sentence.n_words for sentence in own if not seen.isdisjoint((sentence.text, sentence.key)))
        if length >= _FEWEST_WORDS and n_seen <= _LARGEST_COPY * length:
            seen.update(each for sentence in own for each in (sentence.text, sentence.key))
            text = "\n\n".join(" ".join(sentence.text for sentence in each) for each in paragraphs if each)
            kept.append(row | {"text": text, "length": length})
    columns = ["name", "text", "package", "module", "kind", "length", "year"]
    table = DataFrame(kept, columns=columns).astype({"year": "Int64"})
    table.to_csv(path, index=False, compression={"method": "xz", "preset": 9}, lineterminator="\n")
    print(f"{len(table)} documents")


def _documented_objects() -> Iterator[dict]:
    """Every public function and class, each docstring once: a dict of name, package, module, kind, year and text."""
    seen = set()
    for module in _modules():
        for member in sorted(getattr(module, "__all__", dir(module))):
            found = _member(module, member)
            text = getattr(found, "__doc__", None)
            if member.startswith("_") or not callable(found) or not isinstance(text, str) or text in seen:
                continue
            if not hasattr(module, "__all__") and getattr(found, "__module__", None) != module.__name__:
                continue
            # An alias or a subclass may have the same text.
            seen.add(text)
            text = inspect.cleandoc(text)
            package = module.__name__.partition(".")[0]
            yield {
                "name": f"{module.__name__}.{member}",
                "text": text,
                "package": package,
                "module": module.__name__,
                "kind": _kind(found),
                "year": _year(text, package),
            }


def _modules() -> Iterator[ModuleType]:
    """The modules that can be imported."""
    for name in _MODULES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(name)
            except Exception:  # A module that is gone, or lacks a library, may raise anything.
                continue
        yield module


def _member(module: ModuleType, name: str) -> object:
    """An attribute of a module; None if it has none or refuses it, as for experimental classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(module, name, None)
        except Exception:
            return None


def _kind(found: object) -> str:
    if inspect.isclass(found):
        return "class"
    # Functions of C and of Cython, and those with a dispatcher, have types of their own.
    is_function = inspect.isroutine(found) or isinstance(found, np.ufunc) or hasattr(found, "__wrapped__")
    return "function" if is_function or "func" in type(found).__name__.lower() else "object"


def _year(text: str, package: str) -> int | None:
    """The year of the release that added the object; None if it is not known.

    A directive that is indented is about a parameter; the later ones of several are about changes.
    """
    versions = re.findall(r"^\.\. versionadded:: *v?(\d+\.\d+)", text, re.MULTILINE)
    return min((_YEARS[package, each] for each in versions if (package, each) in _YEARS), default=None)


@dataclass(frozen=True)
class _Sentence:
    """A sentence; its key, in which the name of the documented object is left out; and its number of words."""

    text: str
    key: str
    n_words: int


def _sentences(text: str, name: str) -> list[list[_Sentence]]:
    """The sentences of each paragraph of prose."""
    short = name.rpartition(".")[2]
    own_name = re.compile(rf"\b{re.escape(short)}\b")
    found = []
    for paragraph in _paragraphs(text, short):
        for pattern, replacement in _MARKUP:
            paragraph = pattern.sub(replacement, paragraph)
        sentences: list[_Sentence] = []
        for sentence in _SENTENCE.split(paragraph.strip()):
            n_words = len(_WORD.findall(sentence))
            if n_words:
                sentences.append(_Sentence(sentence, own_name.sub("", sentence), n_words))
        found.append(sentences)
    return found


def _paragraphs(text: str, name: str) -> Iterator[str]:
    """The paragraphs of prose of a docstring of numpydoc."""
    for section, lines in _sections(text.split("\n")):
        if section in _LEFT_OUT:
            continue
        if section in _LISTS:
            # Lines without indentation are names and types.
            lines = [line if line.startswith(" ") else "" for line in lines]
        for paragraph in _blocks(lines):
            # Functions of C begin with their signature.
            if section or not paragraph.startswith(f"{name}("):
                yield paragraph


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The title and the lines of each section; the first has no title."""
    title = ""
    own: list[str] = []
    for line in lines:
        if re.fullmatch(r"-{3,}|={3,}", line) and own and own[-1].strip() and not own[-1].startswith(" "):
            following = own.pop()
            yield title, own
            title, own = following.strip(), []
        else:
            own.append(line)
    yield title, own


def _blocks(lines: list[str]) -> Iterator[str]:
    """Paragraphs, each on one line, without examples, literal blocks, directives and tables."""
    paragraph: list[str] = []
    skip_deeper_than = None
    is_code = False
    for line in [*lines, ""]:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            is_table = any(re.fullmatch(r"[=\s]{3,}|\+[-=+]+\+|[|].*[|]", each) for each in paragraph)
            if paragraph and not is_table:
                yield " ".join(paragraph)
            paragraph, is_code = [], False
            continue
        if skip_deeper_than is not None and indent > skip_deeper_than:
            continue
        skip_deeper_than = None
        # An example and its output end at the next empty line.
        is_code = is_code or text.startswith(">>>")
        if is_code:
            continue
        if re.fullmatch(r"([~^#*\"-])\1{2,}", text):
            # The line above is a heading.
            paragraph = paragraph[:-1]
        elif text.startswith("..") and not _ADMONITION.match(text):
            skip_deeper_than = indent
        else:
            if paragraph and re.match(r"[-*+•] |\w{1,2}[.)] ", text):
                # Each item of a list is a paragraph.
                yield " ".join(paragraph)
                paragraph = []
            paragraph.append(_ADMONITION.sub("", re.sub(r"^[-*+•] ", "", text)).replace("::", ":").strip())
            if text.endswith("::"):
                skip_deeper_than = indent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    main(parser.parse_args().output)
