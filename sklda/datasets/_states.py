"""Corpora and topic assignments from the files of other samplers."""

import gzip
import os
import reprlib
import zlib
from os import PathLike

import numpy as np
from sklearn.utils import Bunch

from sklda._core.counts import LARGEST_COUNT
from sklda.datasets._tokens import count_cells

_FIELDS = ("document", "source", "position", "type index", "word", "topic")
_DOC, _SOURCE, _POSITION, _TYPE, _WORD, _TOPIC = range(len(_FIELDS))
_NUMBERS = (_DOC, _POSITION, _TYPE, _TOPIC)
_SPACE, _NEWLINE = 32, 10
# Bytes that are parsed at once.
_BLOCK = 1 << 22


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
            In the order that `sklda.point_estimates` takes: by document, then by word, then by position.
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
    sklda.point_estimates : Topics and topic proportions from topic assignments.

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
    path = os.fspath(path)
    with open(path, "rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
        state = _MalletState(path)
        try:
            alpha, beta = state.read_header(file)
            tokens = state.read_tokens(file, len(alpha))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path}, after line {state.line}: the compressed file is incomplete or damaged ({error}). Wait until "
                f"MALLET has written it, or copy it again."
            ) from error
    documents, positions, types, topics = tokens
    if (np.diff(documents) < 0).any() or (np.diff(positions)[np.diff(documents) == 0] < 0).any():
        documents, _, types, topics = tokens[:, np.lexsort((positions, documents))]
    type_indices, words = np.unique(types, return_inverse=True)
    n_documents = int(documents[-1]) + 1
    data, order = count_cells(documents, words, (n_documents, len(type_indices)))
    sources = np.full(n_documents, "", dtype=object)
    for document, text in state.texts[_SOURCE].items():
        sources[document] = text
    return Bunch(
        data=data,
        topic_assignments=topics[order],
        feature_names=np.array([state.texts[_WORD][v] for v in type_indices.tolist()], dtype=object),
        type_indices=type_indices.astype(np.int64),
        document_names=sources,
        doc_topic_prior=alpha,
        topic_word_prior=beta,
        n_components=len(alpha),
    )


class _MalletState:
    """The contents of a state file, while it is read.

    Attributes
    ----------
    line : int
        Number of lines that were read.
    prefix : bytes
        Document and source of the last of them, each with the space after it.
    texts : dict
        The source of every document and the word of every type index: two dicts, by field.
    """

    def __init__(self, path):
        self.path, self.line, self.prefix = path, 0, b""
        self.texts = {_SOURCE: {}, _WORD: {}}

    def refuse(self, line, what):
        raise ValueError(f"{self.path}, line {line}: {what}")

    def read_header(self, file):
        """alpha and beta, from the first three lines."""
        priors = []
        for start in (b"#doc source pos typeindex type topic", b"#alpha :", b"#beta :"):
            self.line += 1
            text = file.readline()
            if not text.startswith(start):
                self.refuse(
                    self.line,
                    f"{start.decode()!r} is missing; the line begins with {text[:40]!r}. Give the file that MALLET "
                    f"writes with train-topics --output-state.",
                )
            try:
                priors.append(np.array([float(value) for value in text[len(start) :].split()]))
            except ValueError:
                self.refuse(self.line, f"the values after {start.decode()!r} are not all numbers.")
            if not (np.isfinite(priors[-1]) & (priors[-1] > 0)).all():
                self.refuse(self.line, f"the values after {start.decode()!r} must be positive and finite.")
        _, alpha, beta = priors
        if not len(alpha):
            self.refuse(2, "alpha has no values; it needs one for each topic.")
        if len(beta) != 1:
            self.refuse(3, f"beta has {len(beta)} values; it needs one.")
        return alpha, float(beta[0])

    def read_tokens(self, file, n_topics):
        """Document, position, type index and topic of every token, int32 (4, n_tokens)."""
        blocks = [np.zeros((len(_NUMBERS), 0), np.int32)]
        while block := file.read(_BLOCK):
            block = (block + file.readline()).replace(b"\r\n", b"\n")
            blocks.append(self._parse(block if block.endswith(b"\n") else block + b"\n", n_topics))
        tokens = np.concatenate(blocks, axis=1)
        if not tokens.size:
            self.refuse(self.line, "the file ends here and has no tokens.")
        n_documents, most = int(tokens[0].max()) + 1, max(10**6, 100 * tokens.shape[1])
        if n_documents > most:
            line = 4 + int(tokens[0].argmax())
            self.refuse(
                line,
                f"document {n_documents - 1} is too large a number for {tokens.shape[1]} tokens; documents are "
                f"numbered from 0.",
            )
        return tokens

    def _parse(self, block, n_topics):
        """The numbers of some lines; their words and sources are compared with those of the lines before."""
        # Eight bytes can be read from every position.
        padded = np.frombuffer(block + bytes(8), np.uint8)
        starts, ends = self._fields(block, padded[:-8])
        numbers = np.empty((len(_NUMBERS), len(starts)), np.int32)
        for row, field in enumerate(_NUMBERS):
            numbers[row] = self._integers(block, padded, field, starts[:, field], ends[:, field])
        documents, _, types, topics = numbers
        if topics.max() >= n_topics:
            line = int(np.argmax(topics >= n_topics))
            self.refuse(
                self.line + line + 1,
                f"topic {topics[line]} is out of range: alpha has {n_topics} values, so topics lie between 0 and "
                f"{n_topics - 1}.",
            )
        for field, group in ((_SOURCE, documents), (_WORD, types)):
            self._compare_texts(block, padded, field, group, starts[:, field], ends[:, field])
        self.line += len(starts)
        self.prefix = block[starts[-1, 0] : starts[-1, _POSITION]]
        return numbers

    def _fields(self, block, text):
        """The first byte of every field of every line, and the byte after its last, each (n_lines, 6)."""
        marks = np.flatnonzero((text == _SPACE) | (text == _NEWLINE))
        last = np.flatnonzero(text[marks] == _NEWLINE)
        first = np.append(0, last[:-1] + 1)
        unusual = np.flatnonzero(last - first != len(_FIELDS) - 1)
        if len(unusual):
            keep = np.ones(len(marks), bool)
            for line in unusual.tolist():
                a, z = int(first[line]), int(last[line])
                prefix = self.prefix
                if line:
                    own = marks[first[line - 1] : a][keep[first[line - 1] : a]]
                    prefix = block[marks[first[line - 1] - 1] + 1 if line > 1 else 0 : own[_SOURCE] + 1]
                i = self._position(block[marks[a - 1] + 1 if a else 0 : marks[z]], prefix, self.line + line + 1)
                keep[a:z] = False
                keep[[a, a + i - 1, a + i, a + i + 1, z - 1]] = True
            marks = marks[keep]
        ends = marks.reshape(-1, len(_FIELDS))
        return np.append(0, marks[:-1] + 1).reshape(ends.shape), ends

    def _position(self, text, prefix, line):
        """Which part of a line between two spaces is the position, where source or word may contain spaces."""
        parts = text.split(b" ")
        if len(parts) < len(_FIELDS):
            self.refuse(
                line,
                f"{len(parts)} fields instead of six (doc source pos typeindex type topic): {_shorten(text)}. If "
                f"sources contain line breaks, import the documents again without --save-text-in-source; otherwise "
                f"the file is damaged.",
            )
        found = [i for i in range(2, len(parts) - 3) if parts[i].isdigit() and parts[i + 1].isdigit()]
        if len(found) > 1:
            # The text before part i has i spaces.
            as_before = [prefix.count(b" ")] if text.startswith(prefix) else []
            found = list(set(as_before) & set(found)) or [i for i in found if parts[i] == b"0"] or found
        if len(found) != 1:
            why = f"can be read in {len(found)} ways" if found else "has no two numbers in the middle"
            self.refuse(
                line,
                f"{len(parts)} fields instead of six (doc source pos typeindex type topic), and the line {why}: "
                f"{_shorten(text)}. Remove the spaces from the source or from the word.",
            )
        return found[0]

    def _integers(self, block, text, field, starts, ends):
        """The numbers of a field, int64."""
        lengths = ends - starts
        # Ten digits are enough for 32 bits.
        wrong = (lengths < 1) | (lengths > 10)
        values = np.zeros(len(starts), np.int64)
        for j in range(min(int(lengths.max()), 10)):
            on = j < lengths
            digits = text[starts + np.where(on, j, 0)] - np.uint8(ord("0"))
            wrong |= on & (digits > 9)
            values = np.where(on, 10 * values + digits, values)
        wrong |= values >= LARGEST_COUNT
        if wrong.any():
            line = int(wrong.argmax())
            self.refuse(
                self.line + line + 1,
                f"the {_FIELDS[field]} is {_shorten(block[starts[line] : ends[line]])}; it must be a whole number "
                f"from 0 to {LARGEST_COUNT - 1}.",
            )
        return values

    def _compare_texts(self, block, padded, field, group, starts, ends):
        """Check that lines of the same document have the same source, or those of the same type the same word."""
        values, first, inverse = np.unique(group, return_index=True, return_inverse=True)
        texts, lengths = self.texts[field], ends - starts
        for value, line in zip(values.tolist(), first.tolist(), strict=True):
            own = block[starts[line] : ends[line]]
            try:
                own = own.decode()
            except UnicodeDecodeError:
                self.refuse(
                    self.line + line + 1,
                    f"the {_FIELDS[field]} {_shorten(own)} is not UTF-8. Convert the file, or run MALLET with the Java "
                    f"option -Dfile.encoding=UTF-8.",
                )
            if texts.setdefault(value, own) != own:
                self._refuse_text(field, value, own, line)
        other = first[inverse]
        differ = lengths != lengths[other]
        chunks = np.ndarray(len(block), "<u8", padded, strides=(1,))
        on = np.arange(len(group))
        for j in range(0, int(lengths.max()), 8):
            on = on[~differ[on] & (j < lengths[on])]
            bits = chunks[starts[on] + j] ^ chunks[starts[other[on]] + j]
            beyond = 8 * np.maximum(8 - (lengths[on] - j), 0)
            differ[on[(bits << beyond.astype(np.uint64)) != 0]] = True
        if differ.any():
            line = int(differ.argmax())
            own = block[starts[line] : ends[line]].decode(errors="replace")
            self._refuse_text(field, int(group[line]), own, line)

    def _refuse_text(self, field, value, own, line):
        thing = _FIELDS[_DOC] if field == _SOURCE else _FIELDS[_TYPE]
        self.refuse(
            self.line + line + 1,
            f"{thing} {value} has the {_FIELDS[field]} {_shorten(own)} here, and {_shorten(self.texts[field][value])} "
            f"before. Give the state of one model, as MALLET wrote it.",
        )


def _shorten(text):
    return reprlib.repr(text if isinstance(text, str) else text.decode(errors="replace"))
