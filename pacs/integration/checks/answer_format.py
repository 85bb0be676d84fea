r"""The form in which a prompt asks for its answer, and a response in that form.

A form is the text of an answer with `ANSWER` in place of what is answered. What a verifier makes of it is found by
grading such a response, and not here.
"""

import re
from collections.abc import Iterator
from typing import Final

#: Stands in a form for what is answered.
ANSWER: Final = "\0"
#: A program is asked for, which a verifier finds in a fenced block.
CODE: Final = f"```python\n{ANSWER}\n```"
BOX: Final = f"\\boxed{{{ANSWER}}}"

# What stands for an answer in an asking: `[X]`, `<number>`, `{answer}`, `$Answer`, `X`, `___`, `...`.
_BLANK: Final = r"(?-i:[\[<{(]|\$\\?[A-Z]|[A-Z]\b|_{2,}|\.\.\.|…)"
_QUOTE: Final = "[\"'`“”‘’*«「]"
_NAMES: Final = r"answer|答案|回答|réponse|respuesta|antwort|risposta|resposta|ответ|정답"
_ANSWERED: Final = r"(?:answer|ans|solution|result|response|output|conclusion)"
_SAYING: Final = r"\b(?:respond|reply|answer|output|return|give|provide|write|print|say)\b"
_VALUE: Final = rf"(?:{_ANSWERED}|number|integer|letter|expression|value|word)"
_BOX: Final = re.compile(
    r"\bboxed\b|\banswers?\b[^.\n]{0,40}\b(?:in|inside|within) an? (?:latex )?box\b|\bbox (?:your|the|only)\b", re.I
)
_TAG: Final = re.compile(rf"[<\[](?P<name>(?:[a-z]+[_ -])?{_ANSWERED}(?:[_ -][a-z]+)?)[>\]]", re.I)
_HASHES: Final = re.compile(r"(?<!#)####(?!#)[ \t]*(?P<next>.?)")
_LABEL: Final = re.compile(
    rf"(?P<label>(?:\b(?:final|my|the|best|correct)[ _]){{0,3}}(?:\b(?:{_NAMES})))\**\s?(?P<sign>[:：])"
    rf"|(?:(?<={_QUOTE})(?P<quoted>(?:final )?{_ANSWERED})|\b(?P<blank>(?:final )?{_ANSWERED}))\**\s?(?P<sign2>[:：=])"
    rf"(?(blank)\s?(?={_BLANK}))",
    re.I,
)
#: In the line before a label at a prompt's end: it is asked for, and not begun.
_ASKING: Final = re.compile(r"\b(?:end|finish|conclude|with|form|format|after|as|write|put|start|begin)\b", re.I)
_IS: Final = re.compile(
    rf"{_QUOTE}(?:(?:therefore|thus|hence|so),? )?(?P<quoted>(?:(?:the|my|final|best|correct) ){{0,3}}answer is)\b"
    rf"|\b(?P<blank>(?:(?:the|my|final|best|correct) ){{0,3}}answer is):? ?{_BLANK}",
    re.I,
)
_BOLD: Final = re.compile(
    r"\b(?:in|with|using) bold\b|\bbold (?:the|your)\b|\*\*bold\*\*|double asterisks"
    r"|\*\*(?:your |the )?(?:final )?answer\*\*(?!\s?[:：])",
    re.I,
)
_JSON: Final = re.compile(
    rf"[\"'](?P<key>(?:\w+_)?{_ANSWERED})[\"']\s*:|\b(?:as|in|a|with|valid|only|return|output) (?:an? )?json\b", re.I
)
_BRACKETS: Final = re.compile(
    r"\[\[\s*(?:(?:the|your|final) )*(?:answer|number|result|letter|[A-EX]|\.\.\.)\s*\]\]", re.I
)
_BARE: Final = re.compile(
    rf"{_SAYING}[^.\n]{{0,30}}\b(?:only|just|nothing but)\b[^.\n]{{0,30}}\b{_VALUE}\b"
    rf"|\bonly {_SAYING}[^.\n]{{0,30}}\b{_VALUE}\b|{_SAYING} with (?:just )?(?:a|one) single\b"
    rf"|\b{_VALUE},? (?:alone|only|(?:and )?nothing else)\b",
    re.I,
)
_PROGRAM: Final = re.compile(
    r"\b(?:write|implement|complete|generate|create|provide)\b[^.\n]{0,60}"
    r"\b(?:program|function|code|script|class|method|python)\b|your code here"
    r"|\b(?:enclose|wrap|put|place)\b[^.\n]{0,30}\b(?:code|program)\b",
    re.I,
)


def asked_forms(prompt: str) -> list[str]:
    """The forms that a prompt asks for, each once; none where it says nothing of a form."""
    return list(dict.fromkeys(_forms(prompt)))


def _forms(prompt: str) -> Iterator[str]:
    if _BOX.search(prompt):
        yield BOX
    if "\\fbox" in prompt:
        yield f"\\fbox{{{ANSWER}}}"
    for tag in _TAG.finditer(prompt):
        opens, closes = tag[0], f"{tag[0][0]}/{tag['name']}{tag[0][-1]}"
        if closes in prompt or re.match(r"[\s`\"']*tags?\b", prompt[tag.end() :]):
            yield f"{opens}{ANSWER}{closes}"
    for hashes in _HASHES.finditer(prompt):
        heading = hashes.start() == prompt.rfind("\n", 0, hashes.start()) + 1 and hashes["next"].isalpha()
        if not heading:
            yield f"#### {ANSWER}"
    labels = list(_LABEL.finditer(prompt))
    if labels and not prompt[labels[-1].end() :].strip():
        line = prompt[prompt.rfind("\n", 0, labels[-1].start()) + 1 : labels[-1].start()]
        if not _ASKING.search(line):
            labels = []  # the response begins behind the last, and is what the others may be examples of
    for label in labels:
        name = label["label"] or label["quoted"] or label["blank"]
        yield f"{name}{label['sign'] or label['sign2']} {ANSWER}"
    for said in _IS.finditer(prompt):
        yield f"{said['quoted'] or said['blank']} {ANSWER}"
    if _BOLD.search(prompt):
        yield f"**{ANSWER}**"
    for found in _JSON.finditer(prompt):
        yield f'{{"{found["key"] or "answer"}": "{ANSWER}"}}'
    for asked, form in ((_BRACKETS, f"[[{ANSWER}]]"), (_BARE, ANSWER), (_PROGRAM, CODE)):
        if asked.search(prompt):
            yield form
