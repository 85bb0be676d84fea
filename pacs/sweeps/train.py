"""The runs of a sweep, one after the other: trained, then evaluated by `pacs evaluate` as a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from pacs.base.stops import Stops, run_passing_on
from pacs.base.terminal import say
from pacs.base.units import duration
from pacs.evaluation.finished import check_may_go_on, is_evaluated
from pacs.evaluation.grading import Grading
from pacs.evaluation.tasks import Task
from pacs.rewards.configured import reward_of
from pacs.runs.processes import RUN_DIR, TOKEN
from pacs.runs.supervisor import FAILED, FINISHED, REFUSED, STOPPED
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
        reward = OmegaConf.to_container(OmegaConf.select(run.config, REWARD_FUNCTION), resolve=True)
        grading = Grading.of(reward_of(reward), {})  # type: ignore[arg-type]
        check_may_go_on(evaluation_folder(run), evaluation.tasks, grading, max_tokens=evaluation.max_tokens)


def evaluate_run(run: PlannedRun, evaluation: Evaluation, stop: Stops) -> bool:
    """Evaluate a finished run, unless that is done; whether it is. Signals are passed on to the evaluation."""
    folder = evaluation_folder(run)
    if is_evaluated(folder, evaluation.tasks):
        return True
    log = folder.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    names = ", ".join(task.name for task in evaluation.tasks)
    say(f"pacs sweep: {run.label}: evaluating on {names} (its output: {log})")
    command = [
        sys.executable, "-m", "pacs", "evaluate", str(run.folder), "--out", str(folder), *evaluation.options
    ]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name not in (TOKEN, RUN_DIR)}
    with log.open("w") as stream:
        status = run_passing_on(command, stop, env=environment, stdout=stream, stderr=subprocess.STDOUT)
    if status != 0 and not stop.signals:
        say(f"pacs sweep: {run.label}: {evaluation_problem(folder)}", error=True)
    return status == 0


def evaluation_problem(folder: Path) -> str | None:
    """Why the evaluation has no results, by what it has printed; None if it was not started."""
    try:
        lines = folder.with_suffix(".log").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return None
    said = [line for line in lines if line.startswith("pacs evaluate: ")] or [line for line in lines if line.strip()]
    return f"not evaluated: {said[-1]}" if said else "not evaluated: its process ended without a word"


def train_runs(
    runs: Sequence[PlannedRun],
    evaluation: Evaluation | None,
    stop: Stops,
    refused: dict[str, str],
    after_each: Callable[[], object],
) -> int:
    """Train and evaluate what is not done yet; a run that fails does not keep the others from being trained.

    Args:
        runs: checked.
        evaluation: of each finished run; None: none.
        stop: signals that have come; while a run trains, its launcher heeds them (the first ends it after its step, a
            second at once) and passes them on to here. An evaluation gets them, and does the same.
        refused: gets folder's name -> why, of runs that were refused though the check had let them pass.
        after_each: called when a run that was started here has ended and, where that is asked for, is evaluated.

    Returns:
        The exit status: 0 all is done, 1 a run or an evaluation failed, 75 or 128 + N stopped by a signal.
    """
    started, at_first = time.monotonic(), _steps_left(runs)
    status = FINISHED
    for number, run in enumerate(runs, start=1):
        if stop.signals:
            return STOPPED
        here = not run.is_finished
        which = f"pacs sweep: run {number} of {len(runs)}: {run.label}"
        if run.elsewhere is not None:
            say(f"{which}: was trained elsewhere")
            continue
        if run.is_finished:
            say(f"{which}: is trained already ({run.folder})")
        else:
            elapsed, done = time.monotonic() - started, at_first - _steps_left(runs)
            left = elapsed / done * _steps_left(runs[number - 1 :]) if done else 0.0
            about = f" (after {duration(elapsed)}; about {duration(left)} left)" if done else ""
            say(f"{which} -> {run.folder}{about}")
            ended = _train(run, refused)
            if ended == FINISHED:
                run.step = run.total_steps
            elif ended not in (FAILED, REFUSED):
                return ended
        if not run.is_finished or (evaluation and not stop.signals and not evaluate_run(run, evaluation, stop)):
            status = FAILED
        if stop.second is not None:
            return 128 + stop.second
        if here:
            after_each()
    return STOPPED if stop.signals else status


def _train(run: PlannedRun, refused: dict[str, str]) -> int:
    """`pacs train` of a run; its exit status."""
    from pacs.integration.checks import run as checks
    from pacs.integration.launch import launcher

    before, sys.argv = sys.argv, run.command  # for the record in run.json
    try:
        return launcher.train(run.config)
    except checks.ConfigError as error:
        refused[run.folder.name] = str(error)
        say(f"pacs sweep: the run cannot start:\n{error}", error=True)
        return REFUSED
    finally:
        sys.argv = before


def _steps_left(runs: Sequence[PlannedRun]) -> int:
    return sum(run.total_steps - run.step for run in runs if not run.is_finished)
