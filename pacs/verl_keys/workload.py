"""What a composed config says of the models that a step trains, and of the engine that samples."""

from dataclasses import dataclass, replace
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.verl_keys import config as keys
from pacs.verl_keys.names import CPU_CACHE

#: Of `actor_rollout_ref.model.external_lib`: our module that compiles small kernels.
COMPILED_KERNELS = "pacs.integration.patches.compiled_kernels"
NUMBER_BYTES = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2}


@dataclass(frozen=True)
class Trained:
    """A model under FSDP2: the policy or a critic.

    Attributes:
        parameters: of the whole model, adapters not counted.
        vocabulary: rows of its head; 1 for a critic.
        weight_bytes: of a stored weight, and of each of Adam's two moments and a gradient.
        compute_bytes: of a number in its passes.
        shards: ranks that share one copy.
        checkpointed: activations are calculated again in the backward pass.
        fused: log-probabilities from hidden states in chunks, without logits.
        packed: sequences one after another, without padding.
        flash: flash attention; else torch's with a dense mask.
        micro_batch_tokens: of a rank, in a micro-batch of an update, at most.
        forward_tokens: the same in a pass without gradient.
        adapters: parameters of LoRA adapters, which alone are trained; 0: all parameters are.
        compiled: norms, rotary embeddings and activations are (`pacs.integration.patches.compiled_kernels`).
        merged: vLLM is sent the whole weights with adapters merged into them, and not the adapters alone.
    """

    parameters: int
    vocabulary: int
    weight_bytes: int
    compute_bytes: int
    shards: int
    weights_offloaded: bool
    optimizer_offloaded: bool
    checkpointed: bool
    fused: bool
    packed: bool
    flash: bool
    micro_batch_tokens: int
    forward_tokens: int
    adapters: int = 0
    merged: bool = False
    compiled: bool = False

    @property
    def stored(self) -> int:
        """Parameters in memory and in a checkpoint."""
        return self.parameters + self.adapters

    @property
    def trained(self) -> int:
        """Parameters with a gradient and two moments."""
        return self.adapters or self.parameters


@dataclass(frozen=True)
class Engine:
    """vLLM.

    Attributes:
        tensor_parallel: GPUs of one engine.
        memory_share: of a GPU that it may take; on the CPU its cache has `cache_bytes`.
        batched_tokens: in one of its steps.
        prefix_caching: text that is the same is calculated once.
        positions: of a sequence that it must be able to hold (`max_model_len`), at least those of the lengths.
        frees_memory: gives weights and cache back while the trainer works.
        bucket_bytes: in which weights are sent to it.
    """

    tensor_parallel: int
    memory_share: float
    cache_bytes: float
    number_bytes: int
    max_sequences: int
    batched_tokens: int
    prefix_caching: bool
    positions: int
    frees_memory: bool
    bucket_bytes: float


def engine_gpus(config: DictConfig) -> int:
    """GPUs that vLLM has to itself (as in verl's separate_async); 0: it shares those of the training ranks."""
    rollout = config.actor_rollout_ref.rollout
    return int(rollout.nnodes * rollout.n_gpus_per_node)


def nodes_used(config: DictConfig) -> int | None:
    """Machines that a run can use, at most: of training, and of vLLM and a judge that have their own; None where a
    number is none, as another check says."""
    judge = config.reward.reward_model
    apart = judge.nnodes if judge.enable and judge.enable_resource_pool else 0
    numbers = config.trainer.nnodes, config.actor_rollout_ref.rollout.nnodes, apart
    return sum(numbers) if all(type(number) is int for number in numbers) else None


def read_policy(config: DictConfig, parameters: int, vocabulary: int, adapters: int = 0) -> Trained:
    """The policy, of so many parameters and so many rows of its head, or a teacher that is laid out like it.

    Raises:
        UserError: the plan has no formulas for how it is trained.
    """
    roles = config.actor_rollout_ref
    update = _tokens(config, roles.actor, "ppo", _update_rows(config))
    forward = _tokens(config, roles.rollout, "log_prob", _update_rows(config) * 10**6)
    parts = roles.actor, roles.actor.fsdp_config
    policy = _trained(config, "actor_rollout_ref.model", *parts, parameters, vocabulary, update, forward)
    compiled = COMPILED_KERNELS in keys.external_libraries(config)
    return replace(policy, adapters=adapters, merged=bool(roles.model.lora.merge), compiled=compiled)


def read_critic(config: DictConfig, parameters: int) -> Trained | None:
    """The critic, of so many parameters; None if there is none.

    Raises:
        UserError: the plan has no formulas for it, or for how it is trained.
    """
    if not keys.has_critic(config):
        return None
    critic, rows = config.critic, _update_rows(config)
    if critic.model.path != keys.policy_path(config):
        formulas = "the plan's formulas are written down for a critic of the same model"
        raise UserError(f"critic.model.path={critic.model.path} is not the policy's model: {formulas}; leave it out")
    # verl's budget of both passes is that of the one without gradient.
    update = "ppo_infer" if critic.use_dynamic_bsz else "ppo"
    tokens = _tokens(config, critic, update, rows), _tokens(config, critic, "ppo_infer", rows)
    return _trained(config, "critic.model", critic, critic.fsdp, parameters, 1, *tokens)


def read_engine(config: DictConfig) -> Engine:
    """vLLM.

    Raises:
        UserError: the plan does not know its dtype.
    """
    rollout = config.actor_rollout_ref.rollout
    return Engine(
        tensor_parallel=int(rollout.tensor_model_parallel_size),
        memory_share=float(rollout.gpu_memory_utilization),
        cache_bytes=float(OmegaConf.select(config, CPU_CACHE) or 0) * 2**30,
        number_bytes=_number_bytes(rollout.dtype),
        max_sequences=int(rollout.max_num_seqs),
        batched_tokens=int(rollout.max_num_batched_tokens),
        prefix_caching=bool(rollout.enable_prefix_caching),
        # With null vLLM takes all that the model has, which the plan's formulas do not know.
        positions=max(keys.longest_row(config), int(rollout.max_model_len or 0)),
        frees_memory=bool(rollout.free_cache_engine),
        bucket_bytes=float(rollout.checkpoint_engine.update_weights_bucket_megabytes) * 2**20,
    )


def _trained(
    config: DictConfig,
    section: str,
    part: DictConfig,
    fsdp: DictConfig,
    parameters: int,
    vocabulary: int,
    micro_batch_tokens: int,
    forward_tokens: int,
) -> Trained:
    if part.strategy != "fsdp2":
        raise UserError(f"strategy={part.strategy}: the plan's formulas are written down for fsdp2; set it to that")
    model, ranks = OmegaConf.select(config, section), keys.ranks(config)
    precision = fsdp.get("mixed_precision") or {}
    return Trained(
        parameters=parameters,
        vocabulary=vocabulary,
        weight_bytes=_number_bytes(fsdp.model_dtype or "fp32"),
        compute_bytes=_number_bytes(precision.get("param_dtype", "bf16")),
        shards=ranks if fsdp.fsdp_size < 0 else min(int(fsdp.fsdp_size), ranks),
        weights_offloaded=bool(fsdp.param_offload or fsdp.offload_policy),
        optimizer_offloaded=bool(fsdp.optimizer_offload or fsdp.offload_policy),
        checkpointed=bool(model.enable_gradient_checkpointing),
        fused=bool(model.get("use_fused_kernels")) and vocabulary > 1,
        packed=bool(model.use_remove_padding),
        flash=keys.attention(config, section).startswith("flash"),
        micro_batch_tokens=micro_batch_tokens,
        forward_tokens=forward_tokens,
    )


def _update_rows(config: DictConfig) -> int:
    """Rows of a mini-batch on a rank, those counted whole that it shares with others."""
    rows = keys.prompts_per_update(config) * keys.most_responses(config)
    return -(-rows * keys.sequence_parallel_size(config) // keys.ranks(config))


def _tokens(config: DictConfig, part: DictConfig, prefix: str, rows: int) -> int:
    """Tokens of a rank in the fullest micro-batch: the budget, or fewer if its rows have no more."""
    row_tokens, shared = keys.longest_row(config), keys.sequence_parallel_size(config)
    if part.get("log_prob_use_dynamic_bsz" if prefix == "log_prob" else "use_dynamic_bsz"):
        budget = part.get(f"{prefix}_max_token_len_per_gpu") or part.ppo_max_token_len_per_gpu
        return min(int(budget), -(-rows * row_tokens // shared))
    micro_rows = part.get(f"{prefix}_micro_batch_size_per_gpu") or part.ppo_micro_batch_size_per_gpu
    return -(-int(micro_rows) * row_tokens // shared)


def _number_bytes(dtype: Any) -> int:
    if str(dtype) not in NUMBER_BYTES:
        raise UserError(f"a dtype of {dtype}: the plan knows {', '.join(NUMBER_BYTES)}")
    return NUMBER_BYTES[str(dtype)]
