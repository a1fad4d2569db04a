"""What is saved of a fit: the results of its stages, and the states of its chains.

A fit is a function of its estimator, data and seed, and nearly all of its work is in stages: sweeps of chains, or
independent tasks. The stages are numbered in their order. A fit that is resumed runs again from its beginning; a stage
with a saved result returns it, chains that were under way continue from their last states, and the rest is computed
again. So the draws are those of a fit without the interruption.
"""

import time

from sklda._checkpoints import files
from sklda._checkpoints.files import Damaged, SameCorpus
from sklda._input.warn import warn

# Largest share of the time that saving takes: the next save waits until the last one was no more than this. The saves
# at the end of a fit come on top; benchmarks/bench_checkpoints.py has both.
SHARE = 0.01


class Saver:
    """The folder in which a fit is saved. Its methods are called in the thread of the fit.

    Parameters
    ----------
    folder : pathlib.Path
        That of the fit, with a header.
    corpus : Corpus
        It is not saved.
    every : float
        Seconds between two saves of a chain.
    lock : Lock
    is_new : bool
        Whether nothing is lost with the folder, as long as nothing has been saved.
    """

    def __init__(self, folder, corpus, every, lock, *, is_new):
        self.folder = folder
        self.corpus, self.same_corpus = corpus, SameCorpus(corpus)
        self.every = every
        self.lock = lock
        self.is_new = is_new
        self.n_stages = 0
        self._pace = Pace(0)

    def next_stage(self):
        """The next stage of the fit, a `Stage`."""
        self.n_stages += 1
        return Stage(self, self.n_stages)

    def save_result(self, path, result):
        """Save the result of a stage, unless that takes too long for a stage without states of chains."""
        try:
            states = files.states(self.folder)
            if not (states or self._pace.due()):
                return
            with self._pace:
                files.write(path, result, self.same_corpus)
        except OSError as error:
            warn_of_full_disk(self.folder, error)
            return
        self.is_new = False
        files.remove_files(states)

    def finish(self, fitted):
        """Replace the stages, and the fits before, by the fitted attributes, a dict."""
        try:
            files.write(self.folder / "fitted", fitted, self.same_corpus)
        except Exception as error:
            # Users' objects among the attributes can raise any error.
            warn_of_full_disk(self.folder, error)
            return
        self.is_new = False
        files.remove_files(
            [path for path in self.folder.iterdir() if path.name not in ("header", "estimator", "fitted")]
        )
        for path in files.fits_in(self.folder.parent):
            if path != self.folder:
                files.remove_fit(path)

    def close(self, error=None):
        """Give the folder free. A new fit that ends in an error before it has saved anything leaves nothing."""
        if isinstance(error, Exception) and self.is_new and not files.states(self.folder):
            files.remove_fit(self.folder)
            files.remove_empty(self.folder.parent)
        self.lock.close()


class Stage:
    """A stage of a fit that is saved.

    Attributes
    ----------
    found : bool
        Whether its result is saved.
    result : object
    """

    def __init__(self, saver, number):
        self.saver, self.path = saver, saver.folder / f"stage-{number}"
        self.found, self.result = False, None
        try:
            self.result = files.read(self.path, saver.corpus)
            self.found = True
        except FileNotFoundError:
            pass
        except Damaged:
            warn(f"{self.path} is damaged: this stage of the fit is made again.")

    def keep(self, result):
        """Save the result, and return it."""
        self.saver.save_result(self.path, result)
        return result

    def chain(self, index):
        """The `ChainSaver` of a chain."""
        saver = self.saver
        return ChainSaver(saver.folder, f"{self.path.name}.chain-{index}", saver.every, saver.same_corpus)


class ChainSaver:
    """Saves a chain during its sweeps, in the process in which the chain runs."""

    def __init__(self, folder, name, every, same_corpus):
        self.folder, self.name, self.every, self.same_corpus = folder, name, every, same_corpus
        self.n_saved = 0

    def load(self, corpus):
        """The last state that was saved, or None. The chain begins or continues when this is called."""
        # Not before, because another process may have another clock.
        self._pace = Pace(self.every)
        try:
            self.n_saved, state = files.read(self.folder / self.name, corpus)
            if state.chain.saves_parts:
                state.chain.load_parts(self.folder)
        except FileNotFoundError:
            return None
        except Damaged as error:
            warn(f"{error} in the checkpoint {self.folder} is damaged: the chain begins again.")
            return None
        return state

    def save(self, chain, state, *, now=False):
        """Save `state`, if it is time for it or `now`. `chain` is the chain in it."""
        if not (now or self._pace.due()):
            return
        try:
            with self._pace:
                # A chain with parts elsewhere saves them itself, beside those of the state before.
                if chain.saves_parts:
                    chain.save_parts(self.folder, f"{self.name}.{(self.n_saved + 1) % 2}")
                files.write(self.folder / self.name, (self.n_saved + 1, state), self.same_corpus)
        except OSError as error:
            warn_of_full_disk(self.folder, error)
        else:
            self.n_saved += 1


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


def warn_of_full_disk(folder, error):
    warn(f"the checkpoint {folder} could not be saved ({error}). The fit continues, and the last checkpoint stays.")
