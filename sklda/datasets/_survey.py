"""Answers to an open question of a survey experiment, made by a program whose effects are known."""

from __future__ import annotations

import re
from numbers import Integral

import numpy as np
from pandas import DataFrame, Index
from sklearn.utils import check_scalar

from sklda._core.random import numpy_generator
from sklda._input.types import Seed

# What people say about a new tram line. A thought is a pattern of its subject, with gaps for words of the subject.
_SUBJECTS = {
    "cost": {
        "patterns": [
            "the {body} will {pay} more {money}",
            "the {body} cannot {pay} the {burden}",
            "{burden} will {rise} because of the {body}",
            "more {money} for {other} and less for {burden}",
            "{burden} and {burden} will {rise}",
            "the {body} has no {money} for {other}",
        ],
        "body": ["city", "council", "government", "budget", "taxpayer"],
        "pay": ["pay", "finance", "borrow", "waste"],
        "money": ["money", "funds", "millions", "cash"],
        "burden": ["taxes", "fares", "debts", "rents", "fees", "tickets", "prices"],
        "rise": ["rise", "grow", "double", "explode"],
        "other": ["schools", "hospitals", "pensions", "wages", "kindergartens"],
    },
    "building": {
        "patterns": [
            "{nuisance} in every {place} at {time}",
            "the {workers} {close} the {place}",
            "{nuisance} and {nuisance} from the {workers}",
            "{shops} where they {close} the {place}",
            "{nuisance} in the {shops} at {time}",
            "the {workers} and their {nuisance} at {time}",
        ],
        "nuisance": ["noise", "dust", "mud", "dirt", "shaking", "rubble", "detours"],
        "place": ["street", "square", "bridge", "pavement", "yard", "crossing"],
        "workers": ["diggers", "cranes", "drills", "trucks", "builders"],
        "time": ["night", "dawn", "lunchtime", "weekends"],
        "close": ["close", "block", "dig", "fence"],
        "shops": ["shops", "bakeries", "cafes", "restaurants"],
    },
    "travel": {
        "patterns": [
            "a {good} {way} to the {goal}",
            "less {car} and a {good} {way}",
            "my {people} can get to the {goal} without {car}",
            "more for the {air} and less {car} for my {people}",
            "a {way} to the {goal} for my {people}",
            "{good} and {good} for my {people}",
        ],
        "good": ["faster", "quick", "comfortable", "reliable", "direct", "safe"],
        "way": ["ride", "trip", "connection", "journey"],
        "goal": ["office", "university", "station", "market", "stadium", "beach"],
        "car": ["traffic", "driving", "parking", "petrol"],
        "people": ["children", "mother", "neighbours", "grandparents"],
        "air": ["air", "climate", "health"],
    },
}
# Mean shares of the subjects without worries, at the line; what asking for worries adds; and what a kilometre adds.
_MEAN = np.array([0.20, 0.25, 0.55])
_WORRIED = np.array([0.30, 0.0, -0.30])
_KILOMETRE = np.array([0.03, -0.05, 0.02])
# The sum of the Dirichlet parameter: most answers have one or two subjects.
_CONCENTRATION = 2.0


def make_survey_answers(n_documents: int = 400, *, random_state: Seed = None) -> DataFrame:
    """Make answers to an open question of a survey experiment, with a treatment whose effect is known.

    Nobody was asked: a program wrote the answers, so that the estimates of a topic model can be compared with the
    truth. The question is what people think of when they hear of a new tram line. Half of them, chosen at random, are
    asked what *worries* them. An answer has one to six short thoughts, about what the line costs, about the building
    works, or about travelling.

    Parameters
    ----------
    n_documents : int, default=400
        Number of answers, an even number or one more.
    random_state : int, RandomState, Generator or None, default=None
        With an int, every call makes the same answers.

    Returns
    -------
    pandas.DataFrame of shape (n_documents, 6)
        A row for each answer. The index, ``respondent``, is a name such as ``"r001"``. Columns:

        - ``answer``: the text
        - ``worried``: 1 if the respondent was asked for worries, 0 if not
        - ``distance``: how far from the line the respondent lives, from 0 to 3 kilometres
        - ``cost``, ``building``, ``travel``: the true shares of the three subjects, which a real survey lacks

    Raises
    ------
    ValueError
        If `n_documents` is less than 2.
    TypeError
        If `n_documents` is not an integer.

    See Also
    --------
    make_lda_corpus : Counts drawn from latent Dirichlet allocation.

    Notes
    -----
    The shares of the subjects are drawn from a Dirichlet distribution of concentration 2. Its mean depends on the
    covariates: worries add 0.3 to the share of the cost and take as much from that of travelling, and each kilometre
    adds 0.03 to the cost and 0.02 to travelling, and takes 0.05 from the building works. Without worries, at the line,
    the means are 0.20, 0.25 and 0.55. Each thought has a subject drawn from these shares, and a pattern of the subject
    whose gaps are filled with its words.

    Examples
    --------
    >>> from sklda.datasets import make_survey_answers
    >>> survey = make_survey_answers(random_state=0)
    >>> survey.shape
    (400, 6)
    >>> survey["answer"].iloc[1]
    'rents and taxes will rise'
    """
    check_scalar(n_documents, "n_documents", Integral, min_val=2)
    rng = numpy_generator(random_state)
    worried = rng.permutation(np.arange(n_documents) % 2)
    distance = rng.uniform(0, 3, size=n_documents).round(1)
    means = _MEAN + worried[:, None] * _WORRIED + distance[:, None] * _KILOMETRE
    shares = np.array([rng.dirichlet(_CONCENTRATION * mean) for mean in means])
    lengths = rng.integers(1, 7, size=n_documents)
    answers = [_answer(row, length, rng) for row, length in zip(shares, lengths, strict=True)]
    digits = len(str(n_documents))
    names = Index([f"r{i:0{digits}}" for i in range(1, n_documents + 1)], name="respondent")
    columns = {"answer": answers, "worried": worried, "distance": distance}
    return DataFrame(columns | dict(zip(_SUBJECTS, shares.T, strict=True)), index=names)


def _answer(shares: np.ndarray, length: int, rng: np.random.Generator) -> str:
    """Some thoughts of subjects with these shares."""
    subjects = rng.choice(list(_SUBJECTS), size=length, p=shares)
    return ", ".join(_thought(_SUBJECTS[subject], rng) for subject in subjects)


def _thought(subject: dict[str, list[str]], rng: np.random.Generator) -> str:
    """A pattern of the subject; each gap has a word of its kind, and no word stands twice."""
    parts = re.split(r"\{(\w+)\}", str(rng.choice(subject["patterns"])))
    words = {kind: rng.permutation(subject[kind]).tolist() for kind in parts[1::2]}
    parts[1::2] = [words[kind].pop() for kind in parts[1::2]]
    return "".join(parts)
