#!/usr/bin/env bash
# skyrl 0.3.0: KL-Cov's KL term is as many times too strong as the mini-batch has tokens, and Clip-Cov leaves out no token.
#
# Guessed: policy_loss_type=kl_cov is the mean over the tokens of PPO's term and of ppo_kl_coef times the KL term, and clip_cov
# leaves out a share clip_ratio of the tokens, of those whose covariance lies between clip_cov_lb and clip_cov_ub.
# Seen (2026-11-30, skyrl 0.3.0, torch 2.13.0; SkyRL's own scaling and losses, settings as delivered, a mini-batch of 64
# responses of 400 tokens with one advantage each, as of GRPO): the trainer divides the advantages by the number of tokens
# (loss_reduction=token_mean) before a loss sees them, and the losses take sums. That is right for what is proportional to the
# advantage. The KL term of KL-Cov is not: its gradient is 25600 times too large, one for each token, and what is clipped after
# that is the KL term alone. Clip-Cov compares covariances of the divided advantages with bounds of 1 and 5, so it is plain PPO,
# and logs a clip_ratio of 0. The other reductions divide, too. Divide kl_cov.ppo_kl_coef and clip_cov's bounds by the tokens
# of a mini-batch, or take another loss.
#
#   gradient of KL-Cov's KL term over that of its policy term; tokens that Clip-Cov leaves out:
#   mean over the tokens: 0.43; 5
#   SkyRL: 10941; 0
#
# Exits with a status other than 0 if any of this differs. Ray and skyrl-gym, which this needs for imports alone, are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy omegaconf==2.3.0 \
  loguru jaxtyping
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps skyrl==0.3.0
cat >"$folder/covariance.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from types import ModuleType

import torch


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)


stand_in("ray", remote=lambda actor: actor, is_initialized=lambda: False)
for part in ("", ".envs", ".envs.search", ".envs.search.env", ".envs.sql", ".envs.sql.env"):
    stand_in(f"skyrl_gym{part}", SearchEnvConfig=object, Text2SQLEnvConfig=object)
root = find_spec("skyrl").submodule_search_locations[0]
for part in ("backends", "backends.skyrl_train", "backends.skyrl_train.utils"):  # without what their __init__ imports
    stand_in(f"skyrl.{part}", __path__=[f"{root}/{part.replace('.', '/')}"])

from skyrl.backends.skyrl_train.utils import ppo_utils
from skyrl.train.config import AlgorithmConfig

RESPONSES, LENGTH = 64, 400
MASK = torch.ones(RESPONSES, LENGTH)
torch.manual_seed(0)
ADVANTAGES = torch.randn(RESPONSES, 1).expand(-1, LENGTH)
OLD = -torch.rand(RESPONSES, LENGTH).mul(4)
NEW = OLD + torch.randn(RESPONSES, LENGTH).mul(0.01)


def config(loss, **changes):
    made = AlgorithmConfig(policy_loss_type=loss)
    for name, value in changes.items():
        setattr(made.kl_cov, name, value)
    return made


def skyrl(settings):
    """The gradient of a mini-batch in one micro-batch."""
    scaled = ppo_utils.apply_loss_reduction_to_advantages_minibatch(
        ADVANTAGES, MASK, settings.loss_reduction, micro_batch_size=RESPONSES, max_seq_len=LENGTH
    )
    return gradient(settings, scaled, 1)


def mean(settings):
    """The same loss function on the advantages themselves, and its sum divided by the tokens."""
    return gradient(settings, ADVANTAGES, MASK.sum())


def gradient(settings, advantages, divisor):
    torch.manual_seed(0)
    log_probs = NEW.clone().requires_grad_()
    function = ppo_utils.PolicyLossRegistry.get(settings.policy_loss_type)
    loss, _ = function(log_probs, OLD, advantages, config=settings, loss_mask=MASK)
    (loss / divisor).backward()
    return log_probs.grad


found = []
for name, loss, digits in (("mean over the tokens", mean, 2), ("SkyRL", skyrl, 0)):
    plain = loss(config("regular"))
    policy = loss(config("kl_cov", ppo_kl_coef=0.0))
    penalty = loss(config("kl_cov")) - policy
    left_out = (plain != 0) & (loss(config("clip_cov")) == 0)
    found.append(f"{name}: {penalty.norm() / policy.norm():.{digits}f}; {int(left_out.sum())}")
SEEN = """\
mean over the tokens: 0.43; 5
SkyRL: 10941; 0"""
print("gradient of KL-Cov's KL term over that of its policy term; tokens that Clip-Cov leaves out:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/covariance.py"
