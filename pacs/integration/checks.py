"""What can be known to be wrong before Ray starts, each with the setting and the mend.

The checks read the composed config and the files it names; none of them needs a GPU, Ray or the network, except
that a model given by its Hugging Face id is looked up.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
from omegaconf import DictConfig, ListConfig, OmegaConf

from pacs.integration.pacs_checks import pacs_problems
from pacs.rewards.registry import check_settings
from pacs.runs.settings import check_life_settings


class ConfigError(ValueError):
    """The run cannot start as configured; the message lists every problem found."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(f"- {problem}" for problem in problems))


def check_run(config: DictConfig) -> None:
    """Raise `ConfigError` with everything that is wrong with a composed config, whatever machine it is meant for."""
    problems = [*_life_problems(config), *_reward_problems(config)]
    if config.trainer.v1.trainer_mode == "pacs":
        problems += pacs_problems(config)
    if config.trainer.device not in ("cpu", "cuda"):
        problems.append(f"trainer.device={config.trainer.device}: use cpu or cuda (hardware=cpu, hardware=h200x8).")
    # verl's checks come second: on what ours complain of they may fail without a word of what to change.
    problems = problems or list(_verl_problems(config))
    if problems:
        raise ConfigError(problems)


def check_surroundings(config: DictConfig) -> None:
    """Raise `ConfigError` if this machine, or the data or the model it has, does not do for the run."""
    if problems := [*_machine_problems(config), *_data_problems(config), *_model_problems(config)]:
        raise ConfigError(problems)


def _life_problems(config: DictConfig) -> Iterator[str]:
    """What a run needs so that it can be stopped, killed and gone on with."""
    try:
        check_life_settings(config.pacs)
    except ValueError as error:
        yield str(error)
    trainer, manager = config.trainer, config.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class")
    if trainer.resume_mode not in ("auto", "resume_path", "disable"):
        yield f"trainer.resume_mode={trainer.resume_mode}: use auto, resume_path or disable."
    if config.pacs.rollouts.seeded is True and manager is not None:
        yield (
            f"pacs.rollouts.seeded=true has an agent-loop manager of its own: leave out {manager} "
            "(actor_rollout_ref.rollout.agent.agent_loop_manager_class), or set it to false."
        )
    keep = trainer.max_actor_ckpt_to_keep
    if keep is not None and (not isinstance(keep, int) or keep < 1):
        yield f"trainer.max_actor_ckpt_to_keep={keep}: use a number of at least 1, or null to keep all."
    if trainer.get("del_local_ckpt_after_load"):
        yield "trainer.del_local_ckpt_after_load=true deletes what the run goes on from: set it to false."
    if Path(trainer.default_local_dir).expanduser().absolute() != Path(config.pacs.run_dir) / "checkpoints":
        yield (
            f"trainer.default_local_dir={trainer.default_local_dir}: leave it out; a run's checkpoints are in its "
            "folder (pacs.run_dir), where `pacs runs` and `pacs export` find them."
        )
    if trainer.get("remove_previous_ckpt_in_save") or trainer.max_critic_ckpt_to_keep != trainer.max_actor_ckpt_to_keep:
        yield "Checkpoints are kept as a whole: set trainer.max_actor_ckpt_to_keep alone (null keeps all)."
    for part in ("actor_rollout_ref.actor", "critic"):
        checkpoint = OmegaConf.select(config, f"{part}.checkpoint")
        for key in ("save_contents", "load_contents"):
            if lacking := {"model", "optimizer", "extra"} - set(checkpoint[key]):
                yield f"{part}.checkpoint.{key} lacks {sorted(lacking)}: a run goes on only from all of them."
        if checkpoint.get("async_save"):
            yield f"{part}.checkpoint.async_save=true: set it to false, so that a save has ended when it says so."


def _reward_problems(config: DictConfig) -> Iterator[str]:
    reward = config.reward.custom_reward_function
    if reward.path == "pkg://pacs.rewards.registry":
        try:
            check_settings(reward.get("reward_kwargs") or {})
        except ValueError as error:
            yield str(error)


def _machine_problems(config: DictConfig) -> Iterator[str]:
    if config.ray_kwargs.ray_init.get("address") is not None:
        return  # the cluster is looked at when the run holds its folder
    if config.trainer.nnodes > 1:
        yield (
            f"trainer.nnodes={config.trainer.nnodes}, but this is one machine: start it on several with "
            "scripts/slurm/train.sbatch, or name a Ray cluster (ray_kwargs.ray_init.address=HOST:PORT)."
        )
    if config.trainer.device == "cuda":
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


def _data_problems(config: DictConfig) -> Iterator[str]:
    for key in ("train_files", "val_files"):
        files = config.data[key]
        for file in files if isinstance(files, ListConfig) else [files]:
            yield from _file_problems(config, f"data.{key}", Path(file).expanduser())


def _file_problems(config: DictConfig, key: str, file: Path) -> Iterator[str]:
    if not file.is_file():
        yield (
            f"{key}={file}: no such file. Prepare the data (`pacs data prepare`, or the recipe's README), or set {key} "
            "to a parquet file."
        )
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
