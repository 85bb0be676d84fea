"""What is counted of responses that were tried again with guidance."""

from typing import Any

import pytest
import torch

from pacs.algorithm import ROW_COLUMNS
from pacs.metrics.guided import guided_columns, other_tokens
from pacs.metrics.reduce import batch_metrics, update_metrics

RESCUED = {"retries": 2, "rescued": True, "tokens": 9}
LOST = {"retries": 2, "rescued": False, "tokens": 5}


def metrics_of(groups: list[int], scores: list[float], told: list[Any], *, guides: bool = True) -> dict[str, float]:
    count = len(groups)
    return batch_metrics(
        group=torch.tensor(groups),
        score=torch.tensor(scores),
        tokens=torch.ones(count),
        truncated=torch.zeros(count),
        alone=torch.zeros(count),
        fingerprints=torch.arange(count),
        status=None,
        told=guided_columns(told, guides=guides),
    )


def test_retries_and_rescued_prompts() -> None:
    groups, told = [1, 1, 1, 2, 2, 2, 3, 3, 3], [RESCUED, LOST, None, RESCUED, None, None, LOST, LOST, None]
    metrics = metrics_of(groups, [0, 0, 0, 0, 1, 0, 0, 0, 0], told)
    assert metrics["pacs/guided/retries_mean"] == pytest.approx(10 / 9)
    assert metrics["pacs/guided/rescued_fraction"] == pytest.approx(2 / 9)
    # The first of three; the second had a right response without guidance.
    assert metrics["pacs/guided/prompts_fraction"] == pytest.approx(1 / 3)
    # Scores are of first responses.
    assert metrics["pacs/groups/all_wrong_fraction"] == pytest.approx(2 / 3)
    assert other_tokens(told) == 33


def test_a_run_without_retries_has_none_of_it() -> None:
    assert not [name for name in metrics_of([1, 1], [0, 1], [None, None], guides=False) if "guided" in name]
    none = metrics_of([1, 1], [0, 1], [None, None])
    assert {name: value for name, value in none.items() if "guided" in name} == {
        "pacs/guided/retries_mean": 0,
        "pacs/guided/rescued_fraction": 0,
        "pacs/guided/prompts_fraction": 0,
    }


def test_the_gap_to_vllm_is_of_responses_without_guidance() -> None:
    """With guidance vLLM sampled from another distribution, and no error is."""
    table = dict.fromkeys(ROW_COLUMNS, torch.ones(3)) | {
        "update": torch.tensor([0.0, 0.0, 1.0]),
        "tokens": torch.tensor([10.0, 10.0, 10.0]),
        "rollout_gap": torch.tensor([1.0, 50.0, 3.0]),
        "rollout_gap_worst": torch.tensor([0.5, 20.0, 1.0]),
    }
    guided = torch.tensor([0.0, 1.0, 0.0])
    assert update_metrics([table])["pacs/rollout_gap/per_token"] == pytest.approx(51 / 20)
    metrics = update_metrics([table | {"guided": guided}])
    assert metrics["pacs/rollout_gap/per_token"] == pytest.approx(0.1)
    assert metrics["pacs/rollout_gap/worst_max"] == pytest.approx(0.5)
