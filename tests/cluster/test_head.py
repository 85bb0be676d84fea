"""The head, from a stop that is asked for before its run can heed it."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.base.stops import SIGNALS
from pacs.cluster.rendezvous import NOTICE, Rendezvous
from pacs.cluster.roles import Noted, _train
from pacs.runs.supervisor import STOPPED


@pytest.fixture
def signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals_as_before")
def test_a_stop_before_the_run_has_begun_is_a_stop(tmp_path: Path) -> None:
    """`pacs train` is still importing when the notice is passed on, and ends by the signal."""
    meeting = Rendezvous(tmp_path / "meet", 0, 1)
    (meeting.folder / NOTICE).touch()
    assert _train(["--dry-run", "recipe=arithmetic"], Noted(meeting)) == STOPPED
