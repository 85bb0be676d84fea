"""The runner with real processes: what is missing is run once, and nothing outlives it or is half written."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pacs.base.errors import UserError
from pacs.base.locks import locked
from recipes.laboratory import progress
from recipes.laboratory.plan import jobs
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records
from recipes.laboratory.runner import MOST_FAILURES_IN_A_ROW, Runner
from tests.processes import lives
from tests.recipes.laboratory.made import QUESTION, ask, no_starts, recorded, records_of
from tests.recipes.laboratory.runner_process import CHILD

RUNS = 2 * 3 * 2 + 2 * 3
SHORT = QUESTION.replace("[1.0e-4, 2.0e-4, 4.0e-4]", "[2.0e-4]").replace("[0, 1, 2]", "[0, 1]")

Make = Callable[..., Runner]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    no_starts(monkeypatch)

    def runner(text: str = SHORT, **options: object) -> Runner:
        question = ask(tmp_path / "questions", monkeypatch, text)
        where = {"results": tmp_path / "results", "work": tmp_path / "work", "child": CHILD}
        return Runner(question, "countdown", **{**where, **options})  # type: ignore[arg-type]

    return runner


def states(folder: Path) -> list[tuple[str, int, str]]:
    """Method, seed and state of each record, as they stand in the file."""
    return [
        (record["run"]["settings"]["method"], record["run"]["settings"]["seed"], record["state"])
        for record in Records(folder / "results").all
    ]


def left_in_work(folder: Path) -> list[str]:
    """Names in the runner's own folder."""
    return [path.name for path in (folder / "work" / "better-countdown").iterdir()]


@pytest.mark.slow
def test_a_question_is_run_to_its_end_and_not_twice(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(QUESTION).run() == 0
    records = Records(tmp_path / "results")
    assert len(records.all) == RUNS
    fresh = [record["run"] for record in records.all if record["run"]["settings"]["evaluate_every"]]
    assert {run["settings"]["lr"] for run in fresh} == {2e-4}, "the best of the tuning runs"
    assert {(run["settings"]["method"], run["settings"]["seed"]) for run in fresh} == {
        (method, seed) for method in ("pacs", "grpo") for seed in (0, 1, 2)
    }
    said = capsys.readouterr().out
    assert f"[{RUNS}/{RUNS}] better countdown: " in said
    assert "; 0 left" in said
    assert "1 left, about" in said

    file = tmp_path / "results" / "better-countdown.jsonl"
    before = file.read_bytes()
    assert make(QUESTION).run() == 0
    assert file.read_bytes() == before
    assert left_in_work(tmp_path) == []


@pytest.mark.slow
def test_what_another_question_has_run_is_not_run_again(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().run()
    other = ask(tmp_path / "questions", monkeypatch, SHORT.replace("[0, 1]", "[0, 1, 2]"), name="other")
    Runner(other, "countdown", results=tmp_path / "results", work=tmp_path / "work", child=CHILD).run()
    lines = (tmp_path / "results" / "other-countdown.jsonl").read_text().splitlines()
    assert {json.loads(line)["run"]["settings"]["seed"] for line in lines} == {2}


def test_no_run_is_started_that_would_end_too_late(make: Make, tmp_path: Path) -> None:
    """Those there took a minute each; by their rollouts the others take as long."""
    runner = make(minutes=0.9)
    first = next(iter(jobs(runner.question, "countdown", lambda run: None)))
    records_of(tmp_path / "results", recorded(first.run))
    assert make(minutes=0.9).run() == 0
    assert len(states(tmp_path)) == 1


@pytest.mark.slow
def test_with_time_the_same_are_run(make: Make, tmp_path: Path) -> None:
    runner = make()
    first = next(iter(jobs(runner.question, "countdown", lambda run: None)))
    records_of(tmp_path / "results", recorded(first.run))
    assert make(minutes=1.5).run() == 0
    assert len(states(tmp_path)) == 4


@pytest.mark.slow
def test_failures_are_recorded_with_their_cause_and_tried_again_when_asked(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SHORT.replace("[0, 1]", "[0, 3, 1, 2]")
    monkeypatch.setenv("FAKE_CHILD", json.dumps({"0": "nan", "1": "raise", "2": "kill"}))
    make(text, workers=1, retry=True).run()
    records = [record for record in Records(tmp_path / "results").all if record["state"] == "failed"]
    causes = {record["run"]["settings"]["seed"]: record["cause"] for record in records}
    assert len(records) == 6, "each once, also with --retry"
    assert not any("result" in record for record in records)
    assert "ValueError: Out of range float values are not JSON compliant" in causes[0]
    assert causes[1] == "RuntimeError: the loss is not finite at step 3: lower lr"
    assert causes[2] == "killed by SIGKILL"

    monkeypatch.setenv("FAKE_CHILD", "{}")
    make(text).run()
    assert len(states(tmp_path)) == 8
    left = progress.missing(make(text).question, "countdown", Records(tmp_path / "results"))
    assert (left.runs, left.of, left.failed) == (0, 8, 6)
    make(text, retry=True).run()
    assert [state for _, _, state in states(tmp_path)][8:] == ["finished"] * 6


@pytest.mark.slow
def test_too_many_failures_end_the_runner(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CHILD", json.dumps({str(seed): "raise" for seed in range(8)}))
    with pytest.raises(UserError, match=r"6 runs in a row failed, the last with `RuntimeError: .*--retry"):
        make(SHORT.replace("[0, 1]", "[0, 1, 2, 3, 4, 5, 6, 7]"), workers=1).run()
    assert len(states(tmp_path)) == MOST_FAILURES_IN_A_ROW


@pytest.fixture
def runner_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "subprocess.Popen[bytes]":
    """A runner whose two children hang, one of which ignores SIGTERM, after two runs of another seed are recorded."""
    monkeypatch.setenv("FAKE_CHILD", json.dumps({"1": "hang", "2": "stay"}))
    command = [sys.executable, "-m", "tests.recipes.laboratory.runner_process", str(tmp_path)]
    return subprocess.Popen([*command, SHORT.replace("[0, 1]", "[0, 1, 2]")])


def hanging(folder: Path, count: int) -> list[psutil.Process]:
    """The runs that hang, once there are so many."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        pids = [int(file.name.partition("-")[2]) for file in folder.glob("work/better-countdown/run-*/started-*")]
        if len(pids) == count:
            return [psutil.Process(pid) for pid in pids]
        time.sleep(0.05)
    raise AssertionError("the runs did not start")


def gone(processes: list[psutil.Process]) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until and any(map(lives, processes)):
        time.sleep(0.05)
    return not any(map(lives, processes))


@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGINT])
def test_a_signal_ends_the_runs_and_leaves_nothing_behind(
    number: signal.Signals, runner_process: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    children = hanging(tmp_path, 2)
    runner_process.send_signal(number)
    assert runner_process.wait(30) == 128 + number
    assert gone(children)
    assert all(state == "finished" for *_, state in states(tmp_path))
    assert left_in_work(tmp_path) == []


@pytest.mark.slow
def test_runs_end_with_a_runner_that_is_killed_and_the_next_one_goes_on(
    runner_process: "subprocess.Popen[bytes]", make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = hanging(tmp_path, 2)
    done = states(tmp_path)
    os.kill(runner_process.pid, signal.SIGKILL)
    runner_process.wait()
    assert gone(children)
    assert states(tmp_path) == done
    with (tmp_path / "results" / "better-countdown.jsonl").open("a") as file:
        file.write('{"key": "half a li')  # as a power cut may leave it

    monkeypatch.setenv("FAKE_CHILD", "{}")
    assert make(SHORT.replace("[0, 1]", "[0, 1, 2]")).run() == 0
    assert sorted(states(tmp_path)) == [(method, s, "finished") for method in ("grpo", "pacs") for s in (0, 1, 2)]
    assert left_in_work(tmp_path) == []


@pytest.mark.slow
def test_two_runners_do_not_run_the_same(runner_process: "subprocess.Popen[bytes]", make: Make, tmp_path: Path) -> None:
    hanging(tmp_path, 2)
    said = rf"better on countdown is running in this folder \(process {runner_process.pid}\): stop it"
    with pytest.raises(UserError, match=said):
        make().run()
    runner_process.terminate()
    runner_process.wait(30)


def test_nor_do_two_checkouts_that_share_their_records(make: Make, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "results").symlink_to(tmp_path / "results")
    with locked(tmp_path / "results" / ".better-countdown"), pytest.raises(UserError, match="stop it, or run it in"):
        make(work=tmp_path / "there" / "work", results=tmp_path / "there" / "results").run()


def test_the_question_of_the_tests_has_the_runs_that_are_expected(tmp_path: Path, make: Make) -> None:
    question: Question = make(QUESTION).question
    assert progress.missing(question, "countdown", Records(tmp_path)).of == RUNS
