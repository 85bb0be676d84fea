#!/usr/bin/env bash
# trinity-rft 0.6.0: GRPO's rank_penalty ranks no response: a likely and an unlikely right one get the same advantage, and where
# all responses of a group are right, all get a large one.
#
# Guessed: rank_penalty lowers the rewards of likely responses, as in "Rewarding the Unlikely" (arXiv 2506.02355), before
# advantages are taken of them: of two right responses the less likely one gets more.
# Seen (2026-11-30, trinity-rft 0.6.0, torch 2.13.0; Trinity's advantage function on groups of four responses, the likeliest
# first): the penalized rewards enter the mean and the spread of the group alone. What the mean is taken from is the reward
# without a penalty. So no response is told from another by how likely it is. What the penalty does is to lower the mean:
# advantages add up to more than 0, and all of a group of right responses, which would teach nothing without the penalty and
# should lift its unlikely ones with it, are pushed up alike. That sharpens a policy, and the setting is there against it.
# Lower the rewards yourself before the advantages are computed.
#
#   advantages without a penalty; Trinity's with rank_penalty=0.25; of the penalized rewards
#   two right, two wrong: 0.87, 0.87, -0.87, -0.87; 1.19, 1.19, -0.86, -0.86; 0.80, 0.93, -0.86, -0.86
#   four right: 0.00, 0.00, 0.00, 0.00; 1.16, 1.16, 1.16, 1.16; -1.16, -0.39, 0.39, 1.16
#
# Exits with a status other than 0 if any of this differs. The libraries that Trinity imports and does not use here are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps trinity-rft==0.6.0
cat >"$folder/ranks.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

import torch


class StandIns:
    """Finds the libraries that Trinity imports and does not use here."""

    NAMES = "datasets omegaconf openai ray safetensors transformers".split()

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.NAMES else None

    def create_module(self, spec):
        return MagicMock(name=spec.name, __spec__=spec, __path__=[])

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, StandIns())
from trinity.algorithm.advantage_fn import ADVANTAGE_FN
from trinity.common.experience import EID, Experience

GRPO = ADVANTAGE_FN.get("grpo")
LOG_PROBS, LENGTH = (-0.1, -0.4, -0.7, -1.0), 5
PENALTY = 0.25


def shown(rewards, **settings):
    """Trinity's advantages of a group."""
    group = [
        Experience(
            eid=EID(batch=0, task=0, run=run),
            tokens=torch.zeros(1 + LENGTH, dtype=torch.int32),
            prompt_length=1,
            logprobs=torch.full((LENGTH,), log_prob),
            reward=reward,
        )
        for run, (reward, log_prob) in enumerate(zip(rewards, LOG_PROBS, strict=True))
    ]
    found, _ = GRPO(**(GRPO.default_args() | settings)).process(group)
    return ", ".join(f"{experience.advantages[0].item() + 0.0:.2f}" for experience in found)


lines = []
for what, rewards in {"two right, two wrong": (1.0, 1.0, 0.0, 0.0), "four right": (1.0, 1.0, 1.0, 1.0)}.items():
    # The likeliest of n has rank n - 1, as in Trinity's own formula.
    penalized = [reward * (1 - PENALTY * (3 - place) / 4) for place, reward in enumerate(rewards)]
    lines.append(f"{what}: {shown(rewards)}; {shown(rewards, rank_penalty=PENALTY)}; {shown(penalized)}")
SEEN = """\
two right, two wrong: 0.87, 0.87, -0.87, -0.87; 1.19, 1.19, -0.86, -0.86; 0.80, 0.93, -0.86, -0.86
four right: 0.00, 0.00, 0.00, 0.00; 1.16, 1.16, 1.16, 1.16; -1.16, -0.39, 0.39, 1.16"""
found = "\n".join(lines)
print("without a penalty; rank_penalty=0.25; of the penalized rewards")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/ranks.py" 2>/dev/null
