r"""What the run's own verifiers make of an answer in the form that a row asks for, and of its right answer.

A form is the text of an answer with `ANSWER` in place of what is answered. What a verifier makes of it is found by
grading such a response, and not by the form itself.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pacs.data.verify import PROBLEMS, gold_problems
from pacs.rewards.code import last_code_block
from pacs.rewards.reasoning import final_part
from pacs.rewards.reference_answer import NAME as REFERENCE
from pacs.rewards.reference_probability import settings_of
from pacs.rewards.registry import VERIFIERS, compute_score, resolved_settings
from pacs.verl_keys.names import REWARD_ARGUMENTS

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


def asked_forms(prompt: str) -> Iterator[str]:
    """The forms that a prompt asks for; none where it says nothing of a form."""
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


#: What each verifier reads of a response. Another one is said to read its form.
READS: Final = {
    "math": r"the last \boxed{}",
    "exact_match": r"the last \boxed{}",
    "countdown": r"the last \boxed{}",
    "multiple_choice": r"the last \boxed{}, or a line `Answer: C`,",
    "code": "the last Python block",
    REFERENCE: r"what follows the last \boxed{",
}
#: By verifier, an answer in place of a right answer that is none: tests, numbers and a target.
ANSWERS: Final = {"code": "pass", "countdown": "1 + 2"}
PREPARE: Final = (
    "Ask for what it reads (`pacs data prepare` on the questions alone does), or grade by a function of your own "
    "(reward.custom_reward_function.path)"
)


class Asked(NamedTuple):
    """What became of the form that a row asks for.

    Attributes:
        form: with X for the answer.
        response: in that form, with the right answer.
        status: the verifier's.
        read: the right answer was found in it.
        mend: what makes it read; empty if it is.
    """

    form: str
    response: str
    status: str
    read: bool
    mend: str = ""


class Grading:
    """Grades by the verifiers of `pacs.rewards` as a run does.

    Args:
        settings: `reward.custom_reward_function.reward_kwargs` of the run.
    """

    def __init__(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        self.settings: Mapping[str, Any] = settings
        self._opens = str(settings_of(settings)["opens"])

    def reads(self, verifier: str) -> str:
        """What it reads of a response, in words."""
        if verifier == REFERENCE:
            return f"what follows the last {self._opens}"
        also = ", or what `unboxed` allows," if self.settings.get(verifier, {}).get("unboxed") else ""
        return READS.get(verifier, "its own form") + also

    def status(self, verifier: str, response: str, gold: str, extra_info: Mapping[str, Any]) -> str:
        """The verifier's of a response; of a program whether there is one, for none is run."""
        if verifier == "code":
            return "no_answer" if last_code_block(final_part(response)) is None else "correct"
        if verifier == REFERENCE:
            return "correct" if self._opens in final_part(response) else "no_answer"
        row = {**extra_info, "verifier": verifier}
        return str(compute_score("", response, gold, row, **self.settings)["status"])

    def ask(self, verifier: str, prompt: str, gold: Any, extra_info: Mapping[str, Any]) -> Asked | None:
        """What becomes of the forms that a prompt asks for: of the first that is read, or else of the first.

        None where it asks for none.
        """
        forms, gold = list(dict.fromkeys(asked_forms(prompt))), str(gold)
        for form in forms:
            if self._reads(verifier, form, gold, extra_info):
                return Asked(form, "", "", True)
        if not forms:
            return None
        response = _response(forms[0], verifier, gold)
        status = self.status(verifier, response, gold, extra_info)
        mend = next(self._mends(verifier, forms[0], gold, extra_info), PREPARE)
        return Asked(forms[0].replace(ANSWER, "X").replace("\n", " "), response, status, False, mend)

    def _reads(self, verifier: str, form: str, gold: str, extra_info: Mapping[str, Any]) -> bool:
        status = self.status(verifier, _response(form, verifier, gold), gold, extra_info)
        return status == "correct" or (verifier in ANSWERS and status != "no_answer")

    def _mends(self, verifier: str, form: str, gold: str, extra_info: Mapping[str, Any]) -> Iterator[str]:
        """Settings with which the form is read, each tried."""
        if "unboxed" in resolved_settings({})[verifier]:
            unboxed = Grading({**self.settings, verifier: {**self.settings.get(verifier, {}), "unboxed": True}})
            if unboxed._reads(verifier, form, gold, extra_info):
                yield f"Set ++{REWARD_ARGUMENTS}.{verifier}.unboxed=true, with which it is read"
        for other in VERIFIERS:
            if other not in (verifier, REFERENCE) and self._reads(other, form, gold, extra_info):
                right = "the tests, as JSON, for" if other == "code" else "a right answer for"
                yield f"Name the verifier {other}, which reads it, in the row's extra_info.verifier, with {right} it"


def unreadable_golds(
    grading: Grading, verifier: str, golds: Sequence[tuple[Any, Mapping[str, Any]]]
) -> list[str | None]:
    """Why a verifier cannot grade by right answers, for each; None where it can.

    Args:
        grading: of the run.
        verifier: of them all.
        golds: each with its row's `extra_info`.
    """
    texts = list(dict.fromkeys(str(gold) for gold, _ in golds))
    known = dict(zip(texts, gold_problems(texts, verifier), strict=True))
    reasons = []
    for gold, extra_info in golds:
        reason = known[str(gold)]
        # Which letters there are, the row or a setting says.
        if reason is None and (verifier not in PROBLEMS or verifier == "multiple_choice"):
            status = grading.status(verifier, BOX.replace(ANSWER, str(gold)), str(gold), extra_info)
            reason = _no_answer(verifier, extra_info) if status == "error" else None
        reasons.append(reason)
    return reasons


def _no_answer(verifier: str, extra_info: Mapping[str, Any]) -> str:
    """Why an answer that is written as a right answer is graded `error`."""
    if verifier != "multiple_choice":
        return "an answer like it is graded error"
    if extra_info.get("choices") is not None:
        return "it is no letter of the row's extra_info.choices"
    return f"it is none of the letters that ++{REWARD_ARGUMENTS}.{verifier}.letters=ABCDE would name"


def _response(form: str, verifier: str, gold: str) -> str:
    return form.replace(ANSWER, "pass" if form == CODE else ANSWERS.get(verifier, gold))
