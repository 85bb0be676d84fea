"""What in a run's folder would stop a start that goes on there: seen before Ray is started."""

import os
from collections.abc import Iterator
from pathlib import Path

from pacs.base.run_folder import RunFolder
from pacs.runs.read import read_lines


def folder_problems(run_dir: Path) -> Iterator[str]:
    """What is not of the kind that a run writes there, or may not be written, a sentence each with the mend."""
    for name in (*RunFolder.FOLDERS, *RunFolder.FILES):
        place = run_dir / name
        if not os.path.lexists(place):
            continue
        is_folder = name in RunFolder.FOLDERS
        if is_folder != place.is_dir() or not (is_folder or place.is_file()):
            wanted = "folder" if is_folder else "file"
            yield f"run.dir={run_dir}: {name} is no {wanted}: move it away, or choose another folder."
        elif not os.access(place, os.R_OK | os.W_OK | (os.X_OK if is_folder else 0)):
            yield f"run.dir={run_dir}: {name} may not be read and written by this user: mend that (chown, chmod)."


def damaged_metrics(run_dir: Path) -> Iterator[str]:
    """The damaged lines of the run's metrics.jsonl but its last, which a run that was killed may have cut off.

    Raises:
        OSError: It cannot be read.
    """
    file = RunFolder(run_dir).metrics
    for line in read_lines(file)[:-1] if file.is_file() else ():
        if line.damage is not None:
            yield f"{file}:{line.number} is damaged ({line.damage}): it is left where it is and passed over"
