"""Types of the arguments of commands."""

import argparse
from pathlib import Path


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number of at least 1")
    return int(text)


def name(text: str) -> str:
    """A name or a path; an empty one is that of a variable that is not set."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: name a file or a folder")
    return text


def path(text: str) -> Path:
    """A path; the empty one would be the folder that we are in."""
    return Path(name(text))
