"""A test kit for a method of one's own: what every method must hold, tried on random rows. No model is needed."""

from dataclasses import dataclass

import torch

from pacs.algorithm.log_ratio import sequence_log_ratios
from pacs.algorithm.method import Method
from pacs.algorithm.solve import weigh_rows
from pacs.algorithm.surrogate import surrogate_loss
from pacs.algorithm.update import method_loss, score_responses

#: Tokens of a response at most.
T = 5
#: Of the responses to each prompt: groups that are mixed, all right and all wrong, of several sizes, one among them.
LABELS = ((1, 0, 0, 1), (1, 1, 1), (0, 0, 0, 0), (0, 1), (1,), (0, 0, 1, 0, 0))


@dataclass(frozen=True)
class _Case:
    log_probs: torch.Tensor  # (B, T) float64
    ref_log_probs: torch.Tensor  # (B, T)
    mask: torch.Tensor  # (B, T) bool
    labels: torch.Tensor  # (B,)
    groups: torch.Tensor  # (B,)

    def taking_part(self, method: Method) -> torch.Tensor:
        """(B,) bool: as in a run, a response whose group is too small for the method is left out."""
        return self.groups.bincount()[self.groups] >= method.smallest_group

    def loss(self, method: Method, log_probs: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """The loss of all rows, or of some whole groups as a micro-batch of them."""
        row_mask = self.taking_part(method)
        counted, weights = weigh_rows(self.labels, self.groups, method, row_mask)
        chosen = torch.arange(len(self.labels)) if rows is None else rows
        return method_loss(
            log_probs[chosen],
            self.ref_log_probs[chosen].to(log_probs.dtype),
            self.mask[chosen],
            self.labels[chosen],
            self.groups[chosen],
            method,
            row_mask=row_mask[chosen],
            denominator=counted.sum(),
            weights=weights[chosen],
            allow_not_finite=True,
        )[0]

    def gradient(self, method: Method, log_probs: torch.Tensor) -> torch.Tensor:
        """(B, T) of the loss by the log-probabilities."""
        leaf = log_probs.clone().requires_grad_()
        return torch.autograd.grad(self.loss(method, leaf), leaf)[0]


def check_method(method: Method, *, detached: bool = False, seed: int = 0) -> None:
    """Raise AssertionError, with what does not hold, unless a method's losses can be trained on.

    It is tried in float64 on 19 responses of 1 to 5 tokens to 6 prompts, from 1 to 5 a prompt:

    - the gradient is that of finite differences of the loss;
    - by effective advantages (`pacs.update.strategy=cached`) it is the same as through whole groups (`grouped`);
    - a mini-batch split into micro-batches of whole groups has the same loss and gradient;
    - rows in another order, with other group ids, have the same loss and gradient;
    - tokens that are masked have no influence, whatever they hold;
    - a group with a value that is not finite does not reach the gradient of another;
    - float32 and bfloat16 log-probabilities give about the gradient of float64.

    Args:
        method: with the settings to try; call this once for each choice of them that takes another path.
        detached: the losses have factors without a gradient (a detached advantage, Eq. 5's first term): then finite
            differences of the value say nothing, and are left out.
        seed: of the random rows.
    """
    case = _random_case(seed)
    whole, own = case.loss(method, case.log_probs), case.gradient(method, case.log_probs)
    _same(own[~case.mask], torch.zeros(1, dtype=own.dtype), "the gradient of a masked token is 0", atol=0)
    if not detached:
        _same(own, _finite_differences(case, method), "the gradient is that of finite differences", 1e-5, 1e-7)
    _same(_cached(case, method), own, "the gradient by effective advantages is that through whole groups")

    parts = [case.groups < 2, case.groups >= 2]
    leaf = case.log_probs.clone().requires_grad_()
    split = torch.stack([case.loss(method, leaf, part.nonzero().squeeze(1)) for part in parts]).sum()
    _same(split.detach(), whole, "micro-batches of whole groups sum to the mini-batch")
    _same(torch.autograd.grad(split, leaf)[0], own, "their gradients sum to that of the mini-batch")

    order = torch.randperm(len(case.labels), generator=torch.Generator().manual_seed(seed))
    columns = (case.log_probs, case.ref_log_probs, case.mask, case.labels, 11 - 2 * case.groups)
    other = _Case(*(column[order] for column in columns))
    _same(other.gradient(method, other.log_probs), own[order], "the order of rows and the ids of groups do not matter")

    masked = torch.where(case.mask, case.log_probs, torch.nan)
    _same(case.gradient(method, masked), own, "what a masked token holds does not matter")
    broken = case.log_probs.clone()
    broken[0, 0] = torch.nan
    there = case.gradient(method, broken)[case.groups > 0]
    _same(there, own[case.groups > 0], "a value that is not finite stays in its group")
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.1)):
        rounded, largest = case.gradient(method, case.log_probs.to(dtype)).double(), float(own.abs().max())
        _same(rounded, own, f"{dtype} gives about the gradient of float64", tolerance, tolerance * largest)


def _random_case(seed: int) -> _Case:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.tensor([len(labels) for labels in LABELS])
    rows = int(sizes.sum())
    log_probs = -2 * torch.rand(rows, T, generator=generator, dtype=torch.float64)
    noise = 0.3 * torch.randn(rows, T, generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, T + 1, (rows,), generator=generator)
    mask = torch.arange(T) < lengths[:, None]
    labels = torch.tensor(sum(LABELS, ()), dtype=torch.float64)
    return _Case(log_probs, log_probs + noise, mask, labels, torch.arange(len(LABELS)).repeat_interleave(sizes))


def _finite_differences(case: _Case, method: Method, step: float = 1e-6) -> torch.Tensor:
    found = torch.zeros_like(case.log_probs)
    for row, token in case.mask.nonzero().tolist():
        sides = []
        for sign in (step, -step):
            moved = case.log_probs.clone()
            moved[row, token] += sign
            sides.append(case.loss(method, moved))
        found[row, token] = (sides[0] - sides[1]) / (2 * step)
    return found


def _cached(case: _Case, method: Method) -> torch.Tensor:
    leaf = case.log_probs.clone().requires_grad_()
    log_ratios = sequence_log_ratios(case.log_probs, case.ref_log_probs, case.mask)
    likelihoods = (case.log_probs * case.mask).sum(dim=1) if method.needs_log_likelihoods else None
    scored = score_responses(
        log_ratios,
        case.mask.sum(dim=1),
        case.labels,
        case.groups,
        method,
        log_likelihoods=likelihoods,
        row_mask=case.taking_part(method),
    )
    loss = surrogate_loss(leaf, case.mask, scored["effective_advantage"], counted=scored["counted"])
    return torch.autograd.grad(loss, leaf)[0]


def _same(found: torch.Tensor, wanted: torch.Tensor, what: str, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    if not torch.allclose(found, wanted, rtol=rtol, atol=atol):
        worst = (found - wanted).abs().max().item()
        raise AssertionError(f"it does not hold that {what}: they differ by up to {worst:.3g}")
