"""Random inputs for every public function and estimator, and what must hold of each answer.

An input is a number: ``case(seed, number)`` draws it, the same every time. `values` and `corpora` draw arguments,
`session` makes the calls and judges what comes back; the others say what is called.
"""

import sklda
from hostile import (
    changes,
    estimators,
    fits_of_papers,
    forms,
    functions,
    labels,
    malformed,
    names,
    parameters,
    pictures,
    processes,
    reports,
    sizes,
)
from hostile.session import Session, Violation
from hostile.values import Draw
from sklda import callbacks, datasets, inspection, metrics
from sklda.papers import compound, empirical_bayes, held_out, topic_count

__all__ = ["CASES", "Session", "Violation", "case", "never_called"]

CASES = estimators.CASES | functions.CASES | labels.CASES | pictures.CASES | changes.CASES | fits_of_papers.CASES
CASES |= forms.CASES | malformed.CASES | names.CASES | parameters.CASES | processes.CASES | reports.CASES | sizes.CASES
# Estimators have the most states and options.
_POPULATION = [
    *CASES,
    *["GibbsLDA"] * 5,
    *["CollapsedVariationalLDA"] * 2,
    *["CompoundLDA"] * 3,
    *["CovariateLDA"] * 2,
    "EmpiricalBayesLDA",
    "TopicCountLDA",
    "LabeledLDA",
]


def case(seed, number):
    """One input.

    Returns
    -------
    kind : str
        Which of `CASES` it is.
    play : callable
        ``play(session)`` makes its calls, and raises a `Violation` if an answer breaks an invariant, a warning escapes,
        or an exception is of the wrong type or has an accidental message.
    """
    draw = Draw(seed, number)
    kind = draw.pick(_POPULATION)

    def play(session):
        session.kinds = draw.kinds
        CASES[kind](draw, session)

    return kind, play


def never_called(called):
    """The public functions and classes that are not among the names of calls."""
    packages = sklda, callbacks, datasets, inspection, metrics, compound, empirical_bayes, held_out, topic_count
    public = {name for module in packages for name in module.__all__}
    modules = {"callbacks", "datasets", "inspection", "metrics"}
    # DaskGibbsLDA needs a cluster.
    without_input = {"read_docstrings", "trusted_types", "DaskGibbsLDA"}
    return sorted(public - modules - without_input - {name.split(".")[0] for name in called})
