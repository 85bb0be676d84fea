"""Guidance for another try at a problem: what a row holds for that, or what the verifier said of the try before."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Literal

Kind = Literal["hint", "solution", "error"]
#: In what a verifier says of a response: what was wrong with it, in words for who wrote it.
FEEDBACK: Final = "feedback"
#: What is said where a verifier gives no such words.
OF_STATUS: Final = {
    "wrong": "The answer is wrong.",
    "no_answer": "There is no answer.",
    "unevaluated": "The answer still has to be calculated.",
    "timeout": "It took too long.",
}
#: Where the guidance stands in the text around it.
PLACE: Final = "{guidance}"


def share_of(share: float, count: int) -> int:
    """A share of `count`, as it is written and not as binary numbers round it, rounded up: 0.28 of 25 are 7."""
    return math.ceil(Fraction(repr(share)) * count)


def guidance_of(
    kind: Kind, extra_info: Mapping[str, Any], said: Mapping[str, Any], *, part: float, characters: int
) -> str | None:
    """The guidance, without the text around it; None where there is none.

    Args:
        kind: hint (the row's `extra_info.hint`), solution (the first lines of `extra_info.solution`), or error (the
            verifier's `FEEDBACK`, or a sentence for its status).
        extra_info: of the row.
        said: by the verifier, of the try before.
        part: the share of a solution's lines, rounded up.
        characters: the most of an error, whose end is kept.
    """
    if kind == "error":
        text = str(said.get(FEEDBACK) or OF_STATUS.get(str(said.get("status")), OF_STATUS["wrong"]))
        return text[-characters:]
    given = extra_info.get(kind)
    if not isinstance(given, str) or not given.strip():
        return None
    lines = given.strip().splitlines()
    return "\n".join(lines[: share_of(part, len(lines))] if kind == "solution" else lines)


def guided_messages(
    messages: Sequence[Mapping[str, Any]], kind: Kind, guidance: str, around: str, response: str
) -> list[dict[str, Any]]:
    """The prompt of another try: an error answers the response, other guidance goes with the last message.

    Args:
        messages: the prompt, as chat messages of text.
        kind: of the guidance.
        guidance: as `guidance_of` gives it.
        around: a text with `PLACE` in it.
        response: of the try before.
    """
    text, asked = around.replace(PLACE, guidance), [dict(message) for message in messages]
    if kind == "error":
        return [*asked, {"role": "assistant", "content": response}, {"role": "user", "content": text}]
    return [*asked[:-1], asked[-1] | {"content": f"{asked[-1]['content']}\n\n{text}"}]
