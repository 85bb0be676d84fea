#!/usr/bin/env bash
# areal 1.0.4: a configuration without a reference model rewards unlikely tokens: each token gets 0.1 times minus its
# log-probability, so that a long wrong response has many times the reward of a right one.
#
# Guessed: without a block "ref", there is no penalty for divergence from a reference, whatever actor.kl_ctl says.
# Seen (2026-11-30, areal 1.0.4, torch 2.13.0; AReaL's PPOActor.compute_advantages with its default settings on responses made
# here, whose tokens all have one probability): actor.kl_ctl is 0.1 by default, ref is none, and nothing checks one against
# the other. The log-probabilities of the missing reference are then taken as 0, the penalty 0.1 * (log p - 0) is negative,
# and its negative is a reward: 36 for a thousand tokens of probability 0.7, beside the 1 for being right. This pays for
# length and entropy. kl_rewards, in the log, is what shows it. A normalization of the rewards does not help, as it comes
# before this. Set actor.kl_ctl=0 whenever there is no reference.
#
#   advantage of a right response of 100 tokens of probability 0.7, a wrong one of 100 of 0.5, a wrong one of 1000 of 0.7:
#   as delivered: 4.57 6.93 35.67
#   kl_ctl=0: 1.00 0.00 0.00
#   a reference equal to the policy: 1.00 0.00 0.00
#
# Exits with a status other than 0 if any of this differs. AReaL's servers and trainers, Ray, transformers, torchdata, numba and
# uvloop, which this needs for imports alone, are stand-ins; areal asks for torch below 2.11.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy omegaconf==2.3.0 \
  hydra-core==1.3.8 einops colorlog orjson
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps areal==1.0.4
cat >"$folder/probe.py" <<'PYTHON'
import logging
import sys
from importlib.util import find_spec
from types import ModuleType

import torch


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)


root = find_spec("areal").submodule_search_locations[0]
for part in ("", ".trainer", ".trainer.ppo", ".engine", ".engine.fsdp_utils", ".infra", ".infra.rpc"):
    stand_in(f"areal{part}", __path__=[root + part.replace(".", "/")], TrainController=object)
stand_in("areal.api", __path__=[f"{root}/api"], TrainEngine=object)
stand_in("areal.infra.rpc.serialization", serialize_value=None)
stand_in("areal.experimental.training_service.controller.controller", GatewayTrainController=object)
stand_in("ray", remote=lambda actor: actor)
stand_in("numba", njit=lambda function: function)
stand_in("uvloop", install=lambda: None)
stand_in("torchdata")
stand_in("torchdata.stateful_dataloader", StatefulDataLoader=object)
stand_in("transformers.integrations.hub_kernels", is_kernel=None)
stand_in("transformers.utils.import_utils", is_torch_npu_available=lambda: False)
for part in ("transformers", "transformers.integrations", "transformers.utils"):
    stand_in(part, __path__=[])

from areal.api.cli_args import PPOActorConfig
from areal.trainer.ppo.actor import PPOActor

logging.disable()
PROMPT = 4


def response(tokens, probability, reward, referred):
    """A response as AReaL's rollouts give it; those of its trainer put the reference's log-probabilities one to the left."""
    length = PROMPT + tokens
    mask = torch.tensor([[0] * PROMPT + [1] * tokens])
    log_probs = mask * torch.tensor(probability).log()
    row = {
        "input_ids": torch.ones(1, length, dtype=torch.long),
        "attention_mask": torch.ones(1, length, dtype=torch.bool),
        "loss_mask": mask,
        "logprobs": log_probs,
        "rewards": torch.tensor([reward]),
    }
    return row | ({"ref_logp": log_probs.roll(-1, dims=-1)} if referred else {})


def advantages(config, referred=False):
    """The advantages of the first tokens."""
    rows = [response(*row, referred) for row in ((100, 0.7, 1.0), (100, 0.5, 0.0), (1000, 0.7, 0.0))]
    made = PPOActor(config, engine=None).compute_advantages(rows)
    return " ".join(f"{row['advantages'][0, PROMPT - 1].item() + 0.0:.2f}" for row in made)


found = [
    f"as delivered: {advantages(PPOActorConfig())}",
    f"kl_ctl=0: {advantages(PPOActorConfig(kl_ctl=0.0))}",
    f"a reference equal to the policy: {advantages(PPOActorConfig(), referred=True)}",
]
SEEN = """\
as delivered: 4.57 6.93 35.67
kl_ctl=0: 1.00 0.00 0.00
a reference equal to the policy: 1.00 0.00 0.00"""
print("advantage of a right response of 100 tokens of probability 0.7, a wrong one of 100 of 0.5, a wrong one of 1000 of 0.7:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
