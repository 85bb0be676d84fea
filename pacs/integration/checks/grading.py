"""What the run's own verifiers make of an answer in the form that a row asks for, and of its right answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pacs.data.verify import PROBLEMS, gold_problems
from pacs.integration.checks.answer_format import ANSWER, BOX, CODE, asked_forms
from pacs.rewards.code import last_code_block
from pacs.rewards.reasoning import final_part
from pacs.rewards.registry import VERIFIERS, compute_score, resolved_settings
from pacs.verl_keys.names import REWARD_ARGUMENTS

#: What each verifier reads of a response. Another one is said to read its form.
READS: Final = {
    "math": r"the last \boxed{}",
    "exact_match": r"the last \boxed{}",
    "countdown": r"the last \boxed{}",
    "multiple_choice": r"the last \boxed{}, or a line `Answer: C`,",
    "code": "the last Python block",
}
#: By verifier, an answer in place of a right answer that is none: tests, numbers and a target.
ANSWERS: Final = {"code": "pass", "countdown": "1 + 2"}
PREPARE: Final = (
    "Ask for what it reads (`pacs data prepare` on the questions alone does), or grade by a function of your own "
    "(reward.custom_reward_function.path)"
)


@dataclass(frozen=True)
class Asked:
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
        self.settings = settings

    def reads(self, verifier: str) -> str:
        """What it reads of a response, in words."""
        also = ", or what `unboxed` allows," if self.settings.get(verifier, {}).get("unboxed") else ""
        return READS.get(verifier, "its own form") + also

    def status(self, verifier: str, response: str, gold: str, extra_info: Mapping[str, Any]) -> str:
        """The verifier's of a response; of a program whether there is one, for none is run."""
        if verifier == "code":
            return "no_answer" if last_code_block(final_part(response)) is None else "correct"
        row = {**extra_info, "verifier": verifier}
        return str(compute_score("", response, gold, row, **self.settings)["status"])

    def ask(self, verifier: str, prompt: str, gold: Any, extra_info: Mapping[str, Any]) -> Asked | None:
        """What becomes of the forms that a prompt asks for: of the first that is read, or else of the first.

        None where it asks for none.
        """
        forms, gold = asked_forms(prompt), str(gold)
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
            if other != verifier and self._reads(other, form, gold, extra_info):
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
        if reason is None and verifier not in PROBLEMS:
            status = grading.status(verifier, BOX.replace(ANSWER, str(gold)), str(gold), extra_info)
            reason = f"an answer like it is graded {status}" if status == "error" else None
        reasons.append(reason)
    return reasons


def _response(form: str, verifier: str, gold: str) -> str:
    return form.replace(ANSWER, "pass" if form == CODE else ANSWERS.get(verifier, gold))
