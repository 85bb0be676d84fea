"""Entry points: verl imports this module in every process, vLLM calls `load_vllm` in every engine process.

Both are cheap; the patches of the CPU stack (see `patches`) wait for a run that was started with `trainer.device=cpu`.
"""

import ray
from verl.plugin.platform.platform_manager import PlatformRegistry

from pacs.integration.patches import registry
from pacs.integration.patches.cpu_platform import CpuPlatform, is_cpu_selected
from pacs.integration.trainer.failed_prompts import note_failures
from pacs.runs import signals, stacks

PlatformRegistry.register(platform="cpu")(CpuPlatform)

# Only in a worker of Ray's: the driver imports verl before Ray is up, and before the run's folder is sure to be there.
if ray.is_initialized():
    stacks.register()
    signals.ignore()
    note_failures()
registry.install_for_verl(cpu=is_cpu_selected())


def load_vllm() -> None:
    """Patch vLLM; be ready to say where a hung engine hangs."""
    stacks.register()
    registry.install_for_vllm(cpu=is_cpu_selected())
