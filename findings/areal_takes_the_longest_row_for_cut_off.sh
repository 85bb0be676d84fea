#!/usr/bin/env bash
# areal 1.0.4: the longest row of a batch counts as cut off, and no other does: with mask_no_eos_with_zero it loses its reward,
# and with a critic it is taken to go on. A response that was cut off, in a row that is not the longest, keeps both.
#
# Guessed: a response that was cut off at max_new_tokens is the one without an end token.
# Seen (2026-11-30, areal 1.0.4, torch 2.13.0; AReaL's PPOActor.compute_advantages on three responses that all have a reward
# of 1, of which the second was cut off at max_new_tokens=8): AReaL looks for no end token, but for rows that fill the batch's
# width, and the width is that of the longest row, prompt and response together. mask_no_eos_with_zero, "mask truncated
# generations", gives that one 0 in place of its reward, whatever its end, and leaves the reward to all that were cut off: in
# each batch at least one response, of a long prompt rather than a long response, is trained as a failure. With a critic the
# return of the longest row gets the value behind its end on top. no_eos_ratios, in the log, counts the same rows. Leave the
# setting off, and give responses that were cut off no reward in the reward function.
#
#   reward with mask_no_eos_with_zero; return of the first token without; with a critic that says 0.5 everywhere:
#   ended, prompt 3, response 3: 1.0; 1.0; 1.0
#   cut off, prompt 3, response 8: 1.0; 1.0; 1.0
#   ended, prompt 9, response 4: 0.0; 1.0; 1.5
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
ROWS = {"ended": (3, 3), "cut off": (3, 8), "ended ": (9, 4)}


def made(critic=False, **settings):
    """Rows as AReaL's rollouts give them, with rewards and returns as its actor makes them."""
    rows = []
    for prompt, response in ROWS.values():
        row = {
            "input_ids": torch.ones(1, prompt + response, dtype=torch.long),
            "attention_mask": torch.ones(1, prompt + response, dtype=torch.bool),
            "loss_mask": torch.tensor([[0] * prompt + [1] * response]),
            "logprobs": torch.zeros(1, prompt + response),
            "rewards": torch.ones(1),
        }
        rows.append(row | ({"values": torch.full((1, prompt + response), 0.5)} if critic else {}))
    return PPOActor(PPOActorConfig(kl_ctl=0.0, max_new_tokens=8, **settings), engine=None).compute_advantages(rows)


found = []
for (name, (prompt, response)), masked, plain, with_critic in zip(
    ROWS.items(), made(mask_no_eos_with_zero=True), made(), made(critic=True), strict=True
):
    returns = [row["returns"][0, prompt - 1].item() for row in (plain, with_critic)]
    numbers = "; ".join(f"{number:.1f}" for number in [masked["tot_rewards"].sum().item(), *returns])
    found.append(f"{name.strip()}, prompt {prompt}, response {response}: {numbers}")
SEEN = """\
ended, prompt 3, response 3: 1.0; 1.0; 1.0
cut off, prompt 3, response 8: 1.0; 1.0; 1.0
ended, prompt 9, response 4: 0.0; 1.0; 1.5"""
print("reward with mask_no_eos_with_zero; return of the first token without; with a critic that says 0.5 everywhere:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
