"""The sources: the error of an import without compiled kernels, and names that say one thing."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Without the packages of the environment, where an editable install may find sklda first.
IMPORT = [sys.executable, "-S", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import {}"]


@pytest.mark.parametrize("module", ["sklda", "sklda.metrics", "sklda._core.corpus"])
def test_the_source_tree(tmp_path, module):
    shutil.copytree(ROOT / "sklda", tmp_path / "sklda", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    *run, code = IMPORT
    run += [code.format(module), str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True)
    assert "source tree" not in done.stderr and "cannot import name '_tokens'" in done.stderr
    (tmp_path / "meson.build").touch()
    done = subprocess.run(run, capture_output=True, text=True)
    message = (
        "is the source tree of sklda, and its kernels are not compiled for this Python: install it with `pip install"
    )
    assert f"ImportError: {tmp_path.resolve()} {message} {tmp_path.resolve()}`" in done.stderr
    assert "start Python in another folder" in done.stderr


def test_a_class_or_function_has_a_name_of_its_own():
    """Two things of one name are taken for each other. What begins with an underscore and is no class is read in its
    own module only. Two papers have a variational EM."""
    found = {}
    for path in (ROOT / "sklda").rglob("*.py"):
        for each in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.ClassDef) or (isinstance(each, ast.FunctionDef) and each.name[0] != "_"):
                found.setdefault(each.name, set()).add(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1}.keys() == {"variational_em"}
