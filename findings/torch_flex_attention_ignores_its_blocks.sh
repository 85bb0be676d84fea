#!/usr/bin/env bash
# torch 2.13.0: flex_attention without torch.compile ignores the blocks of a BlockMask: with one that was made from a list of
# blocks (BlockMask.from_kv_blocks) and has no mask_mod, every token sees every other one, later ones and other documents too.
#
# Guessed: flex_attention attends to what the block mask lists, compiled or not; the documentation calls the latter slower.
# Seen (2026-11-30, torch 2.13.0, CPU, 256 tokens in two blocks of 128): the mask lists the two blocks on the diagonal, and
# to_dense() shows that. Uncompiled, the output is that of attention without a mask: it goes by the mask_mod alone, which
# from_kv_blocks fills with one that allows everything. Compiled, the same call is attention within the blocks (seen once in the
# same version, with g++). So a model with block-sparse attention whose blocks are chosen by a router or a list of documents
# has other logits, log-probabilities and losses where it is not compiled (a test, a debugger, an evaluation, a reference): there
# it reads the future. The warning that comes with an uncompiled call speaks of memory. With a mask_mod that says the same as
# the blocks, both agree: pass mask_mod to from_kv_blocks, or use create_block_mask.
#
#   blocks in the mask: [[1, 0], [0, 1]]
#   from_kv_blocks: differs from attention within the blocks by 0.615, from attention to all by 0.000
#   from_kv_blocks with a mask_mod: differs from attention within the blocks by 0.000, from attention to all by 0.615
#   create_block_mask: differs from attention within the blocks by 0.000, from attention to all by 0.615
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy
cat >"$folder/blocks.py" <<'PYTHON'
import sys
import warnings

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

warnings.simplefilter("ignore")
LENGTH, BLOCK = 256, 128
SEEN = """\
blocks in the mask: [[1, 0], [0, 1]]
from_kv_blocks: differs from attention within the blocks by 0.615, from attention to all by 0.000
from_kv_blocks with a mask_mod: differs from attention within the blocks by 0.000, from attention to all by 0.615
create_block_mask: differs from attention within the blocks by 0.000, from attention to all by 0.615"""


def same_block(batch, head, query, key):
    return query // BLOCK == key // BLOCK


torch.manual_seed(0)
query, key, value = (torch.randn(1, 2, LENGTH, 16) for _ in range(3))
numbers = torch.arange(LENGTH) // BLOCK
within = scaled_dot_product_attention(query, key, value, attn_mask=numbers[:, None] == numbers)
to_all = scaled_dot_product_attention(query, key, value)

counts = torch.tensor([[[1, 1]]], dtype=torch.int32)  # one block for each block of queries
indices = torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32)  # its own
masks = {
    "from_kv_blocks": BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=BLOCK),
    "from_kv_blocks with a mask_mod": BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=BLOCK, mask_mod=same_block),
    "create_block_mask": create_block_mask(same_block, None, None, LENGTH, LENGTH, device="cpu", BLOCK_SIZE=BLOCK),
}
lines = [f"blocks in the mask: {masks['from_kv_blocks'].to_dense()[0, 0].tolist()}"]
for name, mask in masks.items():
    found = flex_attention(query, key, value, block_mask=mask)
    lines.append(
        f"{name}: differs from attention within the blocks by {(found - within).abs().max():.3f}, "
        f"from attention to all by {(found - to_all).abs().max():.3f}"
    )
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/blocks.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
