"""The theory page: its numbers by naive loops, by finite differences, and by runs made again."""

import math
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from pacs.algorithm import Pacs
from pacs.algorithm.class_balance import Objective
from pacs.base.errors import UserError
from recipes.theory import __main__ as theory
from recipes.theory import equation5, flow
from recipes.theory.enumeration import (
    all_groups,
    expected_loss,
    first_term,
    log_softmax,
    sampled_gradient,
    solve_groups,
)
from recipes.theory.flow import LABELS, RIGHT, descend, start, state
from recipes.theory.kept import read_runs, write_runs
from recipes.theory.optimum import LR, by_chance, minimum

SIX = equation5.SIX.tolist()


def naive_losses(objective: str, ratios: list[float], labels: list[float]) -> list[float]:
    """Eq. 8 of one group, RLOO, beta 1, in plain Python."""
    size, right, found = len(ratios), sum(labels), []
    for ratio, label in zip(ratios, labels, strict=True):
        score = ratio - (sum(ratios) - ratio) / (size - 1)
        chance = 1 / (1 + math.exp(-score))
        weight = 1.0
        if objective == "log_odds" and 0 < right < size:
            weight = size / (2 * (right if label else size - right))
        if objective == "log_pass_rate" and right:
            weight = size / right
        found.append(-weight * math.log(chance if label else 1 - chance))
    return found


def naive_expectation(objective: str, theta: list[float], sampling: list[float], reference: list[float]) -> float:
    """E of the mean loss over all sequences of three of six responses."""

    def normalised(logits: list[float]) -> list[float]:
        total = math.log(sum(math.exp(logit) for logit in logits))
        return [logit - total for logit in logits]

    own, drawn, fixed = (normalised(logits) for logits in (theta, sampling, reference))
    total = 0.0
    for sequence in product(range(6), repeat=3):
        losses = naive_losses(objective, [own[i] - fixed[i] for i in sequence], [SIX[i] for i in sequence])
        total += math.exp(sum(drawn[i] for i in sequence)) * sum(losses) / 3
    return total


def naive_gradient(objective: str, theta: list[float], reference: list[float], moves: str) -> list[float]:
    """Central differences of the above by the logits of what is scored, of what samples, or of both."""
    found, step = [], 1e-5
    for i in range(6):
        ends = []
        for sign in (1, -1):
            moved = [logit + sign * step * (i == j) for j, logit in enumerate(theta)]
            scored, sampling = (moved if moves in (part, "both") else theta for part in ("scored", "sampling"))
            ends.append(naive_expectation(objective, scored, sampling, reference))
        found.append((ends[0] - ends[1]) / (2 * step))
    return found


@pytest.mark.parametrize("objective", ["log_odds", "log_pass_rate", "pass_rate"])
def test_both_terms_of_eq_5_by_loops_over_sequences(objective: Objective) -> None:
    theta, reference = equation5.case()
    method, groups, of_reference = Pacs(objective=objective), all_groups(6, 3), log_softmax(reference)
    at = (theta[0].tolist(), reference[0].tolist())
    loss = expected_loss(method, theta, of_reference, equation5.SIX, groups)
    assert float(loss) == pytest.approx(naive_expectation(objective, at[0], *at), rel=1e-12)
    arguments = (method, log_softmax(theta), of_reference, equation5.SIX, groups)
    first, second = first_term(*arguments)[0], sampled_gradient(*arguments)[0]
    assert second.tolist() == pytest.approx(naive_gradient(objective, *at, "scored"), abs=1e-9)
    assert first.tolist() == pytest.approx(naive_gradient(objective, *at, "sampling"), abs=1e-9)
    assert (first + second).tolist() == pytest.approx(naive_gradient(objective, *at, "both"), abs=1e-9)


def test_the_option_is_the_first_term_where_responses_are_not_compared() -> None:
    assert equation5.terms(Pacs(estimator="none", objective="pass_rate"), 3).option_error < 1e-8
    assert equation5.terms(Pacs(), 3).option_error > 0.1


def test_multisets_have_the_chances_of_their_sequences() -> None:
    policy = log_softmax(equation5.case()[0])
    groups = all_groups(6, 4)
    chances = groups.log_probability(policy).exp()[0]
    assert float(chances.sum()) == pytest.approx(1, rel=1e-12)
    one = groups.members.tolist().index([0, 0, 1, 4])
    p = policy[0].exp().tolist()
    assert float(chances[one]) == pytest.approx(12 * p[0] ** 2 * p[1] * p[4], rel=1e-12)


def test_the_variance_is_that_of_samples() -> None:
    """Of 40,000 groups that were drawn, against the enumeration of all."""
    theta, reference = equation5.case()
    policy, generator = log_softmax(theta), torch.Generator().manual_seed(0)
    drawn = torch.multinomial(policy[0].exp(), 3 * 40_000, replacement=True, generator=generator).view(-1, 3)
    groups = all_groups(6, 3)._replace(members=drawn)
    slopes = solve_groups(Pacs(), policy, log_softmax(reference), equation5.SIX, groups).slopes[0] / 3
    units = torch.eye(6, dtype=torch.float64)[drawn] - policy[0].exp()
    gradients = (slopes[..., None] * units).sum(dim=1)
    variance = float(gradients.var(dim=0).sum() / gradients.mean(dim=0).square().sum())
    assert variance == pytest.approx(equation5.spread(Pacs(), 1.0).variance, rel=0.05)


def test_the_bias_of_dropped_groups_by_loops_over_mini_batches() -> None:
    """Of two pairs in mini-batches; without weights, since those of a pair are 1."""
    theta, reference = (logits[0].softmax(dim=0).tolist() for logits in equation5.case())
    mean, total, count = np.zeros(6), np.zeros(6), 0.0

    def pair(a: int, b: int) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
        """Of -log sigma of the difference, twice, by the logits; responses that count."""
        found = np.zeros(6)
        if SIX[a] != SIX[b]:
            winner, loser = (a, b) if SIX[a] else (b, a)
            odds = theta[winner] / reference[winner] * reference[loser] / theta[loser]
            found[winner], found[loser] = -2 / (1 + odds), 2 / (1 + odds)
        return found, 2 * (SIX[a] != SIX[b])

    for a, b, c, d in product(range(6), repeat=4):
        chance = theta[a] * theta[b] * theta[c] * theta[d]
        (one, first), (two, second) = pair(a, b), pair(c, d)
        mean += chance * (one + two) / max(first + second, 1)
        total, count = total + chance * (one + two), count + chance * (first + second)
    found = equation5.dropped_bias()
    many = total / count
    assert found.drop == pytest.approx(np.linalg.norm(mean - many) / np.linalg.norm(many), rel=1e-9)
    assert found.cosine == pytest.approx(1, abs=1e-12)
    mixed = sum(theta[a] * theta[b] for a, b in product(range(6), repeat=2) if SIX[a] != SIX[b])
    assert found.drop == pytest.approx((1 - mixed) ** 2, rel=1e-9)
    assert found.none == pytest.approx((1 - mixed) ** 2, rel=1e-9)
    assert found.keep < 1e-12


@pytest.mark.parametrize("dropped", ["keep", "drop"])
def test_on_the_face_of_right_responses_only_kept_groups_act(dropped: Literal["keep", "drop"]) -> None:
    """Where no wrong response is left: at rest at the reference given a right one, and if dropped everywhere."""
    groups, reference = all_groups(RIGHT, 2), log_softmax(start()[None, :RIGHT])
    labels, method = torch.ones(RIGHT, dtype=torch.float64), Pacs(single_class_groups=dropped)
    elsewhere = log_softmax(start()[None, :RIGHT] + torch.tensor([1.0, 0, 0, 0, -1]))
    assert sampled_gradient(method, reference, reference, labels, groups).abs().max() < 1e-15
    found = sampled_gradient(method, elsewhere, reference, labels, groups)[0]
    assert found.abs().max() == 0 if dropped == "drop" else float(found[0]) > 0.01 > 0 > float(found[4])


def test_a_flow_is_that_which_is_kept() -> None:
    kept = read_runs(flow.RESULTS, flow.SETTINGS, flow.CASES)["runs"]
    marks = flow.SETTINGS["updates"][:1]
    for name in ("policy gradient (RLOO)", "balanced, mixed groups alone"):
        case = flow.CASES[name]
        ((theta, _),) = descend(case.method, case.periods, 1.0, all_groups(12, 2), start(), marks)
        for measure, values in state(theta, start())._asdict().items():
            expected = [kept[name][str(period)][measure][0] for period in case.periods]
            assert values.tolist() == pytest.approx(expected, abs=2e-5)


def test_a_reset_takes_the_policy_of_the_update_before() -> None:
    ((theta, reference),) = descend(Pacs(), (3, None), 1.0, all_groups(12, 2), start(), (5,))
    ((third, _),) = descend(Pacs(), (3, None), 1.0, all_groups(12, 2), start(), (3,))
    torch.testing.assert_close(reference[0], third[0])
    torch.testing.assert_close(reference[1], start())
    assert not torch.equal(theta[0], theta[1])


def test_the_state_of_a_policy() -> None:
    weights = np.array([4, 1, 1, 1, 1, *[2] * 7]) / 22
    found = state(torch.tensor(weights).log()[None], torch.zeros(12, dtype=torch.float64))
    among = weights[:5] / weights[:5].sum()
    expected = [8 / 22, -(weights @ np.log(weights)), -(among @ np.log(among)), among @ np.log(5 * among)]
    assert [float(value) for value in found] == pytest.approx(expected)


def test_the_minimum_of_the_expected_loss() -> None:
    found = minimum()
    assert float(found.found.pass_rate) == pytest.approx(found.pass_rate, abs=1e-4)
    assert found.loss == pytest.approx(found.least, abs=1e-7)
    assert float(found.found.kl) == pytest.approx(0, abs=1e-6)


def test_two_responses_that_are_right_by_chance_rest_where_the_page_says() -> None:
    q, groups = torch.tensor([0.9, 0.3], dtype=torch.float64), all_groups(2, 2)
    method, first = Pacs(objective="pass_rate"), torch.tensor([-0.5, 0.2], dtype=torch.float64)
    ((theta, _),) = descend(method, (None,), LR, groups, first, (400,), q)
    ratios = log_softmax(theta)[0] - log_softmax(first)
    assert float(torch.sigmoid(ratios[0] - ratios[1])) == pytest.approx((1 + 0.9 - 0.3) / 2, abs=1e-8)
    assert by_chance(1.0, updates=500).slope < 1e-9


@pytest.mark.parametrize(("objective", "share"), [("pass_rate", 0.8), ("log_pass_rate", 0.861)])
def test_weights_of_the_group_move_the_fixed_point_of_labels_right_by_chance(
    objective: Objective, share: float
) -> None:
    """By all four outcomes of the labels of two responses, at the sigma of their scores' difference that is said."""
    q, groups = (0.9, 0.3), all_groups(2, 2)
    first = log_softmax(torch.tensor([[-0.5, 0.2]], dtype=torch.float64))

    def slope(sigma: float) -> float:
        policy = log_softmax(first + torch.tensor([sigma, 1 - sigma], dtype=torch.float64).log())
        found = torch.zeros(1, 2, dtype=torch.float64)
        for labels in product((0.0, 1.0), repeat=2):
            chance = math.prod(rate if label else 1 - rate for rate, label in zip(q, labels, strict=True))
            right = torch.tensor(labels, dtype=torch.float64)
            found += chance * sampled_gradient(Pacs(objective=objective), policy, first, right, groups)
        return float(found[0, 0])

    assert slope(share - 5e-4) < 0 < slope(share + 1e-3)


@pytest.mark.parametrize(("p", "p_ref"), [(0.2, 0.05), (0.8, 0.5), (0.72, 0.83)])
def test_which_way_the_first_term_points(p: float, p_ref: float) -> None:
    """Along the log-odds of the pass rate, classes in the reference's proportions, as the page has it."""
    base = flow.start()[None]
    odds = [math.log(rate / (1 - rate)) - float(state(base, base[0]).pass_rate.logit()) for rate in (p, p_ref)]
    theta, reference = (base + each * LABELS for each in odds)
    at = (Pacs(), log_softmax(theta), log_softmax(reference), LABELS, all_groups(12, 2))
    said = (2 - 4 * p) * (math.log1p(math.exp(odds[1] - odds[0])) - math.log(2)) * p * (1 - p)
    assert float(first_term(*at)[0] @ LABELS) == pytest.approx(said, rel=1e-9)
    assert float(sampled_gradient(*at)[0] @ LABELS) < 0


def test_kept_runs_of_other_settings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    write_runs(file, {"settings": {"lr": 1}, "runs": {"a": {"b": [1.5]}}})
    assert read_runs(file, {"lr": 1}, ["a"])["runs"] == {"a": {"b": [1.5]}}
    assert read_runs(file, {"lr": 1}, ["a", "new"])["runs"] == {"a": {"b": [1.5]}, "new": {}}
    with pytest.raises(UserError, match="other settings"):
        read_runs(file, {"lr": 2}, ["a"])


def test_the_page_is_what_the_code_says() -> None:
    assert (theory.FOLDER / theory.PAGE).read_text(encoding="utf-8") == theory.page(), "run `python -m recipes.theory`"
    assert LABELS.sum() == RIGHT
    for name in theory.figures():
        assert (theory.FOLDER / name).stat().st_size > 10_000
