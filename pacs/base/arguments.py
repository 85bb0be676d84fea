"""Types of the arguments of commands."""

import argparse
import math
from pathlib import Path

#: The largest seed: NumPy's generator, which each vLLM engine seeds with its own number added, takes 32 bits.
LARGEST_SEED = 2**31 - 1


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number of at least 1")
    return int(text)


def positive_number(text: str) -> float:
    """A finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: give a number above 0, as 1e-4")
    return number


def whole_seed(text: str) -> int:
    """A seed. One below 0 is refused: to Python's generator it is the same as without its sign."""
    if not text.isdecimal() or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number from 0 to {LARGEST_SEED}")
    return int(text)


def name(text: str) -> str:
    """A name or a path; an empty one is that of a variable that is not set."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: name a file or a folder")
    return text


def path(text: str) -> Path:
    """A path; the empty one would be the folder that we are in."""
    return Path(name(text))
