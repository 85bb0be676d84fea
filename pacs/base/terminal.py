"""Text of others on its way to a terminal.

A model's response, a task's name in a folder from elsewhere, a file's content in an error: each may hold characters
that a terminal obeys. They set its title, write to the clipboard, or overwrite what was said before. Everything that
`pacs` prints goes through `print` of this module, which shows them instead; tests/test_house.py holds the code to it.
"""

import builtins
import os
import re
import select
import shutil
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

#: Control characters of ASCII but for tab and newline, and of Latin-1 (C1); line separators; what overrides the
#: direction of writing; halves of a surrogate pair, which no terminal can be given.
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

#: Fillers and joiners that Python takes for printable, and nobody sees.
BLANK = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
#: What sets a colour, as Ray does in what it says.
COLOURS = re.compile(r"\x1b\[[\d;]*m")

#: The status of a process that SIGPIPE has ended, as a shell gives it.
BROKEN_PIPE = 141


def visible(text: object) -> str:
    r"""A text in which nothing is obeyed but tabs and newlines: ESC becomes the four characters `\x1b`.

    >>> print(visible("\x1b]0;title\x07 and \u202e, but é and 数 as they are"))
    \x1b]0;title\x07 and \u202e, but é and 数 as they are
    """
    return OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), str(text))


def named(text: object) -> str:
    """A text of an error or a warning, in which what cannot be seen is named in its place: `3<U+200B>`, `<U+00A0>5`.

    Spaces, tabs and newlines are as they are; so is what `visible` shows.
    """

    def name(found: re.Match[str]) -> str:
        character = found[0]
        is_visible = character.isprintable() and not BLANK.match(character)
        return character if is_visible or OBEYED.match(character) else f"<U+{ord(character):04X}>"

    return re.sub(r"[^\x00-\x7f]", name, str(text))


def print(*values: object, sep: str = " ", end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Python's `print` of what `visible` makes of the values, and `named` where they go to standard error."""
    shown = map(named, values) if file is sys.stderr else values
    builtins.print(*map(visible, shown), sep=sep, end=end, file=file, flush=flush)


def say(text: str, *, error: bool = False) -> None:
    """Print a line to standard output, or to standard error; without a console the run goes on."""
    stream = sys.stderr if error else sys.stdout
    try:
        encoding = stream.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError:
        silence(stream)


def columns() -> int | None:
    """The characters of a line of standard output, where it is a terminal; else None."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def clear_screen() -> None:
    """Go on at the top of an empty screen, if standard output is one."""
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[H\x1b[2J")


def settle() -> None:
    """Write what is left to write, so that the interpreter does not fail at it and end with a status of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            silence(stream)


def piped(command: Callable[[], int]) -> int:
    r"""The status of a command, or `BROKEN_PIPE` where nobody reads any more what it prints (`| head`).

    What its caller has closed (`>&-`) leads nowhere. In a folder that is no longer there it is refused. What the
    output's encoding lacks (of Latin 1 a dash, of ASCII an accent) is shown as Python names it: `\u2013`.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest descriptor that is free, so that no file of ours is taken for the output.
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        Path.cwd()
    except FileNotFoundError:
        say("pacs: the folder that this was started in is no longer there: cd to another", error=True)
        return 2
    try:
        status = command()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        stdout = select.poll()
        stdout.register(sys.stdout.fileno(), 0)
        if not stdout.poll(0):  # it was another pipe
            raise
        silence(sys.stdout)  # else the interpreter would try again at its end, and say so
        return BROKEN_PIPE


def silence(stream: TextIO) -> None:
    """Send a stream nowhere from now on, with what it still holds."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
