"""Which shared memory a start has left, with real segments."""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from uuid import uuid4

import pytest

from pacs.runs import leftovers as segments
from pacs.runs.leftovers import (
    SHARED_MEMORY,
    forget_segments,
    note_segments,
    remove_segments,
    segments_before,
    segments_there,
)
from tests.runs.test_processes import start

#: Maps the segment that is named.
MAPS = """
import sys, time
from multiprocessing import resource_tracker, shared_memory
memory = shared_memory.SharedMemory(sys.argv[1])
resource_tracker.unregister(memory._name, "shared_memory")
print(flush=True)
time.sleep(600)
"""


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
    monkeypatch.setattr(segments, "SEGMENTS", (f"psm_{mark}_*", f"torch_{mark}_*"))
    return [f"psm_{mark}_a", f"torch_{mark}_b", f"other_{mark}_c"]


def test_the_names_are_those_that_the_libraries_give():
    memory = SharedMemory(create=True, size=16)
    semaphore = multiprocessing.get_context("spawn").Lock()._semlock.name
    try:
        assert any(Path(memory.name).match(pattern) for pattern in segments.SEGMENTS)
        assert any(Path(f"sem.{semaphore[1:]}").match(pattern) for pattern in segments.SEGMENTS)
    finally:
        memory.close()
        memory.unlink()


def test_orphaned_segments_go_and_others_stay(names):
    with segment(names[0]) as first, segment(names[1]) as second, segment(names[2]) as other:
        assert remove_segments([]) == sorted(names[:2])
        assert not first.exists()
        assert not second.exists()
        assert other.exists()


def test_segments_made_before_stay_whatever_the_clock_says(names):
    with segment(names[0]) as old:
        before = segments_there()
        assert [name.partition(":")[0] for name in before] == [old.name]
        old.touch()  # its times are later now than the look at what was there
        with segment(names[1]) as new:
            assert remove_segments(before) == [new.name]
            assert old.exists()


def test_one_of_the_same_name_that_is_made_anew_is_another(names):
    with segment(names[0]):
        before = segments_there()
    with segment(names[1]), segment(names[0]) as anew:  # the first may get the inode that has become free
        assert anew.name in remove_segments(before)


def test_what_was_noted_in_the_folder_is_known_to_the_next_start(names, tmp_path):
    with segment(names[0]) as old:
        note_segments(tmp_path)
        with segment(names[1]) as new:
            assert remove_segments(segments_before(tmp_path, [])) == [new.name]
            assert old.exists()
    forget_segments(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_note_what_the_processes_hold_is_theirs(names, tmp_path):
    with segment(names[0]) as held, segment(names[1]) as other:
        user = start(None, sys.executable, "-c", MAPS, names[0])
        try:
            user.stdout.readline()
            before = segments_before(tmp_path, [user.pid])
        finally:
            user.kill()
            user.wait()
        assert remove_segments(before) == [held.name]
        assert other.exists()


def test_a_segment_that_another_process_maps_stays_until_it_is_dead(names):
    with segment(names[0]) as file, segment(names[1]) as orphan:
        user = start(None, sys.executable, "-c", MAPS, names[0])
        try:
            user.stdout.readline()
            assert remove_segments([]) == [orphan.name]
            assert file.exists()
        finally:
            user.kill()
            user.wait()
        assert remove_segments([]) == [file.name]


def test_a_segment_that_is_open_and_not_mapped_stays(names):
    with segment(names[0]) as file:
        below = os.open("/dev/null", os.O_RDONLY)
        descriptor = os.open(file, os.O_RDWR)
        os.close(below)  # the number that looking at this process's descriptors takes, and gives back
        try:
            assert remove_segments([]) == []
        finally:
            os.close(descriptor)
        assert remove_segments([]) == [file.name]


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
        monkeypatch.setattr(segments, "SEGMENTS", (name,))
        assert (SHARED_MEMORY / name).exists()
        assert remove_segments([]) == []
    finally:
        user.kill()
        user.wait()
    assert remove_segments([]) == [name]
    assert not (SHARED_MEMORY / name).exists()


def test_a_segment_of_another_user_stays(names, monkeypatch):
    with segment(names[0]) as file:
        monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
        assert remove_segments([]) == []
