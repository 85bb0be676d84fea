"""The process that forks one more for each test, watches it and says how it ended. It runs nothing of the program.

Python and the modules that programs use are loaded once, here; a test then costs little more than a fork. A program
can read all memory that it is forked with: nothing that depends on a right output is ever here, such as a bound made
from its length, or the time that the comparison with the one before has left.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from pacs.rewards.sandbox import libc
from pacs.rewards.sandbox.limits import OPEN_FILES, WALL_FACTOR, Limits, Refused, restrict
from pacs.rewards.sandbox.program import run_function, run_script

#: Threads that a program may have. The kernel keeps no such limit: RLIMIT_NPROC counts all processes of a user, and
#: does not hold root. So they are counted while the program runs.
MAX_THREADS: Final = 64
_LOOK_EVERY_MS: Final = 10


def main() -> None:
    """Serve; in the process of a test, run the program. None of the server's frames is below it."""
    program = _serve()
    if program is not None:
        program()


def _serve() -> Callable[[], None] | None:
    """Start one test after another, until the other side hangs up. In a test's process, the program to run."""
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
    # For the caller to handle, which kills what is to end: an answer is not to be wrong because its run is stopped.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP))
    task = json.load(sys.stdin)
    channel = socket.socket(fileno=int(sys.argv[1]))
    sys.path = [path for path in sys.path if path != os.environ["PYTHONPATH"]] + task["packages"]
    del os.environ["PYTHONPATH"]
    if "numpy" in task["code"]:  # takes longer to load than most programs to run
        with suppress(ImportError):
            import numpy  # noqa: F401
    gc.freeze()  # what is here already is no garbage of a program's
    nothing = os.open(os.devnull, os.O_RDWR)
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1024, 2)
        if not message:
            return None
        child = os.fork()
        if child == 0:
            _restrict(task, channel, [*descriptors, nothing])
            if task["function"] is None:
                return partial(run_script, task["code"])
            return partial(run_function, task["code"], task["function"])
        for descriptor in descriptors:
            os.close(descriptor)
        ended = _watch(child, task["limits"]["cpu_seconds"])
        channel.send(json.dumps({"ended": ended}).encode())


def _restrict(task: dict[str, Any], channel: socket.socket, standard: list[int]) -> None:
    """Make this process the test's: its own standard files and no others, and its limits."""
    try:
        for target, descriptor in enumerate(standard):
            os.dup2(descriptor, target)
        restrict(Limits(**task["limits"]), task["packages"])
    except Exception as error:
        kind = "refused" if isinstance(error, Refused) else "broken"
        channel.send(json.dumps({kind: str(error)}).encode())
        os._exit(1)
    channel.close()  # its number is the caller's, and may be any
    os.closerange(3, OPEN_FILES)


def _watch(child: int, cpu_seconds: int) -> str:
    """Wait for a test's process, end it if it takes too much, and say how it ended: exited, failed or timeout."""
    handle = os.pidfd_open(child)
    threads = Path(f"/proc/{child}/task")
    end = select.poll()
    end.register(handle, select.POLLIN)
    deadline = time.monotonic() + WALL_FACTOR * cpu_seconds
    late = False
    while not end.poll(_LOOK_EVERY_MS):
        late = time.monotonic() > deadline
        if late or len(list(threads.iterdir())) > MAX_THREADS:
            os.kill(child, signal.SIGKILL)
    os.close(handle)
    _, status, usage = os.wait4(child, 0)
    slow = os.waitstatus_to_exitcode(status) == -signal.SIGXCPU or usage.ru_utime + usage.ru_stime >= cpu_seconds
    if late or slow:
        return "timeout"
    return "failed" if status else "exited"


if __name__ == "__main__":
    main()
