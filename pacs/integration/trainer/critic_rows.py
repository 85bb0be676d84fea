"""The traces of a step's critic as rows of its own update.

All traces about a response go on from it, so that they are one row: its problem and its tokens once, then each trace
from the place of its state (`worker/shared_prefix.py`). A row of its own for each would repeat these some ten times.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu

from pacs.algorithm.genac.rewards import critic_reward
from pacs.integration.exchange import ROLLOUT, Branches, RowFields, StepSettings
from pacs.integration.patches.critic_rollouts import Traces
from pacs.integration.trainer.arrangement import blocks_of, rows_of_ranks, workloads
from pacs.integration.trainer.step_rows import columns, is_padding
from pacs.verl_keys.config import PADDING_TOKENS


@dataclass(frozen=True)
class Trace:
    """What the critic wrote about one state.

    Attributes:
        start: tokens of the response that the state has.
        tokens: that it wrote.
        log_probs: of these, as its engine gave them.
        value: the score over ten; None where it has none.
    """

    start: int
    tokens: list[int]
    log_probs: list[float]
    value: float | None


@dataclass(frozen=True)
class Judged:
    """A response, and what the critic wrote about it.

    Attributes:
        head, tail: tokens of the critic's prompt before and behind the partial response.
        response: its tokens.
        outcome: r.
        traces: one for each segment.
    """

    head: list[int]
    response: list[int]
    tail: list[int]
    outcome: float
    traces: list[Trace]

    def rewards(self) -> list[float]:
        """1 - (r - v)^2 of each trace, 0 without a value."""
        return [critic_reward(self.outcome, trace.value) for trace in self.traces]


@dataclass(frozen=True)
class CriticRow:
    """A row: the head as its prompt; as its response the tokens of the policy's that states have, and the traces.

    Attributes:
        prompt: tokens.
        response: tokens, of which the following are, too.
        positions: of prompt and response.
        branch, sees: as `Branches`.
        mask: whether the critic wrote a token.
        credit: of each token, that of its trace; 0 outside the mask.
        log_probs: as the engine gave them; 0 outside the mask.
        traces: how many there are.
    """

    prompt: list[int]
    response: list[int]
    positions: list[int]
    branch: list[int]
    sees: list[int]
    mask: list[int]
    credit: list[float]
    log_probs: list[float]
    traces: int

    def __len__(self) -> int:
        return len(self.positions)


def judged(batch: Any, outcomes: Sequence[float]) -> list[Judged]:
    """The responses of a train batch, in the batch's order, without padding.

    Args:
        batch: verl's keys and tags.
        outcomes: r of each row.
    """
    data = columns(batch, "responses", "extra_fields")
    rows = zip(batch.tags, data["responses"].unbind(), data.get("extra_fields").tolist(), outcomes, strict=True)
    found = []
    for tag, response, extra, outcome in rows:
        if is_padding(tag):
            continue
        said = Traces.of(extra)
        parts = zip(said.starts, said.traces, said.log_probs, said.scores, strict=True)
        traces = [
            Trace(start, tokens, log_probs, None if score is None else score / 10)
            for start, tokens, log_probs, score in parts
        ]
        found.append(Judged(said.head, response.tolist(), said.tail, outcome, traces))
    return found


def critic_rows(response: Judged, credit: Sequence[float], most_tokens: int) -> Iterator[CriticRow]:
    """The traces of a response as one row, or as few as have at most so many tokens each.

    Args:
        response: with its traces.
        credit: of each trace.
        most_tokens: of a row; one trace has a row whatever its length.
    """
    kept: list[tuple[Trace, float]] = []
    behind = 0  # tokens of the branches that are kept
    for trace, of_trace in zip(response.traces, credit, strict=True):
        added = len(response.tail) + len(trace.tokens)
        if kept and len(response.head) + trace.start + behind + added > most_tokens:
            yield _row(response, kept)
            kept, behind = [], 0
        kept.append((trace, of_trace))
        behind += added
    yield _row(response, kept)


def _row(response: Judged, kept: Sequence[tuple[Trace, float]]) -> CriticRow:
    head, last = len(response.head), kept[-1][0].start
    tokens, positions = response.response[:last], list(range(head + last))
    branch, sees = [0] * (head + last), list(range(1, head + last + 1))
    mask, credit, log_probs = [0] * last, [0.0] * last, [0.0] * last
    for number, (trace, of_trace) in enumerate(kept, start=1):
        asked, wrote, first = len(response.tail), len(trace.tokens), head + trace.start
        tokens = tokens + response.tail + trace.tokens
        positions += range(first, first + asked + wrote)
        branch += [number] * (asked + wrote)
        sees += [first] * (asked + wrote)
        mask += [0] * asked + [1] * wrote
        credit += [0.0] * asked + [of_trace] * wrote
        log_probs += [0.0] * asked + trace.log_probs
    return CriticRow(response.head, tokens, positions, branch, sees, mask, credit, log_probs, len(kept))


def critic_batch(rows: Sequence[CriticRow], *, updates: int, ranks: int, pad: int, temperature: float) -> TensorDict:
    """What the critic's workers train on, with padding: rank r has the r-th part, in mini-batches of like cost.

    Args:
        rows: of the step, at least one.
        updates: mini-batches.
        ranks: data-parallel ones.
        pad: a token to fill up with.
        temperature: at which traces are sampled.
    """
    lengths = [len(row) for row in rows]
    per_update = -(-len(rows) // (updates * ranks)) * ranks
    blocks = blocks_of([[place] for place in range(len(rows))], lengths, per_mini_batch=per_update, size=1)
    lengths += [PADDING_TOKENS] * (sum(map(len, blocks)) - len(rows))
    places = list(chain(*rows_of_ranks(blocks, workloads(lengths), ranks, whole_groups=True)))
    ordered = [rows[place] if place < len(rows) else _padding(pad) for place in places]
    traces = torch.tensor([row.traces for row in ordered])
    fields = RowFields(
        row=torch.arange(len(ordered)),
        labels=torch.zeros(len(ordered)),
        group_ids=torch.arange(len(ordered)),
        group_sizes=(traces > 0).long(),
        row_mask=traces > 0,
        active=traces > 0,
        shares=traces.double(),
        coefficients=(traces > 0).float(),
        credit=_jagged(row.credit for row in ordered),
    )
    masks = _jagged(row.mask for row in ordered)
    branches = Branches(_jagged(row.branch for row in ordered), _jagged(row.sees for row in ordered))
    data = TensorDict(
        {
            "input_ids": _jagged(row.prompt + row.response for row in ordered),
            "position_ids": _jagged(row.positions for row in ordered),
            "prompts": _jagged(row.prompt for row in ordered),
            "responses": _jagged(row.response for row in ordered),
            "response_mask": masks,
            "loss_mask": masks,
            ROLLOUT: _jagged(row.log_probs for row in ordered),
            **fields.pack(),
            **branches.pack(),
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


def _padding(pad: int) -> CriticRow:
    """A row without a trace, which nothing is learned from."""
    number, nothing = PADDING_TOKENS, [0.0]
    places, sees = list(range(number)), list(range(1, number + 1))
    return CriticRow([pad] * (number - 1), [pad], places, [0] * number, sees, [0], nothing, nothing, 0)


def _jagged(rows: Iterable[Sequence[float]]) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)
