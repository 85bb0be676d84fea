"""A teacher for real, through Ray, vLLM and FSDP2: what it says, and a run that is killed and gone on with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.checkpoints.folder import newest_checkpoint
from tests.integration.real_run import REPEATABLE_BASELINE, RealRun, equal, failed
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS = 8
SHORT = (
    "trainer.val_before_train=false",
    "actor_rollout_ref.actor.optim.lr=1e-2",
    "data.train_batch_size=8",
    "data.train_max_samples=24",
    "actor_rollout_ref.actor.ppo_mini_batch_size=4",
)


@pytest.fixture(scope="module")
def teacher(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of other weights and other sizes with the policy's tokenizer."""
    import torch
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    folder = tmp_path_factory.mktemp("teacher")
    tokenizer = AutoTokenizer.from_pretrained(task / "model")
    config = Qwen3Config.from_pretrained(task / "model")
    config.hidden_size, config.intermediate_size = 2 * config.hidden_size, 2 * config.intermediate_size
    torch.manual_seed(1)
    model = Qwen3ForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight.mul_(20)  # an opinion of its own
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_run(task: Path, folder: Path, teacher: Path, *overrides: str, algorithm: str = "distillation") -> RealRun:
    words = (f"trainer.total_training_steps={STEPS}", *SHORT, f"method.teacher={teacher}", *overrides)
    return RealRun(task, folder, *REPEATABLE_BASELINE, *words, algorithm=algorithm)


@pytest.fixture(scope="module")
def left_alone(task: Path, teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = make_run(task, tmp_path_factory.mktemp("taught") / "alone", teacher, "trainer.max_actor_ckpt_to_keep=null")
    run.train()
    return run


@pytest.fixture
def broken(task: Path, teacher: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(task, tmp_path / "broken", teacher)
    yield run
    run.end()


def test_the_policy_comes_nearer_to_its_teacher(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    gaps = [line["pacs/teacher/gap_per_token"] for line in lines]
    assert gaps[0] > 1
    assert gaps[-1] < 0.85 * gaps[0]
    assert all(line["actor/grad_norm"] > 0 and line["timing_s/teacher"] > 0 for line in lines)
    assert not equal(left_alone.policy(2), left_alone.policy(1))


def test_a_teacher_that_is_the_policy_teaches_nothing(task: Path, tmp_path: Path) -> None:
    """By the same weights its pass has the same numbers as the policy's: no gap, and no gradient."""
    run = make_run(task, tmp_path / "itself", task / "model", "trainer.total_training_steps=1")
    run.train()
    (line,) = run.training_steps()
    assert line["pacs/teacher/gap_per_token"] == 0
    assert line["actor/grad_norm"] == 0


def test_pacs_with_a_teacher_is_killed_and_ends_in_the_same_weights(task: Path, teacher: Path, tmp_path: Path) -> None:
    runs = [
        make_run(task, tmp_path / name, teacher, "trainer.total_training_steps=3", algorithm="pacs_distilled")
        for name in ("alone", "broken")
    ]
    alone, broken = runs
    alone.train()
    try:
        broken.dies_and_goes_on(after_step=1)
    finally:
        broken.end()
    lines = alone.training_steps()
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert all(line["actor/grad_norm"] > 0 and line["pacs/teacher/gap_per_token"] > 0.01 for line in lines)
    assert broken.unmeasured() == alone.unmeasured()
    assert equal(broken.policy(3), alone.policy(3))


def test_a_run_that_is_killed_goes_on_with_the_same_teacher(left_alone: RealRun, broken: RealRun) -> None:
    start = broken.start()
    start.wait_for(lambda: newest_checkpoint(broken.checkpoints)[0] is not None)
    start.find("ray::WorkerDict").kill()
    failed(start, "training worker 0 died")
    broken.train()
    assert left_alone.unmeasured() == broken.unmeasured()
    assert left_alone.all_samples() == broken.all_samples()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
