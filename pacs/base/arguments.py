"""Types of the arguments of commands."""

import argparse
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

#: The largest seed: NumPy's generator, which each vLLM engine seeds with its own number added, takes 32 bits.
LARGEST_SEED = 2**31 - 1
#: The largest count: libraries keep some of them in 32 bits.
LARGEST_COUNT = 2**31 - 1


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number of at least 1")
    if int(text) > LARGEST_COUNT:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number of at most {LARGEST_COUNT}")
    return int(text)


def number(words: str, is_right: Callable[[float], bool]) -> Callable[[str], float]:
    """The type of a number of which something must hold, which the words say."""

    def read(text: str) -> float:
        with suppress(ValueError):
            if is_right(value := float(text)):
                return value
        raise argparse.ArgumentTypeError(f"{text}: give {words}")

    return read


positive_number = number("a number above 0, as 1e-4", lambda value: 0 < value < math.inf)
#: A longer wait no timer of the system takes, and nobody means.
seconds = number("a number of seconds above 0, at most 604800 (a week)", lambda value: 0 < value <= 604800)


def add_count(add: Callable[..., object], option: str, default: int, about: str, metavar: str = "N") -> None:
    """An option that is a whole number of at least 1, whose help says the default."""
    add(option, type=positive, default=default, metavar=metavar, help=f"{about} (default: {default})")


def add_out(add: Callable[..., object]) -> None:
    """Add `--out`, of a command that writes its files anew at each call."""
    about = "folder to write to; files of an earlier call are replaced"
    add("--out", required=True, type=Path, metavar="DIR", help=about)


def whole_seed(text: str) -> int:
    """A seed. One below 0 is refused: to Python's generator it is the same as without its sign."""
    if not text.isdecimal() or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number from 0 to {LARGEST_SEED}")
    return int(text)


def _not_empty(given: str, mend: str) -> str:
    """What is given; an empty one is that of a variable that is not set."""
    if not given:
        raise argparse.ArgumentTypeError(f"it is empty: {mend}")
    return given


def text(given: str) -> str:
    """A word or more."""
    return _not_empty(given, "give it a value (is a variable of your shell not set?)")


def name(given: str) -> str:
    """A name or a path."""
    return _not_empty(given, "name a file or a folder")


def path(given: str) -> Path:
    """A path; the empty one would be the folder that we are in."""
    return Path(name(given))
