"""The grades of a train batch's rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import torch


@dataclass(frozen=True)
class Grades:
    """The graded rows of a train batch, padding among them; each tensor is (B,).

    Attributes:
        rewards: float, what the reward function gave, shaped or not: what is trained on.
        scores: float, the verifier's own, without what was added for other parts of a reward, or for a length.
        group_ids: int64, the number of the row's prompt.
        sampled: bool, the row is a response and not padding.
        first: bool, it is one of the first responses to its prompt, which alone say how often the policy is right.
        tokens: float, of the response that may carry a gradient.
        truncated: bool, the response is as long as one may be.
        fingerprints: int64, the same of responses of the same tokens.
        infos: what the verifier said beside the score, of each sampled row.
        vine: (B, 4) float, `exchange.VINE_COLUMNS`; None without `run.rollouts.vine`.
        masked: float, tokens that the policy wrote and that carry no gradient; None: there are none.
    """

    rewards: torch.Tensor
    scores: torch.Tensor
    group_ids: torch.Tensor
    sampled: torch.Tensor
    first: torch.Tensor
    tokens: torch.Tensor
    truncated: torch.Tensor
    fingerprints: torch.Tensor
    infos: list[dict[str, Any]]
    vine: torch.Tensor | None = None
    masked: torch.Tensor | None = None

    @property
    def written(self) -> torch.Tensor:
        """(B,) tokens that the policy wrote."""
        return self.tokens if self.masked is None else self.tokens + self.masked

    def rows(self, first: int, last: int) -> "Grades":
        """Those of rows that follow each other, where no row is padding."""
        cut = slice(first, last)
        return replace(self, **{name: values[cut] for name, values in _given(self).items()})

    def responses(self) -> "Grades":
        """Those of the rows that are no padding."""
        columns = {name: values[self.sampled] for name, values in _given(self).items() if name != "infos"}
        return replace(self, **columns)


def joined(parts: Sequence[Grades]) -> Grades:
    """Those of several batches, whose groups are all different ones."""
    columns = {name: torch.cat([getattr(part, name) for part in parts]) for name in _given(parts[0]) if name != "infos"}
    groups = [part.group_ids.unique(return_inverse=True) for part in parts]
    before = accumulate((len(ids) for ids, _ in groups), initial=0)
    columns["group_ids"] = torch.cat([first + index for first, (_, index) in zip(before, groups, strict=False)])
    return Grades(**columns, infos=[info for part in parts for info in part.infos])


def _given(grades: Grades) -> dict[str, Any]:
    return {name: values for name, values in vars(grades).items() if values is not None}
