"""What is held against a sweep before its first run is started: every run's config, and results from elsewhere."""

import copy
import io
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.base.moved_keys import with_new_keys
from pacs.base.redaction import redacted_command
from pacs.base.run_folder import RunFolder
from pacs.evaluation.sample import problems_sha256
from pacs.evaluation.tasks import Task, load_problems
from pacs.runs.state import read_progress, read_state
from pacs.sweeps.grid import OURS, PlannedRun
from pacs.sweeps.results import config_of, read
from pacs.verl_keys.algorithm_changes import algorithm_changes, algorithm_settings, counts, plain
from pacs.verl_keys.config import total_steps
from pacs.verl_keys.names import OF_VALIDATION, TOTAL_STEPS


def check_configs(runs: Sequence[PlannedRun]) -> None:
    """Check every run's config and what its folder holds, and find how far each is.

    Raises:
        UserError: naming the runs that cannot be started, and why.
    """
    from pacs.integration.checks import run as checks
    from pacs.integration.launch import launcher

    problems: dict[str, list[int]] = {}
    for number, run in enumerate(runs):
        try:
            with redirect_stdout(io.StringIO()):  # verl says there that all is well
                launcher.prepare(run.config)
                run.step = _steps_done(run.config)
        except checks.ConfigError as error:
            problems.setdefault(str(error), []).append(number)
    if problems:
        said = [f"{_which(runs, numbers)}\n{problem}" for problem, numbers in problems.items()]
        if any("run.dir" in problem for problem in problems):
            said.append("(run.dir is in the sweep's folder: --out chooses another for all runs)")
        raise UserError("\n".join(["the sweep cannot start:", *said]))


def check_machine(runs: Sequence[PlannedRun]) -> None:
    """Look at this machine, the data and the model of each run, up to the first for which they do not do.

    Raises:
        UserError: naming that run, and why.
    """
    from pacs.integration.checks import run as checks

    for number, run in enumerate(runs):
        try:
            checks.check_model(run.config)
            checks.check_surroundings(run.config)
        except checks.ConfigError as error:
            raise UserError(f"the sweep cannot start:\n{_which(runs, [number])}\n{error}") from error


def _which(runs: Sequence[PlannedRun], numbers: Sequence[int]) -> str:
    if len(numbers) == len(runs) > 1:
        return f"each of the {len(runs)} runs:"
    first = f"run {numbers[0] + 1} of {len(runs)} ({runs[numbers[0]].label})"
    return first + (f" and {len(numbers) - 1} more:" if len(numbers) > 1 else ":")


def _steps_done(config: DictConfig) -> int:
    """The step that the run's folder has reached.

    Raises:
        ConfigError: the folder does not allow it to go on with these settings.
    """
    from pacs.integration.checks.run import ConfigError
    from pacs.integration.launch.resume import choose_checkpoint

    total = total_steps(config)
    if total is None:
        raise ConfigError([f"{TOTAL_STEPS}=null: a sweep compares runs of one length: set it."])
    folder = Path(config.run.dir)
    if (checkpoint := choose_checkpoint(copy.deepcopy(config))) is not None:
        step = checkpoint.step
    else:
        state, progress = read_state(folder), read_progress(folder)
        if state is None or state.state != "finished" or progress is None or progress.step < total:
            return 0
        step = progress.step
        # It was not saved (trainer.save_freq below 1), so that nothing else knows what it was trained with.
        before = OmegaConf.load(RunFolder(folder).config)
        assert isinstance(before, DictConfig)
        if changes := algorithm_changes(with_new_keys(plain(before)), config):
            raise ConfigError([*changes, f"{folder} has a finished run of these other settings: give another --out."])
    if step > total:  # the model at `total` is no longer there
        problem = f"{TOTAL_STEPS}={total}: {folder} has trained to step {step}"
        raise ConfigError([f"{problem}: raise it, or give another --out."])
    return step


def take_results(
    runs: Sequence[PlannedRun], files: Iterable[Path], tasks: Sequence[Task], max_tokens: int | None = None
) -> None:
    """Take runs that are finished in `files`, and not here, as they are there; the others are left as they are.

    Args:
        runs: of the sweep; `elsewhere` of those that are found is set.
        files: results.json of the same sweep; of a run that is in several, the first counts.
        tasks: that each run is to be evaluated on.
        max_tokens: of a response in the evaluation; None: that does not matter.

    Raises:
        UserError: a file cannot be read or is of another sweep; a run of it has other settings, or lacks an evaluation.
    """
    for file in files:
        results = read(file)
        finished = {one["name"]: one for one in results["runs"] if one["state"] == "finished"}
        if finished and not any(run.folder.name in finished for run in runs):
            raise UserError(f"--results {file}: none of its runs is one of these: give a results.json of this sweep")
        for run in runs:
            there = finished.get(run.folder.name)
            if there is None or run.is_finished:
                continue
            which = f"--results {file}: its run {run.folder.name}"
            ours, theirs = _decisive(redacted_command(run.command)), _decisive(there["command"])
            if ours != theirs:
                differing = ", ".join(sorted({*ours} ^ {*theirs})) or "in another order"
                raise UserError(
                    f"{which} has other settings ({differing}): give the overrides that it was trained with, as they "
                    "were, or leave the file out"
                )
            trained_with = config_of(results, there)
            if trained_with is None:
                raise UserError(f"{which} does not say what it was trained with: leave the file out, it is too old")
            # Of the same words: what they stand for may have changed between two versions of the project.
            changes = algorithm_changes(trained_with, algorithm_settings(run.config), where="there")
            if there["total_steps"] != run.total_steps:
                changes.append(f"{TOTAL_STEPS}: {there['total_steps']} there, {run.total_steps} now")
            if changes:
                raise UserError(
                    f"{which} was trained by a version with other settings ({'; '.join(changes)}): train it with this "
                    "one, or leave the file out"
                )
            for task in tasks:
                if other := _other_evaluation(there["evaluation"].get(task.name, {}), task, max_tokens):
                    raise UserError(
                        f"{which} is {other}: evaluate it where it was trained, give --samples and --max-tokens as "
                        "they were there, or leave the task out (--tasks)"
                    )
            run.elsewhere = {**there, "config": trained_with, "label": run.label, "folder": str(run.folder)}


def _other_evaluation(about: Mapping[str, Any], task: Task, max_tokens: int | None) -> str | None:
    """What an evaluation was that is not the one asked for; None: it is that, as far as an older file says it."""
    samples, tokens, data = (about.get(name) for name in ("samples", "max_tokens", "data_sha256"))
    if samples != task.samples:
        found = "not evaluated" if samples is None else f"evaluated by {samples} samples a problem"
        return f"{found} on {task.name}, and {task.samples} are asked for"
    if max_tokens is not None and tokens not in (None, max_tokens):
        return f"evaluated with --max-tokens {tokens} on {task.name}, and {max_tokens} are asked for"
    if data is not None and task.file.is_file() and not _is_same_data(about, task.file):
        return f"evaluated on other data of {task.name} than {task.file} has"
    return None


def _is_same_data(about: Mapping[str, Any], file: Path) -> bool:
    """Whether a file has the problems of an evaluation; another version of pyarrow writes them in other bytes."""
    if file_sha256(file) == about["data_sha256"]:
        return True
    return about.get("problems_sha256") == problems_sha256(load_problems(file))


def _decisive(command: Sequence[Any]) -> list[str]:
    """The words of a run's command that decide its results: not its folder, its name or how it is calculated."""
    return [word for word in map(str, command) if _decides(word.split("=")[0].lstrip("+~"))]


def _decides(key: str) -> bool:
    return key not in OURS and (counts(key) or key.startswith(OF_VALIDATION))
