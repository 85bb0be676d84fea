"""What torch's profiler sees of a step on a GPU."""

from collections.abc import Callable, Iterable

import torch
from torch._C._autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile


def kernels(step: Callable[[], object]) -> dict[str, float]:
    """Launches of a step, and seconds in which the GPU was busy."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    return count(profiler.events() or [])


def count(events: Iterable[FunctionEvent]) -> dict[str, float]:
    """Launches and busy seconds. A named span (FSDP2 has some) lies over the kernels within it, and is none."""
    launched = [each for each in events if each.device_type == DeviceType.CUDA and not each.is_user_annotation]
    busy = sum(each.time_range.elapsed_us() for each in launched) / 1e6
    return {"launches": len(launched), "busy_seconds": busy}
