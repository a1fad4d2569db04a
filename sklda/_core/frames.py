"""Files of frames: a pickle with two numbers, its length and its checksum, so that a damaged file is known as such.

The checksum also covers the numbers and the key of the fit, so that a frame of another fit is known as such, too. The
corpus of a fit is not pickled; nor are corpora equal to it.
"""

import os
import pickle
import struct
import zlib
from contextlib import suppress

# Of a frame: a mark, the number of the call, the number of the state, the bytes of the pickle, and the CRC-32.
_HEAD, MARK = struct.Struct("<8sQQQI"), b"sklda\0\xffj"
# Bytes whose checksum is computed together.
_BLOCK = 2**20


class Damaged(Exception):
    """A file does not have a whole frame of this fit."""


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


def dump(file, numbers, value, same_corpus, key):
    """Append a frame to an unbuffered file. The bytes go to the file directly, so arrays are not copied.

    Parameters
    ----------
    file : binary file
    numbers : (int, int)
        The number of the call, and that of the state.
    value : object
    same_corpus : (type, str)
        The class of corpora, and the fingerprint of the one that is not pickled.
    key : int
        CRC-32 of the first line of the header of the fit.
    """
    begin, body = file.tell(), _Body(file)
    file.write(bytes(_HEAD.size))
    pickler = _Pickler(body, protocol=5)
    pickler.same_corpus = same_corpus
    pickler.dump(value)
    file.seek(begin)
    head = MARK, *numbers, body.length
    file.write(_HEAD.pack(*head, _checksum(head, body.checksum, key)))


def _checksum(head, of_body, key):
    return zlib.crc32(_HEAD.pack(*head, key), of_body)


def check(file, key):
    """Read a frame; return its numbers, or raise `Damaged`. Afterwards the file is at the end of the frame."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise Damaged
    mark, call, number, length, expected = _HEAD.unpack(head)
    left, checksum = length, 0
    while mark == MARK and left and (block := file.read(min(left, _BLOCK))):
        left, checksum = left - len(block), zlib.crc32(block, checksum)
    if mark != MARK or left or _checksum((mark, call, number, length), checksum, key) != expected:
        raise Damaged
    return call, number


def load(path, corpus, place=0):
    """The value of the frame at a place of a file. It must be whole."""
    with open(path, "rb") as file:
        file.seek(place + _HEAD.size)
        unpickler = _Unpickler(file)
        unpickler.corpus = corpus
        return unpickler.load()


def write(path, numbers, value, same_corpus, key, first_line=b"", place=os.replace):
    """Write a file with one frame, as a whole or not at all: beside its place first, then there with `place`."""
    # With the process in its name, because a process of a fit that was killed may still write its states.
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        # Unbuffered, because a buffer would be written again when the file is closed after an error.
        with open(beside, "wb", buffering=0) as file:
            file.write(first_line)
            dump(file, numbers, value, same_corpus, key)
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
