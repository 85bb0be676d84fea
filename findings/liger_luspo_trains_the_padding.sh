#!/usr/bin/env bash
# liger-kernel 0.8.5: the "luspo" loss of LigerFusedLinearGRPOLoss counts the padding: masked tokens get gradients, and the loss
# of the same rows depends on the longest row of the batch.
#
# Guessed: attention_mask takes the padding out of each loss type, and out of its gradient.
# Seen (2026-11-30, liger-kernel 0.8.5, torch 2.13.0, CPU, not compiled; 4 rows of 7, 3, 5 and 2 tokens, then the same with
# three more columns of padding): so it is for seven loss types. In "luspo" the row's length multiplies each column, with no
# mask, and the mean is over all columns. With the default importance_sampling_level="token", tokens after the end of a
# response are pushed up or down with the row's advantage, and harder, the longer the row is; the loss is no sum over the
# row's tokens, as it is in trl's GRPOTrainer. With "sequence" the policy's part is right, and the term of KL (beta) still
# counts the padding. Use "sequence" and beta=0 with this loss, or pad nothing.
#
#   loss, with more padding; absolute gradients of masked tokens, with more padding:
#   grpo: 0.004 and 0.004; 0.00 and 0.00
#   bnpo: -0.346 and -0.346; 0.00 and 0.00
#   dr_grpo: -0.074 and -0.074; 0.00 and 0.00
#   dapo: -0.346 and -0.346; 0.00 and 0.00
#   cispo: 1.678 and 1.678; 0.00 and 0.00
#   sapo: -0.098 and -0.098; 0.00 and 0.00
#   vespo: 1.247 and 1.247; 0.00 and 0.00
#   luspo: -1.455 and -1.513; 3.64 and 12.08
#   luspo, sum over each row's tokens by hand: -1.470
#   luspo, sequence: -1.577 and -1.577; 0.00 and 0.00
#   luspo, sequence, beta 0.04: -1.567 and -1.570; 0.09 and 0.06
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps liger-kernel==0.8.5
cat >"$folder/padding.py" <<'PYTHON'
import sys

import torch
from liger_kernel.chunked_loss import LigerFusedLinearGRPOLoss

ROWS, COLUMNS, HIDDEN, VOCABULARY = 4, 7, 8, 11
LENGTHS = torch.tensor([7, 3, 5, 2])
ADVANTAGES = torch.tensor([1.0, -0.5, 0.7, -1.2])


def batch(padding):
    """The same rows with some columns of padding behind them: states, head, tokens, mask, old and reference log-probs."""
    torch.manual_seed(0)
    head = torch.randn(VOCABULARY, HIDDEN)
    states = torch.randn(ROWS, COLUMNS, HIDDEN)
    tokens = torch.randint(0, VOCABULARY, (ROWS, COLUMNS))
    drift = 0.3 * torch.randn(2, ROWS, COLUMNS)
    states = torch.cat([states, torch.randn(ROWS, padding, HIDDEN)], 1)
    tokens = torch.cat([tokens, torch.zeros(ROWS, padding, dtype=torch.long)], 1)
    drift = torch.cat([drift, torch.zeros(2, ROWS, padding)], 2)
    mask = (torch.arange(COLUMNS + padding) < LENGTHS[:, None]).float()
    old, reference = log_probs(states, head, tokens) + drift
    return states, head, tokens, mask, old, reference


def log_probs(states, head, tokens):
    return (states @ head.T).log_softmax(-1).gather(-1, tokens[..., None])[..., 0]


def loss_and_gradient(padding, **settings):
    states, head, tokens, mask, old, reference = batch(padding)
    states.requires_grad_()
    loss_of = LigerFusedLinearGRPOLoss(
        compiled=False, use_ref_model=settings["beta"] > 0, max_completion_length=20, **settings
    )
    loss, _ = loss_of(states, head, tokens, mask, ADVANTAGES, ref_per_token_logps=reference, old_per_token_logps=old)
    loss.backward()
    return loss.item(), states.grad[mask == 0].abs().sum().item()


def line(name, loss_type, level="token", beta=0.0):
    settings = {"loss_type": loss_type, "importance_sampling_level": level, "beta": beta}
    if loss_type == "cispo":
        settings["epsilon_high"] = 5.0
    (loss, gradient), (padded_loss, padded_gradient) = (loss_and_gradient(n, **settings) for n in (0, 3))
    return f"{name}: {loss:.3f} and {padded_loss:.3f}; {gradient:.2f} and {padded_gradient:.2f}"


def by_hand():
    states, head, tokens, mask, old, _ = batch(0)
    ratio = (log_probs(states, head, tokens) - old).exp()
    advantages = ADVANTAGES[:, None]
    clipped = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    return -(clipped * mask).sum(-1).mean().item()


found = [line(name, name) for name in ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "vespo", "luspo")]
found.append(f"luspo, sum over each row's tokens by hand: {by_hand():.3f}")
found.append(line("luspo, sequence", "luspo", "sequence"))
found.append(line("luspo, sequence, beta 0.04", "luspo", "sequence", 0.04))
found = "\n".join(found)

SEEN = """\
grpo: 0.004 and 0.004; 0.00 and 0.00
bnpo: -0.346 and -0.346; 0.00 and 0.00
dr_grpo: -0.074 and -0.074; 0.00 and 0.00
dapo: -0.346 and -0.346; 0.00 and 0.00
cispo: 1.678 and 1.678; 0.00 and 0.00
sapo: -0.098 and -0.098; 0.00 and 0.00
vespo: 1.247 and 1.247; 0.00 and 0.00
luspo: -1.455 and -1.513; 3.64 and 12.08
luspo, sum over each row's tokens by hand: -1.470
luspo, sequence: -1.577 and -1.577; 0.00 and 0.00
luspo, sequence, beta 0.04: -1.567 and -1.570; 0.09 and 0.06"""
print("loss, with more padding; absolute gradients of masked tokens, with more padding:")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/padding.py" 2>/dev/null
