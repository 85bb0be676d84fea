"""`recipes.training`: signals while `pacs train`, for which a script stands, runs; and what a run has logged."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from recipes.training import train_in, trained_steps

HEEDS = "trap 'exit 75' HUP; kill -HUP $PPID; for i in $(seq 600); do sleep 0.05; done; exit 9"
ENDS_BY_ITSELF = "trap '' TERM; kill -TERM $PPID; exit 0"
FAILS = "exit 3"


@pytest.fixture(autouse=True)
def hang_up() -> Iterator[None]:
    """SIGHUP as it is by default, though the tests may run under nohup, which ignores it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("does", "status", "says"),
    [(HEEDS, 75, "the same command goes on"), (ENDS_BY_ITSELF, 75, "the same command goes on"), (FAILS, 3, "")],
)
def test_a_signal_is_for_the_training_and_ends_the_program(
    does: str,
    status: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The lost terminal's, too; once the training has ended, the handlers are those of before."""
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    before = signal.getsignal(signal.SIGHUP)
    with pytest.raises(SystemExit) as ended:
        train_in(tmp_path / "run", [])
    assert ended.value.code == status
    assert says in capsys.readouterr().out
    assert signal.getsignal(signal.SIGHUP) is before


def test_a_damaged_line_of_the_log_is_passed_over(tmp_path: Path) -> None:
    lines = [
        '{"step": 0, "pass@1": 0.5}',
        '{"step": 1, "timing_s/step": 3}',
        "\0\0\0",
        '{"step": 2, "timing_s/step": 4}',
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    assert [(step["step"], step["timing_s/step"]) for step in trained_steps(tmp_path)] == [(1, 3.0), (2, 4.0)]
