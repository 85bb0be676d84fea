"""What is said on a console that may be gone: a terminal that was closed, a pipe whose reader has ended."""

import os
import sys
from typing import TextIO

from pacs.terminal import print


def say(text: str, *, error: bool = False) -> None:
    """Print a line to standard output, or to standard error; without a console the run goes on."""
    stream = sys.stderr if error else sys.stdout
    try:
        encoding = stream.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError:
        silence(stream)


def settle() -> None:
    """Write what is left to write, so that the interpreter does not fail at it and end with a status of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            silence(stream)


def silence(stream: TextIO) -> None:
    """Send a stream nowhere from now on, with what it still holds."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
