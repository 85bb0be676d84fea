#!/usr/bin/env bash
# torchrl 0.14.1: the KL terms of GRPOLoss are divided by all positions, prompts and padding with them: behind prompts nine
# times as long as the responses, kl_to_ref_coeff has a tenth of its effect. The KL that it logs is divided so, too.
#
# Guessed: the loss masks prompt and padding, so a KL term is a mean over the tokens of the responses, as the policy's term is,
# and their proportion is kl_to_ref_coeff.
# Seen (2026-11-30, torchrl 0.14.1, tensordict 0.14.3, torch 2.13.0; GRPOLoss with its settings as delivered and coefficients
# of 1, on responses of 100 tokens, drawn here): the policy's term is a mean over the tokens of the responses. The KL to the
# reference, and that to the inference policy (kl_to_inference_coeff), is set to 0 outside of them, and then comes a mean over
# all positions. So a coefficient works less the longer the prompts are, and one long prompt weakens it for the whole batch.
# The logged kl_to_ref and the logged entropy shrink likewise: runs on other prompts or with other batches cannot be compared
# by them, and a model that has drifted away looks near. Multiply the coefficient by positions over response tokens of the
# batch.
#
#   over the mean over the responses' tokens: policy term | KL terms' gradient to ref, to inference | logged KL | logged entropy
#   no prompt: 1.00 | 1.00, 1.00 | 1.00 | 1.00
#   prompts of 900 tokens: 1.00 | 0.10, 0.10 | 0.10 | 0.10
#   one prompt of 1900, seven of 100: 1.00 | 0.05, 0.05 | 0.05 | 0.05
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy tensordict==0.14.3
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps torchrl==0.14.1
cat >"$folder/kl.py" <<'PYTHON'
import sys

import torch
from tensordict import TensorDict
from torchrl.modules.distributions import LLMMaskedCategorical
from torchrl.objectives.llm import GRPOLoss

RESPONSE, WORDS = 100, 32


class Policy(torch.nn.Module):
    """Has a logit for each position and token, and hides prompt and padding, as torchrl's wrappers do."""

    in_keys = ()

    def __init__(self, logits, mask):
        super().__init__()
        self.logits, self.mask = torch.nn.Parameter(logits), mask

    def get_dist(self, tensordict, **kwargs):
        return LLMMaskedCategorical(logits=self.logits, mask=self.mask)


def ratios(prompts):
    """What GRPOLoss makes of responses behind these prompts, padded on the left, over the means over the responses."""
    torch.manual_seed(0)
    rows, width = len(prompts), max(prompts) + RESPONSE
    mask = torch.zeros(rows, width, dtype=torch.bool)
    mask[:, -RESPONSE:] = True
    logits = torch.randn(rows, width, WORDS)
    tokens = torch.randint(WORDS, (rows, width))
    log_probs = logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
    reference = log_probs + torch.randn(rows, width).mul(0.3)
    sampled = log_probs + torch.randn(rows, width).mul(0.1)
    batch = {
        ("tokens", "full"): tokens,
        ("log_probs", "full"): sampled * mask,
        ("next", "ref_log_probs", "full"): reference * mask,
        "advantage": torch.randn(rows, 1, 1).expand(-1, width, -1),
    }
    policy = Policy(logits, mask)
    loss = GRPOLoss(policy, kl_to_ref_coeff=1.0, kl_to_inference_coeff=1.0)
    found = loss(TensorDict(batch, [rows]))

    dist = policy.logits.log_softmax(-1)
    current = dist.gather(-1, tokens[..., None])[..., 0]
    ratio, advantage = (current - batch["log_probs", "full"]).exp(), batch["advantage"][..., 0]
    objective = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)[mask].mean()
    to_ref, to_inference = ((other - current).expm1() - (other - current) for other in (reference, sampled))
    entropy = -(dist.exp() * dist).sum(-1)[mask].mean()
    pairs = (
        (found.loss_objective, objective),
        (found.loss_kl_to_ref, to_ref[mask].mean()),
        (found.loss_kl_to_inference, to_inference[mask].mean()),
    )
    gradients = []
    for theirs, mean in pairs:
        one, other = (torch.autograd.grad(term, policy.logits, retain_graph=True)[0][mask] for term in (theirs, mean))
        gradients.append((one * other).sum() / other.square().sum())
    return [*gradients, found.kl_to_ref / to_ref[mask].mean(), found.entropy / entropy]


lines = []
for what, prompts in {
    "no prompt": [0] * 8,
    "prompts of 900 tokens": [900] * 8,
    "one prompt of 1900, seven of 100": [1900] + [100] * 7,
}.items():
    policy, to_ref, to_inference, kl, entropy = (f"{value.item():.2f}" for value in ratios(prompts))
    lines.append(f"{what}: {policy} | {to_ref}, {to_inference} | {kl} | {entropy}")
SEEN = """\
no prompt: 1.00 | 1.00, 1.00 | 1.00 | 1.00
prompts of 900 tokens: 1.00 | 0.10, 0.10 | 0.10 | 0.10
one prompt of 1900, seven of 100: 1.00 | 0.05, 0.05 | 0.05 | 0.05"""
found = "\n".join(lines)
print("policy term | KL terms to ref, to inference | logged KL | logged entropy")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/kl.py" 2>/dev/null
