"""Share of the time of a fit that checkpoints take: seconds and bytes of a save, and both for several intervals.

``python benchmarks/bench_checkpoints.py`` takes two minutes.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from sklda import GibbsLDA, TopicCountLDA
from sklda._checkpoints import saver
from sklda.callbacks import Checkpoint
from sklda.datasets import load_docstrings, make_lda_corpus
from sklda.papers.topic_count import PMMHTopicCountLDA


class Pace(saver.Pace):
    """Counts the saves, their seconds, and the bytes of the largest state of a chain."""

    saves, folder, largest = [], None, 0

    def __exit__(self, *error):
        self.saves.append(time.monotonic() - self._begin)
        sizes = [file.stat().st_size for file in self.folder.glob("fit/stage-*.chain-*")]
        Pace.largest = max(sizes, default=self.largest)
        super().__exit__(*error)


def measure(name, lda, X, every):
    """Fit with checkpoints in a new folder, and print a line."""
    with tempfile.TemporaryDirectory() as folder:
        Pace.saves, Pace.folder, Pace.largest, begin = [], Path(folder), 0, time.monotonic()
        lda.set_callbacks(Checkpoint(os.path.join(folder, "fit"), every=every)).fit(X)
        seconds = time.monotonic() - begin
        fitted = os.path.getsize(os.path.join(folder, "fit", "fitted"))
    saving = sum(Pace.saves)
    longest = max(Pace.saves, default=0)
    print(
        f"{name:34} {every:6g} {seconds:8.1f} {len(Pace.saves):6} {saving:8.2f} {saving / seconds:8.2%} {longest:9.3f}"
        f" {Pace.largest / 1e6:9.1f} {fitted / 1e6:9.1f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=3_000_000)
    parser.add_argument("--sweeps", type=int, default=80)
    options = parser.parse_args()
    saver.Pace = Pace
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'fit':34} {'every':>6} {'seconds':>8} {'saves':>6} {'saving':>8} {'share':>8} {'longest':>9}", end="")
    print(f" {'state MB':>9} {'fitted MB':>9}")
    X = make_lda_corpus(options.tokens // 150, 20_000, 50, doc_length=150, random_state=0).data
    for every in (0, 5, 60):
        lda = GibbsLDA(100, max_iter=options.sweeps, random_state=0)
        measure(f"GibbsLDA, {options.tokens:.1e} tokens", lda, X, every)
    X = load_docstrings().data[:200]
    for lda in (
        TopicCountLDA(2, 12, max_iter=6000, random_state=0),
        PMMHTopicCountLDA(2, 12, evidence="guided_ais", n_proposals=100, n_temperatures=30, random_state=0),
    ):
        measure(f"{type(lda).__name__}, {X.sum()} tokens", lda, X, 60)


if __name__ == "__main__":
    main()
