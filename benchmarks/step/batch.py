"""The rollouts as verl's workers get them."""

from dataclasses import dataclass
from typing import Any

import torch
from tensordict import TensorDict

from benchmarks.step.rollouts import Rollouts


@dataclass(frozen=True)
class Batch:
    """A train batch.

    Attributes:
        data: the fields that every algorithm reads, jagged where verl's are.
        labels: (B,) 0 or 1.
        prompt_ids: the prompt's id of each row.
        group: responses a prompt.
        mini_batches: updates a step.
    """

    data: TensorDict
    labels: torch.Tensor
    prompt_ids: list[str]
    group: int
    mini_batches: int


def make_batch(rollouts: Rollouts, group: int, mini_batches: int) -> Batch:
    """A batch in which every `group` consecutive rows count as the responses to one prompt."""

    def jagged(rows: list[list[Any]]) -> torch.Tensor:
        return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)

    rows = len(rollouts.responses)
    sequences = [prompt + response for prompt, response in zip(rollouts.prompts, rollouts.responses, strict=True)]
    fields = {
        "input_ids": jagged(sequences),
        "position_ids": jagged([list(range(len(sequence))) for sequence in sequences]),
        "prompts": jagged(rollouts.prompts),
        "responses": jagged(rollouts.responses),
        "response_mask": jagged(rollouts.mask),
        "loss_mask": jagged(rollouts.mask),
        "rollout_log_probs": jagged(rollouts.log_probs),
    }
    return Batch(
        data=TensorDict(fields, batch_size=rows),
        labels=torch.tensor(rollouts.labels),
        prompt_ids=[str(row // group) for row in range(rows)],
        group=group,
        mini_batches=mini_batches,
    )
