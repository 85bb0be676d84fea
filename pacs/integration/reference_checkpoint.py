"""The reference in a checkpoint: the schedule's state, and its weights unless they are the policy's."""

import json
import shutil
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from pacs.algorithm import ReferenceSchedule

#: The reference's place in a checkpoint, and the file there that holds the schedule's state.
FOLDER, STATE = "reference", "state.json"


def save_reference(checkpoint: Path, schedule: ReferenceSchedule, workers: Any) -> None:
    """Write the reference beside the policy.

    Args:
        checkpoint: verl's folder of the step; made if it is not there yet.
        schedule: what is known of the reference.
        workers: the worker group of `PacsWorker`s; each writes its own shards.
    """
    folder = checkpoint / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if not schedule.is_policy:
        workers.save_reference(str(folder))
    (folder / STATE).write_text(json.dumps(schedule.state(), indent=1), encoding="utf-8")


def load_reference(checkpoint: Path, schedule: ReferenceSchedule, workers: Any) -> None:
    """Take up the reference of a checkpoint whose policy has been loaded.

    Raises:
        FileNotFoundError: the checkpoint has no reference, or one for another number of ranks.
        ValueError: it has one of its own, and this run (`reset_every=1`) has no place for it.
    """
    state = checkpoint / FOLDER / STATE
    if not state.is_file():
        raise FileNotFoundError(
            f"{state} is missing: the checkpoint was not written by PACS. Start from its weights instead "
            "(actor_rollout_ref.model.path), with trainer.resume_mode=disable."
        )
    schedule.restore(json.loads(state.read_text(encoding="utf-8")))
    if schedule.is_policy:
        # The optimizer was reset, if at all, before the checkpoint was written.
        workers.reset_reference(False)
    elif schedule.needs_model:
        workers.load_reference(str(state.parent))
    else:
        raise ValueError(
            f"pacs.reference.reset_every=1, but the run that wrote {checkpoint} had a reference of its own: resume "
            "with its setting, or from its weights (actor_rollout_ref.model.path, trainer.resume_mode=disable)."
        )


def drop_references_without_policy(checkpoints: Path) -> None:
    """Delete the references of checkpoints whose policy verl has deleted (`trainer.max_actor_ckpt_to_keep`)."""
    for folder in checkpoints.glob(f"global_step_*/{FOLDER}"):
        if not (folder.parent / "actor").exists():
            shutil.rmtree(folder)


def loaded_checkpoint(config: DictConfig, step: int) -> Path:
    """The checkpoint verl resumed from: the one it was told, or that of `step` in the run's own folder."""
    if config.trainer.resume_mode == "resume_path":
        return Path(config.trainer.resume_from_path).absolute()
    return own_checkpoint(config, step)


def own_checkpoint(config: DictConfig, step: int) -> Path:
    """The folder that verl writes the checkpoint of `step` to."""
    return Path(config.trainer.default_local_dir) / f"global_step_{step}"
