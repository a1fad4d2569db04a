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
        found = min(each["mutated"] for each in case["quantities"].values())
        for quantity, each in case["quantities"].items():
            p = f"{_p(each['chi_square'])}, {_p(each['ecdf'])}, {_p(each['mutated'])}"
            yield f'"{name}", {quantity}, {case["fits"]}, {p}'
        yield f'"", *{case["mutation"]}*, {case["mutated_fits"]}, , , **{_p(found)}**'


def errors(found):
    for name, each in found.items():
        yield f'"{name}", {each["seeds"]}, {each["ratio"]:.2f}, {each["low"]:.2f} to {each["high"]:.2f}'


def _p(value):
    return f"{value:.2f}" if value >= 0.005 else "< 1e-9" if value < 1e-9 else f"{value:.0e}"
