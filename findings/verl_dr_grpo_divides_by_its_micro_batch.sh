#!/usr/bin/env bash
# verl 0.9.1: Dr. GRPO's loss (seq-mean-token-sum-norm) divides each micro-batch by its longest response; with one response to
# a micro-batch it is seq-mean-token-mean, the bias by length that Dr. GRPO takes out.
#
# Guessed: without loss_scale_factor every token's loss is divided by the same number, as the comment in actor.yaml says ("if
# null, uses response_length"), however the mini-batch is split.
# Seen (2026-11-30, verl 0.9.1, torch 2.13.0; verl's own splitting and ppo_loss on rows of their own lengths, as the V1
# trainer's workers get them): the number is the width of the micro-batch's padded rows, the length of its longest response.
# So a token counts the more the shorter the responses beside it are. With ppo_micro_batch_size_per_gpu=1 the gradient is
# that of seq-mean-token-mean. With use_dynamic_bsz, which packs by length, it lies between the two, and changes with the
# number of GPUs and the limit of tokens. Set loss_scale_factor to data.max_response_length.
#
#   weight of a token in responses of 4 4 16 16 8 8 4 16 tokens:
#   one micro-batch: 2.0 2.0 2.0 2.0 2.0 2.0 2.0 2.0
#   micro-batches of 2: 8.0 8.0 2.0 2.0 4.0 4.0 2.0 2.0
#   by 24 tokens: 4.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
#   micro-batches of 1: 8.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
#   seq-mean-token-mean, one micro-batch: 8.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
#   loss_scale_factor=32, one micro-batch: 1.0 1.0 1.0 1.0 1.0 1.0 1.0 1.0
#   seq-mean-token-mean, micro-batches of 1: 8.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
#   loss_scale_factor=32, micro-batches of 1: 1.0 1.0 1.0 1.0 1.0 1.0 1.0 1.0
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile verl==0.9.1 torch==2.13.0 ray==2.60.0 \
  TransferQueue==0.1.11 transformers==5.10.4 tensordict==0.10.0 cachetools==8.0.0 fastapi==0.165.0 uvicorn==0.54.0
cat >"$folder/norm.py" <<'PYTHON'
import logging
import sys

import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu
from verl.workers.config import FSDPActorConfig
from verl.workers.engine.utils import prepare_micro_batches
from verl.workers.utils.losses import ppo_loss

logging.disable()
LENGTHS = [4, 4, 16, 16, 8, 8, 4, 16]
PROMPT, LIMIT = 3, 32
SPLITS = {
    "one micro-batch": {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": 8},
    "micro-batches of 2": {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": 2},
    "by 24 tokens": {"use_dynamic_bsz": True, "max_token_len_per_gpu": 24},
    "micro-batches of 1": {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": 1},
}


def nested(rows):
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def mini_batch():
    """A mini-batch as the V1 trainer's workers get it: rows of their own lengths."""
    of_responses = {
        "responses": torch.zeros(sum(LENGTHS), dtype=torch.long),
        "response_mask": torch.ones(sum(LENGTHS), dtype=torch.long),
        "old_log_probs": torch.full([sum(LENGTHS)], -1.0),
        "advantages": torch.ones(sum(LENGTHS)),
    }
    rows = {name: nested(list(values.split(LENGTHS))) for name, values in of_responses.items()}
    rows["prompts"] = nested([torch.zeros(PROMPT, dtype=torch.long) for _ in LENGTHS])
    rows["input_ids"] = nested([torch.zeros(PROMPT + length, dtype=torch.long) for length in LENGTHS])
    rows["row"] = torch.arange(len(LENGTHS))
    return TensorDict(rows, batch_size=[len(LENGTHS)])


def weights(aggregation, split, scale=None):
    """Each response's gradient with regard to the log-probability of one of its tokens, summed over the micro-batches."""
    config = FSDPActorConfig(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, loss_agg_mode=aggregation, loss_scale_factor=scale
    )
    log_probs = [torch.full([PROMPT + length], -1.0, requires_grad=True) for length in LENGTHS]
    data = mini_batch()
    tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=sum(LENGTHS), global_batch_size=len(LENGTHS), **split)
    for micro_batch in prepare_micro_batches(data)[0]:
        output = {"log_probs": nested([log_probs[row] for row in micro_batch["row"].tolist()])}
        ppo_loss(config, output, micro_batch)[0].backward()
    return [-row.grad[PROMPT].item() for row in log_probs]


def shown(values):
    """In units of 1/8/LIMIT: what Dr. GRPO gives each token."""
    return " ".join(f"{value * len(LENGTHS) * LIMIT:.1f}" for value in values)


found = []
for name, split in SPLITS.items():
    found.append(f"{name}: {shown(weights('seq-mean-token-sum-norm', split))}")
for name in ("one micro-batch", "micro-batches of 1"):
    found.append(f"seq-mean-token-mean, {name}: {shown(weights('seq-mean-token-mean', SPLITS[name]))}")
    found.append(f"loss_scale_factor={LIMIT}, {name}: {shown(weights('seq-mean-token-sum-norm', SPLITS[name], LIMIT))}")
SEEN = """\
one micro-batch: 2.0 2.0 2.0 2.0 2.0 2.0 2.0 2.0
micro-batches of 2: 8.0 8.0 2.0 2.0 4.0 4.0 2.0 2.0
by 24 tokens: 4.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
micro-batches of 1: 8.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
seq-mean-token-mean, one micro-batch: 8.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
loss_scale_factor=32, one micro-batch: 1.0 1.0 1.0 1.0 1.0 1.0 1.0 1.0
seq-mean-token-mean, micro-batches of 1: 8.0 8.0 2.0 2.0 4.0 4.0 8.0 2.0
loss_scale_factor=32, micro-batches of 1: 1.0 1.0 1.0 1.0 1.0 1.0 1.0 1.0"""
print("weight of a token in responses of", *LENGTHS, "tokens:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/norm.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
