#!/usr/bin/env bash
# torchtune 0.6.1: PPO's whitened advantages keep their mean: with rewards of 10 and 9 it pushes the worse responses up as well,
# and with rewards of -1 and -2 it pushes the better ones down.
#
# Guessed: advantages that are whitened have a mean of 0 and a spread of 1, so that what all rewards have in common, or what the
# critic is off by, changes nothing.
# Seen (2026-11-30, torchtune 0.6.1, torch 2.13.0; its own rewards and advantages, ten responses of four tokens, no KL term, a
# critic that says 0 or 0.5): rlhf.whiten takes the mean off and, with its default of shift_mean=True, adds it again, and
# estimate_advantages, which the PPO recipe calls, leaves it at that. The spread is 1, and the mean is that of the raw
# advantages: what the critic is off by. Until the critic has learned the level of the rewards, every sampled token gets
# likelier, or less likely, whatever the response was worth. With the recipe's default penalty of -3 for a missing end,
# responses that have an end and a reward of 0 are pushed down, too. (verl's masked_whiten adds it where the argument is False.)
# Take the mean off yourself: advantages - rlhf.masked_mean(advantages, mask).
#
#   rewards, critic: advantages of the better and of the worse response, their mean
#   10 and 9, 0.0: 10.5 and 8.5, 9.5
#   -1 and -2, 0.0: -0.5 and -2.5, -1.5
#   0 and -3, 0.0: -0.5 and -2.5, -1.5
#   1 and 0, 0.0: 1.5 and -0.5, 0.5
#   1 and 0, 0.5: 1.0 and -1.0, 0.0
#   10 and 9, 0.0, shift_mean=False: 1.0 and -1.0, 0.0
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy torchtune==0.6.1
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps torchao==0.10.0
cat >"$folder/advantages.py" <<'PYTHON'
import sys

import torch
from torchtune import rlhf

TOKENS = 4
CASES = [((10, 9), 0.0), ((-1, -2), 0.0), ((0, -3), 0.0), ((1, 0), 0.0), ((1, 0), 0.5)]


def advantages(better, worse, critic):
    """The advantages of five better and five worse responses, as the PPO recipe computes them."""
    scores = torch.tensor([float(better)] * 5 + [float(worse)] * 5)
    same = torch.zeros(10, TOKENS)
    rewards, _, _ = rlhf.get_rewards_ppo(scores, same, same, 0.0, torch.full((10,), TOKENS - 1))
    values = torch.full((10, TOKENS), critic)
    found, _ = rlhf.estimate_advantages(values, rewards, 1.0, 1.0, torch.ones(10, TOKENS, dtype=torch.bool))
    return found


def row(found):
    better, worse, mean = (round(number.item(), 1) + 0.0 for number in (found[0, -1], found[-1, -1], found.mean()))
    return f"{better} and {worse}, {mean}"


lines = [f"{better} and {worse}, {critic}: {row(advantages(better, worse, critic))}" for (better, worse), critic in CASES]
raw = torch.tensor([10.0] * 5 + [9.0] * 5)[:, None].expand(-1, TOKENS)
lines.append(f"10 and 9, 0.0, shift_mean=False: {row(rlhf.whiten(raw, torch.ones(10, TOKENS).bool(), shift_mean=False))}")
print("rewards, critic: advantages of the better and of the worse response, their mean")
print("\n".join(lines))
SEEN = """\
10 and 9, 0.0: 10.5 and 8.5, 9.5
-1 and -2, 0.0: -0.5 and -2.5, -1.5
0 and -3, 0.0: -0.5 and -2.5, -1.5
1 and 0, 0.0: 1.5 and -0.5, 0.5
1 and 0, 0.5: 1.0 and -1.0, 0.0
10 and 9, 0.0, shift_mean=False: 1.0 and -1.0, 0.0"""
sys.exit("\n".join(lines) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/advantages.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
