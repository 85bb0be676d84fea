"""The caller's side of the sandbox: give a program its input, get its output.

No right output is ever sent there, and nothing that depends on one: each request is the same.
"""

import json
import os
import signal
import site
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal, Self

from pacs.rewards.sandbox.limits import WALL_FACTOR, Limits, Refused

_PACKAGE_ROOT: Final = str(Path(__file__).parents[3])
# The server ends a test in time; beyond this it is the server that hangs (or a machine too busy to start it).
_GRACE_SECONDS: Final = 60.0


class SandboxError(RuntimeError):
    """The sandbox, not the program in it, has failed."""


@dataclass(frozen=True)
class Outcome:
    """What a program did with an input.

    Attributes:
        ended: `exited`: by itself; `failed`: with an exception, a status or a signal; `timeout`: it took too long.
        output: what it wrote to standard output, or returned, as JSON; None if that is longer than was to be read.
    """

    ended: Literal["exited", "failed", "timeout"]
    output: bytes | None


class Sandbox:
    """Runs one program again and again, each time from its start, in a process of its own. A context manager.

    Of the caller's surroundings the program has nothing: no environment, no open file, no network; it can read Python
    and its packages. May be used in any thread.
    """

    def __init__(self, code: str, function: str | None, limits: Limits) -> None:
        """Start the server.

        Args:
            code: the program, in Python.
            function: the function, or method of the class Solution, to call; None: the program is a script.
            limits: of each run.

        Raises:
            OSError: If no process can be started.
        """
        self._limits = limits
        task = {"code": code, "function": function, "limits": asdict(limits), "packages": site.getsitepackages()}
        self._channel, servers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with servers, _memory(json.dumps(task).encode()) as file:
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-P", "-S", "-m", "pacs.rewards.sandbox.server", str(servers.fileno())],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[servers.fileno()],
                cwd="/",
                env=_environment(),
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._channel.close()
        self._kill()
        self._process.communicate()

    def run(self, text: str, *, longest_bytes: int, seconds: float) -> Outcome:
        """Run the program once. It can know nothing of what is here but the text.

        Args:
            text: its standard input; for a function, its arguments: one JSON a line.
            longest_bytes: the longest output that is read.
            seconds: the most that it may take on the clock, besides its limits. After these nothing more can be run.

        Raises:
            Refused: If this machine cannot hold programs as it must.
            SandboxError: If the sandbox fails.
        """
        with _memory(text.encode()) as given, _memory(b"") as taken:
            of_server = WALL_FACTOR * self._limits.cpu_seconds + _GRACE_SECONDS
            self._channel.settimeout(min(seconds, of_server))
            try:
                socket.send_fds(self._channel, [b"run"], [given.fileno(), taken.fileno()])
                reply: dict[str, Any] = json.loads(self._channel.recv(4096) or '{"broken": "it died"}')
            except TimeoutError as error:
                if seconds <= of_server:
                    self._kill()
                    return Outcome("timeout", b"")
                reply = {"broken": str(error)}
            except OSError as error:
                reply = {"broken": str(error)}
            if "refused" in reply:
                raise Refused(reply["refused"])
            if "broken" in reply:
                self._kill()
                assert self._process.stderr is not None
                said = self._process.stderr.read().decode(errors="replace").splitlines()
                raise SandboxError("; ".join([reply["broken"], *said[-1:]]))
            if os.fstat(taken.fileno()).st_size > longest_bytes:
                return Outcome(reply["ended"], None)
            taken.seek(0)
            return Outcome(reply["ended"], taken.read())

    def _kill(self) -> None:
        """End the server, and a test that may be running: it cannot leave their process group."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


@contextmanager
def _memory(content: bytes) -> Iterator[IO[bytes]]:
    """A file that is in memory alone, at its beginning."""
    with os.fdopen(os.memfd_create("pacs"), "w+b") as file:
        file.write(content)
        file.seek(0)
        yield file


def _environment() -> dict[str, str]:
    """Nothing of the caller's but where Python finds its libraries; the same order of sets in every run."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return kept | {
        "PYTHONPATH": _PACKAGE_ROOT,
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",  # each would take 64 MiB of a program's address space
    }
