#!/usr/bin/env bash
# atroposlib 0.4.0: the clipping of its example trainer is reversed for tokens with a negative advantage: one that became less
# likely is pushed down without limit, and one that became more likely is not pushed down at all.
#
# Guessed: --clip-eps limits both ways as PPO does, and as the trainer's README writes it: -min(ratio * A, clip(ratio) * A).
# Seen (2026-11-30, atroposlib 0.4.0, torch 2.13.0; example_trainer.training.compute_grpo_loss on a model of four tokens): for a
# negative advantage the code takes the maximum in place of the minimum. So the limit holds where PPO sets none, and is
# missing where PPO sets one. Steps on one batch take a bad token to 0.03 of its probability, where PPO stops at 0.78; and a
# bad token that the policy has come to like since it was sampled gets no gradient. clipped_fraction counts what is outside
# the range, clipped or not, and so looks the same. Positive advantages are right. Train on responses of the present weights
# only, or put the minimum into the loss.
#
#   pull on a token whose probability is 0.5, 0.9, 1.1 and 1.5 times the sampled one; that factor after 500 steps from 1:
#   advantage 1, PPO: 0.50 0.90 1.10 0.00; after 500 steps 1.20
#   advantage 1, Atropos: 0.50 0.90 1.10 0.00; after 500 steps 1.20
#   advantage -1, PPO: 0.00 -0.90 -1.10 -1.50; after 500 steps 0.78
#   advantage -1, Atropos: -0.50 -0.90 -1.10 0.00; after 500 steps 0.03
#
# Exits with a status other than 0 if any of this differs. wandb, which only logs, is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy pydantic
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps atroposlib==0.4.0
cat >"$folder/clip.py" <<'PYTHON'
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import torch

sys.modules["wandb"] = ModuleType("wandb")
root = find_spec("example_trainer").submodule_search_locations
sys.modules["example_trainer"] = ModuleType("example_trainer")  # without its imports of vLLM's server and transformers
sys.modules["example_trainer"].__path__ = root

from example_trainer.training import compute_grpo_loss

SAMPLED, LIMIT = 0.4, 0.2  # the token's probability when it was sampled, and --clip-eps


def atropos(logits, advantage):
    """The trainer's loss of one sampled token, 0 of four."""
    with redirect_stdout(None):  # it reports gaps between log-probabilities
        loss, _ = compute_grpo_loss(
            model=lambda tokens: SimpleNamespace(logits=logits.view(1, 1, -1)),
            tokens=torch.zeros(1, 1, dtype=torch.long),
            labels=torch.zeros(1, 1, dtype=torch.long),
            advantages=torch.tensor([[advantage]]),
            temperatures=torch.ones(1, 1, 1),
            gradient_accumulation_steps=1,
            inference_logprobs=torch.tensor([[SAMPLED]]).log(),
            clip_eps=LIMIT,
        )
    return loss


def ppo(logits, advantage):
    """PPO's loss of the same token, as its paper has it."""
    ratio = logits.log_softmax(-1)[0].exp() / SAMPLED
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - LIMIT, 1 + LIMIT) * advantage)


def at(ratio):
    """Logits of which the token's probability is that many times the sampled one."""
    probability = ratio * SAMPLED
    return torch.tensor([probability] + [(1 - probability) / 3] * 3).log().requires_grad_()


def pull(loss, ratio, advantage):
    """How strongly a step changes the token's log-probability: minus the gradient with regard to it."""
    logits = at(ratio)
    loss(logits, advantage).backward()
    return -logits.grad[0].item() / (1 - ratio * SAMPLED) + 0.0


def after(loss, advantage, steps=500):
    """The token's probability over the sampled one after steps of gradient descent on it."""
    logits = at(1.0)
    for _ in range(steps):
        (gradient,) = torch.autograd.grad(loss(logits, advantage), logits)
        logits = (logits.detach() - 0.05 * gradient).requires_grad_()
    return (logits.softmax(-1)[0] / SAMPLED).item()


found = []
for advantage in (1.0, -1.0):
    for name, loss in (("PPO", ppo), ("Atropos", atropos)):
        pulls = " ".join(f"{pull(loss, ratio, advantage):.2f}" for ratio in (0.5, 0.9, 1.1, 1.5))
        found.append(f"advantage {advantage:.0f}, {name}: {pulls}; after 500 steps {after(loss, advantage):.2f}")
SEEN = """\
advantage 1, PPO: 0.50 0.90 1.10 0.00; after 500 steps 1.20
advantage 1, Atropos: 0.50 0.90 1.10 0.00; after 500 steps 1.20
advantage -1, PPO: 0.00 -0.90 -1.10 -1.50; after 500 steps 0.78
advantage -1, Atropos: -0.50 -0.90 -1.10 0.00; after 500 steps 0.03"""
print("pull on a token whose probability is 0.5, 0.9, 1.1 and 1.5 times the sampled one; that factor after 500 steps from 1:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/clip.py"
