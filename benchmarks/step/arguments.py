"""The options that say how a model is laid out, shared by the benchmarks of a step."""

import argparse
from importlib.util import find_spec

#: What `--attn` says -> transformers' name.
ATTENTION = {"flash": "flash_attention_2", "sdpa": "sdpa"}
HEADS = ("model", "torch", "triton")


def add_layout(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add --attn and --head."""
    parser.add_argument(
        "--attn",
        choices=[*ATTENTION],
        help="flash-attn, or torch's, whose mask is dense over a micro-batch (default: flash; on the CPU sdpa)",
    )
    parser.add_argument(
        "--head",
        choices=HEADS,
        nargs="+" if several else None,
        help="log-probabilities from the model's logits, or verl's fused ones by one of their backends "
        f"(default: {'torch and triton' if several else 'torch'}; on the CPU {'torch' if several else 'model'})",
    )


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
