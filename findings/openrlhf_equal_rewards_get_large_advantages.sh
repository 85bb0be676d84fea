#!/usr/bin/env bash
# openrlhf 0.11.2: with group_norm (GRPO), a group whose responses all got a reward of 0.1 has advantages of -7.45, more than
# any response of a mixed group, and one with 0.2 or 0.9 has -10.
#
# Guessed: equal rewards, less their mean, give 0, and such a group no gradient.
# Seen (2026-11-30, openrlhf 0.11.2, torch 2.13.0; OpenRLHF's RemoteExperienceMaker on rewards made here): the mean of eight
# float32 numbers 0.1 differs from 0.1 in the last bit; the standard deviation of several groups is 0; and OpenRLHF adds no
# more than 1e-9 to it. What is left of the rounding is divided by that, up to the limit of --reward.clip_range. All eight
# responses are pushed down with several times the strength of any that was compared. Rewards that float32 has exactly (0, 1,
# -1, 0.5) are safe; those for a format, parts of tests or a length are not. --algo.dynamic_filtering_enable only helps where
# its range leaves such groups out. Take rewards in whole steps of a power of two, or dr_grpo.
#
#   16 prompts of 8 responses, all rewards the same; advantage of the first:
#   1.0: 0.00
#   0.5: 0.00
#   0.1: -7.45
#   0.2: -10.00
#   0.9: -10.00
#   -0.3: -10.00
#   a group of 0.1 and one with a single 1.1:
#   -7.45 -7.45 -7.45 -7.45 -7.45 -7.45 -7.45 -7.45 2.47 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35
#   the same with dr_grpo:
#   -0.00 -0.00 -0.00 -0.00 -0.00 -0.00 -0.00 -0.00 0.88 -0.13 -0.13 -0.13 -0.13 -0.13 -0.13 -0.13
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


found = []
for reward in (1.0, 0.5, 0.1, 0.2, 0.9, -0.3):
    found.append(f"{reward}: {advantages('group_norm', [reward] * 8 * 16, 8).split()[0]}")
groups = [0.1] * 8 + [1.1] + [0.1] * 7
found += ["a group of 0.1 and one with a single 1.1:", advantages("group_norm", groups, 8)]
found += ["the same with dr_grpo:", advantages("dr_grpo", groups, 8)]
SEEN = """\
1.0: 0.00
0.5: 0.00
0.1: -7.45
0.2: -10.00
0.9: -10.00
-0.3: -10.00
a group of 0.1 and one with a single 1.1:
-7.45 -7.45 -7.45 -7.45 -7.45 -7.45 -7.45 -7.45 2.47 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35 -0.35
the same with dr_grpo:
-0.00 -0.00 -0.00 -0.00 -0.00 -0.00 -0.00 -0.00 0.88 -0.13 -0.13 -0.13 -0.13 -0.13 -0.13 -0.13"""
print("16 prompts of 8 responses, all rewards the same; advantage of the first:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py"
