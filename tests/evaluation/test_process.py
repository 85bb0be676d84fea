"""What a command leaves behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from pacs.base.stops import ONE_REQUEST_SECONDS

PROGRAM = """
import multiprocessing
from pacs.evaluation.process import nothing_left
with nothing_left():
    lock = multiprocessing.get_context("spawn").Lock()
    sleeper = __import__("subprocess").Popen(["sleep", "600"])
print(sleeper.wait())
"""


def test_all_is_ended_but_the_keeper_of_ones_own_semaphores() -> None:
    """multiprocessing starts it; without it, this process would end with its complaints."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "-9\n", "")


HEEDING = """
import time
from pacs.evaluation.process import StopRequest
with StopRequest() as stop:
    print("begun", flush=True)
    while not stop.signals:
        time.sleep(0.05)
    time.sleep(3)
    print("heeded")
"""


@pytest.mark.parametrize("seconds", [0.0, ONE_REQUEST_SECONDS + 0.3])
def test_signals_at_once_are_one_request(seconds: float) -> None:
    """As a service manager sends them; one that comes later ends it at once."""
    process = subprocess.Popen(
        [sys.executable, "-c", HEEDING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGTERM)
    if seconds:
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(seconds)
    os.kill(process.pid, signal.SIGHUP)
    os.kill(process.pid, signal.SIGCONT)
    said, warned = process.communicate(timeout=60)
    assert (process.returncode, said) == ((128 + signal.SIGHUP, "") if seconds else (0, "heeded\n"))
    assert warned.count("stopping; a second signal ends it at once") == 1
