"""The traces of a step's critic as rows of its own update: a prompt (the state) and a response (the trace) each."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Method
from pacs.algorithm.genac.rewards import critic_reward
from pacs.integration.exchange import ROLLOUT, StepSettings
from pacs.integration.patches.critic_rollouts import Traces
from pacs.integration.trainer.arrangement import blocks_of, rows_of_ranks, workloads
from pacs.integration.trainer.step_rows import is_padding, step_rows
from pacs.verl_keys.config import PADDING_TOKENS


@dataclass(frozen=True)
class TraceRow:
    """What the critic wrote about one state.

    Attributes:
        state: tokens of its prompt.
        trace: tokens that it wrote.
        log_probs: of these, as its engine gave them.
        outcome: r of the response.
        value: the score over ten; None where the trace has none.
    """

    state: list[int]
    trace: list[int]
    log_probs: list[float]
    outcome: float
    value: float | None

    @property
    def reward(self) -> float:
        """1 - (r - v)^2, 0 without a value."""
        return critic_reward(self.outcome, self.value)


def trace_rows(batch: Any, outcomes: Sequence[float]) -> list[list[TraceRow]]:
    """The traces of each response of a train batch, in the batch's order; padding has none.

    Args:
        batch: verl's keys and tags.
        outcomes: r of each row.
    """
    where = {"keys": batch.keys, "partition_id": batch.partition_id}
    data = tq.kv_batch_get(select_fields=["responses", "extra_fields"], **where)
    columns = zip(batch.tags, data["responses"].unbind(), data.get("extra_fields").tolist(), outcomes, strict=True)
    rows = []
    for tag, response, extra, outcome in columns:
        if is_padding(tag):
            continue
        written, tokens = Traces.of(extra), response.tolist()
        parts = zip(written.starts, written.traces, written.log_probs, written.scores, strict=True)
        rows.append(
            [
                TraceRow(
                    state=written.head + tokens[:start] + written.tail,
                    trace=trace,
                    log_probs=log_probs,
                    outcome=outcome,
                    value=None if score is None else score / 10,
                )
                for start, trace, log_probs, score in parts
            ]
        )
    return rows


def critic_batch(
    rows: Sequence[TraceRow], method: Method, *, updates: int, ranks: int, pad: int, temperature: float
) -> TensorDict:
    """What the critic's workers train on, with padding: rank r has the r-th part, in mini-batches of like cost.

    Args:
        rows: all traces of the step, at least one.
        method: the critic's.
        updates: mini-batches.
        ranks: data-parallel ones.
        pad: a token to fill up with.
        temperature: at which traces are sampled.
    """
    lengths = [len(row.state) + len(row.trace) for row in rows]
    per_update = -(-len(rows) // (updates * ranks)) * ranks
    single = [[place] for place in range(len(rows))]
    blocks = blocks_of(single, lengths, per_mini_batch=per_update, size=1)
    padding = sum(map(len, blocks)) - len(rows)
    lengths += [PADDING_TOKENS] * padding
    places = list(chain(*rows_of_ranks(blocks, workloads(lengths), ranks, whole_groups=True)))
    filling = TraceRow([pad] * (PADDING_TOKENS - 1), [pad], [0.0], 0.0, None)
    ordered = [rows[place] if place < len(rows) else filling for place in places]
    is_filling = torch.tensor([place >= len(rows) for place in places])
    fields, _ = step_rows(
        torch.arange(len(ordered)),
        is_filling,
        torch.tensor([row.reward for row in ordered]),
        method,
        torch.tensor([len(row.trace) for row in ordered]),
    )
    sequences = [torch.tensor(row.state + row.trace) for row in ordered]
    masks = [torch.full((len(row.trace),), int(not fills)) for row, fills in zip(ordered, is_filling, strict=True)]
    data = TensorDict(
        {
            "input_ids": _jagged(sequences),
            "position_ids": _jagged([torch.arange(len(tokens)) for tokens in sequences]),
            "prompts": _jagged([torch.tensor(row.state) for row in ordered]),
            "responses": _jagged([torch.tensor(row.trace) for row in ordered]),
            "response_mask": _jagged(masks),
            "loss_mask": _jagged(masks),
            ROLLOUT: _jagged([torch.tensor(row.log_probs) for row in ordered]),
            **fields.pack(),
        },
        batch_size=len(ordered),
    )
    tu.assign_non_tensor(
        data,
        **StepSettings(strategy="grouped", reference_is_policy=True).pack(),
        calculate_entropy=False,
        mini_batch_size=per_update,
        global_batch_size=per_update,
        epochs=1,
        seed=0,
        dataloader_kwargs={"shuffle": False},
        temperature=temperature,
        force_group_size=1,
    )
    return data


def _jagged(values: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(values, layout=torch.jagged)
