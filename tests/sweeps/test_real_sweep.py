"""A real sweep of two runs: one fails, it is killed in the other, stopped while it evaluates, and goes on each time."""

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

from pacs.runs.processes import processes_of
from pacs.runs.state import read_progress, read_state
from tests.integration.real_run import START_SECONDS, make_task

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
#: Far more than are done while a killed start is cleared up.
STEPS = 20
#: Of each problem: seconds of sampling.
SAMPLES = 64


def test_a_sweep_is_killed_and_goes_on(tmp_path: Path) -> None:
    task, out = make_task(tmp_path), tmp_path / "sweep"
    one, ten = out / "beta_1-seed_0", out / "beta_10-seed_0"
    command = [
        sys.executable, "-m", "pacs", "sweep", "ablation_beta", "recipe=arithmetic", "method.beta=1,10", "data.seed=0",
        f"actor_rollout_ref.model.path={task / 'model'}",
        f"data.train_files={task / 'data.parquet'}",
        f"data.val_files={task / 'data.parquet'}",
        f"reward.custom_reward_function.path={ROOT / 'tests/integration/parity_reward.py'}",
        "data.val_max_samples=4", "data.train_batch_size=8", "data.max_response_length=16",
        "actor_rollout_ref.rollout.n=4", "actor_rollout_ref.actor.ppo_mini_batch_size=8",
        f"trainer.total_training_steps={STEPS}", "trainer.save_freq=1", f"trainer.test_freq={STEPS}",
        "--out", str(out),
    ]  # fmt: skip

    first = Started(command, tmp_path / "first.log")
    first.wait_for(lambda: steps(one) >= 1)
    (driver,) = psutil.Process(first.process.pid).children()
    driver.kill()  # the first run fails, and the sweep goes on
    first.wait_for(lambda: steps(ten) >= 2)
    first.process.kill()
    state = read_state(ten)
    assert state is not None
    deadline = time.monotonic() + 60
    while processes_of(state.token) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert processes_of(state.token) == []
    so_far = json.loads((out / "results.json").read_text())  # of when the first run had ended
    assert [run["state"] for run in so_far["runs"]] == ["failed", "not started"]

    second = Started(command, tmp_path / "second.log")
    second.wait_for(lambda: second.trains(ten))
    second.process.send_signal(signal.SIGTERM)
    assert second.process.wait(START_SECONDS) == 75, second.printed[-3000:]
    assert "1 of 2 runs are finished." in (out / "results.md").read_text()

    third = Started(command, tmp_path / "third.log")
    assert third.process.wait(START_SECONDS) == 0, third.printed[-3000:]
    assert "run 1 of 2: beta=1, seed=0: is trained already" in third.printed
    results = json.loads((out / "results.json").read_text())
    assert [(run["state"], run["step"]) for run in results["runs"]] == [("finished", STEPS)] * 2
    whole = list(range(1, STEPS + 1))
    assert [[step for step, _ in run["curves"]["critic/score/mean"]] for run in results["runs"]] == [whole] * 2
    assert results["failures"] == []
    assert (out / "results.png").is_file()
    assert (out / "report" / "index.html").is_file()
    assert "2 of 2 runs are finished." in (out / "results.md").read_text()

    command += ["--tasks", f"sums={task / 'data.parquet'}", "--samples", str(SAMPLES), "--k", "1", "--max-tokens", "16"]
    samples = one / "evaluation" / f"step_{STEPS}" / "samples" / "sums" / "generated-0000.jsonl"
    fourth = Started(command, tmp_path / "fourth.log")
    fourth.wait_for(lambda: samples.is_file() and samples.stat().st_size > 0)
    evaluating = psutil.Process(fourth.process.pid).children(recursive=True)
    fourth.process.send_signal(signal.SIGTERM)
    assert fourth.process.wait(START_SECONDS) == 75, fourth.printed[-3000:]
    assert psutil.wait_procs(evaluating, timeout=30)[1] == []
    kept = samples.read_text()
    assert 0 < kept.count("\n") < 100 * SAMPLES
    assert "2 of 2 runs are finished." in (out / "results.md").read_text()

    together = Started(command, tmp_path / "together.log")
    together.wait_for(lambda: len(samples.read_text()) > len(kept))
    evaluating = psutil.Process(together.process.pid).children(recursive=True)
    for number in (signal.SIGTERM, signal.SIGUSR1):  # one request
        together.process.send_signal(number)
    assert together.process.wait(START_SECONDS) == 75, together.printed[-3000:]
    assert psutil.wait_procs(evaluating, timeout=30)[1] == []
    kept = samples.read_text()

    fifth = Started(command, tmp_path / "fifth.log")
    assert fifth.process.wait(START_SECONDS) == 0, fifth.printed[-3000:]
    assert samples.read_text().startswith(kept)
    assert "2 of 2 runs are finished, 2 of them evaluated." in (out / "results.md").read_text()
    settings = json.loads((out / "results.json").read_text())["settings"]
    assert [setting["measures"]["sums pass@1"]["interval"] for setting in settings] == ["problems"] * 2


def steps(run: Path) -> int:
    """Steps that are done."""
    progress = read_progress(run)
    return 0 if progress is None else progress.step


class Started:
    """A start of the sweep, its output in a file."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        env = {key: value for key, value in os.environ.items() if key != "VERL_PLATFORM"}
        with log.open("w") as stream:
            self.process = subprocess.Popen(command, env=env, stdout=stream, stderr=subprocess.STDOUT)

    @property
    def printed(self) -> str:
        return self.log.read_text()

    def trains(self, run: Path) -> bool:
        """Whether this start has begun a step of that run: a phase of it may pass unseen."""
        state, progress = read_state(run), read_progress(run)
        own = state is not None and state.pid == self.process.pid and state.state == "running"
        return own and progress is not None and progress.phase != "start"

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            assert self.process.poll() is None, self.printed[-6000:]
            assert time.monotonic() < deadline, self.printed[-6000:]
            time.sleep(0.05)
