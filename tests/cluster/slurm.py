"""A Slurm of its own on two machines (`machines.py`): munged, slurmctld and two slurmd, all real."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.machines import NETWORK, Machines

#: Programs of Debian's slurm-wlm and munge that are not here.
MISSING = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]
#: GPUs of each machine, as many as train.sbatch asks for: devices that Slurm counts and nothing opens.
GPUS = 8
START_SECONDS = 60
#: Before a requeued job starts again; Slurm's own are 120.
REQUEUE_SECONDS = 10
#: Without a word from a node until it counts as down; Slurm's own are 300. Ray is to be quicker, as there.
DOWN_SECONDS = 90


class Slurm:
    """Its daemons.

    Args:
        machines: on which they run; the controller is on the first.
        folder: for all that they write.
    """

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.machines, self.folder = machines, folder
        self.daemons: list[subprocess.Popen[bytes]] = []
        for name in ("state", *machines.names):
            (folder / name).mkdir()
        for i in range(GPUS):
            subprocess.run(["mknod", str(folder / f"gpu{i}"), "c", "1", "3"], check=True)  # those of /dev/null
        self._write("gres.conf", f"Name=gpu File={folder}/gpu[0-{GPUS - 1}]")
        # The one that needs no file system of cgroups; none is used.
        self._write("cgroup.conf", "CgroupPlugin=cgroup/v1")
        self._write(
            "slurm.conf",
            "ClusterName=pacs",
            f"SlurmctldHost={machines.names[0]}({NETWORK}.1)",
            "SlurmUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={folder}/munge.socket,cred_expire={REQUEUE_SECONDS}",
            "MpiDefault=none",
            "MailProg=/bin/true",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU_Memory",
            "JobAcctGatherType=jobacct_gather/none",
            "JobRequeue=1",
            "ReturnToService=2",
            f"SlurmdTimeout={DOWN_SECONDS}",
            f"StateSaveLocation={folder}/state",
            f"SlurmdSpoolDir={folder}/%n",
            f"SlurmctldPidFile={folder}/slurmctld.pid",
            f"SlurmdPidFile={folder}/%n.pid",
            f"SlurmctldLogFile={folder}/slurmctld.log",
            f"SlurmdLogFile={folder}/%n.log",
            "GresTypes=gpu",
            *(
                f"NodeName={name} NodeAddr={NETWORK}.{i + 1} CPUs={os.cpu_count()} RealMemory=4000 Gres=gpu:{GPUS}"
                for i, name in enumerate(machines.names)
            ),
            "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        )

    def _write(self, name: str, *lines: str) -> None:
        (self.folder / name).write_text("\n".join([*lines, ""]))

    def __enter__(self) -> "Slurm":
        try:
            key = self.folder / "munge.key"
            key.write_bytes(os.urandom(128))
            key.chmod(0o600)
            files = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
            # --force: it would have folders that nobody else may write, up to the root.
            self._start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *files)
            self.wait_for((self.folder / "munge.socket").exists)
            self._start(*self._on(0), "slurmctld", "-D")
            for i in range(2):
                self.switch_on(i)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Kill all daemons, and with a slurmd whatever it has started."""
        for daemon in reversed(self.daemons):
            daemon.kill()
            daemon.wait()

    def switch_on(self, i: int) -> None:
        """Start a machine's slurmd."""
        self._start(*self._on(i), "slurmd", "-D", "-N", self.machines.names[i])
        up = ("idle", "allocated")
        self.wait_for(lambda: self.says("sinfo", "-hN", "-o%T", f"-n{self.machines.names[i]}").strip() in up)

    def _on(self, i: int) -> list[str]:
        return [str(self.machines.bin / "machine"), str(i)]

    def _start(self, *command: str) -> None:
        with (self.folder / "daemons.log").open("a") as log:
            self.daemons.append(subprocess.Popen(command, env=self._environment(), stdout=log, stderr=log))

    def _environment(self) -> dict[str, str]:
        return os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def says(self, *command: str, **variables: str) -> str:
        """What a command of Slurm's prints, on the first machine."""
        within = ["ip", "netns", "exec", self.machines.names[0], *command]
        environment = self._environment() | variables
        return subprocess.run(within, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    def wait_for(self, condition: Callable[[], object], seconds: float = START_SECONDS) -> None:
        """Wait until `condition` holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, (self.folder / "daemons.log").read_text()[-8000:]
            time.sleep(0.2)
