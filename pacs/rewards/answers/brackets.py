"""Tokens of an answer: the brackets among them, and a place that moves on as they are read."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from pacs.rewards.answers.refusals import Unreadable
from pacs.rewards.answers.tokens import Token

_OPEN: Final = frozenset(["(", "[", "{", "\\{", "\\lfloor", "\\lceil", "\\begin"])
_CLOSE: Final = frozenset([")", "]", "}", "\\}", "\\rfloor", "\\rceil", "\\end"])
_STEPS: Final = dict.fromkeys(_OPEN, 1) | dict.fromkeys(_CLOSE, -1)
_FIRST_DIGITS, _THREE_DIGITS = re.compile(r"[1-9]\d{0,2}"), re.compile(r"\d{3}(\.\d*)?")


def unwrapped(tokens: list[Token]) -> list[Token]:
    """Without braces that are around all."""
    while encloses(tokens) and tokens[0].text == "{":
        tokens = tokens[1:-1]
    return tokens


def with_thousands(tokens: list[Token]) -> list[Token]:
    """10,000 as one number, but within brackets, where a comma separates."""
    joined: list[Token] = []
    depth = 0
    grouped = False  # whether the last number may go on after a comma
    for token in tokens:
        depth += (token.text in _OPEN - {"{"}) - (token.text in _CLOSE - {"}"})
        goes_on = grouped and len(joined) > 1 and joined[-1].text == "," and not token.space
        if goes_on and _THREE_DIGITS.fullmatch(token.text):
            comma = joined.pop()
            if not comma.space:
                joined[-1] = joined[-1]._replace(text=joined[-1].text + token.text)
                continue
            joined.append(comma)
        grouped = depth == 0 and (_FIRST_DIGITS.fullmatch(token.text) is not None or (grouped and token.text == ","))
        joined.append(token)
    return joined


def split(tokens: Sequence[Token], at: Callable[[Token], bool]) -> list[list[Token]]:
    """The pieces between tokens outside brackets; no list if there is no such token."""
    pieces: list[list[Token]] = [[]]
    for token, depth in zip(tokens, depths(tokens), strict=True):
        if depth == 0 and at(token):
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces if len(pieces) > 1 else []


def split_at(tokens: Sequence[Token], *texts: str) -> list[list[Token]]:
    """The pieces between tokens of these texts outside brackets; no list if there is no such token."""
    if any(token.text in texts for token in tokens):
        return split(tokens, lambda token: token.text in texts)
    return []  # as for most answers


def first(tokens: Sequence[Token], text: str) -> int:
    """The place of the first token of a text, in brackets or not; behind the last one if there is none."""
    return next((place for place, token in enumerate(tokens) if token.text == text), len(tokens))


def outside(tokens: Sequence[Token]) -> list[Token]:
    """The tokens that are in no brackets."""
    return [
        token for token, depth in zip(tokens, depths(tokens), strict=True) if depth == 0 and token.text not in _CLOSE
    ]


def depths(tokens: Sequence[Token]) -> Iterator[int]:
    """How many brackets are open behind each of the tokens."""
    return accumulate([_STEPS.get(token.text, 0) for token in tokens])


def encloses(tokens: Sequence[Token]) -> bool:
    """Whether the first token opens a bracket that the last one closes."""
    if len(tokens) < 2 or tokens[0].text not in _OPEN or tokens[-1].text not in _CLOSE:
        return False
    return next((place for place, depth in enumerate(depths(tokens), start=1) if depth == 0), 0) == len(tokens)


class Cursor:
    """What comes next among tokens, and its taking.

    Attributes:
        tokens: all of them.
        place: how many have been taken.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens, self.place = tokens, 0

    def peek(self, ahead: int = 0) -> str | None:
        """The text of the next token, or of one further ahead; None behind the last."""
        place = self.place + ahead
        return self.tokens[place].text if place < len(self.tokens) else None

    def take(self) -> Token:
        """The next token. Raises Unreadable if there is none."""
        if self.place == len(self.tokens):
            raise Unreadable("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def accept(self, *texts: str) -> str | None:
        """The text of the next token, which is taken if it is one of these; else None."""
        if self.place < len(self.tokens) and (text := self.tokens[self.place].text) in texts:
            self.place += 1
            return text
        return None

    def accept_all(self, *texts: str) -> bool:
        """Whether the next tokens are these, which are then taken."""
        end = self.place + len(texts)
        if found := tuple(token.text for token in self.tokens[self.place : end]) == texts:
            self.place = end
        return found

    def expect(self, text: str) -> None:
        """Take the next token. Raises Unreadable if it is another one."""
        if self.take().text != text:
            raise Unreadable(f"{text!r} is missing")

    def in_braces(self) -> str:
        """The text of what the next braces hold, or of one token without them."""
        if self.peek() != "{":
            return self.take().text
        depth, inner = 0, ""
        while True:
            text = self.take().text
            depth += {"{": 1, "}": -1}.get(text, 0)
            if depth == 0:
                return inner[1:]
            inner += text
