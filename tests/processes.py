"""The processes of a test, as psutil finds them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil


def children_with(part: str, recursive: bool = False) -> list[psutil.Process]:
    """The living children of this process in whose command line `part` stands.

    Left out is what has ended, with the zombies: other tests in this process may have left them, and psutil raises
    for the command line of one.
    """
    found = []
    for child in psutil.Process().children(recursive=recursive):
        with suppress(psutil.NoSuchProcess):
            found += [child] if part in " ".join(child.cmdline()) else []
    return found


def lives(process: psutil.Process) -> bool:
    """Whether a process is there, and no zombie."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def ray_sessions(processes: Iterable[psutil.Process]) -> set[str]:
    """The folders of the Ray sessions that these processes' command lines name."""
    lines = [words for process in processes for words in _said(process)]
    return {session for line in lines for session in re.findall(r"/[^ =]*/session_[^/ ]+", line)}


def that_name(folder: str) -> list[psutil.Process]:
    """The living processes whose command line, working folder or open files are of this folder: by no environment."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if lives(process) and any(folder in words for words in (*_said(process), *_open(process))):
                found.append(process)
    return found


def _said(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def _open(process: psutil.Process) -> Iterator[str]:
    for link in (Path(f"/proc/{process.pid}/cwd"), *Path(f"/proc/{process.pid}/fd").iterdir()):
        with suppress(OSError):
            yield str(link.readlink())
