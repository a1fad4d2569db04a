"""What the scripts of the papers share: options, results as JSON, and the numbers that the pages of doc/papers include.

Import it first: it makes the scripts of the parent folder importable. A script has a table ``PARTS`` of `Part`. Each
part measures something and returns what JSON can hold. ``results/NAME.json`` keeps it with its command, form and CPU
seconds. The files in ``doc/papers/values`` are made from this JSON only; ``--pages`` makes them without measuring.
"""

import argparse
import csv
import gzip
import io
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
RESULTS = HERE / "results"
PAGES = HERE.parents[1] / "doc" / "papers" / "values"


class NoDataError(Exception):
    """The folder with corpora is absent, or does not have this corpus."""


@dataclass(frozen=True)
class Part:
    """A measurement, and how pages show what it found.

    measure(options) returns what JSON can hold; values(found) gives texts by name, which pages use as |part_name|;
    table(found) gives a header and rows.
    """

    measure: Callable
    values: Callable | None = None
    table: Callable | None = None


def path(options, *names):
    """A file in the folder ``--data``."""
    file = None if options.data is None else options.data.joinpath(*names)
    if file is None or not file.exists():
        raise NoDataError(f"{'/'.join(names)} is not in the folder --data")
    return file


def corpus(options, name):
    """Counts of a corpus in the folder ``--data``, or of the bundled one."""
    from peers import read_ldac

    from sklda.datasets import load_docstrings

    if name == "docstrings":
        return load_docstrings().data
    return read_ldac(path(options, name, "corpus.ldac.gz"))


def column(options, name, of):
    """A column of the labels of a corpus."""
    with gzip.open(path(options, name, "labels.csv.gz"), "rt", encoding="utf-8") as file:
        return np.array([row[of] for row in csv.DictReader(file)])


def chosen(options, cases):
    """The cases of a part that are to be measured; their results join those of the others."""
    return {name: case for name, case in cases.items() if not options.only or name in options.only}


def rounded(found, digits=7):
    """The same with numbers that JSON can hold, of few digits."""
    if isinstance(found, dict):
        return {str(key): rounded(value, digits) for key, value in found.items()}
    if isinstance(found, (list, tuple, np.ndarray)):
        return [rounded(value, digits) for value in found]
    if isinstance(found, (float, np.floating)):
        return float(f"{found:.{digits}g}")
    return int(found) if isinstance(found, np.integer) else bool(found) if isinstance(found, np.bool_) else found


# --- what pages include -----------------------------------------------------------------------------------------------


def includes(name, parts, record):
    """Names and texts of the files in doc/papers/values that belong to a script."""
    lines, files = [], {}
    for part, own in record.items():
        texts = {"run": f"{own['form']} form, {own['cpu_seconds']:.0f} CPU s"}
        texts |= parts[part].values(own["found"]) if parts[part].values else {}
        lines += [f".. |{part}_{key}| replace:: {text}\n" for key, text in texts.items()]
        if parts[part].table:
            header, rows = parts[part].table(own["found"])
            file = io.StringIO()
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
            files[f"{name}_{part}.csv"] = file.getvalue()
    return files | {f"{name}.inc": "".join(lines)}


def write_includes(name, parts, record):
    for file, text in includes(name, parts, record).items():
        (PAGES / file).write_text(text, encoding="utf-8")


# --- command line -----------------------------------------------------------------------------------------------------


def parse(file, description, parts):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", type=Path, metavar="FOLDER", help="folder of corpora, each a folder with corpus.ldac.gz")
    add("--parts", nargs="+", choices=list(parts), default=list(parts), help="parts to run (default: all)")
    add("--only", nargs="+", metavar="CASE", help="cases of a part, such as C-1; the other results are kept")
    add("--quick", action="store_true", help="the form of some minutes")
    add("--pages", action="store_true", help="measure nothing: make what pages include from the results")
    add("--json", type=Path, default=RESULTS / f"{Path(file).stem}.json", help="file of results")
    add("--seed", type=int, default=0)
    return parser.parse_args()


def main(file, description, parts):
    """Measure the parts that are asked for, show and keep the results, and make what the pages include."""
    from report import table

    options, name = parse(file, description, parts), Path(file).stem
    for part in [] if options.pages else options.parts:
        begin = time.process_time()
        try:
            with threadpool_limits(1):
                found = parts[part].measure(options)
        except NoDataError as error:
            print(f"{part}: left out, {error}.")
            continue
        form = "quick" if options.quick else "full"
        command = f"python benchmarks/papers/{name}.py --data FOLDER{' --quick' * options.quick} --parts {part}"
        seconds = round(time.process_time() - begin, 1)
        # Read again: another process may have measured another part.
        record, found = read(options.json), rounded(found)
        if options.only and record.get(part, {}).get("form") == form:
            found = record[part]["found"] | found
            seconds = round(seconds + record[part]["cpu_seconds"], 1)
        record[part] = {"command": command, "form": form, "cpu_seconds": seconds, "found": found}
        record = {each: record[each] for each in parts if each in record}
        options.json.write_text(json.dumps(record, separators=(",", ":")).replace('},"', '},\n"') + "\n")
        print(f"{part}: {record[part]['cpu_seconds']} CPU s", flush=True)
        if parts[part].table:
            header, rows = parts[part].table(record[part]["found"])
            table(part, header, [list(map(str, row)) for row in rows])
    record = read(options.json)
    if options.json == RESULTS / f"{name}.json":
        write_includes(name, parts, record)


def read(file):
    return json.loads(file.read_text()) if file.exists() else {}
