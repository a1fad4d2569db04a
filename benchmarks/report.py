"""Tables of the benchmarks."""


def say(*words):
    print(*words, flush=True)


def table(title, header, rows):
    """Print a header and rows of strings in aligned columns."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    say(f"\n{title}")
    for row in [header, ["-" * width for width in widths], *rows]:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        say("  " + "  ".join([first.strip().ljust(widths[0]), *others]))
