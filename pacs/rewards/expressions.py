r"""Sums, differences, products and quotients of whole numbers: read, evaluated exactly, and brought to one form.

Nothing is executed: a text is cut into tokens and read by recursive descent. Its length and its depth are bounded, so
that reading takes a time that is linear in the text, and the values stay small.

    sum      ["-"] product (("+" | "-") product)*
    product  factor (("*" | "/") factor)*
    factor   number | "(" sum ")" | "\frac{" sum "}{" sum "}"
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, cast

from pacs.rewards.answers.brackets import Cursor
from pacs.rewards.answers.tokens import Token

#: A longer text is no expression.
MAX_CHARS: Final = 256
#: Nor is one whose brackets are deeper.
MAX_DEPTH: Final = 32
#: How LaTeX, Unicode and Python write the four operations.
_SIGNS: Final = {
    **dict.fromkeys(("*", "×", "·", "∗", "⋅", "\\times", "\\cdot"), "*"),
    **dict.fromkeys(("/", "÷", "\\div"), "/"),
    **dict.fromkeys(("-", "−"), "-"),
    **dict.fromkeys(("\\frac", "\\dfrac", "\\tfrac"), "frac"),
}
#: A number (ASCII digits without zeros before them), a command, or one sign; what sets space apart stands before it.
_TOKEN: Final = re.compile(
    r"(?:\s|\\[,;:! ])*(?:\\left(?=\s*\()|\\right(?=\s*\)))?\s*"
    r"((?:0|[1-9][0-9]*)(?![0-9])|\\(?:times|cdot|div|[dt]?frac)(?![A-Za-z])|[-+*/(){}×·∗⋅÷−])"
)
_SPACE: Final = re.compile(r"(?:\s|\\[,;:! ])*")


@dataclass(frozen=True)
class Node:
    """A sum or a product of several parts, in the order in which they are written.

    A part comes with whether it is inverted: subtracted in a sum, divided by in a product.
    """

    kind: Literal["sum", "product"]
    parts: tuple[tuple[bool, "Expression"], ...]


#: A whole number, or a node.
Expression = int | Node


def read(text: str) -> Expression:
    r"""The expression that a text is.

    The operations are `+ - * /`, `× · ÷ −`, `\times \cdot \div` and `\frac{}{}`; brackets are round, and may have
    `\left` and `\right`. A minus may open the text or a bracket (`-3+7`), but not follow an operation. Powers and
    products without their sign, `2(3+4)`, are none; nor are decimals, and digits that are not ASCII.

    Raises:
        ValueError: it is none; or it has more than `MAX_CHARS` characters, or brackets deeper than `MAX_DEPTH`.
    """
    if len(text) > MAX_CHARS:
        raise ValueError(f"more than {MAX_CHARS} characters")
    tokens, end, tail = [], 0, _SPACE.fullmatch(text)
    while tail is None:
        found = _TOKEN.match(text, end)
        if found is None:
            raise ValueError(f"no number or operation: {text[end:]!r}")
        tokens.append(Token("other", _SIGNS.get(found[1], found[1])))
        end = found.end()
        tail = _SPACE.fullmatch(text, end)
    reader = _Reader(tokens)
    expression = reader.sum(0)
    if (left := reader.peek()) is not None:
        raise ValueError(f"{left} after a whole expression")
    return expression


class _Reader(Cursor):
    """Reads tokens from the first to the last."""

    def sum(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise ValueError(f"brackets deeper than {MAX_DEPTH}")
        parts = [(self.accept("-") is not None, self.product(depth))]
        while sign := self.accept("+", "-"):
            parts.append((sign == "-", self.product(depth)))
        return parts[0][1] if len(parts) == 1 and not parts[0][0] else Node("sum", tuple(parts))

    def product(self, depth: int) -> Expression:
        parts = [(False, self.factor(depth))]
        while sign := self.accept("*", "/"):
            parts.append((sign == "/", self.factor(depth)))
        return parts[0][1] if len(parts) == 1 else Node("product", tuple(parts))

    def factor(self, depth: int) -> Expression:
        text = self.take().text
        if text == "(":
            inner = self.sum(depth + 1)
            self.expect(")")
            return inner
        if text == "frac":
            parts = []
            for inverted in (False, True):
                self.expect("{")
                parts.append((inverted, self.sum(depth + 1)))
                self.expect("}")
            return Node("product", tuple(parts))
        if not text.isdecimal():
            raise ValueError(f"{text} in place of a number")
        return int(text)


def value(expression: Expression) -> Fraction:
    """What it comes to, exactly.

    Raises:
        ZeroDivisionError: a part of it divides by 0, whatever it is multiplied by.
    """
    if isinstance(expression, int):
        return Fraction(expression)
    total = Fraction(expression.kind == "product")
    for inverted, part in expression.parts:
        if expression.kind == "sum":
            total += -value(part) if inverted else value(part)
        else:
            total = total / value(part) if inverted else total * value(part)
    return total


def numbers(expression: Expression) -> list[int]:
    """The numbers in it, from left to right, each as often as it stands there."""
    if isinstance(expression, int):
        return [expression]
    return [number for _, part in expression.parts for number in numbers(part)]


def canonical(expression: Expression) -> str:
    """One text for all expressions that differ in the order and the grouping of sums and of products alone.

    Nested sums are one sum, nested products one product, and their parts are sorted: `(2+1)*3` and `3*(1+2)` are
    `3*(1+2)`; `5-(3-1)` and `1-3+5` are `1+5-3`. Nothing is calculated: `2*(1+3)` and `2*1+2*3` differ, and so do
    `4*1` and `4/1`. The text is an expression itself, of the same value where the other one has a value.
    """
    return _text(_flat(expression))


def _flat(expression: Expression) -> Expression:
    """Without sums in sums, products in products, and brackets around one part."""
    if isinstance(expression, int):
        return expression
    parts: list[tuple[bool, Expression]] = []
    for inverted, part in expression.parts:
        flat = _flat(part)
        nested = isinstance(flat, Node) and flat.kind == expression.kind
        inner = cast(Node, flat).parts if nested else ((False, flat),)
        parts += [(inverted != again, inmost) for again, inmost in inner]
    return parts[0][1] if len(parts) == 1 and not parts[0][0] else Node(expression.kind, tuple(parts))


def _text(flat: Expression) -> str:
    if isinstance(flat, int):
        return str(flat)
    bracket = flat.kind == "product"
    texts = [
        (inverted, f"({_text(part)})" if bracket and isinstance(part, Node) else _text(part))
        for inverted, part in flat.parts
    ]
    texts.sort(key=lambda part: (part[0], len(part[1]), part[1]))
    signs = "+-" if flat.kind == "sum" else "*/"
    return "".join(signs[inverted] + text for inverted, text in texts).removeprefix(signs[0])
