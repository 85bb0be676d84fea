"""The runs of a sweep one after the other: how long they may still take; one that fails, and signals."""

import os
import signal
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pacs.base import stops
from pacs.base.stops import Stops
from pacs.runs.supervisor import FAILED, FINISHED, STOPPED
from pacs.sweeps import train
from pacs.sweeps.grid import PlannedRun


def planned(folder: Path, total: int, step: int = 0, elsewhere: dict | None = None) -> PlannedRun:
    config = OmegaConf.create({"trainer": {"total_training_steps": total}})
    return PlannedRun("pacs", {"method.beta": folder.name}, folder, [], config, step, elsewhere)


def test_the_time_that_is_left_is_that_of_the_steps_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first goes on from its fifth step; the second fails; one is trained already, and one was elsewhere."""
    runs = [
        planned(tmp_path / "a", 10, 5),
        planned(tmp_path / "b", 30),
        planned(tmp_path / "c", 70, 70),
        planned(tmp_path / "d", 90, elsewhere={}),
        planned(tmp_path / "e", 40),
        planned(tmp_path / "f", 20),
    ]
    now = 1000.0
    takes = {"a": (10, FINISHED), "b": (8, FAILED), "e": (90, FINISHED), "f": (1, FINISHED)}

    def trained(run: PlannedRun, refused: dict[str, str]) -> int:
        nonlocal now
        seconds, status = takes[run.folder.name]
        now += seconds
        return status

    monkeypatch.setattr(train, "_train", trained)
    monkeypatch.setattr(train.time, "monotonic", lambda: now)
    ended = []
    status = train.train_runs(runs, None, Stops(), {}, lambda: ended.append(now))
    said = {line.split(": ")[2].split(" ")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert said["beta=a"].endswith("/a")
    assert said["beta=b"].endswith(f"(after 10 s; about {round(10 / 5 * (30 + 40 + 20) / 60)} min left)")
    assert said["beta=c"].endswith(f"is trained already ({tmp_path / 'c'})")
    assert said["beta=d"].endswith("was trained elsewhere")
    assert said["beta=e"].endswith(f"(after 18 s; about {round(18 / 5 * (40 + 20) / 60)} min left)")
    assert said["beta=f"].endswith(f"(after {round(108 / 60)} min; about {108 / 45 * 20:.0f} s left)")
    assert status == FAILED
    assert ended == [1010, 1018, 1108, 1109]
    assert [run.is_finished for run in runs] == [True, False, True, True, True, True]


def test_a_console_that_is_gone_does_not_end_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `| tee log`, whose tee a Ctrl-C ends as well: the runs go on, or are saved."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        runs = [planned(tmp_path / "a", 10, 10), planned(tmp_path / "b", 10, elsewhere={})]
        assert train.train_runs(runs, None, Stops(), {}, lambda: None) == FINISHED


@pytest.mark.parametrize(("apart", "expected"), [(False, STOPPED), (True, 128 + signal.SIGHUP)])
def test_two_signals_at_once_stop_a_sweep_as_one_does(
    apart: bool, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it evaluates: the evaluation has kept its samples, and whoever started the sweep may start it again."""

    def evaluated(*_: object) -> bool:
        for number in (signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
        return False

    monkeypatch.setattr(train, "evaluate_run", evaluated)
    if apart:
        monkeypatch.setattr(stops, "ONE_REQUEST_SECONDS", 0.0)
    asked = train.Evaluation([], 8192, [])
    with Stops() as stop:
        assert train.train_runs([planned(tmp_path / "a", 10, 10)], asked, stop, {}, lambda: None) == expected
