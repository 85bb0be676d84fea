#!/usr/bin/env bash
# verl 0.9.1, openrlhf 0.11.2: the KL loss k3 (verl's low_var_kl, its default) has no gradient for a token that the reference
# finds more than 13.6 times as likely as the policy.
#
# Guessed: the further a token's probability has fallen below the reference's, the harder the KL loss pulls it back: its
# gradient is 1 - reference / policy.
# Seen (2026-11-30, verl 0.9.1, openrlhf 0.11.2, torch 2.13.0): both clamp the loss of a token to at most 10, and behind the
# clamp the gradient is 0. The pull grows to 12.6 at a factor of 13.6 and is gone beyond: the tokens that training has moved
# most are let go, and a run that has left its reference is held the less the further it is. The logged loss stays at 10 a
# token, high and steady. In verl k3+, and in OpenRLHF the unbiased gradient, keep pulling by the logarithm of the factor.
#
#   gradient by the log-probability, where the reference finds the token so many times as likely:
#   factor: 2 5 10 13 14 20 100
#   verl, low_var_kl: -1.0 -4.0 -9.0 -12.0 0.0 0.0 0.0
#   verl, k3+: -0.7 -1.6 -2.3 -2.6 -2.6 -3.0 -4.6
#   openrlhf, k3: -1.0 -4.0 -9.0 -12.0 0.0 0.0 0.0
#   openrlhf, k3, unbiased: -0.7 -1.6 -2.3 -2.6 -2.6 -3.0 -4.6
#
# Exits with a status other than 0 if any of this differs. What the two files import for other functions is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps openrlhf==0.11.2 verl==0.9.1
cat >"$folder/probe.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from types import ModuleType
from unittest.mock import MagicMock

import torch

FACTORS = (2, 5, 10, 13, 14, 20, 100)


def load(path):
    """A module of an installed package, by its file alone."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), f"{sysconfig.get_path('purelib')}/{path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.modules["deepspeed"] = ModuleType("deepspeed")
for name in (
    "omegaconf", "verl", "verl.utils", "verl.utils.torch_functional", "verl.utils.import_utils", "verl.trainer",
    "verl.trainer.config", "verl.workers", "verl.workers.config",
):
    sys.modules[name] = MagicMock()
verls = load("verl/trainer/ppo/core_algos.py").kl_penalty
openrlhfs = load("openrlhf/models/utils.py").compute_approx_kl


def gradient(loss):
    log_probs = torch.full([len(FACTORS)], -6.0, requires_grad=True)
    loss(log_probs, log_probs.detach() + torch.tensor(FACTORS).log()).sum().backward()
    return " ".join(f"{value + 0:.1f}" for value in log_probs.grad.tolist())


found = [
    "factor: " + " ".join(map(str, FACTORS)),
    "verl, low_var_kl: " + gradient(lambda ours, base: verls(ours, base, "low_var_kl")),
    "verl, k3+: " + gradient(lambda ours, base: verls(ours, base, "k3+")),
    "openrlhf, k3: " + gradient(lambda ours, base: openrlhfs(ours, base, kl_estimator="k3")),
    "openrlhf, k3, unbiased: "
    + gradient(lambda ours, base: openrlhfs(ours, base, kl_estimator="k3", unbiased_gradient=True)),
]
SEEN = """\
factor: 2 5 10 13 14 20 100
verl, low_var_kl: -1.0 -4.0 -9.0 -12.0 0.0 0.0 0.0
verl, k3+: -0.7 -1.6 -2.3 -2.6 -2.6 -3.0 -4.6
openrlhf, k3: -1.0 -4.0 -9.0 -12.0 0.0 0.0 0.0
openrlhf, k3, unbiased: -0.7 -1.6 -2.3 -2.6 -2.6 -3.0 -4.6"""
print("gradient by the log-probability, where the reference finds the token so many times as likely:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/probe.py"
