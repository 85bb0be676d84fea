"""The processes of a test, as psutil finds them."""

from contextlib import suppress

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
