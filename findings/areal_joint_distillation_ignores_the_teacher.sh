#!/usr/bin/env bash
# areal 1.0.4: training with rewards and a teacher (a distillation weight beside a reward weight) does not use the teacher: its
# loss pushes every sampled token down by the same amount, whatever the teacher thinks of it.
#
# Guessed: the term for distillation, the mean of log p - log of the teacher's p over the sampled tokens, draws the policy to
# the teacher, as the reverse KL divergence that it estimates.
# Seen (2026-11-30, areal 1.0.4, torch 2.13.0; AReaL's grpo_loss_fn on a policy over four tokens, without rewards, a batch of
# 1000 tokens in the policy's own proportions): the term is differentiated as it is, and the teacher's log-probability is a
# constant in it. What is left is the gradient of log p, the same for all teachers, and 0 on average over the policy's own
# tokens; in a batch it is noise, and on tokens of older weights a push away from them. rkl_loss, in the log, is the divergence
# all the same. With teacher.rl_loss_weight=0 AReaL takes another branch, in which the teacher's log-probability less the
# policy's is a reward, and learns. Distill with that, without rewards, or put that difference into the rewards.
#
#   pull on four tokens, teacher 0.97 0.01 0.01 0.01 | 0.01 0.01 0.01 0.97; divergence from 0.7 0.1 0.1 0.1, after 300 steps:
#   rl_loss_weight=1: -1.00 -1.00 -1.00 -1.00 | -1.00 -1.00 -1.00 -1.00; 0.43, 0.43
#   rl_loss_weight=0: 1.36 -3.22 -3.22 -3.22 | -3.22 -3.22 -3.22 1.36; 0.43, 0.00
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

from areal.trainer.ppo.actor import grpo_loss_fn

logging.disable()


def loss(log_probs, teacher, rl_weight):
    """AReaL's loss of tokens with these log-probabilities, without rewards."""
    data = {
        "logprobs": log_probs.detach(),
        "prox_logp": log_probs.detach(),
        "advantages": torch.zeros_like(log_probs),
        "loss_mask": torch.ones_like(log_probs),
        "teacher_logp": teacher.log(),
        "rl_loss_weight": rl_weight,
        "distill_loss_weight": 1.0,
    }
    entropy = torch.zeros_like(log_probs)
    return grpo_loss_fn(log_probs, entropy, data, eps_clip=0.2, eps_clip_higher=None, c_clip=None)


def pull(teacher, rl_weight):
    """How strongly a step changes the log-probabilities of four tokens that the policy finds equally likely."""
    log_probs = torch.full((1, 4), 0.25).log().requires_grad_()
    loss(log_probs, torch.tensor([teacher]), rl_weight).backward()
    return " ".join(f"{-4 * gradient:.2f}" for gradient in log_probs.grad[0].tolist())


def divergences(rl_weight, teacher=(0.7, 0.1, 0.1, 0.1), steps=300, tokens=1000):
    """The divergence of a policy from its teacher before and after training."""
    teacher, logits, seen = torch.tensor(teacher), torch.zeros(4, requires_grad=True), []
    for _ in range(steps + 1):
        probabilities = logits.detach().softmax(-1)
        seen.append((probabilities * (probabilities / teacher).log()).sum().item())
        sampled = torch.arange(4).repeat_interleave((probabilities * tokens).round().long())[None]
        log_probs = logits.log_softmax(-1)[sampled]
        (gradient,) = torch.autograd.grad(loss(log_probs, teacher[sampled], rl_weight), logits)
        logits = (logits.detach() - 0.5 * gradient).requires_grad_()
    return f"{seen[0]:.2f}, {seen[-1]:.2f}"


found = []
for weight in (1, 0):
    pulls = " | ".join(pull(teacher, weight) for teacher in ([0.97, 0.01, 0.01, 0.01], [0.01, 0.01, 0.01, 0.97]))
    found.append(f"rl_loss_weight={weight}: {pulls}; {divergences(weight)}")
SEEN = """\
rl_loss_weight=1: -1.00 -1.00 -1.00 -1.00 | -1.00 -1.00 -1.00 -1.00; 0.43, 0.43
rl_loss_weight=0: 1.36 -3.22 -3.22 -3.22 | -3.22 -3.22 -3.22 1.36; 0.43, 0.00"""
print("pull on four tokens, teacher 0.97 0.01 0.01 0.01 | 0.01 0.01 0.01 0.97; divergence from 0.7 0.1 0.1 0.1, after 300 steps:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
