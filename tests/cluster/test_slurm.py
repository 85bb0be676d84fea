"""A real Slurm on two machines (namespaces of this one): what docs/scaling.md says of a job."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pacs.checkpoints.folder import newest_checkpoint
from pacs.runs.state import read_progress, read_state
from tests.cluster.machines import Machines
from tests.cluster.slurm import MISSING, Slurm
from tests.integration.real_run import RealRun, make_task

ROOT = Path(__file__).parents[2]
START_SECONDS = 1200
ENDING_SECONDS = 300
#: Of Slurm's own on a machine: all else is the job's.
DAEMONS = ("unshare", "slurmd", "slurmctld", "slurmscriptd")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(bool(MISSING), reason=f"no {', '.join(MISSING)}: apt-get install slurm-wlm munge"),
    pytest.mark.skipif(os.getuid() != 0, reason="network namespaces need the rights of root"),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with (
        Machines(tmp_path_factory.mktemp("machines")) as machines,
        Slurm(machines, tmp_path_factory.mktemp("slurm")) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    task = make_task(tmp_path_factory.mktemp("task"))
    settings = ("trainer.nnodes=2", "trainer.val_before_train=false", "trainer.total_training_steps=200")
    return RealRun(task, tmp_path_factory.mktemp("run") / "run", *settings)


class Job:
    """A job that is submitted from the checkout, as the docs say.

    Args:
        slurm: to whom.
        run: what is trained.
        folder: for what it prints.
        options: of sbatch.
    """

    def __init__(self, slurm: Slurm, run: RealRun, folder: Path, *options: str) -> None:
        self.slurm, self.run, self.folder = slurm, run, folder
        # The environment is the submitting shell's: the Python that is active, and what the docs name.
        variables = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PACS_MEET": str(folder / "meet"),
            "TMPDIR": str(slurm.machines.temporary),
        }
        own = ["--nodes=2", f"--output={folder}/job.log", *options]
        train = run.command[run.command.index("train") + 1 :]
        command = ["sbatch", "--parsable", *own, "scripts/slurm/train.sbatch", *train]
        self.id = slurm.says(*command, **variables).strip()

    def __getitem__(self, field: str) -> str:
        """What `scontrol show job` says: JobState, Restarts, ..."""
        shown = self.slurm.says("scontrol", "show", "job", self.id)
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)[field]

    def printed(self) -> str:
        """By the batch script, and in the last start by the nodes."""
        nodes = sorted((self.folder / "meet").glob(f"{self.id}.*"))[-1:]
        files = [self.folder / "job.log", *(file for folder in nodes for file in sorted(folder.glob("*.log")))]
        return "".join(file.read_text() for file in files if file.exists())

    def trains(self, restarts: int, beyond: int) -> None:
        """Wait until this start of the job has trained beyond this step."""

        def training() -> bool:
            assert self["JobState"] in ("PENDING", "RUNNING", "COMPLETING"), self.printed()[-8000:]
            progress, state = read_progress(self.run.folder), self["JobState"]
            ours = progress is not None and progress.step > beyond
            return ours and (state, self["Restarts"]) == ("RUNNING", str(restarts))

        self.wait_for(training, START_SECONDS)

    def ends(self, state: str, restarts: int) -> None:
        """Wait until this start is over and the job in this state, with nothing left of it on either machine."""
        self.wait_for(lambda: (self["JobState"], self["Restarts"]) == (state, str(restarts)), ENDING_SECONDS)
        # Slurm kills what ignores its SIGTERM after KillWait, 30 s as a rule, and may call the job over before.
        self.wait_for(lambda: not self.left(), 60)

    def left(self) -> list[str]:
        """The processes of the job on both machines."""
        found = []
        for process in (process for i in range(2) for process in self.slurm.machines.processes(i)):
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                found.append(process.name())
        return [name for name in found if name not in DAEMONS]

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait until `condition` holds."""
        since = time.monotonic()
        while not condition():
            assert time.monotonic() - since < seconds, self.printed()[-8000:]
            time.sleep(0.5)
        print(f"job {self.id} waited {time.monotonic() - since:.1f} s")  # docs/scaling.md; pytest -rP

    @property
    def step(self) -> int:
        """That of the newest checkpoint."""
        return newest_checkpoint(self.run.checkpoints)[0].step


@pytest.mark.timeout(5000)
def test_a_job_goes_on_after_its_time_limit_and_a_dead_node_until_it_is_cancelled(
    slurm: Slurm, run: RealRun, tmp_path: Path
) -> None:
    # Its GPUs have no Flags= in gres.conf: Slurm gives each maker's variables, of which verl's worker would die.
    job = Job(slurm, run, tmp_path, "--time=60", "--signal=B:USR1@600")
    job.trains(restarts=0, beyond=1)

    # A limit whose notice is due now: steps have been trained, however slow this machine is.
    hours, minutes, _ = job["RunTime"].split(":")
    slurm.says("scontrol", "update", f"JobId={job.id}", f"TimeLimit={60 * int(hours) + int(minutes) + 9}")
    job.ends("PENDING", restarts=1)
    said, step = job.printed(), job.step
    assert "train.sbatch: USR1: asking the run to stop after this step" in said
    assert "train.sbatch: ended with status 75" in said
    assert read_state(run.folder).state == "stopped"
    assert [line["step"] for line in run.steps()] == list(range(1, step + 1))

    slurm.says("scontrol", "update", f"JobId={job.id}", "TimeLimit=120")
    job.trains(restarts=1, beyond=step)
    assert f"going on from step {step} " in job.printed()

    # The run ends first, by Ray; the step waits for the dead node's task until Slurm counts the node as down.
    slurm.machines.power_off(1)
    job.wait_for(lambda: job["Restarts"] == "2", ENDING_SECONDS)
    state, step = read_state(run.folder), job.step
    assert state.state == "failed"
    assert slurm.machines.names[1] in state.cause
    assert state.cause in job.printed()
    assert "DUE TO NODE FAILURE" in job.printed()

    slurm.switch_on(1)
    job.trains(restarts=2, beyond=step)
    assert f"going on from step {step} " in job.printed()

    step = job.step
    slurm.says("scancel", job.id)
    job.ends("CANCELLED", restarts=2)
    assert job.step >= step
