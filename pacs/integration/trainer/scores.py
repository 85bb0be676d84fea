"""What a reward function gave: whether it is a number, and what the verifier said beside it."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from pacs.base.terminal import visible

#: Of a prompt, in an error.
PROMPT_CHARS = 300


def is_finite(scores: Sequence[float]) -> bool:
    """Whether every score is a finite number."""
    return all(map(math.isfinite, scores))


def not_finite(scores: Sequence[float], data_sources: Sequence[str], prompts: Sequence[str], when: str) -> ValueError:
    """The error of scores of which one is not finite: it names the data source and the prompt of the first.

    Args:
        scores: of each response.
        data_sources, prompts: of each response.
        when: they were given, in words.
    """
    wrong = [row for row, score in enumerate(scores) if not math.isfinite(score)]
    first = wrong[0]
    return ValueError(
        f"{when}: {len(wrong)} of {len(scores)} scores are not finite. The first is {scores[first]}, of data source "
        f"{visible(data_sources[first])}, for the prompt {prompts[first][:PROMPT_CHARS]!r}. Mend the reward function "
        "(reward.custom_reward_function), so that every score is a finite number."
    )


def verifier_infos(extra_fields: list[dict[str, Any]], sampled: torch.Tensor) -> list[dict[str, Any]]:
    """What the verifier said beside the score of each of the `sampled` rows ((B,) bool)."""
    rows = zip(extra_fields, sampled.tolist(), strict=True)
    return [extra.get("reward_extra_info", {}) for extra, is_sampled in rows if is_sampled]


def verifier_statuses(infos: list[dict[str, Any]]) -> list[str] | None:
    """The verifier's `status` of each response; None if it gives none."""
    return [str(info["status"]) for info in infos] if all("status" in info for info in infos) else None
