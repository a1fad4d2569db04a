"""Whether the version, the changelog, the citation, the paper, the tag and the archives of a release agree.

    python .ci/release_check.py [--tag v0.1.0] dist

Without a tag, the version may be one of development.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Bytes that a wheel may have.
MOST = 5_000_000
# What the Journal of Open Source Software asks of a paper since 2026.
SECTIONS = (
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "References",
)
LEAST_WORDS, MOST_WORDS = 750, 1750
# Figures that are told outside their page: the file, the words around them, the page of doc/method and its rows, in the
# order of the figures. If there are more rows than figures, these are the least and the largest.
GIANT = r"^   {}, (?:[^,]+, ){{3}}(\d+),"
TIMES = r"takes 1/(\d+) to 1/(\d+) of the CPU time", "benchmarks_quality", [r"^\w+ +\d+ +tomotopy .* (\S+)$"]
FIGURES = (
    ("README.md", *TIMES),
    ("doc/index.rst", *TIMES),
    ("doc/method/benchmarks.rst", *TIMES),
    ("paper.md", *TIMES),
    (
        "README.md",
        r"\| (\d+) of 12 corpora \|" + r" (\d+) of 12 \|" * 4 + r" (\d+) of 12 \(pyrmallet\)",
        "topics_found",
        [
            GIANT.format(name)
            for name in (r"GibbsLDA \(default\)", "scikit-learn", "tomotopy", "topica", "gensim", "pyrmallet")
        ],
    ),
    (
        "paper.md",
        r"draws ([\d.]+) and ([\d.]+) million tokens per second with 20 and 1,000 topics",
        "benchmarks_speed",
        [r"^synthetic +20 +(\S+)", r"^synthetic +1,000 +(\S+)"],
    ),
    (
        "paper.md",
        r"tomotopy 0\.14 draws ([\d.]+) and ([\d.]+)\. ",
        "benchmarks_speed",
        [r"^synthetic +20 +\S+ +(\S+)", r"^synthetic +1,000 +\S+ +(\S+)"],
    ),
    (
        "paper.md",
        r"with 1,000 topics needs (\d+) MiB, and one of tomotopy (\d+) MiB",
        "benchmarks_speed",
        [r"^sklda, GibbsLDA.fit +\d+ +(\d+)$", r"^tomotopy +\d+ +(\d+)$"],
    ),
    (
        "paper.md",
        r"this share is ([\d.]+) for intervals of 95 %",
        "calibration",
        [r'^   "48, new shapes", "default", ([\d.]+),'],
    ),
)
# Numbers of the paper that are settings of its benchmarks.
SETTINGS = {"20", "100", "300", "500", "1,000", "86", "64", "512"}  # x86-64 with AVX-512


def found(pattern, name):
    """The first group of the pattern in a file of the repository, or None."""
    match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return match and match[1]


def numbers(text):
    """The numbers in a text, without the years of citations."""
    return set(re.findall(r"\d[\d,]*(?:\.\d+)?(?<!,)", re.sub(r"@\w+", "", text)))


def of_the_sources(version, tag):
    """Faults of the files of the repository."""
    if {found(r"^version: (\S+)$", "CITATION.cff"), found(r"^  version: (\S+)$", "conda/recipe.yaml")} != {version}:
        yield f"CITATION.cff or conda/recipe.yaml does not have version {version}."
    if not found(r"^## \[(Unreleased)\]$", "CHANGELOG.md"):
        yield "CHANGELOG.md has no section for unreleased changes."
    yield from of_the_paper((ROOT / "paper.md").read_text(encoding="utf-8"))
    yield from of_the_figures()
    base = version.split(".dev")[0]
    if not found(rf"^## \[({re.escape(base)})\]", "CHANGELOG.md"):
        yield f"CHANGELOG.md has no section for {base}."
    if tag is None:
        return
    if "GAP" in (ROOT / "paper.md").read_text(encoding="utf-8"):
        yield "paper.md has gaps that a person has to fill in."
    if tag != f"v{version}":
        yield f"the tag is {tag}, and the version {version}."
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"{version} is not the version of a release."
    if not found(rf"^## \[({re.escape(base)})\] - \d{{4}}-\d{{2}}-\d{{2}}$", "CHANGELOG.md"):
        yield f"CHANGELOG.md has no date for {base}."
    if f'"v{version}"' not in (ROOT / "doc/_static/switcher.json").read_text(encoding="utf-8"):
        yield f"doc/_static/switcher.json does not have v{version}."
    if not list((ROOT / "tests" / "pickles" / version).glob("*.pkl.gz")):
        yield f"tests/pickles has no pickles of {version}; run tests/make_pickles.py."


def of_the_paper(text):
    """Faults of the paper: its sections, its length, its references and its figures."""
    body = text.split("---", 2)[2]
    sections = re.findall(r"^# (.+)$", body, re.MULTILINE)
    if missing := [each for each in SECTIONS if each not in sections]:
        yield f"paper.md lacks the sections {', '.join(missing)}."
    if not LEAST_WORDS <= (n_words := len(body.split())) <= MOST_WORDS:
        yield f"paper.md has {n_words} words; the journal asks for {LEAST_WORDS} to {MOST_WORDS}."
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    if wrong := set(re.findall(r"@(\w+)", body)) ^ set(known):
        yield f"these are only in one of paper.md and paper.bib: {', '.join(sorted(wrong))}."
    impact = " ".join(body.partition("# Research impact statement")[2].split())
    for name, words, _, _ in FIGURES:
        impact = re.sub(words, "", impact) if name == "paper.md" else impact
    if untied := numbers(impact) - SETTINGS:
        yield f"FIGURES does not say where these figures of paper.md come from: {', '.join(sorted(untied))}."


def of_the_figures(figures=FIGURES):
    """Figures that differ from the rows of their pages."""
    for name, words, page, patterns in figures:
        found = re.search(words, " ".join((ROOT / name).read_text(encoding="utf-8").split()))
        rows = (ROOT / "doc" / "method" / f"{page}.rst").read_text(encoding="utf-8")
        measured = [float(each) for pattern in patterns for each in re.findall(pattern, rows, re.MULTILINE)]
        if found is None or not measured:
            yield f"{name if measured else page} has no figures like {words!r}."
            continue
        told = [float(each) for each in found.groups()]
        if len(measured) > len(told):
            measured = [min(measured), max(measured)]
        if told != measured:
            yield f"{name} says {told}, and {page}.rst {measured}: {found[0]}."


def of_the_archives(version, folder):
    """Faults of the archives."""
    archives = sorted(folder.iterdir()) if folder.is_dir() else []
    if not any(path.name.endswith(".tar.gz") for path in archives):
        yield f"{folder} has no source archive."
    if not any(path.suffix == ".whl" for path in archives):
        yield f"{folder} has no wheel."
    for path in archives:
        size = path.stat().st_size
        print(f"{size / 1e6:6.2f} MB  {path.name}")
        if not path.name.startswith((f"sklda-{version}-", f"sklda-{version}.tar.gz")):
            yield f"{path.name} is not an archive of version {version}."
        if path.suffix == ".whl" and size > MOST:
            yield f"{path.name} has {size} bytes, more than {MOST}."


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tag")
    given = parser.parse_args(arguments)
    version = found(r"^  version: '(\S+)',$", "meson.build")
    wrong = [*of_the_sources(version, given.tag), *of_the_archives(version, given.folder)]
    for each in wrong:
        print(each, file=sys.stderr)
    print(f"sklda {version}: {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
