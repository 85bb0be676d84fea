"""Real runs that are stopped by signals to every process, and whose start fails in the first transfer of weights."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pacs.base.stops import SIGNALS
from pacs.checkpoints.folder import newest_checkpoint
from pacs.runs.processes import processes_of
from pacs.runs.state import read_progress
from tests.integration.real_run import REPEATABLE, RealRun, Start

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def fresh(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    """A run that has no folder yet."""
    run = RealRun(task, tmp_path / "run", *REPEATABLE, "trainer.val_before_train=false")
    yield run
    run.end()


def test_signals_to_every_process_are_one_request_to_stop(fresh: RealRun) -> None:
    """As a service manager or the end of a job sends them; also those that come on SIGTERM's heels."""
    start = fresh.start("trainer.total_training_steps=200")
    start.wait_for(lambda: start.has_trained(1))
    # Looked for once: on a busy machine that takes longer than signals count as one.
    processes = [psutil.Process(start.process.pid), *processes_of(start.state.token)]
    for number in SIGNALS:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
    assert start.ends(240) == 75, start.printed[-6000:]
    assert start.state.state == "stopped"
    assert "EngineDeadError" not in start.printed
    checkpoint, problems = newest_checkpoint(fresh.checkpoints)
    assert problems == []
    assert checkpoint is not None
    assert checkpoint.step == fresh.steps()[-1]["step"] >= 2


def test_a_second_signal_after_the_save_leaves_it_a_saved_stop(fresh: RealRun) -> None:
    start = fresh.start("trainer.total_training_steps=200")
    start.wait_for(lambda: start.has_trained(1))
    start.process.send_signal(signal.SIGINT)
    start.wait_for(
        lambda: (progress := read_progress(fresh.folder)) is not None and progress.phase == "stopped", at_once=True
    )
    start.process.send_signal(signal.SIGINT)
    assert start.ends(240) == 75, start.printed[-6000:]
    assert start.state.state == "stopped"


def in_first_transfer(start: Start) -> psutil.Process:
    """Hold the vLLM worker before the transfer begins, and wait until the sender waits for it."""
    start.wait_for(lambda: "LLMServerManager: " in start.printed, at_once=True)
    worker = start.find("VLLM::Worker")
    worker.suspend()
    sockets = Path("/tmp")  # verl names it
    start.wait_for(lambda: list(sockets.glob(f"rl-colocate-zmq-{start.state.token}-*")))
    start.wait_for(lambda: segments(start), at_once=True)
    return worker


def segments(start: Start) -> list[Path]:
    """The shared memory in which the weights are to go."""
    return [file for file in start.mapped_segments() if file.name.startswith("verl_weights_")]


@pytest.mark.parametrize("victim", ["VLLM::Worker", "VLLM::EngineCore", "ray::vLLMHttpServer", "ray::WorkerDict"])
def test_process_killed_in_the_first_transfer(fresh: RealRun, victim: str) -> None:
    start = fresh.start()
    worker = in_first_transfer(start)
    start.find(victim).kill()
    if worker.is_running() and victim != "VLLM::Worker":
        worker.resume()
    assert start.ends() == 1, start.printed[-6000:]
    expected = "training worker 0 died" if victim == "ray::WorkerDict" else "vLLM"
    assert expected in str(start.state.cause)


def test_receiver_that_raises_in_the_first_transfer(fresh: RealRun) -> None:
    start = fresh.start()
    worker = in_first_transfer(start)
    (segment,) = segments(start)
    os.truncate(segment, 0)
    worker.resume()
    assert start.ends() == 1, start.printed[-6000:]
    assert "vLLM did not take the new weights: " in str(start.state.cause)
    assert "cannot mmap an empty file" in str(start.state.cause)


@pytest.mark.parametrize(
    ("victim", "cause"),
    [("ray::WorkerDict", "WorkerDict"), ("ray::RewardLoopWorker", "reward"), ("VLLM::EngineCore", "ngine")],
)
def test_process_killed_while_models_load(fresh: RealRun, victim: str, cause: str) -> None:
    start = fresh.start()
    start.wait_for((fresh.folder / "state.json").exists, at_once=True)
    start.wait_for(lambda: start.titled(victim))
    start.find(victim).kill()
    assert start.ends() == 1, start.printed[-6000:]
    assert cause in str(start.state.cause)


def test_a_signal_between_the_lock_and_the_supervisor(fresh: RealRun) -> None:
    start = fresh.start()
    start.wait_for((fresh.folder / ".lock").exists, at_once=True)
    start.process.send_signal(signal.SIGTERM)
    assert start.process.wait(60) == 75, start.printed[-3000:]
