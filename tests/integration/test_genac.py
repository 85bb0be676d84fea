"""GenAC for real: a policy and a critic, each with ranks and a vLLM of its own; killed, and gone on with."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.checkpoints.folder import CRITIC, newest_checkpoint
from tests.integration.real_run import REPEATABLE_BASELINE, RealRun, equal, failed
from tests.integration.tiny_critic import make_critic
from tests.metrics.page import find

#: A run takes two or three minutes.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, N, PROMPTS = 3, 4, 4
GENAC = (
    f"trainer.total_training_steps={STEPS}",
    "genac.template_tokens=16",
    "genac.trace_tokens=14",
    # A byte of a tiny model that says anything: many segments.
    "genac.segments.delimiter=e",
    "genac.segments.least_tokens=1",
    "genac.segments.most_tokens=4",
    "genac.updates_per_step=2",
    "genac.critic.actor.optim.lr=1e-4",
    "genac.unparsable=0.5",
    "reward.custom_reward_function.name=compute_rarely",
)


@pytest.fixture(scope="module")
def critic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_critic(tmp_path_factory.mktemp("critic"))


def make_run(task: Path, critic: Path, folder: Path, *overrides: str) -> RealRun:
    own = (f"genac.critic.model.path={critic}", f"genac.template={critic.with_name('template.txt')}")
    return RealRun(task, folder, *REPEATABLE_BASELINE, *GENAC, *own, *overrides, algorithm="genac")


@pytest.fixture(scope="module")
def left_alone(task: Path, critic: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    kept = "trainer.max_actor_ckpt_to_keep=null"
    run = make_run(task, critic, tmp_path_factory.mktemp("genac") / "alone", kept, "genac.probe=16")
    run.train()
    return run


@pytest.fixture
def broken(task: Path, critic: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(task, critic, tmp_path / "broken", "genac.probe=16")
    yield run
    run.end()


def test_both_models_learn_and_each_engine_has_its_trainer_s_weights(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    rate = left_alone.steps()[0]["pacs/validation/sums/pass@1"]
    for line in lines:
        # What the critic is told in a step is from before it.
        assert line["pacs/genac/rate_mean"] == pytest.approx(rate)
        rate = 0.9 * rate + 0.1 * line["critic/score/mean"]
        assert 1 < line["pacs/genac/segments_mean"] <= 16
        assert line["pacs/genac/unparsable_fraction"] < 0.5
        assert line["pacs/genac/gradient/norm_max"] > 0
        assert line["pacs/genac/rollout_gap/per_token"] < 1e-5
        assert line["pacs/rollout_gap/worst_max"] < 1e-4
        assert line["actor/grad_norm"] > 0
        written = line["pacs/genac/trace_tokens_sum"]
        own = line["response_length/mean"] * PROMPTS * N
        assert line["pacs/response_tokens/generated_sum"] == pytest.approx(own + written)
    assert not equal(left_alone.policy(2), left_alone.policy(1))
    assert not equal(left_alone.policy(2, CRITIC), left_alone.policy(1, CRITIC))


def test_a_run_whose_critic_s_engine_is_killed_goes_on_to_the_same_weights(
    left_alone: RealRun, broken: RealRun
) -> None:
    start = broken.start()
    start.wait_for(lambda: newest_checkpoint(broken.checkpoints)[0] is not None)
    # The later of the two engines is the critic's.
    max(start.titled("EngineCore"), key=lambda process: process.create_time()).kill()
    failed(start, "vLLM engine 1")
    broken.train()
    assert left_alone.unmeasured() == broken.unmeasured()
    assert left_alone.all_samples() == broken.all_samples()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
    assert equal(left_alone.policy(STEPS, CRITIC), broken.policy(STEPS, CRITIC))
    rates = [json.loads((folder(run) / "genac.json").read_text()) for run in (left_alone, broken)]
    assert rates[0] == rates[1]


def folder(run: RealRun) -> Path:
    return run.checkpoints / f"global_step_{STEPS}"
