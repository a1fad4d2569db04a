"""The files of a checkpoint: whole or not there, with a checksum at their end; and the lock of their folder.

The folder of a checkpoint has a file ``lock``, which is locked while a process fits there, and a folder ``fit-<n>`` for
each fit: the last one, and the one before it until the last one has ended. A fit has these files:

- ``header``: facts as JSON, which are read before anything is unpickled
- ``estimator``: what the fit needs to begin again
- ``stage-<n>``: the result of a stage of the fit
- ``stage-<n>.chain-<i>``: the last state of a chain in the stage that is under way
- ``fitted``: the fitted attributes, in place of the stages, when the fit has ended

A chain whose state is on other machines saves its parts beside its file. The corpus of a fit is not pickled; nor are
corpora equal to it.
"""

import json
import os
import pickle
import re
import shutil
import zlib
from contextlib import suppress

try:
    import fcntl
except ImportError:
    # Windows. Two fits that resume the same one are not kept apart there.
    fcntl = None  # type: ignore[assignment]

# Bytes of a checksum, and those whose checksum is computed together.
_CHECKSUM, _BLOCK = 4, 2**20


class Damaged(Exception):
    """A file is not whole."""


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


def dump(value, file, same_corpus):
    """Pickle a value to an open file."""
    pickler = _Pickler(file, protocol=5)
    pickler.same_corpus = same_corpus
    pickler.dump(value)


def write(path, value, same_corpus):
    """Write a value to a file, as a whole or not at all."""
    _write(path, lambda file: dump(value, file, same_corpus))


def read(path, corpus):
    """The value of a file. `Damaged` if it is not whole, FileNotFoundError if there is none."""
    with open(path, "rb") as file:
        _check(file, path)
        unpickler = _Unpickler(file)
        unpickler.corpus = corpus
        return unpickler.load()


def write_header(folder, facts):
    """Write the facts of a fit, a dict that JSON can hold."""
    text = json.dumps(facts).encode()
    _write(folder / "header", lambda file: file.write(text))


def read_header(folder):
    """The facts of the fit in a folder. `Damaged` if the file is not whole, FileNotFoundError if there is none."""
    path = folder / "header"
    with open(path, "rb") as file:
        _check(file, path)
        return json.loads(file.read()[:-_CHECKSUM])


def _write(path, fill):
    # With the process in its name, because a process of a fit that was killed may still write its states.
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with open(beside, "w+b") as file:
            fill(file)
            n_bytes = file.tell()
            file.seek(0)
            file.write(_checksum(file, n_bytes).to_bytes(_CHECKSUM, "little"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        with suppress(OSError):
            beside.unlink()
    _sync(path.parent)


def _sync(folder):
    """Write the names of the files of a folder to the disk; it cannot be opened on Windows."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _check(file, path):
    """Raise `Damaged` unless an open file ends with its checksum; it is at its beginning before and after."""
    n_bytes = os.fstat(file.fileno()).st_size - _CHECKSUM
    if n_bytes < 0 or _checksum(file, n_bytes) != int.from_bytes(file.read(_CHECKSUM), "little"):
        raise Damaged(path.name)
    file.seek(0)


def _checksum(file, n_bytes):
    """The CRC-32 of so many bytes from the present place of an open file."""
    found = 0
    while n_bytes and (block := file.read(min(n_bytes, _BLOCK))):
        n_bytes -= len(block)
        found = zlib.crc32(block, found)
    return found


def fits_in(folder):
    """The folders of the fits in the folder of a checkpoint, the first one first; none if it does not exist."""
    found = {}
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in folder.iterdir():
            if (match := re.fullmatch(r"fit-(\d+)", path.name)) and (path / "header").is_file():
                found[int(match[1])] = path
    return [found[n] for n in sorted(found)]


def foreign_file(folder):
    """The first file of a folder that is not of a checkpoint, or None."""
    own = [*fits_in(folder), folder / "lock"]
    for path in sorted(folder.iterdir()):
        if path not in own and not (path.is_dir() and re.fullmatch(r"fit-\d+\.new", path.name)):
            return path
    return None


def remove_fit(path):
    """Remove the folder of a fit. What a process leaves that is killed meanwhile does not look like a fit."""
    beside = path.with_name(f"{path.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    # On Windows a file that is open cannot be renamed.
    with suppress(OSError):
        os.rename(path, beside)
        path = beside
    shutil.rmtree(path, ignore_errors=True)


def begin_fit(folder, facts, value, same_corpus):
    """The folder of a new fit, with its header and estimator. After an error, what was in the folder is still there."""
    before = fits_in(folder)
    number = 1 + (int(before[-1].name.removeprefix("fit-")) if before else 0)
    beside, path = folder / f"fit-{number}.new", folder / f"fit-{number}"
    # A process was killed while its fit began.
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir()
        write(beside / "estimator", value, same_corpus)
        write_header(beside, facts)
        os.rename(beside, path)
        _sync(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return path


def remove_files(paths):
    """Remove files that are not needed any more. Those that cannot be removed stay: they must not end a fit."""
    for path in paths:
        with suppress(OSError):
            path.unlink()


def states(folder):
    """The states of chains of a fit, and their parts."""
    return [file for file in folder.iterdir() if ".chain-" in file.name and file.suffix not in (".new", ".part")]


def remove_empty(folder):
    """Remove the folder of a checkpoint if it has no fit and no other file."""
    if [path.name for path in folder.iterdir()] == ["lock"]:
        (folder / "lock").unlink()
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
