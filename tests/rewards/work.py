"""Functions that `test_isolation.py` has run in other processes."""

import os
import signal
import time


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
