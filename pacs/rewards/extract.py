"""Find the answer in a response: the last box of its final part."""

import re
from typing import Final

BOXED: Final = "\\boxed"

#: A longer box is not read to its end.
MAX_BOX_CHARS: Final = 10_000
#: Taken for the content of a longer box: longer than what any verifier compares, so that it is wrong in all.
OVERLONG: Final = f"[a box of more than {MAX_BOX_CHARS:,} characters]" * 50
#: Searched in the end of a text only, however long it is.
TAIL_CHARS: Final = 2000
_ANSWER_IS = re.compile(r"answer(?:\s+is|\s*[:=])[:\s]*([^\n]+)", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
#: Up to the last box's opening brace.
_LAST_BOX = re.compile(r".*\\boxed\s*\{", re.DOTALL)
#: The character after a backslash is escaped.
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def last_boxed(text: str) -> str | None:
    r"""The content of the last `\boxed{...}`, braces balanced and white space stripped.

    Escaped braces (`\{`) are characters of the answer and do not count. None if there is no box, or if the last
    one is never closed: its answer was cut off, and an earlier box is not the final answer. `OVERLONG` if it has more
    than `MAX_BOX_CHARS` characters, white space included.
    """
    found = _LAST_BOX.match(text)
    if found is None:
        return None
    start, depth = found.end(), 1
    for brace in _BRACE.finditer(text, start, start + MAX_BOX_CHARS + 1):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return text[start : brace.start()].strip()
    return OVERLONG if len(text) > start + MAX_BOX_CHARS else None


def unboxed_answer(text: str) -> str | None:
    """What stands after the last "the answer is" (or "answer:"), to the end of its line; else what was last in bold.

    Without bold and the full stop. None if there is neither in the last `TAIL_CHARS` characters.
    """
    tail = text[-TAIL_CHARS:]
    if found := _ANSWER_IS.findall(tail):
        bold = _BOLD.search(found[-1])
        return (bold[1] if bold else found[-1].strip("* ").removesuffix(".")).strip() or None
    found = _BOLD.findall(tail)
    return found[-1].strip() or None if found else None
