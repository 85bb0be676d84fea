"""Which row goes where: whole groups in one mini-batch and, if asked, on one data-parallel rank next to each other.

A group (the responses to one prompt) becomes a *block* of exactly `group_size` rows: its own, and padding rows
where responses are missing. verl hands rank r the r-th part of the batch and cuts each part into consecutive
mini-batches, and `force_group_size` keeps consecutive rows in one micro-batch; blocks of equal size, in the
order computed here, therefore survive all three. Where groups need not stay together (`cached`), the rows of a
mini-batch are dealt out to the ranks one by one.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.utils.seqlen_balancing import calculate_workload, get_seqlen_balanced_partitions, log_seqlen_unbalance

from pacs.base.terminal import print
from pacs.integration.strategy import Choice, choose
from pacs.integration.trainer.step_rows import is_padding, prompt_uid


def arrange(trainer: Any, batch: Any, metrics: dict[str, Any]) -> tuple[Any, Choice]:
    """Choose the step's strategy, and arrange the rows for it, filled up with padding.

    Args:
        trainer: a `MethodTrainer`.
        batch: verl's keys and tags of the responses, in any order.
        metrics: gets verl's of how even the ranks are.
    """
    config = trainer.config.actor_rollout_ref
    layout = {"group_size": config.rollout.n, "groups_per_mini_batch": config.actor.ppo_mini_batch_size}
    batch.reorder(sampling_order(batch.keys))
    rows = padded_row_count([prompt_uid(key) for key in batch.keys], **layout)
    if rows > len(batch):
        # Padding a batch that is smaller than the "multiple" fills it up to just that size.
        batch = upsample_batch_to_divisible_size(batch, rows, trainer.tokenizer.eos_token_id)
    uids = [None if is_padding(tag) else prompt_uid(key) for key, tag in zip(batch.keys, batch.tags, strict=True)]
    lengths = [tag["seq_len"] for tag in batch.tags]
    largest = max(sum(lengths[row] for row in block) for block in blocks_of(uids, layout["group_size"]))
    choice = choose(trainer.config, largest)
    if trainer.last_choice is None or choice.strategy != trainer.last_choice.strategy:
        print(f"pacs: step {trainer.global_steps}: update strategy {choice.strategy}: {choice.reason}", flush=True)
    trainer.last_choice = choice
    order, parts = row_order(
        uids,
        calculate_workload(torch.tensor(lengths, dtype=torch.int64)).tolist(),
        ranks=trainer.data_parallel_size,
        whole_groups=choice.strategy == "grouped",
        **layout,
    )
    batch.reorder(order)
    metrics.update(log_seqlen_unbalance(lengths, parts, prefix="global_seqlen"))
    return batch, choice


def padded_row_count(uids: Sequence[str], *, group_size: int, groups_per_mini_batch: int) -> int:
    """Number of rows after every group is filled up to a block and every mini-batch up to its number of blocks.

    Args:
        uids: The prompt's id of every row.
        group_size: Rows in a block (`rollout.n`).
        groups_per_mini_batch: Blocks in a mini-batch over all ranks (`actor.ppo_mini_batch_size`).

    Raises:
        ValueError: If there is no row, or a group has more rows than a block.
    """
    if not uids:
        raise ValueError("No response of this step could be generated: the log has the error of each rollout.")
    sizes = Counter(uids)
    uid, largest = sizes.most_common(1)[0]
    if largest > group_size:
        raise ValueError(
            f"The prompt {uid} has {largest} responses, but actor_rollout_ref.rollout.n is {group_size}: "
            "set rollout.n to the largest number of responses a prompt may have (`__rollout_n__` in the data, or "
            "an agent loop that returns several outputs)."
        )
    mini_batches = -(-len(sizes) // groups_per_mini_batch)
    return mini_batches * groups_per_mini_batch * group_size


def sampling_order(keys: Sequence[str]) -> list[int]:
    """Indices of verl's row keys `{step}-{prompt}_{session}_{output}` by prompt, session and output.

    Rollouts arrive in any order; put into this one, the same rollouts make the same mini-batches in every run.
    """
    numbers = [tuple(int(part) for part in key.rsplit("-", 1)[1].split("_")) for key in keys]
    return sorted(range(len(keys)), key=numbers.__getitem__)


def row_order(
    uids: Sequence[str | None],
    workloads: Sequence[float],
    *,
    group_size: int,
    groups_per_mini_batch: int,
    ranks: int,
    whole_groups: bool,
) -> tuple[list[int], list[list[int]]]:
    """Order rows so that every rank's part consists of mini-batches of like workload.

    Args:
        uids: The prompt's id of every row; None for a padding row. Their number is `padded_row_count`'s answer.
        workloads: The cost of every row, in any unit.
        group_size: Rows in a block.
        groups_per_mini_batch: Blocks in a mini-batch over all ranks.
        ranks: Data-parallel ranks; a divisor of a mini-batch's blocks, or of its rows if groups may be split.
        whole_groups: Keep each block together on one rank.

    Returns:
        The rows' indices in their new order, and the same per rank.
    """
    blocks = blocks_of(uids, group_size)
    costs = [sum(workloads[row] for row in block) for block in blocks]
    parts: list[list[int]] = [[] for _ in range(ranks)]
    for mini_batch in _partition(costs, range(len(blocks)), len(blocks) // groups_per_mini_batch):
        if whole_groups:
            cells = [[row for block in cell for row in blocks[block]] for cell in _partition(costs, mini_batch, ranks)]
        else:
            cells = _partition(workloads, [row for block in mini_batch for row in blocks[block]], ranks)
        for part, cell in zip(parts, cells, strict=True):
            part.extend(cell)
    return [row for part in parts for row in part], parts


def blocks_of(uids: Sequence[str | None], group_size: int) -> list[list[int]]:
    """The rows of each block: a group and the padding that fills it up, then blocks of padding alone."""
    groups: dict[str | None, list[int]] = {None: []}
    for row, uid in enumerate(uids):
        groups.setdefault(uid, []).append(row)
    padding, blocks = groups.pop(None), []
    for rows in groups.values():
        missing = group_size - len(rows)
        blocks.append(rows + padding[:missing])
        padding = padding[missing:]
    blocks.extend(padding[i : i + group_size] for i in range(0, len(padding), group_size))
    return blocks


def _partition(costs: Sequence[float], items: Sequence[int], parts: int) -> list[list[int]]:
    """Split `items` into `parts` of equal number and nearly equal total cost."""
    if parts == 1:
        return [list(items)]
    partitions = get_seqlen_balanced_partitions([costs[i] for i in items], k_partitions=parts, equal_size=True)
    return [[items[i] for i in sorted(partition)] for partition in partitions]
