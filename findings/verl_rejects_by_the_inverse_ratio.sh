#!/usr/bin/env bash
# verl 0.9.1: the bounds of rollout_rs=token_k1, seq_mean_k1 and seq_sum_k1 are those of the rollout's probability over the
# training's; those of rollout_is are of the training's over the rollout's.
#
# Guessed: rollout_rs_threshold="0.5_5.0" keeps tokens whose ratio, the training engine's probability over the rollout's, is
# between 0.5 and 5, as rollout_is_threshold="0.5_5.0" (IcePop) does; both are called bounds of the ratio.
# Seen (2026-11-30, verl 0.9.1, torch 2.13.0): the ratio is the inverse. "0.5_5.0" keeps 0.2 to 2: tokens that the training
# engine finds five times less likely stay, and those from 2 to 5 go, the wrong side of a band that is wider above. So a band
# copied from IcePop, or from a run with rollout_is, rejects other tokens, in responses of another kind. Bands that are their
# own inverse (0.5_2.0, or a single number) hide it. Write "0.2_2.0" for ratios of 0.5 to 5.
#
#   ratio of training to rollout: 0.1 0.3 0.6 1.0 1.5 3.0 8.0
#   rollout_is=token, 0.5_5.0: keeps 0.6 1.0 1.5 3.0
#   rollout_rs=token_k1, 0.5_5.0: keeps 0.3 0.6 1.0 1.5
#   rollout_rs=seq_mean_k1, 0.5_5.0: keeps 0.3 0.6 1.0 1.5
#   rollout_rs=seq_sum_k1, 0.5_5.0: keeps 0.3 0.6 1.0 1.5
#   rollout_rs=token_k1, 0.2_2.0: keeps 0.6 1.0 1.5 3.0
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile verl==0.9.1 torch==2.13.0 ray==2.60.0 \
  TransferQueue==0.1.11 transformers==5.10.4 tensordict==0.10.0 cachetools==8.0.0 fastapi==0.165.0 uvicorn==0.54.0
cat >"$folder/ratios.py" <<'PYTHON'
import logging
import sys

import torch
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_rejection_mask

logging.disable()
RATIOS = [0.1, 0.3, 0.6, 1.0, 1.5, 3.0, 8.0]


def kept(mode, threshold, **settings):
    """The ratios that stay, each that of a response of one token."""
    of_rollout = torch.full([len(RATIOS), 1], -5.0)
    of_training = of_rollout + torch.tensor(RATIOS).log().unsqueeze(1)
    weights, mask, _ = compute_rollout_correction_and_rejection_mask(
        of_training, of_rollout, torch.ones(len(RATIOS), 1), **settings
    )
    stays = mask if weights is None else weights.batch["rollout_is_weights"]
    values = " ".join(str(ratio) for ratio, weight in zip(RATIOS, stays.flatten().tolist(), strict=True) if weight)
    return f"{mode}, {threshold}: keeps {values}"


found = [kept("rollout_is=token", "0.5_5.0", rollout_is="token", rollout_is_threshold="0.5_5.0")]
for mode, threshold in (
    ("token_k1", "0.5_5.0"), ("seq_mean_k1", "0.5_5.0"), ("seq_sum_k1", "0.5_5.0"), ("token_k1", "0.2_2.0")
):
    found.append(kept(f"rollout_rs={mode}", threshold, rollout_rs=mode, rollout_rs_threshold=threshold))
SEEN = """\
rollout_is=token, 0.5_5.0: keeps 0.6 1.0 1.5 3.0
rollout_rs=token_k1, 0.5_5.0: keeps 0.3 0.6 1.0 1.5
rollout_rs=seq_mean_k1, 0.5_5.0: keeps 0.3 0.6 1.0 1.5
rollout_rs=seq_sum_k1, 0.5_5.0: keeps 0.3 0.6 1.0 1.5
rollout_rs=token_k1, 0.2_2.0: keeps 0.6 1.0 1.5 3.0"""
print("ratio of training to rollout:", *RATIOS)
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/ratios.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
