"""A reward of several parts (`run.reward`): the verifier's score and other parts, each with a weight.

The verifier's score stays what metrics and validations call right and wrong; the sum is what is trained on.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

import regex
from pydantic import Field, field_validator

from pacs.base.typed_settings import Settings
from pacs.rewards.code import last_code_block
from pacs.rewards.extract import last_boxed
from pacs.rewards.judge import JudgeSettings

#: The parts that are added to the score, by the names under which they are set, logged and written.
PARTS: Final = ("format", "length", "repetition", "overlong", "judge")
#: What of the longest response is DAPO's buffer, where none is set: 4,096 of 20,480 tokens in the paper.
BUFFER_SHARE: Final = 0.2
#: By how much a sum of weights may miss a bound, as 0.1 + 0.2 does 0.3.
ROUNDING: Final = 1e-9
#: After so long a response counts as one without the form: what a policy writes may make a pattern search for ever.
FORM_SECONDS: Final = 1.0
_BYTES: Final = array("i").itemsize

#: None (null): the part is not calculated. 0: it is logged, and not in the sum.
Weight = Annotated[float, Field(ge=0)] | None
_WEIGHT = "a factor, 0 to log the part alone, or null for none"


class FormatSettings(Settings):
    """Whether the response has a form, 1 or 0: the keys under `run.reward.format.`."""

    weight: Weight = Field(default=None, description=_WEIGHT)
    #: A regular expression (of the package regex, whose syntax has Python's) that is found in the response within
    #: `FORM_SECONDS`, `.` for ends of lines, too. None (null): the reasoning has
    #: ended, and the answer behind it is in a box; of a row with the verifier `code`, in a Python block.
    pattern: str | None = None

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            regex.compile(pattern or "", regex.DOTALL)
        except regex.error as error:
            told = f"run.reward.format.pattern={pattern} is no regular expression ({error})"
            raise ValueError(f"{told}: mend it, or leave it out for an answer in a box") from None
        return pattern


class LengthSettings(Settings):
    """A value that goes with the response's tokens from a first to a last one: the keys under `run.reward.length.`."""

    weight: Weight = Field(default=None, description=_WEIGHT)
    #: Tokens at which the last value is reached; None (null): data.max_response_length.
    budget: Annotated[int, Field(ge=1)] | None = Field(default=None, description="a number of tokens")
    #: The way from the first value to the last: half a cosine, as in arXiv 2502.03373, or linear.
    shape: Literal["cosine", "linear"] = "cosine"
    #: The value of a right response without a token, and at the budget.
    right: list[float] = Field(default=[0.0, -0.5], min_length=2, max_length=2, description="two numbers, as [0,-0.5]")
    #: The same of another response.
    wrong: list[float] = Field(default=[0.0, 0.0], min_length=2, max_length=2, description="two numbers, as [-1,0]")
    #: The value of any response that reaches the budget; None (null): its last one.
    beyond: float | None = None


class RepetitionSettings(Settings):
    """Minus the share of n-grams that have occurred before: the keys under `run.reward.repetition.`."""

    weight: Weight = Field(default=None, description=_WEIGHT)
    #: Tokens of an n-gram.
    ngram: int = Field(default=40, ge=1, description="a number of tokens")


class OverlongSettings(Settings):
    """DAPO's soft overlong punishment (arXiv 2503.14476), 0 to -1: the keys under `run.reward.overlong.`."""

    weight: Weight = Field(default=None, description=_WEIGHT)
    #: The last tokens of data.max_response_length, over which it falls; None (null): a fifth of these.
    buffer: Annotated[int, Field(ge=1)] | None = Field(default=None, description="a number of tokens")


class RewardSettings(Settings):
    """The keys under `run.reward.`."""

    SECTION: ClassVar[str] = "run.reward"

    #: What is trained on. sum: the sum of the parts. clip: the sum, held to 0 and 1. threshold: 1 if the sum reaches
    #: the threshold, else 0. None (null): the reward function's score, and there are no parts.
    total: Literal["sum", "clip", "threshold"] | None = None
    threshold: float = 0.5
    #: Factor of the reward function's score.
    correctness: float = Field(default=1.0, ge=0, description="a factor of the verifier's score")
    format: FormatSettings = FormatSettings()
    length: LengthSettings = LengthSettings()
    repetition: RepetitionSettings = RepetitionSettings()
    overlong: OverlongSettings = OverlongSettings()
    judge: JudgeSettings = JudgeSettings()

    @property
    def weights(self) -> dict[str, float]:
        """Those of the parts that are calculated."""
        weights = {name: getattr(self, name).weight for name in PARTS}
        return {name: weight for name, weight in weights.items() if weight is not None}


@dataclass(frozen=True)
class Response:
    """What the parts are made of.

    Attributes:
        score: the reward function's.
        text: without special tokens.
        begins: the character at which the answer begins; None where the response ended within its reasoning.
        tokens: of the response.
        verifier: that graded it.
        judged: what a judge thinks of it, from 0 to 1.
    """

    score: float
    text: str
    begins: int | None
    tokens: Sequence[int]
    verifier: str | None = None
    judged: float = 0.0


class Composite:
    """Makes rewards by the settings of a run.

    Args:
        settings: whose `total` is not None.
        longest: tokens that a response may have.
    """

    def __init__(self, settings: RewardSettings, longest: int) -> None:
        self.settings, self.longest, self.weights = settings, longest, settings.weights
        self.budget = settings.length.budget or longest
        self.buffer = settings.overlong.buffer or max(1, int(BUFFER_SHARE * longest))
        self._pattern = (
            None if settings.format.pattern is None else regex.compile(settings.format.pattern, regex.DOTALL)
        )

    def parts(self, response: Response) -> dict[str, float]:
        """The value of each part that has a weight, before the weight."""
        settings, tokens = self.settings, len(response.tokens)
        return {name: self._part(name, settings, response, tokens) for name in self.weights}

    def _part(self, name: str, settings: RewardSettings, response: Response, tokens: int) -> float:
        match name:
            case "format":
                return float(self._has_form(response))
            case "length":
                return length_value(tokens, self.budget, settings.length, right=response.score == 1)
            case "repetition":
                return -repeated_share(response.tokens, settings.repetition.ngram)
            case "judge":
                return response.judged
            case _:
                return overlong_value(tokens, self.longest, self.buffer)

    def _has_form(self, response: Response) -> bool:
        if self._pattern is not None:
            try:
                return self._pattern.search(response.text, timeout=FORM_SECONDS) is not None
            except TimeoutError:
                return False
        if response.begins is None:
            return False
        answer = response.text[response.begins :]
        return (last_code_block if response.verifier == "code" else last_boxed)(answer) is not None

    def sum(self, score: float, parts: Mapping[str, float]) -> float:
        """The weighted sum."""
        return self.settings.correctness * score + math.fsum(self.weights[name] * parts[name] for name in self.weights)

    def total(self, score: float, parts: Mapping[str, float]) -> float:
        """What is trained on. A sum that is not finite stays as it is, so that the run stops at it."""
        total = self.sum(score, parts)
        if self.settings.total == "sum" or not math.isfinite(total):
            return total
        if self.settings.total == "clip":
            return min(max(total, 0.0), 1.0)
        return float(total >= self.settings.threshold - ROUNDING)

    def bounds(self, scores: Iterable[float]) -> tuple[float, float]:
        """The least and the greatest sum that a response with one of the scores can have, whatever its text."""
        sums = []
        for score in scores:
            ends = {"length": self._length_ends(score), "format": (0.0, 1.0), "judge": (0.0, 1.0)}
            pairs = [(name, ends.get(name, (-1.0, 0.0))) for name in self.weights]
            sums += [self.sum(score, {name: pair[end] for name, pair in pairs}) for end in (0, 1)]
        return min(sums), max(sums)

    def _length_ends(self, score: float) -> tuple[float, float]:
        length = self.settings.length
        values = [*(length.right if score == 1 else length.wrong), *([] if length.beyond is None else [length.beyond])]
        return min(values), max(values)

    def formula(self) -> str:
        """The sum in words."""
        settings, length, n = self.settings, self.settings.length, self.settings.repetition.ngram
        box = "an answer in a box" if settings.format.pattern is None else f"found: {settings.format.pattern}"
        about = {
            "format": box,
            "length": f"{length.shape} to {self.budget:,} tokens: right {_way(length.right)}, wrong "
            f"{_way(length.wrong)}" + ("" if length.beyond is None else f", then {length.beyond:g}"),
            "repetition": f"minus the share of repeated {n}-grams",
            "overlong": f"to -1 over the last {self.buffer:,} of {self.longest:,} tokens",
            "judge": ", ".join(f"{name} {each.weight:g}" for name, each in (settings.judge.criteria or {}).items()),
        }
        terms = [f"{settings.correctness:g} * score"]
        terms += [f"{weight:g} * {name} ({about[name]})" for name, weight in self.weights.items()]
        by_total = {"clip": ", held to 0 and 1", "threshold": f"; 1 if it reaches {settings.threshold:g}, else 0"}
        return " + ".join(terms) + by_total.get(str(settings.total), "")


def _way(ends: Sequence[float]) -> str:
    return f"{ends[0]:g} to {ends[1]:g}"


def length_value(tokens: int, budget: int, settings: LengthSettings, *, right: bool) -> float:
    """From the first value to the last, by the share of the budget that the tokens are."""
    first, last = settings.right if right else settings.wrong
    if tokens >= budget:
        return last if settings.beyond is None else settings.beyond
    share = tokens / budget
    if settings.shape == "cosine":
        share = (1 - math.cos(math.pi * share)) / 2
    return first + (last - first) * share


def repeated_share(tokens: Sequence[int], n: int) -> float:
    """The share of the n-grams of tokens that have occurred before; 0 of fewer than n tokens."""
    count = len(tokens) - n + 1
    if count < 1:
        return 0.0
    # A slice of bytes is hashed and compared at once, a tuple of numbers one by one.
    data, width = array("i", tokens).tobytes(), n * _BYTES
    return 1 - len({data[place : place + width] for place in range(0, count * _BYTES, _BYTES)}) / count


def overlong_value(tokens: int, longest: int, buffer: int) -> float:
    """0 up to the buffer, and from there to -1 at the longest response."""
    return min(0.0, max(-1.0, (longest - buffer - tokens) / buffer))
