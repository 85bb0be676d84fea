"""What tested programs are kept from: every attempt is made by a real program, in the sandbox and outside."""

import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from pacs.rewards.sandbox.limits import OPEN_FILES, Limits
from pacs.rewards.sandbox.sandbox import Outcome, Sandbox, SandboxError
from pacs.rewards.sandbox.server import MAX_THREADS
from tests.processes import children_with

LIMITS = Limits(cpu_seconds=2, memory_mib=1024)


def run(code: str, *, limits: Limits = LIMITS, seconds: float = 60.0) -> Outcome:
    with Sandbox(textwrap.dedent(code), None, limits) as sandbox:
        return sandbox.run("", longest_bytes=2**20, seconds=seconds)


def printed(code: str) -> str:
    """What a program prints that ends well."""
    outcome = run(code)
    assert outcome.ended == "exited"
    assert outcome.output is not None
    return outcome.output.decode().strip()


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    yield
    assert children_with("sandbox", recursive=True) == []


NETWORK = {
    "connect": "import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)",
    "udp": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "netlink": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "unix": "import socket; socket.socket(socket.AF_UNIX)",
    "pair": "import socket; socket.socketpair()",
}
PROCESSES = {
    "fork": "import os; os.fork() or os._exit(0); os.wait()",
    "run": "import subprocess; subprocess.run(['true'], check=True)",
    "spawn": "import os; os.waitpid(os.posix_spawn('/bin/true', ['true'], {{}}), 0)",
    "exec": "import os; os.execv('/bin/echo', ['echo', 'DONE'])",
    "pool": "import multiprocessing; multiprocessing.Pool(1).map(abs, [1])",
    "session": "import os; os.setsid()",
    "group": "import os; os.setpgid(0, 0)",
    "signal": "import os; os.kill({victim}, 0)",
    "signal_by_handle": "import os, signal; signal.pidfd_send_signal(os.pidfd_open({victim}), 0)",
    "signal_by_file": "import fcntl; fcntl.fcntl(0, fcntl.F_SETOWN, {victim})",
    "priority": "import os; os.setpriority(os.PRIO_PROCESS, {victim}, 19)",
    "cores": "import os; os.sched_setaffinity({victim}, os.sched_getaffinity({victim}))",
    "limits": "import resource as r; r.prlimit({victim}, r.RLIMIT_CORE, (0, 0))",
    "own_limits": "import resource as r; r.setrlimit(r.RLIMIT_AS, (2**42, 2**42))",
    "environment": "open('/proc/{victim}/environ').read()",
    "command_line": "open('/proc/{victim}/cmdline').read()",
    "parent": "import os; open('/proc/%d/environ' % os.getppid()).read()",
    "list": "import os; os.listdir('/proc')",
    "namespace": "import ctypes; ctypes.CDLL(None, use_errno=True).unshare(0x200) and print(1 / 0)",
    "io_uring": "import ctypes; ctypes.CDLL(None).syscall(425, 1, (ctypes.c_char * 120)()) < 0 and print(1 / 0)",
}
FILES = {
    "read": "open('{folder}/secret').read()",
    "list": "import os; os.listdir('{folder}')",
    "write": "open('{folder}/secret', 'a').write('x')",
    "make": "open('{folder}/new', 'x')",
    "temporary": "import tempfile; tempfile.TemporaryFile()",
    "shared_memory": "import multiprocessing.shared_memory as m; m.SharedMemory(create=True, size=1).unlink()",
    "in_memory": "import os; os.memfd_create('x')",
    "truncate": "import os; os.truncate('{folder}/secret', 0)",
    "truncate_by_open": "import os; os.open('{folder}/secret', os.O_RDONLY | os.O_TRUNC)",
    "remove": "import os; os.remove('{folder}/secret')",
    "rename": "import os; os.rename('{folder}/secret', '{folder}/other')",
    "link": "import os; os.link('{folder}/secret', '{folder}/other')",
    "symbolic_link": "import os; os.symlink('/', '{folder}/other')",
    "make_folder": "import os; os.mkdir('{folder}/new')",
    "remove_folder": "import os; os.rmdir('{folder}/empty')",
    "mode": "import os; os.chmod('{folder}/secret', 0)",
    "times": "import os; os.utime('{folder}/secret')",
    "attribute": "import os; os.setxattr('{folder}/secret', 'user.x', b'x')",
}


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(code, id=f"{kind}-{name}")
        for kind, attempts in (("network", NETWORK), ("processes", PROCESSES), ("files", FILES))
        for name, code in attempts.items()
    ],
)
def test_what_a_program_cannot_do(attempt: str, tmp_path: Path) -> None:
    """Outside the same program does it, so that it is the sandbox that stops it; skipped where it cannot."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "secret").write_text("42")
    before = state(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(["sleep", "100"]) as victim:
        code = attempt.format(port=server.getsockname()[1], victim=victim.pid, folder=tmp_path) + "\nprint('DONE')"
        outcome = run(code)
        assert outcome.ended == "failed"
        assert outcome.output is not None
        assert b"DONE" not in outcome.output
        assert state(tmp_path) == before
        command = [sys.executable, "-c", code]
        outside = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, text=True, check=False)
        victim.kill()
    if "DONE" not in outside.stdout:
        pytest.skip(f"not possible here outside either: {outside.stderr.splitlines()[-1]}")


def state(folder: Path) -> list[tuple[object, ...]]:
    """Every file with its content and all that the system knows of it, but when it was read."""
    found = []
    for path in sorted(folder.rglob("*")):
        status = path.stat()
        known = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_nlink)
        found.append((path.name, path.read_text() if path.is_file() else "", known))
    return found


def test_a_program_sees_nothing_of_the_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No environment, no open file (of a caller that has many), no argument, no folder."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path))
    with ExitStack() as files:
        for number in range(100):
            file = files.enter_context((tmp_path / f"open{number}").open("w"))
            os.set_inheritable(file.fileno(), True)
        seen = json.loads(
            printed("""
            import json, os, sys
            def is_open(number):
                try:
                    return bool(os.fstat(number))
                except OSError:
                    return False
            print(json.dumps([dict(os.environ), [n for n in range(1000) if is_open(n)], sys.argv, os.getcwd()]))
            """)
        )
    allowed = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    if "LD_LIBRARY_PATH" in os.environ:
        allowed["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    environment, *others = seen
    assert environment == allowed | {name: value for name, value in environment.items() if name == "LC_CTYPE"}
    assert others == [[0, 1, 2], ["solution.py"], "/"]


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("while True: pass", "timeout"),
        ("import time; time.sleep(1000)", "timeout"),
        ("import threading; threading.Event().wait()", "timeout"),
        ("import signal\nfor s in (15, 24): signal.signal(s, signal.SIG_IGN)\nwhile True: pass", "timeout"),
        ("while True: print('x' * 1000)", "failed"),
        ("import sys\nwhile True: sys.stderr.write('x' * 1000)", "timeout"),
        ("x = bytearray(100 * 2**30)", "failed"),
        ("x = []\nwhile True: x.append(' ' * 2**20)", "failed"),
        ("import mmap; mmap.mmap(-1, 2**30)", "failed"),
        ("f = lambda x: f(x + 1)\nf(0)", "failed"),
        (
            "import functools\nf = functools.cache(lambda x: f(x + 1))\nimport sys\nsys.setrecursionlimit(10**9)\nf(0)",
            "failed",
        ),
        ("import ctypes; ctypes.string_at(0)", "failed"),
        ("import os; os.abort()", "failed"),
        ("import os; os._exit(1)", "failed"),
        ("raise KeyboardInterrupt", "failed"),
        ("raise BaseException", "failed"),
        ("this is no Python", "failed"),
        ("x = '\\0'\0", "failed"),
        ("(" * 5000 + ")" * 5000, "failed"),
        ("-" * 10**6 + "1", "failed"),
        ("import os; os._exit(0)", "exited"),
        ("import os; os.close(0); os.close(1); os.close(2)", "exited"),
        ("import sys; sys.exit('as in LiveCodeBench')", "exited"),
        ("quit()", "exited"),
        ("", "exited"),
    ],
)
def test_how_programs_end(code: str, ended: str) -> None:
    """The machine and the caller go on, and so does the sandbox: see `nothing_is_left_running`."""
    assert run(code, limits=Limits(1, 256), seconds=2.0 if ended == "timeout" else 60.0).ended == ended


def test_output_is_cut_at_its_bound() -> None:
    """What a program can write is one matter, what the caller reads another."""
    code = "import os\nwhile True: os.write(1, b'x' * 999)"
    with Sandbox(code, None, Limits(2, 1024, output_mib=3)) as sandbox:
        for longest, output in ((3 * 2**20, b"x" * 3 * 2**20), (3 * 2**20 - 1, None), (0, None)):
            assert sandbox.run("", longest_bytes=longest, seconds=60.0) == Outcome("failed", output)


def test_a_file_with_a_hole_is_as_long_as_it_says() -> None:
    code = "import os\nos.lseek(1, 2**20, 0)\nos.write(1, b'x')"
    assert run(code) == Outcome("exited", None)
    assert run(code.replace("2**20", "2**40")).ended == "failed"


def test_a_program_that_sleeps_is_ended_by_the_server_and_by_the_caller() -> None:
    """By the server in 5 times the limit of processor time, which leaves the sandbox for more; by the caller sooner."""
    code = "import time\nif input(): time.sleep(1000)"
    with Sandbox(code, None, Limits(1, 1024)) as sandbox:
        assert sandbox.run("x", longest_bytes=0, seconds=60.0).ended == "timeout"
        assert sandbox.run("\n", longest_bytes=0, seconds=60.0).ended == "exited"
        assert sandbox.run("x", longest_bytes=0, seconds=0.5).ended == "timeout"
        with pytest.raises(SandboxError):
            sandbox.run("\n", longest_bytes=0, seconds=60.0)


def test_threads_are_allowed_up_to_a_number() -> None:
    code = """
    import threading
    end = threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range({})]
    for thread in threads: thread.start()
    end.wait(1); end.set()
    for thread in threads: thread.join()
    """
    assert run(code.format(MAX_THREADS - 1)).ended == "exited"
    assert run(code.format(MAX_THREADS + 1)).ended == "failed"
    assert (
        run("import threading\nwhile True: threading.Thread(target=threading.Event().wait).start()").ended == "failed"
    )


def test_open_files_are_limited() -> None:
    code = """
    import os
    opened = 0
    try:
        while True:
            os.dup(0)
            opened += 1
    except OSError:
        print(opened)
    """
    assert int(printed(code)) == OPEN_FILES - 3


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 itself ends nested calls of C code")
def test_calls_that_the_usual_stack_of_8_mib_would_not_carry() -> None:
    code = """
    import functools, sys
    sys.setrecursionlimit(10**6)
    @functools.lru_cache(None)
    def depth(n): return 1 + depth(n - 1) if n else 0
    print(depth(100_000))
    """
    assert printed(code) == "100000"


def test_a_thread_with_a_large_stack() -> None:
    code = """
    import sys, threading
    sys.setrecursionlimit(10**6)
    threading.stack_size(2**28)
    def depth(n): return 1 + depth(n - 1) if n else 0
    thread = threading.Thread(target=lambda: print(depth(100_000)))
    thread.start()
    """
    assert printed(code) == "100000"


@pytest.mark.parametrize(
    "code",
    [
        "import atexit, sys; atexit.register(lambda: print('end')); sys.exit()",
        "import threading, time; threading.Thread(target=lambda: (time.sleep(0.2), print('end'))).start()",
        "file = open(1, 'w', closefd=False); file.write('end')",
        "import io, os, sys\nsys.stdout = io.StringIO()\nprint('end')\nsys.__stdout__.write(sys.stdout.getvalue())",
        "import sys; sys.stdout.buffer.write(b'end')",
        "print(open('/dev/stdin').read() + open(0).read() + 'end')",
        "import numpy; print('end' if numpy.eye(100).dot(numpy.ones(100)).sum() == 100 else numpy)",
        "import decimal, fractions, sqlite3, zoneinfo, hashlib, random, uuid, queue\nprint('end')",
        "print(deque(['end'])[0])",  # as in LiveCodeBench, the usual names need no import
        "if __name__ == '__main__':\n    import __main__; __main__.print('end')",
        "from __future__ import annotations\nimport dataclasses as d\n@d.dataclass\nclass A: x: str\nprint(A('end').x)",
    ],
)
def test_what_scripts_rely_on(code: str) -> None:
    assert printed(code) == "end"


def test_sets_have_one_order_in_every_run() -> None:
    code = "print(*{str(i) for i in range(100)})"
    assert printed(code) == printed(code)


def test_one_run_leaves_nothing_to_the_next() -> None:
    with Sandbox("import sys, math\nprint(math.pi)\nmath.pi = sys.stdin.read()", None, LIMITS) as sandbox:
        outputs = [sandbox.run(text, longest_bytes=100, seconds=60.0).output for text in ("1", "2")]
    assert outputs == [b"3.141592653589793\n"] * 2


def test_a_function_cannot_give_an_object_for_an_answer() -> None:
    code = """
    class Answer(int):
        def __eq__(self, other): return True
        __repr__ = lambda self: '42'
    class Solution:
        def number(self, x): return Answer(7)
        def thing(self, x): return {Answer(7)}
        def printed(self, x): print('[42]'); return [7, (8, None), 'é']
    """
    for function, outcome in (
        ("number", Outcome("exited", b"7")),
        ("thing", Outcome("failed", b"")),
        ("printed", Outcome("exited", '[7, [8, null], "é"]'.encode())),
    ):
        with Sandbox(textwrap.dedent(code), function, LIMITS) as sandbox:
            assert sandbox.run("0", longest_bytes=100, seconds=60.0) == outcome


def score_if_out_of_memory(process: psutil.Process) -> str:
    return Path(f"/proc/{process.pid}/oom_score_adj").read_text().strip()


def test_the_caller_is_killed_and_the_program_ends() -> None:
    caller = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from pacs.rewards.sandbox.sandbox import *\n"
            "with Sandbox('while True: pass', None, Limits(100, 1024)) as sandbox:\n"
            "    print(flush=True)\n"
            "    sandbox.run('', longest_bytes=1, seconds=100)",
        ],
        stdout=subprocess.PIPE,
    )
    assert caller.stdout is not None
    caller.stdout.readline()
    # The server and the program, which is the first that the kernel would end where memory runs out.
    while "1000" not in map(score_if_out_of_memory, started := psutil.Process(caller.pid).children(recursive=True)):
        time.sleep(0.01)
    assert len(started) == 2
    caller.kill()
    caller.communicate()
    assert psutil.wait_procs(started, timeout=30)[1] == []


def test_a_server_that_dies_is_an_error() -> None:
    with Sandbox("", None, LIMITS) as sandbox:
        sandbox._process.kill()
        with pytest.raises(SandboxError, match=r"it died|Broken pipe|reset"):
            sandbox.run("", longest_bytes=1, seconds=60.0)
