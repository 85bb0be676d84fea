"""Where a run lives while it is broken: a small disk, a /dev/shm and a temporary folder of its own.

The disk and the /dev/shm are small file systems in memory, mounted by root alone; the /dev/shm is seen by the start's
own processes only (a mount namespace). Any other user has folders and the machine's /dev/shm instead, and the faults
that need more are left out.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.chaos.faults import Draw

DISK_MEGABYTES = 96
SHARED_MEMORY = Path("/dev/shm")
SHARED_MEMORY_MEGABYTES = 12 * 1024
#: What is tried as too small.
SMALL_SHARED_MEMORY_MEGABYTES = (1, 128)
MEMORY_LIMIT_MEGABYTES = (1500, 6000)
#: In the temporary folder: Ray's logs, and what torch has compiled.
MEANT_TO_STAY = ("ray", "torchinductor_")
#: What a start takes of memory, and some more: a machine that has less now is busy with other work.
MEMORY_BYTES = 9 * 2**30
#: Runs a command in a namespace where another file system is at /dev/shm.
_OWN_SHARED_MEMORY = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /dev/shm && exec "$@"']
#: systemd makes a cgroup for a command and takes it away again.
_SCOPE = ["systemd-run", "--scope", "--quiet", *(["--user"] if os.getuid() else [])]


def cannot_mount() -> str | None:
    """Why this user cannot mount, or None."""
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(
            ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, text=True
        )
    return None if tried.returncode == 0 and os.getuid() == 0 else tried.stderr.strip() or "only root may mount"


def cannot_limit_memory() -> str | None:
    """Why this user cannot have a cgroup with a limit of memory, or None."""
    if "memory" not in _read("/sys/fs/cgroup/cgroup.controllers").split():
        return "cgroup v2 has no memory controller here"
    tried = subprocess.run([*_SCOPE, "-p", "MemoryMax=1G", "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"systemd-run: {tried.stderr.strip()}"


def _read(file: str) -> str:
    return Path(file).read_text(encoding="utf-8") if Path(file).exists() else ""


def missing(kinds: Sequence[str]) -> dict[str, str]:
    """Kind of a fault -> why it cannot be done here."""
    mounts = cannot_mount()
    reasons = {"disk": mounts, "shm": mounts, "memory": cannot_limit_memory()}
    return {kind: reason for kind, reason in reasons.items() if kind in kinds and reason is not None}


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """A small disk at `folder`, or a plain folder; gone afterwards."""
    unmount(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if cannot_mount() is None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        unmount(folder)
        shutil.rmtree(folder, ignore_errors=True)


def unmount(folder: Path) -> None:
    """Take a file system from a folder, if there is one; what is open in it stays until it is closed."""
    if os.path.ismount(folder):
        subprocess.run(["umount", "--lazy", folder], check=True)


class Place:
    """The temporary folder and /dev/shm of one start.

    Args:
        shared_memory_megabytes: the size of its /dev/shm.
        memory_megabytes: how much memory its processes may take together, or None for no limit.
    """

    def __init__(
        self, shared_memory_megabytes: float = SHARED_MEMORY_MEGABYTES, memory_megabytes: float | None = None
    ) -> None:
        # A short name: Ray's sockets are below it, and a socket's path may have 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.prefix: list[str] = []
        if memory_megabytes is not None:
            self.prefix += [*_SCOPE, "-p", f"MemoryMax={memory_megabytes:.0f}M", "-p", "MemorySwapMax=0"]
        self.shared_memory, self.before = SHARED_MEMORY, set(SHARED_MEMORY.iterdir())
        if cannot_mount() is None:
            self.shared_memory, self.before = self.folder / "shm", set()
            self.shared_memory.mkdir()
            size = f"size={shared_memory_megabytes * 1024:.0f}k"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", self.shared_memory], check=True)
            self.prefix += [*_OWN_SHARED_MEMORY, str(self.shared_memory)]

    def segments(self) -> list[str]:
        """The shared memory that is left (the user's own on this machine, since the start, where none is private)."""
        found = [file for file in set(self.shared_memory.iterdir()) - self.before if file.lstat().st_uid == os.getuid()]
        return sorted(file.name for file in found)

    def files(self, token: str | None) -> list[str]:
        """What is left in the temporary folder, and in /tmp if it bears the start's token; without `MEANT_TO_STAY`."""
        found = [*self.temporary.iterdir(), *(Path("/tmp").glob(f"*{token}*") if token else ())]
        return sorted(file.name for file in found if not file.name.startswith(MEANT_TO_STAY))

    def remove(self) -> None:
        """Leave nothing."""
        if self.shared_memory != SHARED_MEMORY:
            unmount(self.shared_memory)
        shutil.rmtree(self.folder, ignore_errors=True)


def place_for(drawn: Draw | None) -> Place:
    """Where a start is to run: as ever, or with too little of something from the start."""
    ranges = {"shm": SMALL_SHARED_MEMORY_MEGABYTES, "memory": MEMORY_LIMIT_MEGABYTES}
    if drawn is None or drawn.fault.kind not in ranges:
        return Place()
    low, high = ranges[drawn.fault.kind]
    size = low * (high / low) ** drawn.size
    return Place(size) if drawn.fault.kind == "shm" else Place(memory_megabytes=size)


def wait_for_memory() -> None:
    """Wait until the machine has memory for a start."""
    if psutil.virtual_memory().available < MEMORY_BYTES:
        print("waiting for memory, which other work has taken", flush=True)
    while psutil.virtual_memory().available < MEMORY_BYTES:
        time.sleep(1)
