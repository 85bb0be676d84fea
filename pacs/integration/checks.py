"""What can be known to be wrong before Ray starts, each with the setting and the mend.

The checks read the composed config and the files it names; none of them needs a GPU, Ray or the network, except
that a model given by its Hugging Face id is looked up.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
from omegaconf import DictConfig, ListConfig, OmegaConf
from verl.trainer.ppo.padding_utils import SYNTHETIC_PADDING_SEQ_LEN

from pacs.algorithm import PacsConfig
from pacs.integration.schema import algorithm_section
from pacs.integration.strategy import (
    data_parallel_size,
    longest_sequence_tokens,
    sequence_parallel_size,
    wanted,
    why_not_grouped,
)


class ConfigError(ValueError):
    """The run cannot start as configured; the message lists every problem found."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(f"- {problem}" for problem in problems))


def check_run(config: DictConfig) -> None:
    """Raise `ConfigError` with everything that is wrong with a composed config, whatever machine it is meant for."""
    problems = list(_verl_problems(config))
    if config.trainer.device not in ("cpu", "cuda"):
        problems.append(f"trainer.device={config.trainer.device}: use cpu or cuda (hardware=cpu, hardware=h200x8).")
    if config.trainer.v1.trainer_mode == "pacs":
        problems += _pacs_problems(config)
    if problems:
        raise ConfigError(problems)


def check_surroundings(config: DictConfig) -> None:
    """Raise `ConfigError` if this machine, or the data or the model it has, does not do for the run."""
    if problems := [*_machine_problems(config), *_data_problems(config), *_model_problems(config)]:
        raise ConfigError(problems)


def _machine_problems(config: DictConfig) -> Iterator[str]:
    if config.trainer.device == "cuda" and config.ray_kwargs.ray_init.get("address") is None:
        import torch

        wanted, found = config.trainer.n_gpus_per_node, torch.cuda.device_count()
        if wanted > found:
            yield (
                f"trainer.n_gpus_per_node={wanted}, but this machine has {found} GPUs: lower it, run on a machine "
                "that has them, or use hardware=cpu (tiny models only)."
            )


def _verl_problems(config: DictConfig) -> Iterator[str]:
    """verl's own validation, as far as it needs no dataclass of the running stack."""
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        validate_config(
            config=OmegaConf.create(OmegaConf.to_container(config, resolve=True)),
            use_reference_policy=need_reference_policy(config) or config.trainer.v1.trainer_mode == "pacs",
            use_critic=need_critic(config),
        )
    except (ValueError, AssertionError, TypeError, KeyError) as error:
        yield f"verl refuses the config: {error}"


def _pacs_problems(config: DictConfig) -> Iterator[str]:
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    try:
        PacsConfig.from_mapping(algorithm_section(config)).check_group_size(rollout.n)
    except ValueError as error:
        yield str(error)
    if actor.strategy != "fsdp2":
        yield (
            f"actor_rollout_ref.actor.strategy={actor.strategy}: PACS copies its reference shard by shard, which is "
            "written for fsdp2; use that."
        )
    if actor.use_kl_loss or config.algorithm.use_kl_in_reward:
        yield (
            "actor_rollout_ref.actor.use_kl_loss or algorithm.use_kl_in_reward is true: PACS has no KL term (the "
            "ratio to the reference is its score); set both to false."
        )
    if actor.entropy_coeff != 0:
        yield (
            f"actor_rollout_ref.actor.entropy_coeff={actor.entropy_coeff}: PACS's loss has no entropy term; set "
            "it to 0 (the entropy is logged anyway, pacs.metrics.entropy_every)."
        )
    if actor.shuffle:
        yield (
            "actor_rollout_ref.actor.shuffle=true would tear groups apart; set it to false (the data is shuffled by "
            "data.shuffle, and groups are dealt out to mini-batches anew each step)."
        )
    model = config.actor_rollout_ref.model
    if model.lora_rank > 0 or model.lora.rank > 0 or model.lora_adapter_path is not None:
        yield (
            "actor_rollout_ref.model.lora_rank: with LoRA the reference would be the base model for ever, and could "
            "not be reset to the policy; set lora_rank=0 and lora.rank=0."
        )
    yield from _batch_problems(config)


def _batch_problems(config: DictConfig) -> Iterator[str]:
    """Batches must divide into mini-batches, ranks and micro-batches, in whole groups if the strategy is grouped."""
    actor, n = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout.n
    prompts, ranks = actor.ppo_mini_batch_size, data_parallel_size(config)
    if config.data.train_batch_size % prompts:
        yield (
            f"data.train_batch_size={config.data.train_batch_size} is not a multiple of "
            f"actor_rollout_ref.actor.ppo_mini_batch_size={prompts} (both count prompts): change either."
        )
    if sequence_parallel_size(config, "ref") != sequence_parallel_size(config, "actor"):
        yield (
            "actor_rollout_ref.ref.ulysses_sequence_parallel_size differs from the actor's: the reference's pass runs "
            "on the actor's share of the rows; leave it out, so that it follows the actor's."
        )
    if prompts * n % ranks:
        yield (
            f"actor_rollout_ref.actor.ppo_mini_batch_size={prompts} prompts of rollout.n={n} responses cannot be dealt "
            f"out to {ranks} data-parallel ranks: use a multiple of {ranks} prompts (or one that makes their "
            f"product a multiple of {ranks})."
        )
        return
    micro = list(_dynamic_problems(config) if actor.use_dynamic_bsz else _static_problems(config))
    yield from micro
    if wanted(config) == "grouped" and not micro:
        obstacle = why_not_grouped(config, n * longest_sequence_tokens(config))
        if obstacle is not None:
            yield (
                f"pacs.update.strategy=grouped, but {obstacle}: change that (a group has {n} responses of up to "
                f"{longest_sequence_tokens(config)} tokens with their prompt), or use pacs.update.strategy=auto, which "
                "is as exact."
            )


def _dynamic_problems(config: DictConfig) -> Iterator[str]:
    """The longest sequence must fit every micro-batch."""
    longest = longest_sequence_tokens(config)
    settings = config.actor_rollout_ref
    budgets = {
        "actor.ppo_max_token_len_per_gpu": settings.actor.ppo_max_token_len_per_gpu,
        "rollout.log_prob_max_token_len_per_gpu": settings.rollout.log_prob_max_token_len_per_gpu,
        "ref.log_prob_max_token_len_per_gpu": settings.ref.log_prob_max_token_len_per_gpu,
    }
    shared = sequence_parallel_size(config, "actor")
    for key, budget in budgets.items():
        if budget is None or budget * shared < longest:
            yield (
                f"actor_rollout_ref.{key}={budget} (times ulysses_sequence_parallel_size={shared}) is smaller than the "
                f"longest row, {longest} tokens (data.max_prompt_length + data.max_response_length, or the "
                f"{SYNTHETIC_PADDING_SEQ_LEN} of verl's padding): raise it to at least {-(-longest // shared)}, or "
                "lower the lengths."
            )


def _static_problems(config: DictConfig) -> Iterator[str]:
    """Micro-batches of a fixed number of responses must divide a rank's part of a mini-batch."""
    settings = config.actor_rollout_ref
    per_rank = settings.actor.ppo_mini_batch_size * settings.rollout.n // data_parallel_size(config)
    sizes = {
        "actor.ppo_micro_batch_size_per_gpu": settings.actor.ppo_micro_batch_size_per_gpu,
        "rollout.log_prob_micro_batch_size_per_gpu": settings.rollout.log_prob_micro_batch_size_per_gpu,
        "ref.log_prob_micro_batch_size_per_gpu": settings.ref.log_prob_micro_batch_size_per_gpu,
    }
    for key, size in sizes.items():
        if size is None or per_rank % size:
            yield (
                f"actor_rollout_ref.{key}={size} must divide the {per_rank} responses of a rank's mini-batch: use "
                f"{math.gcd(per_rank, size or per_rank)}, or actor_rollout_ref.actor.use_dynamic_bsz=true."
            )


def _data_problems(config: DictConfig) -> Iterator[str]:
    for key in ("train_files", "val_files"):
        files = config.data[key]
        for file in files if isinstance(files, ListConfig) else [files]:
            yield from _file_problems(config, f"data.{key}", Path(file).expanduser())


def _file_problems(config: DictConfig, key: str, file: Path) -> Iterator[str]:
    if not file.is_file():
        yield f"{key}={file}: no such file. Prepare the data (see the recipe's README), or set {key} to a parquet file."
        return
    try:
        metadata = pyarrow.parquet.read_metadata(file)
    except pyarrow.ArrowInvalid as error:
        yield f"{key}={file} is not a parquet file: {error}"
        return
    columns = set(metadata.schema.to_arrow_schema().names)
    if missing := {config.data.prompt_key, "data_source", "reward_model"} - columns:
        yield f"{key}={file} lacks the columns {sorted(missing)}; it has {sorted(columns)}."
    if key == "data.train_files" and metadata.num_rows < config.data.train_batch_size:
        yield (
            f"{key}={file} has {metadata.num_rows} rows, fewer than data.train_batch_size="
            f"{config.data.train_batch_size}: lower the batch size or add data."
        )


def _model_problems(config: DictConfig) -> Iterator[str]:
    path = str(config.actor_rollout_ref.model.path)
    folder = Path(path).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            yield f"actor_rollout_ref.model.path={path} holds no config.json: it is not a Hugging Face model folder."
        return
    if path.count("/") != 1 or path.startswith((".", "/", "~")):
        yield (
            f"actor_rollout_ref.model.path={path}: no such folder. Make or download the model, or give a Hugging "
            "Face id such as Qwen/Qwen3-8B."
        )
        return
    from transformers import AutoConfig

    try:
        AutoConfig.from_pretrained(path, trust_remote_code=config.actor_rollout_ref.model.trust_remote_code)
    except (OSError, ValueError) as error:
        yield (
            f"actor_rollout_ref.model.path={path} is neither a folder here nor a model that Hugging Face answers for "
            f"({str(error).splitlines()[0]}): download it first, or set the path to its folder."
        )
