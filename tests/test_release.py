"""The check before a release, of a wrong tag and of folders that have faults."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
specification = importlib.util.spec_from_file_location("release_check", ROOT / ".ci" / "release_check.py")
release_check = importlib.util.module_from_spec(specification)
specification.loader.exec_module(release_check)
VERSION = release_check.found(r"^  version: '(\S+)',$", "meson.build")


def test_a_tag_that_is_not_that_of_the_version_is_found():
    wrong = list(release_check.of_the_sources("9.9.9", "v9.9.8"))
    for message in ("does not have version 9.9.9", "no section for 9.9.9", "the tag is v9.9.8", "no pickles of 9.9.9"):
        assert any(message in each for each in wrong), message
    assert any(
        ".dev0 is not the version of a release" in each for each in release_check.of_the_sources("1.0.dev0", "x")
    )


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


def test_a_figure_of_another_row_is_found():
    text = (ROOT / "paper.md").read_text(encoding="utf-8")
    assert [*release_check.of_the_figures(), *release_check.of_the_paper(text)] == []
    wrong = list(release_check.of_the_paper(text.replace("190 MiB", "about 190 MB")))
    assert len(wrong) == 1 and "190, 239" in wrong[0]
    for name, words, page, rows in release_check.FIGURES:
        others = [row.replace("synthetic", "docstrings").replace("GibbsLDA", "tomotopy") for row in rows]
        if others != rows:
            (wrong,) = release_check.of_the_figures([(name, words, page, others)])
            assert f"{name} says" in wrong and f"{page}.rst" in wrong


def test_a_wheel_that_is_too_large_is_found(tmp_path):
    (tmp_path / f"sklda-{VERSION}.tar.gz").write_bytes(b"")
    (tmp_path / f"sklda-{VERSION}-x.whl").write_bytes(bytes(release_check.MOST + 1))
    assert [each.split()[1:3] for each in release_check.of_the_archives(VERSION, tmp_path)] == [["has", "5000001"]]
