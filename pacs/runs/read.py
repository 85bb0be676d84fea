"""Read what a training run left behind.

RUN/metrics.jsonl   one flat JSON object a line, one line a step: {"step": 3, "critic/score/mean": 0.41, ...}
RUN/config.yaml     the resolved configuration
RUN/run.json        versions, git commit, command, start time

A run that is resumed appends to the same metrics.jsonl, so a step may occur again. The later line wins, key
by key: verl validates again at the step it resumes from, and that line holds nothing but the validation. A
line that goes back to an earlier step also discards the steps after it: they belong to the attempt that was
abandoned. A line that is damaged is dropped with a warning.
"""

import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from pacs.base.errors import UserError, one_line
from pacs.base.files import to_line, told_apart, write_atomically
from pacs.base.moved_keys import with_new_keys
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import visible


class Line(NamedTuple):
    """One line that is not blank.

    Attributes:
        number: from 1.
        raw: without its line break.
        step: None of a damaged line.
        values: metric -> value, NaN where the line says null; what is no number is left out.
        damage: why it is no step's metrics, or None.
    """

    number: int
    raw: bytes
    step: int | None
    values: dict[str, float]
    damage: str | None


def read_lines(file: Path) -> list[Line]:
    """The lines of metrics.jsonl, the damaged ones among them.

    Raises:
        OSError: It cannot be read.
    """
    lines = enumerate(file.read_bytes().split(b"\n"), start=1)
    return [parse_line(raw, number) for number, raw in lines if raw.strip()]


def parse_line(raw: bytes, number: int = 0) -> Line:
    """One line, without its line break."""
    try:
        record = json.loads(raw.decode())  # of bytes json guesses the encoding
        step, values = _step_and_values(record)
    except (ValueError, OverflowError, RecursionError) as error:
        return Line(number, raw, None, {}, " ".join(str(error).split()))
    return Line(number, raw, step, values, None)


def _step_and_values(record: Any) -> tuple[int, dict[str, float]]:
    if not isinstance(record, dict):
        raise ValueError(f"not a JSON object but a {type(record).__name__}")
    step = record.get("step")
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise ValueError(f'"step" must be a whole number from 0, found {step!r}')
    values = {
        key: math.nan if value is None else float(value)
        for key, value in record.items()
        if key != "step" and (value is None or isinstance(value, int | float))
    }
    return step, values


def go_on_after(file: Path, step: int, metrics: Mapping[str, float] | None) -> None:
    """Make metrics.jsonl that of a run that goes on after `step`: without later lines, and with the line of that step.

    Damaged lines up to there stay, since they may be all that is left of something.

    Args:
        file: metrics.jsonl; nothing is done where there is none.
        step: the last one that is not taken again; 0: none.
        metrics: of that step, for a run that was killed before it had written the step's line; None: of a new run,
            or of a checkpoint that does not say.

    Raises:
        OSError: It cannot be read or written.
    """
    if not file.exists():
        return
    lines = read_lines(file) if step > 0 else []
    if lines and lines[-1].step is None:
        lines.pop()  # a run that was killed did not write it to its end
    kept = [number + 1 for number, line in enumerate(lines) if line.step is not None and line.step <= step]
    later = [number for number, line in enumerate(lines) if line.step is not None and line.step > step]
    end = max([*kept[-1:], *(later[:1] or [len(lines)])])
    lines = [line for line in lines[:end] if line.step is None or line.step <= step]
    content = b"".join(line.raw + b"\n" for line in lines)
    if metrics is not None and step not in [line.step for line in lines]:
        content += to_line({"step": step, **metrics}).encode()
    write_atomically(file, content)


logger = logging.getLogger(__name__)

#: Beyond it a value is infinite in float32, in which a run calculates; sums of larger ones overflow.
LARGEST = 3.4e38


def is_usable(value: float) -> bool:
    """Whether a value is a number that can be drawn and averaged: neither NaN nor infinite, also in float32."""
    return abs(value) <= LARGEST


class Series(NamedTuple):
    """One metric over the steps that have it, in order of the step."""

    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Run:
    """One training run as its folder tells it."""

    name: str
    path: Path
    config: Mapping[str, Any]
    info: Mapping[str, Any]
    #: Step -> metric -> value, ascending.
    steps: Mapping[int, Mapping[str, float]]

    def series(self, key: str) -> Series:
        """The values of one metric that are usable (`is_usable`)."""
        points = [(s, row[key]) for s, row in self.steps.items() if is_usable(row.get(key, math.nan))]
        return Series(tuple(s for s, _ in points), tuple(v for _, v in points))

    def keys(self, pattern: str = "*") -> list[str]:
        """The metrics that have a usable value somewhere and match a glob, sorted."""
        found = {
            key
            for row in self.steps.values()
            for key, value in row.items()
            if is_usable(value) and fnmatchcase(key, pattern)
        }
        return sorted(found)


def read_run(path: Path) -> Run:
    """Read one run folder; `UserError` says what is wrong with it."""
    path = Path(path)
    metrics = RunFolder(path).metrics
    if not metrics.is_file():
        raise UserError(_not_a_run(path))
    return Run(
        name=path.resolve().name,
        path=path,
        config=_read_config(RunFolder(path).config),
        info=_read_info(RunFolder(path).info),
        steps=_read_metrics(metrics),
    )


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read several run folders; those of one name are told apart by as much of their path as it takes."""
    if not paths:
        raise UserError("no run folder given")
    return [replace(read_run(path), name=name) for path, name in zip(paths, told_apart(paths), strict=True)]


def _not_a_run(path: Path) -> str:
    names = f"{RunFolder.METRICS}, {RunFolder.CONFIG} and {RunFolder.INFO}"
    expected = f"expected the folder of a training run, which holds {names}"
    if not path.exists():
        return f"{path} does not exist: {expected}"
    if not path.is_dir():
        return f"{path} is not a folder: {expected}"
    below = sorted(found.parent for found in path.glob(f"*/{RunFolder.METRICS}"))
    hint = f"; {below[0]} is one" if below else ""
    return f"{path} has no {RunFolder.METRICS}: {expected}{hint}"


def _read_metrics(path: Path) -> dict[int, dict[str, float]]:
    try:
        lines = read_lines(path)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    steps: dict[int, dict[str, float]] = {}
    latest = -1
    for line in lines:
        if line.step is None:
            last = " (the last line, which was not written to its end)" if line is lines[-1] else ""
            logger.warning("%s:%d: dropped: no step's metrics: %s%s", visible(path), line.number, line.damage, last)
            continue
        if line.step < latest:
            steps = {earlier: row for earlier, row in steps.items() if earlier <= line.step}
        steps.setdefault(line.step, {}).update(line.values)  # the highest step, so the order stays ascending
        latest = line.step
    if not steps:
        raise UserError(f"{path} has no complete line yet: the run has not finished a step")
    return steps


def _read_config(path: Path) -> dict[str, Any]:
    if not os.access(path, os.R_OK):
        why = "is for its owner alone" if path.exists() else "is missing"
        logger.warning("%s %s: the settings of this run are not shown", visible(path), why)
        return {}
    try:
        config = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except Exception as error:  # YAML's, OmegaConf's or the grammar's own: all say that it is no configuration
        raise UserError(f"{path} cannot be read: {one_line(error)}") from error
    return with_new_keys({str(key): value for key, value in _mapping(config, path, "a mapping of settings").items()})


def _read_info(path: Path) -> dict[str, Any]:
    if not path.is_file():
        logger.warning("%s is missing: versions and command of this run are not shown", visible(path))
        return {}
    try:
        info = json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise UserError(f"{path} cannot be read: {one_line(error)}") from error
    return _mapping(info, path, "a JSON object")


def _mapping(found: Any, path: Path, wanted: str) -> dict[Any, Any]:
    if not isinstance(found, dict):
        raise UserError(f"{path} must hold {wanted}, found {type(found).__name__}")
    return found
