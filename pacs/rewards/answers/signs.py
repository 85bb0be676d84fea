"""The signs within an answer: relations, what separates several answers, and those that stand for two."""

from collections.abc import Sequence
from typing import Final

from pacs.rewards.answers.brackets import outside
from pacs.rewards.answers.tokens import Token

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


def as_or(token: Token) -> Token:
    """With "or" for the sign of a union."""
    return token._replace(kind="words", text="or") if token.text == "\\cup" else token


def are_conditions(found: Sequence[str]) -> bool:
    """Whether relations say in which set a variable is; one of them at least does so otherwise than by its value."""
    return all(sign in CONDITIONS or sign == "=" for sign in found) and any(sign in CONDITIONS for sign in found)


def leaves_out(parts: Sequence[Sequence[Token]]) -> bool:
    r"""Whether the parts of a list are a variable and several numbers that it is not: x \\ne 3, 5."""
    has_relation = [any(token.text in RELATIONS for token in outside(part)) for part in parts]
    return has_relation[0] and not any(has_relation[1:]) and any(token.text == "\\ne" for token in outside(parts[0]))


def with_difference(tokens: Sequence[Token]) -> list[Token]:
    r"""With \\setminus for the minus of \\mathbb{R}-\\{3, 5\\}: between the name of a set and a set."""
    return [
        token._replace(kind="command", text="\\setminus")
        if token.text == "-" and tokens[:1] and tokens[0].text == "\\mathbb" and after.text == "\\{"
        else token
        for token, after in zip(tokens, [*tokens[1:], *tokens[-1:]], strict=True)
    ]


def has_two_signs(tokens: Sequence[Token]) -> bool:
    """Whether they are two answers, one with + and one with -."""
    return any(token.text in ("\\pm", "\\mp") for token in tokens)


def with_sign(tokens: Sequence[Token], sign: str) -> list[Token]:
    """The answer with the one sign of the two."""
    other = {"+": "-", "-": "+"}[sign]
    choice = {"\\pm": sign, "\\mp": other}
    return [
        token._replace(kind="other", text=choice[token.text]) if token.text in choice else token for token in tokens
    ]
