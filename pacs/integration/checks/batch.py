"""Batches that divide into mini-batches, ranks and micro-batches, budgets that the longest row fits, and engines."""

import math
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.wording import full_name, spelled
from pacs.verl_keys import config as keys
from pacs.verl_keys.workload import engine_gpus

#: The passes of an update: of each the start of its settings' names.
PASSES = ("actor.ppo", "rollout.log_prob", "ref.log_prob")
#: Of vLLM's arguments those that verl gives it by its own settings, two of them by longer names.
SPLITS = ("tensor_parallel_size", "pipeline_parallel_size")
SET_BY_VERL = (
    "data_parallel_size", "disable_log_stats", "dtype", "enable_chunked_prefill", "enable_prefix_caching",
    "enable_sleep_mode", "enforce_eager", "gpu_memory_utilization", "load_format", "logprobs_mode", "max_model_len",
    "max_num_batched_tokens", "max_num_seqs", "pipeline_model_parallel_size", "scheduling_policy", "seed",
    "tensor_model_parallel_size",
)  # fmt: skip
#: By which vLLM samples from a policy of fewer bits than is trained.
QUANTIZED_ROLLOUTS = (
    "rollout.quantization", "rollout.engine_kwargs.vllm.quantization", "rollout.engine_kwargs.vllm.kv_cache_dtype",
)  # fmt: skip

#: verl's own ways to do so, of `rollout.quantization`.
QUANTIZATIONS = ("fp8", "torchao", "ascend")


@spelled
def batch_problems(config: DictConfig) -> Iterator[str]:
    """What does not divide, or does not fit; a sentence each with the setting and the mend."""
    actor, n = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout.n
    gpus, shared = keys.ranks(config), keys.sequence_parallel_size(config)
    if gpus % shared:
        of = f"the {gpus} ranks (trainer.n_gpus_per_node * trainer.nnodes)"
        yield f"@actor.ulysses_sequence_parallel_size={shared} does not divide {of}."
        return
    model = OmegaConf.select(config, "actor_rollout_ref.model") or {}
    for name in ("use_fused_kernels", "use_remove_padding"):
        if actor.get(name) != model.get(name):
            yield f"@actor.{name}= is not read, @model.{name}= is: leave the former out, so that it follows."
    if shared > 1 and model.get("use_remove_padding") is False:
        yield (
            f"@model.use_remove_padding=false with ulysses_sequence_parallel_size={shared}: verl divides packed "
            "sequences alone among ranks: set the former to true, or the latter to 1."
        )
    prompts, parts = actor.ppo_mini_batch_size, keys.data_parallel_size(config)
    generated = config.data.get("gen_batch_size")
    if type(generated) is int and generated > 0 and config.data.train_batch_size % generated:
        yield "@data.gen_batch_size= does not divide @data.train_batch_size=: leave it out."
    if config.data.train_batch_size % prompts:
        yield "@data.train_batch_size= is not a multiple of @actor.ppo_mini_batch_size= (prompts, both): change either."
    if prompts * n % parts:
        yield (
            f"@actor.ppo_mini_batch_size= prompts of rollout.n={n} responses cannot be dealt out to {parts} "
            f"data-parallel ranks: use a multiple of {parts} prompts (or make their product a multiple of {parts})."
        )
        return
    for part in ("rollout", "ref"):
        if config.actor_rollout_ref[part].log_prob_use_dynamic_bsz != actor.use_dynamic_bsz:
            yield f"@{part}.log_prob_use_dynamic_bsz is not @actor.use_dynamic_bsz=: leave it out, so that it follows."
            return
    yield from _dynamic_problems(config) if actor.use_dynamic_bsz else _static_problems(config)


@spelled
def balance_problems(config: DictConfig) -> Iterator[str]:
    """What mini-batches of like rewards need of a config; a sentence each."""
    if config.run.get("balance_rewards") is not True:
        return
    given = "run.balance_rewards=true"
    if keys.method(config) != "pacs":
        yield (
            f"{given}: verl arranges the mini-batches of its own algorithms, as {keys.method(config)}, by itself: use "
            "a method of ours (--config-name pacs), or leave it out."
        )
    elif keys.prompts_per_step(config) <= keys.prompts_per_update(config):
        yield (
            f"{given} arranges the mini-batches of a step, of which there is one: lower @actor.ppo_mini_batch_size=, "
            "or leave it out."
        )


def _dynamic_problems(config: DictConfig) -> Iterator[str]:
    """The longest sequence must fit every micro-batch."""
    longest, shared = keys.longest_sequence_tokens(config), keys.sequence_parallel_size(config)
    for key in (f"{each}_max_token_len_per_gpu" for each in PASSES):
        budget = OmegaConf.select(config, full_name(key))
        if type(budget) is not int:
            yield f"@{key}=: use a whole number of tokens, of at least {-(-longest // shared)}."
        elif budget * shared < longest:
            yield (
                f"@{key}= (times ulysses_sequence_parallel_size={shared}) is smaller than the longest row, {longest} "
                f"tokens (prompt and response, or the {keys.PADDING_TOKENS} of verl's padding): raise it to at least "
                f"{-(-longest // shared)}, or lower data.max_prompt_length or data.max_response_length."
            )


def _static_problems(config: DictConfig) -> Iterator[str]:
    """Micro-batches of a fixed number of responses must divide a rank's part of a mini-batch."""
    roles = config.actor_rollout_ref
    per_rank = roles.actor.ppo_mini_batch_size * roles.rollout.n // keys.data_parallel_size(config)
    for key in (f"{each}_micro_batch_size_per_gpu" for each in PASSES):
        size = OmegaConf.select(config, full_name(key))
        is_number = type(size) is int and size > 0
        if not is_number or per_rank % size:
            use = math.gcd(per_rank, size) if is_number else per_rank
            mend = f"use {use}, or @actor.use_dynamic_bsz=true"
            yield f"@{key}= must divide the {per_rank} responses of a rank's mini-batch: {mend}."


@spelled
def rollout_problems(config: DictConfig) -> Iterator[str]:
    """What verl and vLLM would refuse of an engine's settings once all else is up, or take without a word."""
    yield from engine_problems(config)
    rollout = config.actor_rollout_ref.rollout
    for name in ("prompt_length", "response_length"):
        if rollout[name] != config.data[f"max_{name}"]:
            yield f"@rollout.{name}= is not @data.max_{name}=: leave it out, so that it follows."


@spelled
def engine_problems(config: DictConfig) -> Iterator[str]:
    """The same, of any engine: the policy's, or with its settings another one's."""
    rollout, gpus = config.actor_rollout_ref.rollout, keys.ranks(config)
    engine = math.prod(rollout[f"{part}_parallel_size"] for part in ("tensor_model", "data", "pipeline_model"))
    if gpus % engine:
        apart = ", which verl asks also of engines on GPUs of their own" if engine_gpus(config) else ""
        yield (
            f"@rollout.tensor_model_parallel_size=: engines of {engine} GPUs cannot share {gpus} ranks "
            f"(trainer.n_gpus_per_node * trainer.nnodes){apart}: use a number that divides them."
        )
    quantization = OmegaConf.select(rollout, "quantization")
    if quantization not in (None, *QUANTIZATIONS):
        yield f"@rollout.quantization=: verl knows {', '.join(QUANTIZATIONS)}: use one of them, or null."
    elif quantization and OmegaConf.select(rollout, "engine_kwargs.vllm.hf_overrides"):
        yield (
            "@rollout.engine_kwargs.vllm.hf_overrides= would take the place of what verl tells vLLM of "
            f"rollout.quantization={quantization}: leave out either."
        )
    # A response of several turns fits the same limits.
    context, longest = rollout.max_model_len, keys.longest_row(config)
    for name, value in (OmegaConf.select(rollout, "engine_kwargs.vllm") or {}).items():
        verls = name.replace("_parallel", "_model_parallel") if name in SPLITS else name
        if value is not None and verls in SET_BY_VERL:
            yield (
                f"@rollout.engine_kwargs.vllm.{name}= would take the place of @rollout.{verls}= without verl's "
                "knowing: leave it out, and set that."
            )
    if context is not None and type(context) is not int:
        yield f"@rollout.max_model_len=: use a whole number of tokens, or leave it out ({longest}, by the lengths)."
    elif context is not None and context < longest:
        yield (
            "@rollout.max_model_len= would cut responses off, without a word: data.max_prompt_length and "
            f"data.max_response_length make {longest} tokens; leave it out, or lower the lengths."
        )
    tokens = rollout.max_num_batched_tokens
    if tokens < rollout.max_num_seqs:
        fewer = f"max_num_seqs={rollout.max_num_seqs}"
        yield f"@rollout.max_num_batched_tokens=: vLLM refuses fewer than {fewer}: raise it, or lower that."
    if not rollout.enable_chunked_prefill and type(context) is int and tokens < context:
        yield (
            f"@rollout.max_num_batched_tokens= does not hold a prompt of max_model_len={context} tokens at once, as "
            "enable_chunked_prefill=false asks for: raise it, or set that to true."
        )
    if rollout.enable_chunked_prefill and config.trainer.device == "cpu" and config.run.rollouts.seeded:
        yield (
            "@rollout.enable_chunked_prefill= with @run.rollouts.seeded=: on a CPU vLLM's engine dies of a seeded "
            "prompt that it reads in parts: leave the first out, as hardware=cpu has it, or the second."
        )


def cut_sampling(config: DictConfig) -> str | None:
    """The settings by which vLLM samples from the likelier tokens alone, as one writes them; None without such."""
    rollout, all_tokens = config.actor_rollout_ref.rollout, {"top_k": -1, "top_p": 1}
    return " ".join(f"@rollout.{key}=" for key, value in all_tokens.items() if rollout[key] != value) or None
