"""`pacs sweep`: what it lists, a dry run, wrong input, and runs that another process keeps from being trained."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pacs import cli
from pacs.base.stops import Stops
from pacs.base.terminal import BROKEN_PIPE
from pacs.composing import compose_run
from pacs.runs.state import Progress, write_progress, write_state
from pacs.sweeps.definition import read_sweep
from pacs.sweeps.grid import plan_runs
from pacs.sweeps.train import train_runs
from tests.runs.states import state_in


def test_without_a_name_the_sweeps_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sweep"]) == 0
    printed = capsys.readouterr().out
    assert "ablation_reference    33  qwen3_4b" in printed
    assert "ablation_beta: Figure 4: the factor beta of the log-probability ratio." in printed


def test_a_list_that_nobody_reads_ends_quietly() -> None:
    """As with `pacs sweep | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-u", "-m", "pacs", "sweep"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, env=environ, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, "")


def test_a_dry_run_lists_the_runs_and_writes_nothing(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The options stand between the overrides."""
    out = tmp_path / "out"
    words = ["sweep", "ablation_beta", *inputs, "--dry-run", "method.beta=1,10", "--out", str(out), "data.seed=0"]
    assert cli.main(words) == 0
    first, command, second, _, last = capsys.readouterr().out.splitlines()
    assert first == f"1 of 2: beta=1, seed=0: new, 20 steps -> {out}/beta_1-seed_0"
    assert second == f"2 of 2: beta=10, seed=0: new, 20 steps -> {out}/beta_10-seed_0"
    assert last == "The runs are sound, and what they need is here."
    composed, _ = compose_run("pacs", shlex.split(command)[4:])
    assert (composed.method.beta, composed.data.seed, composed.run.dir) == (1, 0, f"{out}/beta_1-seed_0")
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_one_algorithm_lists_its_runs_alone(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of three; under the name that it has beside the others."""
    out = tmp_path / "out"
    words = ["sweep", "baselines", "--algorithms", "grpo", *inputs, "data.seed=0", "--dry-run", "--out", str(out)]
    assert cli.main([*words, "recipe=arithmetic"]) == 0
    first, command, last = capsys.readouterr().out.splitlines()
    assert first == f"1 of 1: grpo, seed=0: new, 20 steps -> {out}/grpo-seed_0"
    assert shlex.split(command)[:4] == ["pacs", "train", "--config-name", "grpo"]
    assert last == "The runs are sound, and what they need is here."


def test_a_run_that_cannot_start_does_not_stop_the_sweep(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One was finished before; a run of another process is in the folder of the second; the sweep ends in a table."""
    out = tmp_path / "out"
    one, ten = out / "beta_1-seed_0", out / "beta_10-seed_0"
    words = ["sweep", "ablation_beta", *inputs, "method.beta=1,10", "data.seed=0", "--out", str(out)]
    run, _ = plan_runs(read_sweep("ablation_beta"), [*inputs, "method.beta=1,10", "data.seed=0"], out)
    one.mkdir(parents=True)
    OmegaConf.save(run.config, one / "config.yaml", resolve=True)
    (one / "metrics.jsonl").write_text('{"step": 20, "critic/score/mean": 0.5}\n')
    (one / "run.json").write_text("{}")
    write_state(one, state_in(one, "finished", pid=1))
    write_progress(one, Progress(20, 20, "end"))
    ten.mkdir()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with (ten / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cli.main(words) == 1
    printed = capsys.readouterr()
    assert f"run 1 of 2: beta=1, seed=0: is trained already ({one})" in printed.out
    assert f"run 2 of 2: beta=10, seed=0 -> {ten}" in printed.out
    assert "a run is training in this folder" in printed.err
    results = json.loads((out / "results.json").read_text())
    assert [run["state"] for run in results["runs"]] == ["finished", "refused"]
    assert "a run is training in this folder" in results["failures"][0]["cause"]
    assert "1 of 2 runs are finished." in (out / "results.md").read_text()
    assert (out / "results.png").is_file()
    assert (out / "report" / "index.html").is_file()
    assert {number: signal.getsignal(number) for number in before} == before


def test_after_each_run_the_results_can_be_written(inputs: list[str], tmp_path: Path) -> None:
    """Neither of two can start: processes of others are in their folders. A third was trained before: not told."""
    words = [*inputs, "method.beta=0.1,1,10", "data.seed=0"]
    trained, *others = runs = plan_runs(read_sweep("ablation_beta"), words, tmp_path)
    trained.step = trained.total_steps
    told: list[list[str]] = []
    refused: dict[str, str] = {}
    with ExitStack() as held:
        for run in others:
            run.folder.mkdir()
            fcntl.flock(held.enter_context((run.folder / ".lock").open("w")), fcntl.LOCK_EX)
        assert train_runs(runs, None, held.enter_context(Stops()), refused, lambda: told.append(list(refused))) == 1
    assert told == [["beta_1-seed_0"], ["beta_1-seed_0", "beta_10-seed_0"]]


def test_a_second_sweep_in_the_folder_is_refused(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = ["ablation_beta", *inputs, "method.beta=1", "data.seed=0"]
        assert cli.main(["sweep", *words, "--out", str(tmp_path)]) == 2
    assert "a sweep is running in this folder" in capsys.readouterr().err
