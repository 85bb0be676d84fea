"""Every run of a sweep is checked before the first of them is started."""

import copy
import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.base.moved_keys import with_new_keys
from pacs.base.run_folder import RunFolder
from pacs.runs.state import read_progress, read_state
from pacs.sweeps.grid import PlannedRun
from pacs.verl_keys.algorithm_changes import algorithm_changes, plain
from pacs.verl_keys.config import total_steps
from pacs.verl_keys.names import TOTAL_STEPS


def check_configs(runs: Sequence[PlannedRun]) -> None:
    """Check every run's config and what its folder holds, and find how far each is.

    Raises:
        UserError: naming the runs that cannot be started, and why.
    """
    from pacs.integration import checks
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
    from pacs.integration import checks

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
    from pacs.integration.checks import ConfigError
    from pacs.integration.launch.resume import choose_checkpoint

    total = total_steps(config)
    if total is None:
        raise ConfigError([f"{TOTAL_STEPS}=null: a sweep compares runs of one length: set it."])
    checkpoint = choose_checkpoint(copy.deepcopy(config))
    folder = Path(config.run.dir)
    if checkpoint is not None:
        return _not_beyond(checkpoint.step, total, folder)
    state, progress = read_state(folder), read_progress(folder)
    if state is None or state.state != "finished" or progress is None or progress.step < total:
        return 0
    # It was not saved (trainer.save_freq below 1), so that nothing else knows what it was trained with.
    before = OmegaConf.load(RunFolder(folder).config)
    assert isinstance(before, DictConfig)
    if changes := algorithm_changes(with_new_keys(plain(before)), config):
        raise ConfigError([*changes, f"{folder} has a finished run of these other settings: give another --out."])
    return _not_beyond(progress.step, total, folder)


def _not_beyond(step: int, total: int, folder: Path) -> int:
    """The step, unless the model at `total` is no longer there."""
    from pacs.integration.checks import ConfigError

    if step > total:
        problem = f"{TOTAL_STEPS}={total}: {folder} has trained to step {step}"
        raise ConfigError([f"{problem}: raise it, or give another --out."])
    return step
