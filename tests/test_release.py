"""The check before a release, of the repository and of folders that have faults."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
specification = importlib.util.spec_from_file_location("release_check", ROOT / ".ci" / "release_check.py")
release_check = importlib.util.module_from_spec(specification)
specification.loader.exec_module(release_check)
VERSION = release_check.found(r"^  version: '(\S+)',$", "meson.build")


def test_the_repository_has_no_fault():
    assert not list(release_check.of_the_sources(VERSION, None))


def test_a_tag_that_is_not_that_of_the_version_is_found():
    wrong = list(release_check.of_the_sources("9.9.9", "v9.9.8"))
    for message in ("does not have version 9.9.9", "no section for 9.9.9", "the tag is v9.9.8", "no pickles of 9.9.9"):
        assert any(message in each for each in wrong), message
    assert any(
        ".dev0 is not the version of a release" in each for each in release_check.of_the_sources("1.0.dev0", "x")
    )


def test_figures_that_no_benchmark_has_are_found(tmp_path, monkeypatch):
    sources = ("CITATION.cff", "conda/recipe.yaml", "CHANGELOG.md", "paper.md", "paper.bib")
    pages = [page for name in ("benchmarks*", "calibration*") for page in (ROOT / "doc" / "method").glob(f"{name}.rst")]
    for name in (*sources, *(page.relative_to(ROOT) for page in pages)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    paper = (tmp_path / "paper.md").read_text(encoding="utf-8")
    (tmp_path / "paper.md").write_text(paper.replace("# References", "It needs 31,415.9 s.\n\n# References"))
    monkeypatch.setattr(release_check, "ROOT", tmp_path)
    wrong = list(release_check.of_the_sources(VERSION, None))
    assert wrong == ["no page of benchmarks or errors has these figures of paper.md: 31,415.9."]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# Software design", "## Software design", "paper.md lacks the sections Software design."),
        ("[@blei2003]", "[@blei2004]", "these are only in one of paper.md and paper.bib: blei2003, blei2004."),
        ("# References", "word " * 1800 + "\n\n# References", "words; the journal asks for 750 to 1750."),
    ],
)
def test_faults_of_the_paper_are_found(old, new, message):
    text = (ROOT / "paper.md").read_text(encoding="utf-8")
    (wrong,) = release_check.of_the_paper(text.replace(old, new))
    assert wrong.endswith(message)


@pytest.mark.parametrize(
    ("names", "messages"),
    [
        ([], ["has no source archive", "has no wheel"]),
        ([f"sklda-{VERSION}.tar.gz", f"sklda-{VERSION}-cp311-cp311-linux_x86_64.whl"], []),
        (["sklda-0.tar.gz", f"sklda-{VERSION}-x.whl"], [rf"sklda-0.tar.gz is not an archive of version {VERSION}"]),
    ],
)
def test_archives(names, messages, tmp_path):
    for name in names:
        (tmp_path / name).write_bytes(b"")
    wrong = list(release_check.of_the_archives(VERSION, tmp_path))
    assert len(wrong) == len(messages)
    assert all(re.search(message, each) for message, each in zip(messages, wrong, strict=True))


def test_a_wheel_that_is_too_large_is_found(tmp_path):
    (tmp_path / f"sklda-{VERSION}.tar.gz").write_bytes(b"")
    (tmp_path / f"sklda-{VERSION}-x.whl").write_bytes(bytes(release_check.MOST + 1))
    assert [each.split()[1:3] for each in release_check.of_the_archives(VERSION, tmp_path)] == [["has", "5000001"]]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is needed")
def test_a_first_demo_says_what_it_does_and_how_long_it_takes(tmp_path):
    run = ["make", "--dry-run", "--no-print-directory", "demo", f"VENV={tmp_path / 'none'}"]
    lines = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for work in ("-m venv", "pip wheel", "[plot]", "examples/demo.py"):
        at = next(i for i, line in enumerate(lines) if work in line and not line.startswith("echo"))
        said = [line for line in lines[max(at - 2, 0) : at] if line.startswith("echo")]
        assert said and re.search(r"seconds|minute", said[-1]), work
