#!/usr/bin/env bash
# transformers 5.10.4, torch 2.13.0: the classes in a model's `_no_split_modules` may be nested, and layers of one class may
# share weights: FSDP2 then cannot shard "each module of these classes".
#
# Guessed: `_no_split_modules` names a model's repeated layers. They are disjoint, so sharding each of them (as trainers do,
# with fully_shard) covers every weight once, in any order.
# Seen (2026-11-28, CPU, gloo, one process; models of random weights): in Aria's text model an experts' module is part of the
# decoder layer, and both are named. In Zamba and Zamba2 a Mamba layer occurs alone and as a part of a hybrid layer, and
# hybrid layers share a transformer. Sharded from the outside in (the order of `named_modules`), Aria fails in its forward
# pass, where a shard meets an unsharded tensor. From the inside out, as torch's documentation recommends, Aria works. Zamba
# and Zamba2 work in neither order (a shared weight has two owners), but do with the Mamba layer's class alone.
#
#   llama: outside in works, inside out works
#   aria_text: outside in RuntimeError, inside out works, AriaTextDecoderLayer alone works
#   zamba: outside in ValueError, inside out ValueError, ZambaMambaDecoderLayer alone works
#   zamba2: outside in ValueError, inside out ValueError, Zamba2MambaDecoderLayer alone works
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 numpy
cat >"$folder/layers.py" <<'PYTHON'
import sys

import torch
from torch.distributed.fsdp import fully_shard
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_key_value_heads": 2,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}
HYBRID = {"num_hidden_layers": 4, "attention_head_dim": 32, "use_mamba_kernels": False, "use_cache": False}
MORE = {
    "llama": {"num_hidden_layers": 2},
    "aria_text": {"num_hidden_layers": 2, "moe_num_experts": 4, "moe_topk": 2, "moe_num_shared_experts": 1},
    "zamba": HYBRID | {"mamba_dt_rank": 4, "layers_block_type": ["mamba", "hybrid"] * 2},
    "zamba2": HYBRID | {
        "mamba_d_state": 8, "n_mamba_heads": 2, "mamba_headdim": 32, "mamba_ngroups": 1, "num_mem_blocks": 1,
        "layers_block_type": ["mamba", "hybrid"] * 2,
    },
}
ALONE = {"aria_text": "AriaTextDecoderLayer", "zamba": "ZambaMambaDecoderLayer", "zamba2": "Zamba2MambaDecoderLayer"}
SEEN = {
    "llama": "outside in works, inside out works",
    "aria_text": "outside in RuntimeError, inside out works, AriaTextDecoderLayer alone works",
    "zamba": "outside in ValueError, inside out ValueError, ZambaMambaDecoderLayer alone works",
    "zamba2": "outside in ValueError, inside out ValueError, Zamba2MambaDecoderLayer alone works",
}


def outcome(kind, classes, inside_out):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES, **MORE[kind])).eval()
    tokens = torch.arange(3, 15)[None]
    expected = model(tokens, use_cache=False).logits
    layers = [module for module in model.modules() if type(module).__name__ in (classes or model._no_split_modules)]
    try:
        for layer in layers[::-1] if inside_out else layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        found = model(tokens, use_cache=False).logits
    except (RuntimeError, ValueError) as error:
        return type(error).__name__
    return "works" if torch.allclose(found, expected, atol=1e-5) else "other numbers"


torch.set_grad_enabled(False)
torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
mesh = torch.distributed.init_device_mesh("cpu", (1,), mesh_dim_names=("shard",))
changed = False
for kind, seen in SEEN.items():
    said = [f"outside in {outcome(kind, None, False)}", f"inside out {outcome(kind, None, True)}"]
    if kind in ALONE:
        said.append(f"{ALONE[kind]} alone {outcome(kind, [ALONE[kind]], False)}")
    print(f"{kind}: {', '.join(said)}")
    changed |= ", ".join(said) != seen
torch.distributed.destroy_process_group()
sys.exit("this has changed" if changed else 0)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/layers.py" 2>&1 | grep -v '^\[transformers\]'
