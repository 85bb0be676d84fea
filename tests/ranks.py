"""A module of the tests as one process a rank, each forked from a process that has imported verl: ten seconds less."""

import multiprocessing
import os
import runpy
import socket
import sys
from collections.abc import Iterable
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

#: Imports what the modules do; not them, which read their arguments as they are imported.
IMPORTED = ["tests.rank_imports"]
#: What is read as they are imported.
OF_THE_PROCESS = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "VERL_PLATFORM": "cpu"}


def run(
    module: str, arguments: Iterable[object], ranks: int, folder: Path, *, device: str = "cpu", seconds: float = 500
) -> None:
    """Run `python -m module arguments` as so many processes of a process group; what they print goes to `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    context, words = _context(device), [str(word) for word in arguments]
    logs = [folder / f"rank_{rank}_of_{ranks}.log" for rank in range(ranks)]
    processes = []
    for rank, log in enumerate(logs):
        place = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        processes.append(context.Process(target=_rank, args=(module, words, dict(os.environ) | place, str(log))))
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (OF_THE_PROCESS | {"VERL_PLATFORM": {"cuda": "nvidia"}.get(device, device)}).items():
                patch.setenv(name, value)
            for process in processes:
                process.start()
        for process in processes:
            process.join(seconds)
    finally:
        for process in processes:
            process.kill()
    printed = "\n".join(log.read_text(errors="replace") for log in logs if log.exists())
    assert [process.exitcode for process in processes] == [0] * ranks, printed[-6000:]


def _context(device: str) -> BaseContext:
    """On a CPU each is forked; elsewhere verl, which asks for the device as it is imported, is imported by each."""
    if device != "cpu":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def _rank(module: str, words: list[str], environment: dict[str, str], log: str) -> None:
    os.environ |= environment | {name: os.environ[name] for name in OF_THE_PROCESS}
    to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(to, 1)
    os.dup2(to, 2)
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
