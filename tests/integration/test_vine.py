"""VinePPO for real, through Ray, vLLM and FSDP2: killed while it samples completions, gone on with to the bit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.checkpoints.folder import newest_checkpoint
from tests.integration.real_run import REPEATABLE_BASELINE, RealRun, equal, failed
from tests.integration.test_dars import graded
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, N, K = 3, 4, 3
VINE = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "reward.custom_reward_function.name=compute_rarely",
    f"run.rollouts.vine.completions={K}",
    # A byte of a tiny model that says anything: many steps.
    "run.rollouts.vine.delimiter=e",
    "run.rollouts.vine.most_steps=4",
    # vLLM shares prefixes by whole blocks, which have 128 tokens on a CPU.
    "+actor_rollout_ref.rollout.engine_kwargs.vllm.block_size=32",
)


def make_run(task: Path, folder: Path, *overrides: str, algorithm: str = "vineppo") -> RealRun:
    """A run whose reward notes which problem it grades."""
    log = f"+reward.custom_reward_function.reward_kwargs.log={folder}.log"
    return RealRun(task, folder, *REPEATABLE_BASELINE, *VINE, log, *overrides, algorithm=algorithm)


@pytest.fixture(scope="module")
def left_alone(task: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = make_run(task, tmp_path_factory.mktemp("vine") / "alone", "trainer.max_actor_ckpt_to_keep=null")
    run.train()
    return run


@pytest.fixture(scope="module")
def trained_on(task: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    """PACS, whose groups are the completions of each prefix, too."""
    folder = tmp_path_factory.mktemp("vine") / "groups"
    return make_run(task, folder, "run.rollouts.vine.train_completions=true", algorithm="pacs")


def test_completions_are_trained_as_groups_and_a_kill_changes_nothing(
    trained_on: RealRun, task: Path, tmp_path: Path
) -> None:
    trained_on.train()
    lines = trained_on.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        further = line["pacs/dars/further_count"]
        assert line["pacs/rows/correct_count"] + line["pacs/rows/wrong_count"] == 4 * N + further
        assert further > 0
        assert further % K == 0
        mixed = line["pacs/groups/mixed_fraction"] * (4 + further / K)
        assert mixed == pytest.approx(round(mixed), abs=1e-6)
        # Each row's log-probabilities are those that vLLM sampled it with, behind its own prefix.
        assert line["pacs/rollout_gap/worst_max"] < 1e-4
        assert line["actor/grad_norm"] > 0
    broken = make_run(task, tmp_path / "broken", "run.rollouts.vine.train_completions=true", algorithm="pacs")
    try:
        broken.dies_and_goes_on(after_step=2, process="ray::VineRollouts", cause="agent-loop worker 0 died")
    finally:
        broken.end()
    assert broken.unmeasured() == trained_on.unmeasured()
    assert equal(trained_on.policy(STEPS), broken.policy(STEPS))


@pytest.fixture
def broken(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(task, tmp_path / "broken")
    yield run
    run.end()


def test_steps_are_valued_and_what_that_takes_is_counted(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    completions = 0.0
    for line in lines:
        rows = line["pacs/rows/correct_count"] + line["pacs/rows/wrong_count"]
        assert 1 < line["pacs/vine/steps_mean"] <= 4
        trained = line["pacs/response_tokens/generated_sum"] / (1 + line["pacs/vine/completions_per_token"])
        assert trained == pytest.approx(line["response_length/mean"] * rows)
        assert 0 <= line["pacs/vine/cached_per_token"] < line["pacs/vine/prefixes_per_token"]
        # The prompt's value once for all its responses, and one for each later step.
        completions += K * (rows / N + rows * (line["pacs/vine/steps_mean"] - 1)) + rows
        assert line["actor/grad_norm"] > 0
        assert line["pacs/gradient/skipped_count"] == 0
        assert line["pacs/rollout_gap/worst_max"] < 1e-4
    assert len(graded(left_alone)) == pytest.approx(completions)
    assert not equal(left_alone.policy(2), left_alone.policy(1))


def test_a_run_that_is_killed_among_completions_goes_on_to_the_same_weights(
    left_alone: RealRun, broken: RealRun
) -> None:
    start = broken.start()

    def valuing() -> bool:
        if newest_checkpoint(broken.checkpoints)[0] is None:
            return False
        before = len(graded(broken))
        return before > 1.5 * len(graded(left_alone)) / STEPS

    start.wait_for(valuing)
    start.find("ray::VineRollouts").kill()
    failed(start, "agent-loop worker 0 died")
    broken.train()
    assert left_alone.unmeasured() == broken.unmeasured()
    assert left_alone.all_samples() == broken.all_samples()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
