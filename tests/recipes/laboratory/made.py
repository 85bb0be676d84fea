"""A small question, and records of its runs, made here."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from recipes.laboratory import questions, starts
from recipes.laboratory.plan import Run
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records, record_of
from tests.recipes.laboratory.light import result

START = "0123456789abcdef"
QUESTION = """\
# Which is better?
#
# Two of them.
title: Better
tasks: [countdown]
settings: {steps: 4, prompts: 2, responses: 2, updates_per_step: 1, evaluate_every: 2}
evaluation: {split: test, problems: 6, samples: 16, samples_between: 8}
tuning:
  lr: [1.0e-4, 2.0e-4, 4.0e-4]
  seeds: [100, 101]
  criterion: pass@1
  evaluation: {split: probe, problems: 6, samples: 8, samples_between: 8}
seeds: [0, 1, 2]
baselines: [grpo]
arms:
  never: {method: pacs, options: {reference: {reset_every: null}}}
  grpo: {method: grpo}
"""


def ask(folder: Path, patch: pytest.MonkeyPatch, text: str = QUESTION, name: str = "better") -> Question:
    """The question of a text, in a folder that is that of all questions."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(text)
    patch.setattr(questions, "FOLDER", folder)
    return questions.read(name)


def no_starts(patch: pytest.MonkeyPatch) -> None:
    """Every start is there."""
    patch.setattr(starts, "start_of", lambda task, seed, folder: folder / f"{task}-{seed}")
    patch.setattr(starts, "start_digest", lambda start: START)


def recorded(run: Run, **outcome: Any) -> dict[str, Any]:
    """The record of a run that took a minute, finished unless `cause` is given."""
    outcome = outcome or {"result": result(json.loads(json.dumps(run.asked())))}
    return record_of(run, START, wall_seconds=60.0, **outcome)


def records_of(folder: Path, *made: Mapping[str, Any]) -> Records:
    """The records of a folder after these were written to it."""
    folder.mkdir(exist_ok=True)
    with (folder / "better-countdown.jsonl").open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in made)
    return Records(folder)
