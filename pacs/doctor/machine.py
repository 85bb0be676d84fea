"""This machine: GPUs, as nvidia-smi tells of them (not run on a machine with GPUs yet), limits, memory and disks."""

import csv
import math
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from pacs.doctor.finding import Finding, State, answer_of, judged, last_line

FIELDS = ("index", "name", "memory.total", "memory.used", "driver_version", "ecc.mode.current", "mig.mode.current")
#: The oldest driver for CUDA 13 (NVIDIA's CUDA 13.0 release notes: 580.65.06).
DRIVER = 580
#: MiB that a GPU may have in use, by its driver alone.
IDLE_MIB = 1024
LIMIT_SECONDS = 60.0


@dataclass(frozen=True)
class Gpu:
    """A line of nvidia-smi; sizes in MiB, None where it tells none (`[N/A]`, as of MIG and of shared memory)."""

    index: int
    name: str
    total_mib: int | None
    used_mib: int | None
    driver: str
    ecc: str
    mig: str


def query_gpus() -> str | None:
    """What nvidia-smi says of the GPUs that CUDA may use here; None if there is no nvidia-smi.

    Raises:
        OSError: it fails; with what it said.
    """
    if shutil.which("nvidia-smi") is None:
        return None
    command = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        if visible in ("", "-1", "NoDevFiles"):  # none; the last is Slurm's
            return ""
        command.append(f"--id={visible}")
    run = answer_of(command, LIMIT_SECONDS)
    if run.returncode:
        raise OSError(last_line(run.stdout + run.stderr, f"nvidia-smi: status {run.returncode}"))
    return run.stdout


def parse_gpus(text: str) -> list[Gpu]:
    """The lines of nvidia-smi."""
    return [
        Gpu(int(index), name, _mib(total), _mib(used), driver, ecc, mig)
        for index, name, total, used, driver, ecc, mig in csv.reader(text.splitlines(), skipinitialspace=True)
    ]


def _mib(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _size(mib: int | None) -> str:
    return "?" if mib is None else f"{mib:,}"


def check_gpus(gpus: list[Gpu], wanted: int | None) -> Iterator[Finding]:
    """Driver, number, and what is odd about any of them.

    Args:
        gpus: of this machine.
        wanted: `trainer.n_gpus_per_node`; None if there is no config.
    """
    if gpus:
        mend = f"the GPU stack is built for CUDA 13: install a driver of {DRIVER} or later"
        yield judged("driver", gpus[0].driver, (int(gpus[0].driver.split(".")[0]) < DRIVER, "fail", mend))
    kinds = dict.fromkeys(f"{gpu.name} ({_size(gpu.total_mib)} MiB)" for gpu in gpus)
    fewer = f"lower trainer.n_gpus_per_node={wanted}, or run on a machine that has them"
    yield judged(
        "GPUs",
        f"{len(gpus)} GPUs: {', '.join(kinds)}" if gpus else "no GPU",
        (wanted is not None and len(gpus) < wanted, "fail", fewer),
        (len(kinds) > 1, "warn", "ranks wait for the slowest: choose alike ones by CUDA_VISIBLE_DEVICES"),
    )
    for gpu in gpus:
        in_use = f"{_size(gpu.used_mib)} of {_size(gpu.total_mib)} MiB in use"
        oddities: list[tuple[bool, State, str]] = [
            (gpu.mig == "Enabled", "fail", "MIG is on: sudo nvidia-smi -i INDEX -mig 0"),
            (gpu.ecc == "Disabled", "warn", "ECC is off: sudo nvidia-smi -i INDEX -e 1; reboot"),
            ((gpu.used_mib or 0) > IDLE_MIB, "warn", "in use by others: end what nvidia-smi lists"),
        ]
        yield from (Finding(f"GPU {gpu.index}", state, in_use, mend) for there, state, mend in oddities if there)


GIB = 2**30
#: Ray's documentation asks for this many open files on each node.
OPEN_FILES = 65536
#: Each of a run's processes has dozens to hundreds of threads, which count too.
PROCESSES = 8192
#: Docker's default, in which neither Ray's objects nor vLLM's messages fit.
DOCKER_SHARED_BYTES = 64 * 2**20
#: The part of the memory that Ray takes for its objects, in shared memory.
RAY_OBJECTS_SHARE = 0.3
#: And no more bytes than these.
RAY_OBJECTS_MOST = 200e9
#: Ray stores no more objects when a disk is so full.
RAY_DISK_SHARE = 0.95


def check_limits(*, gpu: bool) -> Iterator[Finding]:
    """ulimits: open files, processes, and on GPU machines locked memory."""
    files, processes, locked = map(_limit, (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK))
    mend = f"ulimit -n {OPEN_FILES} (or nofile in limits.conf)"
    yield judged("open files", _said(files), (files < 4096, "fail", mend), (files < OPEN_FILES, "warn", mend))
    mend = f"ulimit -u {PROCESSES} or more: threads count, too"
    yield judged("processes", _said(processes), (processes < PROCESSES, "warn", mend))
    if gpu:
        found = f"{locked / 2**20:,.1f} MiB" if locked < math.inf else _said(locked)
        mend = "ulimit -l unlimited: NCCL locks memory for InfiniBand, and fails or falls back to TCP without"
        yield judged("locked memory", found, (locked < math.inf, "warn", mend))


def _limit(kind: int) -> float:
    limit, _ = resource.getrlimit(kind)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _said(limit: float) -> str:
    return f"{limit:,}" if limit < math.inf else "unlimited"


def check_shared_memory(folder: str = "/dev/shm") -> Finding:
    """Ray's objects, vLLM's messages and the CPU stack's weights go through it."""
    memory = psutil.virtual_memory().total
    if not Path(folder).is_dir():
        return Finding("shared memory", "fail", f"there is no {folder}", f"mount -t tmpfs tmpfs {folder}")
    usage = shutil.disk_usage(folder)
    total, wanted = usage.total, min(RAY_OBJECTS_SHARE * memory, RAY_OBJECTS_MOST)
    found = f"{folder} has {total / GIB:.1f} GiB"
    mend = f"enlarge it: docker run --shm-size={wanted / GIB:.0f}g, or mount -o remount,size=..."
    if total >= wanted > usage.free:
        state: State = "fail" if usage.free <= DOCKER_SHARED_BYTES else "warn"
        found = f"{found}, of which {usage.free / GIB:.1f} are free; Ray would take {wanted / GIB:.1f}"
        return Finding("shared memory", state, found, f"see what fills it (ls -l {folder}); end or remove that")
    too_small = total <= DOCKER_SHARED_BYTES
    found += f"; Ray would take {wanted / GIB:.1f}" if total < wanted and not too_small else ""
    return judged("shared memory", found, (too_small, "fail", mend), (total < wanted, "warn", mend))


def check_disk(name: str, folder: Path, *, least: float, wanted: float, what: str, mend: str) -> Finding:
    """Room for files in a folder, or in what is there of its path.

    Args:
        name: of the check.
        folder: need not exist.
        least: bytes below which a run fails.
        wanted: bytes that it may come to need.
        what: for what they are.
        mend: what to do otherwise.
    """
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK):
        return Finding(name, "fail", f"{there} cannot be written", mend)
    free = shutil.disk_usage(there).free
    found = f"{free / GIB:,.1f} GiB free for {folder}"
    found += f"; {what}: {wanted / GIB:,.1f} GiB" if free < wanted else ""
    return judged(name, found, (free < least, "fail", mend), (free < wanted, "warn", mend))


def check_ray_disk() -> Finding:
    """Ray's session folder: its logs, and objects that are too large for shared memory."""
    folder = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir())
    if not folder.is_dir():
        return Finding("Ray's disk", "fail", f"there is no folder {folder}", "make it, or set RAY_TMPDIR to another")
    usage = shutil.disk_usage(folder)
    share = 1 - usage.free / usage.total
    mend = f"make room in {folder}, or set RAY_TMPDIR to a folder on another disk"
    if share >= RAY_DISK_SHARE:
        found = f"the disk of {folder} is {share:.0%} full: Ray would store no more objects"
        return Finding("Ray's disk", "fail", found, mend)
    return check_disk("Ray's disk", folder, least=GIB, wanted=10 * GIB, what="logs and spilled objects", mend=mend)
