"""The program that forks the processes of `isolation`: it has imported what their work needs, and does nothing else.

It runs by itself and knows nothing of the program that started it, whose main module it must not run again.
"""

import gc
import importlib
import json
import math
import os
import pickle
import resource
import signal
import socket
import sys
from multiprocessing.connection import Connection
from typing import Any, Final

from pacs.rewards.sandbox import libc
from pacs.rewards.sandbox.limits import set_limit

# How often it looks whether its parent lives. The end of the connection says so at once, unless a fork of the parent
# holds it too.
_LOOK_SECONDS: Final = 1.0


def main() -> None:
    """Fork a process for every message, until the parent ends. Arguments: the module to import, the parent's pid."""
    module, parent = sys.argv[1], int(sys.argv[2])
    # For the parent to handle, which kills what is to end.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP))
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        importlib.import_module(module)
    except Exception as error:
        channel.send(f"{type(error).__name__}: {error}"[:4096].encode())
        raise
    channel.send(b"ready")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    gc.freeze()
    channel.settimeout(_LOOK_SECONDS)
    while os.getppid() == parent:
        try:
            message = channel.recv(4096)
        except TimeoutError:
            continue
        if not message:
            return
        _fork(channel, **json.loads(message))


def _fork(channel: socket.socket, *, timeout_seconds: float, memory_mib: int, **_: Any) -> None:
    server = os.getpid()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            pid = os.fork()
        except OSError as error:
            channel.send(str(error).encode())
            return
        if pid:
            socket.send_fds(channel, [str(pid).encode()], [theirs.fileno()])
            return
        try:
            channel.close()
            theirs.close()
            libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == server:
                _work(Connection(ours.detach()), timeout_seconds, memory_mib)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)


def _work(connection: Connection, timeout_seconds: float, memory_mib: int) -> None:
    """Do one piece of work after another, until the other side hangs up."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_AS, memory_mib * 2**20)
    while True:
        try:
            work = connection.recv_bytes()
            connection.send_bytes(b"begun")
        except (EOFError, ConnectionError):
            return
        # The limit of processor time ends it even if nobody is left who would.
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = math.ceil(used.ru_utime + used.ru_stime + timeout_seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        connection.send_bytes(_done(work))


def _done(work: bytes) -> bytes:
    """Whether it succeeded, and the result or the exception; pickled, so that it can be read again."""
    try:
        function, arguments = pickle.loads(work)
        return pickle.dumps((True, function(*arguments)))
    except Exception as error:
        raised = error
    try:
        answer = pickle.dumps((False, raised))
        pickle.loads(answer)
    except Exception:
        return pickle.dumps((False, RuntimeError(f"{type(raised).__name__}: {raised}")))
    return answer


if __name__ == "__main__":
    main()
