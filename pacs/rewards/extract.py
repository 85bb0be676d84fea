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
_IS: Final = r"answer\**(?:\s+is|\s*[:=])"
_ANSWER_IS = re.compile(rf"{_IS}[:\s]*((?:(?!{_IS})[^\n])+)", re.IGNORECASE)
#: What the usual few-shot prompt of base models ends its answers with.
_HOPE = re.compile(r"\.?\s*I hope (?:it|this) is correct\.?\s*\Z", re.IGNORECASE)
_TAGGED = re.compile(r"([<\[])((?:final[_ -]?)?answer|ans)([>\]])(.*?)\1/\2\3", re.IGNORECASE | re.DOTALL)
_HASHES = re.compile(r"^####(?!#)([^\n]+)\s*\Z", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_BOX = re.compile(r"\\boxed\s*\{")
#: Up to the last box's opening brace.
_LAST_BOX = re.compile(r".*\\boxed\s*\{", re.DOTALL)
#: The character after a backslash is escaped.
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def last_boxed(text: str) -> str | None:
    r"""The content of the last `\boxed{...}`, braces balanced and white space stripped.

    Escaped braces (`\{`) are characters of the answer and do not count. A box within a box is a part of the outer
    one's content, but `\boxed{\boxed{7}}` is 7. None if there is no box, or if the last one is never closed: its answer
    was cut off, and an earlier box is not the final answer. `OVERLONG` if it has more than `MAX_BOX_CHARS` characters,
    white space included.
    """
    found = _LAST_BOX.match(text)
    if found is None:
        return None
    start = found.end()
    if (end := _pairs(text, start - 1, start + MAX_BOX_CHARS + 1, first_alone=True).get(start)) is None:
        return OVERLONG if len(text) > start + MAX_BOX_CHARS else None
    first = max(0, start - MAX_BOX_CHARS)
    if _BOX.search(text, first, start - 1) is None:  # as a rule
        return text[start:end].strip()
    pairs = _pairs(text, first, end + MAX_BOX_CHARS)
    boxes = [(box.end(), pairs[box.end()]) for box in _BOX.finditer(text, first, start) if box.end() in pairs]
    around = [box for box in boxes if box[1] >= end]  # the outermost first, the last one itself at the end
    opens, closes = around[0]
    for inner in around[1:]:
        if _BOX.fullmatch(text[opens : inner[0]].lstrip()) and not text[inner[1] + 1 : closes].strip():
            opens, closes = inner
    return OVERLONG if closes - opens > MAX_BOX_CHARS else text[opens:closes].strip()


def _pairs(text: str, first: int, last: int, *, first_alone: bool = False) -> dict[int, int]:
    """Of each brace between two places, or of the first one and those in it: behind it, and where it is closed."""
    opened: list[int] = []
    pairs = {}
    for brace in _BRACE.finditer(text, first, last):
        if brace[0] == "{":
            opened.append(brace.end())
        elif brace[0] == "}" and opened:
            pairs[opened.pop()] = brace.start()
            if first_alone and not opened:
                break
    return pairs


def answer_of(part: str, unboxed: bool) -> str:
    """The last box of a final part; where nothing is boxed and `unboxed` is set, `unboxed_answer`; else ""."""
    return last_boxed(part) or (unboxed_answer(part) if unboxed else None) or ""


def unboxed_answer(text: str) -> str | None:
    """What the last `<answer>` holds; else what follows `####` on the last line; else what stands after the last "the
    answer is" (or "answer:"), to the end of its line; else what was last in bold.

    Without bold, the full stop and "I hope it is correct". None if there is none of them in the last `TAIL_CHARS`
    characters.
    """
    tail = text[-TAIL_CHARS:]
    if tagged := _TAGGED.findall(tail):
        return tagged[-1][3].strip() or None
    if hashes := _HASHES.search(tail):
        return hashes[1].strip("* ").removesuffix(".").strip() or None
    if found := _ANSWER_IS.findall(tail):
        bold = _BOLD.search(found[-1])
        return (bold[1] if bold else _HOPE.sub("", found[-1]).strip("* ").removesuffix(".")).strip() or None
    found = _BOLD.findall(tail)
    return found[-1].strip() or None if found else None
