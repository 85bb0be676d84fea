"""The runs of a sweep, one after the other: trained, then evaluated."""

import sys
import time
from collections.abc import Callable, Sequence

from pacs.base.stops import Stops
from pacs.base.terminal import print
from pacs.base.units import duration
from pacs.runs.supervisor import FAILED, FINISHED, REFUSED, STOPPED
from pacs.sweeps.evaluate import Evaluation, evaluate_run
from pacs.sweeps.grid import PlannedRun


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
    clock = _Clock(runs)
    status = FINISHED
    for number, run in enumerate(runs, start=1):
        if stop.signals:
            return STOPPED
        here = not run.is_finished
        which = f"pacs sweep: run {number} of {len(runs)}: {run.label}"
        if run.elsewhere is not None:
            print(f"{which}: was trained elsewhere", flush=True)
            continue
        if run.is_finished:
            print(f"{which}: is trained already ({run.folder})", flush=True)
        else:
            print(f"{which} -> {run.folder}{clock.said()}", flush=True)
            ended = _train(run, refused)
            if ended == FINISHED:
                run.step = run.total_steps
            elif ended not in (FAILED, REFUSED):
                return ended
            clock.note(run)
        if not run.is_finished or (evaluation and not stop.signals and not evaluate_run(run, evaluation, stop)):
            status = FAILED
        if len(stop.signals) > 1:
            return 128 + stop.signals[1]
        if here:
            after_each()
    return STOPPED if stop.signals else status


def _train(run: PlannedRun, refused: dict[str, str]) -> int:
    """`pacs train` of a run; its exit status."""
    from pacs.integration import checks
    from pacs.integration.launch import launcher

    before, sys.argv = sys.argv, run.command  # for the record in run.json
    try:
        return launcher.train(run.config)
    except checks.ConfigError as error:
        refused[run.folder.name] = str(error)
        print(f"pacs sweep: the run cannot start:\n{error}", file=sys.stderr, flush=True)
        return REFUSED
    finally:
        sys.argv = before


class _Clock:
    """How long the sweep has taken, and how long it may take.

    Args:
        runs: of the sweep, as they were when it was started.
    """

    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self.started = time.monotonic()
        self.left = {run.folder: run.total_steps - run.step for run in runs if not run.is_finished}
        self.done = 0

    def note(self, run: PlannedRun) -> None:
        """A run has ended."""
        left = self.left.pop(run.folder)
        if run.is_finished:
            self.done += left

    def said(self) -> str:
        """In words, from the second run on."""
        elapsed = time.monotonic() - self.started
        if not self.done:
            return ""
        left = elapsed / self.done * sum(self.left.values())
        return f" (after {duration(elapsed)}; about {duration(left)} left)"
