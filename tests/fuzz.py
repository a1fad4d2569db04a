"""Play random inputs in a child process, and say which of them broke a rule.

    python tests/fuzz.py 10000              # inputs 0 to 9999 of seed 0
    python tests/fuzz.py --only 1234        # one of them, with its calls

The child may crash, or end itself when an input takes too long: what it was playing is then to blame, and another child
goes on after it.
"""

import argparse
import faulthandler
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

# Inputs a child plays before a fresh one takes over, and seconds that a single input may take.
BATCH, PATIENCE = 1000, 60


def main(arguments=None):
    from hostile import never_called

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n_inputs", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds that one input may take")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="children at a time")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child or given.only is not None:
        first = given.first if given.only is None else given.only
        last = first + given.n_inputs if given.child else first + 1
        failed = _play(given.seed, range(first, last), given.patience, tell_calls=not given.child)
        return 0 if given.child else failed
    print(f"seed {given.seed}, inputs {given.first} to {given.first + given.n_inputs - 1}", flush=True)
    began = time.monotonic()
    tally, marks, violations = run(given.seed, given.first, given.n_inputs, given.patience, n_jobs=given.jobs)
    for kind in sorted({kind for kind, _ in tally}):
        print(f"{kind:<26}", *(f"{tally[kind, what]:>6} {what}" for what in ("inputs", "answers", "refusals")))
    # Of those that broke no rule.
    print("\nInputs that had it, or called it; and in how many of these a call was answered:")
    for mark in sorted(marks):
        if not mark.startswith("answer: "):
            answered = f" {marks['answer' + mark[4:]]:>6}" if mark.startswith("call: ") else ""
            print(f"{marks[mark]:>6}{answered} {mark}")
    missing = never_called(mark.removeprefix("answer: ") for mark in marks if mark.startswith("answer: "))
    if missing:
        print("never answered:", *missing)
    n_inputs = sum(n for (_, what), n in tally.items() if what == "inputs")
    print(f"{n_inputs} inputs in {time.monotonic() - began:.0f} s: {len(violations)} violations")
    # Among this many inputs, every function is called, and answers.
    return 1 if violations or (missing and n_inputs >= BATCH * 10) else 0


def run(seed, first, n_inputs, patience=PATIENCE, report=print, n_jobs=1):
    """Play inputs in children, `n_jobs` at a time.

    Returns
    -------
    tally : Counter
        By kind and by "inputs", "answers" or "refusals".
    marks : Counter
        How many inputs had each form of data, options and state, and called each function.
    violations : list of (number, kind, text)
    """
    size = max(min(BATCH, -(-n_inputs // n_jobs)), 1)
    ends = range(first, first + n_inputs, size)
    tasks = [(seed, at, min(at + size, first + n_inputs), patience, report) for at in ends]
    tally, marks, violations = Counter(), Counter(), []
    with ThreadPoolExecutor(n_jobs) as pool:
        for own in pool.map(_run_batch, *zip(*tasks, strict=True)) if tasks else ():
            tally.update(own[0])
            marks.update(own[1])
            violations += own[2]
    return tally, marks, violations


def _run_batch(seed, at, end, patience, report):
    """The same for one batch; a child that ends is followed by another."""
    tally, marks, violations = Counter(), Counter(), []
    while at < end:
        for number, kind, outcome, text in _child(seed, at, end - at, patience):
            tally[kind, "inputs"] += number >= at
            at = number + 1
            if outcome == "ok":
                answers, refusals, *had = text.split("|")
                tally[kind, "answers"] += int(answers)
                tally[kind, "refusals"] += int(refusals)
                marks.update(had)
            else:
                violations.append((number, kind, text))
                report(f"input {number}, {kind}: {text}", flush=True)
    return tally, marks, violations


def _child(seed, first, n_inputs, patience):
    """Outcomes of the inputs of one child, up to the one that ended it."""
    command = [sys.executable, __file__, str(n_inputs), "--child", "--seed", str(seed), "--first", str(first)]
    command += ["--patience", str(patience)]
    number, kind, outcome = first, "the harness", "start"
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            for line in process.stdout:
                number, kind, outcome, text = line.rstrip("\n").split("\t", 3)
                number = int(number)
                if outcome != "start":
                    yield number, kind, outcome, text
        errors.seek(0)
        said = errors.read()
    if kind == "the harness":
        raise RuntimeError(f"no input was played:\n{said}")
    if process.returncode:
        yield number, kind, "violation", f"crash or hang: exit status {process.returncode}: {_last_words(said)}"


def _last_words(said):
    """The last message of sanitizers, faulthandler or Python: the error, and its place in the package."""
    said = [line.strip() for line in said.splitlines()]
    what = [line for line in said if re.search(r"ERROR: |^Timeout|runtime error|Fatal Python error|^\w+Error", line)]
    where = [line for line in said if "sklda" in line and not line.startswith("Extension modules")]
    return " | ".join((what[:2] + where[:6]) or said[-5:])


def _play(seed, numbers, patience, tell_calls):
    """The work of a child: it prints a line before each input and a line after it."""
    faulthandler.enable()
    from hostile import Session, Violation, case

    failed = 0
    for number in numbers:
        kind, play = case(seed, number)
        _tell(number, kind, "start", "")
        session = Session(print if tell_calls else None)
        # A hang ends the child, with the place in its last words.
        faulthandler.dump_traceback_later(patience, exit=True)
        try:
            play(session)
        except Violation as violation:
            failed = 1
            _tell(number, kind, "violation", " ".join(str(violation).split()))
        else:
            had = sorted(session.kinds) + [f"call: {name}" for name in sorted(session.called)]
            had += [f"answer: {name}" for name in sorted(session.answered)]
            _tell(number, kind, "ok", "|".join([str(session.answers), str(session.refusals), *had]))
    faulthandler.cancel_dump_traceback_later()
    return failed


def _tell(*fields):
    print(*fields, sep="\t", flush=True)


if __name__ == "__main__":
    sys.exit(main())
