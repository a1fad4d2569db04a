"""The version that saved an estimator, and the check when it is loaded."""

from importlib.metadata import version

from sklda._core.dask_arrays import is_dask

# The form of saved states. Raise it when fitted attributes change so that earlier states cannot answer.
_FORMAT = 1


def without_dask(state):
    """The attributes of a fit without those that are Dask arrays: the workers have their values."""
    return {name: value for name, value in state.items() if not is_dask(value)}


class SavedMixin:
    """Estimators whose saved states name their version, so that a version that cannot load one says so."""

    def __getstate__(self):
        return without_dask(super().__getstate__()) | {"_saved_by": [_FORMAT, version("sklda")]}

    def __setstate__(self, state):
        saved, name = dict(state), type(self).__name__
        form, saved_by = saved.pop("_saved_by")
        if form != _FORMAT:
            raise ValueError(
                f"this {name} was saved by sklda {saved_by}, and sklda {version('sklda')} cannot load it: load it with "
                f"sklda {saved_by}, or fit again."
            )
        super().__setstate__(saved)
