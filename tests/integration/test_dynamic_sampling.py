"""Groups sampled anew for real, through Ray, vLLM and FSDP2: PACS, killed in a step, gone on with to the bit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.real_run import REPEATABLE, RealRun, equal
from tests.integration.test_baselines import sampled_groups
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, PROMPTS, N = 4, 8, 4
FILTER = (
    f"data.train_batch_size={PROMPTS}",
    f"data.train_max_samples={3 * PROMPTS}",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS // 2}",
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "algorithm.filter_groups.enable=true",
    "method.update.merge_duplicates=true",
    "run.sample_groups=8",
)
#: What depends on which rollouts are done first.
OF_SURPLUS = ("training/filter_groups/discarded_surplus_samples", "pacs/response_tokens/generated_sum")


@pytest.fixture(scope="module")
def left_alone(task: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = RealRun(task, tmp_path_factory.mktemp("filter") / "alone", *REPEATABLE, *FILTER)
    run.train()
    return run


@pytest.fixture
def broken(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = RealRun(task, tmp_path / "broken", *REPEATABLE, *FILTER)
    yield run
    run.end()


def test_groups_that_differ_are_trained_on_and_all_are_counted(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        trained = sampled_groups(left_alone, line["step"])
        assert len(trained) == PROMPTS
        assert all(len(set(group)) == 2 for group in trained)
        sampled = PROMPTS + line["training/filter_groups/evicted_samples"]
        assert line["pacs/groups/mixed_fraction"] == pytest.approx(PROMPTS / sampled)
        assert line["pacs/rows/correct_count"] + line["pacs/rows/wrong_count"] == sampled * N
        assert line["critic/score/mean"] == pytest.approx(line["pacs/rows/correct_count"] / (sampled * N))
        assert line["actor/grad_norm"] > 0
        assert 0 <= line["pacs/duplicates/merged_per_token"] < 1
    assert sum(line["training/filter_groups/evicted_samples"] for line in lines) > 0
    assert not equal(left_alone.policy(STEPS), left_alone.policy(STEPS - 1))


def test_a_run_that_is_killed_in_a_step_goes_on_to_the_same_weights(left_alone: RealRun, broken: RealRun) -> None:
    """From a checkpoint behind which prompts were drawn too many."""
    broken.dies_and_goes_on(after_step=2)
    assert left_alone.unmeasured(*OF_SURPLUS) == broken.unmeasured(*OF_SURPLUS)
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
