"""What of the processes' output reaches a person, and what is kept."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pacs.base.run_folder import RunFolder
from pacs.runs.console import Console

STAGES = (("raylet up", "Ray is up"), ("data are here", "data loaded"), ("engine up", "vLLM ready"))

Said = Callable[..., list[str]]


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """What is shown of bytes that a process of its own writes."""

    def show(output: bytes, *, verbose: bool = False) -> list[str]:
        reading, pipe = os.pipe()
        console = Console(tmp_path, reading, STAGES, verbose=verbose)
        console.start()
        code = "import sys; sys.stderr.buffer.write(sys.stdin.buffer.read())"
        command = [sys.executable, "-c", code]
        subprocess.run(command, input=output, stdout=pipe, stderr=subprocess.STDOUT, check=True)
        os.close(pipe)
        console.end()
        assert not console.is_alive()
        return [re.sub(r"^ +\d:\d\d:\d\d  ", "", line) for line in capsys.readouterr().out.splitlines()]

    return show


OUTPUT = (
    b"2026-11-23 INFO raylet up\n"
    b"\x1b[36m(PacsTaskRunner pid=71)\x1b[0m {'actor': 1,\n"
    b"\x1b[36m(PacsTaskRunner pid=71, ip=10.0.0.2)\x1b[0m pacs: step 1/3: loss 0.5\n"
    b"(WorkerDict pid=9) engine up\r(WorkerDict pid=9) data are here\n"
    b"pacs: the driver's own\n"
    b"it says pacs: nothing\n\xff\xfe"
)


def test_our_lines_and_the_stages_are_shown_and_all_is_kept(said: Said, tmp_path: Path) -> None:
    """A stage that comes after a later one is not shown."""
    assert said(OUTPUT) == ["Ray is up", "step 1/3: loss 0.5", "vLLM ready", "the driver's own"]
    assert (tmp_path / RunFolder.LOG).read_bytes() == OUTPUT
    assert said(b"pacs: again\n") == ["again"]
    assert (tmp_path / RunFolder.LOG).read_bytes() == OUTPUT + b"pacs: again\n"
    assert (tmp_path / RunFolder.LOG).stat().st_mode & 0o777 == 0o600


def test_a_line_of_an_engine_has_two_names_before_it(said: Said) -> None:
    assert said(b"(vLLMHttpServer pid=9) (EngineCore_DP0 pid=10) pacs: here\n") == ["here"]


def test_what_an_engine_has_raised_last_is_kept(tmp_path: Path) -> None:
    reading, pipe = os.pipe()
    console = Console(tmp_path, reading, (), verbose=False)
    console.start()
    before = b"\x1b[36m(vLLMHttpServer pid=9)\x1b[0m (EngineCore_DP0 pid=10) ERROR 11-29 17:23:41 [core.py:1348] "
    os.write(pipe, before + b"RuntimeError: an earlier one\n" + before + b"    raise RuntimeError(\n")
    os.write(pipe, before + b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    os.write(pipe, b"(vLLMHttpServer pid=9) ERROR 11-29 17:23:41 [async_llm.py:744] EngineDeadError: see above\n")
    os.close(pipe)
    console.end()
    assert console.engine_error == "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def test_all_is_shown_on_request(said: Said) -> None:
    lines = said(OUTPUT, verbose=True)
    assert len(lines) == 7
    assert lines[1] == "(PacsTaskRunner pid=71) {'actor': 1,"


def test_what_a_terminal_would_obey_is_shown(said: Said) -> None:
    assert said(b"pacs: \x1b]0;title\x07\n") == [r"\x1b]0;title\x07"]


def test_of_a_line_without_an_end_the_last_is_kept(said: Said) -> None:
    endless, after = said(b"x" * (8 << 20) + b"!\npacs: after\n", verbose=True)
    assert endless.endswith("x!")
    assert len(endless) < 2 << 20
    assert after == "pacs: after"


def test_a_log_that_cannot_be_written_stops_nothing(said: Said, tmp_path: Path) -> None:
    (tmp_path / RunFolder.LOG).symlink_to("/dev/full")
    assert said(OUTPUT) == ["Ray is up", "step 1/3: loss 0.5", "vLLM ready", "the driver's own"]
