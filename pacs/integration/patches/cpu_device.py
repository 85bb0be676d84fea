"""The device module that verl's code sees as `torch.cuda` would be, for the CPU.

`torch.cpu` answers the calls about streams and devices; what verl also asks of an accelerator (memory,
caches, seeds) is answered here.
"""

import resource

import psutil
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
    return int(psutil.Process().memory_info().rss)


max_memory_reserved = max_memory_allocated
memory_reserved = memory_allocated


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Free and total memory of the machine, in bytes."""
    memory = psutil.virtual_memory()
    return memory.available, memory.total


def _nothing(device: object = None) -> None:
    """A process's peak cannot be reset without privileges; the allocator keeps no cache, and shares no handles."""


reset_peak_memory_stats = empty_cache = ipc_collect = _nothing
