#!/usr/bin/env bash
# torch 2.13.0: the second moment of AdamW on bfloat16 parameters never falls at the default beta2 of 0.999: one large
# gradient keeps a weight's step small for good.
#
# Guessed: moments in bfloat16 are coarse, but still decay; fused=True, which computes in float32, gets them right.
# Seen (2026-11-27, torch 2.13.0, CPU; one weight, a gradient of 100, then 5000 of 0.01): in float32 the second moment falls
# from 10 to 0.067, as 0.999^5000 says. In bfloat16 it is still 10 at the end, with plain, foreach and fused alike. 0.999
# times a bfloat16 number is nearer to that number than to the next one below (they are 0.4 to 0.8 % apart), so it is rounded
# back each time. At beta2 0.95 a step is large enough, and it falls. So where parameters, and with them the moments, are
# bfloat16, one spike mutes its weights until the optimizer's state is dropped.
#
#   float32, beta2 0.999: 10 to 0.067
#   bfloat16, beta2 0.999: 10 to 10
#   bfloat16 foreach, beta2 0.999: 10 to 10
#   bfloat16 fused, beta2 0.999: 10 to 10
#   bfloat16, beta2 0.95: falls
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/moments.py" <<'PYTHON'
import sys

import torch


def second_moment(dtype, beta2, **how):
    """After a gradient of 100, and after 5000 more of 0.01."""
    weight = torch.nn.Parameter(torch.zeros(1, dtype=dtype))
    optimizer = torch.optim.AdamW([weight], lr=1e-3, betas=(0.9, beta2), weight_decay=0.0, **how)
    seen = []
    for gradient, times in ((100.0, 1), (0.01, 5000)):
        weight.grad = torch.full_like(weight, gradient)
        for _ in range(times):
            optimizer.step()
        seen.append(optimizer.state[weight]["exp_avg_sq"].item())
    return seen


HOW = {"": {"foreach": False}, " foreach": {"foreach": True}, " fused": {"fused": True}}
(_, low), changed = second_moment(torch.float32, 0.999, foreach=False), False
print(f"float32, beta2 0.999: 10 to {low:.2g}")
changed |= not 0.066 < low < 0.068
for name, how in HOW.items():
    first, last = second_moment(torch.bfloat16, 0.999, **how)
    print(f"bfloat16{name}, beta2 0.999: {first:g} to {last:g}")
    changed |= (first, last) != (10.0, 10.0)
first, last = second_moment(torch.bfloat16, 0.95, foreach=False)
print("bfloat16, beta2 0.95:", "falls" if last < first / 100 else "stays")
sys.exit(changed or last >= first / 100)
PYTHON
"$folder/venv/bin/python" "$folder/moments.py" 2>/dev/null
