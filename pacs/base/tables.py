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
    """A cell as text: three decimals, fewer for large numbers, scientific for very small and very large ones."""
    if cell is None:
        return ABSENT
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return " ".join(str(cell).split())
    size = abs(cell)
    if size == 0 or not math.isfinite(cell) or 0.0005 <= size < 100:
        return f"{cell:.3f}"
    return f"{cell:.1f}" if 100 <= size < 1e15 else f"{cell:.1e}"


def format_table(table: Table, *, corner: str = "", width: int | None = None) -> str:
    """The table as aligned plain text, a rule under its header; numbers to the right, words to the left.

    Args:
        table: rows.
        corner: heads the column of row names.
        width: characters of a line; columns for which it has no room come below, under the row names once more.

    >>> print(format_table({"greedy accuracy": {"before": 0.61, "after": 0.95}, "seconds": {"after": 412.0}}))
                     before  after
    ---------------  ------  -----
    greedy accuracy   0.610  0.950
    seconds               –  412.0
    """
    names = [corner, *map(format_cell, table)]
    blocks: list[list[list[str]]] = [[_column(names, left=True)]]
    for name in column_names(table):
        cells = [row.get(name) for row in table.values()]
        column = _column([name, *map(format_cell, cells)], left=any(_is_word(cell) for cell in cells))
        taken = sum(len(other[0]) + 2 for other in blocks[-1])
        if width is not None and taken + len(column[0]) > width and len(blocks[-1]) > 1:
            blocks.append(blocks[0][:1])
        blocks[-1].append(column)
    return "\n\n".join("\n".join("  ".join(line).rstrip() for line in zip(*block, strict=True)) for block in blocks)


def _column(cells: list[str], *, left: bool) -> list[str]:
    """A column's cells, its header first, in one width, with the rule."""
    width = max(map(len, cells))
    header, *padded = [cell.ljust(width) if left else cell.rjust(width) for cell in cells]
    return [header, "-" * width, *padded]


def _is_word(cell: Cell) -> bool:
    """Text, but for numbers with what belongs to them: "3/20", "1.2 MB"."""
    return isinstance(cell, str) and not cell[:1].isdigit()
