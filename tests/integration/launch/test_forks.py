"""Real processes: what a killed one has forked ends with it, and what a thread has forked outlives the thread."""

import subprocess
import sys
import time

import psutil
import pytest

PARENT = """
import multiprocessing, sys, threading, time
from pacs.integration.launch.forks import end_forks_with_this_process

def fork():
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    child.start()
    print(child.pid, flush=True)

if sys.argv[1] == "ends":
    end_forks_with_this_process()
fork()
thread = threading.Thread(target=fork)
thread.start()
thread.join()
print("joined", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("ends", ["ends", "stays"])
def test_a_fork_ends_with_a_killed_process_and_not_with_a_thread(ends: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, ends], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    of_main, of_thread = (psutil.Process(int(parent.stdout.readline())) for _ in "12")
    try:
        assert parent.stdout.readline() == "joined\n"
        time.sleep(0.5)
        assert [_lives(child) for child in (of_main, of_thread)] == [True, True]
        parent.kill()
        parent.wait()
        psutil.wait_procs([of_main], timeout=5)
        assert _lives(of_main) == (ends == "stays")
    finally:
        parent.kill()
        for child in (of_main, of_thread):
            if child.is_running():
                child.kill()


def _lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
