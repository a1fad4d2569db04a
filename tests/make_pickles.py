"""Write the pickles of a release, which `test_persistence.py` loads: ``python tests/make_pickles.py``.

A release adds a folder ``tests/pickles/VERSION``, and later versions must load it. It has one file for each estimator,
with the fitted estimator, new documents, and its answers for them.
"""

import gzip
import io
import pickle
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import sklearn

import sklda
from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    DaskGibbsLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)
from sklda.datasets import make_compound_lda_corpus

FOLDER = Path(__file__).parent / "pickles"
CORPUS = make_compound_lda_corpus([8, 7], 20, 3, doc_length=12, random_state=0)
NEW = make_compound_lda_corpus([3, 3], 20, 3, doc_length=10, random_state=1)
LABELS = np.eye(3, dtype=int)[np.arange(15) % 3]
HAS_DASK = find_spec("distributed") is not None
GIVEN = {"doc_topic_prior": 0.3, "topic_word_prior": 0.2, "random_state": 0}


def estimators():
    """A fitted estimator of every class, by name; small, and quick to fit."""
    X, collections = CORPUS.data, CORPUS.collections
    with warnings.catch_warnings():
        # So few sweeps do not converge.
        warnings.simplefilter("ignore")
        yield GibbsLDA(3, max_iter=40, n_chains=2, **GIVEN).fit(X)
        yield CollapsedVariationalLDA(3, max_iter=5, random_state=0).fit(X)
        yield CompoundLDA(3, max_iter=40, random_state=0).fit(X, collections=collections)
        yield HDPLDA(max_components=20, max_iter=40, n_chains=2, random_state=0).fit(X, collections=collections)
        yield CovariateLDA(3, max_iter=40, random_state=0).fit(X, covariates=np.arange(len(collections)) % 7)
        yield LabeledLDA(n_shared=1, n_chains=1, max_iter=10, n_draws=2, random_state=0).fit(X, LABELS)
        yield EmpiricalBayesLDA(2, n_chains=2, max_iter=120, random_state=0).fit(X)
        yield ConsensusTopics(GibbsLDA(2, max_iter=10), 2, min_prevalence=0.5, n_splits=0, random_state=0).fit(X)
        yield TopicCountLDA(min_components=2, max_components=3, max_iter=40, **GIVEN).fit(X)
        if HAS_DASK:
            from dask import array
            from distributed import Client

            with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
                yield DaskGibbsLDA(3, max_iter=40, **GIVEN).fit(array.from_array(X.toarray(), chunks=(5, -1)))


def answers(estimator):
    """The results of the estimator for new documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"transform": estimator.transform(NEW.data)}
        for name in ("score_samples", "predict"):
            if hasattr(estimator, name):
                found[name] = getattr(estimator, name)(NEW.data)
    return found


def through_pickle(estimator):
    """A copy of the estimator, by pickle."""
    return pickle.loads(pickle.dumps(estimator))


def through_joblib(estimator):
    """The same by joblib."""
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def main():
    folder = FOLDER / sklda.__version__
    folder.mkdir(parents=True, exist_ok=True)
    for estimator in estimators():
        record = {"estimator": estimator, "answers": answers(estimator), "sklearn": sklearn.__version__}
        record["numpy"] = np.__version__
        # The same bytes for the same fit.
        data = gzip.compress(pickle.dumps(record, protocol=5), mtime=0)
        path = folder / f"{type(estimator).__name__}.pkl.gz"
        path.write_bytes(data)
        print(f"{path.name:<32}{len(data):>8} bytes")


if __name__ == "__main__":
    sys.exit(main())
