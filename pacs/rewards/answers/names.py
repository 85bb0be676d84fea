"""The name that stands before a value: a variable, a function of one, a segment, words."""

import re
from collections.abc import Sequence

from pacs.rewards.answers.brackets import encloses, first, split_at
from pacs.rewards.answers.expression import Variable
from pacs.rewards.answers.parse import parse_expression
from pacs.rewards.answers.tokens import Token

#: Left sides that are a name of the value asked for: m+n, and the inverse of a function.
_LETTERS_ADDED, _INVERSE = re.compile(r"[a-zA-Z](?:\+[a-zA-Z]){1,4}"), re.compile(r"[a-zA-Z]\^\{-1\}(?:\([a-z]\))?")


def name_of(tokens: Sequence[Token]) -> str | None:
    r"""The name before a relation: x, x_1, f(x), AB, \\angle ABC, \\text{Area}; None if the tokens are no name."""
    texts = [token.text for token in tokens]
    if [token.kind for token in tokens] == ["words"]:
        return texts[0].strip().casefold() or None
    if encloses(tokens) and texts[0] == "(" and (parts := split_at(tokens[1:-1], ",", ";")):
        names = [name_of(part) for part in parts]
        return f"({','.join(filter(None, names))})" if all(names) else None
    if texts[:1] == ["m"] and texts[1:2] == ["\\angle"]:
        texts = texts[1:]
    if texts and texts[0] in ("\\angle", "\\triangle"):
        texts = texts[1:]
    if len(texts) > 2 and (texts[0], texts[-1]) in (("|", "|"), ("[", "]")) and all(map(str.isupper, texts[1:-1])):
        return "".join(texts)  # the length of a segment, the area of a figure
    if _LETTERS_ADDED.fullmatch("".join(texts)) or _INVERSE.fullmatch("".join(texts)):
        return "".join(texts)
    if texts and all(text.isupper() and len(text) == 1 for text in texts):
        return "".join(texts)
    end = first(tokens, "(")
    if end < len(tokens) and not encloses(tokens[end:]):
        return None
    try:
        head = parse_expression(tokens[:end])
    except ValueError:
        return None
    return head.name + "".join(texts[end:]) if isinstance(head, Variable) else None
