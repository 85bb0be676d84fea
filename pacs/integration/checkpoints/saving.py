"""A run's checkpoints as its trainer writes and reads them: whole or not at all, checked, in its own folder.

Among it the reference: the schedule's state, and its weights, which are stored once a reset.
"""

import copy
import errno
import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from omegaconf import open_dict
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
from verl.trainer.ppo.v1.replay_buffer import DAPO_FILTERED_REWARD_COUNTS_KEY

from pacs.algorithm import ReferenceSchedule
from pacs.base.files import nearest, read_json, write_atomically
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import print
from pacs.checkpoints import folder as checkpoints
from pacs.checkpoints.folder import Checkpoint, read_checkpoint, step_folder
from pacs.checkpoints.torch_file import only_safe_loads, read_torch_file
from pacs.integration.checkpoints.shard_checks import check_checkpoint, check_shards, seal_checked
from pacs.runs.console import MARK
from pacs.runs.disk_space import FULL_BYTES
from pacs.runs.processes import TOKEN
from pacs.runs.state import read_state

#: The file of a checkpoint that holds the schedule's state.
STATE = "reference.json"
#: What of a checkpoint is the trainer's own: the state of its random number generators.
TRAINER = "trainer.pt"


class ReferenceCheckpoints:
    """Where this run's reference is on disk.

    The weights change only at a reset, so they are written by the first checkpoint after one and named by the next.
    No name is used twice: a run that goes on from an earlier step makes other references than it made before.

    Args:
        folder: the run's checkpoints.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stored: str | None = None

    def forget(self) -> None:
        """The reference has become another."""
        self.stored = None

    def save(self, checkpoint: Path, schedule: ReferenceSchedule, workers: Any) -> str | None:
        """Write the reference's part of a checkpoint that is being written.

        Args:
            checkpoint: the folder that is being written.
            schedule: what is known of the reference.
            workers: the worker group of `MethodWorker`s; each writes its own shards.

        Returns:
            The name of the folder of the reference's weights; None if they are the policy's.
        """
        write_atomically(checkpoint / STATE, json.dumps(schedule.state(), indent=1) + "\n")
        if schedule.is_policy:
            return None
        if self.stored is None:
            step = schedule.events[-1].step if schedule.events else 0
            name = f"step_{step}-{uuid4().hex[:8]}"
            aside = checkpoints.reference_aside(self.folder, name)
            aside.mkdir(parents=True)
            workers.save_reference(str(aside))
            seal_checked(aside, workers, step=step)  # and published with the checkpoint
            self.stored = name
        return self.stored

    def load(self, checkpoint: Checkpoint, schedule: ReferenceSchedule, workers: Any) -> None:
        """Take up the reference of a checkpoint whose policy has been loaded.

        Raises:
            ValueError: it has one of its own, and this run (`reset_every=1`) has no place for it.
        """
        schedule.restore(json.loads((checkpoint.folder / STATE).read_text(encoding="utf-8")))
        if checkpoint.reference is None:
            # The optimizer was reset, if at all, before the checkpoint was written.
            workers.reset_reference(False)
        elif not schedule.needs_model:
            raise ValueError(
                f"method.reference.reset_every=1, but the run that wrote {checkpoint.folder} had another "
                "reference than the policy: resume with its setting, or start from its weights "
                "(actor_rollout_ref.model.path)."
            )
        else:
            workers.load_reference(str(checkpoint.reference))
            if checkpoint.reference.parent == self.folder / checkpoints.REFERENCES:
                self.stored = checkpoint.reference.name


class Saving:
    """Saves and loads around verl's own saving and loading.

    Args:
        trainer: a `SynchronousTrainer`.

    Attributes:
        saved_step: of the newest checkpoint; None before there is one.
        measured: by the step under way: its batch, its metrics so far and its timings, as verl's `_compute_metrics`
            takes them.
        resumed_metrics: of the last step before a resume, without what is measured after a save (a validation).
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.folder = Path(trainer.config.trainer.default_local_dir)
        self.saved_step: int | None = None
        self.measured: tuple[Any, dict[str, Any], dict[str, float]] | None = None
        self.resumed_metrics: dict[str, float] | None = None

    def save(self, verl_saves: Callable[[], None]) -> None:
        """Write a checkpoint aside and rename it once it is complete; only then may older ones go."""
        trainer = self.trainer
        aside, step = self.folder / checkpoints.SAVING, trainer.global_steps
        began = time.monotonic()
        self.check_own()
        checkpoints.clear_unfinished(self.folder)
        folder = step_folder(aside, step)
        try:
            with self._verl_saves_to(aside):
                verl_saves()
            trainer.prompts.save_position(folder)
            trainer.std_filter.save(folder)
            reference = trainer.save_algorithm_state(folder)
            torch.save(random_states(), folder / TRAINER)
            write_atomically(folder / checkpoints.METRICS, json.dumps(self._metrics_so_far()))
            for name in (checkpoints.CONFIG, RunFolder.INPUTS):
                private = name == checkpoints.CONFIG
                write_atomically(folder / name, (trainer.run_dir / name).read_bytes(), private=private)
            workers = trainer.actor_rollout_wg
            for part in ("actor", "critic") if trainer.use_critic else ("actor",):
                check_shards(folder / part, workers.world_size)
            seal_checked(folder, workers, step=step, reference=reference)
        except Exception as error:
            self.check_own()  # what is being written there would be the other start's
            free = shutil.disk_usage(nearest(self.folder)).free
            # On a full disk this makes room for the words that say so.
            checkpoints.clear_unfinished(self.folder)
            if free < FULL_BYTES:  # torch's own words for it are about positions in a file
                full = f"No space left on device: {free:,} bytes free when step {step} was saved"
                raise OSError(errno.ENOSPC, full, str(aside)) from error
            raise
        self.check_own()
        place = step_folder(self.folder, step)
        checkpoints.publish(folder, place, reference)
        write_atomically(self.folder / checkpoints.LATEST, str(step))
        checkpoints.prune(self.folder, keep=trainer.config.trainer.max_actor_ckpt_to_keep)
        self.saved_step = step
        print(f"{MARK}step {step}: saved as {place} in {time.monotonic() - began:.1f} s", flush=True)
        trainer.checkpoint_callback.on_save(
            trainer=trainer, global_step=step, checkpoint_dir=str(place), async_save=False
        )

    def _metrics_so_far(self) -> dict[str, float]:
        trainer = self.trainer
        assert self.measured is not None  # verl saves after a step alone
        batch, metrics, timings = self.measured
        metrics = {name: value for name, value in metrics.items() if name != DAPO_FILTERED_REWARD_COUNTS_KEY}
        step = trainer.global_steps
        timings = timings | {"step": time.monotonic() - trainer.phases.step_started}
        epoch = (step - 1) // trainer.steps_per_epoch
        trainer._compute_metrics(batch, metrics, timings, global_steps=step, epoch=epoch)
        return {name: float(value) for name, value in metrics.items()}

    def check_own(self) -> None:
        """Raise RuntimeError if another start has taken over the folder (this one's launcher counts as dead)."""
        state = read_state(self.trainer.run_dir)
        if state is not None and state.token != os.environ[TOKEN]:
            other = f"another start, of process {state.pid} on {state.host}"
            raise RuntimeError(f"{self.trainer.run_dir} was taken over by {other}")

    @contextmanager
    def _verl_saves_to(self, folder: Path) -> Iterator[None]:
        """Let verl's save write below `folder`, delete nothing and call back nobody."""
        trainer = self.trainer
        config, callback = trainer.config, trainer.checkpoint_callback
        trainer.config = copy.deepcopy(config)
        with open_dict(trainer.config):
            trainer.config.trainer.default_local_dir = str(folder)
            for part in ("actor", "critic"):
                trainer.config.trainer[f"max_{part}_ckpt_to_keep"] = None
        trainer.checkpoint_callback = CheckpointCallback(config=trainer.config)
        try:
            yield
        finally:
            trainer.config, trainer.checkpoint_callback = config, callback

    def load(self, verl_loads: Callable[[], None]) -> None:
        """Take up the checkpoint that the launcher has chosen, if any, once its files are known to be sound."""
        trainer, settings = self.trainer, self.trainer.config.trainer
        checkpoint = None
        if settings.resume_mode != "disable":  # the launcher has chosen one
            checkpoint = read_checkpoint(Path(settings.resume_from_path))
            check_checkpoint(checkpoint, trainer.actor_rollout_wg, self.folder)
        with only_safe_loads():
            verl_loads()
        self.saved_step = trainer.global_steps
        if checkpoint is not None:
            self.resumed_metrics = read_json(checkpoint.folder / checkpoints.METRICS)  # older ones have none
            trainer.load_algorithm_state(checkpoint)
            trainer.std_filter.load(checkpoint.folder)
            restore_random_states(read_torch_file(checkpoint.folder / TRAINER))


def random_states() -> dict[str, Any]:
    """The states of Python's, numpy's and torch's generators of this process."""
    return {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}


def restore_random_states(states: dict[str, Any]) -> None:
    """Go on from what `random_states` gave."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
