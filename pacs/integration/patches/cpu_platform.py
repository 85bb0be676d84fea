"""The CPU as a verl platform: gloo, shared memory for weight transfer, and a logical Ray `GPU`.

verl schedules its workers on Ray's `GPU` resource; on a machine without one, `ray.init(num_gpus=N)` declares N
logical ones (`ray_kwargs.ray_init.num_gpus`), and each stands for one training rank.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase

from pacs.integration.patches import cpu_device
from pacs.integration.schema import PLATFORM_VARIABLE


def is_cpu_selected() -> bool:
    """Whether this process runs the CPU stack (`trainer.device=cpu` sets the variable for a whole run)."""
    return os.environ.get(PLATFORM_VARIABLE, "").strip().lower() == "cpu"


class CpuPlatform(PlatformBase):
    """verl's platform interface for the CPU. Every method that an accelerator alone can answer is a no-op."""

    @property
    def device_name(self) -> str:
        """The torch device type."""
        return "cpu"

    @property
    def vendor_name(self) -> str:
        """Any vendor: engines are looked up by device alone."""
        return "cpu"

    @property
    def device_module(self) -> ModuleType:
        """The module verl uses in place of `torch.cuda`."""
        return cpu_device

    def is_available(self) -> bool:
        """A CPU is always there."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Only when asked for: the head node of a GPU cluster may have no GPU and must not turn into a CPU run."""
        return is_cpu_selected()

    def current_device(self) -> Any:
        """The device as `tensor.to` takes it. An index, which verl expects, would mean `cuda:<index>`."""
        return torch.device("cpu")

    def device_count(self) -> int:
        """One: each rank has the same CPU."""
        return 1

    def set_device(self, device_index: int) -> None:
        """There is only one."""

    def synchronize(self, device_index: int | None = None) -> None:
        """CPU work is synchronous."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch's generator."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None:
        """The CPU allocator has none."""

    def empty_cache(self) -> None:
        """The CPU allocator keeps no cache."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """No compute capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """gloo."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Ray sets this variable for its logical GPUs; nothing on a CPU reads it."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """No profiler ranges."""
        yield

    def profiler_start(self) -> None:
        """No device profiler."""

    def profiler_stop(self) -> None:
        """No device profiler."""

    def ray_resource_name(self) -> str:
        """Ray's logical `GPU`, see the module's docstring."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """None: Ray's device variable has no effect here."""
        return []

    def is_ipc_supported(self) -> bool:
        """False: weights go to vLLM through shared memory."""
        return False

    def cudart(self) -> None:
        """No CUDA runtime."""
