"""The journal of a fit: a folder with the results of its long calls and the states of its chains.

A fit is a function of its estimator, data and seed, and nearly all its work is in calls of `in_parallel` and of
`run_chains`. The journal numbers these calls and has their results. To continue, the fit runs again from its beginning.
A call whose result is in the journal returns it, a chain in the middle of its sweeps continues from its last state, and
everything else is computed again.

The folder has these files of frames (see `frames`):

- ``header``: a line of JSON, then a frame of what the fit needs to begin again
- ``results``: the results of calls, one frame after the other
- ``chain-<i>.0``, ``chain-<i>.1``: the last two states of chain i in the present call of `run_chains`
- ``fitted``: in place of the results, when the fit has ended
"""

import json
import os
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from sklda._inference.frames import Damaged, check, dump, load, place_new, write
from sklda._inference.warn import warn

try:
    import fcntl
except ImportError:
    # Windows. Two processes that resume the same fit are not kept apart there.
    fcntl = None  # type: ignore[assignment]

# Largest share of the time that saving takes: the next save waits until the last one was no more than this. The saves
# at the end of a fit come on top; benchmarks/bench_checkpoints.py has both.
SHARE = 0.01
# The form of the files. Raise it if a fit makes other calls, or if saved objects change.
FORMAT = 1

_ACTIVE = ContextVar("journal", default=None)


def recorded(name, work, found=None):
    """``work(journal)``, or its result from the journal of the fit that runs in this thread.

    Parameters
    ----------
    name : str
        It must be the same when the fit runs again.
    work : callable
        Called with the `Journal`; with None without a journal, and inside other calls.
    found : callable, default=None
        Called with a result that comes from the journal.
    """
    journal = _ACTIVE.get()
    return work(None) if journal is None else journal.result(name, work, found)


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


def create(folder, facts, value, same_corpus):
    """Write the header of a journal. A FileExistsError says that the folder has one.

    Parameters
    ----------
    folder : pathlib.Path
    facts : dict
        Facts that are read before the value is unpickled. The number of the form is added.
    value : object
        What the fit needs to begin again.
    same_corpus : (type, str)
        See `ChainSaver`.
    """
    line = json.dumps({"format": FORMAT, **facts}).encode() + b"\n"
    write(folder / "header", (0, 0), value, same_corpus, line, place_new)


def read_facts(folder):
    """The facts of a header, with the number of its form. A ValueError says that there is none."""
    with suppress(OSError, ValueError, Damaged), open(folder / "header", "rb") as file:
        facts = json.loads(file.readline())
        if facts["format"] != FORMAT:
            return facts
        check(file)
        return facts
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
    with open(path, "rb") as file:
        try:
            check(file)
        except Damaged:
            raise ValueError(f"{path} is damaged: delete the folder, and fit again.") from None
    return load(path, corpus)


def remove(folder):
    """Remove the files of a journal, and the folder if it has no others."""
    for pattern in ("header*", "results", "fitted*", "chain-*"):
        for file in folder.glob(pattern):
            file.unlink()
    with suppress(OSError):
        folder.rmdir()


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

    Attributes
    ----------
    ended_early : bool
        Whether nothing is recorded any more.
    """

    def __init__(self, folder, corpus, every):
        self.folder, self.corpus, self.every = folder, corpus, every
        self.same_corpus = type(corpus), corpus.fingerprint
        self.n_calls, self.ended_early = 0, False
        # Not `results`: the lock would end when that is closed after it was read.
        self._header = open(folder / "header", "r+b")
        _lock(self._header, folder)
        self._file = folder / "results"
        self._file.touch()
        # Unbuffered, because a buffer would be written again when the file is closed after an error.
        self._results = open(self._file, "r+b", buffering=0)
        self._places = _places(self._results)
        self._has_results = bool(self._places)
        self._records, self._syncs = Pace(0), Pace(every)

    def result(self, name, work, found=None, *, always=False):
        """See `recorded`. With `always`, the result is saved however long that takes."""
        if self.ended_early:
            return work(None)
        call, self.n_calls = self.n_calls, self.n_calls + 1
        if call in self._places:
            saved, result = load(self._file, self.corpus, self._places[call])
            if saved != name:
                raise ValueError(
                    f"the checkpoint {self.folder} is of another fit: its call {call} is {saved}, and not {name}."
                )
            if found is not None:
                found(result)
            return result
        with active(None):
            result = work(self)
        if not (self.ended_early or _is_elsewhere(result)):
            self._record(call, name, result, always)
        return result

    @property
    def empty(self):
        """Whether nothing would be lost with the folder: it has neither results, except seeds, nor states."""
        return not self._has_results and not self._chain_files()

    def seed(self, draw):
        """See the function `seed`."""
        had_results = self._has_results
        drawn = self.result("seed", lambda _: draw(), always=True)
        self._has_results = had_results
        return drawn

    def saver(self, index):
        """The `ChainSaver` of chain `index` in the present call."""
        return ChainSaver(self.folder, self.n_calls - 1, index, self.every, self.same_corpus)

    def finish(self, fitted):
        """Replace the results by those of the whole fit."""
        if self.ended_early:
            return
        try:
            write(self.folder / "fitted", (0, 0), fitted, self.same_corpus)
        except Exception as error:
            # Users' objects among the attributes can raise any error.
            _warn(self.folder, error)
            return
        self._results.close()
        for file in (self._file, *self._chain_files()):
            file.unlink(missing_ok=True)

    def close(self):
        """Close the files. Afterwards another process may use the folder."""
        self._results.close()
        self._header.close()

    def _record(self, call, name, result, always):
        files = self._chain_files()
        # A call with states of chains took long.
        if not (always or files or self._records.due()):
            return
        end = os.fstat(self._results.fileno()).st_size
        try:
            with self._records:
                self._results.seek(end)
                dump(self._results, (call, 0), (name, result), self.same_corpus)
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
            for file in files:
                file.unlink(missing_ok=True)

    def _cut(self, end):
        with suppress(OSError):
            self._results.truncate(end)

    def _chain_files(self):
        return [*self.folder.glob("chain-*")]


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
    """

    def __init__(self, folder, call, index, every, same_corpus):
        self.folder, self.call, self.index, self.every, self.same_corpus = folder, call, index, every, same_corpus
        self.n_saved = 0

    def load(self, corpus):
        """The last state that was saved in this call, or None. The chain begins or continues when this is called."""
        # Not before, because another process may have another clock.
        self._pace = Pace(self.every)
        states, damaged = [], []
        for file in self._files():
            try:
                with open(file, "rb") as opened:
                    call, number = check(opened)
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
            warn(f"{' and '.join(damaged)} in the checkpoint {self.folder} cannot be read: {instead}.")
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
                write(file, (self.call, self.n_saved + 1), state, self.same_corpus)
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


def _lock(file, folder):
    """Lock a file until it is closed or the process ends, in whatever way."""
    if fcntl is None:
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        file.close()
        raise ValueError(
            f"{folder} is in use: another process fits or resumes there. Wait for it, or end it."
        ) from None
    except OSError:
        # A file system without locks.
        pass


def _is_elsewhere(result):
    """Whether a result has chains whose state is in other processes: their files have it."""
    return isinstance(result, list) and any(hasattr(each, "save_parts") for each in result)


def _places(file):
    """Where the frame of each call begins. The rest after the last whole frame is cut off, with a warning."""
    places, end, size = {}, 0, os.fstat(file.fileno()).st_size
    with suppress(Damaged):
        while end < size:
            call, _ = check(file)
            places[call], end = end, file.tell()
    if end < size:
        warn(f"the last {size - end} bytes of {file.name} are damaged: they are cut off, and computed again.")
        file.truncate(end)
    return places


def _warn(folder, error):
    warn(f"the checkpoint {folder} could not be saved ({error}). The fit continues, and the last checkpoint stays.")
