#!/usr/bin/env bash
# torchrl 0.14.1: CISPOLoss gives a token beyond the clip no gradient, whatever its advantage: it learns from fewer tokens than
# PPO, where CISPO is there to learn from all of them.
#
# Guessed: as in CISPO's paper (arXiv 2506.13585) the clipped weight is a constant: a token's log-probability is pushed by the
# advantage times its importance weight, at most 1.28 times the advantage, and no token is left out.
# Seen (2026-11-30, torchrl 0.14.1, tensordict 0.14.3, torch 2.13.0; CISPOLoss and GRPOLoss, which is PPO's loss, with clips of
# 0.2 and 0.28 on one token): the loss is minus the clipped weight times the advantage, and the gradient goes through the
# weight. Within the clip that is the same gradient. Beyond it, the clamp has none: neither a token of a right response that
# became half as likely nor one of a wrong response that became twice as likely is trained, and PPO trains both. Nothing logged
# shows it. With one step to a batch and exact probabilities all ratios are 1, and it is a policy gradient; with several steps,
# or an engine whose probabilities differ, the rare tokens drop out for which CISPO was made. Override
# _compute_policy_objective with minus the detached clipped weight times the advantage times log_weight; it was run here, too.
#
#   factor of the gradient, by how many times as likely the token became: CISPOLoss | overridden | PPO, right | PPO, wrong
#   0.5: 0.00 | 0.80 | 0.50 | 0.00
#   0.9: 0.90 | 0.90 | 0.90 | 0.90
#   1.1: 1.10 | 1.10 | 1.10 | 1.10
#   2.0: 0.00 | 1.28 | 0.00 | 2.00
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy tensordict==0.14.3
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps torchrl==0.14.1
cat >"$folder/cispo.py" <<'PYTHON'
import sys

import torch
from tensordict import TensorDict
from torchrl.modules.distributions import LLMMaskedCategorical
from torchrl.objectives.llm import CISPOLoss, GRPOLoss


class Overridden(CISPOLoss):
    """The clipped weight is a constant, as in the paper."""

    def _compute_policy_objective(self, log_weight, advantage):
        weight = log_weight.detach().clamp(*self._clip_bounds).exp()
        return -weight * advantage * log_weight, torch.zeros(())


class Policy(torch.nn.Module):
    """One position with two tokens, both as likely."""

    in_keys = ()

    def __init__(self):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.zeros(1, 1, 2))

    def get_dist(self, tensordict, **kwargs):
        return LLMMaskedCategorical(logits=self.logits, mask=torch.ones(1, 1, dtype=torch.bool))


def factor(loss, ratio, advantage):
    """The gradient over that of the advantage times the token's log-probability, which is half the advantage."""
    policy = Policy()
    sampled = {
        ("tokens", "full"): torch.zeros(1, 1, dtype=torch.long),
        ("log_probs", "full"): torch.full((1, 1), 0.5 / ratio).log(),
        "advantage": torch.full((1, 1, 1), advantage),
    }
    found = loss(policy, clip_epsilon=(0.2, 0.28), entropy_bonus=False)(TensorDict(sampled, [1]))
    found.loss_objective.backward()
    return policy.logits.grad[0, 0, 0].item() / (-0.5 * advantage)


lines = []
for ratio in (0.5, 0.9, 1.1, 2.0):
    factors = []
    for loss in (CISPOLoss, Overridden):
        right, wrong = factor(loss, ratio, 1.0), factor(loss, ratio, -1.0)
        factors.append(right if right == wrong else float("nan"))
    factors += [factor(GRPOLoss, ratio, 1.0), factor(GRPOLoss, ratio, -1.0)]
    lines.append(f"{ratio}: {' | '.join(f'{value + 0.0:.2f}' for value in factors)}")
SEEN = """\
0.5: 0.00 | 0.80 | 0.50 | 0.00
0.9: 0.90 | 0.90 | 0.90 | 0.90
1.1: 1.10 | 1.10 | 1.10 | 1.10
2.0: 0.00 | 1.28 | 0.00 | 2.00"""
found = "\n".join(lines)
print("times as likely: CISPOLoss | overridden | PPO, right | PPO, wrong")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/cispo.py" 2>/dev/null
