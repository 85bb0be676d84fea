#!/usr/bin/env bash
# verl 0.9.1: the gradient of GMPO (geo_mean) is as many times too large as there are micro-batches; Clip-Cov with one
# response to a micro-batch leaves out no token, and KL-Cov penalizes any.
#
# Guessed: how a mini-batch is split into micro-batches is a matter of memory, as agg_loss says ("invariant to fsdp/megatron
# parallelism"); clip_cov and kl_cov choose the configured share of tokens, among those of large covariance.
# Seen (2026-11-30, verl 0.9.1, torch 2.13.0; verl's own splitting and ppo_loss, settings as delivered, a mini-batch of 64
# responses of 400 tokens with one advantage each, as of GRPO): geo_mean takes the mean over each micro-batch, and the means
# are summed. The terms for entropy and for the KL divergence are not multiplied, and so lose weight against it; clipped
# gradients and Adam hide the rest. Both covariances are calculated within a micro-batch, and at least one token of each is
# chosen: 64 in place of 5 where micro-batches are small. Within one response all advantages, and so all covariances, are the
# same but for rounding: clip_cov then is the plain loss of PPO, and kl_cov holds back a token of each response by chance.
# Use gspo for geo_mean; for the other two take micro-batches of many responses, and compare runs with the same split only.
# gspo, sapo, gpg, cispo, dro and dppo_* do not change.
#
#   64 responses of 400 tokens, in micro-batches of 64 16 4 1
#   vanilla, norm: 1.00 1.00 1.00 1.00
#   geo_mean, norm: 1.00 4.00 16.00 64.00
#   clip_cov, tokens left out: 5 4 13 0
#   kl_cov, tokens penalized: 5 4 16 64
#   kl_cov, of those the ones of a single micro-batch: 5 1 1 0
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile verl==0.9.1 torch==2.13.0 ray==2.60.0 \
  TransferQueue==0.1.11 transformers==5.10.4 tensordict==0.10.0 cachetools==8.0.0 fastapi==0.165.0 uvicorn==0.54.0
cat >"$folder/split.py" <<'PYTHON'
import logging
import sys

import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu
from verl.workers.config import FSDPActorConfig
from verl.workers.config.actor import PolicyLossConfig
from verl.workers.engine.utils import prepare_micro_batches
from verl.workers.utils.losses import ppo_loss

logging.disable()
PROMPT, RESPONSES, LENGTH = 3, 64, 400
SIZES = (64, 16, 4, 1)
TOKENS = RESPONSES * LENGTH


def nested(rows):
    return torch.nested.as_nested_tensor(list(rows), layout=torch.jagged)


torch.manual_seed(0)
ADVANTAGES = torch.randn(RESPONSES, 1).expand(-1, LENGTH)
OLD = -torch.rand(RESPONSES, LENGTH).mul(4)
NEW = OLD + torch.randn(RESPONSES, LENGTH).mul(0.01)


def gradient(loss, size):
    """The gradient of a mini-batch with regard to the log-probabilities, with `size` responses to a micro-batch."""
    config = FSDPActorConfig(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=size, policy_loss=PolicyLossConfig(loss_mode=loss)
    )
    log_probs = torch.cat([torch.zeros(RESPONSES, PROMPT - 1), NEW, torch.zeros(RESPONSES, 1)], 1).requires_grad_()
    responses = {"old_log_probs": OLD, "advantages": ADVANTAGES, "response_mask": torch.ones(RESPONSES, LENGTH)}
    rows = {name: nested(values) for name, values in responses.items()}
    rows["responses"] = nested(torch.zeros(RESPONSES, LENGTH, dtype=torch.long))
    rows["prompts"] = nested(torch.zeros(RESPONSES, PROMPT, dtype=torch.long))
    rows["row"] = torch.arange(RESPONSES)
    data = TensorDict(rows, batch_size=[RESPONSES])
    tu.assign_non_tensor(data, use_dynamic_bsz=False, micro_batch_size_per_gpu=size)
    tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=TOKENS, global_batch_size=RESPONSES)
    for micro_batch in prepare_micro_batches(data)[0]:
        ppo_loss(config, {"log_probs": nested(log_probs[micro_batch["row"]])}, micro_batch)[0].backward()
    return log_probs.grad[:, PROMPT - 1 : -1]


found = []
for loss in ("vanilla", "geo_mean"):
    norms = [gradient(loss, size).norm() for size in SIZES]
    found.append(f"{loss}, norm: " + " ".join(f"{norm / norms[0]:.2f}" for norm in norms))
plain = gradient("vanilla", RESPONSES)
for loss, chosen in (("clip_cov", "left out"), ("kl_cov", "penalized")):
    changed = [(gradient(loss, size) - plain).abs() > 1e-9 for size in SIZES]
    counts = [int(tokens.sum()) for tokens in changed]
    shared = [int((tokens & changed[0]).sum()) for tokens in changed]
    found.append(f"{loss}, tokens {chosen}: " + " ".join(map(str, counts)))
    if loss == "kl_cov":
        found.append("kl_cov, of those the ones of a single micro-batch: " + " ".join(map(str, shared)))
SEEN = """\
vanilla, norm: 1.00 1.00 1.00 1.00
geo_mean, norm: 1.00 4.00 16.00 64.00
clip_cov, tokens left out: 5 4 13 0
kl_cov, tokens penalized: 5 4 16 64
kl_cov, of those the ones of a single micro-batch: 5 1 1 0"""
print(f"{RESPONSES} responses of {LENGTH} tokens, in micro-batches of", *SIZES)
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/split.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
