"""What the implicit critic knows, beside counts in naive loops."""

import math
from itertools import product

import pytest
import torch

from recipes.laboratory.signals import Calibration, critic

SIZE = 4
LABELS = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0], [1, 1, 1, 0]]).float()
SCORES = torch.tensor(
    [[0.0, 0.0, 0.0, 2.0], [9.0, -9, 9, 9], [1.0, 2, 3, 4], [-3.0, 0.5, 4, 0.5], [30.0, -30, 0.1, 0.2]]
)
MIXED = (0, 3, 4)


def sigma(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def test_the_critic_beside_naive_loops() -> None:
    rows = [(sigma(SCORES[g, i]), float(LABELS[g, i]), float(LABELS[g].mean())) for g in MIXED for i in range(SIZE)]
    ranked = []
    for g in MIXED:
        for i, j in product(range(SIZE), range(SIZE)):
            if LABELS[g, i] > LABELS[g, j]:
                ranked.append(1.0 if SCORES[g, i] > SCORES[g, j] else 0.5 if SCORES[g, i] == SCORES[g, j] else 0.0)
    expected = {
        "residual_mean": sum(abs(chance - right) for chance, right, _ in rows) / len(rows),
        "critic_accuracy": sum(ranked) / len(ranked),
        "critic_brier": sum((chance - right) ** 2 for chance, right, _ in rows) / len(rows),
        "group_mean_brier": sum((q - right) ** 2 for _, right, q in rows) / len(rows),
    }
    assert 0.5 in ranked
    assert critic(SCORES.flatten(), LABELS.flatten(), SIZE) == pytest.approx(expected)


def test_without_a_mixed_group_nothing_is_known() -> None:
    values = critic(SCORES[1:3].flatten(), LABELS[1:3].flatten(), SIZE)
    assert len(values) == 4
    assert set(values.values()) == {None}


def test_calibration_adds_up_mixed_groups() -> None:
    calibration = Calibration()
    for _ in range(2):
        calibration.add(SCORES.flatten(), LABELS.flatten(), SIZE)
    calibration.add(SCORES[1:3].flatten(), LABELS[1:3].flatten(), SIZE)
    bins = [[0, 0.0, 0] for _ in range(10)]
    for g in MIXED:
        for i in range(SIZE):
            chance = sigma(SCORES[g, i])
            place = bins[min(9, int(chance * 10))]
            place[0], place[1], place[2] = place[0] + 2, place[1] + 2 * chance, place[2] + 2 * int(LABELS[g, i])
    for found, expected in zip(calibration.bins(), bins, strict=True):
        assert found == pytest.approx(expected)
