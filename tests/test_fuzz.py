"""More than a hundred random inputs (`make fuzz` plays more), and that the harness finds what it looks for."""

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import fuzz
import hostile
import numpy as np
import pytest
from hostile import CASES, Session, Violation, case

import sklda


def test_random_inputs():
    tally, marks, violations = fuzz.run(seed=8, first=0, n_inputs=160)
    assert not violations
    inputs, answers, refusals = (
        sum(n for (_, what), n in tally.items() if what == each) for each in ("inputs", "answers", "refusals")
    )
    assert inputs == 160
    # The least likely of these comes once in sixty inputs.
    for mark in (
        "memory-mapped",
        "read-only",
        "not contiguous",
        "threads",
        "prior: 1e-12",
        "prior: 1e+08",
        "X: malformed",
    ):
        assert marks[mark], mark
    # Refusals alone would prove little.
    assert answers > 2 * refusals
    for name in (each for each in sklda.__all__ if each.endswith("LDA") and each != "DaskGibbsLDA"):
        assert marks[f"answer: {name}.fit"] > marks[f"call: {name}.fit"] / 2, name
    assert {kind for kind, _ in tally} == set(CASES)


def test_every_public_function_is_among_the_calls():
    text = " ".join(path.read_text(encoding="utf-8") for path in Path(hostile.__file__).parent.glob("*.py"))
    called = set(
        re.findall(
            r"(?:callbacks|metrics|inspection|datasets|papers|compound|empirical_bayes|topic_count)\.(\w+)|\"(\w+Display)\"|(\w+LDA|ConsensusTopics|merge_topics|log_evidence(?:_by_sweeps)?)\b",
            text,
        )
    )
    assert not hostile.never_called({"".join(names) for names in called})
    assert hostile.never_called({"GibbsLDA.fit", "topic_table"})


def test_an_input_is_its_number():
    def calls(seed, number):
        told = []
        try:
            case(seed, number)[1](Session(told.append))
        except Violation as violation:
            told.append(str(violation))
        # Folders have other names each time.
        return [re.sub(re.escape(tempfile.gettempdir()) + r"/\w+", "folder", line) for line in told]

    for number in range(20):
        assert calls(3, number) == calls(3, number)
    assert calls(3, 1) != calls(4, 1)


def _warn():
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("function", "options", "found"),
    [
        (lambda: [][1], {}, "^IndexError: list index out of range"),
        (lambda: None + 1, {}, "^unhelpful TypeError: unsupported operand"),
        (lambda: np.zeros(2) + np.zeros(3), {}, "^unhelpful ValueError: operands could not be broadcast"),
        (lambda: 3, {"refuse": "three"}, "^accepted: three"),
        (_warn, {}, "^RuntimeWarning: overflow"),
        (lambda: 1 / 0, {}, "^ZeroDivisionError"),
    ],
)
def test_what_must_not_come_back(function, options, found):
    with pytest.raises(Violation, match=found):
        Session(str).call(function, **options)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([[0.5, 0.5]], "has shape"),
        ([[0.5, 0.4], [1, 0]], "sum to one"),
        ([[1.5, -0.5], [1, 0]], "not negative"),
        ([[np.nan, 1], [1, 0]], "finite"),
    ],
)
def test_what_is_no_distribution(values, found):
    with pytest.raises(Violation, match=found):
        Session(str).distribution(values, (2, 2), "theta")


@pytest.mark.parametrize(("value", "found"), [(np.nan, "not NaN"), (0.1, "at most 0"), (-np.inf, "finite where")])
def test_what_is_no_log_probability(value, found):
    with pytest.raises(Violation, match=found):
        Session(str).log_probability([value], (1,), "log p")


@pytest.mark.parametrize(
    ("breach", "found"),
    [
        (
            "import ctypes; ctypes.string_at(0)",
            # With AddressSanitizer the status is 1.
            "crash or hang: exit status (-11|1): Fatal Python error: Segmentation fault",
        ),
        ("import time; time.sleep(100)", "crash or hang: exit status 1: Timeout"),
    ],
)
def test_a_child_that_ends(breach, found, tmp_path):
    """The input is named, and those after it are played."""
    shutil.copy(fuzz.__file__, tmp_path / "fuzz.py")
    (tmp_path / "hostile.py").write_text(
        textwrap.dedent(f"""
        from types import SimpleNamespace as Session
        class Violation(Exception):
            pass
        def play(session):
            session.answers, session.refusals, session.kinds = 2, 1, ["odd"]
            session.called = session.answered = ["f"]
        def breach(session):
            {breach}
        def case(seed, number):
            return "kind", breach if number == 1 else play
        Session = lambda told, make=Session: make()
        never_called = lambda called: []
        """)
    )
    command = [sys.executable, str(tmp_path / "fuzz.py"), "4", "--patience", "1", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(f"input 1, kind: {found}", done.stdout)
    assert "4 inputs" in done.stdout.splitlines()[-1]
    assert done.stdout.endswith(": 1 violations\n")
    assert done.stdout.splitlines()[2].split() == ["kind", "4", "inputs", "6", "answers", "3", "refusals"]
