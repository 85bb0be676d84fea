r"""The verifier of multiple-choice answers: a letter, boxed or in a line such as `Answer: C`."""

import re
from collections.abc import Container
from string import ascii_uppercase
from typing import Any, Final

from pacs.rewards.extract import BOXED, last_boxed, unboxed_answer
from pacs.rewards.reasoning import final_part
from pacs.rewards.verdict import verdict

# `Answer: C`, `**Answer:** (C)`, `The answer: $C$`, `Answer: C) 5 m`; not `Answer: Carbon` or `Answer: A carbon atom`.
_END: Final = r"(?=[ \t\r]*(?:$|[*$)\\.:,;]))"
# `, B`, ` or (B)`, `) / B`, `, or maybe B`: a second letter.
_AND: Final = (
    r"[*$)\\ \t]{0,9}\(?(?:[,/&]|\bor\b|\band\b|\bbut\b|\bmaybe\b|\bperhaps\b|\bpossibly\b)[*$(\\ \t]{0,9}"
    r"(?:(?:or|and|maybe|perhaps|possibly|even|also|else|either|option|choice|answer)\b[*$,(\\ \t]{0,9}){0,4}"
    r"(?-i:([A-Z]))(?![A-Za-z])"
)
_ANSWER_LINE: Final = re.compile(rf"\banswer[* \t]*:[*$(\\ \t]*(?-i:([A-Z]))(?:{_END}|(?={_AND}))", re.I | re.M)
_OTHER: Final = re.compile(rf"{_AND}|[*$()\\.:; \t]{{1,9}}(?-i:([A-Z])){_END}", re.I | re.M)
# What may stand around a letter or a choice's text: `\text{...}`, `\mathrm{...}`; dollars; `**`.
_COMMAND: Final = re.compile(
    r"\\(?:text(?:bf|rm|it|sf|normal)?|math(?:rm|bf|it|sf)|emph|mbox|underline|rm|bf)\s*\{([^{}]*)\}"
)
_LABEL: Final = re.compile(r"\(?([A-Z])[).:]+\s*(.*)", re.S)
_WORD: Final = re.compile(r"(?:choice|option|answer)\b[\s:]*", re.I)
# LaTeX's spaces.
_SPACE: Final = re.compile(r"\\[ ,;:!]|~")
#: A longer box names no choice.
BOX_CHARS: Final = 1000


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    unboxed: bool = False,
    letters: str = "ABCD",
) -> dict[str, Any]:
    r"""Whether the answer is the right letter.

    The answer is the last box of the final part; where nothing is boxed, the letter of the last `Answer: C`.

    Args:
        data_source: unused; verl passes it.
        solution_str: the response.
        ground_truth: the right letter.
        extra_info: may hold `choices`, the choices' texts in the order of their letters: then a box with the right
            choice's text, with or without its letter, counts too. Case counts where choices differ in it alone.
        unboxed: where there is neither, take the answer as the verifier of mathematics then does.
        letters: the choices' letters where `extra_info` has no `choices`.

    Returns:
        The `verdict`; `error` if the ground truth is not one of the letters.
    """
    choices = (extra_info or {}).get("choices")
    texts = {} if choices is None else dict(zip(ascii_uppercase, map(_normalise, choices), strict=False))
    if ground_truth not in (texts or set(letters)):
        return verdict("error")
    part = final_part(solution_str or "", extra_info)
    if BOXED in part:
        box = last_boxed(part) or ""
        predicted = _letter(box, texts, ground_truth) if len(box) <= BOX_CHARS else box[:BOX_CHARS]
    else:
        predicted = _of_line(part, texts or letters)
        if not predicted and unboxed:
            predicted = _letter((unboxed_answer(part) or "")[:BOX_CHARS], texts, ground_truth)
    if not predicted:
        return verdict("no_answer")
    return verdict("correct" if predicted == ground_truth else "wrong", predicted)


def gold_problem(gold: str) -> str | None:
    """Why no response can be graded by it, in words for the user; None if one can. For preparing data."""
    return None if gold in set(ascii_uppercase) else "it is no capital letter"


def _of_line(part: str, letters: Container[str]) -> str:
    """The letter of the last answer line, with a second one that stands there too; "" if there is no such line."""
    last = None
    for last in _ANSWER_LINE.finditer(part):  # noqa: B007 (it may be millions: only one is kept)
        pass
    if last is None:
        return ""
    other = _OTHER.match(part, last.end(1))
    hedged = other is not None and (other[1] or other[2]) in letters
    return part[last.start(1) : other.end()] if other and hedged else last[1]


def _letter(answer: str, texts: dict[str, str], gold: str) -> str:
    """The letter that a box names: alone, by its choice's text, or by both, if they agree; else all that is boxed."""
    plain = _SPACE.sub(" ", _COMMAND.sub(r"\1", answer)).strip(" \t\n$*")
    named = _WORD.sub("", plain, count=1) if _WORD.match(plain) else plain
    if (bare := named.strip("()\\. \t\n$*")) in set(ascii_uppercase):
        return bare
    label = _LABEL.fullmatch(named)
    if label and _has_text(texts.get(label[1], ""), label[2], texts):
        return label[1]
    letters = _of_text(plain, texts)
    return gold if gold in letters else next(iter(letters), answer)


def _has_text(choice: str, text: str, texts: dict[str, str]) -> bool:
    """Whether a choice that is named has this text, in whatever case, unless another has it in its case."""
    text = _normalise(text)
    return choice == text or (choice.casefold() == text.casefold() and text not in texts.values())


def _of_text(text: str, texts: dict[str, str]) -> list[str]:
    """The letters of the choices that have this text; where none has it in its case, the only one that has it so."""
    text = _normalise(text)
    alike = [letter for letter, other in texts.items() if other.casefold() == text.casefold()]
    return [letter for letter in alike if texts[letter] == text] or (alike if len(alike) == 1 else [])


def _normalise(text: str) -> str:
    """A choice's text without mark-up, and what white space and full stops are around it."""
    plain = _SPACE.sub(" ", _COMMAND.sub(r"\1", str(text)))
    return " ".join(re.sub(r"\$|\\[()]", "", plain).split()).rstrip(".")
