"""Checkpoints of fits: which folders they may use, and how a fit continues from one."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Self

from sklearn.utils.validation import _check_feature_names

from sklda._checkpoints import files
from sklda._checkpoints.saver import Saver
from sklda._input.arguments import path_of
from sklda._input.types import Counts
from sklda._input.warn import warn
from sklda._models.progress import fitted_attributes
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
            If a state or the result of a stage is damaged: then this part is computed again. If the fit was begun with
            another version of NumPy or SciPy.

        Examples
        --------
        >>> import tempfile
        >>> from sklda import GibbsLDA
        >>> from sklda.callbacks import Checkpoint
        >>> from sklda.datasets import make_lda_corpus
        >>> X = make_lda_corpus(20, 50, 3, random_state=0).data
        >>> folder = tempfile.mkdtemp()
        >>> lda = GibbsLDA(3, max_iter=50, random_state=0).set_callbacks(Checkpoint(folder, every=30)).fit(X)
        >>> again = GibbsLDA.resume(folder, X)  # here the fit had ended
        >>> bool((again.topic_assignments_ == lda.topic_assignments_).all())
        True
        """
        folder = _last_fit(path_of(path).absolute())
        corpus = cls._read(X)  # type: ignore[attr-defined]
        facts = _facts(folder, cls, corpus)
        estimator, y, metadata, seed = _read(folder / "estimator", corpus)
        if not isinstance(estimator, cls):
            raise ValueError(f"{path} is the checkpoint of another {facts['estimator']}.")
        _check_feature_names(estimator, X, reset=False)
        checkpoint = Checkpoint(path, every=facts["every"])
        checkpoint._resumed, checkpoint._seed = folder, seed
        try:
            estimator.set_callbacks(checkpoint, *callbacks)  # type: ignore[attr-defined]
            if (folder / "fitted").exists():
                forget(estimator)
                vars(estimator).update(_read(folder / "fitted", corpus))
                return estimator
            _warn_of_versions(facts)
            if estimator.verbose:  # type: ignore[attr-defined]
                print(f"[{cls.__name__}] continues the fit of {facts['begun']} in {path}", flush=True)
            return estimator.fit(X, **({} if y is None else {"y": y}), **metadata)  # type: ignore[attr-defined, no-any-return]
        finally:
            checkpoint._resumed = checkpoint._seed = None


def forget(estimator):
    """Delete the fitted attributes of an estimator, but those of its input."""
    for name in fitted_attributes(vars(estimator)):
        delattr(estimator, name)


def checkpoints_of(estimator):
    """The checkpoints among the callbacks of an estimator, a list."""
    return [each for each in vars(estimator).get("_skl_callbacks", ()) if isinstance(each, Checkpoint)]


def resumed_seed(estimator):
    """The seed of the fit that is resumed, or None."""
    return next((each._seed for each in checkpoints_of(estimator) if each._resumed), None)


def saver_of(estimator, corpus, seed, y, metadata):
    """The `Saver` of a fit, or None."""
    checkpoints = checkpoints_of(estimator)
    if not checkpoints:
        return None
    if len(checkpoints) > 1:
        raise ValueError(f"an estimator can have one Checkpoint, not {len(checkpoints)}.")
    check_samples(estimator)
    (checkpoint,) = checkpoints
    name, folder = type(estimator).__name__, path_of(checkpoint.path).absolute()
    if checkpoint._is_of_copy:
        raise ValueError(
            f"this {name} is a copy of an estimator with a Checkpoint, such as those that searches, folds and "
            "ConsensusTopics fit. A Checkpoint saves a single fit: take it away with set_callbacks(), or give the copy "
            "one of its own."
        )
    if checkpoint._resumed:
        lock = files.Lock(folder)
        if not (checkpoint._resumed / "header").exists() or (checkpoint._resumed / "fitted").exists():
            lock.close()
            raise ValueError(
                f"another process has ended the fit in {folder} meanwhile: resume it again for its result."
            )
        return Saver(checkpoint._resumed, corpus, checkpoint.every, lock, is_new=False)
    folder.mkdir(parents=True, exist_ok=True)
    if (other := files.foreign_file(folder)) is not None:
        raise ValueError(f"{folder} has files of no checkpoint, such as {other.name}: give a new or an empty folder.")
    lock = files.Lock(folder)
    try:
        own = _begin(folder, estimator, corpus, (y, metadata, seed), checkpoint.every)
    except BaseException:
        files.remove_empty(folder)
        lock.close()
        raise
    return Saver(own, corpus, checkpoint.every, lock, is_new=True)


def _begin(folder, estimator, corpus, given, every):
    """The folder of a new fit, with what it needs to begin again. A fit that has ended stays beside it."""
    name = type(estimator).__name__
    before = files.fits_in(folder)
    if before and not (before[-1] / "fitted").exists():
        raise ValueError(
            f"{folder} has the checkpoint of a fit that has not ended. If the fit does not run any more, continue it "
            f"with {name}.resume({os.fspath(folder)!r}, X), or delete {before[-1]} to begin again."
        )
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
        return files.begin_fit(folder, facts, (bare, *given), files.SameCorpus(corpus))
    except OSError:
        raise
    except Exception as error:
        raise TypeError(
            f"the {name} or the arguments of its fit cannot be pickled, so they cannot be saved: {error}. Functions "
            "must be defined at the top level of a module."
        ) from error


def _last_fit(folder):
    """The folder of the last fit in that of a checkpoint."""
    fits = files.fits_in(folder)
    if not fits:
        raise ValueError(f"{folder} has no checkpoint: give the folder of a Checkpoint, or fit again.")
    return fits[-1]


def _facts(folder, cls, corpus):
    """The facts of the fit in a folder, if it can be continued with this class and corpus."""
    try:
        facts = files.read_header(folder)
    except (FileNotFoundError, files.Damaged):
        raise ValueError(f"{folder / 'header'} is damaged: delete {folder}, and fit again.") from None
    # Another release can have other stages. A fit that has ended has none.
    if facts["sklda"] != version("sklda") and not (folder / "fitted").exists():
        raise ValueError(
            f"the checkpoint {folder} was made by sklda {facts['sklda']}, and sklda {version('sklda')} cannot continue "
            f"it: continue it with sklda {facts['sklda']}, or fit again."
        )
    if facts["estimator"] != cls.__name__ and facts["estimator"] not in _names_of_subclasses(cls):
        name = facts["estimator"]
        raise ValueError(f"{folder} is the checkpoint of a {name}: continue it with {name}.resume.")
    shape = [corpus.n_documents, corpus.n_features]
    if facts["shape"] != shape:
        raise ValueError(
            f"{folder} is the checkpoint of a fit on another X, of shape {tuple(facts['shape'])}; this X has shape "
            f"{tuple(shape)}. Give the X of the fit."
        )
    if facts["fingerprint"] != corpus.fingerprint:
        raise ValueError(
            f"{folder} is the checkpoint of a fit on another X of this shape: its counts, the order of its documents "
            "or, if it is a Dask array, its blocks are others. Give the X of the fit, rechunked as it was."
        )
    return facts


def _read(path, corpus):
    """The value of a file without which a fit cannot continue."""
    try:
        return files.read(path, corpus)
    except (FileNotFoundError, files.Damaged):
        raise ValueError(f"{path} is damaged: delete {path.parent}, and fit again.") from None


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
            "interruption. They are equally valid."
        )


def _names_of_subclasses(cls):
    return {name for each in cls.__subclasses__() for name in (each.__name__, *_names_of_subclasses(each))}
