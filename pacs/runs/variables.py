"""Variables of the environment, left by a cluster or by another program, with which a run ends or hangs."""

import os
from collections.abc import Iterator

#: Of one that is set and not empty, what comes of it.
BREAKING = {
    "ROCR_VISIBLE_DEVICES": (
        "verl's worker refuses it beside CUDA_VISIBLE_DEVICES, which Ray sets; Slurm sets both for a GPU of gres.conf "
        "without Flags= (scripts/slurm/node.sh unsets it)"
    ),
    "HIP_VISIBLE_DEVICES": (
        "verl's worker asks that CUDA_VISIBLE_DEVICES be the same, which Ray sets to the one device of each worker"
    ),
}
#: Of verl and of vLLM, which plugins they load: each loads all of them where it is not set, verl also with `auto`.
PLUGINS = ("VERL_USE_EXTERNAL_PLUGINS", "VLLM_PLUGINS")
#: torchrun's word to its processes, when it says so.
AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE"


def variable_problems() -> Iterator[str]:
    """A sentence for each variable of this process's environment that is to be unset."""
    for name, effect in BREAKING.items():
        if value := os.environ.get(name):
            yield f"{name}={value} is set: {effect}: unset {name}."
    if os.environ.get(AGENT_STORE) == "True":
        effect = "each training rank would wait for a store of torchrun's, which is not there, until its time is over"
        yield f"{AGENT_STORE}=True is set: {effect}: unset {AGENT_STORE}, or start this without torchrun."
    for name in PLUGINS:
        if (value := os.environ.get(name)) is not None and not _loads_ours(name, value):
            effect = "the run's processes would do without PACS's plugin, some of them alone, and wait for each other"
            yield f"{name}={value} is set: {effect}: unset {name}, or add pacs to it."
    if "://" in (port := os.environ.get("VLLM_PORT", "")):
        effect = "vLLM takes it for a port, and Kubernetes has made it of a service called vllm"
        yield f"VLLM_PORT={port} is set: {effect}: unset VLLM_PORT."


def _loads_ours(name: str, value: str) -> bool:
    named = value.split(",")
    if name == "VLLM_PLUGINS":  # which vLLM takes with their spaces
        return "pacs" in named
    return value.strip().lower() == "auto" or "pacs" in [each.strip().lower() for each in named]


def ray_variable_problems() -> Iterator[str]:
    """A sentence where a Ray of this machine's own would put its sockets and logs below the folder that we are in."""
    name = next((name for name in ("RAY_TMPDIR", "TMPDIR") if name in os.environ), "")
    if name and not os.environ[name].startswith("/"):
        effect = "Ray takes it for the folder of its sockets and logs, which would be one below this folder"
        yield f"{name}={os.environ[name]} is set: {effect}: unset {name}, or name a folder in full."


def cpu_variable_problems() -> Iterator[str]:
    """A sentence for each variable that is to be unset where vLLM's engines compute on a CPU."""
    if os.environ.get("VLLM_BATCH_INVARIANT", "0") not in ("", "0"):
        yield "VLLM_BATCH_INVARIANT is set: vLLM's engine dies on a CPU of its kernels, which are for GPUs: unset it."
