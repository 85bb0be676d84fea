"""Sums over groups of rows, where a group is the responses to one prompt."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Groups:
    """Which group each of B rows belongs to, and the row mask.

    Rows outside the mask enter no sum and no size, even if their numbers are NaN. A group without a row in the mask
    stays as a group of size 0: its sums are 0 and nothing reads them.

    Attributes:
        ids: (K,) int64, the distinct group ids, sorted.
        index: (B,) int64 in [0, K), the position in `ids` of each row's group.
        rows: (B,) bool, the row mask.
        sizes: (K,) int64, how many rows of each group are in the mask.
    """

    ids: torch.Tensor
    index: torch.Tensor
    rows: torch.Tensor
    sizes: torch.Tensor

    def keep(self, rows: torch.Tensor) -> "Groups":
        """The same groups, with a row mask of those that are in it now and in `rows` ((B,) bool)."""
        rows = self.rows & rows
        sizes = torch.zeros_like(self.ids).index_add(0, self.index, rows.long())
        return Groups(self.ids, self.index, rows, sizes)

    def with_any(self, rows: torch.Tensor) -> torch.Tensor:
        """(B,) bool: all rows of each group that has at least one of `rows` ((B,) bool), within the row mask."""
        return self.rows & self.of_rows(self.keep(rows).sizes > 0)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Sum of (B,) floating `values` over each group: (K,)."""
        return values.new_zeros(self.ids.shape).index_add(0, self.index, torch.where(self.rows, values, 0))

    def logsumexp(self, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """log(sum of e^value) of each group over (B,) bool `rows`, within the row mask: (K,), -inf without any."""
        chosen = torch.where(self.rows & rows, values, -torch.inf)
        none = torch.full_like(self.ids, -torch.inf, dtype=values.dtype)
        largest = none.scatter_reduce(0, self.index, chosen.detach(), "amax")
        largest = torch.where(largest == -torch.inf, 0, largest)  # -inf less itself is NaN
        return self.sum((chosen - self.of_rows(largest)).exp()).log() + largest

    def center(self, values: torch.Tensor) -> torch.Tensor:
        """(B,) floating `values` minus their group's mean: (B,), 0 outside the row mask."""
        mean = self.sum(values) / self.sizes.clamp(min=1)
        return torch.where(self.rows, values - self.of_rows(mean), 0)

    def of_rows(self, group_values: torch.Tensor) -> torch.Tensor:
        """What each row's group has in (K,) `group_values`: (B,)."""
        return group_values[self.index]


def make_groups(group_ids: torch.Tensor, row_mask: torch.Tensor | None = None) -> Groups:
    """Groups of (B,) integer `group_ids`; rows that are 0 or False in (B,) `row_mask` are left out.

    Raises:
        ValueError: `group_ids` is not a one-dimensional integer tensor, or `row_mask` has another shape.
    """
    if group_ids.dim() != 1 or group_ids.is_floating_point() or group_ids.dtype == torch.bool:
        raise ValueError(
            "group_ids must be a one-dimensional integer tensor, an id a row; got "
            f"{group_ids.dtype} of shape {tuple(group_ids.shape)}"
        )
    if row_mask is None:
        rows = torch.ones_like(group_ids, dtype=torch.bool)
    else:
        if row_mask.shape != group_ids.shape:
            raise ValueError(f"row_mask has shape {tuple(row_mask.shape)}, where {tuple(group_ids.shape)} is needed")
        rows = row_mask != 0
    ids, index = torch.unique(group_ids.long(), return_inverse=True)
    return Groups(ids, index, torch.ones_like(rows), torch.zeros_like(ids)).keep(rows)


def one_group(rows: torch.Tensor) -> Groups:
    """All of (B,) bool `rows` as a single group."""
    index = torch.zeros_like(rows, dtype=torch.int64)
    return Groups(index.new_zeros(1), index, rows, rows.sum().reshape(1))


def check_whole_groups(group_ids: torch.Tensor, group_sizes: torch.Tensor, row_mask: torch.Tensor | None) -> None:
    """Refuse rows that lack a part of their group: their scores would be compared with the wrong mean.

    Args:
        group_ids: (B,) int64.
        group_sizes: (B,) rows of the row's group in the mask of the whole batch, here or elsewhere.
        row_mask: (B,) bool or number; rows that are 0 are left out.

    Raises:
        ValueError: rows of a group are missing here (one host sync).
    """
    groups = make_groups(group_ids, row_mask)
    here = groups.of_rows(groups.sizes)
    torn = groups.rows & (here != group_sizes)
    if torn.any():
        row = int(torn.nonzero()[0])
        raise ValueError(
            f"{int(here[row])} of the {int(group_sizes[row])} responses of group {int(group_ids[row])} are here: a "
            "score needs its whole group. method.update.strategy=cached allows any split; with grouped, keep a group "
            "in one micro-batch (actor_rollout_ref.actor.ppo_max_token_len_per_gpu or ppo_micro_batch_size_per_gpu)"
        )
