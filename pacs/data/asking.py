r"""Sentences in a problem that ask for the form of its answer: "Put your final answer within \boxed{}".

Published rows have them, each set its own, and a run asks in its own way (`--instruction`).
"""

import re
from itertools import pairwise
from typing import Final

#: What a sentence ends at: a stop before white space, a line's end, and words with which such a request begins.
_END: Final = re.compile(
    r"(?<=[.!?])['\"”]?\s+|\s*\n\s*|(?<=[。！？])"
    r"|\s+(?=[(*]{0,3}(?:Please|Let's|Put|Output|Present|Remember|Return|Make sure|You must|Your (?:final )?answer)\b)"
)
_ANSWER: Final = r"(?:answer|response|result|solution)s?\b"
#: What no problem of mathematics asks for, and a form does.
_MARK: Final = r".*(?:\\f?boxed|\bboxed\b|####|</?answer>|\bAnswer:|own line|LaTeX format).*"
_ASKING: Final = re.compile(
    r"(?:(?:please|then|and|finally|also|you (?:must|should|need to)|remember to|make sure to|let'?s|let us),? )*(?:"
    r"(?:put|output|give|write|present|provide|return|place|enclose|express|report|state|wrap|include|submit|box|format)"
    rf" (?:down )?(?:only )?(?:your |the )?(?:final )?{_ANSWER}{_MARK}"
    rf"|(?:your|the) (?:final )?{_ANSWER}(?= (?:must|should|will|has to|needs to|is to)\b){_MARK}"
    rf"|(?:the )?last (?:line|part)\b{_MARK}"
    r"|(?:think|reason|work|solve (?:it|(?:the|this) (?:problem|question)))\b[^.?]*\bstep[ -]by[ -]step\b"
    rf"(?:[^.?]*|{_MARK})"
    r"|(?:solve|answer) (?:the following|this) (?:\w+ )?(?:problem|question)"
    r"(?: step[ -]by[ -]step| efficiently and clearly| carefully)?)"
    r"|.*\(without quotes\).*|请[^。？]*\\boxed[^。？]*。?",
    re.I | re.S,
)
#: A longer sentence is part of the problem.
_CHARS: Final = 400


def without_asking(text: str) -> str:
    """The text without the sentences at its beginning and its end that ask for the form of the answer."""
    start, end = 0, len(text)
    bounds = [0, *(found.end() for found in _END.finditer(text)), len(text)]
    spans = [span for span in pairwise(bounds) if text[slice(*span)].strip()]
    while spans and _asks(text[slice(*spans[0])]):
        start = spans.pop(0)[1]
    while spans and _asks(text[slice(*spans[-1])]):
        end = spans.pop()[0]
    return text[start:end].strip() if (start, end) != (0, len(text)) else text


def _asks(sentence: str) -> bool:
    sentence = sentence.strip(" \t\n.:!*\"'”()")
    return 0 < len(sentence) <= _CHARS and _ASKING.fullmatch(sentence) is not None
