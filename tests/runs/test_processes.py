import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from pacs.runs import processes
from pacs.runs.processes import SHARED_MEMORY, TOKEN, end_processes, processes_of, remove_segments

#: Ends at once, and leaves two orphans in sessions of their own: one ends on SIGTERM, one does not.
PARENT = """
import subprocess, sys
for deaf in ("", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "):
    code = deaf + "print(end='.', flush=True); import time; time.sleep(600)"
    orphan = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
    orphan.stdout.read(1)
    print(orphan.pid, flush=True)
"""


def start(token: str | None, *command: str) -> subprocess.Popen:
    environment = {name: value for name, value in os.environ.items() if name != TOKEN}
    return subprocess.Popen(
        command, env=environment | ({TOKEN: token} if token else {}), stdout=subprocess.PIPE, text=True
    )


def orphans(token: str) -> list[int]:
    parent = start(token, sys.executable, "-c", PARENT)
    found = [int(line) for line in parent.communicate()[0].split()]
    assert len(found) == 2
    assert all(psutil.Process(pid).ppid() != parent.pid for pid in found)
    assert all(os.getsid(pid) == pid for pid in found)
    return found


def lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def token() -> Iterator[str]:
    token = uuid4().hex
    yield token
    for process in processes_of(token):
        process.kill()


def test_orphans_in_other_sessions_are_found_and_ended(token):
    pids = orphans(token)
    assert {process.pid for process in processes_of(token)} == set(pids)
    killed = end_processes(token, grace_seconds=0)
    assert not any(map(lives, pids))
    assert {name.rsplit("(", 1)[1] for name in killed} == {f"{pid})" for pid in pids}
    assert all(name.startswith("python") for name in killed)
    assert processes_of(token) == []


def test_one_whose_title_has_taken_the_place_of_its_first_variables_is_found(token):
    """As that of Ray's agents does: zeros, then the rest."""
    code = (
        "import os, time; start = int(open('/proc/self/stat').read().rsplit(')', 1)[1].split()[47]); "
        "memory = os.open('/proc/self/mem', os.O_RDWR); os.pwrite(memory, bytes(8), start); "
        "print(end='.', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={"FIRST": "1", TOKEN: token}, stdout=subprocess.PIPE, text=True
    )
    process.stdout.read(1)
    assert Path(f"/proc/{process.pid}/environ").read_bytes().startswith(bytes(8))
    assert [found.pid for found in processes_of(token)] == [process.pid]
    process.kill()
    process.wait()


def test_others_are_left_alone(token):
    other = uuid4().hex
    bystanders = [start(other, "sleep", "600"), start(None, "sleep", "600"), start(token + "x", "sleep", "600")]
    try:
        pids = orphans(token)
        end_processes(token, grace_seconds=0)
        assert not any(map(lives, pids))
        assert all(process.poll() is None for process in bystanders)
    finally:
        for process in bystanders:
            process.kill()
            process.wait()


def test_those_that_end_by_themselves_within_the_grace_time_are_not_killed(token):
    process = start(token, sys.executable, "-c", "import time; print(flush=True); time.sleep(1)")
    process.stdout.readline()
    began = time.monotonic()
    assert end_processes(token, grace_seconds=60) == []
    assert 0.5 < time.monotonic() - began < 30
    assert process.wait() == 0


def test_after_the_grace_time_they_are_killed(token):
    orphans(token)
    began = time.monotonic()
    assert len(end_processes(token, grace_seconds=1)) == 2
    assert 1 <= time.monotonic() - began < 30


def test_those_that_are_started_while_others_are_killed_are_killed_too(token):
    spawner = start(token, "sh", "-c", "for i in $(seq 300); do sleep 600 & sleep 0.003; done; wait")
    while len(processes_of(token)) < 5:
        time.sleep(0.01)
    end_processes(token, grace_seconds=0)
    assert processes_of(token) == []
    assert not lives(spawner.pid)


def test_nobody_to_end(token):
    assert end_processes(token, grace_seconds=60) == []


def test_this_process_is_never_one_of_them(token):
    code = f"import sys; from pacs.runs.processes import *; print(processes_of({token!r}))"
    assert start(token, sys.executable, "-c", code).communicate()[0].strip() == "[]"


def test_a_dead_process_that_nobody_has_waited_for_is_none(token):
    process = start(token, "sleep", "600")
    os.kill(process.pid, signal.SIGKILL)
    while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert end_processes(token, grace_seconds=60) == []
    process.wait()


@contextmanager
def segment(name: str) -> Iterator[Path]:
    """A segment that this process has forgotten: mapped by nobody."""
    memory = SharedMemory(name, create=True, size=4096)
    resource_tracker.unregister(memory._name, "shared_memory")
    memory.close()
    file = SHARED_MEMORY / name
    assert file.exists()
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


@pytest.fixture
def names(monkeypatch) -> list[str]:
    """Names that `remove_segments` looks for, such that it sees none of other runs on this machine."""
    mark = uuid4().hex[:12]
    monkeypatch.setattr(processes, "SEGMENTS", (f"psm_{mark}_*", f"torch_{mark}_*"))
    return [f"psm_{mark}_a", f"torch_{mark}_b", f"other_{mark}_c"]


def test_the_names_are_those_that_the_libraries_give():
    memory = SharedMemory(create=True, size=16)
    semaphore = multiprocessing.get_context("spawn").Lock()._semlock.name
    try:
        assert any(Path(memory.name).match(pattern) for pattern in processes.SEGMENTS)
        assert any(Path(f"sem.{semaphore[1:]}").match(pattern) for pattern in processes.SEGMENTS)
    finally:
        memory.close()
        memory.unlink()


def test_orphaned_segments_go_and_others_stay(names):
    with segment(names[0]) as first, segment(names[1]) as second, segment(names[2]) as other:
        assert remove_segments(time.time() - 60) == sorted(names[:2])
        assert not first.exists()
        assert not second.exists()
        assert other.exists()


def test_segments_made_before_stay(names):
    with segment(names[0]) as old:
        time.sleep(0.05)
        since = time.time()
        time.sleep(0.05)
        with segment(names[1]) as new:
            assert remove_segments(since) == [new.name]
            assert old.exists()


def test_a_segment_that_another_process_maps_stays_until_it_is_dead(names):
    code = (
        "import sys, time; from multiprocessing import resource_tracker, shared_memory; "
        "memory = shared_memory.SharedMemory(sys.argv[1]); "
        "resource_tracker.unregister(memory._name, 'shared_memory'); print(flush=True); time.sleep(600)"
    )
    with segment(names[0]) as file, segment(names[1]) as orphan:
        user = start(None, sys.executable, "-c", code, names[0])
        try:
            user.stdout.readline()
            assert remove_segments(time.time() - 60) == [orphan.name]
            assert file.exists()
        finally:
            user.kill()
            user.wait()
        assert remove_segments(time.time() - 60) == [file.name]


def test_a_segment_that_is_open_and_not_mapped_stays(names):
    with segment(names[0]) as file:
        below = os.open("/dev/null", os.O_RDONLY)
        descriptor = os.open(file, os.O_RDWR)
        os.close(below)  # the number that looking at this process's descriptors takes, and gives back
        try:
            assert remove_segments(time.time() - 60) == []
        finally:
            os.close(descriptor)
        assert remove_segments(time.time() - 60) == [file.name]


def test_a_semaphore_that_a_process_uses_stays_until_it_is_dead(monkeypatch):
    """glibc maps it under the name that it had before it was linked to its own."""
    code = (
        "import multiprocessing, time; lock = multiprocessing.get_context('spawn').Lock(); "
        "from multiprocessing import resource_tracker; "
        "resource_tracker.unregister(lock._semlock.name, 'semaphore'); "
        "print(lock._semlock.name, flush=True); time.sleep(600)"
    )
    user = start(None, sys.executable, "-c", code)
    try:
        name = f"sem.{user.stdout.readline().strip()[1:]}"
        monkeypatch.setattr(processes, "SEGMENTS", (name,))
        assert (SHARED_MEMORY / name).exists()
        assert remove_segments(time.time() - 60) == []
    finally:
        user.kill()
        user.wait()
    assert remove_segments(time.time() - 60) == [name]
    assert not (SHARED_MEMORY / name).exists()


def test_a_segment_of_another_user_stays(names, monkeypatch):
    with segment(names[0]) as file:
        monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
        assert remove_segments(time.time() - 60) == []
