"""What a command leaves behind."""

import subprocess
import sys

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
