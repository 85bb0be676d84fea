#!/usr/bin/env bash
# verl 0.9.1: where the last token of a response is masked, GAE, REINFORCE++, ReMax and the optimal token baselines lose its
# reward, and a right response is trained as a wrong one. GRPO, RLOO and OPO keep it.
#
# Guessed: a mask says which tokens are trained; the response's reward reaches those whatever the estimator.
# Seen (2026-11-30, verl 0.9.1, torch 2.13.0; verl's rejection and compute_advantage, 4 responses of 4 tokens, rewards 1 0 1
# 0, all values 0): verl puts the reward on a response's last token. rollout_correction.rollout_rs=token_k1 (also k2, k3)
# takes a token out of the mask where the two engines disagree, before advantages are calculated. If that is the last one,
# as a rule the end of sequence, the five estimators multiply its reward by 0, and the right response gets the advantage of
# the wrong one. The logged score is still 1. An agent loop whose rows end in an observation has the same: verl's own ends
# in the model's turn. Reject by responses (seq_*), or weigh tokens by rollout_is="0.5_5.0" in place of rejecting them.
#
#   advantage of the first token with reward 1 and with 0; then, if the former's last token is rejected:
#   grpo: 0.87 -0.87; 0.87 -0.87
#   rloo: 0.67 -0.67; 0.67 -0.67
#   opo: 0.50 -0.50; 0.53 -0.47
#   reinforce_plus_plus_baseline: 0.97 -0.97; 1.03 -0.90
#   gae: 0.97 -0.97; -0.58 -0.58
#   reinforce_plus_plus: 0.97 -0.97; -0.58 -0.58
#   remax: 0.50 -0.50; -0.50 -0.50
#   optimal_token_baseline: 0.50 -0.50; -0.14 -0.14
#   tir_optimal_token_baseline: 0.50 -0.50; -0.14 -0.14
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile verl==0.9.1 torch==2.13.0 ray==2.60.0 \
  TransferQueue==0.1.11 transformers==5.10.4 tensordict==0.10.0 cachetools==8.0.0 fastapi==0.165.0 uvicorn==0.54.0
cat >"$folder/rewards.py" <<'PYTHON'
import logging
import sys

import numpy as np
import torch
from verl import DataProto
from verl.trainer.config import AlgoConfig, RolloutCorrectionConfig
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_add_to_batch

logging.disable()
ESTIMATORS = (
    "grpo", "rloo", "opo", "reinforce_plus_plus_baseline", "gae", "reinforce_plus_plus", "remax",
    "optimal_token_baseline", "tir_optimal_token_baseline",
)
CORRECTION = RolloutCorrectionConfig(rollout_rs="token_k1", rollout_rs_threshold="0.5_2.0")


def advantages(estimator, rejected):
    """Of the first token of two responses, with rewards 1 and 0."""
    log_probs, sampled, rewards = torch.full([4, 4], -1.0), torch.full([4, 4], -1.0), torch.zeros(4, 4)
    rewards[0, -1] = rewards[2, -1] = 1
    if rejected:
        sampled[0, -1] = -4
    tensors = {
        "token_level_rewards": rewards,
        "response_mask": torch.ones(4, 4),
        "old_log_probs": log_probs,
        "rollout_log_probs": sampled,
        "values": torch.zeros(4, 4),
        "sum_pi_squared": torch.full([4, 4], 0.3),
    }
    if estimator == "remax":
        tensors["reward_baselines"] = torch.full([4], 0.5)
    batch = DataProto.from_dict(tensors, {"uid": np.array(["prompt"] * 4, dtype=object)})
    batch, _ = compute_rollout_correction_and_add_to_batch(batch, CORRECTION)
    assert int(batch.batch["response_mask"].sum()) == 16 - rejected
    found = compute_advantage(batch, estimator, config=AlgoConfig(adv_estimator=estimator)).batch["advantages"]
    return " ".join(f"{value:.2f}" for value in found[:2, 0].tolist())


SEEN = """\
grpo: 0.87 -0.87; 0.87 -0.87
rloo: 0.67 -0.67; 0.67 -0.67
opo: 0.50 -0.50; 0.53 -0.47
reinforce_plus_plus_baseline: 0.97 -0.97; 1.03 -0.90
gae: 0.97 -0.97; -0.58 -0.58
reinforce_plus_plus: 0.97 -0.97; -0.58 -0.58
remax: 0.50 -0.50; -0.50 -0.50
optimal_token_baseline: 0.50 -0.50; -0.14 -0.14
tir_optimal_token_baseline: 0.50 -0.50; -0.14 -0.14"""
found = "\n".join(f"{name}: {advantages(name, False)}; {advantages(name, True)}" for name in ESTIMATORS)
print("advantage of the first token with reward 1 and with 0; then, if the former's last token is rejected:")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/rewards.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
