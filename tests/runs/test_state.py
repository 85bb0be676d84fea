import json
import multiprocessing
import os
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pacs.base.files import folder_bytes, write_atomically
from pacs.base.run_folder import RunFolder
from pacs.runs.processes import TOKEN
from pacs.runs.state import (
    Progress,
    RunState,
    forget_former_start,
    now,
    read_fault,
    read_progress,
    read_state,
    report_fault,
    write_progress,
    write_state,
)

STATED = RunState(
    "running", "token", "node7", 123, "2026-01-02T03:04:05+00:00", "/runs/a", 7, 8, "boot/9", "/tmp/b", resumed_from=10
)
PROGRESS_MADE = Progress(step=3, total_steps=20, phase="rollouts", count=17, step_seconds=9.5)


def test_what_is_written_is_read(tmp_path):
    write_state(tmp_path, STATED)
    write_progress(tmp_path, PROGRESS_MADE)
    assert read_state(tmp_path) == STATED
    assert read_progress(tmp_path) == PROGRESS_MADE
    ended = replace(STATED, state="failed", ended=now(), cause="out of memory", exit_status=1)
    write_state(tmp_path, ended)
    assert read_state(tmp_path) == ended
    assert {path.name for path in tmp_path.iterdir()} == {RunFolder.STATE, RunFolder.PROGRESS}


@pytest.mark.parametrize(
    "content", ["", '{"state": "runn', "[]", '["cause"]', '"cause"', "3", "null", "{}", '{"other": 1}', "\xff"]
)
def test_what_cannot_be_read_is_none(tmp_path, content):
    for name in (RunFolder.STATE, RunFolder.PROGRESS, RunFolder.FAULT):
        (tmp_path / name).write_text(content, encoding="latin-1")
    assert (read_state(tmp_path), read_progress(tmp_path), read_fault(tmp_path)) == (None, None, None)


def test_what_is_not_there_is_none(tmp_path):
    assert (read_state(tmp_path), read_progress(tmp_path), read_fault(tmp_path)) == (None, None, None)


def test_the_first_fault_stays(tmp_path):
    report_fault(tmp_path, "vLLM engine 0 died")
    report_fault(tmp_path, "the driver ended")
    assert read_fault(tmp_path) == "vLLM engine 0 died"
    assert json.loads(RunFolder(tmp_path).fault.read_text())["pid"] == os.getpid()


def _report(folder: Path, number: int, gate: object) -> None:
    gate.wait()
    report_fault(folder, f"fault {number}")


def test_of_faults_at_the_same_time_one_is_whole(tmp_path):
    fork = multiprocessing.get_context("fork")
    gate = fork.Barrier(8)
    processes = [fork.Process(target=_report, args=(tmp_path, number, gate)) for number in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)
    assert read_fault(tmp_path) in {f"fault {number}" for number in range(8)}


def test_a_new_start_forgets_progress_and_fault_and_not_the_state(tmp_path):
    forget_former_start(tmp_path)
    write_state(tmp_path, STATED)
    write_progress(tmp_path, PROGRESS_MADE)
    report_fault(tmp_path, "a fault")
    forget_former_start(tmp_path)
    assert (read_state(tmp_path), read_progress(tmp_path), read_fault(tmp_path)) == (STATED, None, None)


def _write_for_ever(file: Path) -> None:
    for number in range(1 << 30):
        write_atomically(file, f"{number % 10}" * 100_000)


def test_a_reader_sees_one_content_or_the_other(tmp_path):
    file = tmp_path / "file"
    write_atomically(file, "0" * 100_000)
    writer = multiprocessing.get_context("fork").Process(target=_write_for_ever, args=(file,))
    writer.start()
    try:
        seen: set[str] = set()
        while len(seen) < 10:
            seen |= {file.read_text() for _ in range(100)}
    finally:
        writer.kill()
        writer.join()
    assert {len(text) for text in seen} == {100_000}
    assert all(len(set(text)) == 1 for text in seen)


def test_threads_that_write_the_same_file_do_not_take_it_from_each_other(tmp_path):
    """The trainer and its monitor both write progress.json."""
    file = tmp_path / "file"

    def write(digit: str) -> None:
        for size in range(1, 50):
            write_atomically(file, digit * size)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, "0123"))
    assert len(set(file.read_text())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_written_leaves_the_old_content_and_nothing_beside_it(tmp_path):
    file = tmp_path / "file"
    write_atomically(file, "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_atomically(file, "new " * 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(OSError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "file", "new")


def test_half_a_surrogate_pair_is_written_as_json_names_it(tmp_path):
    write_atomically(tmp_path / "file", "new \ud800")
    assert (tmp_path / "file").read_text() == "new \\ud800"


def test_the_size_of_a_folder_counts_every_file_and_no_link_twice(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1000))
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "d").write_bytes(bytes(234))
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert 1234 <= folder_bytes(tmp_path) < 1234 + 500
    assert folder_bytes(tmp_path / "nowhere") == 0


def _make_and_delete(folder: Path) -> None:
    for number in range(1 << 30):
        (folder / f"{number}").mkdir()
        (folder / f"{number}" / "file").write_text("x")
        (folder / f"{number}" / "file").unlink()
        (folder / f"{number}").rmdir()


def test_the_size_of_a_folder_whose_files_vanish(tmp_path):
    (tmp_path / "stays").write_bytes(bytes(100))
    writer = multiprocessing.get_context("fork").Process(target=_make_and_delete, args=(tmp_path,))
    writer.start()
    try:
        while not any(tmp_path.glob("[0-9]*")):
            time.sleep(0.001)
        sizes = {folder_bytes(tmp_path) for _ in range(500)}
    finally:
        writer.kill()
        writer.join()
    assert sizes <= {100, 101}


def test_a_fault_of_a_former_start_is_not_this_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for token, cause in (("before", "a straggler's"), ("now", "the first"), ("now", "what followed")):
        monkeypatch.setenv(TOKEN, token)
        report_fault(tmp_path, cause)
    assert read_fault(tmp_path) == read_fault(tmp_path, "now") == "the first"
    assert read_fault(tmp_path, "before") is None
    assert [file.name for file in tmp_path.iterdir()] == ["fault.json"]


def test_a_cause_has_no_colours(tmp_path):
    report_fault(tmp_path, "\x1b[36mray::Worker\x1b[39m failed")
    assert read_fault(tmp_path) == "ray::Worker failed"
