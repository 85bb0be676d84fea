"""Records of runs: one JSON object a line in results/QUESTION-TASK.jsonl, of a finished run or of one that failed.

A record holds `key` (the digest of `run` and `start`), `run` (`Run.asked`: task, settings, evaluation), `start` (the
digest of the weights and problems it began with), `state` (finished or failed), `result` (of `loop.run`) or `cause`,
`wall_seconds`, `date`, `machine`, `commit`, and `code`, the digest of the code that ran.
"""

import json
import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import Any

from pacs.base.commit import git_commit
from pacs.base.files import Appender, read_lines
from recipes.laboratory.digests import code_digest, digest
from recipes.laboratory.plan import Run

FOLDER = Path(__file__).parent / "results"
DIGITS = 4
POINTS = 20
#: What a curve has that evaluations have, too.
COSTS = ("rollouts", "tokens", "seconds")


class Records:
    """All records of a folder. Of several of one run the last counts, a finished one before one that failed.

    Args:
        folder: of .jsonl files; it need not be there.

    Raises:
        UserError: a line of a file is no record.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.all: list[dict[str, Any]] = [record for file in sorted(folder.glob("*.jsonl")) for record in read(file)]
        self.by_key: dict[str, dict[str, Any]] = {}
        #: Digest of `run` -> its records, whatever start they began at.
        self.by_run: dict[str, list[dict[str, Any]]] = {}
        #: (task, seed of the start) -> its digest in the newest record.
        self.newest_start: dict[tuple[str, int], str] = {}
        for record in sorted(self.all, key=lambda record: str(record["date"])):
            self.add(record)

    def add(self, record: dict[str, Any]) -> None:
        """Take up a record that is newer than all others."""
        there = self.by_key.get(record["key"])
        if there is None or there["state"] == "failed" or record["state"] == "finished":
            self.by_key[record["key"]] = record
        self.by_run.setdefault(digest(record["run"]), []).append(record)
        self.newest_start[record["run"]["task"], record["run"]["start_seed"]] = record["start"]

    def of(self, run: Run, start: str | None = None) -> dict[str, Any] | None:
        """The record of a run, or None.

        Args:
            run: of which.
            start: the digest of what it begins at; None: that of the newest record of the same task.
        """
        start = start or self.newest_start.get((run.task, run.start_seed))
        return None if start is None else self.by_key.get(key_of(run, start))

    def failures(self, run: Run) -> list[dict[str, Any]]:
        """The records of a run that say that it failed, also where it was finished later."""
        return [record for record in self.by_run.get(digest(run.asked()), []) if record["state"] == "failed"]

    def expected_seconds(self, run: Run) -> float | None:
        """How long a run is likely to take by the clock; None where nothing is known of its task.

        By the medians over finished runs of the task of the seconds for a rollout to train and for one to evaluate,
        which costs much less: of runs of its method with as many rollouts, else of as many rollouts, else of its
        method, else of all.
        """
        same = [r for r in self.by_key.values() if r["state"] == "finished" and r["run"]["task"] == run.task]
        of_method = [r for r in same if r["run"]["settings"]["method"] == run.settings.method]
        as_long = [r for r in same if r["rollouts"] == run.rollouts()]
        nearest = [r for r in of_method if r in as_long] or as_long or of_method or same
        if not nearest:
            return None
        to_train, to_evaluate = (median(rates) for rates in zip(*map(_seconds_a_rollout, nearest), strict=True))
        training = run.training_rollouts()
        return float(to_train * training + to_evaluate * (run.rollouts() - training))


def _seconds_a_rollout(record: Mapping[str, Any]) -> tuple[float, float]:
    """By the clock, to train and to evaluate: both have their part of what was neither, as a start and a wait."""
    spent, settings = record["result"]["seconds"], record["run"]["settings"]
    training = math.prod(settings[name] for name in ("steps", "prompts", "responses"))
    share = spent["evaluate"] / sum(spent.values())
    wall = record["wall_seconds"]
    return wall * (1 - share) / training, wall * share / (record["rollouts"] - training)


def key_of(run: Run, start: str) -> str:
    """The digest of all that decides a run but the code."""
    return digest({"run": run.asked(), "start": start})


def record_of(run: Run, start: str, *, wall_seconds: float, **outcome: Any) -> dict[str, Any]:
    """The record of a run that has ended.

    Args:
        run: of which.
        start: the digest of its start.
        wall_seconds: by the clock.
        outcome: `result` of a finished run, or the `cause` of why it failed.
    """
    if "result" in outcome:
        outcome["result"] = compact(outcome["result"])
    return {
        "key": key_of(run, start),
        "state": "finished" if "result" in outcome else "failed",
        "run": run.asked(),
        "start": start,
        "rollouts": run.rollouts(),
        **outcome,
        "wall_seconds": round(wall_seconds, 1),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": git_commit(),
        "code": code_digest(),
    }


def compact(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result that is short enough to keep.

    Numbers have `DIGITS` significant digits. `curve` is name -> its means over no more than `POINTS` blocks of steps
    (None where no step of a block has a value), without its costs; its `step` is the last of each block. `resets` are
    the steps after which the reference was reset; `bands` is band -> the places of its problems.
    """
    curve, bands = result["curve"], result["bands"]
    size = math.ceil(len(curve) / POINTS) if curve else 1
    blocks = [curve[max(0, end - size) : end] for end in range(len(curve), 0, -size)][::-1]
    names = dict.fromkeys(name for point in curve for name in point if name not in (*COSTS, "step", "reset"))
    columns = {name: [_mean(point.get(name) for point in block) for block in blocks] for name in names}
    columns["step"] = [block[-1]["step"] for block in blocks]
    resets = [point["step"] for point in curve if point.get("reset")]
    places = {band: [place for place, each in enumerate(bands) if each == band] for band in dict.fromkeys(bands)}
    short: dict[str, Any] = _rounded({**result, "curve": columns, "resets": resets, "bands": places})
    return short


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def machine() -> dict[str, Any]:
    """What ran it, by no name of its own."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(), "torch": version("torch")}


def append(file: Path, record: Mapping[str, Any]) -> None:
    """Add a record as the last line of a file, whole or not at all for whoever reads it with `read`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Appender(file).close()  # which cuts off a last line that was not written to its end
    with file.open("ab") as stream:
        stream.write(json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def file_of(question: str, task: str, folder: Path = FOLDER) -> Path:
    """Where the records of the runs that a question has asked for go."""
    return folder / f"{question}-{task}.jsonl"


def read(file: Path) -> Iterator[dict[str, Any]]:
    """The records of a file, without a last line that was not written to its end.

    Raises:
        UserError: a line is no record.
    """
    return read_lines(file, _checked_record, "remove it, and the same command makes up for it")


def _checked_record(record: dict[str, Any]) -> dict[str, Any]:
    if digest({"run": record["run"], "start": record["start"]}) != record["key"]:
        raise ValueError("its key is not that of its run")
    if record["state"] not in ("finished", "failed"):
        raise ValueError(f"its state is {record['state']}, neither finished nor failed")
    needed = ("date", "wall_seconds", "rollouts", "cause" if record["state"] == "failed" else "result")
    if missing := [name for name in needed if name not in record]:
        raise ValueError(f"it has no {missing[0]}")
    if record["state"] == "finished" and not record["result"]["evaluations"]:
        raise ValueError("it has no evaluations")
    return record
