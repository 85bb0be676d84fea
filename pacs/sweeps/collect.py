"""results.json of a sweep: all that its table and its plot need, read from the run folders."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.base.redaction import redacted, redacted_command
from pacs.evaluation.folder import read_problems
from pacs.evaluation.results import read_results
from pacs.evaluation.sample import problems_sha256
from pacs.report.run_groups import Group
from pacs.report.validation import PASS_AT_K, sources_of
from pacs.runs.listing import list_runs
from pacs.runs.read import Run, read_run
from pacs.sweeps import measures
from pacs.sweeps.definition import Sweep
from pacs.sweeps.grid import PlannedRun, label_of
from pacs.sweeps.notes import notes_on, read_inputs
from pacs.sweeps.results import FORMAT, share_config
from pacs.sweeps.train import evaluation_folder, evaluation_problem
from pacs.verl_keys.algorithm_changes import algorithm_settings
from pacs.verl_keys.config import policy_path
from pacs.verl_keys.metrics import SCORE, STEP_SECONDS
from pacs.verl_keys.names import DATA_SEED, TRAIN_FILES, VALIDATION_FILES

GRADED = "pacs/rows/graded_count"


def collect(
    sweep: Sweep, runs: Sequence[PlannedRun], *, command: Sequence[str], refused: Mapping[str, str]
) -> dict[str, Any]:
    """The results as they are, whatever is still missing. The same run folders give the same results.

    Args:
        sweep: what was asked for.
        runs: of it, checked.
        command: of the sweep.
        refused: folder's name -> why the run was refused, of those whose folder does not say it.

    Returns:
        JSON, without a number that is not finite.
    """
    evaluations = [_evaluation(run) for run in runs]
    mean = measures.mean_of(evaluations)
    found = [
        _run(run, refused.get(run.folder.name), evaluation, mean)
        for run, evaluation in zip(runs, evaluations, strict=True)
    ]
    common = share_config(found)
    swept = {key: list(dict.fromkeys(run["settings"][key] for run in found)) for key in found[0]["settings"]}
    together: dict[str, list[dict[str, Any]]] = {}
    for run in found:
        settings = _without_seed(run["settings"])
        differing = {key: value for key, value in settings.items() if len(swept[key]) > 1}
        together.setdefault(label_of(differing or settings) or sweep.name, []).append(run)
    config = runs[0].config
    results = {
        "format": FORMAT,
        "sweep": sweep.name,
        "description": sweep.description,
        "command": redacted_command(command),
        "algorithms": list(sweep.algorithms),
        "recipe": dict(word.split("=", 1) for word in runs[0].overrides)["recipe"],
        "model": policy_path(config),
        "data": {"train_files": _setting(config, TRAIN_FILES), "val_files": _setting(config, VALIDATION_FILES)},
        "config": common,
        "swept": swept,
        "intervals": measures.KINDS,
        "settings": [
            {
                "label": label,
                "settings": _without_seed(members[0]["settings"]),
                "runs": [run["name"] for run in members],
                "finished": [run["name"] for run in members if run["state"] == "finished"],
                "measures": measures.of_setting(members),
            }
            for label, members in together.items()
        ],
        "failures": [
            {"run": run["name"], "state": run["state"], "cause": cause}
            for run in found
            for cause in (run["cause"], run["evaluation_problem"])
            if cause
        ],
        "runs": found,
        "notes": notes_on(runs, found),
    }
    shown: dict[str, Any] = redacted(results)
    return shown


def _run(
    planned: PlannedRun, refused: str | None, evaluation: Mapping[str, Any], mean: tuple[str, Sequence[str]]
) -> dict[str, Any]:
    if planned.elsewhere is not None:
        return planned.elsewhere | {"measures": measures.of_run_elsewhere(planned.elsewhere, mean)}
    listed = next(iter(list_runs([planned.folder])), None) if planned.folder.is_dir() else None
    state, cause = (listed.state, listed.cause) if listed else ("not started", None)
    if planned.is_finished:
        state, cause = "finished", None
    elif refused is not None:
        state, cause = "refused", refused
    elif state == "finished":  # of fewer steps than are asked for now
        state = "unfinished"
    log = _read_log(planned.folder)
    info = log.info if log else {}
    problem = evaluation_problem(evaluation_folder(planned)) if planned.is_finished and not evaluation else None
    validation = _validation(log)
    rates = _curve(log, SCORE)
    total = planned.total_steps
    # With scores other than 0 and 1 the mean score is no share of right answers; the plot says so by this curve.
    counts = _curve(log, GRADED)
    graded = {GRADED: counts} if any(value > 0 for _, value in counts) else {}
    if planned.is_finished and _at(rates, total) is None:
        cause = f"step {total} is saved but not logged (the run was killed in between): its end has no values"
    return {
        "name": planned.folder.name,
        "label": planned.label,
        "folder": str(planned.folder),
        "algorithm": planned.algorithm,
        "settings": planned.settings,
        "seed": OmegaConf.select(planned.config, DATA_SEED),
        "config": algorithm_settings(planned.config),
        "command": redacted_command(planned.command),
        "state": state,
        "cause": cause,
        "step": planned.step if planned.is_finished else (listed.step if listed and listed.step else 0),
        "total_steps": total,
        "step_seconds_sum": math.fsum(value for _, value in _curve(log, STEP_SECONDS)),
        "started": info.get("started"),
        "host": listed.host if listed else None,
        "git_commit": info.get("git_commit"),
        "python": info.get("python"),
        "versions": info.get("versions", {}),
        "inputs": read_inputs(planned.folder),
        "measures": measures.of_run(
            {task: about["pass_at"] for task, about in evaluation.items()},
            {
                source: {k: value for k, curve in curves.items() if (value := _at(curve, total)) is not None}
                for source, curves in validation.items()
            },
            None if graded else _at(rates, total),
            mean,
        ),
        "evaluation": evaluation,
        "evaluation_problem": problem,
        "curves": {SCORE: rates}
        | graded
        | {
            f"pacs/validation/{source}/{k}": curve
            for source, curves in validation.items()
            for k, curve in curves.items()
        },
    }


def _read_log(folder: Path) -> Run | None:
    """None of a run that has not logged a step."""
    try:
        return read_run(folder)
    except UserError:
        return None


def _curve(log: Run | None, key: str) -> list[list[float]]:
    """Step and value."""
    return [] if log is None else [[step, value] for step, value in zip(*log.series(key), strict=True)]


def _at(curve: Sequence[Sequence[float]], step: int) -> float | None:
    """The value at a step, if it is the last."""
    return curve[-1][1] if curve and curve[-1][0] == step else None


def _validation(log: Run | None) -> dict[str, dict[str, list[list[float]]]]:
    """Source -> "pass@k" -> its curve, ascending in k."""
    sources = sources_of([Group("", (log,))], PASS_AT_K) if log else {}
    return {source: {k: _curve(log, key) for k, key in keys.items()} for source, keys in sources.items()}


def _evaluation(planned: PlannedRun) -> dict[str, Any]:
    """Task -> its numbers, of the model at the run's end."""
    if planned.elsewhere is not None:
        return dict(planned.elsewhere["evaluation"])
    try:
        settings, tasks = read_results(evaluation_folder(planned))
    except UserError:
        return {}
    return {
        task.task: {
            "data_sha256": settings["tasks"][task.task]["sha256"],
            "problems_sha256": _problems_sha256(planned, task.task),
            "problems": len(task.problems),
            "samples": task.samples,
            "max_tokens": settings["sampling"]["max_tokens"],
            "pass_at": {f"pass@{k}": vars(at) for k, at in sorted(task.pass_at.items())},
        }
        for task in tasks
    }


def _problems_sha256(planned: PlannedRun, task: str) -> str | None:
    """Of what was evaluated; None where the evaluation has no problems any more."""
    try:
        return problems_sha256(read_problems(evaluation_folder(planned), task))
    except UserError:
        return None


def _without_seed(settings: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if not key.endswith("seed")}


def _setting(config: DictConfig, key: str) -> Any:
    value = OmegaConf.select(config, key)
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
