"""A driver that does what it is told, without Ray: in a process of its own, by `supervised_process`."""

import os
import subprocess
import sys
import time
from pathlib import Path

from pacs.runs import stacks
from pacs.runs.driver import run_driver
from pacs.runs.settings import FaultSettings
from pacs.runs.state import Progress, write_progress
from pacs.runs.supervisor import STOP_REQUEST
from pacs.runs.watchdog import Watchdog


def drive(run_dir: Path) -> None:
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
    what = os.environ["PACS_TEST_DRIVER"]

    def note(step: int, phase: str) -> None:
        write_progress(run_dir, Progress(step, 9, phase))

    if what == "finish":
        note(9, "end")
        return
    if what == "full":
        run_dir.rename(run_dir.with_name("gone"))  # nothing can be written there any more, as root or not
    if what in ("raise", "full"):
        raise RuntimeError("the cause\nand its traceback")
    if what == "hang":
        stacks.register()
        child = "from pacs.runs import stacks; stacks.register()\ndef never_answered(): __import__('time').sleep(300)\n"
        subprocess.Popen([sys.executable, "-c", child + "never_answered()"])
        Watchdog(run_dir, FaultSettings(no_progress_seconds=3)).start()
    note(3, "start" if what == "starting" else "rollouts")
    if what == "linger after the end":
        note(9, "end")
        time.sleep(300)
    while not ((run_dir / STOP_REQUEST).exists() and what in ("obey", "linger")):
        time.sleep(0.05)
    print("it stops")
    note(4, "stopped")
    if what == "linger":
        time.sleep(300)


if __name__ == "__main__":
    run_driver(drive)
