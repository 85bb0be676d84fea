"""A step's rows as PACS sees them: which group each is in, what it weighs, and whether it counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pacs.algorithm import Method, weigh_rows
from pacs.integration import fields


@dataclass(frozen=True)
class StepRows:
    """All rows of a train batch, before any split; each tensor is (B,).

    Attributes:
        labels: float, the verifier's 0 or 1; 0 in padding.
        group_ids: int64, the number of the row's prompt.
        group_sizes: int64, how many rows of its group take part.
        padding: bool, rows that fill the batch up.
        alone: bool, responses of which too few others are left to compare them with (`Method.smallest_group`).
        counted: bool, rows that count in N.
        weights: float, w_i of Eq. 8 over the whole train batch.
    """

    labels: torch.Tensor
    group_ids: torch.Tensor
    group_sizes: torch.Tensor
    padding: torch.Tensor
    alone: torch.Tensor
    counted: torch.Tensor
    weights: torch.Tensor

    def as_fields(self) -> dict[str, torch.Tensor]:
        """What the workers need of each row, under the names of `fields`."""
        return {
            fields.ROW: torch.arange(len(self.labels)),
            fields.LABELS: self.labels,
            fields.GROUP_IDS: self.group_ids,
            fields.GROUP_SIZES: self.group_sizes,
            fields.WEIGHTS: self.weights,
            fields.ROW_MASK: ~self.padding & ~self.alone,
            fields.COUNTED: self.counted,
        }


def step_rows(group_ids: torch.Tensor, padding: torch.Tensor, rewards: torch.Tensor, method: Method) -> StepRows:
    """Group, check and weigh the rows of a train batch.

    Args:
        group_ids: (B,) int64, the number of the row's prompt.
        padding: (B,) bool, the row fills the batch up.
        rewards: (B,) the reward function's scores.
        method: with its settings.

    Raises:
        ValueError: a reward other than 0 and 1.
    """
    sizes = torch.bincount(group_ids[~padding], minlength=int(group_ids.max()) + 1)[group_ids]
    alone = ~padding & (sizes < method.smallest_group)
    row_mask = ~padding & ~alone
    check_labels(rewards[row_mask], method)
    labels = torch.where(padding, 0, rewards)
    counted, weights = weigh_rows(labels, group_ids, method, row_mask)
    return StepRows(
        labels=labels,
        group_ids=group_ids,
        group_sizes=sizes,
        padding=padding,
        alone=alone,
        counted=counted,
        weights=weights,
    )


def prompt_uid(row_key: str) -> str:
    """The prompt's id in verl's row key `{uid}_{session}_{output}`."""
    return row_key.rsplit("_", 2)[0]


def is_padding(tag: dict[str, Any]) -> bool:
    """Whether verl's tag is that of a row that fills the batch up."""
    return bool(tag.get("is_padding", False))


def dense_ids(uids: Sequence[str]) -> torch.Tensor:
    """Number the prompts in the order of their first row; shape (B,), int64."""
    index: dict[str, int] = {}
    return torch.tensor([index.setdefault(uid, len(index)) for uid in uids])


def row_sums(jagged: torch.Tensor) -> torch.Tensor:
    """Sum over the tokens of each row of a jagged (B, *) tensor: (B,). Padded, a large batch would be gigabytes."""
    return torch.stack([row.sum() for row in jagged.unbind()])


def check_labels(labels: torch.Tensor, method: Method) -> None:
    """Raise ValueError unless the method takes every reward as a label."""
    taken = (labels >= 0) & (labels <= 1) if method.soft_labels else (labels == 0) | (labels == 1)
    graded = bool(((labels > 0) & (labels < 1)).any())
    if graded and method.reference.reset_at_saturation is not None:
        raise ValueError(
            f"pacs.reference.reset_at_saturation={method.reference.reset_at_saturation}: with scores between 0 and 1 "
            "no residual says how much is learned: leave it out, or set a threshold to the scores."
        )
    others = labels[~taken].unique()
    if len(others):
        raise ValueError(
            f"{type(method).__name__} trains on labels {'from 0 to 1' if method.soft_labels else 'of 0 and 1'}, "
            f"but the reward function returned {others[:5].tolist()}. Set reward.custom_reward_function to a verifier "
            "whose score is 0.0 or 1.0, as pkg://pacs.rewards.registry is."
        )
