"""A step's rows as a method sees them: groups, who counts, coefficients, credit and token weights."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transfer_queue as tq
from omegaconf import DictConfig

from pacs.algorithm import Method, batch_constants
from pacs.algorithm.checks import LABEL_WORDS, taken
from pacs.integration.exchange import REFERENCE_SPAN, ReferenceSpans, RowFields
from pacs.verl_keys.config import responses_per_prompt, trains_completions


def step_rows(
    group_ids: torch.Tensor,
    padding: torch.Tensor,
    rewards: torch.Tensor,
    method: Method,
    lengths: torch.Tensor,
    tokens: Mapping[str, torch.Tensor] | None = None,
    *,
    equal_groups: bool = False,
    memory: Mapping[str, float] | None = None,
) -> tuple[RowFields, torch.Tensor]:
    """Group, check and credit the rows of a train batch.

    Args:
        group_ids: (B,) int64, the number of the row's prompt.
        padding: (B,) bool, the row fills the batch up.
        rewards: (B,) the reward function's scores.
        method: with its settings.
        lengths: (B,) tokens of each response.
        tokens: jagged (B, T) each, those of `fields_read`; None where there are none.
        equal_groups: no group pulls more for being larger (`batch_constants`).
        memory: what a token weight carries from the step before (`batch_constants`).

    Returns:
        What the workers need; and (B,) bool, responses of which too few others are left to compare them with
        (`Method.smallest_group`).

    Raises:
        ValueError: a reward other than 0 and 1; a stream that is not finite.
    """
    sizes = torch.bincount(group_ids[~padding], minlength=int(group_ids.max()) + 1)[group_ids]
    alone = ~padding & (sizes < method.smallest_group)
    row_mask = ~padding & ~alone
    check_labels(rewards[row_mask], method)
    labels = torch.where(padding, 0, rewards)
    streams = {} if tokens is None else {name: values.to_padded_tensor(0) for name, values in tokens.items()}
    mask = streams.pop("response_mask", None)
    constants = batch_constants(
        labels,
        group_ids,
        method,
        row_mask,
        response_mask=mask,
        lengths=lengths,
        streams=streams,
        equal_groups=equal_groups,
        memory=memory,
    )
    by_token = {name: each for name, each in vars(constants).items() if each is not None and each.dim() == 2}
    jagged = {} if tokens is None else {name: like(tokens["response_mask"], each) for name, each in by_token.items()}
    rows = RowFields(
        row=torch.arange(len(labels)),
        labels=labels,
        group_ids=group_ids,
        group_sizes=sizes,
        row_mask=row_mask,
        **vars(constants) | jagged,
    )
    return rows, alone


def reference_spans(batch: Any) -> ReferenceSpans:
    """Where each row of verl's batch has its reference answer."""
    extra_fields = columns(batch, "extra_fields").get("extra_fields").tolist()
    spans = [
        (0, 0) if is_padding(tag) else extra.get(REFERENCE_SPAN, (0, 0))
        for extra, tag in zip(extra_fields, batch.tags, strict=True)
    ]
    first, end = torch.tensor(spans, dtype=torch.int64).unbind(dim=1)
    return ReferenceSpans(first, end)


def fields_read(method: Method) -> tuple[str, ...]:
    """verl's fields of tokens that a method's credit and token weight are made of; none where both have no need."""
    by_token = method.reads or method.token_weight.name is not None
    return ("response_mask", *method.reads) if by_token else ()


def columns(batch: Any, *names: str) -> Any:
    """Fields of all rows of verl's batch, from its queue."""
    return tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=list(names))


def like(jagged: torch.Tensor, padded: torch.Tensor) -> torch.Tensor:
    """(B, T) `padded` as a jagged tensor of the lengths of another."""
    rows = [values[: len(row)] for row, values in zip(jagged.unbind(), padded, strict=True)]
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def prompt_uid(row_key: str) -> str:
    """The prompt's id in verl's row key `{uid}_{session}_{output}`."""
    return row_key.rsplit("_", 2)[0]


def session_of(row_key: str) -> int:
    """The number of the response to its prompt in the same key."""
    return int(row_key.rsplit("_", 2)[1])


def group_uid(row_key: str, config: DictConfig) -> str:
    """The id of the group that a row is compared in: its prompt's, or of a trained completion its prefix's."""
    first, session = responses_per_prompt(config), session_of(row_key)
    if session < first or not trains_completions(config):
        return prompt_uid(row_key)
    return f"{prompt_uid(row_key)}/{(session - first) // config.run.rollouts.vine.completions}"


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
    if bool(((labels != 0) & (labels != 1)).any()) and method.reference.reset_at_saturation is not None:
        raise ValueError(
            f"method.reference.reset_at_saturation={method.reference.reset_at_saturation}: with scores between 0 and 1 "
            "no residual says how much is learned: leave it out, or set a threshold to the scores."
        )
    others = labels[~taken(labels, method.label_kind)].unique()
    if len(others):
        raise ValueError(
            f"{type(method).__name__} trains on labels {LABEL_WORDS[method.label_kind]}, but rewards are "
            f"{others[:5].tolist()}. Set reward.custom_reward_function to a verifier whose score is 0.0 or 1.0, as "
            "pkg://pacs.rewards.registry is, or run.reward.total to what makes such labels of scores (clip, threshold)."
        )
