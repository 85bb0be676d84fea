"""What the critic is asked: a text that stands around the partial solution."""

import re
from dataclasses import dataclass
from typing import Final

from pacs.base.errors import UserError

#: A template must have these, each once. It may have the others once: without them nothing is said of the actor.
NEEDED: Final = ("problem", "partial_solution")
OPTIONAL: Final = ("success_rate", "model_size")
_PLACE = re.compile("{(" + "|".join((*NEEDED, *OPTIONAL)) + ")}")

_TASK = (
    "A {model_size} language model is solving a math problem. Your job is to evaluate its probability of success, "
    "given the partial solution it has already generated."
)
_RATE = " For your reference, the average success rate of the model on the dataset is {success_rate}."
_CAPABILITIES = "Recover the capabilities of the model based on the partial solution."
_POINTS = (
    "Evaluate the difficulty of the problem.",
    _CAPABILITIES,
    "Skim through the partial solution and detect any progress, error, or confusion.",
    "Analyze the probability of success if the model finish the solution.",
    "Output the final answer as an integer between 0 and 10 inclusive (10 most likely).",
)
#: The authors do not print a format. Ours is what `read_score` reads.
_FORMAT = r" Write it as \boxed{n}."


def _instructions(*, conditioned: bool) -> str:
    points = [point for point in _POINTS if conditioned or point != _CAPABILITIES]
    return "Instructions:\n" + "\n".join(f"{i}. {point}" for i, point in enumerate(points, start=1)) + _FORMAT


def _first(*, conditioned: bool) -> str:
    """What is said before all else."""
    return _TASK + _RATE if conditioned else _TASK.replace("{model_size} ", "")


_STATE = "<problem>{problem}</problem>\n\n<partial_solution>{partial_solution}</partial_solution>"

#: The paper's words in its order, and a sentence on the format. About a hundred tokens follow each partial solution,
#: and a response has them once for each of its segments.
AS_PRINTED: Final = f"{_first(conditioned=True)}\n\n{_STATE}\n\n{_instructions(conditioned=True)}"
#: The same words with the instructions first, so that all segments of a response share them.
INSTRUCTIONS_FIRST: Final = f"{_first(conditioned=True)}\n\n{_instructions(conditioned=True)}\n\n{_STATE}"
#: The shipped texts by name. The paper's ablation leaves out what is said of the actor: size, rate and second point.
SHIPPED: Final = {
    "instructions_first": INSTRUCTIONS_FIRST,
    "as_printed": AS_PRINTED,
    "instructions_first_unconditioned": (
        f"{_first(conditioned=False)}\n\n{_instructions(conditioned=False)}\n\n{_STATE}"
    ),
    "as_printed_unconditioned": f"{_first(conditioned=False)}\n\n{_STATE}\n\n{_instructions(conditioned=False)}",
}


@dataclass(frozen=True)
class CriticTemplate:
    r"""A text with `{problem}` and `{partial_solution}`, and with `{success_rate}` and `{model_size}` or without them.

    Other braces, as in `\boxed{n}`, are text.

    Attributes:
        text: as above; `{partial_solution}` comes last of the four, so that the tail is the same for all states.

    Raises:
        UserError: a placeholder is missing, comes twice or behind `{partial_solution}`.
    """

    text: str = INSTRUCTIONS_FIRST

    def __post_init__(self) -> None:
        found = _PLACE.findall(self.text)
        for name in (*NEEDED, *OPTIONAL):
            if found.count(name) > 1:
                raise UserError(f"the critic's template has {{{name}}} {found.count(name)} times: leave one of them")
            if name in NEEDED and name not in found:
                raise UserError(f"the critic's template has no {{{name}}}: write it where that is to stand")
        if found[-1] != "partial_solution":
            raise UserError(
                f"the critic's template has {{{found[-1]}}} behind {{partial_solution}}: put it before that, so that "
                "all segments of a response share it"
            )

    def head(self, problem: str, success_rate: float, model_size: str) -> str:
        """All before the partial solution.

        Args:
            problem: the problem's text, which is taken as it is, whatever braces it has.
            success_rate: of the actor, written with two digits, as the authors do.
            model_size: of the actor, as 8B.
        """
        known = {"problem": problem, "success_rate": f"{success_rate:.2f}", "model_size": model_size}
        return _PLACE.sub(lambda place: known[place[1]], self.text.partition("{partial_solution}")[0])

    @property
    def tail(self) -> str:
        """All after the partial solution: no placeholder stands in it."""
        return self.text.partition("{partial_solution}")[2]
