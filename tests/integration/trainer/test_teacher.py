"""How far a policy is from its teacher, beside a loop over tokens."""

import pytest
import torch

from pacs.algorithm.distillation import TEACHER
from pacs.integration.trainer.teacher import teacher_metrics


def jagged(rows: list[list[float]]) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def test_the_gap_is_the_mean_over_tokens_of_responses() -> None:
    """Of three responses and a row of padding; one has a hole."""
    tokens = {
        "response_mask": jagged([[1, 1, 1], [1, 0, 1, 1], [1], [1]]),
        "old_log_probs": jagged([[-1.0, -2.0, -3.0], [-0.5, 9.0, -0.25, -1.5], [-4.0], [-100.0]]),
        TEACHER: jagged([[-2.0, -2.0, -1.0], [-0.75, -9.0, -1.25, -1.0], [-1.0], [0.0]]),
    }
    sampled = torch.tensor([True, True, True, False])
    gaps = [1.0, 0.0, -2.0, 0.25, 1.0, -0.5, -3.0]
    assert teacher_metrics(tokens, sampled) == {"pacs/teacher/gap_per_token": pytest.approx(sum(gaps) / 7)}


def test_without_a_teacher_there_is_none() -> None:
    assert teacher_metrics(None, torch.ones(2, dtype=torch.bool)) == {}
    assert teacher_metrics({"response_mask": jagged([[1], [1]])}, torch.ones(2, dtype=torch.bool)) == {}
