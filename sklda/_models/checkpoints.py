"""Checkpoints of fits: which folders they may use, and how a fit continues from one."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from sklearn.utils.validation import _check_feature_names

from sklda._core import checkpoint_folder, journal
from sklda._core.types import Counts
from sklda._core.warn import warn
from sklda._models.fitting import all_or_nothing, fit_chains
from sklda._models.persistence import without_dask
from sklda._models.progress import with_callbacks
from sklda.callbacks import Checkpoint, check_samples

# Attributes that scikit-learn gives to estimators with callbacks.
_OF_CALLBACKS = ("_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx")


class CheckpointMixin:
    """Estimators whose fits can be saved by a `Checkpoint`, and continued."""

    # Whether the fit has chains.
    _samples = True

    def __sklearn_clone__(self) -> Self:
        copied = super().__sklearn_clone__()  # type: ignore[misc]
        if "_skl_callbacks" in vars(copied):
            copied._skl_callbacks = [
                each._of_copy() if isinstance(each, Checkpoint) else each for each in copied._skl_callbacks
            ]
        return copied

    @classmethod
    def resume(cls, path: str | os.PathLike[str], X: Counts, *, callbacks: Sequence[Any] = ()) -> Self:
        """Continue a fit from its checkpoint, to the planned end.

        The parameters, y and the metadata of the fit are those of the checkpoint. The fit goes on saving there.

        Parameters
        ----------
        path : str or os.PathLike
            The folder of a `sklda.callbacks.Checkpoint`. Its files are pickles, which can run code when they are
            loaded: resume only from folders that you trust.
        X : array-like or sparse matrix of shape (n_documents, n_features)
            The X of the fit.
        callbacks : sequence of callbacks, default=()
            More callbacks, which are not saved. They hear only of what is still to do.

        Returns
        -------
        estimator
            The fitted estimator, with the same draws as without the interruption. If the fit had ended, its result.

        Raises
        ------
        ValueError
            If the folder has no checkpoint, or one of another X or of another estimator. If another version of sklda
            has begun the fit, and it has not ended.

        Warns
        -----
        UserWarning
            If a file is damaged or of another fit. Then an earlier state is used. If the fit was begun with another
            version of NumPy or SciPy. If a later fit in the folder was ended before it saved something.
        """
        folder, corpus = Path(path).absolute(), cls._read(X)  # type: ignore[attr-defined]
        facts = _facts(folder, cls, corpus)
        estimator, y, metadata = checkpoint_folder.read_value(folder, corpus)
        if not isinstance(estimator, cls):
            raise ValueError(f"{folder} is the checkpoint of another {facts['estimator']}.")
        _check_feature_names(estimator, X, reset=False)
        estimator.set_callbacks(Checkpoint(path, every=facts["every"]), *callbacks)  # type: ignore[attr-defined]
        return estimator._continue(folder, corpus, {"X": X, "y": y}, metadata, facts)

    @all_or_nothing
    @with_callbacks
    def _continue(self, folder, corpus, data, metadata, facts):
        if (fitted := checkpoint_folder.read_fitted(folder, corpus)) is None:
            _warn_of_versions(facts)
            if self.verbose:
                print(f"[{type(self).__name__}] continues the fit of {facts['begun']} in {folder}", flush=True)
            fitted = self._fit_in(folder, corpus, data, metadata, facts["every"])
        return self._take(fitted)

    def _fit_and_save(self, corpus, data, metadata):
        """``fit_chains(self, corpus, data, **metadata)``, with checkpoints if the estimator has the callback."""
        checkpoints = [each for each in vars(self).get("_skl_callbacks", ()) if isinstance(each, Checkpoint)]
        if not checkpoints:
            return fit_chains(self, corpus, data, **metadata)
        if len(checkpoints) > 1:
            raise ValueError(f"an estimator can have one Checkpoint, not {len(checkpoints)}.")
        check_samples(self)
        (checkpoint,) = checkpoints
        if checkpoint._is_of_copy:
            raise ValueError(
                f"this {type(self).__name__} is a copy of an estimator with a Checkpoint, as searches, folds and "
                "ConsensusTopics fit them, and a Checkpoint saves a single fit: take it away with set_callbacks(), or "
                "give the copy one of its own."
            )
        folder = Path(checkpoint.path).absolute()
        new = _make(folder, self, corpus, (data["y"], metadata), checkpoint.every)
        return self._fit_in(folder, corpus, data, metadata, checkpoint.every, new)

    def _fit_in(self, folder, corpus, data, metadata, every, new=None):
        """Fit with the journal in a folder."""
        kept = journal.Journal(folder, corpus, every, new)
        try:
            with journal.active(kept):
                fitted = fit_chains(self, corpus, data, **metadata)
            kept.finish(without_dask(fitted))
        except Exception:
            kept.close()
            # Errors at the beginning, such as those of parameters, leave nothing to continue.
            if new and kept.empty:
                kept.withdraw()
            raise
        finally:
            kept.close()
        return fitted


def _make(folder, estimator, corpus, given, every):
    """Begin a checkpoint in a folder, which may have one of a fit that has ended; the name of its header."""
    name = type(estimator).__name__
    folder.mkdir(parents=True, exist_ok=True)
    if (other := checkpoint_folder.foreign_file(folder)) is not None:
        raise ValueError(
            f"{folder} has files that are no checkpoint, such as {other.name}: give a new or an empty folder."
        )
    if (folder / "header").exists() and not (folder / "fitted").exists():
        raise ValueError(_unfinished(folder, name))
    bare = copy.copy(estimator)
    for attribute in _OF_CALLBACKS:
        vars(bare).pop(attribute, None)
    facts = {
        **_versions(),
        "estimator": name,
        "every": every,
        "shape": [corpus.n_documents, corpus.n_features],
        "fingerprint": corpus.fingerprint,
        "begun": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    try:
        return checkpoint_folder.create(folder, facts, (bare, *given), (type(corpus), corpus.fingerprint))
    except FileExistsError:
        raise ValueError(_unfinished(folder, name)) from None
    except OSError:
        raise
    except Exception as error:
        # If it is empty.
        with suppress(OSError):
            folder.rmdir()
        raise TypeError(
            f"the {name} or the arguments of its fit cannot be pickled, so they cannot be saved: {error}. Functions "
            "must be defined at the top level of a module."
        ) from error


def _unfinished(folder, name):
    return (
        f"{folder} has the checkpoint of a fit that has not ended. If the fit does not run any more, continue it with "
        f"{name}.resume({os.fspath(folder)!r}, X), or delete the folder to begin again."
    )


def _facts(folder, cls, corpus):
    """The facts of the checkpoint in a folder, if it can be continued with this class and corpus."""
    unread = f"{folder} has no checkpoint that can be read: give the folder of a Checkpoint, or fit again."
    try:
        facts, is_whole = checkpoint_folder.read_facts(folder)
    except ValueError:
        raise ValueError(unread) from None
    # Another release can make other calls, in another order. A fit that has ended makes none.
    changed = facts["sklda"] != version("sklda") and not (folder / "fitted").exists()
    if facts["format"] != checkpoint_folder.FORMAT or changed:
        raise ValueError(
            f"the checkpoint {folder} was made by sklda {facts['sklda']}, and sklda {version('sklda')} cannot continue "
            f"it: continue it with sklda {facts['sklda']}, or fit again."
        )
    if not is_whole:
        raise ValueError(unread)
    if facts["estimator"] != cls.__name__ and facts["estimator"] not in _names_of_subclasses(cls):
        name = facts["estimator"]
        raise ValueError(f"{folder} is the checkpoint of a {name}: continue it with {name}.resume.")
    shape = [corpus.n_documents, corpus.n_features]
    if facts["shape"] != shape or facts["fingerprint"] != corpus.fingerprint:
        raise ValueError(
            f"{folder} is the checkpoint of a fit on another X, of shape {tuple(facts['shape'])}; this X has shape "
            f"{tuple(shape)}. Give the X of the fit."
        )
    return facts


def _versions():
    return {name: version(name) for name in ("sklda", "numpy", "scipy")}


def _warn_of_versions(facts):
    """Warn if random numbers and rounding may not be those of the fit so far."""
    own = _versions()
    others = [name for name in own if facts[name] != own[name]]
    if others:
        warn(
            f"the fit was begun with {' and '.join(f'{name} {facts[name]}' for name in others)}, and continues with "
            f"{' and '.join(f'{name} {own[name]}' for name in others)}: its draws may not be those without the "
            "interruption. They are as correct."
        )


def _names_of_subclasses(cls):
    return {name for each in cls.__subclasses__() for name in (each.__name__, *_names_of_subclasses(each))}
