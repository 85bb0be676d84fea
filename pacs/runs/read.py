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
from pacs.base.files import told_apart
from pacs.base.moved_keys import with_new_keys
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import visible
from pacs.runs.metrics_file import read_lines

logger = logging.getLogger(__name__)


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
        """The finite values of one metric."""
        points = [(s, row[key]) for s, row in self.steps.items() if math.isfinite(row.get(key, math.nan))]
        return Series(tuple(s for s, _ in points), tuple(v for _, v in points))

    def keys(self, pattern: str = "*") -> list[str]:
        """The metrics that have a finite value somewhere and match a glob, sorted."""
        found = {
            key
            for row in self.steps.values()
            for key, value in row.items()
            if math.isfinite(value) and fnmatchcase(key, pattern)
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
