"""What is raised for an answer that is not known here, and for one that is not calculated here."""

from typing import NoReturn


class Unreadable(ValueError):
    """The text is not an answer or an expression that is known here."""


class Operation(ValueError):
    """The text holds an operation that is not calculated here; the message is its name."""


def refuse(why: str) -> NoReturn:
    """Raise `Unreadable`, where an expression is wanted."""
    raise Unreadable(why)
