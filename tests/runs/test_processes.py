import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from pacs.runs.processes import RUN_DIR, TOKEN, birth_of, end_processes, is_alive, processes_of

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


FIRST_THREAD_ENDS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("there", flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""


def test_one_whose_first_thread_has_ended_lives_and_is_ended(token):
    """It counts as a zombie, and has no environment of its own: as one that was killed and is still in the kernel."""
    environment = {**os.environ, TOKEN: token}
    process = subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS], env=environment, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"there\n"
    while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert [each.pid for each in processes_of(token)] == [process.pid]
    end_processes(token, grace_seconds=0)
    process.wait(timeout=10)
    assert processes_of(token) == []


def test_what_descends_from_one_of_a_start_is_of_the_start(token):
    """Though it has an environment of its own, and has written over that."""
    code = "import subprocess as s; p = s.Popen(['env', '-i', 'sleep', '600']); print(p.pid, flush=True); p.wait()"
    parent = start(token, sys.executable, "-c", code)
    child = int(parent.stdout.readline())
    assert {process.pid for process in processes_of(token)} == {parent.pid, child}
    end_processes(token, grace_seconds=0)
    parent.wait()
    assert not lives(child)


def test_only_those_of_the_very_folder_are_found_in_it(token, tmp_path):
    """By a link, by another path, or when the folder was moved since; not those of the folder it was copied from."""
    run, copy, link = tmp_path / "run", tmp_path / "copy", tmp_path / "link"
    run.mkdir()
    copy.mkdir()
    link.symlink_to(run)
    sleeps = [
        subprocess.Popen(["sleep", "600"], env={TOKEN: token, RUN_DIR: str(path)})
        for path in (run, link, copy / ".." / "run", tmp_path / "gone")
    ]
    nowhere = subprocess.Popen(["sleep", "600"], env={TOKEN: token})
    try:
        pids = [process.pid for process in sleeps]
        assert sorted(process.pid for process in processes_of(token, folder=run)) == sorted(pids)
        assert [process.pid for process in processes_of(token, folder=copy)] == pids[-1:]
        end_processes(token, grace_seconds=0, folder=copy)
        assert [process.poll() is None for process in (*sleeps, nowhere)] == [True, True, True, False, True]
    finally:
        for process in (*sleeps, nowhere):
            process.kill()
            process.wait()


def test_a_process_is_known_by_its_birth():
    first, second = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    try:
        birth = birth_of(first.pid)
        assert is_alive(first.pid, birth)
        assert not is_alive(first.pid, "another-boot/" + birth.rpartition("/")[2])
        assert not is_alive(os.getpid(), birth)
    finally:
        for process in (first, second):
            process.kill()
    while psutil.Process(first.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert not is_alive(first.pid, birth)
    first.wait()
    second.wait()
    assert not is_alive(first.pid, None)
