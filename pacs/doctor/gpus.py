"""NVIDIA's driver and GPUs, as nvidia-smi tells of them. Not run on a machine with GPUs yet."""

import csv
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

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
    run = answer_of(command, LIMIT_SECONDS)
    if run.returncode:
        raise OSError(last_line(run.stdout + run.stderr, f"nvidia-smi: status {run.returncode}"))
    return run.stdout


def parse(text: str) -> list[Gpu]:
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
