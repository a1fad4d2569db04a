"""Corpora and topic assignments from the files of other samplers."""

import gzip
import reprlib
import zlib
from array import array
from os import PathLike

import numpy as np
from sklearn.utils import Bunch

from sklda._input.arguments import path_of
from sklda._input.counts import LARGEST_COUNT
from sklda.datasets._tokens import count_cells

_FIELDS = "doc source pos typeindex type topic"


def read_mallet_state(path: str | PathLike[str]) -> Bunch:
    """Read the corpus, the topic assignments and the priors from a state file of MALLET.

    ``mallet train-topics --output-state`` writes this file: the priors in the first lines, then a line for each token.

    Parameters
    ----------
    path : str or path-like
        A state file, compressed by gzip or not, in UTF-8.

    Returns
    -------
    sklearn.utils.Bunch
        data : csr_array of shape (n_documents, n_features), int64
            Word counts. A document without tokens has no lines in the file and gets an empty row here. Such documents
            at the end of the corpus are unknown and have no row.
        topic_assignments : ndarray of shape (n_tokens,), int32
            In the order that `GibbsLDA.from_assignments` takes: by document, then by word, then by position.
        feature_names : ndarray of str, object dtype, (n_features,)
            The words. Columns are the words that occur, in the order of MALLET's type indices.
        type_indices : ndarray of int of shape (n_features,)
            MALLET's type index of each column. It differs from the column number if MALLET's alphabet has words that
            do not occur.
        document_names : ndarray of str, object dtype, (n_documents,)
            MALLET's source of each document, often ``"NA"``; an empty text for a document without tokens.
        doc_topic_prior : ndarray of shape (n_components,)
            alpha, for each topic.
        topic_word_prior : float
            beta, per word.
        n_components : int
            Number of topics: the number of values of alpha.

    Raises
    ------
    ValueError
        If the file is not a state file or is damaged. The message names the line and what is wrong with it.
    OSError
        If the file cannot be opened.

    See Also
    --------
    count_tokens : The same for lists of words and topics.
    sklda.GibbsLDA.from_assignments : Topics and topic proportions from topic assignments.

    Notes
    -----
    Sources and words may contain spaces. If numbers around the spaces allow several readings of a line, the source of
    the line before decides, or position 0 at the beginning of a document. A line that remains ambiguous is refused.

    The file lists tokens only, so words of MALLET's alphabet that do not occur are unknown. MALLET counts them in the
    vocabulary, and its topics give each of them a share in proportion to beta.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklda.datasets import read_mallet_state
    >>> state = '''#doc source pos typeindex type topic
    ... #alpha : 2.5 2.5
    ... #beta : 0.01
    ... 0 NA 0 0 apple 0
    ... 0 NA 1 1 pear 0
    ... 0 NA 2 0 apple 1
    ... 2 NA 0 2 car 1
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "state")
    ...     _ = path.write_text(state)
    ...     found = read_mallet_state(path)
    >>> found.data.toarray()
    array([[2, 1, 0],
           [0, 0, 0],
           [0, 0, 1]])
    >>> found.topic_assignments
    array([0, 1, 0, 1], dtype=int32)
    >>> found.feature_names
    array(['apple', 'pear', 'car'], dtype=object)
    """
    path = path_of(path)
    state = _MalletState(path)
    with open(path, "rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
        try:
            state.read_priors(file)
            state.read_tokens(file)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path}, after line {state.line}: the compressed file is incomplete or damaged ({error}). Wait until "
                f"MALLET has written it, or copy it again."
            ) from error
    documents, positions, types, topics = (np.array(column, dtype=np.int32) for column in state.columns)
    order = np.lexsort((positions, documents))
    documents, types, topics = documents[order], types[order], topics[order]
    type_indices, columns = np.unique(types, return_inverse=True)
    n_documents = int(documents[-1]) + 1
    data, order = count_cells(documents, columns, (n_documents, len(type_indices)))
    sources = np.full(n_documents, "", dtype=object)
    for document, source in state.sources.items():
        sources[document] = source.decode()
    return Bunch(
        data=data,
        topic_assignments=topics[order],
        feature_names=np.array([state.words[v].decode() for v in type_indices.tolist()], dtype=object),
        type_indices=type_indices.astype(np.int64),
        document_names=sources,
        doc_topic_prior=state.alpha,
        topic_word_prior=state.beta,
        n_components=len(state.alpha),
    )


class _MalletState:
    """The contents of a state file, while it is read.

    Attributes
    ----------
    line : int
        Number of lines that were read.
    alpha : ndarray of shape (n_components,)
    beta : float
    columns : tuple of four array.array
        Document, position, type index and topic of every token.
    sources, words : dict of {int: bytes}
        The source of every document, and the word of every type index.
    """

    def __init__(self, path):
        self.path = path
        self.line = 0
        self.columns = array("i"), array("i"), array("i"), array("i")
        self.sources, self.words = {}, {}

    def refuse(self, what, line=None):
        raise ValueError(f"{self.path}, line {self.line if line is None else line}: {what}")

    def read_priors(self, file):
        """Read the first three lines."""
        self._read_values(file, f"#{_FIELDS}")
        self.alpha = self._read_values(file, "#alpha :")
        if not len(self.alpha):
            self.refuse("alpha has no values; it needs one for each topic.")
        beta = self._read_values(file, "#beta :")
        if len(beta) != 1:
            self.refuse(f"beta has {len(beta)} values; it needs one.")
        self.beta = float(beta[0])

    def _read_values(self, file, start):
        """The positive numbers of the next line, which begins with a text."""
        self.line += 1
        text = file.readline()
        if not text.startswith(start.encode()):
            self.refuse(
                f"{start!r} is missing; the line begins with {text[:40]!r}. Give the file that MALLET writes with "
                f"train-topics --output-state."
            )
        try:
            values = np.array([float(value) for value in text[len(start) :].split()])
        except ValueError:
            self.refuse(f"the values after {start!r} are not all numbers.")
        if not (np.isfinite(values) & (values > 0)).all():
            self.refuse(f"the values after {start!r} must be positive and finite.")
        return values

    def read_tokens(self, file):
        """Read all other lines, one for each token."""
        documents, positions, types, topics = self.columns
        n_topics = len(self.alpha)
        # Document and source of the line before, each with the space after it.
        before = b""
        for line in file:
            self.line += 1
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            parts = text.split(b" ")
            # Where the position is.
            at = 2 if len(parts) == 6 else self._find_position(text, parts, before)
            source, word = b" ".join(parts[1:at]), b" ".join(parts[at + 2 : -1])
            document = self._number(parts[0], "document")
            position = self._number(parts[at], "position")
            kind = self._number(parts[at + 1], "type index")
            topic = self._number(parts[-1], "topic")
            if topic >= n_topics:
                self.refuse(
                    f"topic {topic} is out of range: alpha has {n_topics} values, so topics lie between 0 and "
                    f"{n_topics - 1}."
                )
            if self.sources.get(document) != source:
                self._add(self.sources, document, source, "document", "source")
            if self.words.get(kind) != word:
                self._add(self.words, kind, word, "type index", "word")
            documents.append(document)
            positions.append(position)
            types.append(kind)
            topics.append(topic)
            before = parts[0] + b" " + source + b" "
        if not len(documents):
            self.refuse("the file ends here and has no tokens.")
        last = max(documents)
        if last >= max(10**6, 100 * len(documents)):
            self.refuse(
                f"document {last} is too large a number for {len(documents)} tokens; documents are numbered from 0.",
                line=4 + documents.index(last),
            )

    def _find_position(self, text, parts, before):
        """Which part of a line is the position, where source or word contain spaces."""
        if len(parts) < 6:
            self.refuse(
                f"{len(parts)} fields instead of six ({_FIELDS}): {_shorten(text)}. If sources contain line breaks, "
                f"import the documents again without --save-text-in-source; otherwise the file is damaged."
            )
        found = [i for i in range(2, len(parts) - 3) if parts[i].isdigit() and parts[i + 1].isdigit()]
        if len(found) > 1:
            # The text before part i has i spaces.
            as_before = [before.count(b" ")] if text.startswith(before) else []
            found = list(set(as_before) & set(found)) or [i for i in found if parts[i] == b"0"] or found
        if len(found) != 1:
            why = f"can be read in {len(found)} ways" if found else "has no two numbers in the middle"
            self.refuse(
                f"{len(parts)} fields instead of six ({_FIELDS}), and the line {why}: {_shorten(text)}. Remove the "
                f"spaces from the source or from the word."
            )
        return found[0]

    def _number(self, text, what):
        # int() also takes signs, underscores and spaces, and is slow with many digits.
        if not text.isdigit() or len(text) > 10 or (value := int(text)) >= LARGEST_COUNT:
            self.refuse(f"the {what} is {_shorten(text)}; it must be a whole number from 0 to {LARGEST_COUNT - 1}.")
        return value

    def _add(self, known, number, text, thing, what):
        """Keep the source of a document, or the word of a type; refuse a second one."""
        try:
            text.decode()
        except UnicodeDecodeError:
            self.refuse(
                f"the {what} {_shorten(text)} is not UTF-8. Convert the file, or run MALLET with the Java option "
                f"-Dfile.encoding=UTF-8."
            )
        if known.setdefault(number, text) != text:
            self.refuse(
                f"{thing} {number} has the {what} {_shorten(text)} here, and {_shorten(known[number])} before. Give "
                f"the state of one model, as MALLET wrote it."
            )


def _shorten(text):
    return reprlib.repr(text.decode(errors="replace"))
