"""Fitted estimators survive pickle, joblib and skops; pickles of earlier versions load."""

import gzip
import importlib
import pickle
import re
import tempfile
import warnings

import make_pickles
import numpy as np
import pytest
import sklearn
from make_pickles import FOLDER, NEW, answers, estimators, through_joblib, through_pickle
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.fixes import parse_version

import sklda

STORED = sorted(FOLDER.glob("*/*.pkl.gz"))
CLASSES = sorted(
    name
    for name in sklda.__all__
    if isinstance(getattr(sklda, name), type) and (name != "DaskGibbsLDA" or make_pickles.HAS_DASK)
)


@pytest.fixture(scope="module")
def fitted():
    """By name. The fits are not made when the tests are collected, which every process of pytest-xdist does."""
    return {type(each).__name__: each for each in estimators()}


def through_skops(estimator):
    skops = pytest.importorskip("skops.io")
    return skops.loads(skops.dumps(estimator), trusted=sklda.trusted_types())


def same_answers(found, expected, rtol=0.0):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, err_msg=name)


def test_there_is_an_estimator_of_every_class(fitted):
    assert fitted.keys() == set(CLASSES)


@pytest.mark.parametrize("way", [through_pickle, through_joblib, through_skops])
@pytest.mark.parametrize("name", CLASSES)
def test_a_copy_has_the_same_answers(fitted, name, way):
    same_answers(answers(way(fitted[name])), answers(fitted[name]))


def test_trusted_types_are_those_of_fits_and_no_function(fitted):
    skops = pytest.importorskip("skops.io")
    fits = [*fitted.values(), with_callbacks()]
    needed = {kind for each in fits for kind in skops.get_untrusted_types(data=skops.dumps(each))}
    found = set(sklda.trusted_types())
    assert needed <= found
    # Types of other packages are there only because fits need them.
    assert {kind for kind in found if not kind.startswith("sklda.")} <= needed
    for kind in found:
        module, _, name = kind.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), name), type), kind


def with_callbacks():
    """A fit with a callback of scikit-learn, and one of sklda."""
    lda = sklda.GibbsLDA(2, max_iter=2, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        callbacks = pytest.importorskip("sklearn.callback").ProgressBar(), sklda.callbacks.Checkpoint(folder)
        return lda.set_callbacks(*callbacks).fit([[1, 2], [2, 0]])


@pytest.mark.filterwarnings("ignore::UserWarning:rich")
def test_a_fit_with_callbacks_survives():
    lda = with_callbacks()
    np.testing.assert_array_equal(through_skops(lda).components_, lda.components_)


@pytest.mark.parametrize("form", [0, 2])
@pytest.mark.parametrize("name", CLASSES)
def test_a_state_that_this_version_cannot_load(fitted, name, form, monkeypatch):
    monkeypatch.setattr("sklda._models.persistence._FORMAT", form)
    monkeypatch.setattr("sklda._models.persistence.version", lambda package: "9.9")
    saved = pickle.dumps(fitted[name])
    monkeypatch.undo()
    # The fits of ConsensusTopics are loaded first.
    name = "GibbsLDA" if name == "ConsensusTopics" else name
    message = f"this {name} was saved by sklda 9.9, and sklda {re.escape(sklda.__version__)} cannot load it"
    with pytest.raises(ValueError, match=message):
        pickle.loads(saved)


def test_what_a_release_stores_has_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(make_pickles, "FOLDER", tmp_path)
    make_pickles.main()
    paths = sorted((tmp_path / sklda.__version__).iterdir())
    assert [path.name for path in paths] == [f"{name}.pkl.gz" for name in CLASSES]
    for path in paths:
        check_stored(path)


# Before the first release there are none.
@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_a_pickle_of_an_earlier_version_loads(path):
    check_stored(path)


def check_stored(path):
    with warnings.catch_warnings():
        # The pickle has objects of scikit-learn in another version.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            record = pickle.loads(gzip.decompress(path.read_bytes()))
        except ModuleNotFoundError as error:
            if error.name.startswith("sklda"):
                raise
            pytest.skip(f"the pickle needs scikit-learn or NumPy in a later version: {error}")
    if parse_version(sklearn.__version__) < parse_version(record["sklearn"]):
        pytest.skip(f"the pickle was made with scikit-learn {record['sklearn']}")
    # Other processors round some functions differently.
    same_answers(answers(record["estimator"]), record["answers"], rtol=1e-6)
    assert NEW.data.shape[1] == record["estimator"].n_features_in_
