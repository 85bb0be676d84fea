"""Which changes of a run's settings, between a checkpoint and now, would change its algorithm.

The algorithm is what determines the trained weights given the same rollouts and random numbers, and what determines the
rollouts' distribution, the data and its order. How that is calculated (ranks, memory, kernels, micro-batches), watched
and saved is not. Every key is decided by the table below; where it is in doubt, it counts.
"""

import json
import math
import os
from collections.abc import Mapping
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from pacs.base.redaction import is_secret, redacted
from pacs.base.settings import flatten

#: How an actor, a critic or a reference is calculated. `rollout_n` repeats rollout.n; no engine reads `grad_clip`
#: (it is optim.clip_grad); verl sets optim.total_training_steps itself.
_WORKER = (
    "calculate_entropy", "calculate_sum_pi_squared", "checkpoint", "entropy_checkpointing",
    "entropy_from_logits_chunk_size", "entropy_from_logits_with_chunking", "forward_max_token_len_per_gpu",
    "forward_micro_batch_size", "forward_micro_batch_size_per_gpu", "grad_clip", "log_prob_max_token_len_per_gpu",
    "log_prob_micro_batch_size", "log_prob_micro_batch_size_per_gpu", "log_prob_use_dynamic_bsz",
    "optim.total_training_steps", "pad_to_length", "ppo_max_token_len_per_gpu", "ppo_micro_batch_size",
    "ppo_micro_batch_size_per_gpu", "profiler", "rollout_n", "strategy", "ulysses_sequence_parallel_size",
    "use_dynamic_bsz", "use_fused_kernels", "use_prefix_grouper", "use_remove_padding", "use_torch_compile",
)  # fmt: skip
#: How a model is held and run: kernels and memory.
_MODEL = (
    "enable_activation_offload", "enable_gradient_checkpointing", "fused_kernel_options",
    "override_config.attn_implementation", "tiled_mlp", "use_fused_kernels", "use_liger", "use_remove_padding",
    "use_shm",
)  # fmt: skip
#: How an inference engine is run, watched and given its weights; and validation's sampling. A `max_model_len` that
#: would cut a response off is refused.
_ENGINE = (
    "agent.num_workers", "calculate_log_probs", "checkpoint_engine", "cudagraph_capture_sizes", "data_parallel_size",
    "disable_log_stats", "disaggregation", "enable_chunked_prefill", "enable_prefix_caching", "enable_sleep_mode",
    "enforce_eager", "engine_kwargs.vllm.watermark",
    "expert_parallel_size", "free_cache_engine", "gpu_memory_utilization", "layered_summon",
    "load_format", "log_prob_max_token_len_per_gpu", "log_prob_micro_batch_size", "log_prob_micro_batch_size_per_gpu",
    "log_prob_use_dynamic_bsz", "max_model_len", "max_num_batched_tokens", "max_num_seqs", "mode",
    "moe_load_balance_metrics_interval",
    "multi_stage_wake_up", "n_gpus_per_node", "nnodes", "pipeline_model_parallel_size", "profiler", "prometheus",
    "router_config_path", "scheduling_policy", "skip_tokenizer_init", "tensor_model_parallel_size", "trace",
    "val_kwargs",
)  # fmt: skip
#: What counts of FSDP's settings: the precision.
_PRECISION = ("dtype", "mixed_precision", "model_dtype", "qat")

#: Sections that count -> the parts of each that do not.
COUNTS: dict[str, tuple[str, ...]] = {
    # The update's strategies give the same gradient; the seeds of rollouts change no distribution.
    "method": ("metrics", "update.strategy", "update.merge_duplicates"),
    "run": (
        "dir", "faults", "resume", "rollouts.seeded", "sample_groups",
        *(f"reward.judge.{name}" for name in ("at_once", "base_url", "key_variable", "retries", "seconds")),
    ),
    "algorithm": (),
    "data": (
        "dataloader_num_workers", "filter_overlong_prompts_workers", "use_shm", "val_batch_size", "val_files",
        "val_max_samples", "validation_shuffle",
    ),
    "actor_rollout_ref": ("hybrid_engine", "nccl_timeout"),
    "actor_rollout_ref.actor": _WORKER,
    "actor_rollout_ref.ref": _WORKER,
    "actor_rollout_ref.model": _MODEL,
    "actor_rollout_ref.rollout": _ENGINE,
    "critic": _WORKER,
    "critic.model": _MODEL,
    "genac": ("probe", "template_tokens", "unparsable"),
    "genac.critic.actor": _WORKER,
    "genac.critic.model": _MODEL,
    "genac.critic.rollout": _ENGINE,
    "reward": ("num_workers", "sandbox_fusion.max_concurrent"),
    "reward.reward_model": ("enable_resource_pool", "n_gpus_per_node", "nnodes"),
    "reward.reward_model.rollout": _ENGINE,
    "distillation": ("n_gpus_per_node", "nnodes"),
    # verl's older places of the reward's settings; it moves them to `reward`.
    "custom_reward_function": (),
    "reward_model": ("enable_resource_pool", "n_gpus_per_node", "nnodes", "num_workers"),
    "reward_model.rollout": _ENGINE,
    "sandbox_fusion": ("max_concurrent",),
    "model_engine": (),
    "skip": (),  # rollouts that are read from a file instead of sampled
    "trainer.v1": ("separate_async.hybrid_rollout",),
}  # fmt: skip
#: Sections that do not count -> the parts of each that do.
DOES_NOT_COUNT: dict[str, tuple[str, ...]] = {
    "actor_rollout_ref.actor.fsdp_config": _PRECISION,
    "actor_rollout_ref.ref.fsdp_config": _PRECISION,
    "critic.fsdp": _PRECISION,
    "trainer": ("critic_warmup", "total_epochs", "total_training_steps", "use_v1"),
    "global_profiler": (),
    "ray_kwargs": (),
    "transfer_queue": (),
}
#: Sections whose keys count only where they are switched on, in the checkpoint or now -> the switch, which counts.
SWITCHES = {
    "algorithm.filter_groups": "algorithm.filter_groups.enable",
    "critic": "critic.enable",
    "distillation": "distillation.enabled",
    "reward.reward_model": "reward.reward_model.enable",
    "run.reward": "run.reward.total",
    "run.reward.judge": "run.reward.judge.weight",
    "run.rollouts.dars": "run.rollouts.dars.schedule",
    "run.rollouts.guided": "run.rollouts.guided.after",
    "run.rollouts.partial": "run.rollouts.partial.ahead",
    "run.rollouts.pool": "run.rollouts.pool.weights",
    "run.rlpr.std_filter": "run.rlpr.std_filter.share",
    "run.rollouts.vine": "run.rollouts.vine.completions",
}
#: Each token weight has its settings under its name, which alone are read.
TOKEN_WEIGHT = "method.token_weight"
#: Keys that an earlier version had not -> what its runs did.
ADDED: dict[str, Any] = {
    "run.balance_rewards": False,
    "run.rlpr.answer_weight": 0.0,
    "run.rlpr.mask_answer": True,
    "run.rollouts.vine.train_completions": False,
    "run.turns.graded": "last",
}
#: Keys of an engine that an earlier version set, without effect: its runs go on.
DROPPED = ("engine_kwargs.vllm.stream_interval",)
#: Where the run ends counts only where the learning rate depends on it.
STEPS = "trainer.total_training_steps"
LENGTH = (STEPS, "trainer.total_epochs")

_DECIDED = {
    **dict.fromkeys(COUNTS, True),
    **dict.fromkeys(DOES_NOT_COUNT, False),
    **{f"{section}.{part}": False for section, parts in COUNTS.items() for part in parts},
    **{f"{section}.{part}": False for section, parts in COUNTS.items() if parts is _ENGINE for part in DROPPED},
    **{f"{section}.{part}": True for section, parts in DOES_NOT_COUNT.items() for part in parts},
}


def algorithm_changes(
    before: DictConfig | Mapping[str, Any], now: DictConfig | Mapping[str, Any], *, where: str = "in the checkpoint"
) -> list[str]:
    """The changes of the algorithm from one resolved config to another, a sentence each.

    A key that only one of the two has (of another version of verl or of PACS) is null in the other, or `ADDED`. Paths
    are the same if they lead to the same file from here, however they are written. A secret may be renewed.

    Args:
        before: of the run that wrote the checkpoint.
        now: of the run that wants to go on from it.
        where: the former config is, in the sentences.
    """
    then, here = ({**ADDED, **flatten(plain(config))} for config in (before, now))
    return [
        f"{key}: {_shown(then, key)} {where}, {_shown(here, key)} now"
        for key in dict.fromkeys([*here, *then])
        if counts(key) and not is_secret(key) and matters(key, then, here) and not _same(then.get(key), here.get(key))
    ]


def algorithm_settings(config: DictConfig | Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a resolved config that `algorithm_changes` compares, flat and as JSON: dotted key -> value.

    Without those that are null, that nothing reads, or that are secret. A number that is not finite, which JSON has
    not, is text ("inf"), so that these are to be compared with one another.
    """
    flat = flatten(plain(config))
    return {
        key: _finite(value)
        for key, value in flat.items()
        if value is not None and counts(key) and not is_secret(key) and matters(key, flat, flat)
    }


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def plain(config: DictConfig | Mapping[str, Any]) -> Mapping[str, Any]:
    """A config with its references filled in."""
    if not isinstance(config, DictConfig):
        return config
    return cast("dict[str, Any]", OmegaConf.to_container(config, resolve=True))


def counts(key: str) -> bool:
    """Whether a key is the algorithm's by the table: the longest section or part that it lies in decides."""
    names = key.split(".")
    sections = (".".join(names[:depth]) for depth in range(len(names), 0, -1))
    return next((_DECIDED[section] for section in sections if section in _DECIDED), True)


def matters(key: str, then: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
    """Whether a key that counts is read at all by one of two runs, whose flat configs these are."""
    if key in LENGTH:
        # The epochs count where no number of steps is set.
        read = key == STEPS or any(config.get(STEPS) is None for config in (then, here))
        return read and any(_rate_depends_on_length(config) for config in (then, here))
    if key.startswith(f"{TOKEN_WEIGHT}.") and key != f"{TOKEN_WEIGHT}.name":
        return key.split(".")[2] in {config.get(f"{TOKEN_WEIGHT}.name") for config in (then, here)}
    return all(
        key == switch or not key.startswith(f"{section}.") or _is_on(then, switch) or _is_on(here, switch)
        for section, switch in SWITCHES.items()
    )


def _is_on(config: Mapping[str, Any], switch: str) -> bool:
    value = config.get(switch)
    if switch == "critic.enable" and value is None:  # as verl has it
        return config.get("algorithm.adv_estimator") == "gae"
    return bool(value)


def _rate_depends_on_length(config: Mapping[str, Any]) -> bool:
    """Whether the learning rate of the policy or of a critic is a function of the number of steps."""
    trained = ["actor_rollout_ref.actor", *(["critic"] if _is_on(config, "critic.enable") else [])]
    for part in trained:
        scheduler = config.get(f"{part}.optim.warmup_style") or config.get(f"{part}.optim.lr_scheduler_type")
        warmup_steps = config.get(f"{part}.optim.lr_warmup_steps") or 0
        warmup_ratio = config.get(f"{part}.optim.lr_warmup_steps_ratio") or 0
        if scheduler != "constant" or (warmup_steps <= 0 < warmup_ratio):
            return True
    return False


def _same(then: Any, here: Any) -> bool:
    if isinstance(then, list) and isinstance(here, list):
        return len(then) == len(here) and all(map(_same, then, here))
    if isinstance(then, str) and isinstance(here, str):
        return then == here or _file(then) == _file(here)
    return bool(then == here)


def _file(text: str) -> str:
    # Not of pathlib, which refuses what is no path (a chat template, a user who is not known here).
    return os.path.realpath(os.path.expanduser(text))  # noqa: PTH111


def _shown(config: Mapping[str, Any], key: str) -> str:
    if key not in config:
        return "not set"
    value = redacted(config[key], key)
    return value if isinstance(value, str) else json.dumps(value, default=str)
