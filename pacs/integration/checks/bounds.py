"""Values that verl or vLLM would refuse only after the start, or take without a word."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.arguments import LARGEST_SEED
from pacs.base.settings import flatten

#: vLLM's names of dtypes that a policy can be sampled in.
DTYPES = ("auto", "bfloat16", "float16", "float32", "half", "float")

#: verl's estimates of a KL divergence from samples, and what may steer the coefficient of one.
DIVERGENCES = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3")
CONTROLLERS = ("fixed", "adaptive")

#: What verl does with a prompt that is too long.
TRUNCATIONS = ("error", "left", "right", "middle")

#: verl's schedules of the learning rate, the names of its precisions, and vLLM's ways of loading weights.
SCHEDULES = ("constant", "cosine")
PRECISIONS = ("fp32", "float32", "32", 32, "bf16", "bfloat16", "fp16", "float16", "16", 16)
# The reference's follow the policy's.
_FSDP = ("actor_rollout_ref.actor.fsdp_config", "critic.fsdp")
ATTENTIONS = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4", "flex_attention")
LOAD_FORMATS = ("dummy", "auto", "safetensors", "hf", "pt", "npcache", "fastsafetensors", "sharded_state")

_Check = tuple[Callable[[Any], bool], str]


def _whole(least: int) -> _Check:
    return lambda value: type(value) is int and value >= least, f"use a whole number of at least {least}"


def _number(holds: Callable[[float], bool], words: str) -> _Check:
    return lambda value: type(value) in (int, float) and holds(value), words


def _one_of(names: tuple[object, ...], words: str | None = None) -> _Check:
    return (
        lambda value: value in names,
        words or f"use {'one of ' if len(names) > 1 else ''}{', '.join(map(str, names))}",
    )


_TOP_P = _number(lambda p: 0 < p <= 1, "use a share above 0 and at most 1 (1: all tokens)")
_TOP_K: _Check = (
    lambda k: type(k) is int and (k == -1 or k >= 1),
    "use a whole number of at least 1, or -1: all tokens",
)
_RATE = _number(lambda rate: 0 <= rate < math.inf, "use a number of at least 0")
_ABOVE_0 = _number(lambda value: 0 < value < math.inf, "use a number above 0")
_PART = _number(lambda share: 0 < share <= 1, "use a share of the tokens, above 0 and at most 1")
_SHARE = _number(lambda share: 0 <= share <= 1, "use a number from 0 to 1")
# torch would turn the gradient round, or take it away; verl reads no null.
_CLIP = _number(lambda norm: norm > 0, "use a number above 0, or inf to never clip")
_DIVERGENCE: _Check = (
    lambda name: isinstance(name, str) and name.removesuffix("+") in DIVERGENCES,
    f"use one of {', '.join(DIVERGENCES)}, or one of these with a + behind it",
)
_STEPS: _Check = (lambda steps: type(steps) is int and steps >= -1, "use a whole number of steps; -1 for never")
_SWITCH: _Check = (lambda value: type(value) is bool, "use true or false")
_OPTIMIZERS = ("actor_rollout_ref.actor.optim", "critic.optim")
_OF_OPTIMIZER: dict[str, _Check] = {
    "lr": (_RATE[0], f"{_RATE[1]} (the paper: 1e-6)"),
    "clip_grad": _CLIP,
    "weight_decay": _RATE,
    "lr_scheduler_type": _one_of(SCHEDULES),
    "warmup_style": _one_of((None,), "leave it out: it is verl's old name of lr_scheduler_type"),
    "lr_warmup_steps": (lambda steps: type(steps) is int and steps >= -1, "use a whole number of steps, or -1"),
    "lr_warmup_steps_ratio": _number(lambda share: 0 <= share <= 1, "use a share of the steps, from 0 to 1"),
    "min_lr_ratio": (
        lambda share: share is None or (type(share) in (int, float) and 0 <= share <= 1),
        "use a share of the learning rate, from 0 to 1",
    ),
    "num_cycles": _ABOVE_0,
    "total_training_steps": _one_of((-1,), "leave it out: verl puts the run's own number there"),
    "betas": (
        lambda betas: (
            OmegaConf.is_list(betas)
            and len(betas) == 2
            and all(type(beta) in (int, float) and 0 <= beta < 1 for beta in betas)
        ),
        "use two numbers of at least 0 and below 1, as [0.9,0.999]",
    ),
}
_NAME: _Check = (
    lambda name: str(name) not in ("", ".", "..") and "/" not in str(name),
    "use a plain name: it is that of a folder",
)
_ROLLOUT, _ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
#: Setting -> what its value must be, and what to use in words.
VALUES: dict[str, _Check] = {
    f"{_ROLLOUT}.seed": (
        lambda seed: type(seed) is int and 0 <= seed <= LARGEST_SEED,
        f"use a whole number from 0 to {LARGEST_SEED}: NumPy takes no other in vLLM",
    ),
    f"{_ROLLOUT}.name": (lambda name: name == "vllm", "use vllm: the watch and the weight transfer are written for it"),
    f"{_ROLLOUT}.dtype": (lambda name: name in DTYPES, f"use one of {', '.join(DTYPES)}"),
    f"{_ROLLOUT}.temperature": _number(lambda t: 0 < t < math.inf, "use a number above 0 (1: the policy's own)"),
    f"{_ROLLOUT}.top_p": _TOP_P,
    f"{_ROLLOUT}.top_k": _TOP_K,
    f"{_ROLLOUT}.val_kwargs.temperature": _number(
        lambda t: 0 <= t < math.inf, "use a number of at least 0 (0: greedy)"
    ),
    f"{_ROLLOUT}.val_kwargs.top_p": _TOP_P,
    f"{_ROLLOUT}.val_kwargs.top_k": _TOP_K,
    f"{_ROLLOUT}.agent.num_workers": _whole(1),
    f"{_ROLLOUT}.mode": _one_of(("async",)),
    f"{_ROLLOUT}.load_format": _one_of(LOAD_FORMATS),
    f"{_ROLLOUT}.scheduling_policy": _one_of(("fcfs", "priority")),
    f"{_ROLLOUT}.logprobs_mode": _one_of(("processed_logprobs", "raw_logprobs")),
    **{f"{part}.{key}": check for part in _OPTIMIZERS for key, check in _OF_OPTIMIZER.items()},
    **{f"{part}.model_dtype": _one_of(PRECISIONS, "use fp32, bf16 or fp16") for part in _FSDP},
    **{
        f"{part}.mixed_precision": (
            lambda dtypes: dtypes is None or (OmegaConf.is_dict(dtypes) and set(dtypes.values()) <= set(PRECISIONS)),
            "use null, or {param_dtype: bf16, reduce_dtype: fp32, buffer_dtype: fp32} with fp32, bf16 or fp16 for each",
        )
        for part in _FSDP
    },
    f"{_ACTOR}.ppo_epochs": _whole(1),
    **{
        f"{part}.override_config.attn_implementation": (
            lambda name: name is None or name in ATTENTIONS or (isinstance(name, str) and "/" in name),
            f"use one of {', '.join(ATTENTIONS)}, or a kernel of the Hub, OWNER/NAME",
        )
        for part in ("actor_rollout_ref.model", "critic.model")
    },
    **{f"actor_rollout_ref.actor.clip_ratio{which}": _RATE for which in ("", "_low", "_high")},
    # verl stops at 1 in the first update.
    f"{_ACTOR}.clip_ratio_c": _number(lambda ratio: 1 < ratio < math.inf, "use a number above 1 (verl: 3)"),
    f"{_ACTOR}.tau_pos": _ABOVE_0,
    f"{_ACTOR}.tau_neg": _ABOVE_0,
    f"{_ACTOR}.policy_loss.clip_cov_ratio": _PART,
    f"{_ACTOR}.policy_loss.kl_cov_ratio": _PART,
    f"{_ACTOR}.policy_loss.ppo_kl_coef": _RATE,
    "algorithm.kl_ctrl.type": (lambda kind: kind in CONTROLLERS, f"use one of {', '.join(CONTROLLERS)}"),
    "algorithm.kl_ctrl.horizon": _whole(1),
    "algorithm.kl_ctrl.target_kl": _ABOVE_0,
    "algorithm.kl_penalty": _DIVERGENCE,
    f"{_ACTOR}.kl_loss_type": _DIVERGENCE,
    f"{_ACTOR}.loss_scale_factor": (
        lambda tokens: tokens is None or (type(tokens) in (int, float) and 0 < tokens < math.inf),
        "use a number above 0, or null",
    ),
    "critic.cliprange_value": _RATE,
    "algorithm.gamma": _SHARE,
    "algorithm.lam": _SHARE,
    "reward.num_workers": _whole(1),
    "data.dataloader_num_workers": _whole(0),
    "data.filter_overlong_prompts_workers": _whole(1),
    "data.shuffle": _SWITCH,
    "data.truncation": (lambda way: way in TRUNCATIONS, f"use one of {', '.join(TRUNCATIONS)}"),
    "data.train_max_samples": (
        lambda rows: type(rows) is int and (rows == -1 or rows >= 1),
        "use a whole number of at least 1, or -1: all rows",
    ),
    "data.seed": (lambda seed: seed is None or (type(seed) is int and seed >= 0), "use a whole number of at least 0"),
    "trainer.total_epochs": _whole(1),
    "trainer.critic_warmup": _whole(0),
    "trainer.log_val_generations": _whole(0),
    "trainer.save_freq": _STEPS,
    "trainer.test_freq": _STEPS,
    "trainer.project_name": _NAME,
    "trainer.experiment_name": _NAME,
}


def value_problems(config: DictConfig) -> Iterator[str]:
    """What is out of bounds, a sentence each with the setting and the mend."""
    for key, (holds, words) in VALUES.items():
        value = OmegaConf.select(config, key)
        if key.startswith("critic.") and not config.critic.enable:
            continue
        if not holds(value):
            yield f"{key}={value}: {words}."
    for key, value in flatten(_plain(config)).items():
        unbounded = value == math.inf and key.endswith("clip_grad")  # gradients may be left as they are
        if isinstance(value, float) and not math.isfinite(value) and key not in VALUES and not unbounded:
            yield f"{key}={value}: use a finite number."


def _plain(config: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(config, resolve=True)
    return dict(plain)
