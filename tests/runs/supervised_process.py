"""A launcher whose driver does what it is told, without Ray: python supervised_process.py RUN_DIR WHAT."""

import subprocess
import sys
import time
from pathlib import Path

from pacs.runs import stacks
from pacs.runs.settings import FaultSettings
from pacs.runs.state import Progress, write_progress
from pacs.runs.supervisor import STOP_REQUEST, supervise
from pacs.runs.watchdog import Watchdog

run_dir, what = Path(sys.argv[1]), sys.argv[2]


def note(step: int, phase: str) -> None:
    write_progress(run_dir, Progress(step, 9, phase))


def drive() -> None:
    """Leave a process in a session of its own and a segment that nobody frees, as a run that is cut off does."""
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    subprocess.run(
        [
            sys.executable,
            "-c",
            "from multiprocessing import resource_tracker, shared_memory as s; m = s.SharedMemory(None, True, 9); "
            "resource_tracker.unregister(m._name, 'shared_memory')",
        ],
        check=True,
    )
    if what == "finish":
        note(9, "end")
        return
    if what == "raise":
        raise RuntimeError("the cause\nand its traceback")
    if what == "hang":
        stacks.register()
        child = "from pacs.runs import stacks; stacks.register()\ndef never_answered(): __import__('time').sleep(300)\n"
        subprocess.Popen([sys.executable, "-c", child + "never_answered()"])
        Watchdog(run_dir, FaultSettings(no_progress_seconds=3)).start()
    note(3, "start" if what == "starting" else "rollouts")
    while not ((run_dir / STOP_REQUEST).exists() and what == "obey"):
        time.sleep(0.05)
    note(4, "stopped")


if __name__ == "__main__":
    run_dir.mkdir(exist_ok=True)
    sys.exit(supervise(drive, run_dir, run_dir / "checkpoints", resumed_from=None))
