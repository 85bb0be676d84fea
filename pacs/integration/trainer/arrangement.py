"""Which row goes where: whole groups in one mini-batch and, if asked, on one data-parallel rank next to each other.

verl hands rank r the r-th part of the batch and cuts each part into consecutive mini-batches of as many rows, and
`force_group_size` keeps as many consecutive rows in one micro-batch. So the rows lie in *blocks* of one size: a group
(the responses to one prompt) that has as many, or several smaller ones, and padding rows for what is missing. Where
groups need not stay together (`cached`), the rows of a mini-batch are dealt out to the ranks one by one, with as much
padding as makes them as many on each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any

import torch
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.utils.seqlen_balancing import calculate_workload, get_seqlen_balanced_partitions, log_seqlen_unbalance

from pacs.base.terminal import print
from pacs.integration.strategy import Choice, choose
from pacs.integration.trainer.step_rows import prompt_uid
from pacs.verl_keys.config import PADDING_TOKENS, draws_more, most_responses, token_budget, uneven_groups

#: Beside rewards, the cost of a step's rows is this, so that it decides among mini-batches whose rewards are alike.
SMALL = 1e-3


@dataclass(frozen=True)
class Arrangement:
    """How a step's rows lie.

    Attributes:
        choice: how the gradient is taken.
        block_rows: rows of a block.
        mini_batch_rows: rows of a mini-batch over all ranks.
    """

    choice: Choice
    block_rows: int
    mini_batch_rows: int


def arrange(trainer: Any, batch: Any, metrics: dict[str, Any]) -> tuple[Any, Arrangement]:
    """Choose the step's strategy, and arrange the rows for it, filled up with padding.

    Args:
        trainer: a `MethodTrainer`.
        batch: verl's keys and tags of the responses, in any order.
        metrics: gets verl's of how even the ranks are.

    Raises:
        ValueError: If there is no row, or a group has more rows than it may.
    """
    config, ranks, uneven = trainer.config, trainer.data_parallel_size, uneven_groups(trainer.config)
    actor, n = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout.n
    batch.reorder(sampling_order(batch.keys))
    groups = groups_of([prompt_uid(key) for key in batch.keys])
    setting = "run.rollouts.dars.most" if draws_more(config) else "actor_rollout_ref.rollout.n"
    size = max(n, largest_group(groups, most_responses(config), setting))
    lengths = [tag["seq_len"] for tag in batch.tags]
    rewards = trainer.grading.read(batch).rewards.tolist() if config.run.balance_rewards else None
    blocks = blocks_of(
        list(groups.values()),
        lengths,
        per_mini_batch=actor.ppo_mini_batch_size,
        size=size,
        budget=token_budget(config) if actor.use_dynamic_bsz else None,
        ranks=ranks if uneven else None,
        rewards=rewards,
    )
    rows = sum(len(block) for block in chain(*blocks))
    lengths += [PADDING_TOKENS] * (rows - len(batch))
    choice = choose(config, max(sum(lengths[row] for row in block) for block in chain(*blocks)))
    if trainer.last_choice is None or choice.strategy != trainer.last_choice.strategy:
        print(f"pacs: step {trainer.global_steps}: update strategy {choice.strategy}: {choice.reason}", flush=True)
    trainer.last_choice = choice
    if choice.strategy == "cached" and actor.use_dynamic_bsz:
        blocks = filled_up(blocks, len(batch), ranks)
        rows = sum(len(block) for block in chain(*blocks))
        lengths = lengths[:rows]
    if rows > len(batch):
        # Padding a batch that is smaller than the "multiple" fills it up to just that size.
        batch = upsample_batch_to_divisible_size(batch, rows, trainer.tokenizer.eos_token_id)
    parts = rows_of_ranks(blocks, workloads(lengths), ranks, whole_groups=choice.strategy == "grouped")
    batch.reorder([row for part in parts for row in part])
    metrics.update(log_seqlen_unbalance(lengths, parts, prefix="global_seqlen"))
    return batch, Arrangement(choice, block_rows=size, mini_batch_rows=rows // len(blocks))


def sampling_order(keys: Sequence[str]) -> list[int]:
    """Indices of verl's row keys `{step}-{prompt}_{session}_{output}` by step, prompt, session and output.

    Rollouts arrive in any order; put into this one, the same rollouts make the same mini-batches in every run.
    """
    numbers = [tuple(int(part) for part in key.replace("-", "_").split("_")) for key in keys]
    return sorted(range(len(keys)), key=numbers.__getitem__)


def groups_of(uids: Sequence[str]) -> dict[str, list[int]]:
    """The rows of each prompt, by its id."""
    groups: dict[str, list[int]] = {}
    for row, uid in enumerate(uids):
        groups.setdefault(uid, []).append(row)
    return groups


def largest_group(groups: Mapping[str, Sequence[int]], most: int, setting: str) -> int:
    """Rows of the largest group.

    Args:
        groups: the rows of each prompt.
        most: that a group may have.
        setting: that says so.

    Raises:
        ValueError: If there is no row, or a group has more.
    """
    if not groups:
        raise ValueError("No response of this step could be generated: the log has the error of each rollout.")
    uid = max(groups, key=lambda uid: len(groups[uid]))
    if len(groups[uid]) > most:
        raise ValueError(
            f"The prompt {uid} has {len(groups[uid])} responses, but {setting} is {most}: set it to the largest number "
            "of responses a prompt may have (`__rollout_n__` in the data, or an agent loop that returns several "
            "outputs)."
        )
    return len(groups[uid])


def workloads(lengths: Sequence[int]) -> list[float]:
    """What each row costs, by verl's formula, of its tokens."""
    costs: list[float] = calculate_workload(torch.tensor(lengths, dtype=torch.int64)).tolist()
    return costs


def blocks_of(
    groups: Sequence[list[int]],
    lengths: Sequence[int],
    *,
    per_mini_batch: int,
    size: int,
    budget: int | None = None,
    ranks: int | None = None,
    rewards: Sequence[float] | None = None,
) -> list[list[list[int]]]:
    """The rows of each block of each mini-batch; those from `len(lengths)` on are padding, each there once.

    A mini-batch has as many groups as any other, but for those that are missing in the end, and is of like cost. Its
    groups are packed, the largest first, each into the first block that has room for it.

    Args:
        groups: the rows of each, at most `size`.
        lengths: tokens of each row.
        per_mini_batch: groups in a mini-batch (`actor.ppo_mini_batch_size`).
        size: rows of a block.
        budget: tokens of a block of several groups and its padding, at most; None: any number.
        ranks: a mini-batch has as few blocks as hold its groups, in a multiple of these; None: one for each group.
        rewards: of each row: mini-batches are of like sums of these first, and of like cost as far as that leaves.
    """
    mini_batches = -(-len(groups) // per_mini_batch)
    costs = workloads(lengths)
    missing = mini_batches * per_mini_batch - len(groups)
    if rewards is not None:
        least, most = min(rewards), (max(rewards) - min(rewards)) or 1.0
        costs = [
            (reward - least) / most + SMALL * cost / sum(costs) for reward, cost in zip(rewards, costs, strict=True)
        ]
    of_groups = [sum(costs[row] for row in rows) for rows in groups] + [0.0] * missing
    packed = [
        _packed([groups[place] for place in places if place < len(groups)], lengths, size, budget)
        for places in _partition(of_groups, range(len(of_groups)), mini_batches)
    ]
    each = per_mini_batch if ranks is None else -(-max(map(len, packed)) // ranks) * ranks
    padding = count(len(lengths))
    return [
        [[*block, *islice(padding, size - len(block))] for block in [*blocks, *[[]] * (each - len(blocks))]]
        for blocks in packed
    ]


def _packed(groups: list[list[int]], lengths: Sequence[int], size: int, budget: int | None) -> list[list[int]]:
    """Blocks without their padding, which counts in the budget."""
    blocks: list[list[int]] = []
    tokens: list[int] = []  # of each block, filled up
    for rows in sorted(groups, key=len, reverse=True):
        more = sum(lengths[row] - PADDING_TOKENS for row in rows)
        for place, block in enumerate(blocks):
            if len(block) + len(rows) <= size and (budget is None or tokens[place] + more <= budget):
                block += rows
                tokens[place] += more
                break
        else:
            blocks.append(list(rows))
            tokens.append(size * PADDING_TOKENS + more)
    return blocks


def filled_up(blocks: Sequence[list[list[int]]], rows: int, ranks: int) -> list[list[list[int]]]:
    """Where rows are dealt out one by one: each mini-batch as one block, with no more padding than its ranks need.

    Args:
        blocks: of `blocks_of`.
        rows: that are no padding, numbered from 0.
        ranks: data-parallel ranks.
    """
    sampled = [[row for row in chain(*mini_batch) if row < rows] for mini_batch in blocks]
    each = -(-max(map(len, sampled)) // ranks) * ranks
    padding = count(rows)
    return [[[*some, *islice(padding, each - len(some))]] for some in sampled]


def rows_of_ranks(
    blocks: Sequence[list[list[int]]], costs: Sequence[float], ranks: int, *, whole_groups: bool
) -> list[list[int]]:
    """The rows of each rank in their order, so that its part consists of mini-batches of like cost.

    Args:
        blocks: the rows of each block of each mini-batch.
        costs: of each row, in any unit.
        ranks: Data-parallel ranks; a divisor of a mini-batch's blocks, or of its rows if groups may be split.
        whole_groups: Keep each block together on one rank.
    """
    parts: list[list[int]] = [[] for _ in range(ranks)]
    for mini_batch in blocks:
        if whole_groups:
            of_blocks = [sum(costs[row] for row in block) for block in mini_batch]
            places = _partition(of_blocks, range(len(mini_batch)), ranks)
            cells = [[row for place in cell for row in mini_batch[place]] for cell in places]
        else:
            cells = _partition(costs, list(chain(*mini_batch)), ranks)
        for part, cell in zip(parts, cells, strict=True):
            part.extend(cell)
    return parts


def _partition(costs: Sequence[float], items: Sequence[int], parts: int) -> list[list[int]]:
    """Split `items` into `parts` of equal number and nearly equal total cost."""
    if parts == 1:
        return [list(items)]
    partitions = get_seqlen_balanced_partitions([costs[i] for i in items], k_partitions=parts, equal_size=True)
    return [[items[i] for i in sorted(partition)] for partition in partitions]
