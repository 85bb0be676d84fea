"""Signals, really sent to this process: between two runs, and while the launcher of a run listens."""

import os
import signal
from collections.abc import Iterator

import pytest

from pacs.base.stops import Stops
from pacs.runs.signals import StopRequests


@pytest.fixture(autouse=True)
def interrupt() -> Iterator[None]:
    """Python's own handler of Ctrl-C, though the tests may run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_in_a_run_is_known_to_the_run_and_to_the_sweep() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with Stops() as stop:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert stop.signals == [signal.SIGUSR1]
        with StopRequests() as requests:
            requests.heeded = True
            os.kill(os.getpid(), signal.SIGTERM)
            assert requests.names == ["SIGTERM"]
        assert stop.signals == [signal.SIGUSR1, signal.SIGTERM]
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.signals[2:] == [signal.SIGINT]
        assert requests.names == ["SIGTERM"]
    assert signal.getsignal(signal.SIGUSR1) is before


def test_a_run_alone_passes_ctrl_c_to_nobody() -> None:
    """Python's own handler would raise KeyboardInterrupt."""
    with StopRequests() as requests:
        requests.heeded = True
        os.kill(os.getpid(), signal.SIGINT)
    assert requests.names == ["SIGINT"]
