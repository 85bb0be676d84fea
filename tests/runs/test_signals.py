"""Who heeds a request to end: real processes and real signals."""

import os
import subprocess
import sys

import pytest

from pacs.runs.processes import RUN_DIR


def said(code: str, **environment: str) -> list[str]:
    env = {name: value for name, value in os.environ.items() if name != RUN_DIR} | environment
    ran = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100, check=False
    )
    return [*ran.stdout.splitlines(), str(ran.returncode)]


IGNORES = """
import multiprocessing, os, signal, subprocess, threading, time
from pacs.runs import signals

signal.pthread_sigmask(signal.SIG_BLOCK, signals.SIGNALS)  # as such a process is born
thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
thread.start()
signals.ignore()
for number in signals.SIGNALS:
    os.kill(os.getpid(), number)
for number in signals.SIGNALS:  # its children can be ended, however they were started
    child = subprocess.Popen(["sleep", "60"])
    child.send_signal(number)
    forked = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    forked.start()
    forked.terminate()
    forked.join()
    print(child.wait(), forked.exitcode, flush=True)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, -2]), flush=True)
thread = threading.Thread(target=lambda: print(subprocess.Popen(["sleep", "60"]).terminate()))
thread.start()
thread.join()
"""


def test_a_process_that_ignores_them_lets_its_children_heed_them() -> None:
    lines = said(IGNORES, **{RUN_DIR: "run"})
    assert lines == ["-15 -15", "-10 -15", "-2 -15", "-1 -15", "[1, 2]", "None", "0"]


BLOCKS = """
import os, subprocess
from pacs.runs import signals

signals.block()
for number in signals.SIGNALS:
    os.kill(os.getpid(), number)
from multiprocessing import shared_memory  # which starts a process, and lets signals through as it does
shared_memory.SharedMemory(create=True, size=1).unlink()
child = subprocess.Popen(["sleep", "1"])
for number in signals.SIGNALS:
    child.send_signal(number)
print(child.wait(), flush=True)
"""


def test_a_process_that_blocks_them_starts_others_that_do() -> None:
    assert said(BLOCKS, **{RUN_DIR: "run"}) == ["0", "0"]


@pytest.mark.parametrize("what", ["block", "ignore"])
def test_outside_a_run_they_are_heeded(what: str) -> None:
    code = f"import os; from pacs.runs import signals; signals.{what}(); os.kill(os.getpid(), 15)"
    assert said(code) == ["-15"]


LOADER = """
import subprocess
from torch.utils.data import DataLoader
from pacs.runs import signals

signals.ignore()
loader = DataLoader(range(4), num_workers=2, worker_init_fn=signals.heed_parent_alone)
with signals.blocked():
    batches = iter(loader)
workers = " ".join(str(worker.pid) for worker in batches._workers)
for name in ("TERM", "HUP", "USR1", "INT"):
    subprocess.run(f"kill -{name} {workers}", shell=True, check=True)
print([batch.item() for batch in batches], flush=True)
batches = iter(loader)
print(next(batches).item(), next(batches).item(), flush=True)  # both workers have come up
for worker in batches._workers:  # as torch does in the end
    worker.terminate()
    worker.join()
    print(worker.exitcode, flush=True)
"""


def test_the_workers_of_a_loader_live_on() -> None:
    assert said(LOADER, **{RUN_DIR: "run"}) == ["[0, 1, 2, 3]", "0 1", "0", "0", "0"]
