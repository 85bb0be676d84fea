"""The device module that verl's code sees as `torch.cuda` would be, for the CPU.

`torch.cpu` answers the calls about streams and devices; what verl also asks of an accelerator (memory,
caches, seeds) is answered here.
"""

import resource

import torch

current_device = torch.cpu.current_device
device_count = torch.cpu.device_count
is_available = torch.cpu.is_available
set_device = torch.cpu.set_device
synchronize = torch.cpu.synchronize
Stream = torch.cpu.Stream
current_stream = torch.cpu.current_stream
stream = torch.cpu.stream
manual_seed = torch.manual_seed
manual_seed_all = torch.manual_seed
get_rng_state = torch.get_rng_state
set_rng_state = torch.set_rng_state


def get_device_name(device: object = None) -> str:
    """The name under which verl knows a CPU's arithmetic rate (a nominal one: no MFU of a CPU run means much)."""
    return "CPU"


def max_memory_allocated(device: object = None) -> int:
    """Peak resident memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory_allocated(device: object = None) -> int:
    """Resident memory of this process now, in bytes."""
    with open("/proc/self/statm") as statm:  # noqa: PTH123 (a kernel file, read once)
        return int(statm.read().split()[1]) * resource.getpagesize()


max_memory_reserved = max_memory_allocated
memory_reserved = memory_allocated


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Free and total memory of the machine, in bytes."""
    with open("/proc/meminfo") as meminfo:  # noqa: PTH123
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in meminfo}
    return sizes["MemAvailable"], sizes["MemTotal"]


def reset_peak_memory_stats(device: object = None) -> None:
    """Linux keeps the peak of a process; it cannot be reset without privileges."""


def empty_cache() -> None:
    """The CPU allocator keeps no cache of ours."""


def ipc_collect() -> None:
    """There are no device handles shared between processes."""
