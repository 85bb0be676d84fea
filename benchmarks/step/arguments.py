"""The options that say how a model is laid out, shared by the benchmarks of a step."""

import argparse
from importlib.util import find_spec

#: What `--attn` says -> transformers' name.
ATTENTION = {"flash": "flash_attention_2", "sdpa": "sdpa"}
HEADS = ("model", "torch", "triton")


#: What --attn and --head are, for their help.
ATTENTION_HELP = "flash-attn, or torch's, whose mask is dense over a micro-batch (default: flash; on the CPU sdpa)"
HEAD_HELP = "log-probabilities from the model's logits, or verl's fused ones by one of their backends"


def choose_layout(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Fill in the attention of the device, and refuse what the machine cannot run. Fills in one head, not several."""
    cpu = arguments.device == "cpu"
    arguments.attn = arguments.attn or ("sdpa" if cpu else "flash")
    if arguments.head is None:
        arguments.head = "model" if cpu else "torch"
    if cpu and arguments.attn == "flash":
        parser.error("--attn flash: flash-attn runs on GPUs alone; set --attn sdpa")
    if cpu and "triton" in arguments.head:
        parser.error("--head triton: verl's kernels run on GPUs alone; set --head torch")
    if arguments.attn == "flash" and find_spec("flash_attn") is None:
        parser.error("flash-attn is not installed: add --attn sdpa, or make the environment (scripts/setup_gpu.sh)")
