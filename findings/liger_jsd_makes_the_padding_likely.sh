#!/usr/bin/env bash
# liger-kernel 0.8.5: where only the teacher's vocabulary is padded, LigerFusedLinearJSDLoss gives the padding a logit of 0 in
# the student, so two equal models have a loss and a gradient; in bfloat16 its value can be negative.
#
# Guessed: tokens that the student does not have get no probability from it, so that the loss of a student that is the
# teacher's equal is 0; and logits in bfloat16 are turned into float32, as in the loss's hard part.
# Seen (2026-11-30, liger-kernel 0.8.5, torch 2.13.0, CPU, not compiled; 64 tokens, a vocabulary of 1,000, the teacher's head
# padded to 1,128 rows whose logits are 30 below the level of the others): a constant on all logits changes no probability, but
# here it moves them past the 0 of the padding. At a level of -10 the padding has a part of the student's probability, at -20
# nearly all. The gradient pushes up all logits of a student that has nothing to learn, most with beta=1, the reverse KL of
# on-policy distillation. Heads that differ by such rows are common: the code names Qwen's. Cut the teacher's to the
# student's before the call: teacher_weight[:len(student_weight)]. And with 32,000 tokens and states in bfloat16, the value at
# beta=0.5 is a quarter of the right one, for closer models below 0 (the gradient is near the right one). Log another measure.
#
#   loss and gradient of two equal models, beta 0, 0.5 and 1; then the value of other models, beta 0.5:
#   1000 rows, level 0: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
#   1000 rows, level -10: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
#   1000 rows, level -20: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
#   1128 rows, level 0: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
#   1128 rows, level -10: 0.219 and 0.36, 0.066 and 0.09, 5.895 and 6.72
#   1128 rows, level -20: 6.219 and 2.45, 0.629 and 0.15, 41.159 and 8.93
#   float32 0.0071, bfloat16 0.0019
#   float32 0.0006, bfloat16 -0.0059
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps liger-kernel==0.8.5
cat >"$folder/jsd.py" <<'PYTHON'
import sys

import torch
from liger_kernel.chunked_loss import LigerFusedLinearJSDLoss

TOKENS, HIDDEN, VOCABULARY, PADDED = 64, 32, 1000, 1128
BETAS = (0.0, 0.5, 1.0)


def jsd(student, head, teacher, teacher_head, beta):
    """The loss without its hard part, and the norm of its gradient on the student's states."""
    student = student.clone().requires_grad_()
    loss = LigerFusedLinearJSDLoss(weight_hard_loss=0.0, weight_soft_loss=1.0, beta=beta, compiled=False)
    labels = torch.zeros(len(student), dtype=torch.long)
    value = loss(student, head.clone().requires_grad_(), teacher, teacher_head, labels)
    value.backward()
    return abs(round(value.item(), 3)), student.grad.norm().item()


def equal_models(rows, level):
    """Student and teacher with the same states and head, whose logits have a level; the teacher's head has these rows."""
    torch.manual_seed(0)
    states, head = torch.randn(TOKENS, HIDDEN), torch.randn(rows, HIDDEN)
    states[:, 0], head[:, 0] = 1, level
    head[VOCABULARY:] = 0
    head[VOCABULARY:, 0] = level - 30
    return states, head[:VOCABULARY], states, head


def value(dtype, spread):
    """The loss at beta=0.5 of a student whose states are so far from the teacher's, in a dtype."""
    torch.manual_seed(0)
    states, head = torch.randn(TOKENS, 64), 0.3 * torch.randn(32000, 64)
    student = states + spread * torch.randn(TOKENS, 64)
    student, head, states = (tensor.bfloat16().to(dtype) for tensor in (student, head, states))
    loss = LigerFusedLinearJSDLoss(weight_hard_loss=0.0, weight_soft_loss=1.0, beta=0.5, compiled=False)
    return loss(student, head, states, head, torch.zeros(TOKENS, dtype=torch.long)).item()


SEEN = """\
1000 rows, level 0: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
1000 rows, level -10: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
1000 rows, level -20: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
1128 rows, level 0: 0.000 and 0.00, 0.000 and 0.00, 0.000 and 0.00
1128 rows, level -10: 0.219 and 0.36, 0.066 and 0.09, 5.895 and 6.72
1128 rows, level -20: 6.219 and 2.45, 0.629 and 0.15, 41.159 and 8.93
float32 0.0071, bfloat16 0.0019
float32 0.0006, bfloat16 -0.0059"""

lines = []
for rows in (VOCABULARY, PADDED):
    for level in (0, -10, -20):
        found = [jsd(*equal_models(rows, level), beta) for beta in BETAS]
        lines.append(f"{rows} rows, level {level}: " + ", ".join(f"{loss:.3f} and {norm:.2f}" for loss, norm in found))
for spread in (0.1, 0.03):
    lines.append(f"float32 {value(torch.float32, spread):.4f}, bfloat16 {value(torch.bfloat16, spread):.4f}")
print("loss and gradient of two equal models, beta 0, 0.5 and 1; then the value of other models, beta 0.5:")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/jsd.py" 2>/dev/null
