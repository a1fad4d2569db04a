"""The journal of a fit: a folder with the results of its long calls and the states of its chains.

A fit is a function of its estimator, data and seed, and nearly all its work is in calls of `in_parallel` and of
`run_chains`. The journal has the results of these calls by their names. To continue, the fit runs again from its
beginning. A call whose result is in the journal returns it, a chain in the middle of its sweeps continues from its last
state, and everything else is computed again.

`checkpoint_folder` has the files.
"""

import os
import time
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from sklda._core.checkpoint_folder import Lock, chain_files, remove, take_place
from sklda._core.frames import Damaged, check, dump, load, write
from sklda._core.warn import warn

# Largest share of the time that saving takes: the next save waits until the last one was no more than this. The saves
# at the end of a fit come on top; benchmarks/bench_checkpoints.py has both.
SHARE = 0.01

_ACTIVE = ContextVar("journal", default=None)


def call(name):
    """A call whose result is kept in the journal of the fit that runs in this thread, if there is one.

    It is a context, in which other calls are not kept. Its attribute `found` says whether the journal has the
    `result`. ``keep(result)`` records and returns a result. ``saver(index)`` is the `ChainSaver` of a chain, or None.

    Parameters
    ----------
    name : str
        The result is found by it, and by how many calls of this name were before. It must be the same when the fit
        runs again.
    """
    journal = _ACTIVE.get()
    return _NO_CALL if journal is None or journal.ended_early else _Call(journal, name)


class _NoCall:
    """A call without a journal."""

    found = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def keep(self, result):
        return result

    def saver(self, index):
        return None


_NO_CALL = _NoCall()


class _Call:
    """See `call`."""

    def __init__(self, journal, name, always=False):
        self.journal, self.name, self.always = journal, name, always
        self.number, self.found, self.result = journal.find(name)

    def __enter__(self):
        self._token = _ACTIVE.set(None)
        return self

    def __exit__(self, *error):
        _ACTIVE.reset(self._token)

    def keep(self, result):
        if not (self.journal.ended_early or _is_elsewhere(result)):
            self.journal.record(self.number, self.name, result, self.always)
        return result

    def saver(self, index):
        own = self.journal
        return ChainSaver(own.folder, self.number, index, own.every, own.same_corpus, own.key)


def seed(draw):
    """A seed that cannot be drawn again: ``draw()``, or the one in the journal."""
    journal = _ACTIVE.get()
    return draw() if journal is None else journal.seed(draw)


@contextmanager
def active(journal):
    """Calls in this thread use the journal; with None, no journal."""
    token = _ACTIVE.set(journal)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def end_early():
    """From here on, nothing is recorded: the fit takes another way than the planned one, after Ctrl-C."""
    journal = _ACTIVE.get()
    if journal is not None:
        journal.ended_early = True


class Journal:
    """The journal of one fit. Its methods are called in the thread of the fit.

    Parameters
    ----------
    folder : pathlib.Path
        With a header.
    corpus : Corpus
        It is not saved; nor are corpora equal to it.
    every : float
        Seconds between two saves.
    new : str, default=None
        For a new fit, the name of its header.

    Attributes
    ----------
    ended_early : bool
        Whether nothing is recorded any more.
    """

    def __init__(self, folder, corpus, every, new=None):
        self.folder, self.corpus, self.every = folder, corpus, every
        self.same_corpus = type(corpus), corpus.fingerprint
        self.n_calls, self.ended_early = Counter(), False
        self._lock = Lock(folder / (new or "header"), folder)
        self.key = zlib.crc32(self._lock.first_line)
        self._file = folder / "results"
        try:
            self._open_results(new)
        except BaseException:
            self._lock.close()
            raise
        self._has_results = bool(self._places)
        self._records, self._syncs = Pace(0), Pace(every)

    def _open_results(self, new):
        if new:
            # Those that are there are of the fit before.
            for file in (self._file, *chain_files(self.folder)):
                file.unlink(missing_ok=True)
        self._file.touch()
        # Unbuffered, because a buffer would be written again when the file is closed after an error.
        self._results = open(self._file, "r+b", buffering=0)
        self._places = _places(self._results, self.key)

    def find(self, name):
        """The number of the next call of a name, whether its result is known, and the result."""
        self.n_calls[name] += 1
        number = zlib.crc32(f"{name} {self.n_calls[name]}".encode())
        if number not in self._places:
            return number, False, None
        saved, result = load(self._file, self.corpus, self._places[number])
        if saved != name:
            raise ValueError(f"the checkpoint {self.folder} is of another fit: it has a result of {saved}, not {name}.")
        return number, True, result

    @property
    def empty(self):
        """Whether nothing would be lost with the folder: it has neither results, except seeds, nor states."""
        return not self._has_results and not chain_files(self.folder)

    def seed(self, draw):
        """See the function `seed`."""
        had_results = self._has_results
        with _Call(self, "seed", always=True) as own:
            drawn = own.result if own.found else own.keep(draw())
        self._has_results = had_results
        return drawn

    def finish(self, fitted):
        """Replace the results by those of the whole fit."""
        if self.ended_early:
            return

        def place(beside, path):
            take_place(self.folder)
            os.replace(beside, path)

        try:
            write(self.folder / "fitted", (0, 0), fitted, self.same_corpus, self.key, place=place)
        except Exception as error:
            # Users' objects among the attributes can raise any error.
            _warn(self.folder, error)
            return
        self._results.close()
        for file in (self._file, *chain_files(self.folder)):
            file.unlink(missing_ok=True)

    def withdraw(self):
        """Remove a new fit that has nothing to continue. What was in the folder before it stays."""
        if (self.folder / "header.next").exists():
            for name in ("header.next", "results"):
                (self.folder / name).unlink(missing_ok=True)
        else:
            remove(self.folder)

    def close(self):
        """Close the files. Afterwards another process may use the folder."""
        self._results.close()
        self._lock.close()

    def record(self, number, name, result, always):
        """Append the result of a call, unless that takes too long; with `always`, however long it takes."""
        files = chain_files(self.folder)
        # A call with states of chains took long.
        if not (always or files or self._records.due()):
            return
        end = os.fstat(self._results.fileno()).st_size
        try:
            with self._records:
                self._results.seek(end)
                dump(self._results, (number, 0), (name, result), self.same_corpus, self.key)
            if always or files or self._syncs.due():
                with self._syncs:
                    os.fsync(self._results.fileno())
        except OSError as error:
            self._cut(end)
            _warn(self.folder, error)
        except BaseException:
            self._cut(end)
            raise
        else:
            self._has_results = True
            if name != "seed":
                take_place(self.folder)
            for file in files:
                file.unlink(missing_ok=True)

    def _cut(self, end):
        with suppress(OSError):
            self._results.truncate(end)


class ChainSaver:
    """Saves a chain in the middle of a call of `run_chains`, in the process in which the chain runs.

    Parameters
    ----------
    folder : pathlib.Path
    call : int
        Number of the call.
    index : int
        Number of the chain.
    every : float
        Seconds between two saves.
    same_corpus : (type, str)
        The class of corpora, and the fingerprint of the one that is not saved.
    key : int
        See `frames.dump`.
    """

    def __init__(self, folder, call, index, every, same_corpus, key):
        self.folder, self.call, self.index, self.every = folder, call, index, every
        self.same_corpus, self.key, self.n_saved = same_corpus, key, 0

    def load(self, corpus):
        """The last state that was saved in this call, or None. The chain begins or continues when this is called."""
        # Not before, because another process may have another clock.
        self._pace = Pace(self.every)
        states, damaged = [], []
        for file in self._files():
            try:
                with open(file, "rb") as opened:
                    call, number = check(opened, self.key)
                states += [(number, file)] if call == self.call else []
            except FileNotFoundError:
                pass
            except (OSError, Damaged):
                damaged.append(file.name)
        state = None
        while states and state is None:
            try:
                state = self._loaded(max(states)[1], corpus)
            except Damaged as error:
                damaged.append(str(error))
                states.remove(max(states))
        number, file = max(states, default=(0, None))
        if damaged:
            instead = "the chain begins again" if file is None else f"the chain continues from {file.name}"
            names = " and ".join(damaged)
            warn(f"{names} in the checkpoint {self.folder} cannot be read or is of another fit: {instead}.")
        if file is None:
            return None
        self.n_saved = number
        return state

    def _loaded(self, file, corpus):
        state = load(file, corpus)
        if hasattr(state.chain, "load_parts"):
            state.chain.load_parts(self.folder)
        return state

    def save(self, chain, state, *, now=False):
        """Save `state`, if it is time for it or `now`. `chain` is the chain in it."""
        if not (now or self._pace.due()):
            return
        file = self._files()[(self.n_saved + 1) % 2]
        try:
            with self._pace:
                # A chain with parts elsewhere saves them itself.
                if hasattr(chain, "save_parts"):
                    chain.save_parts(self.folder, file.name)
                write(file, (self.call, self.n_saved + 1), state, self.same_corpus, self.key)
                take_place(self.folder)
        except OSError as error:
            _warn(self.folder, error)
        else:
            self.n_saved += 1

    def _files(self):
        return [self.folder / f"chain-{self.index}.{generation}" for generation in (0, 1)]


class Pace:
    """When to save: `every` so many seconds, but with the last save as at most `SHARE` of the time since it."""

    def __init__(self, every):
        self.every, self._next = every, time.monotonic() + every

    def due(self):
        return time.monotonic() >= self._next

    def __enter__(self):
        self._begin = time.monotonic()

    def __exit__(self, *error):
        end = time.monotonic()
        self._next = end + max(self.every, (end - self._begin) / SHARE)


def _is_elsewhere(result):
    """Whether a result has chains whose state is in other processes: their files have it."""
    return isinstance(result, list) and any(hasattr(each, "save_parts") for each in result)


def _places(file, key):
    """Where the frame of each call begins. The rest after the last whole frame is cut off, with a warning."""
    places, end, size = {}, 0, os.fstat(file.fileno()).st_size
    with suppress(Damaged):
        while end < size:
            call, _ = check(file, key)
            places[call], end = end, file.tell()
    if end < size:
        warn(
            f"the last {size - end} bytes of {file.name} are damaged or of another fit: they are cut off, and computed "
            "again."
        )
        file.truncate(end)
    return places


def _warn(folder, error):
    warn(f"the checkpoint {folder} could not be saved ({error}). The fit continues, and the last checkpoint stays.")
