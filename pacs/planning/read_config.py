"""What a composed config says of a step."""

from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.planning.architecture import find_architecture
from pacs.planning.assumptions import MEAN_RESPONSE_SHARE
from pacs.planning.devices import Device
from pacs.planning.lengths import Sample, step_lengths
from pacs.planning.workload import Engine, Trained, Workload

#: GiB of vLLM's cache on a CPU.
CPU_CACHE = "ray_kwargs.ray_init.runtime_env.env_vars.VLLM_CPU_KVCACHE_SPACE"
NUMBER_BYTES = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2}


def read_workload(
    config: DictConfig, device: Device, mean_response_tokens: float | None = None, lengths: Sample | None = None
) -> Workload:
    """The step of a composed, resolvable config.

    Args:
        config: verl's config with a `pacs` section.
        device: that it runs on.
        mean_response_tokens: of a response; None: `MEAN_RESPONSE_SHARE` of the longest.
        lengths: that were seen of prompts, of responses, or of both; those come before `mean_response_tokens`.

    Raises:
        UserError: it is a run of another kind than ours.
    """
    from pacs.integration.strategy import choose, longest_sequence_tokens, sequence_parallel_size

    roles, rollout, data = config.actor_rollout_ref, config.actor_rollout_ref.rollout, config.data
    longest = int(data.max_response_length)
    mean = MEAN_RESPONSE_SHARE.value * longest if mean_response_tokens is None else mean_response_tokens
    if not 0 < mean <= longest:
        raise UserError(
            f"--mean-response-tokens {mean:g} must be above 0 and at most data.max_response_length={longest}"
        )
    architecture = find_architecture(str(roles.model.path))
    if _has_critic(config) and config.critic.model.path != roles.model.path:
        raise UserError(
            f"critic.model.path={config.critic.model.path} is not the policy's model: the plan's formulas are written "
            "down for a critic of the same model; leave it out"
        )
    ranks, shared = int(config.trainer.n_gpus_per_node * config.trainer.nnodes), sequence_parallel_size(config)
    row_tokens = int(data.max_prompt_length) + longest
    rank_rows = -(-int(roles.actor.ppo_mini_batch_size * rollout.n) * shared // ranks)
    algorithm = str(config.trainer.v1.trainer_mode)
    strategy = (
        choose(config, int(rollout.n) * longest_sequence_tokens(config)).strategy if algorithm == "pacs" else None
    )
    cache_gib = OmegaConf.select(config, CPU_CACHE) or 0
    return Workload(
        algorithm=algorithm,
        architecture=architecture,
        device=device,
        on_cpu=config.trainer.device == "cpu",
        ranks=ranks,
        nodes=int(config.trainer.nnodes),
        sequence_parallel=shared,
        rows=int(data.train_batch_size * rollout.n),
        mini_batches=-(-int(data.train_batch_size) // int(roles.actor.ppo_mini_batch_size)),
        epochs=int(roles.actor.ppo_epochs),
        response_tokens=longest,
        lengths=step_lengths(
            int(data.train_batch_size), int(rollout.n), mean, longest, int(data.max_prompt_length), lengths
        ),
        row_tokens=row_tokens,
        policy=_trained(
            roles.actor,
            roles.model,
            roles.actor.fsdp_config,
            ranks,
            architecture.parameters,
            architecture.vocab_size,
            _tokens(roles.actor, "ppo", row_tokens, rank_rows, shared),
            _tokens(roles.rollout, "log_prob", row_tokens, rank_rows * 10**6, shared),
        ),
        critic=_trained(
            config.critic,
            config.critic.model,
            config.critic.fsdp,
            ranks,
            architecture.critic_parameters,
            1,
            # verl's budget of both passes is that of the one without gradient.
            _tokens(
                config.critic, "ppo_infer" if config.critic.use_dynamic_bsz else "ppo", row_tokens, rank_rows, shared
            ),
            _tokens(config.critic, "ppo_infer", row_tokens, rank_rows, shared),
        )
        if _has_critic(config)
        else None,
        reference=algorithm == "pacs" or roles.actor.use_kl_loss or config.algorithm.use_kl_in_reward,
        policy_pass=strategy != "grouped",
        strategy=strategy,
        engine=Engine(
            tensor_parallel=int(rollout.tensor_model_parallel_size),
            memory_share=float(rollout.gpu_memory_utilization),
            cache_bytes=float(cache_gib) * 2**30,
            number_bytes=_number_bytes(rollout.dtype),
            max_sequences=int(rollout.max_num_seqs),
            batched_tokens=int(rollout.max_num_batched_tokens),
            prefix_caching=bool(rollout.enable_prefix_caching),
            watermark=float(OmegaConf.select(rollout, "engine_kwargs.vllm.watermark") or 0),
            clients=int(rollout.agent.num_workers),
            # With null vLLM takes all that the model has, which the plan's formulas do not know.
            positions=max(row_tokens, int(rollout.max_model_len or 0)),
            frees_memory=bool(rollout.free_cache_engine),
            bucket_bytes=float(rollout.checkpoint_engine.update_weights_bucket_megabytes) * 2**20,
        ),
        steps=config.trainer.total_training_steps,
        save_every=int(config.trainer.save_freq),
    )


def _has_critic(config: DictConfig) -> bool:
    """As verl's need_critic."""
    enabled = config.critic.enable
    return bool(config.algorithm.adv_estimator == "gae" if enabled is None else enabled)


def _trained(
    part: DictConfig,
    model: DictConfig,
    fsdp: DictConfig,
    ranks: int,
    parameters: int,
    vocabulary: int,
    micro_batch_tokens: int,
    forward_tokens: int,
) -> Trained:
    if part.strategy != "fsdp2":
        raise UserError(f"strategy={part.strategy}: the plan's formulas are written down for fsdp2; set it to that")
    attention = (model.get("override_config") or {}).get("attn_implementation", "flash_attention_2")
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
        flash=attention.startswith("flash"),
        micro_batch_tokens=micro_batch_tokens,
        forward_tokens=forward_tokens,
    )


def _tokens(part: DictConfig, prefix: str, row_tokens: int, rank_rows: int, shared: int) -> int:
    """Tokens of a rank in the fullest micro-batch: the budget, or fewer if its rows have no more."""
    dynamic = part.get("log_prob_use_dynamic_bsz" if prefix == "log_prob" else "use_dynamic_bsz")
    if dynamic:
        budget = part.get(f"{prefix}_max_token_len_per_gpu") or part.ppo_max_token_len_per_gpu
        return min(int(budget), -(-rank_rows * row_tokens // shared))
    rows = part.get(f"{prefix}_micro_batch_size_per_gpu") or part.ppo_micro_batch_size_per_gpu
    return -(-int(rows) * row_tokens // shared)


def _number_bytes(dtype: Any) -> int:
    if str(dtype) not in NUMBER_BYTES:
        raise UserError(f"a dtype of {dtype}: the plan knows {', '.join(NUMBER_BYTES)}")
    return NUMBER_BYTES[str(dtype)]
