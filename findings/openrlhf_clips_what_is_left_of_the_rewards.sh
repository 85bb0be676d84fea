#!/usr/bin/env bash
# openrlhf 0.11.2: --reward.clip_range clips no rewards, but what is left when the group's mean (and spread) is taken off: the
# advantages.
#
# Guessed: the rewards are clipped to the range as they come from the reward model, so that an outlier counts at most its end,
# and the group is compared after that.
# Seen (2026-11-30, openrlhf 0.11.2; OpenRLHF's RemoteExperienceMaker on rewards made here): the group's baseline is taken off
# first. With rewards of 0 and 20 and the range -1 to 1, RLOO gives 1 and -1 in place of 1 and -0.14, a sum that is not 0:
# the outlier pushes all others down, and is no less of one. With group_norm the only right response of eight gets 1 in place
# of 2.47, beside the same -0.35 for each wrong one, so the rare success counts less than half, whatever the rewards' scale.
# The default, -10 to 10, does this to rewards of a reward model that differ by more than 10. Clip in the reward function.
#
#   rewards 20 0 0 0 0 0 0 0:
#   rloo, -10 to 10: 10.00 -2.86 -2.86 -2.86 -2.86 -2.86 -2.86 -2.86
#   rloo, -1 to 1: 1.00 -1.00 -1.00 -1.00 -1.00 -1.00 -1.00 -1.00
#   rloo, of the clipped rewards: 1.00 -0.14 -0.14 -0.14 -0.14 -0.14 -0.14 -0.14
#   group_norm, -1 to 1: 1.00 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35
#   group_norm, of the clipped rewards: 2.47 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35
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
from types import ModuleType, SimpleNamespace

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

from openrlhf.trainer.ppo_utils.experience import Experience
from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker


def advantages(estimator, rewards, n, clip_range=(-10, 10)):
    """OpenRLHF's advantages of responses, n to a prompt, with these rewards and without a penalty."""
    maker, count = object.__new__(RemoteExperienceMaker), len(rewards)
    advantage = SimpleNamespace(estimator=estimator, gamma=1.0, lambd=1.0, no_std_norm=False)
    maker.strategy = SimpleNamespace(
        args=SimpleNamespace(
            algo=SimpleNamespace(advantage=advantage),
            rollout=SimpleNamespace(n_samples_per_prompt=n),
            reward=SimpleNamespace(clip_range=clip_range),
        )
    )
    maker.kl_ctl, maker.advantage_estimator = SimpleNamespace(value=0.0), estimator
    tensors = {"rewards": torch.tensor(rewards), "action_mask": torch.ones(count, 2), "kl": torch.zeros(count, 2)}
    experience = Experience(index=list(range(count)), info={}, **tensors)
    maker.compute_advantages_and_returns([experience])
    return " ".join(f"{value:.2f}" for value in experience.advantages[:, 0].tolist())


rewards, clipped = [20.0] + [0.0] * 7, [1.0] + [0.0] * 7
found = [
    f"rloo, -10 to 10: {advantages('rloo', rewards, 8)}",
    f"rloo, -1 to 1: {advantages('rloo', rewards, 8, (-1, 1))}",
    f"rloo, of the clipped rewards: {advantages('rloo', clipped, 8)}",
    f"group_norm, -1 to 1: {advantages('group_norm', rewards, 8, (-1, 1))}",
    f"group_norm, of the clipped rewards: {advantages('group_norm', clipped, 8)}",
]
SEEN = """\
rloo, -10 to 10: 10.00 -2.86 -2.86 -2.86 -2.86 -2.86 -2.86 -2.86
rloo, -1 to 1: 1.00 -1.00 -1.00 -1.00 -1.00 -1.00 -1.00 -1.00
rloo, of the clipped rewards: 1.00 -0.14 -0.14 -0.14 -0.14 -0.14 -0.14 -0.14
group_norm, -1 to 1: 1.00 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35
group_norm, of the clipped rewards: 2.47 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35"""
print("rewards 20 0 0 0 0 0 0 0:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py"
