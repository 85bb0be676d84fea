#!/usr/bin/env bash
# skyrl 0.3.0: advantage_batch_normalize divides the sum of the advantages by all positions, padding with them: the mean stays in
# the advantages, and what two responses get depends on the longest row of the batch.
#
# Guessed: advantage_batch_normalize=true subtracts the mean of the advantages of the batch's response tokens and divides by
# their standard deviation, so that the tokens have a mean of 0 and a spread of 1.
# Seen (2026-12-01, skyrl 0.3.0, torch 2.13.0; RayPPOTrainer._normalize_advantages with RLOO's advantages of one right and one
# wrong response, loss_reduction token_mean undone): the mean is that of the padded tensor, whose padding holds zeros, and only
# the sum of squares is over response tokens. A right response of 100 tokens and a wrong one of 300 should get 1.73 and -0.58;
# they get 1.51 and -0.76 alone, and 1.04 and -0.99 where the longest row of the batch has 4,000 tokens. Their tokens then have
# a mean of -0.48: all are pushed down; where right responses are the longer ones, all are pushed up. Where all rows have one
# length, or with REINFORCE++, whose advantages are centred before, it is right. Normalize in an advantage estimator of your
# own (register_advantage_estimator), with the mask.
#
#   right of 100 tokens, wrong of 300, by the width of the tensor: advantages; mean and spread of the tokens
#   300: 1.51, -0.76; -0.19, 0.98
#   1200: 1.13, -0.95; -0.43, 0.90
#   4000: 1.04, -0.99; -0.48, 0.88
#   over the tokens: 1.73, -0.58; 0.00, 1.00
#   both of 300 tokens, in 300 and 4000: 1.00, -1.00 and 1.00, -1.00
#
# Exits with a status other than 0 if any of this differs. SkyRL's trainer is imported with stand-ins for Ray and the workers.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps skyrl==0.3.0
cat >"$folder/normalize.py" <<'PYTHON'
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import torch

root = Path(find_spec("skyrl").submodule_search_locations[0])
for part in ("backends", "backends.skyrl_train", "backends.skyrl_train.utils", "train"):  # without what their __init__ imports
    package = sys.modules[f"skyrl.{part}"] = ModuleType(f"skyrl.{part}")
    package.__path__ = [str(root / part.replace(".", "/"))]
sys.modules["ray"] = MagicMock(remote=lambda actor: actor, is_initialized=lambda: False)
for name in ("func_timeout", "jaxtyping", "loguru", "omegaconf", "pandas", "requests", "tqdm", "transformers"):
    sys.modules[name] = MagicMock()
KEPT = ("ppo_utils", "torch_utils", "off_policy_correction_utils")
for name in re.findall(r"^from ((?:ray|skyrl)\.\S+) import", (root / "train/trainer.py").read_text(), re.M):
    if not name.endswith(KEPT):
        sys.modules.setdefault(name, MagicMock())

from skyrl.backends.skyrl_train.utils.ppo_utils import AdvantageEstimatorRegistry
from skyrl.train.trainer import RayPPOTrainer


class Batch(dict):
    """A batch whose slices are batches, as SkyRL's is."""

    def __getitem__(self, key):
        if isinstance(key, slice):
            return Batch({name: value[key] for name, value in self.items()})
        return super().__getitem__(key)


def rloo(lengths, width):
    """RLOO's advantages and the mask of a right and a wrong response with these lengths in a tensor of this width."""
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    rewards = torch.zeros(2, width)
    rewards[0, lengths[0] - 1] = 1
    estimator = AdvantageEstimatorRegistry.get("rloo")
    found, _ = estimator(token_level_rewards=rewards, response_mask=mask.float(), index=np.array(["question"] * 2))
    return found, mask


def skyrl(lengths, width):
    advantages, mask = rloo(lengths, width)
    algorithm = SimpleNamespace(advantage_batch_normalize=True, loss_reduction="token_mean", max_seq_len=width)
    settings = SimpleNamespace(trainer=SimpleNamespace(algorithm=algorithm, micro_train_batch_size_per_gpu=2))
    data = Batch(advantages=advantages, response_mask=mask.float(), loss_mask=mask.float())
    RayPPOTrainer._normalize_advantages(SimpleNamespace(cfg=settings), data, [(0, 2)])
    return data["advantages"] * mask.sum(), mask


def over_tokens(lengths, width):
    advantages, mask = rloo(lengths, width)
    tokens = advantages[mask]
    return (advantages - tokens.mean()) / tokens.std(unbiased=False), mask


def text(advantages, mask, spread=True):
    both = f"{advantages[0, 0]:.2f}, {advantages[1, 0]:.2f}"
    tokens = advantages[mask]
    return f"{both}; {tokens.mean().item() + 0.0:.2f}, {tokens.std(unbiased=False):.2f}" if spread else both


found = [f"{width}: {text(*skyrl((100, 300), width))}" for width in (300, 1200, 4000)]
found.append(f"over the tokens: {text(*over_tokens((100, 300), 300))}")
equal = " and ".join(text(*skyrl((300, 300), width), spread=False) for width in (300, 4000))
found.append(f"both of 300 tokens, in 300 and 4000: {equal}")
SEEN = """\
300: 1.51, -0.76; -0.19, 0.98
1200: 1.13, -0.95; -0.43, 0.90
4000: 1.04, -0.99; -0.48, 0.88
over the tokens: 1.73, -0.58; 0.00, 1.00
both of 300 tokens, in 300 and 4000: 1.00, -1.00 and 1.00, -1.00"""
print("right of 100 tokens, wrong of 300, by the width of the tensor: advantages; mean and spread of the tokens")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/normalize.py" 2>/dev/null
