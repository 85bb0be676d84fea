"""Two machines on this one: each has processes, network, host name and shared memory of its own; the disk is shared."""

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil

NETWORK = "10.77.0"


class Machines:
    """Two of them, on a cable; they need the rights of root.

    Args:
        folder: for what they are made of; it is on the disk that both see.
    """

    def __init__(self, folder: Path) -> None:
        self.names = [f"pacs{os.getpid()}-{i}" for i in range(2)]
        hosts = "".join(f"{NETWORK}.{i + 1} {name}\n" for i, name in enumerate(self.names))
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
        # What a machine that is switched off leaves; a short name, since Ray's sockets are below it.
        self.temporary = Path(tempfile.mkdtemp(prefix="m", dir="/tmp"))
        self.bin = folder / "bin"
        self.bin.mkdir()
        # What a command on a machine runs in: "machine I COMMAND ...".
        self._write(
            "machine",
            f"""
            name=pacs{os.getpid()}-$1; shift
            exec ip netns exec "$name" unshare --pid --fork --kill-child --mount --uts --mount-proc bash -c '
                hostname "$0"; mount --bind {folder}/hosts /etc/hosts; mount -t tmpfs tmpfs /dev/shm
                [[ -z ${{OWN_DISK:-}} || $0 != *-1 ]] || mount -t tmpfs tmpfs "$OWN_DISK"
                "$@"' "$name" "$@"
            """,
        )
        # Slurm's part: a task on each machine, its output in a file; the highest exit status.
        self._write(
            "srun",
            """
            while [[ $1 == --* ]]; do
                case $1 in --ntasks=*) n=${1#*=} ;; --output=*) output=${1#*=} ;; esac
                shift
            done
            for ((i = 0; i < n; i++)); do
                file=${output//%t/$i}
                SLURM_PROCID=$i SLURM_NTASKS=$n SLURM_NNODES=$n machine $((i % 2)) "$@" >"${file//%N/host}" 2>&1 &
                tasks[i]=$!
            done
            status=0
            for task in "${tasks[@]}"; do wait "$task" || { s=$?; ((s > status)) && status=$s; }; done
            exit "$status"
            """,
        )
        self._write("scontrol", f'echo "$@" >>{folder}/scontrol.log')
        self.scontrol = folder / "scontrol.log"

    def _write(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/usr/bin/env bash\n{script}")
        (self.bin / name).chmod(0o755)

    def __enter__(self) -> "Machines":
        a, b = self.names
        for name in self.names:
            _ip("netns", "add", name)
        _ip("link", "add", "eth0", "netns", a, "type", "veth", "peer", "name", "eth0", "netns", b)
        for i, name in enumerate(self.names):
            _ip("-n", name, "addr", "add", f"{NETWORK}.{i + 1}/24", "dev", "eth0")
            self.connect(i)
            _ip("-n", name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *error: object) -> None:
        for i, name in enumerate(self.names):
            self.power_off(i)
            _ip("netns", "delete", name)
        shutil.rmtree(self.temporary)

    def connect(self, i: int) -> None:
        """Plug the cable in."""
        _ip("-n", self.names[i], "link", "set", "eth0", "up")

    def disconnect(self, i: int) -> None:
        """Pull the cable out: nothing comes through any more, not even the word that a process is gone."""
        _ip("-n", self.names[i], "link", "set", "eth0", "down")

    def processes(self, i: int) -> list[psutil.Process]:
        """All that runs on a machine."""
        pids = subprocess.run(["ip", "netns", "pids", self.names[i]], capture_output=True, text=True, check=True).stdout
        found = []
        for pid in pids.split():
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                found.append(psutil.Process(int(pid)))
        return found

    def power_off(self, i: int) -> None:
        """Kill everything on a machine at once."""
        for process in self.processes(i):
            if process.is_running():
                process.kill()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
