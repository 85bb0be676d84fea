r"""The verifier of multiple-choice answers: a letter, boxed or in a line such as `Answer: C`."""

import re
from string import ascii_uppercase
from typing import Any, Final

from pacs.rewards.extract import BOXED, final_part, last_boxed
from pacs.rewards.verdict import verdict

# `Answer: C`, `**Answer:** (C)`, `The answer: $C$`, `Answer: C) 5 m`; not `Answer: Carbon` or `Answer: A carbon atom`.
_ANSWER_LINE: Final = re.compile(r"\banswer[* \t]*:[*$(\\ \t]*(?-i:([A-Z]))(?=[ \t]*(?:$|[*$)\\.:,;]))", re.I | re.M)
# What may stand around a letter or a choice's text: `\text{...}`, `\mathrm{...}`; dollars; `**`.
_COMMAND: Final = re.compile(r"\\(?:text|textbf|textrm|mathrm|mathbf|rm|bf)\s*\{([^{}]*)\}")
_LABEL: Final = re.compile(r"\(?([A-Z])[).:]+\s*(.*)", re.S)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    letters: str = "ABCD",
) -> dict[str, Any]:
    r"""Whether the answer is the right letter.

    The answer is the last box of the final part; where nothing is boxed, the letter of the last `Answer: C`.

    Args:
        data_source: unused; verl passes it.
        solution_str: the response.
        ground_truth: the right letter.
        extra_info: may hold `choices`, the choices' texts in the order of their letters: then a box with the right
            choice's text, with or without its letter, counts too.
        letters: the choices' letters where `extra_info` has no `choices`.

    Returns:
        The `verdict`; `error` if the ground truth is not one of the letters.
    """
    choices = (extra_info or {}).get("choices")
    texts = {} if choices is None else dict(zip(ascii_uppercase, map(_normalise, choices), strict=False))
    if ground_truth not in (texts or set(letters)):
        return verdict("error")
    part = final_part(solution_str)
    if BOXED in part:
        predicted = _letter(last_boxed(part) or "", texts)
    else:
        predicted = next((match[1] for match in reversed(list(_ANSWER_LINE.finditer(part)))), "")
    if not predicted:
        return verdict("no_answer")
    return verdict("correct" if predicted == ground_truth else "wrong", predicted)


def _letter(answer: str, texts: dict[str, str]) -> str:
    """The letter that a box names: alone, by its choice's text, or by both, if they agree; else all that is boxed."""
    plain = _COMMAND.sub(r"\1", answer).strip(" \t\n$*")
    if (bare := plain.strip("(). ")) in set(ascii_uppercase):
        return bare
    label = _LABEL.fullmatch(plain)
    if label and texts.get(label[1]) == _normalise(label[2]):
        return label[1]
    return next((letter for letter, text in texts.items() if text == _normalise(plain)), answer)


def _normalise(text: str) -> str:
    """A choice's text without mark-up, case, and what white space and full stops are around it."""
    return " ".join(_COMMAND.sub(r"\1", str(text)).replace("$", "").split()).rstrip(".").casefold()
