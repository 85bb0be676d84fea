"""ERA for real (Ray, vLLM, FSDP2): ranks in each step, and a run that is killed and gone on with to the bit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.real_run import REPEATABLE, RealRun, equal
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS = 4
SETTINGS = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "method.token_weight.name=era",
    "method.token_weight.era.stride=3",
)


@pytest.fixture(scope="module")
def left_alone(task: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = RealRun(task, tmp_path_factory.mktemp("era") / "alone", *REPEATABLE, *SETTINGS)
    run.train()
    return run


@pytest.fixture
def broken(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = RealRun(task, tmp_path / "broken", *REPEATABLE, *SETTINGS)
    yield run
    run.end()


def test_each_step_compares_its_ranks_with_those_before(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        assert line["timing_s/old_log_prob"] > 0
        assert line["pacs/token_weight/era_rank_mean"] > 1
        assert line["pacs/effective_rank/rank_wrong_mean"] > 1
    weights = [line["pacs/token_weight/per_token"] for line in lines]
    assert weights[0] == 1  # there is nothing to compare with
    assert all(0.5 < weight < 1.5 and weight != 1 for weight in weights[1:])
    first, second = (line["pacs/token_weight/era_rank_mean"] for line in lines[:2])
    assert 0 < abs(second - first) < 0.3 * first


def test_a_run_that_is_killed_in_a_step_goes_on_to_the_same_weights(left_alone: RealRun, broken: RealRun) -> None:
    broken.dies_and_goes_on(after_step=2)
    assert broken.unmeasured() == left_alone.unmeasured()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
