"""A server of processes and what it forks, as the program that asked for them sees them: see `isolation`."""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import ORIGINAL_DIR  # type: ignore[attr-defined]
from typing import Any, Final

import psutil

#: A server imports its module first: seconds, on a busy machine many.
START_SECONDS: Final = 120.0
# A ninth of the processor time that a process with the usual priority gets.
_LOWER_PRIORITY: Final = 10


class IsolationError(Exception):
    """No process can be had."""


class Worker:
    """A process, and the connection to it."""

    def __init__(self, pid: int, connection: Connection) -> None:
        self.connection = connection
        self._process = psutil.Process(pid)  # which is never taken for a later one of the same number
        self.lowered = False

    def processor_seconds(self) -> float:
        """Used since its start; infinitely many if it is dead."""
        with suppress(psutil.NoSuchProcess):
            times = self._process.cpu_times()
            return float(times.user + times.system)
        return float("inf")

    def lower_priority(self) -> None:
        """For good: the system does not let it be raised again."""
        if not self.lowered:
            self.lowered = True
            with suppress(psutil.NoSuchProcess):
                self._process.nice(min(self._process.nice() + _LOWER_PRIORITY, 19))

    def end(self) -> None:
        """Whatever it does."""
        self.connection.close()
        with suppress(psutil.NoSuchProcess):
            self._process.kill()


class Server:
    """The process that forks the others."""

    def __init__(self, module: str) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START_SECONDS)
        # Relative entries, such as that of `python -c`, are meant from where this process was started.
        path = os.pathsep.join(os.path.join(ORIGINAL_DIR or "", entry) for entry in sys.path)  # noqa: PTH118
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pacs.rewards.isolation_server", module, str(os.getpid())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )
        try:
            said = self._channel.recv(4096).decode() or "it died; what it printed is above"
        except OSError as error:
            said = str(error)
        if said != "ready":
            self.end()
            raise IsolationError(f"no process for {module} came up within {START_SECONDS:.0f} s: {said}")

    def fork(self, limits: dict[str, Any]) -> Worker:
        """A new process. Raises OSError or EOFError if the server is dead, NoSuchProcess if the new one is."""
        with self._lock:
            self._channel.send(json.dumps(limits).encode())
            said, descriptors, _, _ = socket.recv_fds(self._channel, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        if not said:
            raise EOFError
        if not descriptors:
            raise IsolationError(f"no process can be forked: {said.decode()}")
        return Worker(int(said), Connection(descriptors[0]))

    def end(self) -> None:
        """End it, and with it its processes."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """It is another process's."""
        self._channel.close()
        self._process.returncode = 0  # not to be waited for here
