"""Cells of a table in Markdown, and what the small question's runs have them be."""

import re

from tests.recipes.laboratory.light import right_of

#: Student's t, 97.5th percentile with 2 degrees of freedom.
T2 = 4.302653


def row(table: str, name: str) -> list[str]:
    """The cells of the row of a name."""
    (line,) = [line for line in table.splitlines() if re.match(rf"\| {name} +\|", line)]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def heads(table: str) -> list[str]:
    return [cell.strip() for cell in table.splitlines()[0].strip("|").split("|")][1:]


def cell(table: str, name: str, head: str) -> str:
    return row(table, name)[heads(table).index(head)]


def finals(method: str, samples: int = 16) -> list[list[int]]:
    """How many samples of each problem are right at the end of seeds 0, 1 and 2."""
    return [right_of({"method": method, "lr": 2e-4, "seed": seed}, samples, 4) for seed in range(3)]
