"""What the machines can do, by their makers, and what we take a run to get of it."""

import re
from dataclasses import dataclass

import psutil

from pacs.base.errors import UserError

GB, GIB = 1e9, 2**30


@dataclass(frozen=True)
class Device:
    """A GPU, or a CPU with the memory that a training rank can have of it.

    Attributes:
        memory_bytes: of one GPU, as torch reports it.
        bytes_per_second: of its memory.
        flops: dense bf16 operations a second; 0: not known, and no time is estimated.
        link_bytes_per_second: to the other GPUs of its node, in one direction.
        host_bytes_per_second: to the host's memory, in one direction.
    """

    name: str
    memory_bytes: float
    bytes_per_second: float
    flops: float
    link_bytes_per_second: float
    host_bytes_per_second: float


#: Speeds: NVIDIA's data sheets of H200 SXM (4.8 TB/s), H100 SXM (3.35 TB/s), both 989 TFLOPS of dense bf16 (1,979 with
#: sparsity), NVLink 900 GB/s and PCIe 5 128 GB/s for both directions together; A100 SXM 80 GB (2.039 TB/s, 312 TFLOPS,
#: NVLink 600 GB/s, PCIe 4 64 GB/s). Memory: what torch's out-of-memory messages give as the total capacity of those
#: that are sold as 141 and 80 GB.
GPUS = {
    "h200": Device("H200", 139.8 * GIB, 4.8e12, 989e12, 450 * GB, 64 * GB),
    "h100": Device("H100", 79.1 * GIB, 3.35e12, 989e12, 450 * GB, 64 * GB),
    "a100": Device("A100", 79.1 * GIB, 2.039e12, 312e12, 300 * GB, 32 * GB),
}


def find_device(kind: str, hardware: str | None, gpu: str | None, ranks_here: int) -> Device:
    """The device of a run.

    Args:
        kind: `trainer.device`, cpu or cuda.
        hardware: the option of the config group `hardware`, such as h200x8; None if it is not known.
        gpu: a name of `GPUS`, which comes before the group's.
        ranks_here: ranks that share a machine's memory on the CPU.

    Raises:
        UserError: it is not known which.
    """
    if kind == "cpu":
        if gpu is not None:
            raise UserError(f"--gpu {gpu}: the run is on the CPU (trainer.device=cpu): leave it out")
        return Device("CPU", psutil.virtual_memory().total / ranks_here, 0, 0, 0, 0)
    if gpu is not None and gpu not in GPUS:
        raise UserError(f"--gpu {gpu}: there are {', '.join(GPUS)}")
    name = gpu or re.sub(r"x\d+$", "", hardware or "")
    if name not in GPUS:
        raise UserError(f"hardware={hardware} does not tell which GPU it is: add --gpu {'|'.join(GPUS)}")
    return GPUS[name]
