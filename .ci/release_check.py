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
    pages = [page for name in ("benchmarks*", "calibration*") for page in (ROOT / "doc" / "method").glob(f"{name}.rst")]
    figures = {each for page in pages for each in numbers(page.read_text(encoding="utf-8"))}
    if missing := numbers(body.partition("# Research impact statement")[2]) - figures:
        yield f"no page of benchmarks or errors has these figures of paper.md: {', '.join(sorted(missing))}."


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
