"""What to know of a sweep's runs before they are compared: where they did not begin or were not evaluated alike."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.base.files import read_json
from pacs.base.run_folder import RunFolder
from pacs.evaluation.compare import grading_notes, setting_notes
from pacs.evaluation.results import read_results
from pacs.sweeps.grid import PlannedRun
from pacs.sweeps.train import evaluation_folder

DIGITS = 12


def notes_on(runs: Sequence[PlannedRun], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence each.

    Args:
        runs: of the sweep.
        found: each of them as results.json has it.
    """
    return [*_unlike_inputs(runs, found), *_unlike_evaluations(runs)]


def read_inputs(folder: Path) -> dict[str, list[str]]:
    """What a run's data, model and reward function held: setting -> a digest of each file or folder that it names.

    Args:
        folder: of the run; it need not be there.

    Returns:
        The first 12 hexadecimal digits of a SHA-256 over the files' own, in the order that the setting has; empty of a
        run that has not begun, or whose file is damaged.
    """
    inputs = read_json(RunFolder(folder).inputs) or {}
    with suppress(TypeError, ValueError):
        return {key: [_digest(files) for _, files in named] for key, named in inputs.items()}
    return {}


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _unlike_inputs(runs: Sequence[PlannedRun], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where one name stood for other contents in two runs, as a model does that was made on two machines."""
    contents: dict[str, dict[str, list[str]]] = {}  # name -> digests -> names of runs
    unknown = []
    for planned, run in zip(runs, found, strict=True):
        inputs = run.get("inputs") or {}
        if run["state"] == "finished" and not inputs:
            unknown.append(run["name"])
        for key, digests in inputs.items():
            name = f"{key} {OmegaConf.select(planned.config, key)}"
            contents.setdefault(name, {}).setdefault(", ".join(digests), []).append(run["name"])
    said = []
    for name, held in contents.items():
        if len(held) > 1:
            each = "; ".join(f"{digest} ({', '.join(names)})" for digest, names in held.items())
            said.append(f"not the same in all runs: what {name} held, by its SHA-256: {each}.")
    if unknown and contents:
        said.append(f"not recorded what the data and the model of these runs held: {', '.join(unknown)}.")
    return said


def _unlike_evaluations(runs: Sequence[PlannedRun]) -> list[str]:
    """Where samples of two runs were not drawn alike, or told right and wrong apart by other settings."""
    settings = {}
    for run in runs:
        try:
            settings[run.label] = read_results(evaluation_folder(run))[0]
        except UserError:
            continue
    if len(settings) < 2:
        return []
    said = setting_notes({label: {"sampling": one.get("sampling", {})} for label, one in settings.items()})
    return said + grading_notes({label: one.get("grading") for label, one in settings.items()})
