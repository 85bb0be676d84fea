"""What a user can mend, and what a word that nobody knows was meant to be."""

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[object], *, count: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known words most like `word`, best first, whatever their case; at most `count`.

    Args:
        word: as it was given.
        known: what there is.
        count: of the words at most.
        cutoff: how like they must be, from 0 to 1 (`difflib`'s ratio).
    """
    by_lower = {str(each).casefold(): str(each) for each in known}
    close = difflib.get_close_matches(word.casefold(), by_lower, len(by_lower) or 1, cutoff)
    # Two letters in the wrong order are likelier than a wrong letter, which `difflib` has level.
    close.sort(key=lambda found: sorted(found) != sorted(word.casefold()))
    return [by_lower[found] for found in close[:count]]


def did_you_mean(word: str, known: Iterable[object], *, count: int = 1, cutoff: float = 0.6) -> str:
    """` Did you mean X or Y?`, to stand behind a sentence; empty where nothing is like `word`.

    >>> did_you_mean("rlo", ["rloo", "grpo", "none"])
    ' Did you mean rloo?'
    """
    found = nearest(word, known, count=count, cutoff=cutoff)
    return f" Did you mean {' or '.join(found)}?" if found else ""


class UserError(ValueError):
    """A command cannot do what was asked: the message names what to change. `pacs` prints it, and ends with 2."""


def one_line(error: BaseException) -> str:
    """What an error says, in a line; of pydantic's the first thing that is wrong, and where."""
    if hasattr(error, "errors"):
        first = error.errors()[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return " ".join(str(error).split())


def first_line(error: BaseException) -> str:
    """What an error says first; its kind, if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
