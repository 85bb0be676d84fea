"""The chaos run's own logic, without a real run: what it draws, what it finds, how it judges, what it writes."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos import outcome as outcomes
from tests.chaos import start as starts
from tests.chaos import strike as strikes
from tests.chaos.faults import FAULTS, START, WHOLE_START, Draw, Fault, draw
from tests.chaos.finder import Finder
from tests.chaos.outcome import RESULTS, Outcome, judge, keep, kind_of, read
from tests.chaos.page import BEGIN, END, PAGE, table, with_table
from tests.chaos.place import Place
from tests.chaos.start import Broken, Times
from tests.chaos.strike import strike, targets, watch_end
from tests.integration.real_run import RealRun

#: A process of its own session whose parents are dead, and whose environment and title say nothing of where it is from.
HIDES = """
import os, sys, time
from setproctitle import setproctitle
if os.fork():
    sys.stdin.read()
    os._exit(0)
os.setsid()
if os.fork():
    sys.stdin.read()
    os._exit(0)
os.close(0)
os.chdir("/")
setproctitle("x" * 60000)
print(os.getpid(), flush=True)
os.close(1)
time.sleep(100)
"""
#: A stand-in for `pacs train`: it writes the state, has a process, and ends once that is dead.
TRAINS = """
import json, os, subprocess, sys, time
from pathlib import Path
from uuid import uuid4
from pacs.runs.state import RunState, state_of_start, write_state
folder, cause, leaves, status = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
folder.mkdir(exist_ok=True)
token = uuid4().hex
state = state_of_start(folder, token, resumed_from=None, temporary=Path(os.environ["TMPDIR"]))
part = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", "the part"])
if leaves == "process":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", "the rest"], env={})
write_state(folder, state)
part.wait()
if leaves == "hang":
    time.sleep(100)
if leaves == "file":
    (Path(os.environ["TMPDIR"]) / ("vllm_dist_" + uuid4().hex)).touch()
write_state(folder, RunState(**(vars(state) | {"state": "failed", "cause": cause, "exit_status": status})))
sys.exit(status)
"""
PART = Fault(name="part killed", titles=("the part",), cause="the part died")
OUTCOME = Outcome(
    "raylet killed", START, 1, 0, seconds=4.0, load=2.0, about={"code": "new", "commit": "c1", "machine": "2 cores"}
)


def test_what_is_drawn_follows_from_the_seed() -> None:
    names = list(FAULTS)
    drawn = [draw(7, i, names) for i in range(3 * len(names))]
    assert drawn == [draw(7, i, names[::-1]) for i in range(3 * len(names))]
    assert drawn != [draw(8, i, names) for i in range(3 * len(names))]
    for around in range(3):
        there = drawn[around * len(names) : (around + 1) * len(names)]
        assert Counter(d.fault.name for d in there) == dict.fromkeys(names, 1)
    assert all(d.moment in d.fault.moments and 0 <= d.delay < 1 and 0 <= d.size < 1 for d in drawn)


def test_every_moment_is_drawn_and_has_a_span() -> None:
    drawn = [draw(0, i, list(FAULTS)) for i in range(1000)]
    assert {d.moment for d in drawn} == {moment for fault in FAULTS.values() for moment in fault.moments}
    assert all(Times().within(d.moment) >= 0 for d in drawn)
    assert {d.steps for d in drawn} == {0, 1}


def test_a_process_that_hides_is_found(tmp_path: Path) -> None:
    """Once its parents were seen, it is known when they are dead."""
    with subprocess.Popen(
        [sys.executable, "-c", HIDES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as launcher:
        assert launcher.stdin is not None
        assert launcher.stdout is not None
        finder = Finder(launcher.pid, [tmp_path])
        hidden = int(launcher.stdout.readline())
        try:
            assert {process.pid for process in finder.look()} > {launcher.pid, hidden}
            launcher.stdin.close()
            launcher.wait()
            while len(living := finder.living()) > 1:  # the one between them ends, too
                pass
            assert [process.pid for process in living] == [hidden]
            assert b"PATH" not in Path(f"/proc/{hidden}/environ").read_bytes()  # overwritten by the title
            assert os.getsid(hidden) != launcher.pid
        finally:
            os.kill(hidden, signal.SIGKILL)
        while finder.living():
            pass


def test_the_next_start_does_not_belong_to_one_that_is_over(tmp_path: Path) -> None:
    """Though the numbers of its session and its namespace be the former one's."""
    waits = [sys.executable, "-c", "import time; time.sleep(100)"]
    first, second = (subprocess.Popen(waits, start_new_session=True) for _ in range(2))
    try:
        finder = Finder(first.pid, [tmp_path])
        finder.sessions.add(second.pid)
        finder.start()
        finder.freeze()
        finder.known -= {process for process in finder.known if process.pid == second.pid}  # it may have looked before
        assert {process.pid for process in finder.look()} == {first.pid}
    finally:
        for process in (first, second):
            process.kill()
            process.wait()


@pytest.mark.parametrize("by", ["cwd", "file", "environment", "argument", "nothing"])
def test_a_process_that_names_a_folder_is_found(by: str, tmp_path: Path) -> None:
    """One that does not descend from the launcher."""
    folder = tmp_path / "run"
    folder.mkdir()
    launcher = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], start_new_session=True)
    opens = f"open({str(folder / 'log')!r}, 'w')" if by == "file" else "None"
    stranger = subprocess.Popen(
        [sys.executable, "-c", f"import time; f = {opens}; print(flush=True); time.sleep(100)"]
        + ([str(folder)] if by == "argument" else []),
        cwd=folder if by == "cwd" else "/",
        env={"A": str(folder)} if by == "environment" else {},
        stdout=subprocess.PIPE,
    )
    try:
        assert stranger.stdout is not None
        stranger.stdout.readline()
        # What is written in the program's text is an argument, too.
        expected = set() if by == "nothing" else {stranger.pid}
        assert {process.pid for process in Finder(launcher.pid, [folder]).naming()} == expected
    finally:
        for process in (launcher, stranger):
            process.kill()
            process.wait()


@pytest.fixture
def broken(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broken]:
    """A stand-in for a run: what it gives as its cause, what it leaves, its status."""
    monkeypatch.setattr(starts, "LEFT_SECONDS", 0.3)
    monkeypatch.setattr(strikes, "LIMIT_SECONDS", 0.5)
    run = RealRun(tmp_path, tmp_path / "run")
    run.command = [sys.executable, "-c", TRAINS, str(run.folder), *request.param]
    broken = Broken(run, Place(), tmp_path / "compiled")
    yield broken
    broken.remove()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "problems"),
    [
        pytest.param(("the part died", "nothing", "1"), set(), id="held"),
        pytest.param(("another died", "nothing", "1"), {outcomes.CAUSE}, id="cause"),
        pytest.param(("the part died", "nothing", "3"), {outcomes.STATUS}, id="status"),
        pytest.param(("the part died", "process", "1"), {outcomes.PROCESSES}, id="process"),
        pytest.param(("the part died", "file", "1"), {outcomes.FILES}, id="file"),
        pytest.param(("the part died", "hang", "1"), {outcomes.HANG}, id="hang"),
    ],
    indirect=["broken"],
)
def test_what_does_not_hold_is_seen(broken: Broken, problems: set[str]) -> None:
    drawn = Draw(0, PART, START, 0, 0.5, 0.5)
    assert broken.lives_until(lambda: broken.state() and targets(broken, drawn), lambda: None, 30)
    strike(broken, drawn, broken.run.folder)
    end = watch_end(broken, drawn)
    assert judge(drawn, broken, end).keys() == problems
    assert (end.seconds is None) == (outcomes.HANG in problems)
    assert broken.finder.living() == set()


def test_outcomes_are_read_as_they_were_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that was cut off while it was written is left out."""
    keep(OUTCOME, tmp_path / "results.jsonl")
    with (tmp_path / "results.jsonl").open("a") as stream:
        stream.write('{"fault": "cut o')
    assert read(tmp_path / "results.jsonl") == [OUTCOME]
    assert OUTCOME.about.keys() == {"commit", "code", "machine"}
    assert "raylet killed, start-up after 4.0 s" in capsys.readouterr().out


def test_the_table() -> None:
    about = {"code": "new", "commit": "c1", "machine": "2 cores"}
    given = [
        replace(OUTCOME, seconds=50.0, about=about | {"code": "old"}),
        replace(OUTCOME, about=about),
        replace(OUTCOME, index=1, seconds=9.4, load=7.6, about=about),
        replace(OUTCOME, index=2, seconds=None, problems={outcomes.HANG: "long words"}, about=about),
        replace(OUTCOME, index=3, fault="GCS killed", seconds=2.0, about=about | {"commit": "c2"}),
        Outcome("none (a run's end)", "after 4 faults", 1, about=about, load=3.0),
    ]
    written = table(given)
    assert "4 faults at random instants, of which 3 held; 1 runs" in written
    assert "Commit c1, c2; 2 cores; load average 2 to 8; seeds 1." in written
    assert written.splitlines()[-3:] == [
        "| GCS killed | start-up | 1 | 1 | 2, 2 |  |",
        "| none (a run's end) |  | 1 | 1 |  |  |",
        "| raylet killed | start-up | 3 | 2 | 7, 9 | no end (1) |",
    ]
    text = f"a\n{BEGIN}old\n{END}b\n"
    assert with_table(with_table(text, given), given) == f"a\n{BEGIN}{written}\n{END}b\n"
    with pytest.raises(ValueError, match="chaos"):
        with_table("no marks", given)


def test_the_page_has_the_table_of_the_outcomes_that_are_kept() -> None:
    """Else: `bash scripts/chaos.sh --table`."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_table(text, read(RESULTS))


def test_what_is_random_in_a_name_does_not_count() -> None:
    names = [
        "vllm_dist_05d2f070170047d4bb8505b509f172f1",
        "ckpt_0053cae7.lock",
        "001e7051-815e-4c56-a82a-ebfe6ce6c29b",
    ]
    assert list(map(kind_of, names)) == ["vllm_dist_*", "ckpt_*.lock", "*"]


def test_faults_that_begin_with_the_start_have_no_other_moment() -> None:
    for fault in FAULTS.values():
        assert (fault.kind in ("shm", "memory")) == (fault.moments == (WHOLE_START,)), fault.name
