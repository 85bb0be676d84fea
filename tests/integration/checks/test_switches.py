"""Switches of verl that would do nothing here, or not what they say, are refused with the mend; the others are not."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
import verl
from omegaconf import DictConfig, OmegaConf, open_dict
from verl import DataProto
from verl.trainer.config import AlgoConfig
from verl.trainer.ppo.core_algos import get_policy_loss_fn
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.workers.config import FSDPActorConfig
from verl.workers.config.actor import PolicyLossConfig

from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.integration.checks import run as checks
from pacs.integration.checks.batch import QUANTIZED_ROLLOUTS, SET_BY_VERL, rollout_problems
from pacs.integration.checks.machine import LOGGER_PACKAGES, _machine_problems, _package_problems, kernel_problems
from pacs.integration.checks.models import _context_problems
from pacs.integration.checks.pacs import QUANTIZED, pacs_problems
from pacs.integration.checks.switches import ONLY, switch_problems
from pacs.integration.checks.verl_algorithms import baseline_problems
from pacs.integration.checks.wording import full_name, spell

ROLLOUT = "actor_rollout_ref.rollout"


@pytest.fixture(scope="module")
def configs() -> dict[str, DictConfig]:
    return {name: compose_run(name, ["recipe=qwen3_8b"])[0] for name in ("pacs", "grpo")}


def with_settings(config: DictConfig, **settings: object) -> DictConfig:
    """A copy with other settings, a dot in a key being two underscores here."""
    changed = config.copy()
    with open_dict(changed):
        for key, value in settings.items():
            OmegaConf.update(changed, key.replace("__", "."), value, force_add=True)
    return changed


def test_a_setting_at_the_end_of_a_sentence_has_its_value(configs: dict[str, DictConfig]) -> None:
    for sentence, said in {
        "raise @actor.ppo_epochs=.": "raise actor_rollout_ref.actor.ppo_epochs=1.",
        "set @rollout.temperature=.5, or not.": "set actor_rollout_ref.rollout.temperature=.5, or not.",
        "set @rollout.n=8.": "set actor_rollout_ref.rollout.n=8.",
    }.items():
        assert spell(sentence, configs["pacs"]) == said


def test_the_shipped_configs_are_sound(configs: dict[str, DictConfig]) -> None:
    assert [list(switch_problems(config)) for config in configs.values()] == [[], []]


@pytest.mark.parametrize("name", ONLY)
def test_a_switch_that_does_nothing_is_refused(name: str, configs: dict[str, DictConfig]) -> None:
    config, key = configs["grpo"], full_name(name)
    assert OmegaConf.select(config, key, default="missing") != "missing", "verl has no such key"
    allowed = ONLY[name][0][0]
    other = "weave" if allowed is None else not allowed
    (problem,) = switch_problems(with_settings(config, **{key: other}))
    said = str(other).lower()
    assert problem.startswith(f"{key}={said}: ")
    assert "leave it out" in problem


@pytest.mark.parametrize(
    ("settings", "said", "mend"),
    [
        ({"algorithm.rollout_correction.bypass_mode": True}, "bypass_mode=true", "set it to false"),
        ({"custom_reward_function.path": "mine.py"}, "custom_reward_function.path", "set it under reward.custom_"),
        ({"reward_model.enable": True}, "reward_model.enable", "set it under reward."),
        ({"sandbox_fusion.url": "http://h"}, "sandbox_fusion.url", "set it under reward.sandbox_fusion"),
        ({f"{ROLLOUT}.val_kwargs.do_sample": False}, "temperature=0.6", "set that to 0"),
        ({"trainer.val_only": True, "trainer.val_before_train": False}, "trainer.val_only=true", "would train"),
        ({"trainer.critic_warmup": 5}, "trainer.critic_warmup=5", "set it to 0"),
        # verl says so once Ray and the workers are up; 0 nodes are its default.
        (
            {"reward.reward_model.enable": True, "reward.reward_model.enable_resource_pool": True},
            "reward.reward_model.nnodes=0: enable_resource_pool=true gives it GPUs of its own",
            "use a whole number of at least 1",
        ),
    ],
)
def test_settings_that_mean_something_else_here(
    settings: dict, said: str, mend: str, configs: dict[str, DictConfig]
) -> None:
    (problem,) = switch_problems(with_settings(configs["grpo"], **settings))
    assert said in problem
    assert mend in problem


def test_what_verl_does_as_it_says_is_left_alone(configs: dict[str, DictConfig]) -> None:
    settings = {
        f"{ROLLOUT}.val_kwargs.do_sample": False,
        f"{ROLLOUT}.val_kwargs.temperature": 0,
        "trainer.val_only": True,
        "algorithm.rollout_correction.rollout_is": "token",
        "skip.rollout_tq.enable": True,
        "trainer.v1.sampler.sync_refill_failed_groups": True,
        "actor_rollout_ref.actor.calculate_entropy": True,
        "actor_rollout_ref.model.use_shm": True,
    }
    assert list(switch_problems(with_settings(configs["grpo"], **settings))) == []


@pytest.mark.parametrize("key", map(full_name, QUANTIZED))
def test_pacs_refuses_rollouts_of_another_policy(key: str, configs: dict[str, DictConfig]) -> None:
    value = key.endswith(".enable") or "fp8"
    problems = [problem for problem in pacs_problems(with_settings(configs["pacs"], **{key: value})) if key in problem]
    assert len(problems) == 1
    assert "method.update.correction.kind=truncate makes up for" in problems[0]
    corrected = {key: value, "method.update.correction.sequence_cap": 1.001}
    assert list(pacs_problems(with_settings(configs["pacs"], **corrected))) == []
    assert list(pacs_problems(configs["pacs"])) == []


@pytest.mark.parametrize("key", map(full_name, QUANTIZED_ROLLOUTS))
def test_verls_algorithms_refuse_them_without_verls_correction(key: str, configs: dict[str, DictConfig]) -> None:
    (problem,) = baseline_problems(with_settings(configs["grpo"], **{key: "fp8"}))
    assert f"{key}=fp8" in problem
    assert "algorithm.rollout_correction.rollout_is=token makes up for" in problem
    corrected = {key: "fp8", "algorithm.rollout_correction.rollout_is": "token"}
    assert list(baseline_problems(with_settings(configs["grpo"], **corrected))) == []


def test_a_penalty_of_moving_needs_a_second_update(configs: dict[str, DictConfig]) -> None:
    """At the policy that sampled it is 0, and so is its gradient: with one update a step it would do nothing."""
    pacs, mini = configs["pacs"], "actor_rollout_ref.actor.ppo_mini_batch_size"
    alone = with_settings(pacs, **{"method.token_weight.name": "kl_cov", mini: pacs.data.train_batch_size})
    (problem,) = pacs_problems(alone)
    assert problem.startswith("method.token_weight.name=kl_cov penalizes what has moved from the policy that sampled")
    assert f"lower {mini}={pacs.data.train_batch_size}" in problem
    assert problem.endswith("or raise actor_rollout_ref.actor.ppo_epochs=1.")
    for others in (
        {mini: pacs.data.train_batch_size // 2},
        {"actor_rollout_ref.actor.ppo_epochs": 2},
        {"method.token_weight.name": "clip_cov"},
        # The completions of prefixes are further groups, and so further mini-batches.
        {"run.rollouts.vine.completions": 4, "run.rollouts.vine.train_completions": True},
    ):
        assert list(pacs_problems(with_settings(alone, **others))) == []


@pytest.mark.parametrize("estimator", ["remax", "optimal_token_baseline", "tir_optimal_token_baseline"])
def test_an_estimator_of_what_is_not_calculated(estimator: str, configs: dict[str, DictConfig]) -> None:
    (problem,) = baseline_problems(with_settings(configs["grpo"], algorithm__adv_estimator=estimator))
    assert f"algorithm.adv_estimator={estimator} needs" in problem


@pytest.mark.parametrize("estimator", ["gae", "reinforce_plus_plus", "grpo", "rloo", "opo"])
def test_tokens_are_rejected_where_no_reward_is_lost(estimator: str, configs: dict[str, DictConfig]) -> None:
    """verl itself: a right response, whose last token is rejected, among wrong ones."""
    rewards, mask = torch.tensor([[0.0, 0.0, 1.0], *[[0.0, 0.0, 0.0]] * 3]), torch.ones(4, 3)
    mask[0, -1] = 0
    rows = {"token_level_rewards": rewards, "response_mask": mask, "values": torch.zeros(4, 3)}
    batch = DataProto.from_dict(rows, {"uid": np.array(["prompt"] * 4, dtype=object)})
    found = compute_advantage(batch, estimator, config=AlgoConfig(adv_estimator=estimator)).batch["advantages"][:, 0]
    config = with_settings(configs["grpo"], algorithm__adv_estimator=estimator, critic__enable=estimator == "gae")
    for mode, rejects_tokens in (("token_k1", True), ("seq_mean_k1, token_k2", True), ("seq_mean_k1", False)):
        changed = with_settings(config, algorithm__rollout_correction__rollout_rs=mode)
        refused = [each for each in baseline_problems(changed) if "its reward is lost" in each]
        assert bool(refused) == (rejects_tokens and not found[0] > found[1])


def gradient(loss: str, responses: int) -> torch.Tensor:
    """verl's own, of responses with one advantage each: by how much each token's log-probability is to change."""
    settings = PolicyLossConfig(loss_mode=loss, clip_cov_ratio=0.05)
    actor = FSDPActorConfig(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=responses, policy_loss=settings)
    torch.manual_seed(0)
    advantages, old = 3 * torch.randn(8, 1).expand(-1, 50)[:responses], -4 * torch.rand(8, 50)[:responses]
    new = old.clone().requires_grad_()
    get_policy_loss_fn(loss)(
        old_log_prob=old,
        log_prob=new,
        advantages=advantages,
        response_mask=torch.ones(responses, 50),
        loss_agg_mode="token-mean",
        config=actor,
    )[0].backward()
    assert new.grad is not None
    return new.grad


def test_clip_cov_of_one_response_is_the_plain_loss() -> None:
    """What is refused below."""
    assert torch.equal(gradient("clip_cov", 1), gradient("vanilla", 1))
    assert not torch.equal(gradient("clip_cov", 8), gradient("vanilla", 8))


@pytest.mark.parametrize(
    ("loss", "settings", "said"),
    [
        ("clip_cov", {"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 1}, "it leaves out no token"),
        ("kl_cov", {"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 1}, "by chance"),
        ("kl_cov", {"ppo_mini_batch_size": 1}, "raise actor_rollout_ref.actor.ppo_mini_batch_size=1"),
        ("clip_cov", {"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 2}, ""),
        ("clip_cov", {"ppo_micro_batch_size_per_gpu": 1}, ""),
        ("vanilla", {"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 1}, ""),
    ],
)
def test_covariances_within_one_response_are_refused(
    loss: str, settings: dict[str, object], said: str, configs: dict[str, DictConfig]
) -> None:
    keys = {f"actor_rollout_ref.actor.{name}": value for name, value in settings.items()}
    config = with_settings(configs["grpo"], **{"actor_rollout_ref.actor.policy_loss.loss_mode": loss, **keys})
    found = [each for each in baseline_problems(config) if "where a micro-batch has one response" in each]
    assert bool(found) == bool(said)
    assert all(said in each and f"loss_mode={loss}" in each for each in found)


@pytest.mark.parametrize(
    ("algorithm", "override"),
    [
        ("grpo", "distillation.enabled=true"),
        ("grpo", "algorithm.rollout_correction.bypass_mode=true"),
        ("pacs", f"{ROLLOUT}.quantization=fp8"),
    ],
)
def test_a_run_with_them_is_not_composed(algorithm: str, override: str) -> None:
    with pytest.raises(UserError) as refused:
        compose_run(algorithm, ["recipe=arithmetic", override])
    assert override in str(refused.value)


@pytest.mark.parametrize("logger", LOGGER_PACKAGES)
def test_the_packages_of_each_logger_are_looked_for(logger: str, configs: dict[str, DictConfig]) -> None:
    """Each of verl's but those that need none; what is not importable here is named, with what pip calls it."""
    problems = list(_package_problems(with_settings(configs["grpo"], trainer__logger=[logger])))
    missing = [package for module, package in LOGGER_PACKAGES[logger].items() if find_spec(module) is None]
    assert len(problems) == len(missing)
    for problem, package in zip(problems, missing, strict=True):
        assert f"trainer.logger has {logger}" in problem
        assert f"pip install {package}" in problem


def test_every_logger_of_verl_is_known() -> None:
    from verl.utils.tracking import Tracking

    assert set(Tracking.supported_backend) - LOGGER_PACKAGES.keys() == {"console", "file"}
    assert {name for name in LOGGER_PACKAGES if not LOGGER_PACKAGES[name]} == set()


def test_vllm_holds_the_positions_that_the_lengths_need(configs: dict[str, DictConfig]) -> None:
    for config in configs.values():
        assert config.actor_rollout_ref.rollout.max_model_len == 9216
    longer, _ = compose_run("ppo", ["recipe=qwen3_8b", "data.max_response_length=16384", "hardware=h200x8"])
    assert longer.actor_rollout_ref.rollout.max_model_len == 17408


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({f"{ROLLOUT}.max_model_len": 9215}, "make 9216 tokens; leave it out"),
        ({f"{ROLLOUT}.max_model_len": "long"}, "use a whole number of tokens"),
        ({f"{ROLLOUT}.max_model_len": True}, "use a whole number of tokens"),
        ({f"{ROLLOUT}.engine_kwargs.vllm.max_model_len": 9000}, "would take the place of"),
    ],
)
def test_positions_that_are_too_few(settings: dict, said: str, configs: dict[str, DictConfig]) -> None:
    (problem,) = rollout_problems(with_settings(configs["grpo"], **settings))
    assert said in problem


@pytest.mark.parametrize("positions", [9216, 20000, None])
def test_positions_that_are_enough(positions: int | None, configs: dict[str, DictConfig]) -> None:
    assert list(rollout_problems(with_settings(configs["grpo"], **{f"{ROLLOUT}.max_model_len": positions}))) == []


def test_seeded_prompts_are_not_read_in_parts_on_a_cpu() -> None:
    """Seen: torch's generators on the CPU have no offset, which vLLM sets back where a prompt is read in parts."""
    seeded, parts = "run.rollouts.seeded=true", f"{ROLLOUT}.enable_chunked_prefill=true"
    for given, in_parts in (([seeded], False), ([parts], True), ([], True)):
        config, _ = compose_run("grpo", ["recipe=arithmetic", *given])
        assert config.actor_rollout_ref.rollout.enable_chunked_prefill is in_parts
        assert list(rollout_problems(config)) == []
    with pytest.raises(UserError, match=r"enable_chunked_prefill=true with run\.rollouts\.seeded=true"):
        compose_run("grpo", ["recipe=arithmetic", seeded, parts])


def test_batch_invariance_is_refused_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: vLLM's batch-invariant kernels are Triton's, and its engine dies at the first response."""
    config, _ = compose_run("grpo", ["recipe=arithmetic"])
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "0")
    assert list(_machine_problems(config)) == []
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    (problem,) = _machine_problems(config)
    assert problem.endswith("unset it.")


def test_kernels_that_are_not_installed_are_missed(
    configs: dict[str, DictConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is imported by the workers alone, minutes after the start."""
    model, sdpa = "actor_rollout_ref__model", "actor_rollout_ref__model__override_config__attn_implementation"
    liger = with_settings(configs["grpo"], **{f"{model}__use_liger": True})
    assert [problem.split(" needs ")[1].split(",")[0] for problem in kernel_problems(liger)] == [
        "flash-attn",
        "liger-kernel",
    ]
    assert list(kernel_problems(with_settings(configs["grpo"], **{sdpa: "sdpa"}))) == []
    of_critic = "critic__model__override_config__attn_implementation"
    ppo = with_settings(compose_run("ppo", ["recipe=arithmetic"])[0], **{sdpa: "sdpa", of_critic: "flash_attention_2"})
    (problem,) = kernel_problems(ppo)
    assert problem.startswith("critic.model.override_config.attn_implementation=flash_attention_2 needs flash-attn")
    assert "++critic.model.override_config.attn_implementation=sdpa" in problem
    assert list(kernel_problems(with_settings(ppo, **{of_critic: "sdpa"}))) == []
    for of in (model, "critic__model"):
        (problem,) = kernel_problems(with_settings(ppo, **{of_critic: "sdpa", f"{of}__use_liger": True}))
        assert problem.startswith(f"{of.replace('__', '.')}.use_liger=true needs liger-kernel")
    for package in ("flash_attn", "liger_kernel"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert list(kernel_problems(liger)) == []


def test_what_is_not_installed_is_missed_of_a_cluster_too(configs: dict[str, DictConfig]) -> None:
    """Its nodes are to have the packages that are here (`checks.cluster`)."""
    grpo = with_settings(configs["grpo"], ray_kwargs__ray_init__address="auto")
    (problem,) = _machine_problems(grpo)
    assert "needs flash-attn, which is not installed" in problem
    _, problem = _machine_problems(with_settings(grpo, actor_rollout_ref__rollout__nnodes=1))
    assert "cupy, which is not installed" in problem
    assert list(_machine_problems(with_settings(grpo, trainer__device="cpu"))) == []


def test_what_verl_gives_vllm_itself_is_set_by_verl_s_settings(configs: dict[str, DictConfig]) -> None:
    """Another value would be vLLM's alone: verl counts engines, lengths and log-probabilities by its own settings."""
    config = configs["grpo"]
    for name in ("max_model_len", "seed", "tensor_parallel_size", "logprobs_mode"):
        (problem,) = rollout_problems(with_settings(config, **{f"{ROLLOUT}.engine_kwargs.vllm.{name}": 1}))
        assert problem.startswith(f"{ROLLOUT}.engine_kwargs.vllm.{name}=1 would take the place of {ROLLOUT}.")
    for name in ("max_model_len", "num_gpu_blocks_override"):
        left = with_settings(config, **{f"{ROLLOUT}.engine_kwargs.vllm.{name}": None if name[0] == "m" else 64})
        assert list(rollout_problems(left)) == []


def test_verl_gives_vllm_these_itself() -> None:
    """Each is an argument in verl's own code, but for the one that verl refuses."""
    source = (Path(verl.__file__).parent / "workers/rollout/vllm_rollout/vllm_async_server.py").read_text()
    short = [name.replace("_model_parallel", "_parallel") for name in SET_BY_VERL]
    verls = [name for name in short if f'"{name}": ' in source]
    assert set(short) - set(verls) == {"pipeline_parallel_size"}


def test_more_positions_than_the_model_has(configs: dict[str, DictConfig]) -> None:
    config = with_settings(configs["grpo"], **{f"{ROLLOUT}.max_model_len": 50000})
    (problem,) = (spell(each, config) for each in _context_problems(config, {"max_position_embeddings": 40960}))
    assert f"{ROLLOUT}.max_model_len=50000" in problem
    assert list(_context_problems(configs["grpo"], {"max_position_embeddings": 40960})) == []


def test_forgetting_adam_every_step_is_warned_of(configs: dict[str, DictConfig]) -> None:
    pacs = configs["pacs"]
    every, mini = "method__reference__reset_every", "actor_rollout_ref__actor__ppo_mini_batch_size"
    forgotten = with_settings(pacs, method__reference__reset_optimizer=True)
    (warning,) = checks.warnings(forgotten)
    assert "method.reference.reset_optimizer=false" in warning
    assert "the first update of each step" in warning
    (warning,) = checks.warnings(with_settings(forgotten, **{mini: pacs.data.train_batch_size}))
    assert "every update then" in warning
    rare = with_settings(forgotten, **{every: 2})
    assert [checks.warnings(config) for config in (pacs, rare, configs["grpo"])] == [[], [], []]


def test_a_fresh_adam_moves_each_weight_alike() -> None:
    """What the warning says."""
    weights = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    weights.grad = torch.tensor([1e-3, -1.0, 50.0], dtype=torch.float64)
    torch.optim.AdamW([weights], lr=1e-2, weight_decay=0).step()
    torch.testing.assert_close(weights.detach(), -1e-2 * weights.grad.sign(), rtol=1e-4, atol=0)
