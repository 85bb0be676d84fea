import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from pacs.checkpoints.folder import newest_checkpoint
from pacs.runs import listing
from pacs.runs.listing import list_runs
from pacs.runs.processes import birth_of
from pacs.runs.state import now, report_fault, state_of_start, write_state
from tests.runs.states import state_in


def one(folder: Path):
    (run,) = list_runs([folder])
    return run


def test_what_a_finished_run_says(make_run):
    folder = make_run(
        "algebra/run", started="2026-01-02T03:04:05+00:00", ended="2026-01-02T04:04:05+00:00", saved=(5, 6)
    )
    run = one(folder.parents[1])
    assert (run.name, run.folder, run.state, run.here) == ("algebra/run", str(folder), "finished", True)
    assert (run.step, run.total_steps, run.resumable_from, run.passed_over) == (6, 20, 6, [])
    assert (run.pass_rate, run.loss, run.step_seconds) == (0.6, 0.4, 9.5)
    assert run.validation == {"pacs/validation/arithmetic/pass@1": 0.625}
    assert run.size_bytes == sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert (run.started, run.seconds) == ("2026-01-02T03:04:05+00:00", 3600)
    assert 0 <= run.progress_age_seconds < 60
    assert run.cause is None


def test_runs_are_found_at_any_depth_once_and_not_within_a_run(make_run, tmp_path):
    for name in ("b", "a/deep/er", "a/other"):
        make_run(name)
    make_run("b/samples/of/another")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert [run.name for run in list_runs([tmp_path])] == ["a/deep/er", "a/other", "b"]
    assert [run.name for run in list_runs([tmp_path / "b"])] == ["b"]
    several = list_runs([tmp_path / "a", tmp_path / "b", tmp_path, tmp_path / "a"])
    assert [run.name for run in several] == [str(tmp_path / name) for name in ("a/deep/er", "a/other", "b")]
    assert list_runs([tmp_path / "empty"]) == []


def test_a_name_is_relative_to_the_folder_however_that_is_given(make_run, tmp_path, monkeypatch):
    make_run("outputs/a")
    monkeypatch.chdir(tmp_path)
    assert one(Path("outputs")).name == "a"
    assert one(Path()).name == "outputs/a"
    monkeypatch.chdir(tmp_path / "outputs" / "a")
    assert one(Path()).name == "a"


def test_a_state_alone_makes_a_run_if_it_is_ours(make_run, tmp_path):
    make_run("run", info=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "state.json").write_text('{"_fingerprint": "1", "_data_files": []}')  # as `datasets` writes it
    assert one(tmp_path).name == "run"


@pytest.mark.parametrize("folder", ["nowhere", "file"])
def test_a_folder_that_cannot_be_read(tmp_path, folder):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=folder):
        list_runs([tmp_path / folder])


def test_a_run_that_runs(make_run, tmp_path):
    make_run(state="running")
    run = one(tmp_path)
    assert (run.state, run.cause) == ("running", None)
    assert 0 <= run.seconds < 60


def test_a_run_whose_launcher_is_dead(make_run, tmp_path):
    launcher = subprocess.Popen(["sleep", "600"])
    folder = make_run(state="running", pid=launcher.pid, birth=birth_of(launcher.pid), started=now())
    assert one(tmp_path).state == "running"
    launcher.kill()
    while psutil.Process(launcher.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert one(tmp_path).state == "died"
    launcher.wait()
    run = one(tmp_path)
    assert run.state == "died"
    assert f"process {launcher.pid}" in run.cause
    report_fault(folder, "a disk was full")
    assert one(tmp_path).cause == "a disk was full"


def test_a_run_whose_launchers_number_is_another_process_now(make_run, tmp_path):
    another = subprocess.Popen(["sleep", "600"])
    try:
        birth = birth_of(os.getpid())  # of the one that had the number before
        folder = make_run(state="running", pid=another.pid, birth=birth, started="2026-01-02T03:04:05+00:00")
        an_hour_later = 1767323045 + 3600
        for name in ("progress.json", "metrics.jsonl"):
            os.utime(folder / name, (an_hour_later, an_hour_later))
        run = one(tmp_path)
        assert (run.state, run.seconds) == ("died", 3600)
    finally:
        another.kill()
        another.wait()


@pytest.mark.parametrize("seconds", [-10, 10, -86400, 86400])
def test_a_run_lives_though_the_clock_was_set(make_run, tmp_path, seconds):
    """A start's time is of the clock as it was; the system dates a process by the clock as it is."""
    launcher = subprocess.Popen(["sleep", "600"])
    try:
        birth, started = birth_of(launcher.pid), datetime.now(UTC) - timedelta(seconds=seconds)
        make_run(state="running", pid=launcher.pid, birth=birth, started=started.isoformat(timespec="seconds"))
        assert one(tmp_path).state == "running"
    finally:
        launcher.kill()
        launcher.wait()
    assert one(tmp_path).state == "died"


def test_a_copy_of_a_running_run_is_not_running(make_run, tmp_path):
    folder = make_run("run")
    write_state(folder, state_of_start(folder, "token", resumed_from=None, temporary=tmp_path / "t"))
    subprocess.run(["cp", "-a", folder, tmp_path / "branch"], check=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(folder)
    copy, run = list_runs([tmp_path])
    assert (copy.name, copy.state, run.name, run.state) == ("branch", "copied", "run", "running")
    assert copy.cause == f"a copy of {folder}, made while that run was training"
    assert one(tmp_path / "elsewhere" / "link").state == "running"
    folder.rename(tmp_path / "moved")
    assert {run.name: run.state for run in list_runs([tmp_path])} == {"branch": "copied", "moved": "running"}
    (tmp_path / "branch").rename(folder)  # a copy in place of what it was copied from
    assert {run.name: run.state for run in list_runs([tmp_path])} == {"run": "copied", "moved": "running"}


def test_a_run_on_another_host_is_believed(make_run, tmp_path):
    folder = make_run(state="running", host="node7", pid=1 << 22)
    os.utime(folder / "progress.json", (time.time() - 100, time.time() - 100))
    run = one(tmp_path)
    assert (run.state, run.host, run.here) == ("running", "node7", False)
    assert 100 <= run.progress_age_seconds < 160


@pytest.mark.parametrize("state", ["failed", "stopped"])
def test_the_cause_is_the_states_else_the_faults(make_run, tmp_path, state):
    folder = make_run("run", state=state)
    assert one(tmp_path).cause is None
    report_fault(folder, "of the fault")
    assert one(tmp_path).cause == "of the fault"
    shutil.rmtree(folder)
    report_fault(make_run("run", state=state, cause="of the state"), "of the fault")
    assert one(tmp_path).cause == "of the state"


def test_the_newest_complete_checkpoint_and_why_newer_ones_are_not(make_run, tmp_path):
    folder = make_run(saved=(5, 10, 15))
    os.truncate(folder / "checkpoints/global_step_15/model.pt", 3)
    (folder / "checkpoints/global_step_10/model.pt").unlink()
    run = one(tmp_path)
    assert run.resumable_from == 5
    assert [problem.split(": ", 1)[1] for problem in run.passed_over] == [
        "model.pt has 3 bytes instead of 7",
        "model.pt is missing",
    ]


def test_a_run_of_an_earlier_version_has_a_start_and_metrics(make_run, tmp_path):
    folder = make_run(state=None, progress=False)
    end = 1767323045 + 90
    os.utime(folder / "metrics.jsonl", (end, end))
    run = one(tmp_path)
    assert (run.state, run.host, run.step, run.total_steps) == ("unknown", None, 6, None)
    assert (run.started, run.seconds, run.step_seconds) == ("2026-01-02T03:04:05+00:00", 90, 10.0)
    assert run.progress_age_seconds is None


def test_a_run_that_has_only_begun(make_run, tmp_path):
    folder = make_run(state="running", progress=False)
    (folder / "metrics.jsonl").unlink()
    run = one(tmp_path)
    assert run.state == "running"
    assert (run.step, run.pass_rate, run.loss, run.step_seconds, run.validation) == (None, None, None, None, {})


def metrics(make_run, *lines: str, end: str = "\n"):
    folder = make_run(progress=False)
    (folder / "metrics.jsonl").write_text("\n".join(lines) + end)
    return one(folder)


def test_the_last_value_of_each_metric_counts(make_run):
    run = metrics(
        make_run,
        '{"step": 8, "pacs/validation/a/pass@1": 0.1, "pacs/validation/b/pass@1": 0.2, "val-core/a/acc/mean@8": 1}',
        '{"step": 9, "critic/score/mean": 0.5, "pacs/loss_mean": 0.25, "timing_s/step": 2}',
        '{"step": 10, "critic/score/mean": 0.75, "timing_s/step": NaN, "note": "text"}',
        '{"step": 10, "val-aux/a/reward/mean@8": 0.9}',
    )
    assert (run.step, run.pass_rate, run.loss) == (10, 0.75, 0.25)
    assert math.isnan(run.step_seconds)
    assert run.validation == {"pacs/validation/a/pass@1": 0.1, "pacs/validation/b/pass@1": 0.2}


def test_a_validation_is_our_pass_at_1_where_it_is_logged(make_run):
    run = metrics(
        make_run,
        '{"step": 5, "val-core/a/acc/mean@8": 0.3, "pacs/validation/a/pass@1": 0.2}',
        '{"step": 10, "val-core/a/acc/mean@8": 0.6, "pacs/validation/a/pass@1": 0.5, "pacs/validation/a/pass@16": 0.9}',
    )
    assert run.validation == {"pacs/validation/a/pass@1": 0.5}


def test_a_last_line_that_was_cut_off_is_passed_over(make_run):
    run = metrics(make_run, '{"step": 9, "critic/score/mean": 0.5}', '{"step": 10, "critic/sco', end="")
    assert (run.step, run.pass_rate) == (9, 0.5)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0" * 5000, b"\xff\xfe\n3\n[]\nnull\n", b"{}"])
def test_metrics_that_are_damaged_are_not_there(make_run, tmp_path, content):
    folder = make_run(progress=False)
    (folder / "metrics.jsonl").write_bytes(content)
    run = one(tmp_path)
    assert (run.state, run.step, run.pass_rate, run.validation) == ("finished", None, None, {})


def test_lines_are_read_across_blocks(make_run):
    wide = {f"metric/{number}": 0.123456789 for number in range(4000)}  # 120 kB: two blocks
    run = metrics(
        make_run,
        '{"step": 1, "pacs/validation/a/pass@1": 0.5}',
        *(json.dumps({"step": step, "critic/score/mean": step / 10} | wide) for step in range(2, 7)),
    )
    assert (run.step, run.pass_rate, list(run.validation.values())) == (6, 0.6, [0.5])


def test_only_the_end_of_big_metrics_is_read(make_run, tmp_path):
    for number in range(50):
        file = make_run(f"{number}", steps=4, progress=False) / "metrics.jsonl"
        lines = file.read_bytes()
        with file.open("wb") as stream:
            stream.truncate(1 << 34)  # 16 GiB, which take no place; reading them would take a minute each
            stream.seek(1 << 34)
            # Half of them have never validated: that is looked for as far as the reach goes, and no farther.
            stream.write(b"\n" + lines[lines.index(b"\n") + 1 :] if number % 2 else b"\n" + lines)
    began = time.monotonic()
    runs = list_runs([tmp_path])
    assert time.monotonic() - began < 10
    assert [run.step for run in runs] == [4] * 50
    assert sorted(len(run.validation) for run in runs) == [0] * 25 + [1] * 25
    assert {run.size_bytes > 1 << 34 for run in runs} == {True}


@pytest.mark.parametrize("name", ["state.json", "progress.json", "fault.json", "run.json", "metrics.jsonl"])
@pytest.mark.parametrize(
    "content", ["", "{", "[]", "3", "null", '{"state": 1}', '{"started": 5}', '{"cause": [5]}', "\0"], ids=repr
)
def test_damage_of_one_run_is_its_own(make_run, tmp_path, name, content):
    make_run("sound", saved=(5,))
    (make_run("damaged", state="failed", saved=(5,)) / name).write_text(content)
    runs = {run.name: run for run in list_runs([tmp_path])}
    assert set(runs) == {"sound", "damaged"}
    assert (runs["sound"].state, runs["sound"].resumable_from) == ("finished", 5)
    assert (runs["damaged"].state, runs["damaged"].resumable_from) == (
        "unknown" if name == "state.json" else "failed",
        5,
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("state.json", "its launcher has no number"),
        ("progress.json", '{"step": "many", "total_steps": [], "phase": 3}'),
        ("metrics.jsonl", None),
        ("state.json", None),
    ],
)
def test_a_run_that_cannot_be_read_says_how(make_run, tmp_path, name, content):
    make_run("sound")
    file = make_run("damaged") / name
    file.unlink()
    if content is None:
        file.mkdir()
    else:
        odd = asdict(state_in(file.parent)) | {"pid": "x"}
        file.write_text(json.dumps(odd) if name == "state.json" else content)
    damaged, sound = list_runs([tmp_path])
    assert (damaged.name, damaged.state) == ("damaged", "unreadable")
    assert "Error" in damaged.cause
    assert sound.state == "finished"


def _come_and_go(source: Path, folder: Path) -> None:
    for number in range(1 << 30):
        shutil.copytree(source, folder / f"{number}")
        shutil.rmtree(folder / f"{number}")


def test_runs_that_come_and_go_meanwhile(make_run, tmp_path):
    make_run("top/stays", saved=(5,))
    source = make_run("source", saved=(5,))
    churn = multiprocessing.get_context("fork").Process(target=_come_and_go, args=(source, tmp_path / "top"))
    churn.start()
    try:
        lists = [list_runs([tmp_path / "top"]) for _ in range(200)]
        given_up = time.monotonic() + 60  # the other process may have had no processor until now
        while max(map(len, lists)) == 1 and time.monotonic() < given_up:
            lists.append(list_runs([tmp_path / "top"]))
        assert churn.is_alive()
    finally:
        churn.kill()
        churn.join()
    assert {run.state for runs in lists for run in runs if run.name == "stays"} == {"finished"}
    assert all("stays" in {run.name for run in runs} for runs in lists)
    assert max(len(runs) for runs in lists) > 1
    assert [run.cause for runs in lists for run in runs if run.state == "unreadable"] == []


def test_a_run_that_is_deleted_while_it_is_read_is_not_there(make_run, tmp_path, monkeypatch):
    make_run("a")
    make_run("b", saved=(5,))

    def delete(checkpoints: Path, content: bool):
        if checkpoints.parent.name == "b":
            shutil.rmtree(checkpoints.parent)
        return newest_checkpoint(checkpoints, content=content)

    monkeypatch.setattr(listing, "newest_checkpoint", delete)
    assert [run.name for run in list_runs([tmp_path])] == ["a"]


def test_reading_changes_nothing(make_run, tmp_path):
    make_run(state="running", pid=1 << 22, saved=(5,))
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    list_runs([tmp_path])
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_it_needs_neither_torch_nor_verl():
    """So that it is quick, and works where they are not installed."""
    code = "import sys, pacs.commands.runs; print(sorted({'torch', 'verl', 'ray', 'transformers'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_graded_scores_are_no_pass_rate(tmp_path: Path) -> None:
    """Nor is a validation's mean score a share of right answers."""
    scored = {"critic/score/mean": 0.6, "pacs/rows/graded_count": 2.0, "timing_s/step": 1.0, "pacs/loss_mean": 0.1}
    validated = {"val-core/a/acc/mean@8": 0.4, "pacs/validation/a/graded_count": 5.0}
    (tmp_path / "run.json").write_text("{}")
    lines = [{"step": 1, **scored, **validated}, {"step": 2, **scored}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run,) = list_runs([tmp_path])
    assert (run.step, run.pass_rate, run.loss, run.validation) == (2, None, 0.1, {})
    with (tmp_path / "metrics.jsonl").open("a") as stream:
        stream.write(json.dumps({"step": 3, **scored, "pacs/rows/graded_count": 0.0}) + "\n")
    assert list_runs([tmp_path])[0].pass_rate == 0.6
