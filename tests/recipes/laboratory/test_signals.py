"""What the implicit critic knows, beside counts in naive loops."""

import math
from itertools import product

import pytest
import torch

from recipes.laboratory.signals import Calibration, critic

SIZE = 4
LABELS = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0]]).float()
#: Those of the last group are 0, as after a reset.
SCORES = torch.tensor(
    [[0.0, 0.0, 0.0, 2.0], [9.0, -9, 9, 9], [1.0, 2, 3, 4], [-3.0, 0.5, 4, 0.5], [30.0, -30, 0.1, 0.2], [0.0] * 4]
)
MIXED = (0, 3, 4)


def sigma(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def test_the_critic_beside_naive_loops() -> None:
    rows = []
    for g in MIXED:
        for i in range(SIZE):
            rest = [float(LABELS[g, j]) for j in range(SIZE) if j != i]
            rows.append((sigma(SCORES[g, i]), float(LABELS[g, i]), sum(rest) / len(rest)))
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
    bins = [[0.0] * 5 for _ in range(10)]
    for g in MIXED:
        for i in range(SIZE):
            chance, right = sigma(SCORES[g, i]), float(LABELS[g, i])
            weight = SIZE / 2 / sum(1 for label in LABELS[g] if label == right)
            place = bins[min(9, int(chance * 10))]
            for column, value in enumerate((1, chance, right, weight, weight * right)):
                place[column] += 2 * value
    for found, expected in zip(calibration.bins(), bins, strict=True):
        assert found == pytest.approx(expected)
