"""The actor as it begins, with its responses to the critics' problems: what critics learn from before it is trained."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recipes.genac_arithmetic.start import begin
from recipes.genac_arithmetic.states import State, states_of
from recipes.laboratory.sampling import Samples, sample
from recipes.starts.read import Problems, grade

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM


@dataclass(frozen=True)
class Frozen:
    """B responses with their (B,) outcomes and all of their states; `probe` are problems that no critic learns from."""

    actor: "Qwen3ForCausalLM"
    tokenizer: "PreTrainedTokenizerBase"
    samples: Samples
    outcomes: torch.Tensor
    states: list[State]
    probe: Problems

    @property
    def rate(self) -> float:
        """Of success."""
        return float(self.outcomes.mean())


def frozen_actor(seed: int, responses: int, most: int | None = None) -> Frozen:
    """The start with so many responses of a seed to each of the critics' problems, or to no more than so many."""
    begun, problems = begin("probe")
    problems = problems.of(range(len(problems))[:most])
    actor: Qwen3ForCausalLM = begun.policy  # type: ignore[assignment]
    samples = sample(
        actor,
        begun.tokenizer,
        problems.messages,
        samples=responses,
        max_tokens=begun.max_response_tokens,
        generator=torch.Generator().manual_seed(seed),
    )
    each = problems.of([row // responses for row in range(len(samples))])
    outcomes = grade(samples.texts, each.answers, each.verifiers)
    return Frozen(actor, begun.tokenizer, samples, outcomes, states_of(samples, begun.tokenizer), begun.evaluated)
