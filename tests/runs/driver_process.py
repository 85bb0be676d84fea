"""A driver that does what it is told, without Ray: in a process of its own, by `supervised_process`."""

import os
import subprocess
import sys
import time
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from pacs.base.run_folder import RunFolder
from pacs.integration.trainer.run_log import RunLog
from pacs.runs import stacks
from pacs.runs.clearing import TEMPORARY
from pacs.runs.driver import Watchdog, run_driver
from pacs.runs.settings import FaultSettings
from pacs.runs.state import Progress, write_progress


def fill_up(run_dir: Path, take: bool) -> None:
    """Log until the disk is full, as another program fills it; `take`: which also takes what becomes free."""
    code = "while True:\n try: open(sys.argv[1], 'ab', 0).write(bytes(1 << 16))\n except OSError: pass"
    filler = str(run_dir.parent / "filler")
    if take:
        subprocess.Popen([sys.executable, "-c", f"import sys\n{code}", filler])
    else:
        subprocess.run(f"head -c {1 << 40} /dev/zero > {filler}", shell=True, check=False, stderr=subprocess.DEVNULL)
    log = RunLog(run_dir / "metrics.jsonl", resumed_step=0, total_steps=9)
    for step in range(1 << 30):
        log.log({"loss": 0.5}, step)


def drive(run_dir: Path) -> None:
    """Leave a process in a session of its own and a segment that nobody frees, as a run that is cut off does."""
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    segment = SharedMemory(create=True, size=9)
    resource_tracker.unregister(f"/{segment.name}", "shared_memory")
    what = os.environ["PACS_TEST_DRIVER"]

    def note(step: int, phase: str) -> None:
        write_progress(run_dir, Progress(step, 9, phase))

    if what == "finish":
        note(9, "end")
        return
    if what == "full":
        run_dir.rename(run_dir.with_name("gone"))  # nothing can be written there any more, as root or not
    Path(os.environ[TEMPORARY], "left").write_text(segment.name)
    if what == "shout":
        raise RuntimeError("a long cause " * 20_000)  # several times what a pipe holds
    if what in ("log", "take"):
        fill_up(run_dir, "take" in what)
    if what == "engine":
        print(
            "(vLLMHttpServer pid=9) (EngineCore pid=10) ERROR 11-29 17:23:41 [core.py:1348] ValueError: of the engine"
        )
    if what in ("raise", "full", "engine"):
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
    print("pacs: a line that nobody flushes")
    while not ((run_dir / RunFolder.STOP).exists() and what in ("obey", "linger")):
        time.sleep(0.05)
    print("it stops")
    note(4, "stopped")
    if what == "linger":
        time.sleep(300)


if __name__ == "__main__":
    run_driver(lambda: drive)
