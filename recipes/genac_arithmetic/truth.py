"""What states are worth: the share of right ones among many continuations of each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from recipes.genac_arithmetic.problems import TASK
from recipes.genac_arithmetic.states import State
from recipes.laboratory.counting import count_behind
from recipes.starts.read import grade

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM


def worth(
    actor: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    states: Sequence[State],
    answers: Mapping[str, str],
    *,
    continuations: int,
    generator: torch.Generator,
) -> list[float]:
    """Of each state, the share of right responses among continuations by the actor.

    States that are alike are continued once, and so have the same share.

    Args:
        actor: continues them at T=1.
        tokenizer: of it.
        states: N of them.
        answers: to their problems, by the problems' texts.
        continuations: of each, K.
        generator: of the random numbers.
    """
    different = {state.place: state for state in states}
    chosen = sorted(different.values(), key=lambda state: len(state.ids))  # alike in length: little is padding
    counts = count_behind(
        actor,
        tokenizer,
        [state.ids for state in chosen],
        samples=continuations,
        max_tokens=TASK.max_response_tokens,
        generator=generator,
    )
    shares = {}
    for state, texts in zip(chosen, counts.texts, strict=True):
        ends = list(texts)
        labels = grade(
            [state.partial + end for end in ends], [answers[state.problem]] * len(ends), [TASK.verifier] * len(ends)
        )
        right = sum(texts[end] * label for end, label in zip(ends, labels.tolist(), strict=True))
        shares[state.place] = right / continuations
    return [shares[state.place] for state in states]
