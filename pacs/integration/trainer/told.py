"""What agent loops tell of a response beside its tokens and its grade: its turns, and whether it was tried again."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from omegaconf import DictConfig

from pacs.integration.exchange import GUIDED, TURNS
from pacs.metrics.guided import guided_columns, other_tokens
from pacs.metrics.turns import turn_columns
from pacs.verl_keys.config import guides


def with_told(extra_fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the verifier said of a response, and under `TURNS` and `GUIDED` what the loop tells of it."""
    said: dict[str, Any] = extra_fields.get("reward_extra_info", {})
    return said | {name: extra_fields.get(name) for name in (TURNS, GUIDED)}


def told_columns(infos: Sequence[Mapping[str, Any]], config: DictConfig) -> dict[str, torch.Tensor]:
    """The columns that `batch_metrics` reduces, of the responses that `with_told` was called for."""
    turns, guided = ([info.get(name) for info in infos] for name in (TURNS, GUIDED))
    return turn_columns(turns) | guided_columns(guided, guides=guides(config))


def tokens_of_other_tries(infos: Sequence[Mapping[str, Any]]) -> int:
    """Tokens that were sampled for these responses, and are not trained."""
    return other_tokens([info.get(GUIDED) for info in infos])


def guided_rows(sampled: torch.Tensor, infos: Sequence[Mapping[str, Any]]) -> torch.Tensor:
    """(B,) bool, the row is a retry that was sampled with guidance.

    Args:
        sampled: (B,) bool, the row is no padding.
        infos: of each sampled row, by `with_told`.
    """
    guided = torch.zeros_like(sampled)
    told = [info.get(GUIDED) for info in infos]
    guided[sampled] = torch.tensor([each is not None and bool(each["rescued"]) for each in told])
    return guided
