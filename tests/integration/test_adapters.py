"""Real runs of `pacs train` with LoRA: what is trained, kept, saved, resumed, exported, and sampled from."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from tests.export.exporting import logits_of, run_command
from tests.integration.real_run import REPEATABLE, REPEATABLE_BASELINE, RESET_EVERY, RealRun, equal

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

RANK, ALPHA, STEPS = 8, 32, 5
#: A rate at which adapters move log-probabilities by far more than rounding does.
LORA = (
    f"actor_rollout_ref.model.lora_rank={RANK}",
    f"actor_rollout_ref.model.lora_alpha={ALPHA}",
    "actor_rollout_ref.actor.optim.lr=1e-2",
    "actor_rollout_ref.rollout.calculate_log_probs=true",
    f"trainer.total_training_steps={STEPS}",
    "trainer.max_actor_ckpt_to_keep=null",
)
MERGED = ("actor_rollout_ref.model.lora.merge=true", "actor_rollout_ref.rollout.dtype=bfloat16")
#: A run's name -> its algorithm and its overrides. vLLM has the adapters, or with MERGED weights of 16 bits.
RUNS = {
    "pacs": ("pacs", (*REPEATABLE, *LORA)),
    "grpo": ("grpo", (*REPEATABLE_BASELINE, *LORA)),
    "merged": ("pacs", (*REPEATABLE, *LORA, *MERGED)),
}
#: A run's name -> how far vLLM is from the trainer: a metric and its most, of GRPO in probability, else in nats.
GAPS = {
    "pacs": ("pacs/rollout_gap/worst_max", 1e-4),
    "grpo": ("training/rollout_probs_diff_max", 1e-5),
    "merged": ("pacs/rollout_gap/per_token", 5e-3),
}
TOKENS = torch.arange(5, 45).reshape(2, 20)
each = pytest.mark.parametrize("lora", RUNS, indirect=True)


def run_of(name: str, task: Path, folder: Path) -> RealRun:
    algorithm, overrides = RUNS[name]
    return RealRun(task, folder, *overrides, algorithm=algorithm)


@pytest.fixture(scope="module")
def lora(
    request: pytest.FixtureRequest, task: Path, process_group: None, tmp_path_factory: pytest.TempPathFactory
) -> RealRun:
    """Five steps of the run that is named; of PACS the reference is reset after the third."""
    run = run_of(request.param, task, tmp_path_factory.mktemp("lora") / request.param)
    run.printed = run.train()
    return run


def trained(policy: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in policy.items() if "lora_" in name}


def live(lora: RealRun, task: Path, step: int) -> PeftModel:
    """The policy as peft has it."""
    plain = AutoModelForCausalLM.from_pretrained(task / "model")
    policy = get_peft_model(plain, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear"))
    policy.load_state_dict(lora.policy(step))
    return policy


@torch.no_grad()
def moved(lora: RealRun, task: Path, *, nats: bool) -> list[float]:
    """How far the policy has gone in each step but the first, in the mean over all that it could say."""
    said = [live(lora, task, step)(TOKENS).logits.log_softmax(-1) for step in range(1, STEPS + 1)]
    said = said if nats else [log_probs.exp() for log_probs in said]
    return [(after - before).abs().mean().item() for before, after in pairwise(said)]


@each
def test_adapters_alone_are_trained(lora: RealRun, task: Path) -> None:
    policies = [lora.policy(step) for step in range(1, STEPS + 1)]
    base = load_file(task / "model" / "model.safetensors")
    for policy in policies:
        frozen = {name: value for name, value in policy.items() if "lora_" not in name}
        plain = {name.removeprefix("base_model.model.").replace(".base_layer", ""): v for name, v in frozen.items()}
        assert equal({name: plain[name] for name in base}, base)
    for before, after in pairwise(policies):
        assert not any(torch.equal(before[name], value) for name, value in trained(after).items())


@pytest.mark.parametrize("lora", ["pacs", "merged"], indirect=True)
def test_the_reference_is_the_adapters_as_they_were_at_the_last_reset(lora: RealRun) -> None:
    start = lora.reference(1)
    assert start.keys() == trained(lora.policy(1)).keys()
    assert all((value == 0).all() == ("lora_B" in name) for name, value in start.items())
    assert equal(lora.reference(2), start)
    for step in range(RESET_EVERY + 1, STEPS + 1):
        assert equal(lora.reference(step), trained(lora.policy(RESET_EVERY)))


@each
def test_vllm_samples_from_the_policy_with_its_adapters(lora: RealRun, task: Path) -> None:
    """Its probabilities are the trainer's, while the policy's own move by far more within each step."""
    metric, most = GAPS[lora.folder.name]
    gaps = [line[metric] for line in lora.training_steps()]
    assert len(gaps) == STEPS
    ways = moved(lora, task, nats=metric.startswith("pacs/"))
    assert max(gaps) < most < min(ways) / 3


@each
def test_a_run_that_goes_on_ends_as_if_it_had_not_stopped(lora: RealRun, task: Path, tmp_path: Path) -> None:
    """From a step whose reference, of PACS, is not the policy."""
    name = lora.folder.name
    shutil.copytree(lora.folder, tmp_path / name)
    for step in range(RESET_EVERY + 2, STEPS + 1):
        shutil.rmtree(tmp_path / f"{name}/checkpoints/global_step_{step}")
    again = run_of(name, task, tmp_path / name)
    again.train()
    assert equal(again.policy(STEPS), lora.policy(STEPS))
    assert equal(again.optimizer(STEPS), lora.optimizer(STEPS))
    if name != "grpo":
        assert equal(again.reference(STEPS), lora.reference(STEPS))


@each
@torch.no_grad()
def test_an_export_has_the_logits_of_the_policy(lora: RealRun, task: Path, tmp_path: Path) -> None:
    assert run_command(lora.folder, "--out", tmp_path / "out", "--dtype", "float32") == 0
    before = AutoModelForCausalLM.from_pretrained(task / "model")(TOKENS).logits
    policy = live(lora, task, STEPS)(TOKENS).logits
    assert (policy - before).abs().max() > 0.1
    torch.testing.assert_close(logits_of(tmp_path / "out", TOKENS), policy, rtol=0, atol=1e-5)
