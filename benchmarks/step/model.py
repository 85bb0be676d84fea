"""A Qwen3 of random weights, written to a folder, and a description of the machine that trains it."""

import math
import os
import re
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from pacs.planning.architecture import Architecture

#: Standard deviation of the logits, about as wide as a trained model's: what 16 bits round away depends on it.
LOGITS = 5.0


def save_model(shape: Architecture, folder: Path, device: str, seed: int) -> int:
    """Write a model of random weights; returns the number of its parameters.

    Args:
        shape: of the model.
        folder: to write to.
        device: cpu: float32 weights; cuda: bf16 ones, made there.
        seed: of the weights.
    """
    # Seconds to import, which an option that is refused is not to wait for.
    from transformers import AutoModelForCausalLM, Qwen3Config
    from transformers.utils import logging

    config = Qwen3Config(
        **asdict(shape),
        max_position_embeddings=40960,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(seed)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    torch.nn.init.constant_(model.model.norm.weight, LOGITS / (config.initializer_range * math.sqrt(shape.hidden_size)))
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    parameters: int = model.num_parameters()
    del model
    if device == "cuda":
        torch.cuda.empty_cache()  # for the children
    return parameters


def describe_machine(device: str) -> dict[str, Any]:
    """What it ran on."""
    about: dict[str, Any] = {}
    if device == "cuda":
        memory = torch.cuda.get_device_properties(0).total_memory
        about = {"device": torch.cuda.get_device_name(), "memory_bytes": memory, "cuda": torch.version.cuda}
    else:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        about["device"] = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0))
    return about | {"cores": cores, "torch": torch.__version__, "transformers": version("transformers")}


def machine_slug(machine: dict[str, Any]) -> str:
    """The device's name as a folder's."""
    return re.sub(r"[^a-z0-9]+", "-", machine["device"].lower()).strip("-")
