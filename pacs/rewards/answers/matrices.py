"""Reads a matrix, whose entries are answers."""

from collections.abc import Callable
from typing import Final

from pacs.rewards.answers import kinds
from pacs.rewards.answers.bounds import MAX_ITEMS
from pacs.rewards.answers.brackets import first, split_at
from pacs.rewards.answers.refusals import Operation, Unreadable
from pacs.rewards.answers.tokens import Token, joined

_MATRICES: Final = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix"])
_DETERMINANTS: Final = frozenset(["vmatrix", "Vmatrix"])


def matrix(tokens: list[Token], read: Callable[[list[Token]], kinds.Answer]) -> kinds.Matrix:
    r"""The matrix between \begin and \end.

    Args:
        tokens: from the one to the other.
        read: reads an entry.

    Raises:
        Unreadable: If it is another environment, or its rows are not alike.
        Operation: If it is a determinant.
    """
    behind, end = first(tokens, "}"), len(tokens) - 1 - first(tokens[::-1], "\\end")
    environment, inner = joined(tokens[1:behind]).strip("{"), tokens[behind + 1 : end]
    if environment in _DETERMINANTS:
        raise Operation("det")
    if environment == "array" and inner and inner[0].text == "{":
        inner = inner[first(inner, "}") + 1 :]
    if environment not in _MATRICES | {"array"} or joined(tokens[end:]) != f"\\end{{{environment}}}":
        raise Unreadable(f"an environment {environment!r}")
    rows = [row for row in split_at(inner, "\\\\") or [inner] if row]
    cells = tuple(tuple(read(cell) for cell in split_at(row, "&") or [row]) for row in rows)
    if not cells or len({len(row) for row in cells}) > 1 or sum(map(len, cells)) > MAX_ITEMS:
        raise Unreadable("rows of a matrix that are not alike")
    return kinds.Matrix(cells)
