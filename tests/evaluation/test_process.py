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
import sys, time
from pacs.evaluation.process import StopRequest
with StopRequest() as stop:
    print("begun", flush=True)
    while not stop.signals:
        time.sleep(0.05)
    time.sleep(float(sys.argv[1]))
    print("heeded")
"""


@pytest.mark.parametrize("later", [False, True])
def test_signals_at_once_are_one_request(later: bool) -> None:
    """As a service manager sends them; one that comes later ends it at once."""
    command = [sys.executable, "-c", HEEDING, "60" if later else "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "begun\n"
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGTERM)
    warned = ""
    if later:
        os.kill(process.pid, signal.SIGCONT)
        warned = process.stderr.readline() + process.stderr.readline()  # the first is empty
        time.sleep(ONE_REQUEST_SECONDS + 0.3)
    os.kill(process.pid, signal.SIGHUP)
    os.kill(process.pid, signal.SIGCONT)
    said, more = process.communicate(timeout=50)
    assert (process.returncode, said) == ((128 + signal.SIGHUP, "") if later else (0, "heeded\n"))
    assert (warned + more).count("stopping; a second signal ends it at once") == 1
