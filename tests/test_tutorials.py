"""The scripts of the tutorials run on data of the same form, whose effect is known."""

import runpy
import sys
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd
import pytest

DOC = Path(__file__).parents[1] / "doc" / "tutorials"


@pytest.fixture
def survey():
    return runpy.run_path(str(DOC / "survey_experiment.py"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_survey_experiment_finds_the_effect(survey, tmp_path, capsys):
    rng = np.random.default_rng(0)
    topics = {subject: [f"{subject}{letter}" for letter in ascii_lowercase] for subject in ("jobs", "law", "tax")}
    treatment = np.arange(300) % 2
    answers = []
    for treated in treatment:
        proportions = rng.dirichlet([0.5, 0.2, 0.3] if treated else [0.1, 0.6, 0.3])
        subjects = rng.choice(list(topics), size=12, p=proportions)
        answers.append(" ".join(rng.choice(topics[subject]) for subject in subjects))
    columns = {"treatment": treatment, "pid_rep": rng.random(300), "open.ended.response": answers}
    path = tmp_path / "gadarian.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    X, words, frame = survey["from_answers"](path)
    assert X.shape == (300, 78)
    covariates = frame[["treatment", "pid_rep"]]
    _, effects = survey["fit"](X, words, frame)
    # Four standard errors of about 0.05: a false-alarm rate below 1e-4.
    estimates = effects.loc[effects["term"] == "treatment", "estimate"]
    np.testing.assert_allclose(sorted(estimates), [-0.4, 0, 0.4], atol=0.2)
    survey["without_covariates"](X, words, covariates)
    assert "attenuation" in capsys.readouterr().out


def test_without_data_there_is_nothing_to_do(survey, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["survey_experiment.py"])
    with pytest.raises(SystemExit, match="Skipped"):
        runpy.run_path(str(DOC / "survey_experiment.py"), run_name="__main__")
