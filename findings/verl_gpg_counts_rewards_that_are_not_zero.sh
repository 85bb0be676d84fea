#!/usr/bin/env bash
# verl 0.9.1: the factor of GPG's advantages is all responses over those whose reward is not 0, and not over those of groups
# with a gradient: with rewards of 0 and 1 it falls as the model gets better, with -1 and 1 it is always 1.
#
# Guessed: the factor makes up for groups without a gradient, all right or all wrong: B / (B - M) with M responses of B in
# such groups, as in the paper (arXiv 2504.02546) and its table of results.
# Seen (2026-11-30, verl 0.9.1, torch 2.13.0; verl's compute_gpg_outcome_advantage, a prompt with one right response of 4 and
# three prompts that are all right or all wrong): with rewards of 0 and 1 the factor is one over the accuracy of the batch,
# whatever the groups: 16 at the start of a hard task, 1.2 near its end. The steps of a run shrink by that, as by a schedule
# of the learning rate that nobody set, and a harder data set takes larger ones. With -1 and 1, or any small reward for a
# format, there is no factor. To have the paper's, register an estimator of your own.
#
#   advantage of the one right response of the mixed group:
#   rewards 0 and 1, the others all wrong: 12.00, paper 3.00
#   rewards 0 and 1, the others all right: 0.92, paper 3.00
#   rewards -1 and 1, the others all wrong: 1.50, paper 6.00
#   rewards -1 and 1, the others all right: 1.50, paper 6.00
#
# Exits with a status other than 0 if any of this differs. What the file imports for other functions is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1
cat >"$folder/probe.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from unittest.mock import MagicMock

import numpy as np
import torch

OTHERS = "omegaconf verl verl.utils verl.utils.torch_functional verl.utils.import_utils verl.trainer verl.trainer.config"
for other in (*OTHERS.split(), "verl.workers", "verl.workers.config"):
    sys.modules[other] = MagicMock()
path = f"{sysconfig.get_path('purelib')}/verl/trainer/ppo/core_algos.py"
spec = importlib.util.spec_from_file_location("core_algos", path)
core_algos = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core_algos)

PROMPTS, RESPONSES = 4, 4


def advantages(wrong, others):
    """verl's and the paper's, of the one right response of a group, where all responses of the others get `others`."""
    rewards = torch.tensor([1.0] + [wrong] * (RESPONSES - 1) + [others] * (PROMPTS - 1) * RESPONSES)
    prompts = np.repeat(np.arange(PROMPTS), RESPONSES)
    found, _ = core_algos.compute_gpg_outcome_advantage(rewards[:, None], torch.ones(len(rewards), 1), prompts)
    groups = rewards.reshape(PROMPTS, RESPONSES)
    mixed = groups.max(1).values > groups.min(1).values
    factor = len(rewards) / (mixed.sum() * RESPONSES)
    return f"{found[0, 0]:.2f}, paper {factor * (rewards[0] - groups[0].mean()):.2f}"


found = []
for wrong in (0.0, -1.0):
    for side, others in (("wrong", wrong), ("right", 1.0)):
        found.append(f"rewards {wrong:.0f} and 1, the others all {side}: {advantages(wrong, others)}")
SEEN = """\
rewards 0 and 1, the others all wrong: 12.00, paper 3.00
rewards 0 and 1, the others all right: 0.92, paper 3.00
rewards -1 and 1, the others all wrong: 1.50, paper 6.00
rewards -1 and 1, the others all right: 1.50, paper 6.00"""
print("advantage of the one right response of the mixed group:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py"
