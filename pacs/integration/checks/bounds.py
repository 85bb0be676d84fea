"""Values that verl or vLLM would refuse only after the start, or take without a word: a table of them."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.arguments import LARGEST_SEED
from pacs.base.settings import flatten
from pacs.integration.checks.wording import full_name, spelled
from pacs.verl_keys.algorithm_changes import plain

#: verl's estimates of a KL divergence from samples, and the names of its precisions.
DIVERGENCES = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3")
PRECISIONS = ("fp32", "float32", "32", 32, "bf16", "bfloat16", "fp16", "float16", "16", 16)
ATTENTIONS = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4", "flex_attention")
#: In bfloat16 neighbours are 2^-8 to 2^-7 apart, relative to them: a decay of less than half of that is rounded away.
LARGEST_BETA2 = 1 - 2**-8
#: Whole numbers of at least 1, which the other checks calculate with.
SIZES = (
    "trainer.nnodes", "trainer.n_gpus_per_node", "data.train_batch_size", "data.max_prompt_length",
    "data.max_response_length", "actor_rollout_ref.nccl_timeout", "actor.ppo_mini_batch_size",
    "actor.ulysses_sequence_parallel_size", "actor.fsdp_config.ulysses_sequence_parallel_size", "rollout.n",
    "rollout.val_kwargs.n", "rollout.tensor_model_parallel_size", "rollout.data_parallel_size",
    "rollout.pipeline_model_parallel_size", "rollout.max_num_seqs",
    "rollout.max_num_batched_tokens", "rollout.checkpoint_engine.update_weights_bucket_megabytes",
    "run.rollouts.dars.most",
)  # fmt: skip

Holds = Callable[[Any], bool]


def _integer(least: int, *besides: object) -> Holds:
    return lambda value: (type(value) is int and value >= least) or _one_of(*besides)(value)


def _number(holds: Callable[[float], bool], *besides: object) -> Holds:
    return lambda value: (type(value) in (int, float) and holds(value)) or _one_of(*besides)(value)


def _one_of(*names: object) -> Holds:
    return lambda value: any(value == name and type(value) is type(name) for name in names)


def _among(*names: str) -> tuple[Holds, str]:
    return _one_of(*names), f"use one of {', '.join(names)}"


def _optim(*names: str) -> tuple[str, ...]:
    return tuple(f"{part}.optim.{name}" for part in ("actor", "critic") for name in names)


def _precisions(dtypes: Any) -> bool:
    return dtypes is None or (OmegaConf.is_dict(dtypes) and set(dtypes.values()) <= set(PRECISIONS))


def _betas(betas: Any) -> bool:
    return OmegaConf.is_list(betas) and len(betas) == 2 and all(map(_number(lambda beta: 0 <= beta < 1), betas))


_RATE, _ABOVE_0 = _number(lambda rate: 0 <= rate < math.inf), _number(lambda value: 0 < value < math.inf)
_SHARE, _PART = _number(lambda share: 0 <= share <= 1), _number(lambda share: 0 < share <= 1)
#: What a value must be, in words what to use, and the settings. Those of a critic are looked at where there is one.
# fmt: off
VALUES: tuple[tuple[Holds, str, tuple[str, ...]], ...] = (
    (_integer(1), "use a whole number of at least 1", (
        "rollout.agent.num_workers", "actor.ppo_epochs", "algorithm.kl_ctrl.horizon", "reward.num_workers",
        "data.filter_overlong_prompts_workers", "trainer.total_epochs", "actor.fsdp_config.pad_to_length_bucket",
        "actor.fsdp_config.entropy_from_logits_chunk_size",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units",
    )),
    (_integer(0), "use a whole number of at least 0", (
        "data.dataloader_num_workers", "trainer.critic_warmup", "trainer.log_val_generations",
        "actor.data_loader_seed", "actor.fsdp_config.seed", "critic.data_loader_seed", "critic.fsdp.seed",
    )),
    (_integer(0, None), "use a whole number of at least 0", ("data.seed",)),
    (_integer(1, None), "use a whole number of at least 1, or null for all epochs", ("trainer.total_training_steps",)),
    (_integer(1, None), "use a number of at least 1, or null to keep all", ("trainer.max_actor_ckpt_to_keep",)),
    (_integer(1, None), "use a whole number of prompts, or null for those of a step", ("data.gen_batch_size",)),
    (_integer(1, None), "use a whole number of prompts, or null for all", ("data.val_batch_size",)),
    (_integer(1, None), "use a whole number of actors' slots, or null for as many as there are cores", (
        "ray_kwargs.ray_init.num_cpus",
    )),
    (_integer(1, -1), "use a whole number of at least 1, or -1: all tokens", (
        "rollout.top_k", "rollout.val_kwargs.top_k",
    )),
    (_integer(1, -1), "use a whole number of at least 1, or -1: all rows", (
        "data.train_max_samples", "data.val_max_samples",
    )),
    (_integer(-1), "use a whole number of steps; -1 for never", ("trainer.save_freq", "trainer.test_freq")),
    (_integer(-1), "use a whole number of steps, or -1", _optim("lr_warmup_steps")),
    (lambda seed: _integer(0)(seed) and seed <= LARGEST_SEED,
     f"use a whole number from 0 to {LARGEST_SEED}: NumPy takes no other in vLLM", ("rollout.seed",)),
    (_ABOVE_0, "use a number above 0 (1: the policy's own)", ("rollout.temperature",)),
    (_RATE, "use a number of at least 0 (0: greedy)", ("rollout.val_kwargs.temperature",)),
    (_PART, "use a share above 0 and at most 1 (1: all tokens)", ("rollout.top_p", "rollout.val_kwargs.top_p")),
    (_PART, "use a number above 0 and at most 1: it is vLLM's share of a GPU", ("rollout.gpu_memory_utilization",)),
    (_PART, "use a share of the tokens, above 0 and at most 1", (
        "actor.policy_loss.clip_cov_ratio", "actor.policy_loss.kl_cov_ratio",
    )),
    (_RATE, "use a number of at least 0 (the paper: 1e-6)", _optim("lr")),
    (_RATE, "use a number of at least 0", (
        *_optim("weight_decay"), "actor.clip_ratio", "actor.clip_ratio_low", "actor.clip_ratio_high",
        "actor.policy_loss.ppo_kl_coef", "critic.cliprange_value", "actor.kl_loss_coef", "algorithm.kl_ctrl.kl_coef",
    )),
    (_number(math.isfinite), "use a number", ("actor.entropy_coeff",)),
    (_ABOVE_0, "use a number above 0", (
        *_optim("num_cycles"), "actor.tau_pos", "actor.tau_neg", "algorithm.kl_ctrl.target_kl",
    )),
    (_number(lambda value: 0 < value < math.inf, None), "use a number above 0, or null", ("actor.loss_scale_factor",)),
    # torch would turn the gradient round, or take it away; verl reads no null.
    (_number(lambda norm: norm > 0), "use a number above 0, or inf to never clip", _optim("clip_grad")),
    # verl stops at 1 in the first update.
    (_number(lambda ratio: 1 < ratio < math.inf), "use a number above 1 (verl: 3)", ("actor.clip_ratio_c",)),
    (_SHARE, "use a number from 0 to 1", ("algorithm.gamma", "algorithm.lam")),
    (_SHARE, "use a share of the steps, from 0 to 1", _optim("lr_warmup_steps_ratio")),
    (_number(lambda share: 0 <= share <= 1, None), "use a share of the learning rate, from 0 to 1",
     _optim("min_lr_ratio")),
    (_betas, "use two numbers of at least 0 and below 1, as [0.9,0.999]", _optim("betas")),
    (_one_of(True, False), "use true or false", ("data.shuffle",)),
    (_one_of("vllm"), "use vllm: the watch and the weight transfer are written for it", ("rollout.name",)),
    (_one_of("async"), "use async", ("rollout.mode",)),
    (_one_of("fsdp2"), "use fsdp2: checkpoints and PACS's reference are copied shard by shard, as it has them",
     ("actor.strategy", "critic.strategy")),
    (_one_of(None), "leave it out: it is verl's old name of lr_scheduler_type", _optim("warmup_style")),
    (_one_of(-1), "leave it out: verl puts the run's own number there", _optim("total_training_steps")),
    (_one_of("auto", "resume_path", "disable"), "use auto, resume_path or disable", ("trainer.resume_mode",)),
    (*_among("constant", "cosine"), _optim("lr_scheduler_type")),
    (*_among("auto", "bfloat16", "float16", "float32", "half", "float"), ("rollout.dtype",)),
    (*_among("dummy", "auto", "safetensors", "hf", "pt", "npcache", "fastsafetensors", "sharded_state"),
     ("rollout.load_format",)),
    (*_among("fcfs", "priority"), ("rollout.scheduling_policy",)),
    (*_among("processed_logprobs", "raw_logprobs"), ("rollout.logprobs_mode",)),
    (*_among("fixed", "adaptive"), ("algorithm.kl_ctrl.type",)),
    # With another name verl leaves the model as it is, and then asks it for what the fused head gives.
    (*_among("torch", "triton", "liger"), ("model.fused_kernel_options.impl_backend",)),
    (lambda steps: steps is None or (OmegaConf.is_list(steps) and all(type(step) is int for step in steps)),
     "use a list of steps, as [5,6], or null for none", ("global_profiler.steps",)),
    (*_among("error", "left", "right", "middle"), ("data.truncation",)),
    (lambda name: isinstance(name, str) and name.removesuffix("+") in DIVERGENCES,
     f"use one of {', '.join(DIVERGENCES)}, or one of these with a + behind it",
     ("algorithm.kl_penalty", "actor.kl_loss_type")),
    (_one_of(*PRECISIONS), "use fp32, bf16 or fp16", ("actor.fsdp_config.model_dtype", "critic.fsdp.model_dtype")),
    (_precisions, "use null, or {param_dtype: bf16, reduce_dtype: fp32, buffer_dtype: fp32} with fp32, bf16 or fp16",
     ("actor.fsdp_config.mixed_precision", "critic.fsdp.mixed_precision")),
    (lambda name: name is None or name in ATTENTIONS or (isinstance(name, str) and "/" in name),
     f"use one of {', '.join(ATTENTIONS)}, or a kernel of the Hub, OWNER/NAME",
     ("model.override_config.attn_implementation", "critic.model.override_config.attn_implementation")),
    (lambda name: str(name) not in ("", ".", "..") and "/" not in str(name),
     "use a plain name: it is that of a folder", ("trainer.project_name", "trainer.experiment_name")),
)
# fmt: on


@spelled
def value_problems(config: DictConfig) -> Iterator[str]:
    """What is out of bounds, a sentence each with the setting and the mend."""
    looked_at = set()
    for holds, words, names in VALUES:
        for name in names:
            key = full_name(name)
            looked_at.add(key)
            if not holds(OmegaConf.select(config, key)) and (config.critic.enable or not key.startswith("critic.")):
                yield f"@{name}=: {words}."
    for key, value in flatten(plain(config)).items():
        unbounded = value == math.inf and key.endswith("clip_grad")  # gradients may be left as they are
        if isinstance(value, float) and not math.isfinite(value) and key not in looked_at and not unbounded:
            yield f"{key}={value}: use a finite number."


@spelled
def coarse_moments(config: DictConfig) -> Iterator[str]:
    """A warning where Adam's second moment cannot fall, or is that of a weight's neighbours.

    See findings/torch_bfloat16_adam_never_forgets.sh and findings/torchao_small_gradients_take_large_steps.sh.
    """
    for part, section in (("actor", "fsdp_config"), *((("critic", "fsdp"),) if config.critic.enable else ())):
        engine, optim = (OmegaConf.select(config, full_name(f"{part}.{name}")) for name in (section, "optim"))
        adamw = (optim.optimizer_impl, optim.optimizer) == ("torch.optim", "AdamW")
        if adamw and engine.model_dtype in ("bf16", "bfloat16") and optim.betas[1] > LARGEST_BETA2:
            yield (
                f"@{part}.{section}.model_dtype= with @{part}.optim.betas=: Adam's second moment is in bfloat16, too, "
                "where a decay of so little is rounded away: after one large gradient a weight's steps stay small for "
                "the rest of the run. Use model_dtype=fp32, or a second beta of at most 0.99."
            )
        if optim.optimizer_impl == "torchao.optim" and optim.optimizer.lower().endswith(("8bit", "4bit", "fp8")):
            yield (
                f"@{part}.optim.optimizer= of torchao: blocks of weights share the scale of their moments. One whose "
                "gradient is far below its neighbours' takes steps of many times the learning rate, or in 4 bits none: "
                "use torch.optim's AdamW if its moments fit."
            )


@spelled
def size_problems(config: DictConfig) -> Iterator[str]:
    """Sizes that are none, and a device that is none; a sentence each."""
    for name in SIZES:
        value = OmegaConf.select(config, full_name(name))
        if not isinstance(value, int) or value < 1:
            yield f"@{name}= must be a whole number of at least 1."
    if config.trainer.device not in ("cpu", "cuda"):
        yield "@trainer.device=: use cpu or cuda (hardware=cpu, hardware=h200x8)."
