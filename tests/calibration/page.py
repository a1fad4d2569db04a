"""The tables of the page "Calibration of posteriors and errors", from the results."""

import re


def with_tables(page, results):
    """The text of the page, with the rows of both tables after their directives."""
    for name, rows in (("posteriors", posteriors(results["cases"])), ("errors", errors(results["errors"]))):
        lines = "".join(f"   {row}\n" for row in rows)
        page = re.sub(
            rf"(\.\. csv-table:: [^\n]*\n   :name: {name}\n(?:   :[^\n]*\n)+\n)(?:   [^\n]+\n)*", rf"\g<1>{lines}", page
        )
    return page


def posteriors(cases):
    for name, case in cases.items():
        each = case["quantities"].values()
        chi_square, ecdf, mutated = (_p(min(p[test] for p in each)) for test in ("chi_square", "ecdf", "mutated"))
        found = f"{case['fits']}, {chi_square}, {ecdf}, {case['mutation']}, {mutated}"
        yield f'"{name}", "{", ".join(case["quantities"])}", {found}'


def errors(found):
    for name, each in found.items():
        yield f'"{name}", {each["seeds"]}, {each["ratio"]:.2f}, {each["low"]:.2f} to {each["high"]:.2f}'


def _p(value):
    return f"{value:.2f}" if value >= 0.005 else "< 1e-9" if value < 1e-9 else f"{value:.0e}"
