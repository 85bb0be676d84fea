"""Functions that `test_isolation.py` has run in other processes."""

import os
import signal
import time
from pathlib import Path


def pid() -> int:
    return os.getpid()


def double(number: int) -> int:
    return 2 * number


def divide(a: int, b: int) -> float:
    return a / b


def sleep() -> None:
    time.sleep(3600)


def loop() -> None:
    while True:
        pass


def power() -> None:
    9 ** (9**9)


def take(size: int) -> int:
    return len(bytearray(size))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(path: str) -> int:
    """Until the file is there; it leaves a line in another for each start."""
    with Path(path + ".starts").open("a") as file:
        file.write("started\n")
    while not Path(path).exists():
        time.sleep(0.01)
    return os.getpid()


class TwoWords(Exception):
    """An exception that cannot be read again when it was pickled."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


def fail_in_two_words() -> None:
    raise TwoWords("one", "two")


def unpicklable() -> object:
    return lambda: None


def write() -> None:
    print("printed", flush=True)
