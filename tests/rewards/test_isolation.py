"""Work in processes that are killed: real ones, from threads, event loops and Ray-like parents."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pacs.rewards.isolation import Limits, isolated
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
    # The limit, a tenth of a second in which pebble looks, and a busy machine; not pebble's 3 s of grace.
    assert time.monotonic() - began < LIMITS.timeout_seconds + 2
    assert isolated(work.double, 21, limits=LIMITS) == 42


def test_memory_is_bounded() -> None:
    with pytest.raises(MemoryError):
        isolated(work.take, 2 * 2**30, limits=LIMITS)


def test_a_process_that_dies_harms_no_other_work() -> None:
    with pytest.raises(Exception, match="Abnormal termination"):
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


PARENT = """
import sys, threading
from pacs.rewards.isolation import Limits, isolated
from tests.rewards import work

limits = Limits(timeout_seconds=2)
print(isolated(work.pid, limits=limits), flush=True)
isolated(work.loop, limits=limits)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_parent_that_is_killed(end: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    parent.stdout.readline()
    time.sleep(0.5)
    children = psutil.Process(parent.pid).children(recursive=True)
    assert len(children) >= 3  # the fork server and its processes
    parent.send_signal(end)
    parent.wait()
    # One still works; its limit of CPU time, 2 s above the other one, ends it, and with it the rest.
    _, alive = psutil.wait_procs(children, timeout=90)
    assert alive == []
    parent.stdout.close()


def test_a_script_without_a_main_guard_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from pacs.rewards import isolation\n"
        "from tests.rewards import work\n"
        "isolation.START_SECONDS = 3\n"
        "print(isolation.isolated(work.pid, limits=isolation.Limits()))\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env, timeout=60)
    assert ended.returncode == 1
    assert "if __name__ == '__main__':" in ended.stderr


CHILD = """
import multiprocessing, sys
from pacs.rewards.math import compute_score

def grade(queue):
    queue.put(compute_score("test", "\\\\boxed{x+1}", "1+x")["status"])

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    child = context.Process(target=grade, args=(queue,))
    child.start()
    print(queue.get(timeout=60))
    child.join(20)
    print(child.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_process_of_multiprocessing_that_has_graded_ends(tmp_path: Path, method: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(CHILD)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    ended = subprocess.run([sys.executable, script, method], capture_output=True, text=True, env=env, timeout=120)
    assert ended.stdout.split() == ["correct", "0"], ended.stderr


def in_child(work: Callable[[], object]) -> str:
    """What `work` raises in a fork of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, str(work()).encode())
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reader, 4096).decode()
    os.close(reader)
    os.close(writer)
    return said


def test_a_fork_of_a_process_that_has_graded_is_told() -> None:
    isolated(work.pid, limits=LIMITS)
    assert "IsolationError: this process was forked" in in_child(lambda: isolated(work.pid, limits=LIMITS))


def test_a_daemonic_process_is_told() -> None:
    script = (
        "import multiprocessing\nfrom pacs.rewards.isolation import Limits, isolated\nfrom tests.rewards import work\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.current_process()._config['daemon'] = True\n"
        "    isolated(work.pid, limits=Limits())\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "IsolationError: a daemonic process" in ended.stderr
