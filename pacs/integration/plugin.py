"""Entry points: verl imports this module in every process, vLLM calls `load_vllm` in every engine process.

Both are cheap, and most patches (see `patches`) wait for a run that was started with `trainer.device=cpu`.
"""

from verl.plugin.platform.platform_manager import PlatformRegistry

from pacs.integration import patches
from pacs.integration.cpu_platform import CpuPlatform, is_cpu_selected
from pacs.runs import stacks

PlatformRegistry.register(platform="cpu")(CpuPlatform)

stacks.register()
patches.install_for_verl()
if is_cpu_selected():
    patches.install_for_verl_on_cpu()


def load_vllm() -> None:
    """Patch vLLM for the CPU stack; be ready to say where a hung engine hangs."""
    stacks.register()
    if is_cpu_selected():
        patches.install_for_vllm_on_cpu()
