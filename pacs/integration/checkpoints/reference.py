"""The reference in a checkpoint: the schedule's state, and its weights, which are stored once a reset."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from pacs.algorithm import ReferenceSchedule
from pacs.base.files import write_atomically
from pacs.checkpoints import folder as checkpoints
from pacs.checkpoints.folder import Checkpoint
from pacs.integration.checkpoints.shard_checks import seal_checked

#: The file of a checkpoint that holds the schedule's state.
STATE = "reference.json"


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
            aside = self.folder / checkpoints.SAVING / name
            aside.mkdir(parents=True)
            workers.save_reference(str(aside))
            seal_checked(aside, workers, step=step)
            checkpoints.publish(aside, self.folder / checkpoints.REFERENCES / name)
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
