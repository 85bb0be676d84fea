"""verl's task runner, in a process that knows the PACS trainer and says why it ends."""

import time
from pathlib import Path

import ray
from omegaconf import DictConfig
from verl.trainer.main_ppo import TaskRunnerV1

from pacs.runs.state import read_fault, report_fault

#: How long the monitor is given to name the process whose death made a call fail.
MONITOR_SECONDS = 5.0


class PacsTaskRunner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[misc]
    """Registers the PACS trainer with verl before verl looks it up."""

    def run(self, config: DictConfig) -> None:
        """Build the trainer and train."""
        # verl only logs an entry point that fails, at debug level; here its error is the run's.
        import pacs.integration.plugin
        import pacs.integration.trainer  # noqa: F401 (registers `pacs`)

        run_dir = Path(config.pacs.run_dir)
        try:
            super().run(config)
        except Exception as error:
            deadline = time.monotonic() + (MONITOR_SECONDS if is_death(error) else 0)
            while read_fault(run_dir) is None and time.monotonic() < deadline:
                time.sleep(0.1)
            report_fault(run_dir, cause_of(error))
            raise


def is_death(error: Exception) -> bool:
    """Whether a call failed because the process that was to answer it is dead."""
    return isinstance(getattr(error, "cause", error), ray.exceptions.RayActorError)


def cause_of(error: Exception) -> str:
    """An exception in a line; for one that was raised in an actor, that one and where."""
    cause = getattr(error, "cause", None) or error
    text = f"{type(cause).__name__}: {cause}"
    # Ray's exceptions end with what was raised, after the traceback.
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0] if len(lines) == 1 or not isinstance(cause, ray.exceptions.RayError) else lines[-1]
