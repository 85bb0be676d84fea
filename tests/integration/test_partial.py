"""Partial rollouts for real, through Ray, vLLM and FSDP2: no prompt is lost or trained twice, through a kill too."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.real_run import REPEATABLE, REPEATABLE_BASELINE, RealRun, equal
from tests.metrics.page import find

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.usefixtures("process_group"), pytest.mark.timeout(1500)]

STEPS, PROMPTS, N = 6, 4, 4
SETTINGS = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    f"run.sample_groups={PROMPTS}",
    "run.rollouts.partial.ahead=0.5",
    # Some responses are being written when a step has enough, some have not begun.
    "actor_rollout_ref.rollout.max_num_seqs=6",
    "data.max_response_length=48",
)


def make_run(task: Path, folder: Path, *overrides: str, algorithm: str = "pacs") -> RealRun:
    repeatable = REPEATABLE if algorithm == "pacs" else REPEATABLE_BASELINE
    return RealRun(task, folder, *repeatable, *SETTINGS, *overrides, algorithm=algorithm)


def trained(run: RealRun) -> dict[int, Counter]:
    """Step -> the ids of the prompts that it trained on, with the number of their responses."""
    files = (run.folder / "samples" / "train").iterdir()
    rows = {int(file.stem): [json.loads(line) for line in file.read_text().splitlines()] for file in files}
    return {step: Counter(row["uid"].rsplit("_", 2)[0] for row in some) for step, some in rows.items()}


def check_that_each_prompt_is_trained_once(run: RealRun, number: int = STEPS, resumed_after: int = 0) -> None:
    """What was not done when a run was cut off is sampled anew, and its age counts from there."""
    by_step = trained(run)
    assert sorted(by_step) == list(range(1, number + 1))
    assert all(list(uids.values()) == [N] * PROMPTS for uids in by_step.values())
    every = [uid for uids in by_step.values() for uid in uids]
    assert len(set(every)) == len(every) == number * PROMPTS
    handed_out = sorted(tuple(map(int, uid.split("-"))) for uid in every)
    # Nothing that was handed out is missing: each step's prompts are numbered from 0.
    for step in {step for step, _ in handed_out}:
        places = [place for of, place in handed_out if of == step]
        assert places == list(range(len(places)))
    for step, uids in by_step.items():
        oldest = step - 1 if step - 1 != resumed_after + 1 else resumed_after
        assert all(oldest <= int(uid.split("-")[0]) <= step for uid in uids)


@pytest.fixture(scope="module")
def left_alone(task: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    # Validated, too, while the responses that were broken off go on.
    validated = ("trainer.val_before_train=true", "trainer.test_freq=2")
    folder = tmp_path_factory.mktemp("partial") / "alone"
    run = make_run(task, folder, "trainer.max_actor_ckpt_to_keep=null", *validated)
    run.train()
    return run


@pytest.fixture
def broken(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(task, tmp_path / "broken")
    yield run
    run.end()


def test_a_step_does_not_wait_and_each_prompt_is_trained_once(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    scored = [line["step"] for line in left_alone.steps() if any(key.startswith("val-core/") for key in line)]
    assert scored == [0, 2, 4, 6]
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    check_that_each_prompt_is_trained_once(left_alone)
    for line in lines:
        assert line["pacs/rows/correct_count"] + line["pacs/rows/wrong_count"] == PROMPTS * N
        assert line["training/off_policy/trajectory_staleness_worst/max"] <= 1
        assert line["actor/grad_norm"] > 0
        assert line["pacs/partial/failed_count"] == 0
        waiting = line["pacs/partial/unfinished_count"] + line["pacs/partial/finished_count"]
        assert waiting == (PROMPTS // 2 if line["step"] < STEPS else 0)
    assert sum(line["pacs/partial/unfinished_count"] for line in lines) > 0
    # Of some responses a part was written by the weights before.
    assert max(line["training/off_policy/trajectory_spans/max"] for line in lines) == 2
    assert not equal(left_alone.policy(2), left_alone.policy(1))


def test_a_response_that_goes_on_has_the_log_probabilities_of_its_policy(task: Path, tmp_path: Path) -> None:
    """With weights that stand still the parts of all responses are one policy's."""
    still = ("actor_rollout_ref.actor.optim.lr=0", f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS}")
    run = make_run(task, tmp_path / "still", *still, "trainer.total_training_steps=3")
    run.train()
    lines = run.training_steps()
    assert max(line["training/off_policy/trajectory_spans/max"] for line in lines) == 2
    assert max(line["pacs/rollout_gap/worst_max"] for line in lines) < 1e-4


def test_a_last_step_is_a_synchronous_one(task: Path, tmp_path: Path) -> None:
    """Nothing is handed out that no step needs: the same responses, order and update to the bit."""
    one = ("trainer.total_training_steps=1", "actor_rollout_ref.rollout.max_num_seqs=1")
    partial = make_run(task, tmp_path / "partial", *one)
    synchronous = make_run(task, tmp_path / "synchronous", *one, "run.rollouts.partial.ahead=null")
    partial.train()
    synchronous.train()
    assert trained(partial) == trained(synchronous)
    assert equal(partial.policy(1), synchronous.policy(1))


def test_killed_it_goes_on_and_trains_each_prompt_once(broken: RealRun) -> None:
    resumed = broken.dies_and_goes_on(after_step=2, process="ray::GoingOnSeeds", cause="agent-loop worker 0 died")
    check_that_each_prompt_is_trained_once(broken, resumed_after=resumed)
    assert all(line["training/off_policy/trajectory_staleness_worst/max"] <= 1 for line in broken.training_steps())


def test_a_reward_that_always_fails_ends_the_run(broken: RealRun) -> None:
    start = broken.start("reward.custom_reward_function.name=compute_raise")
    start.wait_for(lambda: "no such answer" in start.printed)
    assert start.ends() == 1
    assert "every prompt of a step failed" in str(start.state.cause)
    assert "KeyError: 'no such answer'" in str(start.state.cause)


def test_grpo_of_verl(task: Path, tmp_path: Path) -> None:
    run = make_run(task, tmp_path / "grpo", "trainer.total_training_steps=3", algorithm="grpo")
    run.train()
    check_that_each_prompt_is_trained_once(run, 3)
    assert sum(line["pacs/partial/unfinished_count"] for line in run.training_steps()) > 0
