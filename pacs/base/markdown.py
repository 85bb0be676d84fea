"""Tables in Markdown that can be read as plain text, too."""

from collections.abc import Sequence

from pacs.base.statistics import Estimate

ABSENT = "–"


def cell(value: object) -> str:
    """A value within its cell, whatever it holds: a bar would end the cell, a line break the table."""
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns are padded to their widest cell, the first to the left and the others to the right."""
    lines = [[cell(value) for value in line] for line in (header, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust, *[str.rjust] * (len(widths) - 1)]
    padded = [[side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)] for line in lines]
    rule = ["-" * (width - 1) + ":" if i else "-" * width for i, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (padded[0], rule, *padded[1:]))


def percent(share: float | None) -> str:
    """In percent with two decimals, as the paper prints it."""
    return ABSENT if share is None else f"{100 * share:.2f}"


def interval(value: Estimate | None) -> str:
    """The mean and its interval, in percent."""
    return ABSENT if value is None else f"{percent(value.mean)} [{percent(value.low)}, {percent(value.high)}]"


def number(value: float | None) -> str:
    """A length, a time or a speed: one decimal."""
    return ABSENT if value is None else f"{value:,.1f}"
