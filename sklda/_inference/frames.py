"""Files of frames: a pickle with two numbers, its length and its checksum, so that a damaged file is known as such.

The corpus of a fit is not pickled; nor are corpora equal to it.
"""

import os
import pickle
import struct
import zlib
from contextlib import suppress

# Of a frame: a mark, the number of the call, the number of the state, the bytes of the pickle, and their CRC-32.
_HEAD, _MARK = struct.Struct("<8sQQQI"), b"sklda\0\xffj"
# Bytes whose checksum is computed together.
_BLOCK = 2**20


class Damaged(Exception):
    """A file does not have a whole frame."""


class _Pickler(pickle.Pickler):
    same_corpus = None, ""

    def persistent_id(self, value):
        kind, fingerprint = self.same_corpus
        return "corpus" if type(value) is kind and value.fingerprint == fingerprint else None


class _Unpickler(pickle.Unpickler):
    corpus = None

    def persistent_load(self, name):
        return self.corpus


class _Body:
    """Writes the bytes of a pickle, and counts them."""

    def __init__(self, file):
        self.file, self.length, self.checksum = file, 0, 0

    def write(self, data):
        left = pickle.PickleBuffer(data).raw()
        self.length, self.checksum = self.length + len(left), zlib.crc32(left, self.checksum)
        # The system may write less than it is given.
        while len(left):
            left = left[self.file.write(left) :]


def dump(file, numbers, value, same_corpus):
    """Append a frame to an unbuffered file. The bytes go to the file directly, so arrays are not copied."""
    begin, body = file.tell(), _Body(file)
    file.write(bytes(_HEAD.size))
    pickler = _Pickler(body, protocol=5)
    pickler.same_corpus = same_corpus
    pickler.dump(value)
    file.seek(begin)
    file.write(_HEAD.pack(_MARK, *numbers, body.length, body.checksum))


def check(file):
    """Read a frame; return its numbers, or raise `Damaged`. Afterwards the file is at the end of the frame."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise Damaged
    mark, call, number, left, expected = _HEAD.unpack(head)
    checksum = 0
    while mark == _MARK and left and (block := file.read(min(left, _BLOCK))):
        left, checksum = left - len(block), zlib.crc32(block, checksum)
    if mark != _MARK or left or checksum != expected:
        raise Damaged
    return call, number


def load(path, corpus, place=0):
    """The value of the frame at a place of a file. It must be whole."""
    with open(path, "rb") as file:
        file.seek(place + _HEAD.size)
        unpickler = _Unpickler(file)
        unpickler.corpus = corpus
        return unpickler.load()


def write(path, numbers, value, same_corpus, first_line=b"", place=os.replace):
    """Write a file with one frame, as a whole or not at all: beside its place first, then there with `place`."""
    # With the process in its name, because a process of a fit that was killed may still write its states.
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        # Unbuffered, because a buffer would be written again when the file is closed after an error.
        with open(beside, "wb", buffering=0) as file:
            file.write(first_line)
            dump(file, numbers, value, same_corpus)
            os.fsync(file.fileno())
        place(beside, path)
    finally:
        with suppress(OSError):
            beside.unlink()
    _sync_folder(path.parent)


def place_new(beside, path):
    """Raise a FileExistsError if there is such a file."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links.
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(beside, path)


def _sync_folder(folder):
    # Not possible on Windows.
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
