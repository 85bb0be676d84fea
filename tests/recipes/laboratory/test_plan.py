"""The order of runs, and the choice of learning rates."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recipes.laboratory.plan import Found, Run, choose, jobs
from recipes.laboratory.questions import Question
from tests.recipes.laboratory.made import QUESTION, ask, recorded


@pytest.fixture
def question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Question:
    return ask(tmp_path, monkeypatch)


def found(run: Run) -> Mapping[str, Any]:
    """Every run is finished."""
    return recorded(run)


def failing(lr: float, seed: int) -> Found:
    def record(run: Run) -> Mapping[str, Any]:
        fails = (run.settings.lr, run.settings.seed) == (lr, seed)
        return recorded(run, cause="killed by SIGKILL") if fails else recorded(run)

    return record


def test_tuning_comes_first_seed_by_seed_and_then_the_seeds_over_all_arms(question: Question) -> None:
    order = [
        (job.stage, job.run.settings.seed, job.arm, job.run.settings.lr) for job in jobs(question, "countdown", found)
    ]
    tuning = [("tuning", s, arm, lr) for s in (100, 101) for arm in ("never", "grpo") for lr in (1e-4, 2e-4, 4e-4)]
    assert order == tuning + [("fresh", s, arm, 2e-4) for s in (0, 1, 2) for arm in ("never", "grpo")]


def test_what_is_tuned_is_evaluated_on_problems_of_its_own_at_the_end_alone(question: Question) -> None:
    for job in jobs(question, "countdown", found):
        tuning = job.stage == "tuning"
        assert job.run.evaluation.split == ("probe" if tuning else "test")
        assert job.run.settings.evaluate_every == (0 if tuning else 2)


def test_runs_wait_for_their_learning_rate(question: Question) -> None:
    fresh = [job for job in jobs(question, "countdown", lambda run: None) if job.stage == "fresh"]
    assert len(fresh) == 6
    assert not any(job.ready for job in fresh)


def test_the_best_mean_is_chosen(question: Question) -> None:
    choice = choose(question, "countdown", question.arms["grpo"], found)
    assert (choice.lr, choice.edge, choice.complete) == (2e-4, "", True)
    assert choice.values[1e-4][0] == pytest.approx(sum(found_right(1e-4)) / (6 * 8))


def found_right(lr: float) -> list[int]:
    """Of light.py's rule, written out: 8 samples at step 4, seed 100."""
    return [round(8 * (0.18 + {1e-4: 0.0}[lr] + 0.03 * problem)) for problem in range(6)]


def test_a_rate_with_a_run_that_failed_is_not_chosen(question: Question) -> None:
    choice = choose(question, "countdown", question.arms["grpo"], failing(2e-4, 101))
    assert (choice.lr, choice.edge) == (4e-4, "highest")
    assert choice.states[2e-4] == ["finished", "failed"]
    assert choice.values[2e-4][1] is None


@pytest.mark.parametrize(
    ("best", "tried", "edge"),
    [
        (2e-4, (1e-4, 2e-4, 4e-4), ""),
        (4e-4, (1e-4, 2e-4, 4e-4, 8e-4), ""),
        (8e-4, (1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3), ""),
        (1.6e-3, (1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3), "highest"),
    ],
)
def test_further_rates_are_tried_as_long_as_the_highest_is_the_best(
    best: float, tried: tuple[float, ...], edge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = ask(
        tmp_path, monkeypatch, QUESTION.replace("  seeds: [100", "  further: [1.6e-3, 8.0e-4]\n  seeds: [100")
    )
    made = answered(question, lambda lr, seed: 8 - round(abs(math.log2(lr / best))))
    choice = choose(question, "countdown", question.arms["grpo"], in_(made))
    assert (choice.lr, tuple(choice.values), choice.edge, choice.complete) == (best, tried, edge, True)
    assert {lr for lr, seed in made if seed in (100, 101)} == set(tried)
    assert {lr for lr, seed in made if seed in question.seeds} == {best}


Made = dict[tuple[float, int], Mapping[str, Any]]


def in_(made: Made) -> Found:
    return lambda run: made.get((run.settings.lr, run.settings.seed))


def answered(question: Question, right: Callable[[float, int], int | None]) -> Made:
    """Records of GRPO: what is planned is run, then planned anew, until nothing is missing.

    `right`: of a learning rate and a seed, how many of 8 samples are right of each problem; None: the run fails.
    """
    made: Made = {}
    while new := [
        job.run
        for job in jobs(question, "countdown", in_(made))
        if job.ready and job.arm == "grpo" and in_(made)(job.run) is None
    ]:
        for run in new:
            count = right(run.settings.lr, run.settings.seed)
            record = recorded(replace(run, settings=replace(run.settings, lr=2e-4)))
            record["result"]["evaluations"][-1]["right"] = [count] * 6
            made[run.settings.lr, run.settings.seed] = (
                record if count is not None else recorded(run, cause="not finite")
            )
    return made


@pytest.mark.parametrize(
    ("tuned", "chosen", "tried_more"),
    [
        # By the first seed 4e-4 is the best, over all three 2e-4; 1e-4, better than both then, was not among the two.
        ({1e-4: [5, 8, 8], 2e-4: [6, 7, 7], 4e-4: [7, 6, 6]}, 2e-4, {2e-4, 4e-4}),
        ({1e-4: [7, 7, 7], 2e-4: [6, 7, 7], 4e-4: [5, 8, 8]}, 1e-4, {1e-4, 2e-4}),
        # Of equal ones the lower.
        ({1e-4: [5, 5, 5], 2e-4: [6, 7, 7], 4e-4: [7, 7, 6]}, 2e-4, {2e-4, 4e-4}),
        # What failed is not chosen, and of what has not the best.
        ({1e-4: [5, 8, 8], 2e-4: [6, 5, 5], 4e-4: [7, None, 8]}, 2e-4, {2e-4, 4e-4}),
        ({1e-4: [5, 8, 8], 2e-4: [6, 5, None], 4e-4: [7, None, 8]}, 1e-4, {2e-4, 4e-4}),
        ({1e-4: [None, 8, 8], 2e-4: [None, 5, 8], 4e-4: [7, 1, 1]}, 4e-4, set()),
    ],
)
def test_the_two_best_rates_are_tried_with_further_seeds(
    tuned: dict[float, list[int | None]],
    chosen: float,
    tried_more: set[float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = QUESTION.replace("  seeds: [100, 101]", "  seeds: [100]\n  best_two: [101, 102]")
    question = ask(tmp_path, monkeypatch, text)
    made = answered(question, lambda lr, seed: tuned[lr][seed - 100] if seed >= 100 else 4)
    choice = choose(question, "countdown", question.arms["grpo"], in_(made))
    assert (choice.lr, choice.complete) == (chosen, True)
    assert {lr for lr, seed in made if seed > 100} == tried_more
    assert {lr: len(each) for lr, each in choice.values.items()} == {
        lr: 3 if lr in tried_more else 1 for lr in (1e-4, 2e-4, 4e-4)
    }
    assert {lr for lr, seed in made if seed in question.seeds} == {chosen}


def test_a_grid_of_its_own_is_not_gone_beyond(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = QUESTION.replace("  seeds: [100", "  further: [8.0e-4]\n  seeds: [100")
    question = ask(tmp_path, monkeypatch, text.replace("{method: grpo}", "{method: grpo, lr: [1.0e-4, 2.0e-4]}"))
    assert [arm.tuning.further for arm in question.arms.values()] == [(8e-4,), ()]


def test_an_arm_whose_rates_all_failed_has_no_runs_to_compare(question: Question) -> None:
    def record(run: Run) -> Mapping[str, Any]:
        failed = run.settings.method == "grpo" and run.settings.seed == 101
        return recorded(run, cause="not finite") if failed else recorded(run)

    assert {job.arm for job in jobs(question, "countdown", record) if job.stage == "fresh"} == {"never"}


def test_a_given_rate_is_not_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = QUESTION.replace("{method: grpo}", "{method: grpo, lr: [4.0e-4]}")
    question = ask(tmp_path, monkeypatch, text)
    grpo = [job for job in jobs(question, "countdown", lambda run: None) if job.arm == "grpo"]
    assert [(job.stage, job.ready, job.run.settings.lr) for job in grpo] == [("fresh", True, 4e-4)] * 3


def test_rollouts_are_those_of_training_and_of_each_evaluation(question: Question) -> None:
    """4 steps of 2 x 2, and 6 problems with 8 samples before step 1 and after step 2, and 16 after step 4."""
    run = next(job.run for job in jobs(question, "countdown", found) if job.stage == "fresh")
    assert run.rollouts() == 4 * 2 * 2 + 2 * 6 * 8 + 6 * 16
