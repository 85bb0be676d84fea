#!/usr/bin/env bash
# openrlhf 0.11.2: with lambda below 1, GAE takes a tool's answer for the end of the episode: the longer the answer, the more
# the turn before it is pushed down.
#
# Guessed: tokens outside the action mask are skipped, so that the last token of a turn is followed by the first of the next,
# as in verl; how long a tool's answer is changes no advantage.
# Seen (2026-11-30, openrlhf 0.11.2, torch 2.13.0; OpenRLHF's get_advantages_and_returns, two turns of two tokens, all values
# 0.5, a reward of 1 at the end, gamma 1): values of masked tokens are set to 0, and masked tokens are counted as steps. The
# last token before the answer is compared with a next value of 0, and all that follows is multiplied by lambda for every
# token of the answer. With 100 of them a right episode's first turn gets the advantage of a failed one, and the critic is
# taught a return of about 0 there. lambda=1, the default, is right. Keep it for agents of several turns, with gamma 1.
#
#   advantages of the four tokens of the model, by the tokens of the tool's answer between them:
#   lambda 0.95, 0 tokens: 0.43 0.45 0.47 0.50
#   lambda 0.95, 10 tokens: 0.07 0.07 0.47 0.50
#   lambda 0.95, 100 tokens: -0.47 -0.49 0.47 0.50
#   lambda 1.0, 100 tokens: 0.50 0.50 0.50 0.50
#
# Exits with a status other than 0 if any of this differs. Ray, DeepSpeed and transformers, which this needs for imports
# alone, are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps openrlhf==0.11.2
cat >"$folder/probe.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

import torch


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(contents)


root = find_spec("openrlhf").submodule_search_locations[0]
for part in ("models", "trainer", "utils"):
    stand_in(f"openrlhf.{part}", __path__=[f"{root}/{part}"])
stand_in("openrlhf.trainer.ray.launcher", RayActorGroup=None)
stand_in("deepspeed")
stand_in("ray")
stand_in("transformers", AutoTokenizer=None)

from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker


def advantages(tokens, lambd):
    """Of an episode's tokens of the model: two, an answer of `tokens` of a tool, two."""
    mask = torch.tensor([[1.0, 1.0] + [0.0] * tokens + [1.0, 1.0]])
    rewards = torch.zeros_like(mask)
    rewards[0, -1] = 1
    maker = object.__new__(RemoteExperienceMaker)
    found, _ = maker.get_advantages_and_returns(torch.full_like(mask, 0.5), rewards, mask, 1.0, lambd)
    return " ".join(f"{value:.2f}" for value in found[mask.bool()].tolist())


CASES = ((0.95, 0), (0.95, 10), (0.95, 100), (1.0, 100))
found = [f"lambda {lambd}, {tokens} tokens: {advantages(tokens, lambd)}" for lambd, tokens in CASES]
SEEN = """\
lambda 0.95, 0 tokens: 0.43 0.45 0.47 0.50
lambda 0.95, 10 tokens: 0.07 0.07 0.47 0.50
lambda 0.95, 100 tokens: -0.47 -0.49 0.47 0.50
lambda 1.0, 100 tokens: 0.50 0.50 0.50 0.50"""
print("advantages of the four tokens of the model, by the tokens of the tool's answer between them:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py"
