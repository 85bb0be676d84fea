"""What the processes of a run say: all of it in a file of the run's folder, what a person waits for on the console."""

import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from pacs.base.run_folder import RunFolder
from pacs.base.terminal import COLOURS, say

#: With this the lines begin that our own code says to a person.
MARK = "pacs: "
#: What Ray puts before a line of another process, and vLLM of its engine's.
_OF_RAY = re.compile(r"^(\([^()]*pid=\d+[^()]*\) )+")
#: What the process in which vLLM computes says of its end.
_ENGINE_ERROR = re.compile(r"\(EngineCore[^()]*\) ERROR [^\]]*\] ([\w.]*(?:Error|Exception): .*)")
#: Of a longer line without an end only the last bytes are kept for the console.
_LINE_BYTES = 1 << 20
#: For what is still in the pipe when all that write to it have ended.
_LAST_SECONDS = 5.0

#: Words of a line of the log -> what is said of them.
Stages = Sequence[tuple[str, str]]


class Console(threading.Thread):
    """Reads the pipe that the run's driver has as its output, writes the log, and says what is for a person.

    That is a line that begins with `MARK`, whichever process of the run has said it, and each stage of the start.

    Args:
        run_dir: the run's folder.
        reading: the pipe's end, which this thread closes.
        stages: of the start, in order.
        verbose: say all lines as they are.

    Raises:
        OSError: The log cannot be opened.
    """

    def __init__(self, run_dir: Path, reading: int, stages: Stages, *, verbose: bool) -> None:
        super().__init__(daemon=True, name="pacs-console")
        self.stages, self.verbose = list(stages), verbose
        self.log = os.open(RunFolder(run_dir).log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.started = time.monotonic()
        self.reading = reading
        #: The last that a vLLM engine has raised in this start. The trainer knows of it only that it does not answer.
        self.engine_error: str | None = None

    def run(self) -> None:
        """Follow the output until all that write to it have ended."""
        unended = b""
        try:
            while chunk := os.read(self.reading, 1 << 16):
                with suppress(OSError):  # a full disk: the console still tells
                    os.write(self.log, chunk)
                *lines, unended = re.split(rb"[\r\n]+", unended + chunk)
                unended = unended[-_LINE_BYTES:]
                for line in lines:
                    self._show(line.decode(errors="replace"))
        finally:
            os.close(self.reading)
            os.close(self.log)

    def end(self) -> None:
        """Wait until all that the run's processes have said is written; they have ended."""
        self.join(_LAST_SECONDS)

    def _show(self, line: str) -> None:
        text = COLOURS.sub("", line)
        words = _OF_RAY.sub("", text)
        if (raised := _ENGINE_ERROR.search(text)) is not None:
            self.engine_error = raised[1]
        if self.verbose:
            say(text)
        elif words.startswith(MARK):
            self._say(words.removeprefix(MARK))
        else:
            for number, (sign, stage) in enumerate(self.stages):
                if sign in words:
                    del self.stages[: number + 1]
                    self._say(stage)
                    break

    def _say(self, text: str) -> None:
        say(f"{timedelta(seconds=int(time.monotonic() - self.started))!s:>8}  {text}")
