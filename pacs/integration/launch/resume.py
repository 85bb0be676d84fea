"""Which checkpoint a start goes on from, decided and checked before Ray starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from pacs.base.errors import one_line
from pacs.base.moved_keys import with_new_keys
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import print
from pacs.checkpoints.folder import CONFIG, BrokenCheckpoint, Checkpoint, newest_checkpoint, read_checkpoint
from pacs.integration.checks.run import ConfigError
from pacs.integration.launch.input_hashes import input_changes
from pacs.runs.listing import last_metrics
from pacs.runs.state import read_state
from pacs.verl_keys import config as keys
from pacs.verl_keys.algorithm_changes import algorithm_changes, plain

#: What says which adapters a policy has, and what they do to it; the first whether it has any.
ADAPTERS = ("lora_rank", "lora_alpha", "target_modules", "exclude_modules")

#: What of a checkpoint is verl's queue of prompts and responses, with partial rollouts; and the number of its parts.
QUEUE, QUEUE_UNITS = "transfer_queue", "transfer_queue.backend.SimpleStorage.num_data_storage_units"


def choose_checkpoint(config: DictConfig) -> Checkpoint | None:
    """Find what the run goes on from, say so, and set verl's resume settings to it; None: it starts anew.

    The newest complete checkpoint of the run's own folder comes first; one elsewhere (`trainer.resume_from_path`) is
    where the run branches off while its own folder has none.

    Raises:
        ConfigError: If the checkpoint asked for is not complete, would run code, was written by another algorithm or
            from other data, or if starting anew would mix two runs in one folder.
    """
    trainer, folder = config.trainer, Path(config.trainer.default_local_dir)
    newest, problems = newest_checkpoint(folder)
    anew = "choose another run.dir (or trainer.experiment_name), or remove that folder."
    if trainer.resume_mode == "disable":
        if newest is not None or problems:
            raise ConfigError(f"trainer.resume_mode=disable, but {folder} has checkpoints of a former run: {anew}")
        return None
    if newest is None and problems:
        raise ConfigError([*problems, f"None of the checkpoints in {folder} is complete. To start anew {anew}"])
    if newest is not None and trainer.resume_mode == "resume_path" and trainer.resume_from_path is not None:
        asked = Path(trainer.resume_from_path).expanduser().absolute()
        if asked.parent == folder and asked != newest.folder:
            mend = "remove what is newer, or branch off into another run.dir"
            raise ConfigError(f"trainer.resume_from_path={asked}, but the run has gone on to {newest.folder}: {mend}.")
    checkpoint = newest or _elsewhere(config)
    with open_dict(config):
        trainer.resume_mode = "disable" if checkpoint is None else "resume_path"
        trainer.resume_from_path = None if checkpoint is None else str(checkpoint.folder)
    if checkpoint is None:
        return None
    _check_files(checkpoint)
    _check_config(config, checkpoint)
    if (ranks := keys.ranks(config)) != checkpoint.ranks:
        wrote = f"the checkpoint was written on {checkpoint.ranks} ranks"
        print(f"pacs: {wrote}; this run has {ranks}: its shards are dealt out anew")
    for problem in problems:
        print(f"pacs: passed over: {problem}")
    print(f"pacs: going on from step {checkpoint.step} ({checkpoint.folder})", flush=True)
    return checkpoint


def check_former_run(config: DictConfig) -> None:
    """Keep a run that has trained and has no checkpoint from being written over.

    The same run starts anew if it has failed, and any with trainer.resume_mode=disable.

    Raises:
        ConfigError: If the run in the folder is finished, or was another one.
    """
    run_dir, trainer = Path(config.run.dir), config.trainer
    if trainer.resume_mode == "disable" or any(newest_checkpoint(Path(trainer.default_local_dir), content=False)):
        return
    steps = int(last_metrics(RunFolder(run_dir).metrics).get("step", 0))
    if steps == 0 or not (RunFolder(run_dir).config).exists():
        return
    state = read_state(run_dir)
    try:
        before = _settings(RunFolder(run_dir).config)
    except ConfigError as error:
        raise ConfigError([str(error), "To write over that run, set trainer.resume_mode=disable."]) from error
    changes = [change.partition(":")[0] for change in algorithm_changes(before, config)]
    if not changes and (state is None or state.state != "finished"):
        return
    which = f"another run (with another {', '.join(changes)})" if changes else "a finished run"
    raise ConfigError(
        f"run.dir={run_dir} has {which} of {steps} steps, without a checkpoint to go on from: choose another folder, "
        "or write over it by trainer.resume_mode=disable."
    )


def _elsewhere(config: DictConfig) -> Checkpoint | None:
    if config.trainer.resume_mode != "resume_path":
        return None
    path = config.trainer.resume_from_path
    if not isinstance(path, str):
        raise ConfigError(f"trainer.resume_from_path={path}: trainer.resume_mode=resume_path needs a folder there.")
    try:
        return read_checkpoint(Path(path).expanduser().absolute())
    except BrokenCheckpoint as problem:
        raise ConfigError(f"trainer.resume_from_path: {problem}") from problem


def _check_files(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint whose files would run code when they are loaded; nothing of the tensors is read."""
    # torch takes seconds to import.
    from pacs.checkpoints.torch_file import UnsafeFile, read_torch_file

    for folder in filter(None, (checkpoint.folder, checkpoint.reference)):
        for file in sorted(folder.rglob("*.pt")):
            try:
                read_torch_file(file, mmap=True)
            except (OSError, UnsafeFile) as error:
                raise ConfigError(str(error)) from error


def _settings(file: Path) -> dict[str, Any]:
    """The settings in the config.yaml of a run or of a checkpoint."""
    try:
        config: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=True)
        config["data"]["dataloader_num_workers"]
    except Exception as error:  # YAML's, OmegaConf's or the grammar's own: all say that it is no config of a run
        said = f"{file} is not the config.yaml of a run ({one_line(error)}): choose another folder."
        raise ConfigError(said) from error
    return with_new_keys(config)


def _check_config(config: DictConfig, checkpoint: Checkpoint) -> None:
    before = _settings(checkpoint.folder / CONFIG)
    # torchdata keeps the place in the data for each of its workers, and loads it for as many.
    workers, now = before["data"]["dataloader_num_workers"], config.data.dataloader_num_workers
    if workers != now:
        said = f"{workers} in {checkpoint.folder}, {now} now: set it back to go on."
        raise ConfigError(f"data.dataloader_num_workers: {said}")
    if keys.has_partial_rollouts(config) and (checkpoint.folder / QUEUE).is_dir():
        # The queue is stored for each of its parts, and loaded for as many.
        units, now = (OmegaConf.select(OmegaConf.create(dict(each)), QUEUE_UNITS) for each in (before, plain(config)))
        if units != now:
            raise ConfigError(f"{QUEUE_UNITS}: {units} in {checkpoint.folder}, {now} now: set it back to go on.")
    _check_adapters(config, before["actor_rollout_ref"]["model"], checkpoint)
    drawn = before.get("run", {}).get("rollouts", {}).get("pool", {}).get("weights")
    if drawn is not None and not keys.draws_from_pool(config):
        raise ConfigError(
            f"run.rollouts.pool.weights: {drawn} in {checkpoint.folder}, null now: verl's loader cannot go on from a "
            f"pool's draws: set it back, or begin a new run from those weights (`pacs export {checkpoint.folder}`)."
        )
    if keys.has_generative_critic(config) and "genac" not in before:
        raise ConfigError(
            f"{checkpoint.folder} has no critic that writes text (genac), and such a run cannot go on without: choose "
            f"another run.dir, and begin from its policy by `pacs export {checkpoint.folder}`."
        )
    try:
        changes = [*algorithm_changes(before, config), *input_changes(checkpoint.folder, config)]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{checkpoint.folder}: what its run had read cannot be compared: {error}") from error
    if changes and not config.run.resume.accept_changes:
        mend = (
            f"These settings and files change the algorithm within a run (it would go on from {checkpoint.folder}): "
            "set them back, choose another run.dir for a new run, or go on with them by run.resume.accept_changes=true."
        )
        raise ConfigError([*changes, mend])
    for change in changes:
        print(f"pacs: changed, as accepted: {change}")


def _check_adapters(config: DictConfig, before: Mapping[str, Any], checkpoint: Checkpoint) -> None:
    """Refuse other adapters than the checkpoint has, which no acceptance can make its weights fit."""
    has_adapters = keys.has_adapters(config)
    for key in ADAPTERS:
        then, now = before.get(key), plain(config.actor_rollout_ref.model).get(key)
        if then != now and (key == ADAPTERS[0] or has_adapters):
            raise ConfigError(
                f"actor_rollout_ref.model.{key}: {then} in {checkpoint.folder}, {now} now: its weights would make "
                "another policy, or none: set it back, or begin a new run from those weights (`pacs export "
                f"{checkpoint.folder}`)."
            )
