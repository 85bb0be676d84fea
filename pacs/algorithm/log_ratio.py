"""The log-probability ratio of each response to the reference: what the reward proxy (Eq. 7) is made of."""

from typing import NoReturn

import torch

from pacs.algorithm.checks import at_least_float32, check_shape
from pacs.algorithm.method import Method

CPU_PART_TOKENS = 2**16


def sequence_log_ratios(
    log_probs: torch.Tensor, ref_log_probs: torch.Tensor, mask: torch.Tensor, *, allow_not_finite: bool = False
) -> torch.Tensor:
    """sum_t m_it * (log pi_theta(o_it) - log pi_ref(o_it)).

    Args:
        log_probs: (B, T) of any floating dtype, log pi_theta of each token; carries the gradient.
        ref_log_probs: (B, T), log pi_ref of the same tokens. A constant: no gradient reaches it.
        mask: (B, T) bool, the response's tokens. What stands elsewhere, inf and NaN included, reaches neither the sum
            nor its gradient, which is exactly 0 there.
        allow_not_finite: see below.

    Returns:
        (B,) float32, or float64 if an input is. A row without a token has 0.

    Raises:
        ValueError: shapes differ, or a log-probability under the mask is not finite; with `allow_not_finite` the
            log-ratio of such a row is NaN instead, and NaN in a loss of it is NaN in the gradient of its tokens.
    """
    if log_probs.dim() != 2:
        raise ValueError(f"log_probs must be (B, T), a row a response; got shape {tuple(log_probs.shape)}")
    check_shape("ref_log_probs", ref_log_probs, log_probs.shape)
    check_shape("response_mask", mask, log_probs.shape)
    dtype = at_least_float32(log_probs, ref_log_probs)
    # On a CPU in parts whose differences stay in its cache; on a GPU each part would be a kernel more.
    rows = max(1, CPU_PART_TOKENS // max(1, mask.shape[1])) if mask.device.type == "cpu" else max(1, len(mask))
    parts = zip(log_probs.split(rows), ref_log_probs.detach().split(rows), mask.split(rows), strict=True)
    # Differences are summed, not sums subtracted: long responses would lose the digits that differ.
    ratios = torch.cat(
        [select(policy.to(dtype) - ref.to(dtype), part, dtype).sum(dim=1) for policy, ref, part in parts]
    )
    if allow_not_finite:
        return nan_if_not_finite(ratios)
    if not ratios.isfinite().all():  # the one host sync; which tokens it was is looked for only then
        _refuse_not_finite({"log_probs": log_probs, "ref_log_probs": ref_log_probs}, mask)
    return ratios


def credited_objectives(
    log_probs: torch.Tensor,
    ref_log_probs: torch.Tensor,
    mask: torch.Tensor,
    method: Method,
    credit: torch.Tensor | None,
) -> torch.Tensor:
    """c_it * g(d_it, c_it) of every token under the mask, with d = log pi_theta - log pi_ref; their sums are a loss's.

    Args:
        log_probs: (B, T), with the gradient; see `sequence_log_ratios`.
        ref_log_probs: (B, T), a constant.
        mask: (B, T) bool.
        method: g is its `token_objective`.
        credit: c, (B,) or (B, T); None: 1.

    Returns:
        (B, T) float32 or float64; 0 outside the mask and where the credit is 0, whatever stands there; NaN where a
        log-probability is not finite elsewhere.
    """
    dtype = at_least_float32(log_probs, ref_log_probs)
    credits = torch.ones(len(mask), 1, dtype=dtype, device=mask.device) if credit is None else credit.to(dtype)
    credits = credits[:, None] if credits.dim() == 1 else credits
    mask = mask & (credits != 0)
    # Selected before g as well: of what stands outside the mask it may not be finite.
    ratios = select(log_probs, mask, dtype) - select(ref_log_probs.detach(), mask, dtype)
    not_finite = (ratios - ratios).detach()  # g may be finite where the log-ratio is not
    return select(credits * (method.token_objective(ratios, credits) + not_finite), mask, dtype)


def nan_if_not_finite(ratios: torch.Tensor) -> torch.Tensor:
    """(B,) `ratios` with NaN for inf: at a score of inf the loss has a finite gradient, which would hide it."""
    return ratios + (ratios - ratios).detach()


def select(values: torch.Tensor, mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(B, T) `values` as `dtype`, 0 outside the (B, T) bool mask."""
    # Selecting, not multiplying, keeps values and gradients there at 0: 0 * NaN would be NaN.
    return torch.where(mask, values.to(dtype), 0)


def _refuse_not_finite(tensors: dict[str, torch.Tensor], mask: torch.Tensor) -> NoReturn:
    counts = {name: int((~torch.isfinite(tensor) & mask).any(dim=1).sum()) for name, tensor in tensors.items()}
    found = [f"{name} in {count}" for name, count in counts.items() if count]
    raise ValueError(
        f"not finite under response_mask: {' and '.join(found) or 'the sum'} of {len(mask)} rows; the model that made "
        "them has diverged, or the mask marks tokens that it never scored"
    )
