"""One run on two machines (namespaces of this one) by the launcher of a batch job; Slurm itself is a script."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pacs.checkpoints.folder import newest_checkpoint
from pacs.runs.state import read_progress, read_state
from tests.cluster.machines import Machines
from tests.integration.real_run import RealRun, make_task

ROOT = Path(__file__).parents[2]
START_SECONDS = 500
ENDING_SECONDS = 60
#: Ray alone took more than 20 to start on a busy machine.
JOIN_SECONDS = "45"
TWO = ("recipe=arithmetic", "trainer.nnodes=2")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0, reason="network namespaces need the rights of root"),
]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines(tmp_path_factory.mktemp("machines")) as two:
        yield two


class Job:
    """A batch job, as Slurm starts it.

    Args:
        machines: where it runs.
        folder: a folder for the job.
        arguments: of the batch script.
        restart: how often it was requeued before.
        more: environment variables.
    """

    def __init__(self, machines: Machines, folder: Path, *arguments: str, restart: int = 0, **more: str) -> None:
        self.machines, self.meet, self.log = machines, folder / "meet" / f"77.{restart}", folder / f"job{restart}.log"
        environment = {name: value for name, value in os.environ.items() if name != "VERL_PLATFORM"}
        environment |= {
            "PATH": f"{machines.bin}:{Path(sys.executable).parent}:{environment['PATH']}",
            "PACS_MEET": str(folder / "meet"),
            "TMPDIR": str(machines.temporary),
            "SLURM_JOB_ID": "77",
            "SLURM_JOB_NUM_NODES": "2",
            "SLURM_RESTART_COUNT": str(restart),
            "SLURM_SUBMIT_DIR": str(ROOT),
        }
        command = ["bash", "scripts/slurm/train.sbatch", *arguments]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment | more, stdout=log, stderr=subprocess.STDOUT
            )

    def printed(self) -> str:
        """By the batch script and by the nodes."""
        return "".join(file.read_text() for file in [self.log, *sorted(self.meet.glob("*-host.log"))])

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            assert self.process.poll() is None, self.printed()[-8000:]
            assert time.monotonic() < deadline, self.printed()[-8000:]
            time.sleep(0.05)

    def ends(self, seconds: float = ENDING_SECONDS) -> int:
        """Wait for its end, with nothing left on either machine; the exit status."""
        since = time.monotonic()
        status = self.process.wait(seconds)
        print(f"ended after {time.monotonic() - since:.1f} s")  # docs/scaling.md; pytest -rP
        assert [process.cmdline() for i in range(2) for process in self.machines.processes(i)] == []
        return status


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_node_that_never_joins_is_named(machines: Machines, tmp_path: Path) -> None:
    """Its folder is another one: it waits for the head's word there, and the head for its."""
    meet = tmp_path / "meet" / "77.0"
    meet.mkdir(parents=True)
    job = Job(machines, tmp_path, *TWO, OWN_DISK=str(meet), PACS_JOIN_SECONDS=JOIN_SECONDS)
    assert job.ends(100) == 2
    head = (meet / "0-host.log").read_text()
    assert f"1 of 2 nodes did not join within {JOIN_SECONDS} s" in head
    assert f"node 1: no word from it in {meet}: it was not started, or this folder is not on a file system" in head
    assert f"no word from the head in {meet} within {JOIN_SECONDS} s" in (meet / "1-host.log").read_text()


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_head_that_cannot_be_reached_is_named(machines: Machines, tmp_path: Path) -> None:
    machines.disconnect(1)
    try:
        job = Job(machines, tmp_path, *TWO, PACS_JOIN_SECONDS=JOIN_SECONDS)
        assert job.ends(100) == 2
    finally:
        machines.connect(1)
    assert f"node 1 ({machines.names[1]}): the head's Ray at 10.77.0.1:" in job.printed()
    assert "cannot be reached from" in job.printed()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    task = make_task(tmp_path_factory.mktemp("task"))
    settings = ("trainer.nnodes=2", "trainer.val_before_train=false", "trainer.total_training_steps=9")
    return RealRun(task, tmp_path_factory.mktemp("run") / "run", *settings)


@pytest.mark.long
@pytest.mark.timeout(240)
def test_wrong_input_is_refused_before_it_starts(machines: Machines, run: RealRun, tmp_path: Path) -> None:
    """More nodes than there are, and a run's folder that is another one on the second machine."""
    run.folder.mkdir(parents=True)
    job = Job(machines, tmp_path, *arguments(run), "trainer.nnodes=4", OWN_DISK=str(run.folder))
    assert job.ends(230) == 2
    said = job.printed()
    assert "trainer.nnodes=4 and trainer.n_gpus_per_node=1, but the Ray cluster has 2 nodes" in said
    gpus = ", ".join(f"{name}: 1" for name in machines.names)  # logical ones: the machine has none
    assert f"(GPUs of each: {gpus}): ask for fewer, or start it on more (sbatch --nodes=4)" in said
    assert f"run.dir={run.folder} is not the same folder on {machines.names[1]}" in said


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_a_machine_that_dies_ends_the_run_and_the_requeued_one_goes_on(
    machines: Machines, run: RealRun, tmp_path: Path
) -> None:
    job = Job(machines, tmp_path, *arguments(run))
    job.wait_for(lambda: training(run, after_step=2))
    token = read_state(run.folder).token
    part = [e for p in machines.processes(1) if f"PACS_RUN_TOKEN={token}" in (e := environment(p))]
    assert part  # it has one in the run, and goes by the cable
    assert all("GLOO_SOCKET_IFNAME=eth0\0" in e and "NCCL_SOCKET_IFNAME=eth0\0" in e for e in part)
    machines.disconnect(1)  # as when the power goes: nobody is told
    machines.power_off(1)
    assert job.ends() == 1
    machines.connect(1)
    state = read_state(run.folder)
    assert state.state == "failed"
    assert "died" in state.cause
    assert machines.names[1] in state.cause  # by Ray, or by the engine that was there: whichever is first
    assert "10.77.0.2" in state.cause
    assert state.cause in job.printed()

    # As Slurm does when a node fails: the same job, on nodes that work.
    kept = newest_checkpoint(run.checkpoints)[0].step
    job = Job(machines, tmp_path, *arguments(run), restart=1)
    job.wait_for(lambda: "going on from step " in job.printed() and training(run, after_step=kept + 1))
    assert f"going on from step {kept} " in job.printed()

    # The notice before the time limit: to the batch script alone.
    job.process.send_signal(signal.SIGUSR1)
    assert job.ends(200) == 75
    assert machines.scontrol.read_text() == "requeue 77\n"
    step = newest_checkpoint(run.checkpoints)[0].step

    job = Job(machines, tmp_path, *arguments(run), restart=2)
    assert job.process.wait(START_SECONDS) == 0, job.printed()[-8000:]
    assert f"going on from step {step} " in job.printed()
    assert [line["step"] for line in run.steps()] == list(range(1, 10))


def arguments(run: RealRun) -> list[str]:
    """Those of `pacs train`, of its command."""
    return run.command[run.command.index("train") + 1 :]


def training(run: RealRun, after_step: int) -> bool:
    """Whether the run has done `after_step`: its phases may be over before one looks."""
    progress = read_progress(run.folder)
    return progress is not None and progress.step >= after_step


def environment(process: object) -> str:
    return Path(f"/proc/{process.pid}/environ").read_text() if process.is_running() else ""
