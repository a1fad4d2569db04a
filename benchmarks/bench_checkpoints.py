"""Share of the time of a fit that checkpoints take: seconds and bytes of a save, and both for several intervals.

``python benchmarks/bench_checkpoints.py`` takes two minutes.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

from report import say, table
from sklearn.exceptions import ConvergenceWarning

from sklda import GibbsLDA, TopicCountLDA
from sklda._checkpoints import saver
from sklda.callbacks import Checkpoint
from sklda.datasets import load_docstrings, make_lda_corpus


class Pace(saver.Pace):
    """Counts the saves, their seconds, and the bytes of the largest state of a chain."""

    saves, folder, largest = [], None, 0

    def __exit__(self, *error):
        self.saves.append(time.monotonic() - self._begin)
        sizes = [file.stat().st_size for file in self.folder.glob("fit/fit-1/stage-*.chain-*")]
        Pace.largest = max(sizes, default=self.largest)
        super().__exit__(*error)


def measure(name, lda, X, every):
    """Fit with checkpoints in a new folder; a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        Pace.saves, Pace.folder, Pace.largest, begin = [], Path(folder), 0, time.monotonic()
        lda.set_callbacks(Checkpoint(os.path.join(folder, "fit"), every=every)).fit(X)
        seconds = time.monotonic() - begin
        fitted = os.path.getsize(os.path.join(folder, "fit", "fit-1", "fitted"))
    saving = sum(Pace.saves)
    longest = max(Pace.saves, default=0)
    sizes = [f"{each / 1e6:.1f}" for each in (Pace.largest, fitted)]
    row = [name, f"{every:g}", f"{seconds:.1f}", str(len(Pace.saves)), f"{saving:.2f}", f"{saving / seconds:.2%}"]
    row += [f"{longest:.3f}", *sizes]
    say(*row)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=3_000_000)
    parser.add_argument("--sweeps", type=int, default=80)
    options = parser.parse_args()
    saver.Pace = Pace
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    X = make_lda_corpus(options.tokens // 150, 20_000, 50, doc_length=150, random_state=0).data
    for every in (0, 5, 60):
        lda = GibbsLDA(100, max_iter=options.sweeps, random_state=0)
        rows.append(measure(f"GibbsLDA, {options.tokens:.1e} tokens", lda, X, every))
    X = load_docstrings().data[:200]
    lda = TopicCountLDA(min_components=2, max_components=12, max_iter=400, random_state=0)
    rows.append(measure(f"TopicCountLDA, {X.sum()} tokens", lda, X, 60))
    header = ["fit", "every", "seconds", "saves", "saving", "share", "longest", "state MB", "fitted MB"]
    table("Seconds and sizes of checkpoints", header, rows)


if __name__ == "__main__":
    main()
