"""Limits, shared memory and disks of this machine."""

import math
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from pacs.doctor.finding import Finding, State, judged

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
    folder = Path(os.environ.get("RAY_TMPDIR", tempfile.gettempdir()))
    if not folder.is_dir():
        return Finding("Ray's disk", "fail", f"there is no folder {folder}", "make it, or set RAY_TMPDIR to another")
    usage = shutil.disk_usage(folder)
    share = 1 - usage.free / usage.total
    mend = f"make room in {folder}, or set RAY_TMPDIR to a folder on another disk"
    if share >= RAY_DISK_SHARE:
        found = f"the disk of {folder} is {share:.0%} full: Ray would store no more objects"
        return Finding("Ray's disk", "fail", found, mend)
    return check_disk("Ray's disk", folder, least=GIB, wanted=10 * GIB, what="logs and spilled objects", mend=mend)
