"""A right answer in place of a sampled one, as tokens: what the verifier `reference_probability` is measured on.

Of a response, all is kept up to what opens its answer (`\\boxed{`); there the reference answer is written, and its
tokens' probabilities are read. What opens the answer and the answer are made tokens together, since a tokenizer may
make one token of the end of the one and the beginning of the other.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: The verifier's name in a row's `extra_info.verifier`.
NAME: Final = "reference_probability"
#: In the `extra_info` of a row that is graded: a `Measured`, as `Measured.info` gives it.
MEASURED: Final = "reference_measured"
#: What opens an answer, where nothing else is set.
OPENS: Final = "\\boxed{"


@dataclass(frozen=True)
class Measured:
    """What was measured for a response.

    Attributes:
        probability: mean probability of the reference answer's tokens behind the response's reasoning; None where the
            response opens no answer, or leaves no room for one.
        baseline: the same behind the bare prompt, by the initial policy; 0 where none is subtracted.
    """

    probability: float | None
    baseline: float = 0.0

    def info(self) -> dict[str, dict[str, float | None]]:
        """For the row's `extra_info`."""
        return {MEASURED: {"probability": self.probability, "baseline": self.baseline}}


@dataclass(frozen=True)
class Spliced:
    """A text as tokens that ends in the reference answer.

    Attributes:
        tokens: of what was kept of the response, what opens the answer, and the reference answer.
        first: the place among them of the first token that has a part of the reference answer.
        kept: how many of the response's own tokens they begin with.
        sampled: the place in the response of the first token that has a part of the answer that was sampled.
    """

    tokens: list[int]
    first: int
    kept: int = 0
    sampled: int = 0


def splice(tokenizer: Any, response: Sequence[int], begins: int | None, opens: str, answer: str) -> Spliced | None:
    """Put the reference answer in place of the last answer that a response opens; None where it opens none.

    Args:
        tokenizer: the run's, of transformers.
        response: its tokens.
        begins: the character at which the response's reasoning has ended, in its text without special tokens; None:
            it has not.
        opens: what opens an answer.
        answer: the reference answer.
    """
    text = _text(tokenizer, response)
    place = -1 if begins is None else text.rfind(opens, begins)
    if place < 0:
        return None
    reached = _reached(tokenizer, response)
    count = len(response) + 1
    # All tokens that end before what opens the answer, special ones that have no text among them.
    kept = bisect_right(range(count), place, key=reached) - 1
    before = text[reached(kept) : place] + opens
    answered = place + len(opens)
    sampled = bisect_left(range(count), answered, key=reached)
    if reached(sampled) > answered:
        sampled -= 1
    tail = _with_answer(tokenizer, before, answer)
    return Spliced([*response[:kept], *tail.tokens], kept + tail.first, kept, sampled)


def bare(tokenizer: Any, closes: str, opens: str, answer: str) -> Spliced:
    """What stands behind a prompt without any reasoning.

    Args:
        tokenizer: of transformers.
        closes: what ends the reasoning that the prompt has opened; empty if it has opened none.
        opens, answer: as of `splice`.
    """
    return _with_answer(tokenizer, closes + opens, answer)


def _with_answer(tokenizer: Any, before: str, answer: str) -> Spliced:
    tokens = list(tokenizer.encode(before + answer, add_special_tokens=False))
    reached = _reached(tokenizer, tokens, skip_special_tokens=False)
    # The fewest tokens whose text goes beyond what is before the answer; the last of them is the answer's first.
    first = bisect_right(range(len(tokens) + 1), len(before), key=reached) - 1
    return Spliced(tokens, min(first, len(tokens) - 1))


def mean_probability(log_probs: Sequence[float]) -> float:
    """The mean of e^l over at least one token's log-probability l."""
    return math.fsum(map(math.exp, log_probs)) / len(log_probs)


def _reached(tokenizer: Any, tokens: Sequence[int], *, skip_special_tokens: bool = True) -> Callable[[int], int]:
    """How many characters the text of so many tokens has."""
    return lambda count: len(_text(tokenizer, tokens[:count], skip_special_tokens=skip_special_tokens))


def _text(tokenizer: Any, tokens: Sequence[int], *, skip_special_tokens: bool = True) -> str:
    return str(tokenizer.decode(tokens, skip_special_tokens=skip_special_tokens))
