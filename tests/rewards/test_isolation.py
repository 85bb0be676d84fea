"""Work in processes that are killed: real ones, from threads, event loops and Ray-like parents."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from pacs.rewards import isolation
from pacs.rewards.isolation import SLOW_PER_WORKER, IsolationError, Limits, ProcessDied, isolated
from tests.processes import children_with
from tests.rewards import work

LIMITS = Limits(timeout_seconds=1.0, memory_mib=1024)


def test_the_result_comes_from_another_process() -> None:
    assert isolated(work.pid, limits=LIMITS) != os.getpid()
    assert isolated(work.double, 21, limits=LIMITS) == 42


def test_an_exception_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        isolated(work.divide, 1, 0, limits=LIMITS)


@pytest.mark.parametrize("hang", [work.sleep, work.loop, work.power])
def test_what_takes_too_long_is_killed(hang: Callable[[], None]) -> None:
    """In Python, asleep, and inside one long call of C, which no Python signal handler interrupts."""
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        isolated(hang, limits=LIMITS)
    assert time.monotonic() - began < LIMITS.timeout_seconds + 2
    assert isolated(work.double, 21, limits=LIMITS) == 42


def test_memory_is_bounded() -> None:
    with pytest.raises(MemoryError):
        isolated(work.take, 2 * 2**30, limits=LIMITS)


def test_a_process_that_dies_harms_no_other_work() -> None:
    with pytest.raises(ProcessDied, match="died at work"):
        isolated(work.die, limits=LIMITS)
    assert isolated(work.double, 21, limits=LIMITS) == 42


def test_idle_processes_that_are_killed_are_replaced() -> None:
    for _ in range(3):
        for pid in {isolated(work.pid, limits=LIMITS) for _ in range(20)}:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)
        assert isolated(work.double, 21, limits=LIMITS) == 42


def test_neighbours_of_hanging_work_get_their_results() -> None:
    with ThreadPoolExecutor(8) as threads:
        hanging = threads.submit(isolated, work.loop, limits=LIMITS)
        results = [threads.submit(isolated, work.double, i, limits=LIMITS) for i in range(50)]
        assert [result.result() for result in results] == [2 * i for i in range(50)]
        with pytest.raises(TimeoutError):
            hanging.result()


def test_from_an_event_loop_as_verl_calls() -> None:
    async def gather() -> list[int]:
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(None, lambda i=i: isolated(work.double, i, limits=LIMITS)) for i in range(20)]
        return await asyncio.gather(*calls)

    assert asyncio.run(gather()) == [2 * i for i in range(20)]


def servers() -> list[psutil.Process]:
    return children_with("pacs.rewards.isolation_server")


def test_all_processes_are_killed_and_replaced() -> None:
    """The servers with them, which fork the others."""
    isolated(work.pid, limits=LIMITS)
    for process in psutil.Process().children(recursive=True):
        process.kill()
    assert isolated(work.double, 21, limits=LIMITS) == 42


def test_a_server_that_is_killed_leaves_no_process() -> None:
    isolated(work.pid, limits=LIMITS)
    (server,) = servers()
    forked = server.children()
    assert forked
    server.kill()
    assert psutil.wait_procs(forked, timeout=30)[1] == []
    assert isolated(work.double, 21, limits=LIMITS) == 42


def test_exceptions_and_results_that_pickle_cannot_carry() -> None:
    with pytest.raises(RuntimeError, match="TwoWords: one two"):
        isolated(work.fail_in_two_words, limits=LIMITS)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        isolated(work.unpicklable, limits=LIMITS)
    assert isolated(work.double, 21, limits=LIMITS) == 42


def test_a_module_that_cannot_be_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work.double, "__module__", "tests.rewards.nowhere")
    monkeypatch.setitem(sys.modules, "tests.rewards.nowhere", work)
    with pytest.raises(IsolationError, match=r"ModuleNotFoundError: No module named 'tests\.rewards\.nowhere'"):
        isolated(work.double, 21, limits=LIMITS)


# Slow work and its neighbours.

PATIENT = Limits(timeout_seconds=60.0, memory_mib=1024, workers=1)


def test_slow_work_gives_its_place_to_the_next_and_goes_on(tmp_path: Path) -> None:
    """It is neither killed nor begun anew: what it has done so far is not lost."""
    file = tmp_path / "file"
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(isolated, work.wait_for, str(file), limits=PATIENT)
        try:
            assert [isolated(work.double, i, limits=PATIENT) for i in range(20)] == [2 * i for i in range(20)]
            assert not slow.done()
        finally:
            file.touch()
        slow.result()
    assert Path(f"{file}.starts").read_text() == "started\n"


def test_more_slow_work_than_may_go_on_waits_its_turn(tmp_path: Path) -> None:
    """One keeps the only place; the next begins when another has ended, and none is lost."""
    file = tmp_path / "file"
    starts = Path(f"{file}.starts")
    with ThreadPoolExecutor(SLOW_PER_WORKER + 2) as threads:
        slow = [threads.submit(isolated, work.wait_for, str(file), limits=PATIENT) for _ in range(SLOW_PER_WORKER + 2)]
        try:
            while not starts.exists() or starts.read_text().count("started") < SLOW_PER_WORKER + 1:
                time.sleep(0.01)
            time.sleep(1)
            assert starts.read_text().count("started") == SLOW_PER_WORKER + 1
        finally:
            file.touch()
        pids = [call.result() for call in slow]
    assert len(pids) == SLOW_PER_WORKER + 2
    assert isolated(work.double, 21, limits=PATIENT) == 42


def test_only_slow_work_that_computes_has_a_lower_priority(tmp_path: Path) -> None:
    """Work on a busy machine may be slow without having computed."""
    own = psutil.Process().nice()
    if own == 19:
        pytest.skip("these tests have the lowest priority themselves")
    file = tmp_path / "file"
    with ThreadPoolExecutor(2) as threads:
        waits = threads.submit(isolated, work.wait_for, str(file), limits=PATIENT)
        computes = threads.submit(isolated, work.loop, limits=Limits(timeout_seconds=10.0, memory_mib=1024))
        lowered: list[psutil.Process] = []
        while not lowered and not computes.done():
            lowered = [process for server in servers() for process in server.children() if process.nice() > own]
        assert [process.nice() for process in lowered] == [min(own + 10, 19)]
        file.touch()
        assert waits.result() != lowered[0].pid
        lowered[0].kill()
        with pytest.raises(ProcessDied):
            computes.result()


def test_places_are_taken_in_the_order_of_asking() -> None:
    places = isolation._Places(1)
    places.take()
    order: list[int] = []

    def ask(number: int) -> None:
        places.take()
        order.append(number)
        places.give()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for number, thread in enumerate(threads):
        thread.start()
        while len(places._waiting) <= number:
            time.sleep(0.001)
    places.give()
    for thread in threads:
        thread.join()
    assert order == [*range(10)]


class Interrupt(Exception):
    """As KeyboardInterrupt: raised by a signal's handler, in the midst of anything."""


@contextmanager
def interrupted() -> Iterator[None]:
    def handle(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(Interrupt):
        yield
    signal.signal(signal.SIGALRM, before)


def test_an_interrupt_at_work_ends_the_work_and_frees_its_place() -> None:
    with interrupted():
        isolated(work.sleep, limits=PATIENT)
    assert isolated(work.double, 21, limits=PATIENT) == 42


def test_an_interrupt_while_waiting_leaves_the_place_to_others() -> None:
    places = isolation._Places(1)
    places.take()
    with interrupted():
        places.take()
    places.give()
    places.take()
    assert places._free == 0


# From which programs it can be asked.

PROGRAM = """
from pathlib import Path
Path("runs").open("a").write("run\\n")
from pacs.rewards.math import compute_score
print(compute_score("test", "\\\\boxed{x+1}", "1+x")["status"])
"""


@pytest.mark.parametrize(
    "arguments",
    [["-"], ["-c", PROGRAM], ["program.py"], ["-m", "program"], ["folder"], ["-i", "program.py"], ["-I", "program.py"]],
    ids=["standard input", "-c", "script without a main guard", "-m", "folder", "interactive", "-I"],
)
def test_from_any_program(tmp_path: Path, arguments: list[str]) -> None:
    """Whose main module is run once."""
    (tmp_path / "folder").mkdir()
    add_path = f"import sys; sys.path[:] = {[p for p in sys.path if p]!r} + sys.path\n" if "-I" in arguments else ""
    (tmp_path / "program.py").write_text(add_path + PROGRAM)
    (tmp_path / "folder/__main__.py").write_text(PROGRAM)
    said = run(arguments, tmp_path, given=PROGRAM if arguments == ["-"] else "")
    assert said.split() == ["correct"]
    assert (tmp_path / "runs").read_text() == "run\n"


def run(arguments: list[str], folder: Path, given: str = "") -> str:
    """What Python prints; it must end well."""
    ended = subprocess.run(
        [sys.executable, *arguments], input=given, capture_output=True, text=True, timeout=120, cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_standard_input_and_output_stay_the_programs(tmp_path: Path) -> None:
    program = """
import sys
from pacs.rewards.isolation import Limits, isolated
from tests.rewards import work
isolated(work.write, limits=Limits())
print(sys.stdin.read())
"""
    assert run(["-c", program], tmp_path, given="given").split() == ["given"]


def test_modules_are_found_where_the_program_finds_them(tmp_path: Path) -> None:
    """In its folder, also when it has gone elsewhere; in what it has added to `sys.path`, with a path of any kind."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there/there_only.py").write_text("def three():\n    return 3\n")
    (tmp_path / "here_only.py").write_text("def two():\n    return 2\n")
    program = """
import os, sys
sys.path.append("there")
from pacs.rewards.isolation import Limits, isolated
import here_only, there_only
os.chdir("/")
print(isolated(here_only.two, limits=Limits()), isolated(there_only.three, limits=Limits()))
"""
    assert run(["-c", program], tmp_path).split() == ["2", "3"]


def test_from_a_program_without_standard_files(tmp_path: Path) -> None:
    program = """
import os
os.closerange(0, 3)
from pacs.rewards.isolation import Limits, isolated
from tests.rewards import work
open("result", "w").write(str(isolated(work.double, 21, limits=Limits())))
"""
    run(["-c", program], tmp_path)
    assert (tmp_path / "result").read_text() == "42"


CHILD = """
import multiprocessing, sys
from pacs.rewards.math import compute_score

def grade(queue):
    queue.put(compute_score("test", "\\\\boxed{x+1}", "1+x")["status"])

if __name__ == "__main__":
    if "graded" in sys.argv:
        compute_score("test", "\\\\boxed{y+1}", "1+y")
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    child = context.Process(target=grade, args=(queue,), daemon="daemon" in sys.argv)
    child.start()
    print(queue.get(timeout=100))
    child.join(20)
    print(child.exitcode)
"""


@pytest.mark.parametrize(
    "settings",
    [["fork"], ["spawn"], ["forkserver"], ["fork", "graded"], ["fork", "daemon"], ["spawn", "graded", "daemon"]],
    ids=" ".join,
)
def test_a_process_of_multiprocessing_that_has_graded_ends(tmp_path: Path, settings: list[str]) -> None:
    """Also a daemonic one, and a fork of a process that has graded."""
    (tmp_path / "script.py").write_text(CHILD)
    assert run(["script.py", *settings], tmp_path).split() == ["correct", "0"]


def test_a_fork_has_processes_of_its_own() -> None:
    """Also of a process in which another thread is at work."""
    with ThreadPoolExecutor(1) as threads:
        first = isolated(work.pid, limits=LIMITS)
        slow = threads.submit(isolated, work.loop, limits=Limits(timeout_seconds=5.0))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, str(isolated(work.pid, limits=LIMITS)).encode())
            except BaseException as error:
                os.write(writer, f"{type(error).__name__}: {error}".encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert int(os.read(reader, 4096).decode()) not in {first, os.getpid(), child}
        os.close(reader)
        os.close(writer)
        with pytest.raises(TimeoutError):
            slow.result()
    assert isolated(work.pid, limits=LIMITS) == first


# Nothing is left of it.

PARENT = """
import os, sys, threading
from pacs.rewards.isolation import Limits, isolated
from tests.rewards import work

limits = Limits(timeout_seconds=100)
print(isolated(work.pid, limits=limits), flush=True)
if "fork" in sys.argv and os.fork() == 0:
    work.sleep()
isolated(work.loop, limits=limits)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("forked", [[], ["fork"]], ids=["alone", "a fork lives on"])
def test_nothing_is_left_of_a_parent_that_is_killed(end: signal.Signals, forked: list[str]) -> None:
    """Though one of the processes is at work."""
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's background ignores it
    parent = subprocess.Popen(
        [sys.executable, "-c", f"{heed}\n{PARENT}", *forked],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    parent.stdout.readline()
    time.sleep(0.5)
    children = psutil.Process(parent.pid).children(recursive=True)
    of_parent = [child for child in children if child.cmdline()[1] != "-c"]
    fork = [child for child in children if child not in of_parent]
    assert len(of_parent) == 2  # the server and its process
    assert len(fork) == len(forked)
    parent.send_signal(end)
    parent.wait()
    assert psutil.wait_procs(of_parent, timeout=30)[1] == []
    for process in fork:
        process.kill()
    parent.stdout.close()


def test_nothing_is_left_of_a_program_that_ends() -> None:
    program = """
import psutil
from pacs.rewards.isolation import Limits, isolated
from tests.rewards import work
isolated(work.pid, limits=Limits())
print(*(process.pid for process in psutil.Process().children(recursive=True)))
"""
    pids = {*map(int, run(["-c", program], Path.cwd()).split())}
    assert len(pids) == 2
    left = [process for process in psutil.process_iter() if process.pid in pids]
    assert psutil.wait_procs(left, timeout=30)[1] == []
