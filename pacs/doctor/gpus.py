"""NVIDIA's driver and GPUs, as nvidia-smi tells of them. Not run on a machine with GPUs yet."""

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from pacs.doctor.finding import Finding, State

FIELDS = ("index", "name", "memory.total", "memory.used", "driver_version", "ecc.mode.current", "mig.mode.current")
#: The oldest driver for CUDA 13 (NVIDIA's CUDA 13.0 release notes: 580.65.06).
DRIVER = 580
#: MiB that a GPU may have in use, by its driver alone.
IDLE_MIB = 1024


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


def query() -> str | None:
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
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        raise OSError("nvidia-smi does not answer") from None
    if run.returncode:
        said = (run.stdout + run.stderr).strip().splitlines() or [f"nvidia-smi: status {run.returncode}"]
        raise OSError(said[-1])
    return run.stdout


def parse(text: str) -> list[Gpu]:
    """The lines of nvidia-smi."""
    gpus = []
    for index, name, total, used, driver, ecc, mig in csv.reader(text.splitlines(), skipinitialspace=True):
        gpus.append(Gpu(int(index), name, _mib(total), _mib(used), driver, ecc, mig))
    return gpus


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
    driver = gpus[0].driver if gpus else "none"
    if gpus and int(driver.split(".")[0]) < DRIVER:
        yield Finding(
            "driver", "fail", driver, f"the GPU stack is built for CUDA 13: install a driver of {DRIVER} or later"
        )
    elif gpus:
        yield Finding("driver", "ok", driver)
    kinds = ", ".join(
        f"{name} ({_size(total)} MiB)" for name, total in dict.fromkeys((g.name, g.total_mib) for g in gpus)
    )
    count = f"{len(gpus)} GPUs: {kinds}" if gpus else "no GPU"
    if wanted is not None and len(gpus) < wanted:
        mend = f"lower trainer.n_gpus_per_node={wanted}, or run on a machine that has them"
        yield Finding("GPUs", "fail", count, mend)
    elif len({(gpu.name, gpu.total_mib) for gpu in gpus}) > 1:
        yield Finding("GPUs", "warn", count, "ranks wait for the slowest: choose alike ones by CUDA_VISIBLE_DEVICES")
    else:
        yield Finding("GPUs", "ok", count)
    oddities: list[tuple[State, list[Gpu], str]] = [
        ("fail", [gpu for gpu in gpus if gpu.mig == "Enabled"], "MIG is on: sudo nvidia-smi -i INDEX -mig 0"),
        (
            "warn",
            [gpu for gpu in gpus if gpu.ecc == "Disabled"],
            "ECC is off: sudo nvidia-smi -i INDEX -e 1; reboot",
        ),
        (
            "warn",
            [gpu for gpu in gpus if (gpu.used_mib or 0) > IDLE_MIB],
            "in use by others: end what nvidia-smi lists",
        ),
    ]
    for state, named, mend in oddities:
        for gpu in named:
            yield Finding(
                f"GPU {gpu.index}", state, f"{_size(gpu.used_mib)} of {_size(gpu.total_mib)} MiB in use", mend
            )
