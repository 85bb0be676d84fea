"""One run that is killed and stopped in every way, and one that is left alone: both end in the same weights.

Without the long tests the broken run is a copy of the other, cut off in the middle, that goes on. Each start of the
broken run goes on from the last complete checkpoint, ends within a minute of its fault with the cause named, and leaves
no process and no shared memory.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pacs.checkpoints.folder import SAVING, newest_checkpoint, read_checkpoint
from tests.integration.real_run import (
    ENDING_SECONDS,
    MEASURED,
    REPEATABLE,
    RESET_EVERY,
    START_SECONDS,
    STEPS,
    RealRun,
    Start,
    equal,
    failed,
)
from tests.processes import lives

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

DISK_MEGABYTES = 64


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small disk, if this user may make one; else a folder."""
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", folder]).returncode == 0
    yield folder
    if mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def broken(task: Path, disk: Path) -> Iterator[RealRun]:
    run = RealRun(task, disk / "run", *REPEATABLE, "trainer.val_before_train=false")
    yield run
    run.end()


def training(start: Start) -> bool:
    """Whether this start trains and has a checkpoint to go on from, if it should not come further."""
    return start.trains() and newest_checkpoint(start.run.checkpoints)[0] is not None


@pytest.mark.long
def test_launcher_killed_in_a_step(broken: RealRun) -> None:
    start = broken.start()
    start.wait_for(lambda: start.has_trained(2))  # so that there are two checkpoints
    assert len(start.segments) > 1  # vLLM's, between its engine and its worker
    assert any("ray::DashboardAgent" in process.cmdline() for process in start.family if lives(process))
    assert start.sessions
    assert any(name.startswith("vllm_dist_") for name in start.temporary)
    driver = start.driver()
    start.process.kill()
    assert start.process.wait() == -signal.SIGKILL
    killed = time.monotonic()
    while start.state.state == "running" and time.monotonic() < killed + ENDING_SECONDS:
        time.sleep(0.1)
    print(f"ended after {time.monotonic() - killed:.1f} s: {start.state.cause}")
    assert start.state.state == "failed"
    assert not driver.is_running() or driver.status() == psutil.STATUS_ZOMBIE
    start.leaves_nothing()
    assert start.state.cause == "the launcher (pacs train) was killed"


@pytest.mark.long
def test_trainer_killed_in_a_save(broken: RealRun) -> None:
    before, _ = newest_checkpoint(broken.checkpoints)  # none where this test is run alone
    start = broken.start()
    start.wait_for(lambda: training(start))
    trainer = start.find("ray::TaskRunnerV1")
    start.wait_for(lambda: list((broken.checkpoints / SAVING).glob("global_step_*")), at_once=True)
    (unfinished,) = (broken.checkpoints / SAVING).glob("global_step_*")
    trainer.kill()
    failed(start, "the trainer died")
    assert before is None or f"going on from step {before.step} " in start.printed
    assert not (broken.checkpoints / unfinished.name).exists()


@pytest.mark.parametrize(
    ("process", "cause"),
    [
        pytest.param("pacs.integration.launch.driver", "was ended by SIGKILL", id="driver", marks=pytest.mark.long),
        pytest.param("VLLM::EngineCore", "vLLM engine 0 on ", id="vllm_engine", marks=pytest.mark.long),
        pytest.param("ray::WorkerDict", "training worker 0 died", id="training_worker", marks=pytest.mark.long),
        pytest.param("ray::RewardLoopWorker", "reward worker 0 died", id="reward_worker", marks=pytest.mark.long),
        # With an agent Ray's node daemon ends itself, and with that all others.
        pytest.param("ray::RuntimeEnvAgent", "Ray's node daemon (raylet) (", id="ray_agent", marks=pytest.mark.long),
    ],
)
def test_process_killed_in_a_step(broken: RealRun, process: str, cause: str) -> None:
    start = broken.start()
    start.wait_for(lambda: training(start))
    start.find(process).kill()
    failed(start, cause)


@pytest.mark.long
def test_disk_filled_in_a_save(broken: RealRun, disk: Path) -> None:
    if not os.path.ismount(disk):
        pytest.skip("a disk of its own needs the right to mount one")
    # What a save that was killed has left gives room to the next one: without it there is none to be given.
    shutil.rmtree(broken.checkpoints / SAVING, ignore_errors=True)
    start = broken.start()
    start.wait_for(lambda: training(start), at_once=True)
    filler = disk / "filler"
    # Room for the words of the end and for the beginning of a checkpoint.
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - 2 * 2**20))
    try:
        failed(start, "No space left on device")
    finally:
        filler.unlink()
    assert not (broken.checkpoints / SAVING).exists()


@pytest.mark.long
def test_hung_engine(broken: RealRun) -> None:
    start = broken.start("run.faults.no_progress_seconds=10")
    start.wait_for(start.trains)
    engine = start.find("VLLM::EngineCore")
    start.wait_for(lambda: start.has_trained((start.state.resumed_from or 0) + 1), at_once=True)
    engine.suspend()  # as rollouts begin
    failed(start, "no progress for 10 s", "rollouts", "the stacks are in")
    (dump,) = (broken.folder / "stacks").iterdir()
    stacks = dump.read_text()
    # The trainer waits for rollouts, and vLLM's server for its engine.
    assert "ray::TaskRunnerV1.run" in stacks
    assert "replay_buffer.py" in stacks or "agent_loop_tq.py" in stacks
    assert "ray::vLLMHttpServer" in stacks


@pytest.mark.long
def test_another_algorithm_is_refused_and_its_poison_not_trained_on(broken: RealRun) -> None:
    """A learning rate that breaks the policy at the first update: the second update's gradient is not finite."""
    poison = ("actor_rollout_ref.actor.optim.lr=1e30", "run.faults.skipped_updates=1")
    refused = broken.start(*poison)
    assert refused.process.wait(60) == 2
    assert "actor_rollout_ref.actor.optim.lr: 0.0001 in the checkpoint, 1e+30 now" in refused.printed
    assert "run.resume.accept_changes=true" in refused.printed

    start = broken.start(*poison, "run.resume.accept_changes=true")
    start.wait_for(lambda: "not finite, in step" in start.printed)
    failed(start, "1 update was skipped", "pacs inspect")
    (evidence,) = (broken.folder / "poison").iterdir()
    shown = subprocess.run(
        [sys.executable, "-m", "pacs", "inspect", evidence], capture_output=True, text=True, check=True
    ).stdout
    assert "not finite" in shown


@pytest.mark.long
def test_a_verifier_that_fails_stops_the_run(broken: RealRun) -> None:
    start = broken.start("reward.custom_reward_function.name=compute_no_score", "run.resume.accept_changes=true")
    start.wait_for(lambda: "could not grade" in start.printed)
    failed(start, "the verifier could not grade 16 of 16 responses (16 error)", "run.faults.verifier_errors=0.1")


@pytest.mark.long
def test_a_reward_function_that_raises_is_named(broken: RealRun) -> None:
    start = broken.start("reward.custom_reward_function.name=compute_raise", "run.resume.accept_changes=true")
    start.wait_for(lambda: "no such answer" in start.printed)
    failed(start, "every prompt of a step failed", "KeyError: 'no such answer'", "parity_reward.py", "in compute_raise")


@pytest.mark.long
def test_stops_on_request(broken: RealRun) -> None:
    start = broken.start()
    start.wait_for(lambda: training(start), at_once=True)
    step = max((line["step"] for line in broken.steps()), default=0)
    start.process.send_signal(signal.SIGUSR1)
    start.segments = start.mapped_segments()
    assert start.ends(120) == 75
    assert start.state.state == "stopped"
    assert "SIGUSR1: the run ends after this step and saves" in start.printed
    checkpoint, _ = newest_checkpoint(broken.checkpoints)
    assert checkpoint is not None
    assert checkpoint.step in (step + 1, step + 2)  # the step under way may have been about to be logged
    assert broken.steps()[-1]["step"] == checkpoint.step


def copy_until(step: int, run: RealRun, other: RealRun) -> None:
    """Make the folder of `other` a copy of the run's that has no later checkpoint than that of `step`."""
    later = [f"global_step_{n}" for n in range(1, STEPS + 1) if not step - 2 < n <= step]
    shutil.copytree(run.folder, other.folder, ignore=shutil.ignore_patterns(*later))


def test_truncated_file_is_passed_over_and_the_run_is_finished(run: RealRun, broken: RealRun) -> None:
    if not broken.starts:
        copy_until(RESET_EVERY + 2, run, broken)
    newest, _ = newest_checkpoint(broken.checkpoints)
    assert newest is not None
    weights = newest.folder / "actor/model_world_size_1_rank_0.pt"
    os.truncate(weights, weights.stat().st_size // 2)
    start = broken.start()
    assert start.process.wait(START_SECONDS) == 0, start.printed[-3000:]
    start.leaves_nothing()
    assert f"passed over: {newest.folder}: actor/model_world_size_1_rank_0.pt has" in start.printed
    assert f"going on from step {newest.step - 1} " in start.printed
    assert start.state.state == "finished"


def test_both_end_in_the_same_weights(run: RealRun, broken: RealRun) -> None:
    assert equal(run.policy(STEPS), broken.policy(STEPS))
    assert equal(run.reference(STEPS), broken.reference(STEPS))


def test_every_step_is_logged_once_with_the_same_values(run: RealRun, broken: RealRun) -> None:
    both = [[line for line in each.steps() if "timing_s/step" in line] for each in (run, broken)]
    for ours, theirs in zip(*both, strict=True):
        values = [{k: v for k, v in line.items() if not k.startswith(MEASURED)} for line in (ours, theirs)]
        assert values[0] == values[1]


def test_old_checkpoints_went_and_references_that_are_named_stayed(broken: RealRun) -> None:
    kept = [read_checkpoint(folder) for folder in broken.checkpoints.glob("global_step_*")]
    assert sorted(checkpoint.step for checkpoint in kept) == [STEPS - 1, STEPS]
    named = {checkpoint.reference for checkpoint in kept} - {None}
    assert set((broken.checkpoints / "references").iterdir()) == named


@pytest.mark.long
def test_a_finished_run_says_so(broken: RealRun) -> None:
    start = broken.start()
    assert start.process.wait(60) == 0
    assert f"nothing to train: the run has reached step {STEPS}" in start.printed
    assert "trainer.total_training_steps" in start.printed
