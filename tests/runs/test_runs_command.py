import json
import os
import threading
import time

import pytest

from pacs import cli
from pacs.runs.state import Progress, report_fault, write_progress, write_state
from tests.runs.states import state_in


def run_command(*words: object) -> int:
    return cli.main(["runs", *map(str, words)])


def test_the_table(make_run, tmp_path, capsys):
    times = {"started": "2026-01-02T03:04:05+00:00", "ended": "2026-01-02T05:14:05+00:00"}
    make_run("k5", **times, saved=(5,))
    make_run("k20", state="running", progress=False)
    make_run("older", state=None, progress=False)
    assert run_command(tmp_path) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    header, rule, k20, k5, older = (line.split() for line in captured.out.splitlines())
    assert " ".join(header) == "run state step resumable pass rate loss validation s/step size started (UTC) left took"
    assert len(rule) == 12
    assert k5[:8] == ["k5", "finished", "6/20", "5", "0.600", "0.400", "0.625", "9.5"]
    assert k5[10:] == ["2026-01-02", "03:04", "–", "2", "h", "10", "min"]
    assert k20[:8] == ["k20", "running", "6/?", "–", "0.600", "0.400", "0.625", "10.0"]
    assert older[:3] == ["older", "unknown", "6/?"]


def test_a_run_elsewhere_shows_where_and_the_age_of_its_progress(make_run, tmp_path, capsys):
    folder = make_run("a", state="running", host="node7")
    os.utime(folder / "progress.json", (time.time() - 7200, time.time() - 7200))
    make_run("b", state="running", host="node8", progress=False)
    assert run_command(tmp_path) == 0
    out = capsys.readouterr().out
    assert "running on node7 (progress 2 h 0 min ago)" in out
    assert "running on node8 (no progress yet)" in out


def test_a_time_that_is_no_number_hides_no_run(make_run, tmp_path, capsys):
    for name, seconds in (("a", float("nan")), ("b", float("inf"))):
        write_progress(make_run(name, state="running"), Progress(6, 20, "rollouts", step_seconds=seconds))
    make_run("c", state="running")
    assert run_command(tmp_path) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:3] for row in rows] == [[name, "running", "6/20"] for name in "abc"]
    assert [row[12] for row in rows] == ["–", "–", "2"]  # minutes that are left


def test_numbers_near_the_limit_of_a_float_hide_no_run(make_run, tmp_path, capsys):
    folder = make_run("a", state="running")
    write_progress(folder, Progress(6, 20, "rollouts", step_seconds=1e308))
    line = {"step": 6, "pacs/loss_mean": 1e308, **{f"pacs/validation/{name}/pass@1": 1e308 for name in "xy"}}
    (folder / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    assert run_command(tmp_path) == 0
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert row.split()[:9] == ["a", "running", "6/20", "–", "–", "1.0e+308", "inf", "(mean", "of"]
    assert "1.0e+308" in row.split()[10:]
    assert len(row) < 200


def test_causes_and_checkpoints_that_were_passed_over_are_below_the_table(make_run, tmp_path, capsys):
    finished = make_run("finished", saved=(5, 10))
    failed = make_run("failed", state="failed", cause="out of memory", saved=(5, 10))
    make_run("stopped", state="stopped", cause="SIGTERM, after step 6")
    died = make_run("died", state="running", pid=1 << 22)
    report_fault(died, "the disk was full")
    make_run("silent", state="failed")
    for run in (finished, failed):
        (run / "checkpoints/global_step_10/model.pt").unlink()
    assert run_command(tmp_path) == 0
    remarks = capsys.readouterr().out.splitlines()[7:]
    assert remarks == [
        "died died: the disk was full",
        "failed failed: out of memory",
        f"  checkpoint passed over: {failed}/checkpoints/global_step_10: model.pt is missing",
        "silent failed: no cause is known",
        "stopped stopped: SIGTERM, after step 6",
    ]


def test_json_has_every_value(make_run, tmp_path, capsys):
    make_run("a", saved=(5,))
    folder = make_run("b", state="failed", cause="x", progress=False)
    (folder / "metrics.jsonl").write_text('{"step": 3, "pacs/loss_mean": NaN, "pacs/validation/a/pass@1": Infinity}\n')
    assert run_command(tmp_path, "--json") == 0
    a, b = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (a["name"], a["state"], a["step"], a["total_steps"], a["resumable_from"]) == ("a", "finished", 6, 20, 5)
    assert (a["pass_rate"], a["validation"]) == (0.6, {"pacs/validation/arithmetic/pass@1": 0.625})
    assert set(a) == set(b)
    assert (b["loss"], b["validation"], b["cause"]) == (None, {"pacs/validation/a/pass@1": None}, "x")


def test_several_validations_are_averaged_and_counted(make_run, tmp_path, capsys):
    folder = make_run()
    (folder / "metrics.jsonl").write_text(
        '{"step": 3, "pacs/validation/a/pass@1": 0.25, "pacs/validation/b/pass@1": 0.75}\n'
    )
    assert run_command(tmp_path) == 0
    assert "0.500 (mean of 2)" in capsys.readouterr().out


def test_nothing_is_said_to_be_nothing(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    assert run_command(tmp_path) == 0
    assert capsys.readouterr().out == f"no runs in or below {tmp_path}\n"
    assert run_command(tmp_path, tmp_path / "a", "--json") == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(("name", "why"), [("nowhere", "No such file or directory"), ("file", "Not a directory")])
def test_a_folder_that_cannot_be_read_is_an_error(make_run, tmp_path, capsys, name, why):
    make_run()
    (tmp_path / "file").touch()
    assert run_command(tmp_path, tmp_path / name) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith(f"pacs runs: {tmp_path / name} cannot be read ({why})")
    assert captured.out == ""


def test_missing_arguments_end_with_2(capsys):
    with pytest.raises(SystemExit) as caught:
        run_command()
    assert caught.value.code == 2
    assert "usage: pacs runs" in capsys.readouterr().err


def test_help_says_what_died_means(capsys):
    with pytest.raises(SystemExit) as caught:
        run_command("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert [word for word in ("died", "--json", "examples:", "another host") if word not in text] == []


def test_the_list_is_repeated_until_no_run_runs(make_run, tmp_path, capsys):
    folder = make_run("a", state="running")
    threading.Timer(0.5, lambda: write_state(folder, state_in(folder, "finished"))).start()
    assert run_command(tmp_path, "--watch", "0.05") == 0
    tables = capsys.readouterr().out.split("run ")[1:]
    assert len(tables) > 3
    assert "running" in tables[0]
    assert "2 min" in tables[0]  # 14 steps of 9.5 s
    assert "finished" in tables[-1]
    assert "running" not in tables[-1]
    assert run_command(tmp_path, "--watch") == 0  # nothing runs: once


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--watch", "0"], "above 0"),
        (["--watch", "x"], "--watch: x: give a number of seconds above 0"),
        (["--watch", "1", "--json"], "leave one out"),
    ],
)
def test_a_watch_that_cannot_be(words, said, tmp_path, capsys):
    try:
        status = run_command(tmp_path, *words)
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert said in capsys.readouterr().err
