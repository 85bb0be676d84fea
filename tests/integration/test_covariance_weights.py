"""Clip-Cov and KL-Cov beside verl's own losses, of one micro-batch that is the whole train batch."""

import pytest
import torch
from omegaconf import OmegaConf
from verl.trainer.ppo import core_algos

from pacs.algorithm import batch_constants, method_loss
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.token_weights import ClipCov, KlCov, TokenWeightConfig

LABELS = torch.tensor([1.0, 0, 0, 0, 1, 1, 0, 1], dtype=torch.float64)
GROUPS = torch.arange(2).repeat_interleave(4)


def batch(drift: float) -> tuple[torch.Tensor, ...]:
    """(8, 12) log-probabilities, before and now, and the mask."""
    random = torch.Generator().manual_seed(0)
    old = -3 * torch.rand(8, 12, generator=random, dtype=torch.float64) ** 2
    now = old + drift * torch.randn(8, 12, generator=random, dtype=torch.float64)
    return old, now, torch.arange(12) < torch.randint(3, 13, (8, 1), generator=random)


def verls(name: str, drift: float, **settings: float) -> torch.Tensor:
    """(B, T) the gradient of verl's loss."""
    old, now, mask = batch(drift)
    leaf = now.clone().requires_grad_()
    advantages = torch.stack(
        [
            (LABELS[i] - LABELS[GROUPS[i] == GROUPS].mean()) / (LABELS[GROUPS[i] == GROUPS].std() + 1e-6)
            for i in range(8)
        ]
    )[:, None].expand(8, 12)
    defaults = {"clip_cov_ratio": None, "clip_cov_lb": None, "clip_cov_ub": None}
    defaults |= {"kl_cov_ratio": None, "ppo_kl_coef": None, **settings}
    config = OmegaConf.create(
        {"policy_loss": defaults, "clip_ratio": 0.2, "clip_ratio_low": 0.2, "clip_ratio_high": 0.2}
        | {"global_batch_info": {}}
    )
    loss, _ = core_algos.get_policy_loss_fn(name)(old, leaf, advantages, mask.double(), "token-mean", config)
    return torch.autograd.grad(loss, leaf)[0]


def ours(weight: TokenWeightConfig, drift: float) -> torch.Tensor:
    """(B, T) that of GRPO under a token weight."""
    old, now, mask = batch(drift)
    method = Grpo(ratio="unclipped", token_weight=weight)
    leaf = now.clone().requires_grad_()
    constants = batch_constants(LABELS, GROUPS, method, response_mask=mask, streams={"old_log_probs": old})
    loss, _ = method_loss(leaf, old, mask, LABELS, GROUPS, method, constants=constants)
    return torch.autograd.grad(loss, leaf)[0]


def test_clip_cov_of_the_whole_band_is_verls() -> None:
    """Of which verl's random draw takes every token; at the policy that sampled, as in a first update."""
    weight = TokenWeightConfig(name="clip_cov", clip_cov=ClipCov(share=1.0, low=0.1, high=1.0))
    found = ours(weight, drift=0)
    _, _, mask = batch(0)
    assert 0 < int((found[mask] == 0).sum()) < int(mask.sum())
    torch.testing.assert_close(found, verls("clip_cov", 0, clip_cov_ratio=1.0, clip_cov_lb=0.1, clip_cov_ub=1.0))


@pytest.mark.parametrize("drift", [0.0, 1e-4])
def test_kl_cov_is_verls(drift: float) -> None:
    """Also where the policy has moved: so little that verl, which takes the covariance again, finds the same tokens."""
    weight = TokenWeightConfig(name="kl_cov", kl_cov=KlCov(share=0.2, coefficient=0.5))
    found = ours(weight, drift)
    torch.testing.assert_close(found, verls("kl_cov", drift, kl_cov_ratio=0.2, ppo_kl_coef=0.5))
    assert torch.equal(found, ours(TokenWeightConfig(), drift)) == (drift == 0)
