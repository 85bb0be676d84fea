"""A test kit for a method of one's own: what every method must hold, tried on random rows. No model is needed."""

import torch

from pacs.algorithm.constants import credit_means
from pacs.algorithm.drift import drift_penalty
from pacs.algorithm.kit_case import Case, random_case
from pacs.algorithm.log_ratio import credited_objectives, sequence_log_ratios
from pacs.algorithm.method import Method
from pacs.algorithm.surrogate import advantage_loss
from pacs.algorithm.update import score_responses


def check_method(method: Method, *, detached: bool = False, seed: int = 0) -> None:
    """Raise AssertionError, with what does not hold, unless a method's losses can be trained on.

    It is tried in float64 on 19 responses of 1 to 5 tokens to 6 prompts, from 1 to 5 a prompt:

    - the gradient is that of finite differences of the loss, times `method.token_weight`;
    - by effective advantages (`method.update.strategy=cached`) it is the same as through whole groups (`grouped`);
    - a mini-batch split into micro-batches of whole groups has the same loss and gradient;
    - rows in another order, with other group ids, have the same loss and gradient;
    - masked tokens change nothing, even if they are NaN;
    - a group with a value that is not finite does not reach the gradient of another;
    - float32 and bfloat16 log-probabilities give about the gradient of float64.

    The split and the group with a value that is not finite are left out of a method with `whole_mini_batch`.

    Args:
        method: with the settings to try; call this once for each choice of them that takes another path.
        detached: the losses have factors without a gradient (a detached advantage, Eq. 5's first term): then finite
            differences of the value say nothing, and are left out.
        seed: of the random rows.
    """
    case = random_case(seed)
    loss, gradient = case.loss(method, case.log_probs), case.gradient(method, case.log_probs)
    _same(gradient[~case.mask], torch.zeros(1, dtype=gradient.dtype), "the gradient of a masked token is 0", atol=0)
    if not detached:
        weights = case.constants(method).token_weights
        differences = _finite_differences(case, method) * (1 if weights is None else weights)
        _same(gradient, differences, "the gradient is that of finite differences", 1e-5, 1e-7)
    _same(_cached(case, method), gradient, "the gradient by effective advantages is that through whole groups")

    if not method.whole_mini_batch:
        _groups_by_themselves(case, method, loss, gradient)
    order = torch.randperm(len(case.labels), generator=torch.Generator().manual_seed(seed))
    columns = (case.log_probs, case.ref_log_probs, case.mask, case.labels, 11 - 2 * case.groups, case.stream)
    other = Case(*(column[order] for column in columns))
    _same(
        other.gradient(method, other.log_probs),
        gradient[order],
        "the order of rows and the ids of groups do not matter",
    )

    masked = torch.where(case.mask, case.log_probs, torch.nan)
    _same(case.gradient(method, masked), gradient, "what a masked token holds does not matter")
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.1)):
        rounded, largest = case.gradient(method, case.log_probs.to(dtype)).double(), float(gradient.abs().max())
        _same(rounded, gradient, f"{dtype} gives about the gradient of float64", tolerance, tolerance * largest)


def _groups_by_themselves(case: Case, method: Method, loss: torch.Tensor, gradient: torch.Tensor) -> None:
    parts = [case.groups < 2, case.groups >= 2]
    leaf = case.log_probs.clone().requires_grad_()
    split = torch.stack([case.loss(method, leaf, part.nonzero().squeeze(1)) for part in parts]).sum()
    _same(split.detach(), loss, "micro-batches of whole groups sum to the mini-batch")
    _same(torch.autograd.grad(split, leaf)[0], gradient, "their gradients sum to that of the mini-batch")
    broken = case.log_probs.clone()
    broken[0, 0] = torch.nan
    there = case.gradient(method, broken)[case.groups > 0]
    _same(there, gradient[case.groups > 0], "a value that is not finite stays in its group")


def _finite_differences(case: Case, method: Method) -> torch.Tensor:
    step, found = 1e-6, torch.zeros_like(case.log_probs)
    for row, token in case.mask.nonzero().tolist():
        sides = []
        for sign in (step, -step):
            moved = case.log_probs.clone()
            moved[row, token] += sign
            sides.append(case.loss(method, moved))
        found[row, token] = (sides[0] - sides[1]) / (2 * step)
    return found


def _cached(case: Case, method: Method) -> torch.Tensor:
    leaf = case.log_probs.clone().requires_grad_()
    log_ratios = sequence_log_ratios(case.log_probs, case.ref_log_probs, case.mask)
    likelihoods = (case.log_probs * case.mask).sum(dim=1) if method.needs_log_likelihoods else None
    constants = case.constants(method)
    objectives = None
    if method.tokenwise:
        objectives = credited_objectives(leaf, case.ref_log_probs, case.mask, method, constants.credit)
    scored = score_responses(
        log_ratios,
        case.mask.sum(dim=1),
        case.labels,
        case.groups,
        method,
        log_likelihoods=likelihoods,
        token_sums=None if objectives is None else objectives.sum(dim=1),
        row_mask=case.row_mask(method),
        coefficients=constants.coefficients,
        credit=credit_means(constants.credit, case.mask),
    )
    given = {"denominator": constants.shares.sum(), "token_weights": constants.token_weights}
    loss = advantage_loss(leaf, objectives, case.mask, scored, **given)
    drift = drift_penalty(leaf, case.ref_log_probs, case.mask, constants.penalties)
    loss = loss + drift / constants.shares.sum()
    return torch.autograd.grad(loss, leaf)[0]


def _same(found: torch.Tensor, wanted: torch.Tensor, what: str, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    if not torch.allclose(found, wanted, rtol=rtol, atol=atol):
        worst = (found - wanted).abs().max().item()
        raise AssertionError(f"it does not hold that {what}: they differ by up to {worst:.3g}")
