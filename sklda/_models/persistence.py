"""The version that saved an estimator, the check when it is loaded, and the types that its file has."""

import sys
from importlib.metadata import version

from sklda._input.dask_arrays import is_dask

# The form of saved states. Raise it when fitted attributes change so that earlier states cannot answer.
_FORMAT = 1
# Types of other packages in fitted estimators, which skops does not trust by itself. None of them runs code of a file.
_OF_OTHER_PACKAGES = (
    "numpy.random.bit_generator.SeedSequence",
    "scipy.sparse._csr.csr_array",
    "sklearn.callback._progressbar.ProgressBar",
)


def trusted_types() -> list[str]:
    """Types that a fitted estimator of sklda has, for ``skops.io.load``.

    skops does not run code of a file that it loads: it loads only types that you trust. These are the classes that
    sklda itself defines, and a few of NumPy, SciPy and scikit-learn that hold data. Functions are not among them.
    ``skops.io.get_untrusted_types`` lists the types of a file.

    Returns
    -------
    list of str
        Full names, in alphabetical order.

    Examples
    --------
    >>> from sklda import trusted_types
    >>> "sklda._models.gibbs.GibbsLDA" in trusted_types()
    True

    ``skops.io.load("lda.skops", trusted=trusted_types())`` loads a model.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith("sklda.")]
    classes = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    own = {f"{each.__module__}.{each.__qualname__}" for each in classes if each.__module__.startswith("sklda.")}
    return sorted(own.union(_OF_OTHER_PACKAGES))


class SavedMixin:
    """Estimators whose saved states name their version, so that a version that cannot load one says so."""

    def __getstate__(self):
        # The values of Dask arrays are on the workers of a cluster, and end with it.
        state = {name: value for name, value in super().__getstate__().items() if not is_dask(value)}
        return state | {"_saved_by": [_FORMAT, version("sklda")]}

    def __setstate__(self, state):
        saved, name = dict(state), type(self).__name__
        form, saved_by = saved.pop("_saved_by")
        if form != _FORMAT:
            raise ValueError(
                f"this {name} was saved by sklda {saved_by}, and sklda {version('sklda')} cannot load it: load it with "
                f"sklda {saved_by}, or fit again."
            )
        super().__setstate__(saved)
