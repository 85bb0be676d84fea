"""A place among tokens that moves on as they are read."""

from collections.abc import Sequence

from pacs.rewards.answers.refusals import Unreadable
from pacs.rewards.answers.tokens import Token


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
