"""Warnings point at the caller's line; labels of collections are kept as they are."""

import warnings
from inspect import getdoc, signature, unwrap

import pandas as pd
import pytest
from refusals import GOOD
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sklda import (
    HDPLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)
from sklda.datasets import make_lda_corpus
from sklda.inspection import document_table, topic_table
from sklda.metrics import held_out_log_likelihood


@pytest.fixture(scope="module")
def slow_corpus():
    """Words of many topics in each document: a chain needs more than a hundred sweeps."""
    truth = {"doc_topic_prior": 0.5, "topic_word_prior": 0.05, "random_state": 0}
    return make_lda_corpus(400, 800, 20, doc_length=70, **truth).data


@pytest.mark.parametrize("cls", [GibbsLDA, CovariateLDA])
def test_fits_whose_log_joint_still_rises(cls, slow_corpus):
    with pytest.warns(
        ConvergenceWarning, match=r"log joint still rises, by [\d,]+ nats.*about [\d,]+ sweeps"
    ) as caught:
        cls(20, max_iter=100, random_state=0).fit(slow_corpus)
    (message,) = [str(each.message) for each in caught if "too few sweeps" in str(each.message)]
    wanted = int(message.split("about ")[1].split(" ")[0].replace(",", ""))
    assert 100 < wanted < 2000
    cls(20, max_iter=wanted, random_state=0).fit(slow_corpus)


@pytest.mark.parametrize("wrapped", [True, False])
def test_warnings_point_at_the_caller(wrapped, monkeypatch):
    """With the wrapper of scikit-learn's callbacks around `fit`, and without."""
    if not wrapped:
        for cls in (TopicCountLDA, CompoundLDA):
            monkeypatch.setattr(cls, "fit", unwrap(cls.fit))
    count = TopicCountLDA(min_components=1, max_components=2, max_iter=200)
    for fit in (
        lambda: count.fit(GOOD),
        lambda: make_pipeline(count).fit(GOOD),
        lambda: CompoundLDA(2, max_iter=2).fit(GOOD, [0, 1]),
    ):
        with pytest.warns(UserWarning) as caught:
            fit()
        assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.filterwarnings("error:.*has no collections:UserWarning")
def test_a_fit_without_collections_says_what_it_is():
    model = CompoundLDA(2, max_iter=2)
    for y, give in ((None, r"Give them with fit\(X, collections=...\)"), (["a", "b"], r"call fit\(X, collections=y\)")):
        with pytest.warns(UserWarning, match=f"CompoundLDA has no collections, so alpha .* as in GibbsLDA.*{give}"):
            model.fit(GOOD, y)
    assert model.fit(GOOD, [0, 1], collections=["a", "b"]).collections_.tolist() == ["a", "b"]


def test_the_hdp_of_one_collection_is_usual():
    model = HDPLDA(max_components=3, max_iter=2, n_chains=1)
    for y, n in ((["a", "b"], 1), (None, 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(GOOD, y)
        assert sum("call fit(X, collections=y)" in str(each.message) for each in caught) == n


FRAME = pd.DataFrame({"text": ["one two", "two three", "one three"] * 3, "title": ["four"] * 9})
ONE_FIT = [
    GibbsLDA(2, max_iter=2),
    CollapsedVariationalLDA(2, max_iter=2),
    CompoundLDA(2, max_iter=2),
    EmpiricalBayesLDA(2, max_iter=60),
]


@pytest.mark.filterwarnings("error:No document of X:UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("lda", ONE_FIT, ids=lambda lda: type(lda).__name__)
def test_columns_that_are_taken_for_documents(lda):
    for frame in (FRAME[["text"]], FRAME):
        with pytest.warns(UserWarning, match=r"No document of X has two words, .* as in df\['text'\]"):
            make_pipeline(CountVectorizer(), lda).fit(frame)
    model = make_pipeline(CountVectorizer(), lda).fit(FRAME["text"])
    for call in (topic_table, document_table, held_out_log_likelihood):
        with pytest.raises(ValueError, match=r"CountVectorizer takes its columns .* as in df\['text'\]"):
            call(model, FRAME[["text"]])


@pytest.mark.parametrize("labels", [["a\0", "b"], ["a", "a\0"], [-1, 2**63 + 1], [0, 2**70], [True, 2], [0.5, 1]])
def test_labels_are_kept_as_they_are(labels):
    lda = CompoundLDA(2, max_iter=2).fit(GOOD, collections=labels)
    assert lda.collections_.tolist() == sorted(labels)
    assert lda.transform(GOOD, collections=labels).shape == (2, 2)


@pytest.mark.parametrize("cls", [GibbsLDA, CompoundLDA, LabeledLDA, CollapsedVariationalLDA])
def test_a_wrong_keyword_names_the_class_that_was_called(cls):
    with pytest.raises(TypeError, match=rf"{cls.__name__} does not take 'groups'"):
        cls().fit([[1, 2], [2, 0]], y=[0, 1], groups=[0, 1])


def test_a_model_that_takes_no_covariates_says_which_does():
    for lda in (GibbsLDA(), LabeledLDA(), CompoundLDA()):
        with pytest.raises(TypeError, match=r"does not take 'covariates': .*CovariateLDA"):
            lda.fit([[1, 2], [2, 0]], covariates=[0, 1])


@pytest.mark.parametrize("method", ["fit", "fit_transform", "transform", "score_samples", "score", "perplexity"])
@pytest.mark.parametrize(("cls", "name"), [(CompoundLDA, "collections"), (CovariateLDA, "covariates")])
def test_methods_name_the_metadata_that_they_take(cls, name, method):
    function = getattr(cls, method)
    added = signature(function).parameters[name]
    assert (added.kind, added.default) == (added.KEYWORD_ONLY, None)
    documented = f"\n{name} : ", "\ncollections, covariates\n"
    assert any(each in getdoc(function) for each in documented) and not set("{}") & set(getdoc(function))
    lda, metadata = cls(2, max_iter=4), {name: [0, 1]}
    lda.fit(GOOD, **metadata)
    getattr(lda, method)(GOOD, **metadata)
    with pytest.raises(TypeError, match=r"(got an unexpected keyword argument|does not take) 'metadata'"):
        getattr(lda, method)(GOOD, metadata=[0, 1])
    with pytest.raises(ValueError, match=rf"{name} has 3 .*(X has|there are) 2 documents"):
        getattr(lda, method)(GOOD, **{name: [0, 1, 0]})


def test_parameters_are_not_validated_if_scikit_learn_says_so():
    lda = GibbsLDA(2, max_iter=2, verbose="loud")
    with pytest.raises(ValueError, match="verbose"):
        lda.fit(GOOD)
    with config_context(skip_parameter_validation=True):
        lda.set_params(verbose=0, warm_start=0).fit(GOOD)
    with pytest.raises(ValueError, match="warm_start"):
        lda.transform(GOOD)
