#!/usr/bin/env bash
# trinity-rft 0.6.0: its SAPO weighs a token by the objective instead of by its derivative: a token far from the old policy,
# which SAPO lets go of, gets up to four times the gradient, and one at the old policy twice.
#
# Guessed: policy_loss_fn=sapo has the gradient of SAPO's objective, the soft gate times the advantage (arXiv 2511.20347): the
# weight of a token's log-probability is 1 where nothing has changed, and goes to 0 on both sides.
# Seen (2026-11-30, trinity-rft 0.6.0, torch 2.13.0; Trinity's loss with its settings as delivered, on one token): the soft gate
# 4/tau sigmoid(tau (ratio - 1)) is the objective, and its derivative is what falls off. Trinity takes the objective itself,
# detached, as the weight of the log-probability. That grows with the ratio and never falls: a token of a right response that
# has become ten times as likely is pushed up with 4 and not with 0.005, and one of a wrong response that is a tenth as likely
# is pushed down with 1.07 and not with 0.08. So nothing holds an update near the old policy; PPO's clip is closer to SAPO.
# Differentiate: the loss is minus soft_gate_function(ratio, advantages) times the advantages, without detach and without the
# log-probability.
#
#   factor of the gradient, by how many times as likely the token became:
#   right response: SAPO | Trinity; wrong response: SAPO | Trinity
#   0.1: 0.08 | 1.16; 0.08 | 1.07
#   0.5: 0.47 | 1.51; 0.47 | 1.42
#   1.0: 1.00 | 2.00; 1.00 | 1.90
#   2.0: 1.57 | 2.92; 1.54 | 2.82
#   5.0: 0.35 | 3.93; 0.29 | 3.75
#   10.0: 0.00 | 4.00; 0.00 | 3.81
#
# Exits with a status other than 0 if any of this differs. The libraries that Trinity imports and does not use here are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps trinity-rft==0.6.0
cat >"$folder/sapo.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

import torch


class StandIns:
    """Finds the libraries that Trinity imports and does not use here."""

    NAMES = "datasets omegaconf openai ray safetensors transformers".split()

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.NAMES else None

    def create_module(self, spec):
        return MagicMock(name=spec.name, __spec__=spec, __path__=[])

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, StandIns())
from trinity.algorithm.policy_loss_fn import POLICY_LOSS_FN

SAPO = POLICY_LOSS_FN.get("sapo")
LOSS = SAPO(**SAPO.default_args())


def factors(ratio, advantage):
    """The factor of a token's gradient: of SAPO's objective with Trinity's own soft gate, and of Trinity's loss."""
    old = torch.tensor([[0.01]]).log()
    mask, advantages = torch.ones(1, 1), torch.full((1, 1), advantage)
    found = []
    for trinity in (False, True):
        log_prob = (old + torch.tensor(ratio).log()).requires_grad_()
        if trinity:
            loss, _ = LOSS(logprob=log_prob, old_logprob=old, action_mask=mask, advantages=advantages)
        else:
            loss = -(LOSS.soft_gate_function((log_prob - old).exp(), advantages) * advantages).sum()
        loss.backward()
        found.append(-log_prob.grad.item() / advantage)
    return " | ".join(f"{factor:.2f}" for factor in found)


lines = [f"{ratio}: {factors(ratio, 1.0)}; {factors(ratio, -1.0)}" for ratio in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)]
SEEN = """\
0.1: 0.08 | 1.16; 0.08 | 1.07
0.5: 0.47 | 1.51; 0.47 | 1.42
1.0: 1.00 | 2.00; 1.00 | 1.90
2.0: 1.57 | 2.92; 1.54 | 2.82
5.0: 0.35 | 3.93; 0.29 | 3.75
10.0: 0.00 | 4.00; 0.00 | 3.81"""
found = "\n".join(lines)
print("times as likely: right response: SAPO | Trinity; wrong response: SAPO | Trinity")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/sapo.py" 2>/dev/null
