#!/usr/bin/env bash
# openpipe-art 0.5.18: truncated_importance_sampling multiplies by the importance weight once more, so a limit of 2 lets 6
# through, and max_negative_advantage_importance_sampling_weight limits positive advantages as well.
#
# Guessed: truncated_importance_sampling=2, the "truncation threshold for importance sampling weights", lets no token count
# more than twice; max_negative_advantage_importance_sampling_weight, the "maximum weight for negative advantage samples",
# leaves the others alone.
# Seen (2026-11-30, openpipe-art 0.5.18, torch 2.13.0; ART's loss_fn on one token, whose probability is 0.5, 1.5 or 3 times
# the one at which it was sampled): the loss carries the ratio of the probabilities already. Unless precalculate_logprobs is
# set, too, truncation multiplies it by the same ratio, cut at the limit, again: 0.25, 2.25 and 6 in place of 0.5, 1.5 and 2.
# So the correction counts twice, and the variance grows. The other limit cuts the ratio of all tokens: what is good and has
# become more likely is held back as much as what is bad, and with ppo=True such tokens get no gradient at all, of either
# sign. Set truncated_importance_sampling only together with precalculate_logprobs, and take epsilon_high for the ratio
# itself.
#
#   pull on a token of advantage 1, ratios 0.5, 1.5 and 3; of advantage -1:
#   as delivered: 0.50 1.50 3.00; -0.50 -1.50 -3.00
#   truncated_importance_sampling=2: 0.25 2.25 6.00; -0.25 -2.25 -6.00
#   max_negative_advantage_importance_sampling_weight=1: 0.50 1.00 1.00; -0.50 -1.00 -1.00
#   the same, ppo: 0.50 0.00 0.00; 0.00 0.00 0.00
#   ppo alone: 0.50 0.00 0.00; 0.00 -1.50 -3.00
#
# Exits with a status other than 0 if any of this differs. What ART's package imports beside the loss is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy pydantic
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps openpipe-art==0.5.18
cat >"$folder/weights.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from math import log
from types import ModuleType

import torch


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)


root = find_spec("art").submodule_search_locations[0]
stand_in("art", __path__=[root])
stand_in("art.utils", __path__=[f"{root}/utils"])
stand_in("art.dev", TrainConfig=dict)
sys.modules["art"].dev = sys.modules["art.dev"]

from art.loss import loss_fn

SAMPLED = 0.2


def pull(ratio, advantage, config):
    """How strongly a step changes the token's log-probability: minus the gradient with regard to it."""
    inputs = {
        "logprobs": torch.tensor([[float("nan"), log(SAMPLED)]]),
        "advantages": torch.tensor([[0.0, advantage]]),
        "assistant_mask": torch.tensor([[False, True]]),
        "weights": torch.tensor([[0.0, 1.0]]),
        "group_ids": torch.ones(1, 2, dtype=torch.long),
    }
    log_probs = torch.tensor([[log(SAMPLED * ratio), 0.0]], requires_grad=True)
    loss_fn(inputs, log_probs, None, None, config).policy_loss.backward()
    return -log_probs.grad[0, 0].item() + 0.0


CONFIGS = {
    "as delivered": {},
    "truncated_importance_sampling=2": {"truncated_importance_sampling": 2.0},
    "max_negative_advantage_importance_sampling_weight=1": {"max_negative_advantage_importance_sampling_weight": 1.0},
    "the same, ppo": {"max_negative_advantage_importance_sampling_weight": 1.0, "ppo": True},
    "ppo alone": {"ppo": True},
}
found = []
for name, config in CONFIGS.items():
    sides = [" ".join(f"{pull(ratio, sign, config):.2f}" for ratio in (0.5, 1.5, 3.0)) for sign in (1.0, -1.0)]
    found.append(f"{name}: {'; '.join(sides)}")
SEEN = """\
as delivered: 0.50 1.50 3.00; -0.50 -1.50 -3.00
truncated_importance_sampling=2: 0.25 2.25 6.00; -0.25 -2.25 -6.00
max_negative_advantage_importance_sampling_weight=1: 0.50 1.00 1.00; -0.50 -1.00 -1.00
the same, ppo: 0.50 0.00 0.00; 0.00 0.00 0.00
ppo alone: 0.50 0.00 0.00; 0.00 -1.50 -3.00"""
print("pull on a token of advantage 1, ratios 0.5, 1.5 and 3; of advantage -1:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/weights.py" 2>/dev/null
