"""Real runs of `pacs train` with LoRA: what is trained, kept, saved, resumed, exported, and sampled from."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from tests.export.exporting import logits_of, run_command
from tests.integration.real_run import REPEATABLE, RESET_EVERY, RealRun, equal

pytestmark = [pytest.mark.slow, pytest.mark.long]

RANK, ALPHA, STEPS = 8, 32, 5
#: A rate at which adapters move log-probabilities by far more than rounding does.
LORA = (
    *REPEATABLE,
    f"actor_rollout_ref.model.lora_rank={RANK}",
    f"actor_rollout_ref.model.lora_alpha={ALPHA}",
    "actor_rollout_ref.actor.optim.lr=1e-2",
    "actor_rollout_ref.rollout.calculate_log_probs=true",
    f"trainer.total_training_steps={STEPS}",
    "trainer.max_actor_ckpt_to_keep=null",
)


@pytest.fixture(scope="module")
def lora(task: Path, process_group: None, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    """Five steps of PACS, the reference reset after the third."""
    run = RealRun(task, tmp_path_factory.mktemp("lora") / "run", *LORA)
    run.printed = run.train()
    return run


def trained(policy: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in policy.items() if "lora_" in name}


def test_adapters_alone_are_trained(lora: RealRun, task: Path) -> None:
    policies = [lora.policy(step) for step in range(1, STEPS + 1)]
    base = load_file(task / "model" / "model.safetensors")
    for policy in policies:
        frozen = {name: value for name, value in policy.items() if "lora_" not in name}
        plain = {name.removeprefix("base_model.model.").replace(".base_layer", ""): v for name, v in frozen.items()}
        assert equal({name: plain[name] for name in base}, base)
    for before, after in pairwise(policies):
        assert not any(torch.equal(before[name], value) for name, value in trained(after).items())


def test_the_reference_is_the_adapters_as_they_were_at_the_last_reset(lora: RealRun) -> None:
    start = lora.reference(1)
    assert start.keys() == trained(lora.policy(1)).keys()
    assert all((value == 0).all() == ("lora_B" in name) for name, value in start.items())
    assert equal(lora.reference(2), start)
    for step in range(RESET_EVERY + 1, STEPS + 1):
        assert equal(lora.reference(step), trained(lora.policy(RESET_EVERY)))


def test_vllm_samples_from_the_policy_with_its_adapters(lora: RealRun) -> None:
    """vLLM's log-probabilities are the trainer's, while the policy's own move by far more within a step."""
    lines = [line for line in lora.steps() if "pacs/rollout_gap/per_token" in line]
    assert len(lines) == STEPS
    moved = [abs(line["pacs/log_ratio/per_token"]) for line in lines]
    assert max(moved) > 1e-2
    assert max(line["pacs/rollout_gap/worst_max"] for line in lines) < 1e-4


def test_a_run_that_goes_on_ends_as_if_it_had_not_stopped(lora: RealRun, task: Path, tmp_path: Path) -> None:
    """From a step whose reference is not the policy."""
    shutil.copytree(lora.folder, tmp_path / "run")
    for step in range(RESET_EVERY + 2, STEPS + 1):
        shutil.rmtree(tmp_path / f"run/checkpoints/global_step_{step}")
    again = RealRun(task, tmp_path / "run", *LORA)
    again.train()
    assert equal(again.policy(STEPS), lora.policy(STEPS))
    assert equal(again.optimizer(STEPS), lora.optimizer(STEPS))
    assert equal(again.reference(STEPS), lora.reference(STEPS))


def test_an_export_has_the_logits_of_the_policy(lora: RealRun, task: Path, tmp_path: Path) -> None:
    assert run_command(lora.folder, "--out", tmp_path / "out") == 0
    plain = AutoModelForCausalLM.from_pretrained(task / "model")
    tokens = torch.arange(5, 45).reshape(2, 20)
    with torch.no_grad():
        before = plain(tokens).logits
        policy = get_peft_model(plain, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear"))
        policy.load_state_dict(lora.policy(STEPS))
        live = policy(tokens).logits
    assert (live - before).abs().max() > 0.1
    torch.testing.assert_close(logits_of(tmp_path / "out", tokens), live, rtol=0, atol=1e-5)
