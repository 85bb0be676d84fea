"""The signs within an answer: relations, what separates several answers, and those that stand for two."""

from collections.abc import Mapping, Sequence
from typing import Final

from pacs.rewards.answers.brackets import outside
from pacs.rewards.answers.tokens import Kind, Token

RELATIONS: Final = frozenset(["=", "<", ">", "\\le", "\\ge", "\\ne", "\\in", "\\notin", "\\equiv", "\\approx"])
#: Relations that say in which set a variable is; those of others a value.
CONDITIONS: Final = frozenset(["<", ">", "\\le", "\\ge", "\\ne", "\\in", "\\notin"])
#: A relation -> the one of its sides changed.
FLIPPED: Final = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}


def bracket(sign: str, brackets: str) -> str:
    """Of an open and a closed bracket that of an end with such a relation."""
    return brackets[sign in ("\\le", "\\ge")]


def separates(token: Token) -> bool:
    """Whether it stands between two answers."""
    return token.text in (",", ";", "\\lor", "\\land") or (
        token.kind == "words" and token.text.strip(" ,").lower() in ("or", "and", "")
    )


def is_or(token: Token) -> bool:
    """Whether what it separates are alternatives."""
    return token.text == "\\lor" or token.text.strip(" ,").lower() == "or"


def replaced(tokens: Sequence[Token], kind: Kind, texts: Mapping[str, str]) -> list[Token]:
    """With others, of one kind, for the tokens of some texts."""
    return [token._replace(kind=kind, text=texts[token.text]) if token.text in texts else token for token in tokens]


def are_conditions(found: Sequence[str]) -> bool:
    """Whether relations say in which set a variable is; one of them at least does so otherwise than by its value."""
    return all(sign in CONDITIONS or sign == "=" for sign in found) and any(sign in CONDITIONS for sign in found)


def leaves_out(parts: Sequence[Sequence[Token]]) -> bool:
    r"""Whether the parts of a list are a variable and several numbers that it is not: x \\ne 3, 5."""
    has_relation = [any(token.text in RELATIONS for token in outside(part)) for part in parts]
    return has_relation[0] and not any(has_relation[1:]) and any(token.text == "\\ne" for token in outside(parts[0]))


def has_two_signs(tokens: Sequence[Token]) -> bool:
    """Whether they are two answers, one with + and one with -."""
    return any(token.text in ("\\pm", "\\mp") for token in tokens)


def are_opposed(tokens: Sequence[Token]) -> bool:
    r"""Whether each sign goes with another one: (1 \\pm a, 1 \\mp a) are two points."""
    return {"\\pm", "\\mp"} <= {token.text for token in tokens}
