"""A run's checkpoints on disk: what makes one complete, which is the newest, which may go.

    checkpoints/
      global_step_20/        verl's name and content (actor/, critic/, data.pt) and ours (reference.json, trainer.pt,
                             metrics.json, config.yaml), and the marker, complete.json, which is written last
      references/step_0-1f3a/  weights of a reference, stored once a reset; checkpoints name it. It is written as
                             .step_0-1f3a beside its place, since references/ may be a link to another disk
      latest_checkpointed_iteration.txt   verl's pointer, for verl's own tools
      .saving/               what is being written; renamed into its place once it is complete

A folder that is named `global_step_N` is complete: it was renamed after its marker (see `marker`), which lists every
file with its size and its digest, so that a damaged one is found before a run is built on it.
"""

import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pacs.checkpoints.marker import MARKER as MARKER
from pacs.checkpoints.marker import BrokenCheckpoint as BrokenCheckpoint
from pacs.checkpoints.marker import named, verified
from pacs.checkpoints.marker import seal as seal

CONFIG = "config.yaml"
#: What the step measured: a run that is killed between the save and the step's line in metrics.jsonl would lose it.
METRICS = "metrics.json"
REFERENCES = "references"
#: The folder of a checkpoint that holds a critic: verl's value head or one that writes text.
CRITIC = "critic"
SAVING = ".saving"
LATEST = "latest_checkpointed_iteration.txt"


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint.

    Attributes:
        folder: `.../global_step_N`.
        step: N, the last step that it contains.
        ranks: number of training ranks that wrote it; its shards are for as many.
        reference: folder of the reference's weights, or None where the reference is the policy (or there is none).
        size_bytes: of its own files, without the reference.
    """

    folder: Path
    step: int
    ranks: int
    reference: Path | None
    size_bytes: int


def step_folder(checkpoints: Path, step: int) -> Path:
    """The folder of the checkpoint of `step`, in verl's naming."""
    return checkpoints / f"global_step_{step}"


def reference_aside(checkpoints: Path, name: str) -> Path:
    """Where the weights of a reference are written: on the disk of their place."""
    return checkpoints / REFERENCES / f".{name}"


def publish(aside: Path, folder: Path, reference: str | None = None) -> None:
    """Rename a sealed folder into its place; one that is there already (of a run that went on from before it) goes.

    Args:
        aside: the folder, below `.saving/`.
        folder: its place.
        reference: that the checkpoint names; if it is `reference_aside` yet, it is put in its place first.
    """
    if reference is not None and (written := reference_aside(folder.parent, reference)).is_dir():
        written.rename(written.with_name(reference))
    folder.parent.mkdir(parents=True, exist_ok=True)
    replaced = _set_aside(folder, aside.parent) if os.path.lexists(folder) else None
    aside.rename(folder)
    if replaced is not None:
        shutil.rmtree(replaced, ignore_errors=True)


def _set_aside(folder: Path, saving: Path) -> Path:
    """Move a folder that is to be deleted into a new one: a delete that is cut off leaves no half of a checkpoint.

    What a file system does not delete now (NFS, while it is open elsewhere) goes with a later save's. Of a link to a
    folder elsewhere the link alone is moved.

    Returns:
        The new folder.
    """
    saving.mkdir(exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="old-", dir=saving))
    folder.rename(new / folder.name)
    return new


def read_checkpoint(folder: Path, *, content: bool = True) -> Checkpoint:
    """Read a checkpoint's marker and hold its files against it.

    Args:
        folder: the checkpoint's.
        content: read the small files and the large ones' lists of records; else look at the sizes alone.

    Raises:
        BrokenCheckpoint: If there is no marker, a file (the reference's included) is missing, damaged or of another
            size, or the folder is not named by its step.
    """
    about = verified(folder, content)
    if folder.name != step_folder(folder.parent, about["step"]).name:
        raise BrokenCheckpoint(f"{folder}: it is of step {about['step']}, and was renamed; name it as it was")
    reference = None
    if about["reference"] is not None:
        reference = named(folder, folder.parent / REFERENCES, about["reference"])
        if not reference.is_dir():
            missing = f"its reference, {reference}, is missing"
            raise BrokenCheckpoint(f"{folder}: {missing} (a checkpoint is copied together with it)")
        verified(reference, content)
    return Checkpoint(folder, about["step"], about["ranks"], reference, sum(about["files"].values()))


def newest_checkpoint(checkpoints: Path, *, content: bool = True) -> tuple[Checkpoint | None, list[str]]:
    """The newest complete checkpoint of a run, and why newer ones were passed over (a sentence each).

    Args:
        checkpoints: the run's.
        content: as for `read_checkpoint`.
    """
    problems: list[str] = []
    for folder in reversed(_step_folders(checkpoints)):
        try:
            return read_checkpoint(folder, content=content), problems
        except BrokenCheckpoint as problem:
            problems.append(str(problem))
    return None, problems


def complete_checkpoints(checkpoints: Path) -> tuple[list[Checkpoint], list[str]]:
    """All complete checkpoints of a run by their steps, and what is wrong with the others (a sentence each)."""
    complete: list[Checkpoint] = []
    problems: list[str] = []
    for folder in _step_folders(checkpoints):
        try:
            complete.append(read_checkpoint(folder))
        except BrokenCheckpoint as problem:
            problems.append(str(problem))
    return complete, problems


def prune(checkpoints: Path, *, keep: int | None) -> list[Path]:
    """Delete all but the newest `keep` complete checkpoints (None: keep all) and the references that none refers to.

    Folders that are not complete stay where they are: they may be all that is left of something.

    Returns:
        What was deleted.

    Raises:
        ValueError: `keep` is below 1.
    """
    if keep is not None and keep < 1:
        raise ValueError(f"keep={keep} would delete the checkpoint that was just written; at least 1, or None")
    deleted = []
    # By their content: a damaged one that a start has passed over is newer than what that start saves.
    complete = [] if keep is None else complete_checkpoints(checkpoints)[0]
    old = [] if keep is None else complete[: max(0, len(complete) - keep)]
    for checkpoint in old:
        shutil.rmtree(_set_aside(checkpoint.folder, checkpoints / SAVING), ignore_errors=True)
        deleted.append(checkpoint.folder)
    try:
        named = {name for folder in _step_folders(checkpoints) if (name := _reference_name(folder)) is not None}
    except OSError:  # a file system that is away for a moment: which are named is not known
        return deleted
    for reference in (checkpoints / REFERENCES).glob("*"):
        if reference.name not in named:
            shutil.rmtree(reference, ignore_errors=True)
            deleted.append(reference)
    return deleted


def clear_unfinished(checkpoints: Path) -> None:
    """Remove what a save (or a delete) that was cut off has left."""
    for unfinished in (checkpoints / SAVING, *(checkpoints / REFERENCES).glob(".*")):
        shutil.rmtree(unfinished, ignore_errors=True)


def _step_folders(checkpoints: Path) -> list[Path]:
    """All `global_step_N`, by N."""
    found = [(re.fullmatch(r"global_step_(\d+)", folder.name), folder) for folder in checkpoints.glob("global_step_*")]
    return [folder for _, folder in sorted((int(match.group(1)), folder) for match, folder in found if match)]


def _reference_name(folder: Path) -> str | None:
    try:
        name = json.loads((folder / MARKER).read_text(encoding="utf-8"))["reference"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    return None if name is None else str(name)
