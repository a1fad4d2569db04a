"""Answers of a survey that a program writes: their truth, and what is refused."""

import numpy as np
import pytest

from sklda.datasets import make_survey_answers

SUBJECTS = ["cost", "building", "travel"]


def test_effects_are_those_of_the_docstring():
    survey = make_survey_answers(4000, random_state=1)
    np.testing.assert_allclose(survey[SUBJECTS].sum(axis=1), 1)
    design = np.column_stack([np.ones(4000), survey["worried"], survey["distance"]])
    coefficients = np.linalg.lstsq(design, survey[SUBJECTS].to_numpy(), rcond=None)[0]
    truth = [[0.20, 0.25, 0.55], [0.30, 0.0, -0.30], [0.03, -0.05, 0.02]]
    # Five standard errors: a share has a standard deviation below .29.
    np.testing.assert_allclose(coefficients, truth, atol=5 * 0.29 * 2 / np.sqrt(4000))
    assert survey["worried"].sum() == 2000 and survey["distance"].between(0, 3).all()


def test_the_same_seed_makes_the_same_answers():
    first, again = (make_survey_answers(20, random_state=3) for _ in range(2))
    assert first.equals(again) and not first.equals(make_survey_answers(20, random_state=4))
    assert first.index.tolist()[:2] == ["r01", "r02"] and first.index.name == "respondent"
    assert first["answer"].str.len().min() > 5


@pytest.mark.parametrize(("n", "error"), [(1, ValueError), (2.5, TypeError)])
def test_numbers_of_answers_that_are_refused(n, error):
    with pytest.raises(error, match="n_documents"):
        make_survey_answers(n)
