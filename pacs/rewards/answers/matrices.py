r"""Reads what stands between \begin and \end: a matrix, whose entries are answers, or a system, of one a line."""

from collections.abc import Callable
from typing import Final

from pacs.rewards.answers import types
from pacs.rewards.answers.brackets import first, outside, split, split_at
from pacs.rewards.answers.refusals import MAX_ITEMS, Operation, Unreadable
from pacs.rewards.answers.signs import RELATIONS, separates
from pacs.rewards.answers.tokens import Token, joined

_MATRICES: Final = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix"])
_DETERMINANTS: Final = frozenset(["vmatrix", "Vmatrix"])
#: Environments of lines; a star is typed, and is read as a dot.
_SYSTEMS: Final = frozenset(["cases", "dcases", "aligned", "align", "align\\cdot", "gathered", "split"])
#: Matrices, unless a brace opens them or all their lines are relations.
_LOOSE: Final = frozenset(["array", "matrix"])
_IF: Final = frozenset(["if", "for", "when", "where", "otherwise", "else"])
_ELSE: Final = frozenset(["otherwise", "else"])
_COMMA: Final = Token("other", ",")


def system(tokens: list[Token]) -> list[Token] | None:
    r"""The lines of \begin{cases} ... \end{cases} as a list with commas; None if they are no relations."""
    if (lines := _lines(tokens)) is None:
        return None
    listed: list[Token] = []
    for line in lines:
        kept = [
            token
            for token, *near in zip(line, [*line[1:], _COMMA], [_COMMA, *line[:-1]], strict=True)
            if token.text != "&" or not any(other.text in RELATIONS for other in near)
        ]
        kept = _without_stop(kept)
        if any(token.text == "&" or _begins_condition(token) for token in kept) or not _has_relation(kept):
            return None
        listed += [_COMMA, *kept] if listed else kept
    return listed


def pieces(tokens: list[Token], read: Callable[[list[Token]], types.Answer]) -> types.Collection | None:
    r"""A function that is defined by cases: values with their conditions; None if the tokens are none.

    Args:
        tokens: from \begin to \end.
        read: reads a value or a condition.
    """
    if (lines := _lines(tokens)) is None or len(lines) > MAX_ITEMS:
        return None
    found: list[types.Answer] = []
    for line in lines:
        cells = split(line, lambda token: token.text == "&" or _begins_condition(token))
        kept = [cell for cell in map(_without_stop, cells) if cell]
        if any(token.kind == "words" and token.text.strip() in _ELSE for token in line):
            kept = [kept[0], []] if kept else []
        if len(kept) != 2:
            return None
        condition = read(kept[1]) if kept[1] else types.Words("otherwise")
        found.append(types.Bracketed("cases", (read(kept[0]), condition), "cases"))
    return types.Collection(tuple(found))


def _lines(tokens: list[Token]) -> list[list[Token]] | None:
    """The lines of an environment that is all the tokens, but for an open brace before it; None for a matrix."""
    braced = tokens[0].text == "\\{" and tokens[-1].text == "}"
    if len(tokens) < 4 or tokens[int(braced)].text != "\\begin":
        return None
    environment, inner, is_all = _environment(tokens[int(braced) :])
    if environment not in _SYSTEMS | _LOOSE or not is_all:
        return None
    lines = [line for line in split_at(inner, "\\\\") or [inner] if line]
    is_system = braced or environment not in _LOOSE or all(map(_has_relation, lines))
    return lines if lines and is_system else None


def _environment(tokens: list[Token]) -> tuple[str, list[Token], bool]:
    r"""The name and the content of what \begin opens at the first token, and whether its \end is the last there is."""
    behind, end = first(tokens, "}"), len(tokens) - 1 - first(tokens[::-1], "\\end")
    environment, inner = joined(tokens[1:behind]).strip("{"), tokens[behind + 1 : end]
    if environment == "array" and inner[:1] and inner[0].text == "{":
        inner = inner[first(inner, "}") + 1 :]
    return environment, inner, joined(tokens[end:]) == f"\\end{{{environment}}}"


def _without_stop(line: list[Token]) -> list[Token]:
    """Without what separates it from the next one."""
    end = len(line)
    while end and (separates(line[end - 1]) or line[end - 1].text == "."):
        end -= 1
    return line[:end]


def _begins_condition(token: Token) -> bool:
    return token.kind == "words" and token.text.strip(" ,").casefold() in _IF


def _has_relation(tokens: list[Token]) -> bool:
    return any(token.text in RELATIONS for token in outside(tokens))


def matrix(tokens: list[Token], read: Callable[[list[Token]], types.Answer]) -> types.Matrix:
    r"""The matrix between \begin and \end.

    Args:
        tokens: from the one to the other.
        read: reads an entry.

    Raises:
        Unreadable: If it is another environment, or its rows are not alike.
        Operation: If it is a determinant.
    """
    environment, inner, is_all = _environment(tokens)
    if environment in _DETERMINANTS:
        raise Operation("det")
    if environment not in _MATRICES | {"array"} or not is_all:
        raise Unreadable(f"an environment {environment!r}")
    rows = [row for row in split_at(inner, "\\\\") or [inner] if row]
    cells = tuple(tuple(read(cell) for cell in split_at(row, "&") or [row]) for row in rows)
    if not cells or len({len(row) for row in cells}) > 1 or sum(map(len, cells)) > MAX_ITEMS:
        raise Unreadable("rows of a matrix that are not alike")
    return types.Matrix(cells)
