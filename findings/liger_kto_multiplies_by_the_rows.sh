#!/usr/bin/env bash
# liger-kernel 0.8.5: LigerFusedLinearKTOLoss with a KL for each row, as its documentation has it, multiplies loss and gradient
# by the number of rows: each row is compared with the KL of all rows.
#
# Guessed: kl of the documented shape (batch_size,) is each row's own, whatever the chunks.
# Seen (2026-11-30, liger-kernel 0.8.5, torch 2.13.0, CPU, not compiled; rows of 5 tokens, half of them chosen): the rows are
# cut into chunks, by default of one row, and kl is not. A chunk of one row broadcasts against all of kl, and the chunk's loss
# is the sum of what comes out. With 8 rows the loss and the gradient are 8 times the right ones, so a change of the batch
# changes the learning rate; and each row is judged by its neighbours' KL, too. With chunk_size=rows the loss is right, with a
# size in between it raises, and one number for all rows is right with any. Give it the mean of kl, or chunk_size=rows.
#
#   rows: loss by hand, chunk_size=rows, chunk_size=1; gradient over that by hand, chunk_size=rows and 1
#   1: 0.215, 0.215, 0.215; 1.00 and 1.00
#   2: 0.649, 0.649, 1.292; 1.00 and 2.00
#   4: 0.321, 0.321, 1.331; 1.00 and 4.06
#   8: 0.536, 0.536, 4.287; 1.00 and 8.02
#   8, the mean of kl: 0.536, chunk_size=1: 0.536; 1.00
#   8, chunk_size=4: raises
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps liger-kernel==0.8.5
cat >"$folder/kto.py" <<'PYTHON'
import sys

import torch
from liger_kernel.chunked_loss import LigerFusedLinearKTOLoss

BETA, COLUMNS, HIDDEN, VOCABULARY = 0.1, 5, 8, 11


def batch(rows):
    """States, those of the reference, head, tokens, labels (chosen or not) and a KL for each row."""
    torch.manual_seed(0)
    head = torch.randn(VOCABULARY, HIDDEN)
    states, reference = torch.randn(2, rows, COLUMNS, HIDDEN)
    tokens = torch.randint(0, VOCABULARY, (rows, COLUMNS))
    return states, reference, head, tokens, torch.arange(rows) % 2 == 0, 2 * torch.rand(rows)


def log_probs(states, head, tokens):
    return (states @ head.t()).log_softmax(-1).gather(-1, tokens[..., None])[..., 0].sum(-1)


def by_hand(states, reference, head, tokens, labels, kl):
    """1 - sigmoid(beta (log-ratio - kl)) of a chosen row, 1 - sigmoid(beta (kl - log-ratio)) of another, on average."""
    ratios = log_probs(states, head, tokens) - log_probs(reference, head, tokens)
    return (1 - torch.where(labels, BETA * (ratios - kl), BETA * (kl - ratios)).sigmoid()).mean()


def ligers(chunk_size):
    def loss(states, reference, head, tokens, labels, kl):
        kto = LigerFusedLinearKTOLoss(beta=BETA, compiled=False, use_ref_model=True, chunk_size=chunk_size)
        return kto(states, head, tokens, preference_labels=labels, ref_input=reference, ref_weight=head, kl=kl)[0]

    return loss


def measured(loss, states, *others):
    """The loss, and the norm of its gradient on the states."""
    states = states.clone().requires_grad_()
    value = loss(states, *others)
    value.backward()
    return value.item(), states.grad.norm().item()


SEEN = """\
1: 0.215, 0.215, 0.215; 1.00 and 1.00
2: 0.649, 0.649, 1.292; 1.00 and 2.00
4: 0.321, 0.321, 1.331; 1.00 and 4.06
8: 0.536, 0.536, 4.287; 1.00 and 8.02
8, the mean of kl: 0.536, chunk_size=1: 0.536; 1.00
8, chunk_size=4: raises"""

lines = []
for rows in (1, 2, 4, 8):
    (right, gradient), *found = [measured(loss, *batch(rows)) for loss in (by_hand, ligers(rows), ligers(1))]
    values = ", ".join(f"{value:.3f}" for value in (right, *(value for value, _ in found)))
    lines.append(f"{rows}: {values}; " + " and ".join(f"{norm / gradient:.2f}" for _, norm in found))
*data, kl = batch(8)
(right, gradient), (value, norm) = [measured(loss, *data, kl.mean()) for loss in (by_hand, ligers(1))]
lines.append(f"8, the mean of kl: {right:.3f}, chunk_size=1: {value:.3f}; {norm / gradient:.2f}")
try:
    measured(ligers(4), *batch(8))
except RuntimeError:
    lines.append("8, chunk_size=4: raises")
print("rows: loss by hand, chunk_size=rows, chunk_size=1; gradient over that by hand, chunk_size=rows and 1")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/kto.py" 2>/dev/null
