"""`pacs evaluate` of a run's last model, as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.base.stops import Stops, run_passing_on
from pacs.base.terminal import print
from pacs.evaluation.folder import has_samples
from pacs.evaluation.grading import Grading
from pacs.evaluation.results import read_results
from pacs.evaluation.settings import FILE, TaskSettings, joined, read_settings
from pacs.evaluation.tasks import Task
from pacs.rewards.configured import reward_of
from pacs.runs.processes import RUN_DIR, TOKEN
from pacs.sweeps.grid import PlannedRun
from pacs.verl_keys.names import REWARD_FUNCTION

#: In a run's folder; in it a folder a step.
EVALUATION = "evaluation"


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated.

    Attributes:
        tasks: on which.
        max_tokens: of a response.
        options: words of `pacs evaluate` beside the model and --out, which say the same.
    """

    tasks: Sequence[Task]
    max_tokens: int
    options: Sequence[str]


def evaluation_folder(run: PlannedRun) -> Path:
    """Where the evaluation of a run's last model is: one that is trained further is another model."""
    return run.folder / EVALUATION / f"step_{run.total_steps}"


def check_evaluations(runs: Sequence[PlannedRun], evaluation: Evaluation) -> None:
    """Refuse at once what `pacs evaluate` would refuse after the training: an evaluation that has other settings.

    Raises:
        UserError: naming the evaluation's folder, and what differs.
    """
    for run in runs:
        folder = evaluation_folder(run)
        if not (folder / FILE).exists() or not has_samples(folder, old := read_settings(folder)):
            continue
        tasks = {
            task.name: TaskSettings(str(task.file), file_sha256(task.file), 0, task.samples, task.ks)
            for task in evaluation.tasks
            if task.file.exists()
        }
        sampling = replace(old.sampling, max_tokens=evaluation.max_tokens)
        reward = OmegaConf.to_container(OmegaConf.select(run.config, REWARD_FUNCTION), resolve=True)
        grading = Grading.of(reward_of(reward), {})  # type: ignore[arg-type]
        joined(old, replace(old, sampling=sampling, tasks=tasks, grading=grading), folder)


def evaluate_run(run: PlannedRun, evaluation: Evaluation, stop: Stops) -> bool:
    """Evaluate a finished run, unless that is done; whether it is. Signals are passed on to the evaluation."""
    folder = evaluation_folder(run)
    if is_evaluated(folder, evaluation.tasks):
        return True
    log = folder.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    names = ", ".join(task.name for task in evaluation.tasks)
    print(f"pacs sweep: {run.label}: evaluating on {names} (its output: {log})", flush=True)
    command = [
        sys.executable, "-m", "pacs", "evaluate", str(run.folder), "--out", str(folder), *evaluation.options
    ]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name not in (TOKEN, RUN_DIR)}
    with log.open("w") as stream:
        status = run_passing_on(command, stop, env=environment, stdout=stream, stderr=subprocess.STDOUT)
    if status != 0 and not stop.signals:
        print(f"pacs sweep: {run.label}: {evaluation_problem(folder)}", file=sys.stderr, flush=True)
    return status == 0


def is_evaluated(folder: Path, tasks: Sequence[Task]) -> bool:
    """Whether an evaluation's folder has the results that are asked for."""
    try:
        results = {result.task: result for result in read_results(folder)[1]}
    except UserError:
        return False
    return all(
        task.name in results
        and results[task.name].samples == task.samples
        and set(task.ks) <= results[task.name].pass_at.keys()
        for task in tasks
    )


def evaluation_problem(folder: Path) -> str | None:
    """Why the evaluation has no results, by what it has printed; None if it was not started."""
    try:
        lines = folder.with_suffix(".log").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    said = [line for line in lines if line.startswith("pacs evaluate: ")] or [line for line in lines if line.strip()]
    return f"not evaluated: {said[-1]}" if said else "not evaluated: its process ended without a word"
