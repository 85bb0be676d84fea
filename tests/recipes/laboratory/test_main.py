"""The command: what it lists, what it says, and what it refuses."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from recipes.laboratory import __main__ as command
from recipes.laboratory import report, starts, summary
from recipes.laboratory.plan import jobs
from recipes.laboratory.records import Records
from recipes.laboratory.runner import Runner
from tests.recipes.laboratory.made import ask, recorded, records_of


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of records, with those of the first half of the tuning runs: each took a minute."""
    question = ask(tmp_path / "questions", monkeypatch)
    folder = tmp_path / "results"
    first = [job.run for job in jobs(question, "countdown", lambda run: None)][:6]
    records_of(folder, recorded(first[0], cause="killed by SIGKILL"), *map(recorded, first[1:]))
    monkeypatch.setattr(Records.__init__, "__defaults__", (folder,))
    monkeypatch.setattr(report.write, "__defaults__", ("", folder))
    monkeypatch.setattr(summary, "DOCUMENTS", ())
    return folder


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints, whatever it ends with."""
    monkeypatch.setattr(sys, "argv", ["laboratory", *words])
    with suppress(SystemExit):
        command.main()
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.usefixtures("results")
def test_without_arguments_it_lists_what_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """12 more runs at about a minute, a third of it for evaluations; the longer have four times as many of these."""
    (line,) = [line for line in said(monkeypatch, capsys).splitlines() if line.startswith("better")]
    tuning, fresh = 6 * 8, 2 * 6 * 8 + 6 * 16
    minutes = round((6 * 60 + 6 * (40 + 20 / tuning * fresh)) / 2 / 60)
    assert line.split() == ["better", "countdown", "Better", "6/18", "1", str(minutes), "min"]


@pytest.mark.usefixtures("results")
def test_a_dry_run_names_what_would_be_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(monkeypatch, capsys, "better", "--dry-run").splitlines()
    assert lines[0] == "countdown: never (tuning), lr 0.0001, seed 101, about 60 s"
    assert "grpo (fresh), lr to be chosen, seed 2" in lines[-2]
    assert lines[-1].startswith("better countdown: 6 of 18 runs are there, 12 left, about 9 min, 1 failed (--retry")
    again = said(monkeypatch, capsys, "better", "--dry-run", "--retry").splitlines()
    assert again[0] == "countdown: never (tuning), lr 0.0001, seed 100, about 60 s"


def test_ctrl_c_while_a_start_is_made_says_so(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(starts, "start_of", lambda task, seed, folder: signal.raise_signal(signal.SIGINT))
    for name, folder in {"results": results, "work": tmp_path / "work"}.items():
        monkeypatch.setitem(Runner.__init__.__kwdefaults__, name, folder)
    monkeypatch.setattr(sys, "argv", ["laboratory", "better"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which nohup and & may ignore
    try:
        assert command.main() == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "interrupted\n"


def test_report_writes_pages(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(monkeypatch, capsys, "report").split() == [str(results / "better-countdown.md")]
    assert (results / "better-countdown.md").read_text().startswith("# Better: countdown")


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bettr"], "there is no question bettr: choose one of better"),
        (["better", "--task", "chess"], "--task chess is none of better: choose one of countdown"),
        (["better", "other"], "a second word is for `report` alone"),
        (["report", "nothing"], "there is no question nothing"),
        (
            ["report", "--dry-run"],
            "--dry-run is for a question that is to be run: leave it out",
        ),
        (["--minutes", "5"], "--minutes is for a question that is to be run: name it first, or leave --minutes out"),
        (["better", "--dry-run", "--minutes", "5"], "--minutes is for runs, and --dry-run makes none"),
        (["better", "--minutes", "0"], "give a whole number of at least 1"),
    ],
)
def test_what_is_refused(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in said(monkeypatch, capsys, *words)


def test_it_ends_quietly_where_nobody_reads_on() -> None:
    """Two tasks' missing runs are more lines than a closed pipe takes."""
    command = [sys.executable, "-m", "recipes.laboratory", "resets", "--dry-run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == ("", 141)


def test_help_names_the_questions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(monkeypatch, capsys, "--help")
    for words in ("methods", "quickstart", "--minutes", "python -m recipes.laboratory report", "Ctrl-C"):
        assert words in text
