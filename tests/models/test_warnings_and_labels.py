"""Warnings point at the caller's line; labels of collections are kept as they are."""

from inspect import getdoc, signature, unwrap

import pytest
from refusals import GOOD
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from sklda import CollapsedVariationalLDA, CompoundLDA, CovariateLDA, GibbsLDA, LabeledLDA, TopicCountLDA


@pytest.mark.parametrize("wrapped", [True, False])
def test_warnings_point_at_the_caller(wrapped, monkeypatch):
    """With the wrapper of scikit-learn's callbacks around `fit`, and without."""
    if not wrapped:
        for cls in (TopicCountLDA, CompoundLDA):
            monkeypatch.setattr(cls, "fit", unwrap(cls.fit))
    count = TopicCountLDA(1, 2, max_iter=200)
    for fit in (
        lambda: count.fit(GOOD),
        lambda: make_pipeline(count).fit(GOOD),
        lambda: CompoundLDA(2, max_iter=2).fit(GOOD, [0, 1]),
    ):
        with pytest.warns(UserWarning) as caught:
            fit()
        assert {warning.filename for warning in caught} == {__file__}


def test_labels_given_as_y():
    with pytest.warns(UserWarning, match=r"does not use y.* call fit\(X, collections=y\)"):
        CompoundLDA(2, max_iter=2).fit(GOOD, ["a", "b"])
    CompoundLDA(2, max_iter=2).fit(GOOD, [0, 1], collections=["a", "b"])


@pytest.mark.parametrize("labels", [["a\0", "b"], ["a", "a\0"], [-1, 2**63 + 1], [0, 2**70], [True, 2], [0.5, 1]])
def test_labels_are_kept_as_they_are(labels):
    lda = CompoundLDA(2, max_iter=2).fit(GOOD, collections=labels)
    assert lda.collections_.tolist() == sorted(labels)
    assert lda.transform(GOOD, collections=labels).shape == (2, 2)


@pytest.mark.parametrize("cls", [GibbsLDA, CompoundLDA, LabeledLDA, CollapsedVariationalLDA])
def test_a_wrong_keyword_names_the_class_that_was_called(cls):
    with pytest.raises(TypeError, match=rf"{cls.__name__}\.fit does not take 'groups'"):
        cls().fit([[1, 2], [2, 0]], y=[0, 1], groups=[0, 1])


@pytest.mark.parametrize("method", ["fit", "fit_transform", "transform", "score_samples", "score", "perplexity"])
@pytest.mark.parametrize(("cls", "name"), [(CompoundLDA, "collections"), (CovariateLDA, "covariates")])
def test_methods_name_the_metadata_that_they_take(cls, name, method):
    function = getattr(cls, method)
    added = signature(function).parameters[name]
    assert (added.kind, added.default) == (added.KEYWORD_ONLY, None)
    assert f"\n{name} : " in getdoc(function) and not set("{}") & set(getdoc(function))
    lda, metadata = cls(2, max_iter=4), {name: [0, 1]}
    lda.fit(GOOD, **metadata)
    getattr(lda, method)(GOOD, **metadata)
    with pytest.raises(
        TypeError, match=rf"\.{method}(\(\) got an unexpected keyword argument| does not take) 'metadata'"
    ):
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
