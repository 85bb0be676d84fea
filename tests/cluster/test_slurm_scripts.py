"""What the scripts for Slurm do with signals, statuses and settings; srun and scontrol are scripts that take notes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRUN = {
    # The run: until the notice, then it has been saved; at once, if it is told to.
    "stops": 'echo "$@" >>LOG; until [[ -e $PACS_MEET/notice ]]; do sleep 0.05; done; exit 75',
    "stops in a second": 'echo "$@" >>LOG; until [[ -e $PACS_MEET/notice ]]; do sleep 0.05; done; sleep 1; exit 75',
    "fails on a node that dies": 'echo "$@" >>LOG; echo 1 >$PACS_MEET/end; exit 137',
    "fails": 'echo "$@" >>LOG; exit 1',
    "is stopped by its user": 'echo "$@" >>LOG; exit 75',
}


class Batch:
    """The batch script at work.

    Args:
        folder: for the job.
        run: what the step does, of `SRUN`.
        environment: variables beside Slurm's.
    """

    def __init__(self, folder: Path, run: str, *, requeues: bool = True, **environment: str) -> None:
        self.log, self.meet = folder / "log", folder / "meet"
        for name, script in (("srun", SRUN[run]), ("scontrol", f'echo "scontrol $@" >>LOG; {str(requeues).lower()}')):
            (folder / name).write_text(f"#!/bin/bash\n{script.replace('LOG', str(self.log))}\n")
            (folder / name).chmod(0o755)
        slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2", "SLURM_SUBMIT_DIR": str(ROOT)}
        self.process = subprocess.Popen(
            ["bash", ROOT / "scripts/slurm/train.sbatch", "recipe=arithmetic", "trainer.experiment_name=a b"],
            env=os.environ
            | slurm
            | {"PATH": f"{folder}:{os.environ['PATH']}", "PACS_MEET": str(self.meet)}
            | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ended(self) -> tuple[int, str]:
        """Exit status and what was printed."""
        printed, _ = self.process.communicate(timeout=60)
        return self.process.returncode, printed

    def sent(self, *numbers: signal.Signals) -> tuple[int, str]:
        """The same, after these signals to the script alone, once its step is there, one after another."""
        while not self.log.exists():
            time.sleep(0.05)
        for number in numbers:
            self.process.send_signal(number)
            while self.process.poll() is None and not list(self.meet.glob("*/notice")):
                time.sleep(0.05)
        return self.ended()


def test_the_notice_stops_the_run_and_requeues_the_job(tmp_path: Path) -> None:
    status, printed = (batch := Batch(tmp_path, "stops")).sent(signal.SIGUSR1)
    assert status == 75, printed
    assert batch.log.read_text().splitlines()[-1] == "scontrol requeue 7"


@pytest.mark.parametrize(("number", "name"), [("7", "7_3"), ("8", "8")])
def test_of_a_job_array_one_task_alone_is_requeued(tmp_path: Path, number: str, name: str) -> None:
    """A task has the array's number for its own, and Slurm takes that for the whole array (its page on job arrays)."""
    array = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}
    status, printed = (batch := Batch(tmp_path, "stops", SLURM_JOB_ID=number, **array)).sent(signal.SIGUSR1)
    assert status == 75, printed
    assert batch.log.read_text().splitlines()[-1] == f"scontrol requeue {name}"


def test_a_job_that_slurm_does_not_requeue_says_so(tmp_path: Path) -> None:
    status, printed = Batch(tmp_path, "stops", requeues=False).sent(signal.SIGUSR1)
    assert status == 75
    assert "could not be requeued: submit it again" in printed
    assert "requeued; it goes on" not in printed


def test_a_job_whose_time_limit_is_within_the_notice_is_not_requeued_for_ever(tmp_path: Path) -> None:
    for restart, requeued in enumerate((True, False)):
        status, printed = (batch := Batch(tmp_path, "stops", SLURM_RESTART_COUNT=str(restart))).sent(signal.SIGUSR1)
        assert status == 75, printed
        assert ("scontrol" in batch.log.read_text()) == requeued
        assert ("with a --time of hours more than the notice" in printed) != requeued
        batch.log.unlink()


@pytest.mark.parametrize(
    "signals", [[signal.SIGTERM], [signal.SIGUSR1, signal.SIGTERM], [signal.SIGTERM, signal.SIGUSR1]]
)
def test_a_job_that_is_cancelled_is_stopped_and_not_requeued(tmp_path: Path, signals: list[signal.Signals]) -> None:
    status, printed = (batch := Batch(tmp_path, "stops in a second")).sent(*signals)
    assert status == 75, printed
    assert printed.count("asking the run to stop") == len(signals)
    assert "scontrol" not in batch.log.read_text()


@pytest.mark.parametrize(
    ("run", "status"), [("fails", 1), ("fails on a node that dies", 1), ("is stopped by its user", 75)]
)
def test_a_run_that_ends_by_itself_is_not_requeued(tmp_path: Path, run: str, status: int) -> None:
    batch = Batch(tmp_path, run)
    assert batch.ended()[0] == status
    assert "scontrol" not in batch.log.read_text()


def test_a_task_on_each_node_with_the_arguments_as_they_are(tmp_path: Path) -> None:
    batch = Batch(tmp_path, "fails", PACS_SRUN_ARGS="--container-image=pacs.sqsh --mpi=none", PACS_JOIN_SECONDS="900.5")
    batch.ended()
    (said,) = batch.log.read_text().splitlines()
    assert "--nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=none " in said
    assert " --wait=1380 " in said  # PACS_JOIN_SECONDS, and the time in which Slurm finds out that a node has died
    assert " --container-image=pacs.sqsh --mpi=none bash scripts/slurm/node.sh recipe=arithmetic " in said
    assert said.endswith("trainer.experiment_name=a b")


def test_a_requeued_job_meets_in_another_folder(tmp_path: Path) -> None:
    """Its environment is that with which it was submitted, and what the first start left says that all is over."""
    first = Batch(tmp_path, "fails on a node that dies")
    assert first.ended()[0] == 1
    first.log.unlink()
    status, _ = (second := Batch(tmp_path, "stops", SLURM_RESTART_COUNT="1")).sent(signal.SIGUSR1)
    assert status == 75
    second.log.unlink()
    assert Batch(tmp_path, "fails", SLURM_JOB_ID="8").ended()[0] == 1
    assert (tmp_path / "meet" / "7.0" / "end").exists()
    assert (tmp_path / "meet" / "7.1" / "notice").exists()
    assert list((tmp_path / "meet" / "8.0").iterdir()) == []


def test_it_is_to_be_submitted_from_the_checkout(tmp_path: Path) -> None:
    status, printed = Batch(tmp_path, "fails", SLURM_SUBMIT_DIR=str(tmp_path)).ended()
    assert status == 2
    assert "submit this from the checkout: sbatch --nodes=N scripts/slurm/train.sbatch" in printed


def test_a_node_has_cuda_s_devices_alone(tmp_path: Path) -> None:
    """Slurm 22.05 sets all but HIP's for a GPU of gres.conf without Flags=, and verl's worker dies of them."""
    others = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK")
    python = tmp_path / "python"  # in place of the node's own part, what it would have
    python.write_text(f'#!/bin/bash\n[[ $* == *pacs.cluster* ]] && exec env\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": "0,1"}
    path = {"PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env = os.environ | slurm | path | dict.fromkeys(others, "0,1")
    env.pop("PACS_VENV", None)  # the script would activate it, and with it another python before the one here
    said = subprocess.run(["bash", ROOT / "scripts/slurm/node.sh"], env=env, capture_output=True, text=True, check=True)
    found = dict(line.split("=", 1) for line in said.stdout.splitlines() if "=" in line)
    assert found["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert [name for name in others if name in found] == []


def node(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pacs.cluster", "--nodes", "2", "--meet", str(folder), *options]
    command += ["--", "trainer.nnodes=2"]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=60)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = node(tmp_path / "file", "--node", "0")
    assert result.returncode == 2
    assert f"pacs.cluster: {tmp_path}/file cannot be written" in result.stderr


def test_a_folder_of_another_start_is_refused(tmp_path: Path) -> None:
    (tmp_path / "node-1.json").write_text('{"host": "n1", "state": "joined"}')
    result = node(tmp_path, "--node", "1")
    assert result.returncode == 2
    assert "is another start's: give each start a folder of its own" in result.stderr


def test_an_interface_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    result = node(tmp_path, "--node", "0", PACS_INTERFACE="ib7")
    assert result.returncode == 2
    assert "PACS_INTERFACE=ib7: " in result.stderr
    assert " lo" in result.stderr


def test_a_run_that_would_leave_nodes_idle_ends_the_start_on_all(tmp_path: Path) -> None:
    """Nothing is started of it: trainer.nnodes is 1 where it was forgotten."""
    command = [sys.executable, "-m", "pacs.cluster", "--nodes", "2", "--meet", str(tmp_path)]
    nodes = [
        subprocess.Popen(
            [*command, "--node", str(i), "--", "recipe=qwen3_8b"], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for i in range(2)
    ]
    head, other = (node.communicate(timeout=60)[1] for node in nodes)
    assert [node.returncode for node in nodes] == [2, 2]
    assert "the run uses 1 of 2 nodes, and the others would have nothing to do: set trainer.nnodes=2" in head
    assert "the head has ended before its Ray was up" in other


def test_a_node_waits_for_the_head_no_longer_than_it_is_told(tmp_path: Path) -> None:
    result = node(tmp_path, "--node", "1", "--join-seconds", "1")
    assert result.returncode == 2
    assert f"no word from the head in {tmp_path} within 1 s" in result.stderr


@pytest.mark.parametrize(("nohup", "status"), [([], 128 + signal.SIGHUP), (["nohup"], 128 + signal.SIGTERM)])
def test_a_node_whose_terminal_is_gone_ends_in_good_order(nohup: list[str], status: int, tmp_path: Path) -> None:
    """Else it would leave its Ray behind, which is in a session of its own."""
    command = [*nohup, sys.executable, "-m", "pacs.cluster", "--nodes", "2", "--meet", str(tmp_path), "--node", "1"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "node-1.json").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGHUP)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == status


@pytest.mark.long
def test_a_node_whose_ray_does_not_start_ends_the_start_on_all(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        head = pool.submit(node, tmp_path, "--node", "0", PACS_INTERFACE="lo")
        other = pool.submit(node, tmp_path, "--node", "1", PACS_RAY_ARGS="--no-such-option")
    assert (head.result().returncode, other.result().returncode) == (2, 2)
    assert "--no-such-option" in other.result().stdout + other.result().stderr
    assert "the cluster cannot be made:\n  node 1 (" in head.result().stderr
    assert "did not start; what it said is above" in head.result().stderr
