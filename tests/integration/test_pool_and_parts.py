"""A pool of prompts and a reward of several parts for real (Ray, vLLM, FSDP2): killed, and gone on with to the bit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.real_run import REPEATABLE, RealRun, equal
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, BUFFER, WEIGHT = 4, 8, 0.5
SETTINGS = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "run.sample_groups=8",
    "run.rollouts.pool.weights=sqrt",
    "run.reward.total=clip",
    f"run.reward.overlong.weight={WEIGHT}",
    f"run.reward.overlong.buffer={BUFFER}",
    "run.reward.length.weight=0",
)


@pytest.fixture(scope="module")
def left_alone(task: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = RealRun(task, tmp_path_factory.mktemp("pool") / "alone", *REPEATABLE, *SETTINGS)
    run.train()
    return run


@pytest.fixture
def broken(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = RealRun(task, tmp_path / "broken", *REPEATABLE, *SETTINGS)
    yield run
    run.end()


def test_each_step_draws_from_the_pool_and_adds_the_parts(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        rows = left_alone.samples(line["step"])
        assert 0 < line["pacs/pool/believed_mean"] < 1
        assert line["critic/score/mean"] == pytest.approx(sum(row["correctness"] for row in rows) / len(rows))
        assert line["pacs/reward/overlong/mean"] == pytest.approx(sum(row["overlong"] for row in rows) / len(rows))
        assert line["pacs/reward/overlong/mean"] < 0  # responses of an untrained model are long
        trained = [max(0.0, row["correctness"] + WEIGHT * row["overlong"]) for row in rows]
        assert line["critic/rewards/mean"] == pytest.approx(sum(trained) / len(trained))
    assert not equal(left_alone.policy(STEPS), left_alone.policy(STEPS - 1))


def test_a_run_that_is_killed_in_a_step_goes_on_to_the_same_weights(left_alone: RealRun, broken: RealRun) -> None:
    broken.dies_and_goes_on(after_step=2)
    assert broken.unmeasured() == left_alone.unmeasured()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
