#!/usr/bin/env bash
# areal 1.0.4: once a workflow rejects one response, the groups behind it are shifted: responses are compared with those to
# other questions, and a right one at the end of the batch gets an advantage of 100,000.
#
# Guessed: a workflow may return None for a response ("this trajectory is rejected"), and the advantages of the rest are those
# within their own question, as AReaL knows the size of each group.
# Seen (2026-11-30, areal 1.0.4, torch 2.13.0; AReaL's GroupedRolloutWorkflow and actor, four questions, four responses each,
# reward_norm with mean and standard deviation of the group and group_size=4, as for GRPO, the rest as delivered): the rollout
# goes on with the three that are left, and warns of that. The actor then cuts the batch into slices of four rows, whichever
# question they belong to. So a question that all responses solve gets advantages of both signs, and so does one that none
# solves. The rows that fill no slice have a mean of 0 and a standard deviation of 0: their rewards are divided by 1e-5.
# Workflows that return several rows for a response shift the groups likewise (read, not run). Let should_accept_fn, which sees
# a whole group, take none but full ones.
#
#   advantages within the question | AReaL's
#   1, 0, 0 and one rejected: 1.15, -0.58, -0.58 | 0.87, -0.87, -0.87
#   1, 1, 1, 1: 0.00, 0.00, 0.00, 0.00 | 0.87, 0.50, 0.50, 0.50
#   0, 0, 0, 0: 0.00, 0.00, 0.00, 0.00 | -1.50, 0.00, 0.00, 0.00
#   0, 0, 0, 1: -0.50, -0.50, -0.50, 1.50 | 0.00, 0.00, 0.00, 100000.00
#
# Exits with a status other than 0 if any of this differs. Parts of AReaL and libraries that this needs for imports alone are
# stand-ins; areal asks for torch below 2.11.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy omegaconf==2.3.0 \
  hydra-core==1.3.8 einops colorlog orjson
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps areal==1.0.4
cat >"$folder/groups.py" <<'PYTHON'
import asyncio
import logging
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from unittest.mock import MagicMock

import torch


class StandIns:
    """Finds the libraries that AReaL imports and does not use here."""

    NAMES = "PIL aiofiles aiohttp lark numba openai psutil pydantic ray requests torchdata transformers uvloop".split()

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.NAMES else None

    def create_module(self, spec):
        return MagicMock(name=spec.name, __spec__=spec, __path__=[])

    def exec_module(self, module):
        pass


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)


root = find_spec("areal").submodule_search_locations[0]
sys.meta_path.insert(0, StandIns())
for part in ("", ".trainer", ".trainer.ppo", ".engine", ".engine.fsdp_utils", ".infra", ".infra.rpc", ".infra.utils"):
    stand_in(f"areal{part}", __path__=[root + part.replace(".", "/")], TrainController=object, workflow_context=None)
names = "InferenceEngine LocalInfServerInfo ModelRequest ModelResponse ParamSpec RolloutWorkflow TrainEngine WeightUpdateMeta"
stand_in("areal.api", __path__=[f"{root}/api"], WorkflowLike=object, **dict.fromkeys(names.split(), object))
stand_in("areal.infra.rpc.serialization", serialize_value=None)
stand_in("areal.experimental.training_service.controller.controller", GatewayTrainController=object)
stand_in("areal.experimental", __path__=[])
stand_in("areal.experimental.openai", InteractionWithTokenLogpReward=type("Interaction", (), {}))
for part in ("platforms", "workflow_executor", "utils.concurrent", "utils.http", "utils.launcher", "utils.proc"):
    sys.modules[f"areal.infra.{part}"] = MagicMock()

from areal.api.cli_args import NormConfig, PPOActorConfig
from areal.infra.remote_inf_engine import GroupedRolloutWorkflow
from areal.trainer.ppo.actor import PPOActor

logging.disable()
PROMPT, LENGTH = 2, 3
QUESTIONS = {
    "1, 0, 0 and one rejected": [1.0, 0.0, 0.0, None],
    "1, 1, 1, 1": [1.0] * 4,
    "0, 0, 0, 0": [0.0] * 4,
    "0, 0, 0, 1": [0.0, 0.0, 0.0, 1.0],
}


class Workflow:
    """Gives the responses to a question one after the other, and None for one that it rejects."""

    async def arun_episode(self, engine, data):
        reward = data["rewards"].pop(0)
        if reward is None:
            return None
        return {
            "input_ids": torch.ones(1, PROMPT + LENGTH, dtype=torch.long),
            "attention_mask": torch.ones(1, PROMPT + LENGTH, dtype=torch.bool),
            "loss_mask": torch.tensor([[0] * PROMPT + [1] * LENGTH]),
            "logprobs": torch.zeros(1, PROMPT + LENGTH),
            "rewards": torch.tensor([reward]),
        }


def advantages(questions):
    """AReaL's advantages of a batch, a list for each question."""
    grouped = GroupedRolloutWorkflow(Workflow(), 4, logging.getLogger())
    batch = [asyncio.run(grouped.arun_episode(None, {"rewards": list(rewards)})) for rewards in questions]
    size = 4 if len(batch) > 1 else len(batch[0]["rewards"])
    norm = NormConfig(mean_level="group", std_level="group", group_size=size)
    actor = PPOActor(PPOActorConfig(kl_ctl=0.0, max_new_tokens=LENGTH, reward_norm=norm), engine=None)
    found = actor.compute_advantages(batch)
    return [", ".join(f"{row[PROMPT - 1].item() + 0.0:.2f}" for row in group["advantages"]) for group in found]


together = advantages(QUESTIONS.values())
lines = []
for (name, rewards), found in zip(QUESTIONS.items(), together, strict=True):
    (alone,) = advantages([rewards])
    lines.append(f"{name}: {alone} | {found}")
SEEN = """\
1, 0, 0 and one rejected: 1.15, -0.58, -0.58 | 0.87, -0.87, -0.87
1, 1, 1, 1: 0.00, 0.00, 0.00, 0.00 | 0.87, 0.50, 0.50, 0.50
0, 0, 0, 0: 0.00, 0.00, 0.00, 0.00 | -1.50, 0.00, 0.00, 0.00
0, 0, 0, 1: -0.50, -0.50, -0.50, 1.50 | 0.00, 0.00, 0.00, 100000.00"""
found = "\n".join(lines)
print("within the question | AReaL's")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/groups.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
