"""Which update of a step trains on which rows."""

from collections.abc import Callable

import torch

from pacs.algorithm import Method
from pacs.algorithm.aggregated import Aggregated
from pacs.base.errors import UserError, did_you_mean

#: A setting's value -> (B,) rewards, (B,) groups from 0 on, and the number of updates -> (B,) each row's update.
Cut = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]


def check(name: str | None, method: Method) -> None:
    """Raise UserError where there is no such way to cut, or the method compares responses within an update."""
    known = [each for each in CUTS if each is not None]
    if name not in (None, *known):
        raise UserError(
            f"mini_batches={name} is not known: choose {' or '.join(known)}, or null for groups as they were drawn."
            f"{did_you_mean(str(name), known)}"
        )
    if name == "scattered" and not isinstance(method, Aggregated):
        raise UserError(
            "mini_batches=scattered takes a group apart, and this method's loss compares a group's responses within an "
            "update: leave it out, or use a policy gradient such as grpo"
        )


def in_order(rewards: torch.Tensor, groups: torch.Tensor, updates: int) -> torch.Tensor:
    """The first groups are of the first update."""
    return groups * updates // (int(groups.max()) + 1)


def balanced(rewards: torch.Tensor, groups: torch.Tensor, updates: int) -> torch.Tensor:
    """As many whole groups in each update, and nearly equal sums of rewards: verl's split, as in `run.balance_rewards`.

    Groups that do not divide are filled up with empty ones.
    """
    from verl.utils.seqlen_balancing import get_seqlen_balanced_partitions  # it takes seconds to import

    sums = torch.bincount(groups, rewards.double())
    filled = torch.nn.functional.pad(sums, (0, -len(sums) % updates)).tolist()
    of_group = torch.zeros(len(filled), dtype=torch.int64)
    for update, of_update in enumerate(get_seqlen_balanced_partitions(filled, k_partitions=updates, equal_size=True)):
        of_group[of_update] = update
    return of_group[groups]


def scattered(rewards: torch.Tensor, groups: torch.Tensor, updates: int) -> torch.Tensor:
    """A group's rows are dealt out to the updates in turn, so that each has as many of each group as any other."""
    return torch.arange(len(groups)) % updates


CUTS: dict[str | None, Cut] = {None: in_order, "balanced": balanced, "scattered": scattered}
