"""Callbacks for the estimators: checkpoints of long fits."""

from __future__ import annotations

import copy
import os
from math import isnan
from numbers import Real
from typing import Any, Self

from sklearn.utils import check_scalar

__all__ = ["Checkpoint"]


class Checkpoint:
    """Saves a fit while it runs, so that it can be continued after the process was killed.

    Give it to an estimator that samples, with ``set_callbacks``. After an interruption,
    ``type(estimator).resume(path, X)`` continues the fit to its planned end. The draws are the same, bit for bit, as
    without the interruption.

    The folder has the results of the stages of the fit that have ended, and the last states of the chains. It does not
    have X. Files are pickles: load only those that you trust. When the fit has ended, the folder has the fitted
    attributes.

    Parameters
    ----------
    path : str or os.PathLike
        The folder. `fit` makes it. If there is one, it must be empty, or have the checkpoint of a fit that has ended
        and no other file. That checkpoint stays until the new fit has ended, too. Chains in other processes or on other
        machines save their states themselves, so these must reach the folder.
    every : float, default=60.0
        Seconds between two saves of a chain. It becomes longer if saving would take more than 1 % of the time.

    Warns
    -----
    UserWarning
        If a state cannot be saved, for example because the disk is full. The fit continues, and the last checkpoint
        stays.

    See Also
    --------
    sklda.GibbsLDA.resume : Continues the fit.

    Notes
    -----
    A resumed fit needs the version of sklda of the first one. Its draws are the same only with the same versions of
    NumPy and SciPy, and on the same kind of processor. Other callbacks are not saved.

    Examples
    --------
    >>> import tempfile
    >>> from sklda import GibbsLDA
    >>> from sklda.callbacks import Checkpoint
    >>> from sklda.datasets import make_lda_corpus
    >>> X = make_lda_corpus(20, 50, 3, random_state=0).data
    >>> folder = tempfile.mkdtemp()
    >>> lda = GibbsLDA(3, max_iter=50, random_state=0).set_callbacks(Checkpoint(folder, every=30)).fit(X)
    >>> again = GibbsLDA.resume(folder, X)
    >>> bool((again.topic_assignments_ == lda.topic_assignments_).all())
    True
    """

    def __init__(self, path: str | os.PathLike[str], *, every: float = 60.0) -> None:
        self.path: str = os.fspath(path)
        self.every: float = float(check_scalar(every, "every", Real, min_val=0))
        if isnan(self.every):
            raise ValueError("every is not a number: give seconds.")
        self._is_of_copy = False
        # The folder and the seed of the fit that is resumed.
        self._resumed: Any = None
        self._seed: Any = None

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r}, every={self.every:g})"

    def _of_copy(self) -> Self:
        """The same for a copy of the estimator, which refuses to fit: copies would share the folder."""
        found = copy.copy(self)
        found._is_of_copy = True
        return found

    def setup(self, estimator: Any, context: Any) -> None:
        """Refuse estimators that do not sample. Called by `fit`."""
        check_samples(estimator)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing. Called by `fit`."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing. Called by `fit`."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Do nothing. Called by `fit`."""
        return False


def check_samples(estimator: Any) -> None:
    """Raise a TypeError if the fit of an estimator has no chains to save."""
    if not getattr(estimator, "_samples", False):
        raise TypeError(
            f"Checkpoint saves chains of Gibbs sampling, and this {type(estimator).__name__} has none: take the "
            "callback away with set_callbacks(), or give it to an estimator that samples, such as GibbsLDA."
        )
