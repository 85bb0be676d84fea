#!/usr/bin/env bash
# skyrl 0.3.0: with the rewards of 1 and -1 that its AIME environment gives, advantage_estimator=maxrl pushes right responses
# down where fewer than half are right, and where half are, it gives advantages of a million.
#
# Guessed: advantage_estimator=maxrl divides by the share of right responses, and works with the environments that come with
# SkyRL; at least, a right response gets no smaller advantage than a wrong one of its group.
# Seen (2026-11-30, skyrl 0.3.0, skyrl-gym 0.4.0, torch 2.13.0; groups of four responses, graded by the functions of SkyRL's
# environments gsm8k and aime): the advantage is the reward less the mean of the group's rewards, over that mean plus 1e-6. With
# rewards of 0 and 1 the mean is the pass rate. With 1 and -1 it is below 0 where fewer than half are right, and the signs are
# turned around: on hard questions training unlearns the answer. Where half are right, the mean is 0. text2sql gives -1, too,
# for a wrong format. Nothing warns, and the logged rewards are right. Map the rewards to 0 and 1 in the environment.
#
#   right of four: advantage of a right and of a wrong response with rewards 0 and 1; with 1 and -1
#   1: 3.00, -1.00; -3.00, 1.00
#   2: 1.00, -1.00; 1000000.00, -1000000.00
#   3: 0.33, -1.00; 1.00, -3.00
#
# Exits with a status other than 0 if any of this differs. Libraries that this needs for imports alone are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy omegaconf==2.3.0 \
  loguru jaxtyping
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps skyrl==0.3.0 skyrl-gym==0.4.0
cat >"$folder/maxrl.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np
import torch

for name in ("func_timeout", "pandas", "requests"):
    sys.modules[name] = MagicMock()
sys.modules["ray"] = MagicMock(remote=lambda actor: actor, is_initialized=lambda: False)
root = find_spec("skyrl").submodule_search_locations[0]
for part in ("backends", "backends.skyrl_train", "backends.skyrl_train.utils"):  # without what their __init__ imports
    package = sys.modules[f"skyrl.{part}"] = ModuleType(f"skyrl.{part}")
    package.__path__ = [f"{root}/{part.replace('.', '/')}"]

from skyrl.backends.skyrl_train.utils.ppo_utils import AdvantageEstimatorRegistry
from skyrl_gym.envs.aime.utils import compute_score as aime
from skyrl_gym.envs.gsm8k.utils import compute_score as gsm8k

GROUP = 4


def advantages(rewards):
    """MaxRL's advantages of the first and the last response of a group."""
    at_the_end = torch.tensor(rewards, dtype=torch.float32)[:, None]
    found, _ = AdvantageEstimatorRegistry.get("maxrl")(
        token_level_rewards=at_the_end, response_mask=torch.ones(GROUP, 1), index=np.array(["question"] * GROUP)
    )
    return f"{found[0].item():.2f}, {found[-1].item():.2f}"


lines = []
for right in (1, 2, 3):
    answers = ["18"] * right + ["17"] * (GROUP - right)
    zero_one = [float(gsm8k(f"#### {answer}", "18")) for answer in answers]
    one_minus_one = [aime(f"Answer: {answer}", "18")["score"] for answer in answers]
    lines.append(f"{right}: {advantages(zero_one)}; {advantages(one_minus_one)}")
SEEN = """\
1: 3.00, -1.00; -3.00, 1.00
2: 1.00, -1.00; 1000000.00, -1000000.00
3: 0.33, -1.00; 1.00, -3.00"""
found = "\n".join(lines)
print("right of four: right, wrong with rewards 0 and 1; with 1 and -1")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/maxrl.py" 2>/dev/null
