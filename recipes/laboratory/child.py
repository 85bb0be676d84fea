"""One run as a process: the runner starts it, and it ends when the runner does.

Its standard input is a line of JSON, what to run, and then stays open: a pipe whose other end only the runner holds,
which the operating system closes however the runner ends. Its result is a file, there as a whole or not at all.
"""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pacs.base.files import write_atomically
from pacs.base.terminal import say

Asked = dict[str, Any]
#: The status of a run that has lost its runner.
ORPHANED = 3


def run(asked: Asked) -> dict[str, Any]:
    """The result of `loop.run` for the folder `start`, `settings` and `evaluation`."""
    # Torch takes seconds to import, and the runner may end meanwhile.
    from recipes.laboratory.evaluation import Evaluation
    from recipes.laboratory.loop import run as loop
    from recipes.laboratory.settings import Settings

    return loop(Path(asked["start"]), Settings(**asked["settings"]), Evaluation(**asked["evaluation"]), say)


def main(do: Callable[[Asked], dict[str, Any]] = run) -> None:
    """Run what standard input says, and write the result to the file `out` that it names.

    Args:
        do: makes the result.

    Raises:
        ValueError: a number of the result is not finite.
    """
    asked = json.loads(_first_line())
    threading.Thread(target=_end_with_the_runner, daemon=True).start()
    write_atomically(Path(asked["out"]), json.dumps(do(asked), allow_nan=False))


def _first_line() -> bytes:
    # By the file descriptor: a thread that waits in sys.stdin would hold its lock when the interpreter ends.
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 1)
        if not part:
            os._exit(ORPHANED)
        line += part
    return line


def _end_with_the_runner() -> None:
    while os.read(0, 1):
        pass
    os._exit(ORPHANED)


if __name__ == "__main__":
    main()
