"""Engines on GPUs of their own for real, through Ray, vLLM and FSDP2: they sample during the update, losing nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.real_run import RealRun, equal
from tests.integration.test_partial import (
    PROMPTS,
    STEPS,
    check_that_each_prompt_is_trained_once,
    make_run,
    trained,
)
from tests.metrics.page import find

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group"), pytest.mark.timeout(1500)]

APART = "actor_rollout_ref.rollout.nnodes=1"
ALL_AHEAD = (APART, "run.rollouts.partial.ahead=1")


@pytest.fixture
def broken(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(task, tmp_path / "broken", *ALL_AHEAD)
    yield run
    run.end()


def test_the_next_step_is_sampled_during_the_update_and_each_prompt_is_trained_once(task: Path, tmp_path: Path) -> None:
    """The prompts ahead are all of the next step, and most of their tokens are of the weights before."""
    run = make_run(task, tmp_path / "apart", *ALL_AHEAD, "trainer.test_freq=2", "trainer.max_actor_ckpt_to_keep=null")
    run.train()
    lines = run.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    check_that_each_prompt_is_trained_once(run)
    for line in lines:
        assert line["training/off_policy/trajectory_staleness_worst/max"] <= 1
        assert line["actor/grad_norm"] > 0
        waiting = line["pacs/partial/unfinished_count"] + line["pacs/partial/finished_count"]
        assert waiting == (PROMPTS if line["step"] < STEPS else 0)
    # Some were done when the weights came, of others a part was written by those before.
    assert max(line["pacs/partial/staleness_mean"] for line in lines) > 0
    assert min(line["training/off_policy/trajectory_spans/min"] for line in lines[1:]) == 1
    assert not equal(run.policy(2), run.policy(1))


def test_engines_have_the_trainer_s_weights(task: Path, tmp_path: Path) -> None:
    """After each transfer vLLM and trainer agree on each token: with one update a step the policy is the sampler's."""
    one_update = f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS}"
    fresh = ("run.rollouts.partial.ahead=null", one_update, "trainer.total_training_steps=3")
    run = make_run(task, tmp_path / "fresh", APART, *fresh)
    run.train()
    assert max(line["pacs/rollout_gap/worst_max"] for line in run.training_steps()) < 1e-4
    assert not equal(run.policy(3), run.policy(2))


def test_where_nothing_is_stale_it_is_a_synchronous_run_to_the_bit(task: Path, tmp_path: Path) -> None:
    fresh = (
        "run.rollouts.partial.ahead=null",
        "trainer.total_training_steps=3",
        "actor_rollout_ref.rollout.max_num_seqs=1",
    )
    apart, synchronous = (
        make_run(task, tmp_path / name, *fresh, *more) for name, more in {"a": [APART], "s": []}.items()
    )
    apart.train()
    synchronous.train()
    assert trained(apart) == trained(synchronous)
    assert equal(apart.policy(3), synchronous.policy(3))


def test_killed_it_goes_on_and_trains_each_prompt_once(broken: RealRun) -> None:
    resumed = broken.dies_and_goes_on(after_step=2)
    check_that_each_prompt_is_trained_once(broken, resumed_after=resumed)


def test_grpo_of_verl(task: Path, tmp_path: Path) -> None:
    run = make_run(task, tmp_path / "grpo", *ALL_AHEAD, "trainer.total_training_steps=3", algorithm="grpo")
    run.train()
    check_that_each_prompt_is_trained_once(run, 3)
    assert max(line["pacs/partial/staleness_mean"] for line in run.training_steps()) > 0
