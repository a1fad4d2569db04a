"""Errors that say what was meant: wrong names of parameters, and attributes before the fit."""

import copy
import inspect
import pickle

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from sklda import (
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    EmpiricalBayesLDA,
    GibbsLDA,
    LabeledLDA,
    TopicCountLDA,
)

ESTIMATORS = [
    GibbsLDA,
    CollapsedVariationalLDA,
    CompoundLDA,
    ConsensusTopics,
    CovariateLDA,
    EmpiricalBayesLDA,
    LabeledLDA,
    TopicCountLDA,
]
MEANT = [
    *((name, "n_components|max_components|n_shared") for name in ("num_topics", "n_topics", "k", "K", "nr_topics")),
    ("alpha", "doc_topic_prior|collection_topic_prior"),
    *((name, "topic_word_prior") for name in ("beta", "eta")),
    *((name, "max_iter|max_sweeps") for name in ("n_iter", "passes", "num_passes", "iterations", "epochs", "iter")),
    *((name, "random_state") for name in ("seed", "random_seed", "randomstate")),
    *((name, "n_jobs") for name in ("workers", "num_threads")),
]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_parameter_of_another_library_has_an_error_that_names_the_one_here(cls):
    for name, meant in MEANT:
        with pytest.raises(TypeError, match=rf"{cls.__name__} has no parameter '{name}': (give )?({meant})\b"):
            cls(**{name: 3})
    with pytest.raises(TypeError, match=rf"{cls.__name__} has no parameter 'colour': its parameters are .*n_jobs"):
        cls(colour=3)
    with pytest.raises(TypeError, match=rf"{cls.__name__} got 3 values without names"):
        cls(*range(3))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_set_params_names_the_right_parameter_too(cls):
    lda = cls()
    for name, meant in MEANT:
        with pytest.raises(ValueError, match=rf"{cls.__name__} has no parameter '{name}': (give )?({meant})\b"):
            lda.set_params(**{name: 3})
    with pytest.raises(ValueError, match=r"GibbsLDA has no parameter 'num_topics': give n_components\."):
        make_pipeline(GibbsLDA()).set_params(gibbslda__num_topics=3)
    assert lda.set_params(n_jobs=2, random_state=3) is lda
    assert (lda.n_jobs, lda.random_state) == (2, 3)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_constructors_keep_their_signatures(cls):
    parameters = inspect.signature(cls).parameters
    assert list(inspect.signature(cls.__init__).parameters)[1:] == list(parameters)
    assert cls.__init__.__qualname__ == f"{cls.__name__}.__init__"
    assert sorted(parameters) == sorted(cls().get_params(deep=False))

    class Own(cls):
        def __init__(self, *, colour=1, **parameters):
            self.colour = colour
            super().__init__(**parameters)

    with pytest.raises(TypeError, match="Own has no parameter 'alpha'"):
        Own(alpha=3)
    assert (Own(colour=2).colour, clone(cls()).get_params().keys()) == (2, cls().get_params().keys())


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_an_attribute_of_an_estimator_that_is_not_fitted_says_so(cls):
    for model in (cls(), copy.deepcopy(cls()), pickle.loads(pickle.dumps(cls()))):
        for name in ("components_", "doc_topic_", "topic_names_"):
            assert not hasattr(model, name)
            with pytest.raises(AttributeError, match=f"{cls.__name__} has no attribute '{name}': call fit first"):
                getattr(model, name)
        with pytest.raises(AttributeError, match=r"has no attribute 'colour'\."):
            model.colour  # noqa: B018
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
    # Copies ask for attributes before they have any.
    assert not hasattr(cls.__new__(cls), "components_")


def test_a_fitted_estimator_does_not_say_call_fit():
    lda = GibbsLDA(2, max_iter=4).fit([[1, 2], [2, 0]])
    with pytest.raises(AttributeError, match=r"GibbsLDA has no attribute 'colour_'\."):
        lda.colour_  # noqa: B018
    with pytest.raises(AttributeError, match=r"call fit first; it .*needs n_chains > 1"):
        clone(lda).topic_stability_  # noqa: B018
