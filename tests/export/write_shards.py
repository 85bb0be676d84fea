"""One rank that trains a step and saves, started by conftest.py as a real process: verl's FSDP2 and its checkpoints.

Beside each checkpoint, rank 0 writes what it should hold: the logits of the sharded model, and its weights as torch's
own collectives gather them.
"""

import sys
from pathlib import Path

import torch
import verl  # noqa: F401 (loads the plugin)
from omegaconf import OmegaConf
from torch.distributed.fsdp import MixedPrecisionPolicy
from transformers import AutoModelForCausalLM, AutoTokenizer
from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager
from verl.utils.fsdp_utils import apply_fsdp2, fsdp2_load_full_state_dict
from verl.workers.engine.fsdp.utils import create_device_mesh


def train_and_save(base: Path, run: Path, step: int, fsdp_size: int) -> None:
    mesh = create_device_mesh(torch.distributed.get_world_size(), fsdp_size)
    model = AutoModelForCausalLM.from_pretrained(base, attn_implementation="sdpa")
    full_state = model.state_dict()
    apply_fsdp2(model, {"mesh": mesh, "mp_policy": MixedPrecisionPolicy(), "reshard_after_forward": True}, {})
    fsdp2_load_full_state_dict(model, full_state, mesh, None)

    tokens = torch.arange(5, 65).reshape(3, 20)
    model(tokens, labels=tokens).loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    with torch.no_grad():
        logits = model(tokens).logits

    # verl's own copy in bfloat16, which must not get into an export.
    contents = {"save_contents": ["model", "hf_model"], "load_contents": ["model"]}
    manager = FSDPCheckpointManager(
        model, processing_class=AutoTokenizer.from_pretrained(base), checkpoint_config=OmegaConf.create(contents)
    )
    manager.save_checkpoint(str(run / "checkpoints" / f"global_step_{step}" / "actor"), global_step=step)
    weights = {name: part.full_tensor() for name, part in model.state_dict().items()}
    if torch.distributed.get_rank() == 0:
        torch.save({"tokens": tokens, "logits": logits, "weights": weights}, run / "truth.pt")


def main() -> None:
    torch.distributed.init_process_group("gloo")
    step, fsdp_size = int(sys.argv[1]), int(sys.argv[2])
    for pair in sys.argv[3:]:
        base, run = map(Path, pair.split(":"))
        train_and_save(base, run, step, fsdp_size)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
