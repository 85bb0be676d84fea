"""GenAC in the plan: a second model and a second engine, and what traces add to a step."""

import json

import pytest
from omegaconf import DictConfig, OmegaConf

from benchmarks.critic_costs import Lengths, genac, ppo
from pacs.commands.plan import as_json
from pacs.composing import compose_run
from pacs.planning.plan import Plan, make_plan
from pacs.planning.plan_text import heading
from pacs.planning.timing import pass_flops, saved_bytes

SMALL = "Qwen/Qwen3-4B"


@pytest.fixture(scope="module")
def config() -> DictConfig:
    return compose_run("genac", ["recipe=genac_qwen3_8b"])[0]


def plan(config: DictConfig, *overrides: str, **options: float) -> Plan:
    return make_plan(OmegaConf.merge(config, OmegaConf.from_dotlist(list(overrides))), hardware="h200x8", **options)


def test_both_engines_share_a_gpu_while_they_sample_and_one_model_trains_at_a_time(config: DictConfig) -> None:
    phases = {phase.name: phase.parts for phase in plan(config).phases}
    gpu = plan(config).work.device.memory_bytes
    assert phases["generation"]["vLLM"] == phases["generation"]["critic's vLLM"] == pytest.approx(0.4 * gpu)
    assert "critic's Adam" not in phases["update"]
    assert "Adam" not in phases["critic update"]
    assert phases["critic update"]["critic's Adam"] == phases["update"]["Adam"]
    kept = plan(config, "actor_rollout_ref.actor.fsdp_config.optimizer_offload=false")
    assert {"Adam", "critic's Adam"} <= {phase.name: phase.parts for phase in kept.phases}["update"].keys()


def test_a_smaller_critic_costs_less_of_everything(config: DictConfig) -> None:
    same, smaller = plan(config), plan(config, f"genac.critic.model.path={SMALL}")
    for phase, most in (("critic generation", 0.8), ("critic update", 0.7)):  # their caches are of one size
        assert smaller.seconds[phase] < most * same.seconds[phase]
    assert smaller.seconds["update"] == same.seconds["update"]
    assert saved_bytes(smaller.work) < saved_bytes(same.work)


def test_its_products_are_those_of_the_paper_s_count(config: DictConfig) -> None:
    """At 3,000 tokens, 120 a segment and 300 a trace: T + 25 x 300 tokens in training, 6 P a token."""
    work = plan(config, mean_response_tokens=3000).work
    assert work.judge is not None
    shape = work.judge.architecture
    per_token = pass_flops(work.judge, work.judge.policy) / work.lengths.responses.sum()
    counted = genac(Lengths()) - ppo(Lengths()) + 8 * Lengths().response  # the critic's part: 28 P T
    assert counted / Lengths().response == pytest.approx(28)
    # Of these generating is 2 and training 6 of 8 parts; a forward pass is a third of training.
    expected = counted / Lengths().response * 6 / 8 / 3 * shape.parameters
    assert expected < per_token < 1.5 * expected  # attention and the template are not in the paper's count


def test_the_plan_says_what_it_assumes(config: DictConfig) -> None:
    said = heading(plan(config).work)
    assert said.startswith("genac (")
    assert "traces of a critic about their segments, assumed)" in said


def test_the_plan_is_json_with_the_critic_s_part(config: DictConfig) -> None:
    made = plan(config)
    written = json.loads(json.dumps(as_json(made)))["workload"]
    for part, work in ((written, made.work), (written["judge"], made.work.judge), (written["asked"], made.work.asked)):
        assert work is not None
        assert part["lengths"]["responses"]["mean"] == pytest.approx(float(work.lengths.responses.mean()))
    assert written["judge"]["judge"] is None


def test_an_engine_of_the_critic_whose_gpus_would_share_a_head_is_an_obstacle(config: DictConfig) -> None:
    twelve = "genac.critic.model.path=deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"
    made = plan(config, twelve, "actor_rollout_ref.rollout.tensor_model_parallel_size=8")
    assert made.phases[0].obstacle == "the critic's vLLM cannot share 12 heads among the 8 GPUs of an engine"


def test_an_engine_that_cannot_hold_one_state_is_an_obstacle(config: DictConfig) -> None:
    phase = plan(config, "genac.critic.rollout.gpu_memory_utilization=0.13").phases[0]
    assert phase.obstacle is not None
    assert phase.obstacle.startswith("the critic's vLLM's cache holds")
