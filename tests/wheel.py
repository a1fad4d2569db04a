"""The tests of a wheel, from an empty folder: ``python tests/wheel.py``, or `make test-wheel`.

They use every kernel and every estimator, and need a minute. The package must be installed: that of the source tree
is not found from there. ``--all`` runs the whole suite; other arguments go to pytest.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAST = (
    "models/compound/test_priors.py",
    "datasets/test_datasets.py",
    "models/test_pipelines.py",
    "likelihood/evidence/test_permanent.py",
    "likelihood/held_out/test_log_likelihoods.py",
    "inspection/test_tables.py",
    "models/labels/test_prediction.py",
    "metrics/test_held_out.py",
    "sampling/test_exact.py",
    "sampling/test_word_major.py",
    "test_annotations.py",
    "test_corpus.py",
    "test_persistence.py",
    "models/variational/test_cvb0.py",
)


def main(arguments):
    import pytest

    whole = "--all" in arguments
    chosen = [ROOT / "tests"] if whole else [ROOT / "tests" / name for name in FAST]
    # Without two tests that make many draws.
    quick = [] if whole else ["-k", "not at_its_rate"]
    options = [each for each in arguments if each != "--all"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = Path(importlib.util.find_spec("sklda").origin)
        if ROOT in found.parents and "site-packages" not in found.parts:
            raise SystemExit(f"the package is that of the source tree: {found}; install a wheel.")
        print(f"testing {found.parent}", flush=True)
        try:
            return pytest.main(
                ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", *quick, *options, *map(str, chosen)]
            )
        finally:
            os.chdir(ROOT)


if __name__ == "__main__":
    # Python puts the folder of this script first.
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() not in (ROOT, ROOT / "tests")]
    sys.exit(main(sys.argv[1:]))
