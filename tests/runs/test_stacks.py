"""The stacks of a process that runs while they are written."""

import os
import subprocess
import sys
from pathlib import Path

from pacs.runs.processes import RUN_DIR, TOKEN

#: The frames of a deep recursion are in blocks that Python frees as it returns: who reads them meanwhile, crashes.
BUSY = """
import ctypes, os, sys, threading
from pathlib import Path
from pacs.runs import stacks

def deeper(depth):
    return depth and deeper(depth - 1)

def never_at_rest():
    while True:
        deeper(600)

def ask():
    for _ in range(30):
        file = stacks.dump_on_this_node(Path(os.environ["PACS_RUN_DIR"]), "no other process", wait_seconds=0)
    print(file.read_text(), flush=True)
    os._exit(0)

stacks.register()
threading.Thread(target=never_at_rest, daemon=True).start()
threading.Thread(target=ask).start()
ctypes.CDLL(None).sleep(120)
"""


def test_a_process_whose_threads_run_outlives_the_writing_of_its_stacks(tmp_path: Path) -> None:
    environment = os.environ | {RUN_DIR: str(tmp_path), TOKEN: "a start"}
    busy = subprocess.run(
        [sys.executable, "-c", BUSY], env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert busy.returncode == 0, busy.stderr
    for function in ("deeper", "ask", "<module>"):
        assert f"in {function}\n" in busy.stdout
