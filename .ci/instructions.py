"""Whether kernels in x86-64 wheels use instructions beyond the baseline outside functions that are chosen at run time.

python .ci/instructions.py dist/*.whl
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Names of the functions with a `target`, with the suffixes that compilers add.
CHOSEN = re.compile(r"(_wide|_512)(\.\w+)*$")
# AVX and later, SSE3 to SSE4.2, and the bit instructions.
BEYOND = re.compile(
    r"^(v[a-z]\w+|\w*(popcnt|tzcnt|lzcnt|crc32)\w*|pshufb|palignr|pabs[bwd]|pmulld|pm(ax|in)(s[bd]|u[wd])|pmov[sz]x\w+"
    r"|p?blend\w+|round[ps][sd]|dpp[sd]|h(add|sub)p[sd]|addsubp[sd]|lddqu|mov(ddup|shdup|sldup)|ptest|pinsr[bdq]"
    r"|pextr[bdq]|insertps|extractps|packusdw|pcmp(eqq|gtq)|andn|bextr|bls\w+|bzhi|pdep|pext|mulx|rorx|s[ah]rx|shlx)$"
)


def wrong(library):
    """(function, instruction) for every instruction that an old processor may not have."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], check=True, capture_output=True, text=True)
    function = ""
    for line in text.stdout.splitlines():
        if line.endswith(">:"):
            function = line.split("<")[1][:-2]
        elif "\t" in line and not CHOSEN.search(function):
            instruction = line.split("\t")[1].split(maxsplit=1)
            # verr and verw are older than AVX.
            if instruction and BEYOND.match(instruction[0]) and instruction[0] not in ("verr", "verw"):
                yield function, instruction[0]


def main(wheels):
    n_libraries, n_chosen, faults = 0, 0, set()
    for wheel in wheels:
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(wheel).extractall(folder)
            for library in sorted(Path(folder).rglob("*.so")):
                n_libraries += 1
                symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout.split()
                n_chosen += sum(bool(CHOSEN.search(symbol)) for symbol in symbols)
                faults |= {(library.name, *each) for each in wrong(library)}
    for each in sorted(faults):
        print(*each)
    print(f"{n_libraries} libraries, {n_chosen} functions chosen at run time, {len(faults)} faults")
    return 0 if n_libraries and not faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
