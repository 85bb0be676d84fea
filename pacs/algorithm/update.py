"""The gradient of a method's loss, in two ways that agree: through whole groups, or by effective advantages.

`grouped`: `method_loss` of micro-batches of whole groups, by autograd. `cached`: `score_responses` of all rows, with no
model in the graph, which gives each response its A_i, then `surrogate_loss` of any rows whatever.
"""

import torch

from pacs.algorithm.checks import at_least_float32, check_shape, checked_labels
from pacs.algorithm.constants import constants_of, credit_means
from pacs.algorithm.correction import scale_gradient
from pacs.algorithm.drift import drift_penalty
from pacs.algorithm.groups import make_groups
from pacs.algorithm.log_ratio import credited_objectives, nan_if_not_finite, select, sequence_log_ratios
from pacs.algorithm.method import Method
from pacs.algorithm.row_losses import row_losses
from pacs.algorithm.rows import Constants, Rows
from pacs.algorithm.surrogate import denominator_of


def method_loss(
    log_probs: torch.Tensor,
    ref_log_probs: torch.Tensor,
    response_mask: torch.Tensor,
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    method: Method,
    *,
    row_mask: torch.Tensor | None = None,
    denominator: float | torch.Tensor | None = None,
    constants: Constants | None = None,
    allow_not_finite: bool = False,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """L = (1/N) * sum_i losses_i over whole groups; for PACS that is Eq. 8.

    Args:
        log_probs: (B, T) of any floating dtype, with gradient; see `sequence_log_ratios`.
        ref_log_probs: (B, T), a constant.
        response_mask: (B, T) bool or number; nonzero marks the response's tokens.
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; groups must be whole, since a loss may need its whole group.
        method: with its settings.
        row_mask: (B,) bool or number; a row that is 0 (padding) changes nothing, even if its numbers are NaN.
        denominator: N, by default the sum of `Constants.shares` of the rows given. For a micro-batch, the sum over the
            whole mini-batch: the losses of any split into whole groups then sum to that of the mini-batch. 0 only where
            no row counts. A tensor has one element (and costs a host sync).
        constants: those of these rows by `batch_constants` over the whole train batch; by default of the rows given.
            A row of coefficient 0 has no loss, but its group is compared with it.
        allow_not_finite: give a loss and a gradient of NaN where a log-probability under the mask is not finite,
            instead of an error: for a caller that skips such an update. The other groups' rows stay as they are. In a
            group without a coefficient (a dropped one) it changes nothing, as in `surrogate_loss`.

    Returns:
        The loss, 0-dimensional, float32 or float64 if a log-probability is; and what is known of each row
        (`row_columns`). If no row counts, the loss is a 0 that still carries a gradient, of zeros.

    Raises:
        ValueError: shapes that differ, log-probabilities under the mask that are not finite (unless allowed),
            labels other than 0 and 1, a group too small for the method, an impossible denominator.
    """
    groups = make_groups(group_ids, row_mask)
    if log_probs.shape[:1] != group_ids.shape:
        raise ValueError(f"log_probs has {len(log_probs)} rows, but group_ids has {len(group_ids)}")
    check_shape("response_mask", response_mask, log_probs.shape)
    mask = (response_mask != 0) & groups.rows[:, None]
    lengths = mask.sum(dim=1)
    targets = checked_labels(labels, groups, at_least_float32(log_probs, ref_log_probs), method.label_kind)
    given = constants_of(method, targets, groups, lengths, mask, {}) if constants is None else constants
    if given.token_weights is not None:
        check_shape("token_weights", given.token_weights, log_probs.shape)
        log_probs = scale_gradient(log_probs, given.token_weights)
    log_ratios = sequence_log_ratios(log_probs, ref_log_probs, mask, allow_not_finite=allow_not_finite)
    likelihoods = select(log_probs, mask, log_ratios.dtype).sum(dim=1) if method.needs_log_likelihoods else None
    active = method.active(targets, groups)
    check_shape("coefficients", given.coefficients, group_ids.shape)
    coefficients = torch.where(active.rows, given.coefficients.to(log_ratios.dtype), 0)
    sums = None
    if method.tokenwise:
        sums = credited_objectives(log_probs, ref_log_probs, mask, method, given.credit).sum(dim=1)
    credit = credit_means(given.credit, mask)
    rows = Rows(log_ratios, likelihoods, sums, lengths, targets, coefficients, credit, groups)
    losses, columns = row_losses(method, rows, active, given.weights)
    n = given.shares.sum() if denominator is None else denominator
    drift = drift_penalty(log_probs, ref_log_probs, mask & active.rows[:, None], given.penalties)
    return (losses.sum() + drift) / denominator_of(n, active.rows), columns


def score_responses(
    log_ratios: torch.Tensor,
    lengths: torch.Tensor,
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    method: Method,
    *,
    log_likelihoods: torch.Tensor | None = None,
    token_sums: torch.Tensor | None = None,
    row_mask: torch.Tensor | None = None,
    coefficients: torch.Tensor | None = None,
    credit: torch.Tensor | None = None,
    weights: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """The first half of gradient caching: every row's loss and effective advantage, without a model in the graph.

    Args:
        log_ratios: (B,) sum_t m_it * (log pi_theta - log pi_ref) at the current weights; one that is not finite makes
            the losses and advantages of its group NaN, unless no row of the group has a coefficient.
        lengths: (B,) tokens of each response.
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; groups must be whole, so that with several ranks all their rows are given here.
        method: with its settings.
        log_likelihoods: (B,) sum_t m_it * log pi_theta; where the method needs them.
        token_sums: (B,) the sum over t of `credited_objectives`; where the method is `tokenwise`.
        row_mask: (B,) bool or number; a row that is 0 (padding) changes nothing.
        coefficients: (B,) those of `Constants`, by default of the rows given.
        credit: (B,) `credit_means` of that of `Constants`; by default, with `coefficients`, of the rows given.
        weights: (B,) those of `Constants`.

    Returns:
        `row_columns`, each (B,) float32, or float64 if `log_ratios` is.

    Raises:
        ValueError: shapes that differ, labels other than 0 and 1, a group too small for the method.
    """
    groups = make_groups(group_ids, row_mask)
    check_shape("lengths", lengths, group_ids.shape)
    given = {"log_ratios": log_ratios}
    for name, values, needed in (
        ("log_likelihoods", log_likelihoods, method.needs_log_likelihoods),
        ("token_sums", token_sums, method.tokenwise),
    ):
        if needed and values is None:
            raise ValueError(f"{type(method).__name__} with these settings needs {name}")
        if needed and values is not None:
            given[name] = values
    for name, values in given.items():
        check_shape(name, values, group_ids.shape)
        unmasked = torch.where(groups.rows, values.detach().to(at_least_float32(log_ratios)), 0)
        given[name] = nan_if_not_finite(unmasked)
    log_ratios = given["log_ratios"]
    lengths = torch.where(groups.rows, lengths, 0)
    targets = checked_labels(labels, groups, log_ratios.dtype, method.label_kind)
    active = method.active(targets, groups)
    if coefficients is None:
        constants = constants_of(method, targets, groups, lengths, None, {})
        coefficients, credit = constants.coefficients, constants.credit
    check_shape("coefficients", coefficients, group_ids.shape)
    coefficients = torch.where(active.rows, coefficients.detach().to(log_ratios.dtype), 0)
    likelihoods, sums = given.get("log_likelihoods"), given.get("token_sums")
    rows = Rows(log_ratios, likelihoods, sums, lengths, targets, coefficients, credit, groups)
    return row_losses(method, rows, active, weights)[1]
