"""What the runs below a folder say of themselves: how far each is, whether it lives, and where it can go on from.

Read-only, and quick: of metrics.jsonl the end alone is read, and a run's own subfolders are not searched for runs. A
run may write, or be deleted, while this reads.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

from pacs.base.files import folder_bytes, read_json, status_of
from pacs.base.run_folder import RunFolder
from pacs.checkpoints.folder import newest_checkpoint
from pacs.runs.processes import is_alive
from pacs.runs.read import parse_line
from pacs.runs.state import RunState, read_fault, read_progress, read_state, this_host
from pacs.verl_keys.metrics import SCORE, STEP_SECONDS, VALIDATION_MEANS

LOSS = "pacs/loss_mean"
GRADED = "pacs/rows/graded_count"  # scores other than 0 and 1, with which the mean score is no pass rate
#: How much of the end of metrics.jsonl is looked at: some hundred lines.
REACH_BYTES = 1 << 20


@dataclass(frozen=True)
class ListedRun:
    """One run; None is what is not known.

    Attributes:
        name: by which it is shown.
        folder: its absolute path.
        state: running, finished, stopped, failed; died (running by its own word, but its launcher is gone); copied
            (the folder was copied from a run while that was running); unknown (it has no state.json that can be read);
            unreadable (its files are damaged; the cause says how).
        host: of the launcher.
        here: whether that is this machine; of a run elsewhere that is said to be running, nobody knows here.
        step: the last step that is done.
        total_steps: where the run ends.
        resumable_from: the step of the newest complete checkpoint.
        passed_over: why newer checkpoints are not complete, a sentence each.
        pass_rate: the last one, of the training responses; None where scores other than 0 and 1 were among them.
        loss: the last one.
        validation: the last shares of right answers, by the metric's name.
        step_seconds: median of this start's steps, else the last step's.
        size_bytes: of all files in its folder.
        started: this start, ISO 8601, UTC.
        seconds: how long this start has taken; if it died, up to its last sign of life.
        progress_age_seconds: since progress.json was written.
        cause: why it failed, died or was stopped.
    """

    name: str
    folder: str
    state: str
    host: str | None = None
    here: bool = False
    step: int | None = None
    total_steps: int | None = None
    resumable_from: int | None = None
    passed_over: list[str] = field(default_factory=list)
    pass_rate: float | None = None
    loss: float | None = None
    validation: dict[str, float] = field(default_factory=dict)
    step_seconds: float | None = None
    size_bytes: int | None = None
    started: str | None = None
    seconds: float | None = None
    progress_age_seconds: float | None = None
    cause: str | None = None


def list_runs(folders: Sequence[Path]) -> list[ListedRun]:
    """The runs in and below `folders`, each once, by name: its path from the folder, or (of several) as it is given.

    Raises:
        OSError: If one of the folders cannot be read.
    """
    runs: dict[Path, ListedRun] = {}
    for top in folders:
        os.scandir(top).close()  # os.walk would pass over a folder that is not there
        for folder in _run_folders(top):
            real = folder.resolve()
            if real not in runs:
                name = str(folder if len(folders) > 1 else folder.relative_to(top))
                runs[real] = _describe_or_say_why_not(folder, real.name if name == "." else name)
    return sorted((run for real, run in runs.items() if real.is_dir()), key=lambda run: run.name)


def last_metrics(file: Path) -> dict[str, float]:
    """The last value of each metric that the list shows, and the last step ("step"); of a missing file none."""
    wanted, last = {"step", SCORE, LOSS, STEP_SECONDS}, dict[str, float]()
    validation: dict[str, float] = {}
    for line in _lines_from_the_end(file):
        parsed = parse_line(line)
        if parsed.step is None:
            continue  # the last line of a killed run, a damaged one, or one that reaches farther back than is read
        values = parsed.values | {"step": parsed.step}
        last = {key: value for key, value in values.items() if key in wanted | {GRADED}} | last
        validation = validation or validation_shares(values)
        if validation and wanted <= last.keys():
            break
    return last | validation


def validation_shares(values: Mapping[str, float]) -> dict[str, float]:
    """The metrics that are a validation's shares of right answers, pass@1."""
    return {key: value for key, value in values.items() if re.fullmatch("pacs/validation/.+/pass@1", key)}


def validation_scores(values: Mapping[str, float]) -> dict[str, float]:
    """verl's metrics that are a validation's mean scores."""
    return {key: value for key, value in values.items() if fnmatchcase(key, VALIDATION_MEANS)}


def _run_folders(top: Path) -> Iterator[Path]:
    """Folders of runs in and below `top`, none within a run's. Links to folders are not followed."""
    for folder, subfolders, _ in os.walk(top):
        if is_run(Path(folder)):
            subfolders.clear()
            yield Path(folder)


def is_run(folder: Path) -> bool:
    """Whether it is a run's folder."""
    with suppress(OSError):
        # Others have a state.json too: a data set that `datasets` has saved.
        found = RunFolder(folder)
        return found.info.is_file() or (found.state.is_file() and read_state(folder) is not None)
    return False


def _describe_or_say_why_not(folder: Path, name: str) -> ListedRun:
    try:
        return _describe(folder, name)
    except Exception as error:  # one run's damage must not hide the other runs; its row says what it is
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        return ListedRun(name, str(folder.resolve()), "unreadable", cause=cause)


def _describe(folder: Path, name: str) -> ListedRun:
    state, progress = read_state(folder), read_progress(folder)
    metrics = last_metrics(RunFolder(folder).metrics)
    step = metrics.get("step") if progress is None else progress.step
    step_seconds = None if progress is None else progress.step_seconds
    checkpoint, problems = newest_checkpoint(RunFolder(folder).checkpoints, content=False)
    written = _written(RunFolder(folder).progress)
    # A run without a state was started when run.json says.
    starts = [None if state is None else state.started, (read_json(RunFolder(folder).info) or {}).get("started")]
    run = ListedRun(
        name=name,
        folder=str(folder.resolve()),
        state="unknown",
        step=None if step is None else int(step),
        total_steps=None if progress is None else int(progress.total_steps),
        resumable_from=None if checkpoint is None else checkpoint.step,
        passed_over=problems,
        pass_rate=None if metrics.get(GRADED, 0) > 0 else metrics.get(SCORE),
        loss=metrics.get(LOSS),
        validation=validation_shares(metrics),
        step_seconds=metrics.get(STEP_SECONDS) if step_seconds is None else float(step_seconds),
        size_bytes=folder_bytes(folder),
        started=next((when for when in starts if _seconds(when) is not None), None),
        progress_age_seconds=None if written is None else max(0.0, time.time() - written),
    )
    if state is not None:
        run = _with_state(run, state, folder)
    ended = None if state is None else state.ended
    return replace(run, seconds=_duration(run, ended, _written(RunFolder(folder).metrics), written))


def _with_state(run: ListedRun, state: RunState, folder: Path) -> ListedRun:
    """What the launcher says; that it is running is not believed where its process is gone, nor in a copy."""
    here, fault = state.host == this_host(), read_fault(folder)
    run = replace(run, state=state.state, host=state.host, here=here)
    if state.state != "running":
        return replace(run, cause=state.cause or fault)
    if not state.is_of(folder):
        return replace(run, state="copied", cause=f"a copy of {state.folder}, made while that run was training")
    if here and not is_alive(state.pid, state.birth):
        return replace(run, state="died", cause=fault or f"its launcher, process {state.pid}, is gone")
    return run


def _duration(run: ListedRun, ended: str | None, *signs_of_life: float | None) -> float | None:
    """From the start to the end, to now (where it runs), or to the last sign of life."""
    start, end = _seconds(run.started), _seconds(ended)
    if end is None:
        end = time.time() if run.state == "running" else max((sign for sign in signs_of_life if sign), default=start)
    return None if start is None or end is None else max(0.0, end - start)


def _seconds(when: object) -> float | None:
    """A time of ISO 8601 in seconds since the epoch; None if it is none."""
    with suppress(ValueError):
        return datetime.fromisoformat(when).timestamp() if isinstance(when, str) else None
    return None


def _written(file: Path) -> float | None:
    status = status_of(file)
    return None if status is None else status.st_mtime


def _lines_from_the_end(file: Path) -> list[bytes]:
    """The lines of a file from its last to its first, as far as `REACH_BYTES`; none of a file that is not there."""
    try:
        stream = file.open("rb")
    except FileNotFoundError:
        return []
    with stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - REACH_BYTES))
        return stream.read().split(b"\n")[::-1]
