"""The files of a checkpoint: pickles with a checksum, each written beside its place and then moved there.

A folder has these files:

- ``header.json``: facts that are read before anything is unpickled
- ``estimator``: what the fit needs to begin again
- ``stage-<n>``: the result of a stage of the fit
- ``stage-<n>.chain-<i>``: the last state of a chain in the stage that is under way
- ``fitted``: the fitted attributes, in place of the stages, when the fit has ended
- ``lock``: locked while a process fits there

A chain whose state is on other machines saves its parts beside its file. The corpus of a fit is not pickled; nor are
corpora equal to it.
"""

import json
import os
import pickle
import re
import struct
import zlib
from contextlib import suppress

try:
    import fcntl
except ImportError:
    # Windows. Two fits that resume the same one are not kept apart there.
    fcntl = None  # type: ignore[assignment]

# The form of the files. Raise it if saved objects change.
FORMAT = 4
# Of a pickle: a mark, the key of the fit, its length in bytes, and its CRC-32.
_HEAD, _MARK = struct.Struct("<8sQQI"), b"sklda\0\xffk"
# Bytes whose checksum is computed together.
_BLOCK = 2**20
_STATE = r"stage-\d+\.chain-\d+(\.[01]-[\w.-]+\.npz)?"
_OWN = re.compile(rf"header\.json|estimator|fitted|lock|stage-\d+|{_STATE}")
# Files that were not moved to their place, because the process was killed.
_BESIDE = re.compile(rf"({_OWN.pattern})\.(\d+\.new|part)")


class Damaged(Exception):
    """A file is not a whole file of this fit."""


class SameCorpus:
    """The corpus of a fit, by its class and its fingerprint: it is not pickled with the rest."""

    def __init__(self, corpus):
        self.kind, self.fingerprint = type(corpus), corpus.fingerprint

    def is_same(self, value):
        return type(value) is self.kind and value.fingerprint == self.fingerprint


class _Pickler(pickle.Pickler):
    same_corpus: SameCorpus

    def persistent_id(self, value):
        return "corpus" if self.same_corpus.is_same(value) else None


class _Unpickler(pickle.Unpickler):
    corpus = None

    def persistent_load(self, name):
        return self.corpus


class _Body:
    """Writes the bytes of a pickle directly, so that arrays are not copied, and computes their checksum."""

    def __init__(self, file):
        self.file, self.length, self.checksum = file, 0, 0

    def write(self, data):
        left = pickle.PickleBuffer(data).raw()
        self.length += len(left)
        self.checksum = zlib.crc32(left, self.checksum)
        # The system may write less than it is given.
        while len(left):
            left = left[self.file.write(left) :]


def write(path, value, same_corpus, key):
    """Write a file, as a whole or not at all; `key` is the number of the fit."""

    def fill(file):
        file.write(bytes(_HEAD.size))
        body = _Body(file)
        pickler = _Pickler(body, protocol=5)
        pickler.same_corpus = same_corpus
        pickler.dump(value)
        file.seek(0)
        file.write(_HEAD.pack(_MARK, key, body.length, body.checksum))

    _write_beside(path, fill)


def read(path, corpus, key):
    """The value of a file. `Damaged` if it is not whole or of another fit, FileNotFoundError if there is none."""
    with open(path, "rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise Damaged(path.name)
        mark, own_key, length, expected = _HEAD.unpack(head)
        left, checksum = length, 0
        while left and (block := file.read(min(left, _BLOCK))):
            left -= len(block)
            checksum = zlib.crc32(block, checksum)
        if mark != _MARK or own_key != key or left or checksum != expected:
            raise Damaged(path.name)
        file.seek(_HEAD.size)
        unpickler = _Unpickler(file)
        unpickler.corpus = corpus
        return unpickler.load()


def write_header(folder, facts):
    """Write the facts of a fit, a dict that JSON can hold."""
    text = json.dumps({"format": FORMAT, **facts}).encode()
    _write_beside(folder / "header.json", lambda file: file.write(text))


def read_header(folder):
    """The facts of the fit in a folder, or None."""
    with suppress(OSError, ValueError, RecursionError):
        facts = json.loads((folder / "header.json").read_bytes())
        if isinstance(facts, dict) and {"format", "sklda", "key"} <= facts.keys():
            return facts
    return None


def _write_beside(path, fill):
    # With the process in its name, because a process of a fit that was killed may still write its states.
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        # Unbuffered, because a buffer would be written again when the file is closed after an error.
        with open(beside, "wb", buffering=0) as file:
            fill(file)
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        with suppress(OSError):
            beside.unlink()
    # The folder has the name of the file; it cannot be opened on Windows.
    with suppress(OSError):
        opened = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def foreign_file(folder):
    """The first file of a folder that is not of a checkpoint, or None."""
    has_header = read_header(folder) is not None
    for file in sorted(folder.iterdir()):
        if file.is_file() and (_BESIDE.fullmatch(file.name) or file.name == "lock"):
            continue
        # A process that is killed while its fit begins leaves files without a header.
        if not (file.is_file() and _OWN.fullmatch(file.name) and (has_header or _has_mark(file))):
            return file
    return None


def _has_mark(path):
    """Whether a file has the mark of this module."""
    with open(path, "rb") as file:
        return file.read(len(_MARK)) == _MARK


def states(folder):
    """The states of chains, and their parts."""
    return [file for file in folder.iterdir() if re.fullmatch(_STATE, file.name)]


def remove(folder, keep=()):
    """Remove the files of a checkpoint, but those of some names; and the folder, if it has no others."""
    # The header is first: a process that is killed here leaves no header of a fit whose other files are gone.
    for file in sorted(folder.iterdir(), key=lambda file: file.name != "header.json"):
        if file.name not in keep and (_OWN.fullmatch(file.name) or _BESIDE.fullmatch(file.name)):
            file.unlink()
    with suppress(OSError):
        folder.rmdir()


class Lock:
    """A folder in which one process or thread fits, until it is closed or the process ends, in whatever way.

    Raises
    ------
    ValueError
        If it is locked already.
    """

    def __init__(self, folder):
        self._file = open(folder / "lock", "ab")
        try:
            if fcntl is not None:
                # A lock of this open file. One of `lockf` belongs to the process: it does not keep threads apart.
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            self._file.close()
            raise ValueError(
                f"{folder} is in use: another process or thread fits or resumes there. Wait for it, or end it."
            ) from None
        except OSError:
            # A file system without locks.
            pass

    def close(self):
        self._file.close()
