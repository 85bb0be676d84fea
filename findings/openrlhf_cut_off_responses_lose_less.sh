#!/usr/bin/env bash
# openrlhf 0.11.2: --reward.stop_properly_penalty_coef rewards being cut off where the reward is negative: with both length
# penalties, a response that runs into the limit loses less than one that ends just before it.
#
# Guessed: each of the two length penalties lowers the reward of a response that was cut off, and the two together lower it
# most.
# Seen (2026-11-30, openrlhf 0.11.2; its length penalties with a limit of 100 tokens and a buffer of 20): a coefficient of 0 or
# more multiplies the reward of what was cut off, whatever its sign, so a reward below zero moves up. The overlong penalty is
# taken off first and makes the reward of a wrong response negative, and the other one then gives a part of it back: a wrong
# response that ends at 99 tokens gets -0.95, and one that is cut off at 100 gets -0.5, or 0 with a coefficient of 0, as a short
# wrong one does. A policy learns from that to run into the limit. With rewards of -1 and 1, or with the overlong penalty, give
# a negative coefficient, which is the reward of all that was cut off, and one below all other rewards.
#
#   wrong is -1, no overlong penalty, coefficient 0.5: ended -1.00, cut off -0.50
#   wrong is -1, no overlong penalty, coefficient 0.0: ended -1.00, cut off 0.00
#   wrong is 0, overlong penalty, coefficient 0.5: ended at 99 -0.95, cut off -0.50
#   wrong is 0, overlong penalty, coefficient 0.0: ended at 99 -0.95, cut off 0.00
#   wrong is 0, overlong penalty alone: ended at 99 -0.95, cut off -1.00
#
# Exits with a status other than 0 if any of this differs. OpenRLHF's package of helpers, which imports more, is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps openrlhf==0.11.2
cat >"$folder/penalties.py" <<'PYTHON'
import logging
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import torch

logging.disable(logging.INFO)
root = find_spec("openrlhf").submodule_search_locations[0]
for part in ("utils", "trainer", "trainer.ppo_utils"):
    module = sys.modules[f"openrlhf.{part}"] = ModuleType(f"openrlhf.{part}")
    module.__spec__ = ModuleSpec(f"openrlhf.{part}", None)
    module.__path__ = [f"{root}/{part.replace('.', '/')}"]

from openrlhf.trainer.ppo_utils.length_penalty import apply_length_penalties


def rewards(wrong, buffer, coefficient):
    """The rewards of two wrong responses, of which one ends at 99 tokens and one is cut off at 100."""
    given = SimpleNamespace(
        rewards=torch.tensor([wrong, wrong]),
        response_length=torch.tensor([99, 100]),
        truncated=torch.tensor([False, True]),
        info={},
    )
    settings = SimpleNamespace(
        overlong_buffer_len=buffer, overlong_penalty_factor=1.0, stop_properly_penalty_coef=coefficient
    )
    args = SimpleNamespace(reward=settings, rollout=SimpleNamespace(max_new_tokens=100))
    apply_length_penalties([given], args)
    return [reward + 0.0 for reward in given.rewards.tolist()]


lines = []
for coefficient in (0.5, 0.0):
    ended, cut = rewards(-1.0, None, coefficient)
    lines.append(f"wrong is -1, no overlong penalty, coefficient {coefficient}: ended {ended:.2f}, cut off {cut:.2f}")
for coefficient in (0.5, 0.0, None):
    ended, cut = rewards(0.0, 20.0, coefficient)
    penalty = "overlong penalty alone" if coefficient is None else f"overlong penalty, coefficient {coefficient}"
    lines.append(f"wrong is 0, {penalty}: ended at 99 {ended:.2f}, cut off {cut:.2f}")
print("\n".join(lines))
SEEN = """\
wrong is -1, no overlong penalty, coefficient 0.5: ended -1.00, cut off -0.50
wrong is -1, no overlong penalty, coefficient 0.0: ended -1.00, cut off 0.00
wrong is 0, overlong penalty, coefficient 0.5: ended at 99 -0.95, cut off -0.50
wrong is 0, overlong penalty, coefficient 0.0: ended at 99 -0.95, cut off 0.00
wrong is 0, overlong penalty alone: ended at 99 -0.95, cut off -1.00"""
sys.exit("\n".join(lines) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/penalties.py" 2>/dev/null
