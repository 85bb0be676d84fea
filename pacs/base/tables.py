"""Tables: row -> column -> cell, the same for the console and for the page."""

import math
from collections.abc import Mapping

Cell = str | int | float | None
Table = Mapping[str, Mapping[str, Cell]]

ABSENT = "–"


def column_names(table: Table) -> list[str]:
    """Every column that some row has, in the order in which they first occur."""
    return list(dict.fromkeys(column for row in table.values() for column in row))


def format_cell(cell: Cell) -> str:
    """A cell as text: three decimals, fewer for large numbers, scientific for very small ones."""
    if cell is None:
        return ABSENT
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return " ".join(str(cell).split())
    size = abs(cell)
    if size == 0 or not math.isfinite(cell) or 0.0005 <= size < 100:
        return f"{cell:.3f}"
    return f"{cell:.1f}" if size >= 100 else f"{cell:.1e}"


def format_table(table: Table, *, corner: str = "") -> str:
    """The table as aligned plain text, a rule under its header; `corner` heads the column of row names.

    >>> print(format_table({"greedy accuracy": {"before": 0.61, "after": 0.95}, "seconds": {"after": 412.0}}))
                     before  after
    ---------------  ------  -----
    greedy accuracy   0.610  0.950
    seconds               –  412.0
    """
    columns = column_names(table)
    lines = [[corner, *columns]]
    lines += [[format_cell(name), *(format_cell(row.get(column)) for column in columns)] for name, row in table.items()]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in lines
    )
