"""The driver of a run, a program: it imports verl and Ray while the launcher is still checking, then runs Ray's job.

python -m pacs.integration.launch.driver RUN_DIR ...     (by the launcher, see pacs.runs.supervisor)
"""

from collections.abc import Callable
from pathlib import Path

from pacs.runs.driver import run_driver


def load() -> Callable[[Path], None]:
    """What drives a run in its folder; its imports take seconds."""
    from pacs.integration.launch.job import drive

    return drive


if __name__ == "__main__":
    run_driver(load)
