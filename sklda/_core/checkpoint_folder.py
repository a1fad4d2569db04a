"""The folder of a checkpoint: its files, which of them are ours, and its lock.

The folder has these files of frames (see `frames`):

- ``header``: a line of JSON, then a frame of what the fit needs to begin again
- ``results``: the results of calls, one frame after the other
- ``chain-<i>.0``, ``chain-<i>.1``: the last two states of chain i in the present call of `run_chains`
- ``fitted``: in place of the results, when the fit has ended
- ``header.next``: the header of a new fit in the folder of one that has ended, until the new one saves something

A chain whose state is on other machines saves its parts beside its file. The checksums of all frames contain the first
line of the header, which is different in every fit.
"""

import json
import os
import re
import zlib
from contextlib import suppress

from sklda._core.frames import MARK, Damaged, check, load, place_new, write
from sklda._core.warn import warn

try:
    import fcntl
except ImportError:
    # Windows. Two fits that resume the same one are not kept apart there.
    fcntl = None  # type: ignore[assignment]

# The form of the files. Raise it if saved objects change.
FORMAT = 3
# How a header begins, and how long its first line can be.
_FIRST, _LONGEST = b'{"format": ', 10_000
# Names of the files, and of files that are not complete.
_CHAIN = re.compile(r"chain-\d+\.[01](-[\w.-]+\.npz)?")
_OWN = re.compile(rf"(header(\.next)?|results|fitted|{_CHAIN.pattern})")
_BESIDE = re.compile(rf"{_OWN.pattern}(\.\d+\.new|\.part)")


def create(folder, facts, value, same_corpus):
    """Write the header of a fit, or the next header if a fit has ended in the folder.

    Parameters
    ----------
    folder : pathlib.Path
    facts : dict
        Facts that are read before the value is unpickled. The number of the form and one of the fit are added.
    value : object
        What the fit needs to begin again.
    same_corpus : (type, str)
        The class of corpora, and the fingerprint of the one that is not saved.

    Returns
    -------
    str
        The name of the file.

    Raises
    ------
    FileExistsError
        If there is one already.
    """
    name = "header.next" if (folder / "fitted").exists() else "header"
    # The random number makes the key of every fit different.
    line = json.dumps({"format": FORMAT, **facts, "fit": os.urandom(8).hex()}).encode() + b"\n"
    if name == "header.next":
        # Of a process that was killed before it saved something, unless it is locked.
        with suppress(FileNotFoundError):
            Lock(folder / name, folder).close()
            (folder / name).unlink()
    write(folder / name, (0, 0), value, same_corpus, zlib.crc32(line), line, place_new)
    return name


def read_facts(folder):
    """The facts of a header, with the number of its form, and whether the header is whole.

    A ValueError says that there is none.
    """
    # A process may have been killed while it took the place of an earlier fit.
    if not (folder / "fitted").exists():
        take_place(folder)
    with suppress(OSError, ValueError, RecursionError), open(folder / "header", "rb") as file:
        line = file.readline(_LONGEST)
        facts = json.loads(line)
        if isinstance(facts, dict) and {"format", "sklda"} <= facts.keys():
            with suppress(Damaged):
                check(file, zlib.crc32(line))
                return facts, True
            return facts, False
    raise ValueError


def read_value(folder, corpus):
    """The value of a header."""
    with open(folder / "header", "rb") as file:
        return load(folder / "header", corpus, len(file.readline()))


def read_fitted(folder, corpus):
    """What `Journal.finish` has written; None if the fit has not ended."""
    path = folder / "fitted"
    if not path.exists():
        return None
    with open(path, "rb") as file, open(folder / "header", "rb") as header:
        try:
            check(file, zlib.crc32(header.readline()))
        except Damaged:
            raise ValueError(f"{path} is damaged or of another fit: delete the folder, and fit again.") from None
    if (folder / "header.next").exists():
        warn(f"a later fit in {folder} was ended before it saved something. This is the result of the fit before it.")
    return load(path, corpus)


def foreign_file(folder):
    """The first file of a folder that is not of a checkpoint, or None. Without a header, no whole file is."""
    whole = [file for file in sorted(folder.iterdir()) if not (_BESIDE.fullmatch(file.name) and file.is_file())]
    if not (folder / "header").exists():
        return whole[0] if whole else None
    return next((file for file in whole if not _is_own(file)), None)


def _is_own(file):
    if not _OWN.fullmatch(file.name) or not file.is_file():
        return False
    mark = b"PK" if file.suffix == ".npz" else _FIRST if file.name.startswith("header") else MARK
    with open(file, "rb") as opened:
        first = opened.read(len(mark))
    return first == mark or (file.name == "results" and not first)


def remove(folder):
    """Remove the files of a checkpoint, and the folder if it has no others."""
    for file in [*folder.iterdir()]:
        if _OWN.fullmatch(file.name) or _BESIDE.fullmatch(file.name):
            file.unlink()
    with suppress(OSError):
        folder.rmdir()


def chain_files(folder):
    """The states of chains, and their parts."""
    return [file for file in folder.iterdir() if _CHAIN.fullmatch(file.name)]


def take_place(folder):
    """Let the next header take the place of the header and the results of the fit that has ended, if there is one."""
    if (folder / "header.next").exists():
        (folder / "fitted").unlink(missing_ok=True)
        # Chains in other processes may do this at the same time.
        with suppress(FileNotFoundError):
            os.replace(folder / "header.next", folder / "header")


class Lock:
    """A header that is locked until it is closed or the process ends, in whatever way.

    Parameters
    ----------
    path : pathlib.Path
    folder : pathlib.Path
        For messages.

    Attributes
    ----------
    first_line : bytes

    Raises
    ------
    ValueError
        If it is locked already.
    """

    def __init__(self, path, folder):
        self._file = open(path, "r+b")
        try:
            if fcntl is not None:
                # A lock of this open file. One of `lockf` belongs to the process: it does not keep threads apart, and
                # ends when any of them has read the header and closes it.
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            self._file.close()
            raise ValueError(
                f"{folder} is in use: another process or thread fits or resumes there. Wait for it, or end it."
            ) from None
        except OSError:
            # A file system without locks.
            pass
        self.first_line = self._file.readline()
        if fcntl is None:
            # An open file cannot be renamed on Windows.
            self._file.close()

    def close(self):
        self._file.close()
