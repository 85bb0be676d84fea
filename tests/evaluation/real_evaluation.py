"""`pacs evaluate`, or another command with engines, as a process of its own, that tests stop, kill and resume."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from pacs.evaluation.folder import shards, task_folder

SECONDS = 600


def start(*words: object, command: Sequence[str] = ("evaluate",)) -> subprocess.Popen[str]:
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "pacs", *command, *map(str, words)],
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=SECONDS)
    return process.returncode, output


def run(*words: object, command: Sequence[str] = ("evaluate",)) -> tuple[int, str]:
    return finish(start(*words, command=command))


def lines(out: Path, task: str) -> list[str]:
    """The whole lines of all samples."""
    texts = [shard.read_text() for shard in shards(task_folder(out, task))]
    return [line for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_for(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """All that it has started."""
    return psutil.Process(process.pid).children(recursive=True)


def those_left(processes: list[psutil.Process]) -> list[str]:
    """The processes that live on after half a minute."""
    _, alive = psutil.wait_procs(processes, timeout=30)
    return [str(process) for process in alive if process.status() != psutil.STATUS_ZOMBIE]
