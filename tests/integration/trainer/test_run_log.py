"""metrics.jsonl goes on where the run goes on, and never holds a step twice."""

import json
from pathlib import Path

import pytest

from pacs.base.units import duration
from pacs.integration.trainer.run_log import RunLog


def written(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def log_steps(file: Path, first: int, last: int, *, resumed_step: int) -> None:
    log = RunLog(file, resumed_step=resumed_step, total_steps=9)
    for step in range(first, last + 1):
        log.log({"actor/grad_norm": step / 2}, step)
    log.finish()


def test_the_line_of_a_step_that_was_saved_and_not_logged_comes_from_its_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    log_steps(file, 1, 2, resumed_step=0)  # killed after the save of step 3
    for _ in range(2):  # the second time it is there
        RunLog(file, resumed_step=3, resumed_metrics={"actor/grad_norm": 1.5}, total_steps=9).finish()
        assert [(line["step"], line["actor/grad_norm"]) for line in written(file)] == [(1, 0.5), (2, 1.0), (3, 1.5)]


def test_a_run_that_goes_on_in_a_new_folder_has_no_line_of_the_other_runs(tmp_path: Path) -> None:
    RunLog(tmp_path / "metrics.jsonl", resumed_step=3, resumed_metrics={"loss": 1.0}, total_steps=9).finish()
    assert written(tmp_path / "metrics.jsonl") == []


def test_one_flat_object_a_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log_steps(tmp_path / "run" / "metrics.jsonl", 1, 2, resumed_step=0)
    assert written(tmp_path / "run" / "metrics.jsonl") == [
        {"step": 1, "actor/grad_norm": 0.5},
        {"step": 2, "actor/grad_norm": 1.0},
    ]
    assert "step 2/9: grad norm 1.00" in capsys.readouterr().out


def test_the_console_line_has_the_validation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = RunLog(tmp_path / "metrics.jsonl", resumed_step=0, total_steps=9)
    log.log({"val-core/a/reward/mean@8": 0.25, "pacs/validation/a/pass@1": 0.25, "pacs/validation/a/pass@8": 0.5}, 0)
    log.log({"val-core/a/reward/mean@8": 0.75}, 5)
    log.finish()
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "pacs: step 0/9: pacs/validation/a/pass@1 0.250",
        "pacs: step 5/9: val-core/a/reward/mean@8 0.750",
    ]


def test_a_resumed_run_drops_the_steps_it_takes_again_and_the_line_that_was_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    log_steps(file, 1, 5, resumed_step=0)
    with file.open("a") as stream:
        stream.write('{"step": 6, "actor/gr')  # killed while writing
    log_steps(file, 4, 6, resumed_step=3)
    assert [line["step"] for line in written(file)] == [1, 2, 3, 4, 5, 6]


def test_a_damaged_line_stays_and_the_run_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    log_steps(file, 1, 6, resumed_step=0)
    lines = file.read_bytes().split(b"\n")
    lines[1] = b"\x00" * len(lines[1])
    lines[4] = b'{"step": 5, "actor/\xff'
    file.write_bytes(b"\n".join(lines))
    log_steps(file, 5, 6, resumed_step=4)
    lines = file.read_bytes().splitlines()
    assert set(lines.pop(1)) == {0}
    assert b"\xff" in lines.pop(3)  # of a step that is taken again, for all that can be told
    assert [json.loads(line)["step"] for line in lines] == [1, 3, 4, 5, 6]


def test_a_damaged_line_stays_though_no_other_is_before_it(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    log_steps(file, 1, 3, resumed_step=0)
    lines = file.read_bytes().split(b"\n")
    lines[0] = b"\x00" * len(lines[0])
    file.write_bytes(b"\n".join(lines))
    log_steps(file, 2, 3, resumed_step=1)
    lines = file.read_bytes().splitlines()
    assert set(lines.pop(0)) == {0}
    assert [json.loads(line)["step"] for line in lines] == [2, 3]


def test_a_new_run_in_an_old_folder_starts_its_file_anew(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    log_steps(file, 1, 5, resumed_step=0)
    log_steps(file, 1, 2, resumed_step=0)
    assert [line["step"] for line in written(file)] == [1, 2]


def test_the_console_does_not_call_a_mean_of_graded_scores_a_pass_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = RunLog(tmp_path / "metrics.jsonl", resumed_step=0, total_steps=9)
    validated = {"val-core/a/acc/mean@8": 0.75, "pacs/validation/a/graded_count": 3}
    log.log({"critic/score/mean": 0.5, "pacs/rows/graded_count": 2} | validated, 1)
    log.log({"critic/score/mean": 0.5, "pacs/rows/graded_count": 0}, 2)
    log.finish()
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "pacs: step 1/9: mean score 0.500, val-core/a/acc/mean@8 0.750",
        "pacs: step 2/9: pass rate 0.500",
    ]


@pytest.mark.parametrize(("on_gpus", "more"), [(True, ", tokens/s a GPU 12,346, peak GiB 21.7"), (False, "")])
def test_a_step_on_gpus_says_its_tokens_and_its_memory(
    on_gpus: bool, more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = RunLog(tmp_path / "metrics.jsonl", resumed_step=0, total_steps=2, on_gpus=on_gpus)
    step = {"timing_s/step": 10.0, "perf/throughput": 12345.6, "actor/perf/max_memory_reserved_gb": 21.74}
    log.log(step, 2)
    log.finish()
    assert capsys.readouterr().out == f"pacs: step 2/2: s/step 10.0{more}\n"


def test_the_time_that_is_left_is_that_of_the_steps_that_are_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = RunLog(tmp_path / "metrics.jsonl", resumed_step=0, total_steps=9)
    for step, seconds in ((6, 60.0), (7, 600.0), (8, 120.0), (9, 120.0)):
        log.log({"timing_s/step": seconds}, step)
    log.finish()
    said = [line.rpartition(", ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said[:3] == [f"about {duration(seconds)} left" for seconds in (3 * 60, 2 * 330, 120)]
    assert "left" not in said[3]


def test_the_time_that_is_left_is_told_by_the_last_twenty_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run whose responses grow longer is not told the pace of its first hour."""
    log = RunLog(tmp_path / "metrics.jsonl", resumed_step=0, total_steps=60)
    for step in range(1, 51):
        log.log({"timing_s/step": 10.0 * step}, step)
    log.finish()
    said = capsys.readouterr().out.splitlines()[-1].rpartition(", ")[2]
    assert said == f"about {duration((400 + 410) / 2 * 10)} left"


def test_only_steps_that_are_alike_in_a_row_are_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = RunLog(tmp_path / "metrics.jsonl", resumed_step=0, total_steps=9)
    for step, score in enumerate((1.0, 1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0), start=1):
        log.log({"critic/score/mean": score}, step)
    log.finish()
    warnings = [line for line in capsys.readouterr().out.splitlines() if "warning" in line]
    assert len(warnings) == 1
    assert "step 8: no answer was right in 3 steps" in warnings[0]
