"""The order of runs, and the choice of learning rates."""

import math
from collections.abc import Mapping
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
    made: dict[tuple[float, int], Mapping[str, Any]] = {}
    for _ in range(10):  # what is planned is run, and then planned anew, until nothing is missing
        planned = jobs(question, "countdown", lambda run: made.get((run.settings.lr, run.settings.seed)))
        for job in [job for job in planned if job.ready and job.arm == "grpo"]:
            record = recorded(job.run)
            right = 8 - round(abs(math.log2(job.run.settings.lr / best)))
            record["result"]["evaluations"][-1]["right"] = [right] * 6
            made[job.run.settings.lr, job.run.settings.seed] = record
    choice = choose(
        question, "countdown", question.arms["grpo"], lambda run: made.get((run.settings.lr, run.settings.seed))
    )
    assert (choice.lr, tuple(choice.values), choice.edge, choice.complete) == (best, tried, edge, True)
    assert {lr for lr, seed in made if seed in (100, 101)} == set(tried)
    assert {lr for lr, seed in made if seed in question.seeds} == {best}


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
