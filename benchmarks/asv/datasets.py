"""States of MALLET whose sources are long: the time of a line must grow with its length, not with its square."""

import tempfile
from pathlib import Path

from sklda.datasets import read_mallet_state

HEAD = "#doc source pos typeindex type topic\n#alpha : 1.0 1.0 1.0 1.0 1.0 1.0 1.0\n#beta : 0.1\n"


class MalletStates:
    timeout = 600

    def setup(self):
        self.folder = tempfile.TemporaryDirectory()
        numbers = " ".join(map(str, range(1000)))
        self.numbers = self.write("numbers", (f"0 {numbers} {i} {i % 7} w{i % 7} 1\n" for i in range(1000)))
        others = (f"{d} NA 0 0 a 1\n" for d in range(1, 75_000))
        self.one_long = self.write("one long", [f"0 {'x' * 1_000_000} 0 0 a 1\n", *others])

    def teardown(self):
        self.folder.cleanup()

    def write(self, name, lines):
        path = Path(self.folder.name, name)
        path.write_text(HEAD + "".join(lines), encoding="utf-8")
        return path

    def time_sources_of_many_numbers(self):
        read_mallet_state(self.numbers)

    def time_a_long_source_among_short_ones(self):
        read_mallet_state(self.one_long)
